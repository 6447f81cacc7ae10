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
    if isinstance(value, PLAIN):
        return True
    kind = type(value)
    if kind is tuple or kind is frozenset:
        return all(map(is_plain, value))
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
    """A result that cannot be made anew; the argument says of what class it is."""


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


Packed = int | Fixed | Items | Given


def packed(
    value: Any,
    number: Callable[[Any], int],
    known: Callable[[Any], bool],
    given: Mapping[int, int],
) -> Packed:
    """`value` with a number in place of each tensor; objects that are `known` stay themselves.

    `given` has the places of the containers among the arguments, by identity.
    """
    if isinstance(value, Value):
        return number(value)
    if is_plain(value) or known(value) or _never_changes(value):
        return Fixed(value)
    if id(value) in given:
        return Given(given[id(value)])
    found = put_together(value)
    if found is None:
        raise NotPacked(type(value).__name__)
    parts, make = found
    return Items(make, tuple([packed(each, number, known, given) for each in parts]))


def _never_changes(value: Any) -> bool:
    """Whether `value` is a class, or a function that holds nothing."""
    if isinstance(value, FunctionType):
        return not (value.__closure__ or value.__defaults__ or value.__kwdefaults__)
    return isinstance(value, (type, BuiltinFunctionType))


def unpacked(
    form: Packed, tensors: Sequence[Any], boxes: Sequence[Any], given: Sequence[Any]
) -> Any:
    """The result: number k stands for tensor k, ~k for box k; `given` are arguments."""
    if form.__class__ is int:
        return tensors[form] if form >= 0 else boxes[~form]
    if isinstance(form, Fixed):
        return form.value
    if isinstance(form, Given):
        return given[form.place]
    assert isinstance(form, Items)
    return form.make([unpacked(each, tensors, boxes, given) for each in form.parts])


def renumbered(form: Packed, place: Callable[[int], int]) -> Packed:
    """`form` with the boxes numbered anew."""
    if isinstance(form, int):
        return form if form >= 0 else ~place(~form)
    if isinstance(form, (Fixed, Given)):
        return form
    return Items(form.make, tuple([renumbered(each, place) for each in form.parts]))
