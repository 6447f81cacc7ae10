"""What a call of a traced function is told apart by: types of tensors, and Python values."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from typing import Any

from .tracer.dtypes import default_float
from .tracer.ir import TensorType
from .tracer.recording import THREAD
from .tracer.structure import is_plain
from .tracer.tensor import Tensor

NUMBERS = (int, bool, str, type(None))


class Call:
    """The arguments of one call.

    `key` are the types of tensors and all else that tells one call from another; `tensors` are
    those among the arguments, each once; `objects` are arguments that only their identity tells.
    """

    __slots__ = ("key", "objects", "tensors")

    def __init__(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self.objects: list[Any] = []
        self.key: list[Any] = [THREAD.quiet > 0, default_float()]
        try:  # the usual case: nothing but tensors
            self.key += [each._node.type for each in args]
            self.tensors: list[Tensor] = [*args]
        except AttributeError:
            self.tensors = []
            for each in args:
                self._add(each)
        for name in kwargs:
            self.key.append(name)
            self._add(kwargs[name])

    def _add(self, value: Any) -> None:
        kind = value.__class__
        if isinstance(value, Tensor):
            self.key.append(value._node.type)
            self.tensors.append(value)
        elif kind in NUMBERS:
            self.key += (kind, value)
        elif is_plain(value):
            self.key += (kind, repr(value))  # tells -0.0 from 0.0, and 2.0 from 2 in tuples
        elif kind in (list, tuple):
            self.key += (kind, len(value))
            for each in value:
                self._add(each)
        elif kind is dict:
            self.key += (kind, len(value))
            for name, each in value.items():
                self._add(name)
                self._add(each)
        else:
            self.key += (kind, id(value))
            self.objects.append(value)

    def settle(self) -> None:
        """List tensors that stand in several places once, and say in the key where.

        After this, types that mean the same are the same.
        """
        self.key = [x.settled() if isinstance(x, TensorType) else x for x in self.key]
        first = {id(each): each for each in reversed(self.tensors)}
        if len(first) < len(self.tensors):
            places = {key: place for place, key in enumerate(dict.fromkeys(map(id, self.tensors)))}
            self.key += ("same", *(places[id(each)] for each in self.tensors))
            self.tensors = [first[key] for key in places]

    def same_arguments(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
        """Whether lists and dicts among the arguments still hold the same."""
        other = Call(args, kwargs)
        other.settle()
        one, two = (
            [each for each in call.key if not isinstance(each, TensorType)]
            for call in (self, other)
        )
        return one == two and list(map(id, self.tensors)) == list(map(id, other.tensors))

    def kinds(self) -> tuple[Any, ...]:
        """The key without the values of numbers and texts."""
        return tuple([each for each in self.key if isinstance(each, (TensorType, type))])


def described(function: Callable[..., Any], args: Any, kwargs: Any) -> dict[str, str]:
    """The arguments by name, as text: what people are told that has changed."""
    try:
        bound = inspect.signature(function).bind(*args, **kwargs).arguments
    except (TypeError, ValueError):
        bound = {**{f"argument {k}": each for k, each in enumerate(args)}, **kwargs}
    found = {name: text for name, value in bound.items() for name, text in _texts(name, value)}
    if THREAD.quiet:
        found["no_grad"] = "on"
    return found


def _texts(name: str, value: Any) -> Iterator[tuple[str, str]]:
    if isinstance(value, Tensor):
        yield name, str(value._node.type)
    elif isinstance(value, (list, tuple)) and not is_plain(value):
        for place, each in enumerate(value):
            yield from _texts(f"{name}[{place}]", each)
    elif isinstance(value, dict):
        for key, each in value.items():
            yield from _texts(f"{name}[{key!r}]", each)
    else:
        yield name, repr(value)[:60]
