"""Comparisons, logic, bits, and choices that depend on them."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..tracer.composite import composite
from ..tracer.dtypes import bool_, float64
from ..tracer.errors import ShapeError, located
from ..tracer.ir import Node
from ..tracer.methods import all
from ..tracer.ops import elementwise as e
from ..tracer.ops.kinds import cast_to
from ..tracer.ops.movement import reshape
from ..tracer.ops.sources import constant_of
from ..tracer.tensor import Tensor
from .elementwise import binary, unary
from .indexing import taken_from_flat

__all__ = [
    "allclose",
    "argwhere",
    "bitwise_and",
    "bitwise_not",
    "bitwise_or",
    "bitwise_xor",
    "cond_take",
    "equal",
    "greater",
    "greater_equal",
    "isclose",
    "isfinite",
    "isinf",
    "isnan",
    "left_shift",
    "less",
    "less_equal",
    "logical_and",
    "logical_not",
    "logical_or",
    "logical_xor",
    "masked_fill",
    "non_zero",
    "nonzero",
    "not_equal",
    "right_shift",
    "where",
]

equal = binary(e.eq, "x == y")
not_equal = binary(e.ne, "x != y")
less = binary(e.lt, "x < y")
less_equal = binary(e.le, "x <= y")
greater = binary(e.gt, "x > y")
greater_equal = binary(e.ge, "x >= y")
logical_not = unary(e.logical_not, "Whether x is zero")
isnan = unary(e.isnan, "Whether x is not a number")
isinf = unary(e.isinf, "Whether x is inf or -inf")
isfinite = unary(e.isfinite, "Whether x is neither inf, -inf nor NaN")
bitwise_and = binary(e.bit_and, "x & y, of bool or integers")
bitwise_or = binary(e.bit_or, "x | y, of bool or integers")
bitwise_xor = binary(e.bit_xor, "x ^ y, of bool or integers")
left_shift = binary(e.shift_left, "x << y, of integers")
right_shift = binary(e.shift_right, "x >> y, of integers")


@composite
def bitwise_not(x: Node) -> Node:
    """~x, of bool or integers."""
    return e.bit_xor(x, constant_of(1 if x.dtype is bool_ else -1, x.dtype))


@composite
def logical_and(x: Node, y: Node) -> Node:
    """Whether both are not zero."""
    return e.bit_and(cast_to(x, bool_), cast_to(y, bool_))


@composite
def logical_or(x: Node, y: Node) -> Node:
    """Whether one or both are not zero."""
    return e.bit_or(cast_to(x, bool_), cast_to(y, bool_))


@composite
def logical_xor(x: Node, y: Node) -> Node:
    """Whether one, but not both, is not zero."""
    return e.bit_xor(cast_to(x, bool_), cast_to(y, bool_))


@composite
def isclose(
    x: Node, y: Node, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False
) -> Node:
    """Whether |x - y| <= atol + rtol |y|, in float64; infinities are close where they are equal."""
    x, y = cast_to(x, float64), cast_to(y, float64)
    bound = constant_of(atol, float64) + constant_of(rtol, float64) * e.abs(y)
    near = e.bit_and(e.le(e.abs(x - y), bound), e.isfinite(y))
    made = e.bit_or(near, e.eq(x, y))
    return e.bit_or(made, e.bit_and(e.isnan(x), e.isnan(y))) if equal_nan else made


def allclose(
    x: Any, y: Any, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False
) -> bool:
    """Whether `isclose` holds everywhere: a Python bool, so what is recorded runs."""
    return bool(all(isclose(x, y, rtol, atol, equal_nan)))


# ---- choice


@composite
def _where(mask: Node, x: Node, y: Node) -> Node:
    return e.where(mask, x, y)


def where(mask: Any, x: Any = None, y: Any = None) -> Any:
    """x where `mask` holds, else y; the side that is not taken gets a zero derivative.

    With `mask` alone: the places where it holds, as `non_zero(mask, as_tuple=True)`.
    """
    if x is None and y is None:
        return non_zero(mask, as_tuple=True)
    if x is None or y is None:
        raise TypeError(located("where: expected two tensors beside the mask, or none"))
    return _where(mask, x, y)


@composite
def masked_fill(x: Node, mask: Node, value: Node) -> Node:
    """`value` where `mask` holds, else x."""
    return e.where(mask, cast_to(value, x.dtype), x)


# ---- places that depend on values: what is recorded so far runs


def _places(condition: Any) -> tuple[np.ndarray[Any, Any], ...]:
    array = condition.numpy() if isinstance(condition, Tensor) else np.asarray(condition)
    return np.nonzero(np.atleast_1d(array))


def non_zero(condition: Any, as_tuple: bool = False) -> Any:
    """The places (int32) where `condition` is not zero, read at once.

    A row of indices for each of them, or, with `as_tuple`, a tensor of indices for each axis.
    """
    found = _places(condition)
    if as_tuple:
        return tuple([Tensor(each, dtype="int32") for each in found])
    return Tensor(np.stack(found, axis=-1), dtype="int32")


nonzero = argwhere = non_zero


def cond_take(mask: Any, x: Any) -> tuple[Tensor, Tensor]:
    """The elements of x where `mask` holds, and their places in the flat x; the mask is read."""
    array = mask.numpy() if isinstance(mask, Tensor) else np.asarray(mask)
    index = Tensor(np.flatnonzero(array), dtype="int32")
    return _flat_take(x, index, array.shape), index


@composite
def _flat_take(x: Node, index: Node, shape: tuple[int, ...]) -> Node:
    """The elements of x, of the `shape` of a mask, at `index` in the flat order."""
    if x.shape != shape:
        found = f"expected a mask of the shape {list(x.shape)}, found {list(shape)}"
        raise ShapeError(located(f"cond_take: {found}"))
    return taken_from_flat(reshape(x, (x.type.size,)), index)
