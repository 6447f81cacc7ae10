"""Blocks in which no history is kept."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine, Generator
from contextlib import ContextDecorator
from functools import update_wrapper
from inspect import isasyncgenfunction, iscoroutinefunction, isgeneratorfunction
from typing import Any

from .errors import located
from .recording import THREAD, set_quiet


class no_grad(ContextDecorator):
    """What is computed inside depends on nothing, for every manager. A block and a decorator.

    The body of a generator or a coroutine function is inside; who goes through what it yields, or
    runs while it waits, is not. `@no_grad` decorates as `@no_grad()` does.
    """

    def __new__(cls, function: Callable[..., Any] | None = None) -> Any:
        """A block, or the decorated function where one is given."""
        made = super().__new__(cls)
        if function is None:
            return made
        if not callable(function):
            raise TypeError(located(f"no_grad: expected a function, found {function!r}"))
        return made(function)

    def __enter__(self) -> None:
        set_quiet(1)

    def __exit__(self, *error: Any) -> None:
        set_quiet(-1)

    def __call__(self, function: Callable[..., Any]) -> Any:
        """The function, as one whose body is inside."""
        if isasyncgenfunction(function):
            found = "found an asynchronous generator function: write a block inside of it"
            raise TypeError(located(f"no_grad: expected a function, {found}"))
        if isgeneratorfunction(function):
            return update_wrapper(_generator_function(function), function)
        if iscoroutinefunction(function):
            return update_wrapper(_coroutine_function(function), function)
        return super().__call__(function)


Steps = Generator[Any, Any, Any] | Coroutine[Any, Any, Any]


def _generator_function(function: Callable[..., Any]) -> Callable[..., Any]:
    def inside(*args: Any, **kwargs: Any) -> Any:
        with no_grad():
            steps = function(*args, **kwargs)
        return (yield from _stepped(steps))

    return inside


def _coroutine_function(function: Callable[..., Any]) -> Callable[..., Any]:
    async def inside(*args: Any, **kwargs: Any) -> Any:
        with no_grad():
            steps = function(*args, **kwargs)
        return await _Waiting(steps)

    return inside


class _Waiting(Awaitable[Any]):
    """A coroutine that is awaited, each of its steps in a block of its own."""

    def __init__(self, steps: Steps) -> None:
        self._steps = steps

    def __await__(self) -> Generator[Any, Any, Any]:
        return _stepped(self._steps)


def _stepped(steps: Steps) -> Generator[Any, Any, Any]:
    """What a generator or coroutine yields; each of its steps is done in a block of its own."""
    act, given = steps.send, None
    while True:
        try:
            with no_grad():
                found = act(given)
        except StopIteration as stop:
            return stop.value
        try:
            act, given = steps.send, (yield found)
        except GeneratorExit:
            with no_grad():
                steps.close()
            raise
        except BaseException as error:
            act, given = steps.throw, error


class with_history:
    """What is computed inside is recorded, also in a `no_grad` block around it: `quiet` tells
    whether there is one."""

    def __enter__(self) -> with_history:
        self._depth = THREAD.quiet
        self.quiet = self._depth > 0
        set_quiet(-self._depth)
        return self

    def __exit__(self, *error: Any) -> None:
        set_quiet(self._depth)
