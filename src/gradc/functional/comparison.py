"""Comparisons, logic, bits, and choices that depend on them."""

from __future__ import annotations

from collections.abc import Callable
from functools import update_wrapper
from typing import Any

import numpy as np

from ..arguments import whole
from ..tracer.composite import Number, composite, weakly
from ..tracer.data import unmasked
from ..tracer.dtypes import bool_, float64, int32
from ..tracer.errors import DTypeError, ShapeError, located
from ..tracer.ir import Node, node
from ..tracer.methods import all
from ..tracer.operand import together
from ..tracer.operators import comparison
from ..tracer.ops import elementwise as e
from ..tracer.ops.indexing import scatter_add_op
from ..tracer.ops.kinds import Elementwise, cast_to
from ..tracer.ops.movement import reshape
from ..tracer.ops.sources import constant_of, full, number_in
from ..tracer.recording import Numbers
from ..tracer.tensor import Tensor
from ..tracer.weak import widened
from .elementwise import binary, unary
from .indexing import as_places, taken_from_flat

__all__ = [
    "allclose",
    "argwhere",
    "bincount",
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
    "isneginf",
    "isposinf",
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
    "unique",
    "where",
]


def _comparison(op: Elementwise, mirrored: Elementwise, doc: str) -> Callable[..., Tensor]:
    """The function of two tensors that `op` is; of integers with any of Python's numbers too."""
    general = binary(op, doc)
    of_right, of_left = comparison(op), comparison(mirrored)

    def call(*args: Any, **options: Any) -> Any:
        if len(args) == 2 and not options:
            x, y = args
            if isinstance(y, Numbers) and isinstance(x, Tensor):
                return of_right(x, y)
            if isinstance(x, Numbers) and isinstance(y, Tensor):
                return of_left(y, x)
        elif options and {*("x", "y")[: len(args)], *options} == {"x", "y"}:
            return call(*args, *(options[name] for name in ("x", "y")[len(args) :]))
        return general(*args, **options)

    return update_wrapper(call, general)


equal = _comparison(e.eq, e.eq, "x == y")
not_equal = _comparison(e.ne, e.ne, "x != y")
less = _comparison(e.lt, e.gt, "x < y")
less_equal = _comparison(e.le, e.ge, "x <= y")
greater = _comparison(e.gt, e.lt, "x > y")
greater_equal = _comparison(e.ge, e.le, "x >= y")
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
def isposinf(x: Node) -> Node:
    """Whether x is inf."""
    return e.bit_and(e.isinf(x), x > 0)


@composite
def isneginf(x: Node) -> Node:
    """Whether x is -inf."""
    return e.bit_and(e.isinf(x), x < 0)


@composite
def bitwise_not(x: Node) -> Node:
    """~x, of bool or integers."""
    return e.bit_xor(x, constant_of(1 if x.dtype is bool_ else -1, x.dtype))


@composite
@weakly(x=widened, y=widened)
def logical_and(x: Node, y: Node) -> Node:
    """Whether both are not zero."""
    return e.bit_and(cast_to(x, bool_), cast_to(y, bool_))


@composite
@weakly(x=widened, y=widened)
def logical_or(x: Node, y: Node) -> Node:
    """Whether one or both are not zero."""
    return e.bit_or(cast_to(x, bool_), cast_to(y, bool_))


@composite
@weakly(x=widened, y=widened)
def logical_xor(x: Node, y: Node) -> Node:
    """Whether one, but not both, is not zero."""
    return e.bit_xor(cast_to(x, bool_), cast_to(y, bool_))


@composite
@weakly(x=widened, y=widened)
def isclose(
    x: Node, y: Node, rtol: Number = 1e-5, atol: Number = 1e-8, equal_nan: bool = False
) -> Node:
    """Whether |x - y| <= atol + rtol |y|, in float64; infinities are close where they are equal."""
    x, y = cast_to(x, float64), cast_to(y, float64)
    bound = number_in(atol, float64) + number_in(rtol, float64) * e.abs(y)
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
@weakly(mask=None)
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
@weakly(mask=None)
def masked_fill(x: Node, mask: Node, value: Node) -> Node:
    """`value` where `mask` holds, else x."""
    return e.where(mask, cast_to(value, x.dtype), x)


# ---- places that depend on values: what is recorded so far runs


def _places(condition: Any) -> tuple[np.ndarray[Any, Any], ...]:
    given = unmasked(together(condition))
    array = given.numpy() if isinstance(given, Tensor) else np.asarray(given)
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


def unique(inp: Any, return_inverse: bool = False, return_counts: bool = False) -> Any:
    """The different elements in order, read at once: their number depends on the values.

    On request also which of them each element is, and how often each occurs (both int32).
    """
    x = inp if isinstance(inp, Tensor) else Tensor(inp)
    array = x.numpy()
    _, first, inverse, counts = np.unique(array, True, True, True)
    made = [_flat_take(x, Tensor(first, dtype="int32"), array.shape)]
    if return_inverse:
        made.append(Tensor(inverse.reshape(array.shape), dtype="int32"))
    if return_counts:
        made.append(Tensor(counts, dtype="int32"))
    return made[0] if len(made) == 1 else tuple(made)


def bincount(inp: Any, weights: Any = None, minlength: int = 0) -> Tensor:
    """How often each number from 0 on occurs, or the sum of the `weights` of those.

    The largest number is read at once, as the length of the result depends on it.
    """
    x = inp if isinstance(inp, Tensor) else Tensor(inp)
    if x.ndim != 1 or x._node.dtype.is_float:
        raise DTypeError(located(f"bincount: expected a vector of integers, found {x._node.type}"))
    least = whole("bincount", "minlength", minlength)
    values = x.numpy()
    if (smallest := int(values.min(initial=0))) < 0:
        raise ValueError(located(f"bincount: expected numbers from 0 on, found {smallest}"))
    length = max(least, int(values.max(initial=-1)) + 1)
    counted: Tensor = _bincount(x, weights, length)
    return counted


@composite
def _bincount(x: Node, weights: Node | None, length: int) -> Node:
    kind = int32 if weights is None else weights.dtype
    weights = full(1, x.shape, kind) if weights is None else weights
    if weights.shape != x.shape:
        found = f"expected weights of shape {list(x.shape)}, found {list(weights.shape)}"
        raise ShapeError(located(f"bincount: {found}"))
    places = as_places(x, length, negative=False)
    return node(scatter_add_op, (full(0, (length,), kind), places, weights), (0,))


def cond_take(mask: Any, x: Any) -> tuple[Tensor, Tensor]:
    """The elements of x where `mask` holds, and their places in the flat x; the mask is read."""
    given = unmasked(together(mask))
    array = given.numpy() if isinstance(given, Tensor) else np.asarray(given)
    index = Tensor(np.flatnonzero(array), dtype="int32")
    return _flat_take(x, index, array.shape), index


@composite
def _flat_take(x: Node, index: Node, shape: tuple[int, ...]) -> Node:
    """The elements of x, of the `shape` of a mask, at `index` in the flat order."""
    if x.shape != shape:
        found = f"expected a mask of the shape {list(x.shape)}, found {list(shape)}"
        raise ShapeError(located(f"cond_take: {found}"))
    return taken_from_flat(reshape(x, (x.type.size,)), index)
