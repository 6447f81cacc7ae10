"""The reductions. Results keep the reduced axes with extent 1; reshape drops them."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ..dtypes import float32, int32, promote
from ..ir import Node, Shape, node
from . import logic, movement, sources
from .kinds import Reduction, cast_to

Reference = Callable[[Any, tuple[int, ...]], Any]


def _without(shape: Shape, axes: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(axis for axis in range(len(shape)) if axis not in axes)


# ---- references


def _sum(x: Any, axes: tuple[int, ...]) -> Any:
    wide = np.float64 if x.dtype == np.float32 else x.dtype
    return np.sum(x, axis=axes, keepdims=True, dtype=wide).astype(x.dtype)


def _prod(x: Any, axes: tuple[int, ...]) -> Any:
    return np.prod(x, axis=axes, keepdims=True, dtype=x.dtype)


def _extremum(function: Any, of_bool: Any) -> Reference:
    def reduce(x: Any, axes: tuple[int, ...]) -> Any:
        return (of_bool if x.dtype == np.bool_ else function)(x, axis=axes, keepdims=True)

    return reduce


def _position(function: Any) -> Reference:
    def find(x: Any, axes: tuple[int, ...]) -> Any:
        kept = _without(x.shape, axes)
        extents = [x.shape[axis] for axis in kept]
        length = math.prod(x.shape[axis] for axis in axes)
        lines = x.transpose(*kept, *axes).reshape(*extents, length)
        shape = tuple(1 if axis in axes else extent for axis, extent in enumerate(x.shape))
        return function(lines, axis=-1).reshape(shape).astype(np.int32)

    return find


# ---- derivatives


def _sum_vjp(g: Node, y: Node, x: Node, axes: tuple[int, ...]) -> tuple[Node]:
    return (movement.broadcast(g, x.shape),)


def _max_vjp(g: Node, y: Node, x: Node, axes: tuple[int, ...]) -> tuple[Node]:
    return _shared_by_winners(g, x, -min(-x, axes), axes)


def _min_vjp(g: Node, y: Node, x: Node, axes: tuple[int, ...]) -> tuple[Node]:
    return _shared_by_winners(g, x, -max(-x, axes), axes)


def _shared_by_winners(g: Node, x: Node, best: Node, axes: tuple[int, ...]) -> tuple[Node]:
    """`best` is the result under another name.

    The result itself may have been computed earlier, by another program than `x` will be, and then
    need not have the bits of any of these elements. Within one program the two names are one.
    """
    won = logic.bit_or(logic.eq(x, best), logic.isnan(x))
    wide = promote(g.dtype, float32)  # a half type does not hold how many have won
    share = cast_to(cast_to(g, wide) / cast_to(sum(won, axes), wide), g.dtype)
    return (logic.where(won, share, sources.constant_like(0, g)),)


def _first_max_vjp(g: Node, y: Node, x: Node, axes: tuple[int, ...]) -> tuple[Node]:
    won = logic.eq(_places(x.shape, axes), argmax(x, axes))
    return (logic.where(won, g, sources.constant_like(0, g)),)


def _places(shape: Shape, axes: tuple[int, ...]) -> Node:
    """The number of each element in its line along `axes`, as argmax counts them."""
    total: Node | None = None
    after = 1
    for axis in reversed(axes):
        own = node(sources.iota, (), (axis, shape, int32))
        own = own if after == 1 else own * sources.constant_like(after, own)
        total = own if total is None else total + own
        after *= shape[axis]
    return total if total is not None else sources.full(0, shape, int32)


def product_of_others(x: Node, axis: int) -> Node:
    """At each place, the product of all other elements along `axis`: exact beside zeros.

    Pairs are multiplied, the rule is applied to the half as long line, and each element gets that
    of its pair times its partner: log2(n) steps, each differentiable.
    """
    extent = x.shape[axis]
    if extent <= 1:
        return sources.full(1, x.shape, x.dtype)
    nothing = (0,) * x.ndim
    one_more = (*nothing[:axis], extent % 2, *nothing[axis + 1 :])
    even = movement.pad(x, nothing, one_more, fill=1)
    left = movement.slice_(even, axis, 0, None, 2)
    right = movement.slice_(even, axis, 1, None, 2)
    others = product_of_others(left * right, axis)
    woven = _woven(others * right, others * left, axis)
    return movement.slice_(woven, axis, 0, extent)


def _woven(a: Node, b: Node, axis: int) -> Node:
    """The elements of `a` and `b` in turn along `axis`."""
    before, extent, after = a.shape[:axis], a.shape[axis], a.shape[axis + 1 :]
    apart = (*before, extent, 1, *after)
    pairs = (movement.reshape(a, apart), movement.reshape(b, apart))
    return movement.reshape(movement.concat(pairs, axis + 1), (*before, 2 * extent, *after))


def _prod_vjp(g: Node, y: Node, x: Node, axes: tuple[int, ...]) -> tuple[Node]:
    """Several axes are brought together, so that one line holds all factors."""
    if len(axes) == 1:
        return (g * product_of_others(x, axes[0]),)
    kept = _without(x.shape, axes)
    order = (*kept, *axes)
    lines = movement.transpose(x, order)
    length = math.prod(x.shape[axis] for axis in axes)
    flat = movement.reshape(lines, (*(x.shape[axis] for axis in kept), length))
    others = movement.reshape(product_of_others(flat, len(kept)), lines.shape)
    back = tuple(order.index(axis) for axis in range(x.ndim))
    return (g * movement.transpose(others, back),)


# ---- records

sum = Reduction(
    "sum",
    combine="{a} + {x}",
    identity="0",
    reference=_sum,
    vjp=_sum_vjp,
    attributes=("axes",),
    result="accumulator",
    domain="number",
    doc="float32 is summed in blocks whose sums are added in float64, half types in float32",
)
prod = Reduction(
    "prod",
    combine="{a} * {x}",
    identity="1",
    reference=_prod,
    vjp=_prod_vjp,
    attributes=("axes",),
    result="accumulator",
    domain="number",
    doc="the derivative is the product of the other factors, exact beside zeros, to every order",
)
max = Reduction(
    "max",
    combine="gradc_max_{k}({a}, {x})",
    identity="lowest",
    reference=_extremum(np.max, np.any),
    vjp=_max_vjp,
    attributes=("axes",),
    doc="NaN where one is among the elements; tied winners, or all NaN, share the cotangent evenly",
)
min = Reduction(
    "min",
    combine="gradc_min_{k}({a}, {x})",
    identity="highest",
    reference=_extremum(np.min, np.all),
    vjp=_min_vjp,
    attributes=("axes",),
    doc="NaN where one is among the elements; tied winners, or all NaN, share the cotangent evenly",
)
first_max = Reduction(
    "first_max",
    combine="gradc_max_{k}({a}, {x})",
    identity="lowest",
    reference=_extremum(np.max, np.any),
    vjp=_first_max_vjp,
    attributes=("axes",),
    doc="max, whose cotangent goes to the first of tied winners, or to the first NaN",
)
argmax = Reduction(
    "argmax",
    reference=_position(np.argmax),
    vjp=None,
    attributes=("axes",),
    result="index",
    doc="the position (int32) of the first largest element, or of the first NaN",
)
argmin = Reduction(
    "argmin",
    reference=_position(np.argmin),
    vjp=None,
    attributes=("axes",),
    result="index",
    doc="the position (int32) of the first smallest element, or of the first NaN",
)


def sum_to_shape(g: Node, shape: Shape) -> Node:
    """`g` summed over the axes along which `shape` was broadcast to its shape."""
    if g.shape == shape:
        return g
    lead = g.ndim - len(shape)
    stretched = [lead + i for i, extent in enumerate(shape) if extent != g.shape[lead + i]]
    return movement.reshape(sum(g, (*range(lead), *stretched)), shape)
