"""Nested results of a function, taken apart into tensors and the way in which they stood."""

from __future__ import annotations

import enum
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .dtypes import DType
from .value import Value

PLAIN = (
    *(bool, int, float, complex, str, bytes, type(None), type(...), range, slice),
    *(np.generic, np.dtype, DType, enum.Enum),
)
"""Values that cannot change: what is computed from equal ones is equal."""


def is_plain(value: Any) -> bool:
    """Whether `value` is a number, a string or the like, or a tuple of such."""
    return isinstance(value, PLAIN) or (value.__class__ is tuple and all(map(is_plain, value)))


def same_plain(one: Any, other: Any) -> bool:
    """Whether both are plain and alike in type and value; 0.0 and -0.0 are not."""
    if one.__class__ is not other.__class__ or not is_plain(one) or not is_plain(other):
        return False
    if one.__class__ is tuple:
        alike = len(one) == len(other)
        return alike and all(map(same_plain, one, other))
    return repr(one) == repr(other)


class NotPacked(Exception):
    """A result that cannot be made anew; the argument says of what class it is."""


@dataclass(frozen=True, slots=True)
class Fixed:
    """A part of a result that is always the same."""

    value: Any


@dataclass(frozen=True, slots=True)
class Items:
    """A tuple, a list, or the items of a dict: what makes it, and its parts."""

    make: Callable[[list[Any]], Any]
    parts: tuple[Any, ...]


Packed = int | Fixed | Items


def packed(value: Any, number: Callable[[Any], int], known: Callable[[Any], bool]) -> Packed:
    """`value` with a number in place of each tensor; objects that are `known` stay themselves."""
    if isinstance(value, Value):
        return number(value)
    if is_plain(value) or known(value):
        return Fixed(value)
    kind = value.__class__
    if kind in (dict, OrderedDict):
        parts = [packed(each, number, known) for each in value.values()]
        keys = list(value)
        return Items(lambda made: kind(zip(keys, made, strict=True)), tuple(parts))
    if kind is not list and not isinstance(value, tuple):
        raise NotPacked(kind.__name__)
    make = (lambda made: kind(*made)) if hasattr(value, "_fields") else kind
    return Items(make, tuple([packed(each, number, known) for each in value]))


def unpacked(form: Packed, tensors: Sequence[Any], boxes: Sequence[Any]) -> Any:
    """The result: number k stands for tensor k, ~k for box k."""
    if form.__class__ is int:
        return tensors[form] if form >= 0 else boxes[~form]
    if isinstance(form, Fixed):
        return form.value
    assert isinstance(form, Items)
    return form.make([unpacked(each, tensors, boxes) for each in form.parts])


def renumbered(form: Packed, place: Callable[[int], int]) -> Packed:
    """`form` with the boxes numbered anew."""
    if isinstance(form, int):
        return form if form >= 0 else ~place(~form)
    if isinstance(form, Fixed):
        return form
    return Items(form.make, tuple([renumbered(each, place) for each in form.parts]))
