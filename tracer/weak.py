"""Python's numbers beside tensors of integers: which of them a type holds, and what else they mean.

A number that is stored must fit the type. One that x is only compared with need not: the answer is
that of Python, for all numbers.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from .dtypes import DType, bool_, default_int, int64
from .errors import located
from .ir import Node
from .ops.sources import full

Weak = Callable[[Any, DType], tuple[Any, DType]]
"""What a number becomes beside tensors of a type, and the type that it is weak beside."""


STATED = (int, np.generic, np.ndarray, list, tuple)


def ends(dtype: DType) -> tuple[int, int]:
    """The least and the largest integer of a type that is no float."""
    if dtype is bool_:
        return 0, 1
    limits = np.iinfo(dtype.storage)
    return int(limits.min), int(limits.max)


def fits(value: int, dtype: DType) -> bool:
    """Whether a type that is no float holds `value`."""
    low, high = ends(dtype)
    return low <= value <= high


def require_fit(value: Any, dtype: DType, function: str = "") -> None:
    """Refuse integers, one or lists and arrays of them, that are to be stored in `dtype`.

    Raises:
        OverflowError: naming one that the type does not hold.
    """
    if (
        dtype.is_float
        or dtype is bool_
        or not isinstance(value, (int, list, tuple, np.generic, np.ndarray))
    ):
        return
    array = value if isinstance(value, int) else np.asarray(value)
    if not isinstance(array, int) and (array.dtype.kind not in "iu" or not array.size):
        return
    extremes = (array,) if isinstance(array, int) else (int(array.min()), int(array.max()))
    for each in extremes:
        if not fits(each, dtype):
            begin = f"{function}: " if function else ""
            raise OverflowError(located(f"{begin}the number {each} does not fit {dtype.name}"))


# ---- numbers that are not stored


def from_below(value: Any, dtype: DType) -> tuple[Any, DType]:
    """What a lower bound means: one below all numbers of the type is as good as the least."""
    whole = isinstance(value, int) and not dtype.is_float and dtype is not bool_
    return (max(value, ends(dtype)[0]) if whole else value), dtype


def from_above(value: Any, dtype: DType) -> tuple[Any, DType]:
    """What an upper bound means: one above all numbers of the type is as good as the largest."""
    whole = isinstance(value, int) and not dtype.is_float and dtype is not bool_
    return (min(value, ends(dtype)[1]) if whole else value), dtype


def widened(value: Any, dtype: DType) -> tuple[Any, DType]:
    """The number as it is, beside a type that holds it: for what is compared or asked whether 0."""
    outside = isinstance(value, int) and not dtype.is_float and not fits(value, dtype)
    if not outside:
        return value, dtype
    return (value, int64) if fits(value, int64) else (float(value), dtype)


def compared(sign: str, value: Any, dtype: DType) -> int | bool:
    """The integer n for which `x sign n` is `x sign value` for all x of `dtype`, or the one answer.

    `sign` is the name of a comparison; a fraction counts as the whole number next to it.
    """
    low, high = ends(dtype)
    if value != value:
        return sign == "ne"
    if value > high:
        return sign in ("lt", "le", "ne")
    if value < low:
        return sign in ("gt", "ge", "ne")
    if value == int(value):
        return int(value)
    if sign in ("eq", "ne"):
        return sign == "ne"
    return int(math.ceil(value) if sign in ("lt", "ge") else math.floor(value))


def wide_integers(values: Any, dtype: DType) -> Any:
    """An array of int64 for integers that are more than what they become beside `dtype`, else None.

    `values` is an array, or a list of Python's integers.
    """
    array = isinstance(values, np.ndarray)
    if not array and not (isinstance(values, (list, tuple)) and set(map(type, values)) == {int}):
        return None
    found = np.asarray(values)
    if dtype.is_float or found.dtype.kind not in "iu" or not found.size:
        return None
    extremes = int(found.min()), int(found.max())
    narrow = all(fits(each, default_int()) for each in extremes)
    return None if narrow or not all(fits(e, int64) for e in extremes) else found.astype(np.int64)


def answered(x: Node, answer: bool) -> Node:
    """The same answer for every element of x."""
    return full(answer, x.shape, bool_)
