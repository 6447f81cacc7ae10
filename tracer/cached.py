"""Attributes that are computed once, without the lock of `functools.cached_property`: until Python
3.12 all objects of a class share one, and a fork leaves it held in the child."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, Self, TypeVar, overload

T = TypeVar("T")


class cached_property(Generic[T]):  # used as a decorator, like that of functools
    """A property that is computed when it is first asked for, and then stands in `__dict__`.

    Threads that ask at the same time may compute it twice, and get one.
    """

    def __init__(self, function: Callable[[Any], T]) -> None:
        self._function = function
        self.__doc__ = function.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    @overload
    def __get__(self, instance: None, owner: type) -> Self: ...

    @overload
    def __get__(self, instance: object, owner: type) -> T: ...

    def __get__(self, instance: object | None, owner: type) -> Self | T:
        if instance is None:
            return self
        made: T = vars(instance).setdefault(self._name, self._function(instance))
        return made
