"""Nested results of a function, taken apart into tensors and the way in which they stood."""

from __future__ import annotations

import enum
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import BuiltinFunctionType, FunctionType
from typing import Any

import numpy as np

from .dtypes import DType
from .layout import put_together
from .value import Value

PLAIN = (
    *(bool, int, float, complex, str, bytes, type(None), type(...), range, slice),
    *(np.generic, np.dtype, DType, enum.Enum),
)
"""Values that cannot change: what is computed from equal ones is equal."""

CONSTANT = ("datetime", "decimal", "fractions", "ipaddress", "pathlib", "uuid")
"""Modules of the standard library whose objects cannot change either."""


def is_plain(value: Any) -> bool:
    """Whether `value` is a number, a string or the like, or a tuple of such."""
    kind = type(value)
    if issubclass(kind, PLAIN):
        return True
    if kind is tuple or kind is frozenset:
        try:
            return all(map(is_plain, value))
        except RecursionError:
            return False
    return str(kind.__module__).partition(".")[0] in CONSTANT


def same_plain(one: Any, other: Any) -> bool:
    """Whether both are plain and alike in type and value; 0.0 and -0.0 are not."""
    if type(one) is not type(other) or not is_plain(one) or not is_plain(other):
        return False
    if one.__class__ is tuple:
        alike = len(one) == len(other)
        return alike and all(map(same_plain, one, other))
    return bool(one == other) if one.__class__ is frozenset else repr(one) == repr(other)


class NotPacked(Exception):
    """A result that cannot be made anew; the argument says what it is."""


@dataclass(frozen=True, slots=True)
class Fixed:
    """A part of a result that is always the same."""

    value: Any


@dataclass(frozen=True, slots=True)
class Items:
    """A container or a record: what makes it, and its parts."""

    make: Callable[[list[Any]], Any]
    parts: tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Given:
    """One of the containers among the arguments, by its place among them."""

    place: int


@dataclass(frozen=True, slots=True)
class Again:
    """A container that stands in the result already, by its place among those that were made."""

    place: int


Packed = int | Fixed | Items | Given | Again


def packed(
    value: Any,
    number: Callable[[Any], int],
    known: Callable[[Any], bool],
    given: Mapping[int, int],
) -> Packed:
    """`value` with a number in place of each tensor; objects that are `known` stay themselves.

    `given` has the places of the containers among the arguments, by identity.
    """
    try:
        return _Packing(number, known, given).packed(value)
    except RecursionError:
        raise NotPacked("an object that is nested too deeply") from None


class _Packing:
    """One result that is packed: `places` are its containers so far, those that are done first.

    Of one whose parts are being packed the place is None.
    """

    def __init__(
        self,
        number: Callable[[Any], int],
        known: Callable[[Any], bool],
        given: Mapping[int, int],
    ) -> None:
        self._number, self._known, self._given = number, known, given
        self._places: dict[int, int | None] = {}
        self._held: list[Any] = []  # so that no other object gets the identity of one
        self._count = 0

    def packed(self, value: Any) -> Packed:
        if issubclass(type(value), Value):
            return self._number(value)
        if is_plain(value) or self._known(value) or _never_changes(value):
            return Fixed(value)
        key = id(value)
        if key in self._given:
            return Given(self._given[key])
        if key in self._places:
            place = self._places[key]
            if place is None:
                raise NotPacked(f"a {type(value).__name__} that holds itself")
            return Again(place)
        return self._items(value)

    def _items(self, value: Any) -> Items:
        found = put_together(value)
        if found is None:
            kind = f"an object of the class {type(value).__name__}"
            raise NotPacked(f"{kind}, which is no container or dataclass")
        parts, make = found
        self._held.append(value)
        self._places[id(value)] = None
        made = Items(make, tuple([self.packed(each) for each in parts]))
        self._places[id(value)] = self._count
        self._count += 1
        return made


def _never_changes(value: Any) -> bool:
    """Whether `value` is a class, or a function that holds nothing."""
    if type(value) is FunctionType:
        return not (value.__closure__ or value.__defaults__ or value.__kwdefaults__)
    return issubclass(type(value), (type, BuiltinFunctionType))


def unpacked(
    form: Packed,
    tensors: Sequence[Any],
    boxes: Sequence[Any],
    given: Sequence[Any],
    made: list[Any],
) -> Any:
    """The result: number k stands for tensor k, ~k for box k; `given` are arguments.

    What is `made` on the way is appended.
    """
    if form.__class__ is int:
        return tensors[form] if form >= 0 else boxes[~form]
    if isinstance(form, Fixed):
        return form.value
    if isinstance(form, Given):
        return given[form.place]
    if isinstance(form, Again):
        return made[form.place]
    assert isinstance(form, Items)
    new = form.make([unpacked(each, tensors, boxes, given, made) for each in form.parts])
    made.append(new)
    return new


def renumbered(form: Packed, place: Callable[[int], int]) -> Packed:
    """`form` with the boxes numbered anew."""
    if isinstance(form, int):
        return form if form >= 0 else ~place(~form)
    if not isinstance(form, Items):
        return form
    return Items(form.make, tuple([renumbered(each, place) for each in form.parts]))
