"""Reading and writing at places that are known only at run time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..dtypes import int32, int64, promote
from ..ir import Node, checked, node
from . import logic, movement, sources
from .kinds import Gather, Scatter, cast_to, normalized_axis

# ---- references


def _take(x: Any, indices: Any, axis: int) -> Any:
    return np.take(x, indices, axis=axis)


def _scatter(write: Callable[[Any, Any, Any], None]) -> Callable[..., Any]:
    """The reference that `write(lines, places, updates)` makes, all lines in front."""

    def scatter(base: Any, indices: Any, updates: Any, axis: int) -> Any:
        result = np.array(base)
        places = range(axis, axis + indices.ndim)
        rest = [i for i in range(updates.ndim) if i not in places]
        ordered = updates.transpose(*places, *rest)
        lines = np.moveaxis(result, axis, 0)
        write(lines, indices.reshape(-1), ordered.reshape(indices.size, *lines.shape[1:]))
        return result

    return scatter


def _set(lines: Any, places: Any, updates: Any) -> None:
    for place, update in zip(places, updates, strict=True):
        lines[place] = update


# ---- derivatives


def _take_vjp(g: Node, y: Node, x: Node, indices: Node, axis: int) -> tuple[Node, None]:
    nothing = sources.full(0, x.shape, g.dtype)
    return node(scatter_add_op, (nothing, indices, g), (axis,)), None


def _scatter_add_vjp(
    g: Node, y: Node, base: Node, indices: Node, updates: Node, axis: int
) -> tuple[Node, None, Node]:
    return g, None, node(take_op, (g, indices), (axis,))


def _scatter_set_vjp(
    g: Node, y: Node, base: Node, indices: Node, updates: Node, axis: int
) -> tuple[Node, None, Node]:
    """A line that was overwritten later gets nothing: only the last writer of a place counts."""
    blank = sources.full(0, updates.shape, g.dtype)
    of_base = node(scatter_set_op, (g, indices, blank), (axis,))
    taken = node(take_op, (g, indices), (axis,))
    if indices.type.size <= 1:
        return of_base, None, taken
    others = base.ndim - axis - 1
    stays = movement.reshape(
        _is_last_writer(indices, base.shape[axis]), (1,) * axis + indices.shape + (1,) * others
    )
    return of_base, None, logic.where(stays, taken, sources.constant_like(0, g))


def _is_last_writer(indices: Node, size: int) -> Node:
    """Whether no later one of `indices` names the same place: what stays of their own numbers."""
    ramp = node(sources.iota, (), (0, (indices.type.size,), int32))
    turn = movement.reshape(ramp, indices.shape)
    unwritten = sources.full(0, (size,), int32)
    last = node(scatter_set_op, (unwritten, indices, turn), (0,))
    return logic.eq(node(take_op, (last, indices), (0,)), turn)


# ---- records

take_op: Gather = Gather(
    "take",
    reference=_take,
    vjp=_take_vjp,
    attributes=("axis",),
    doc="the lines of x at `indices` along `axis`; a line read twice gets both cotangents",
)
scatter_add_op: Scatter = Scatter(
    "scatter_add",
    reference=_scatter(np.add.at),
    vjp=_scatter_add_vjp,
    attributes=("axis",),
    accumulate=True,
    doc="base with the updates added to the lines at `indices`",
)
scatter_set_op: Scatter = Scatter(
    "scatter_set",
    reference=_scatter(_set),
    vjp=_scatter_set_vjp,
    attributes=("axis",),
    doc="base with the lines at `indices` replaced; of several writers of a line the last stays",
)


def place(indices: Node, size: int, negative: bool = True) -> Node:
    """`indices` as places among `size`, checked when the program runs.

    Those that are `negative` are counted from the end, or an error.
    """
    wide = promote(indices.dtype, int32 if size < 1 << 31 else int64)
    return checked(logic.checked_index(cast_to(indices, wide), attrs=(size, negative)))


def take(x: Node, indices: Node, axis: int) -> Node:
    """The lines of `x` at `indices` along `axis`."""
    axis = normalized_axis("take", axis, x.ndim)
    return node(take_op, (x, place(indices, x.shape[axis])), (axis,))


def scatter_add(base: Node, indices: Node, updates: Node, axis: int) -> Node:
    """`base` with `updates` added at `indices` along `axis`."""
    return _written(scatter_add_op, base, indices, updates, axis)


def scatter_set(base: Node, indices: Node, updates: Node, axis: int) -> Node:
    """`base` with the lines at `indices` along `axis` replaced by `updates`."""
    return _written(scatter_set_op, base, indices, updates, axis)


def _written(op: Scatter, base: Node, indices: Node, updates: Node, axis: int) -> Node:
    axis = normalized_axis(op.name, axis, base.ndim)
    places = place(indices, base.shape[axis])
    return node(op, (base, places, cast_to(updates, base.dtype)), (axis,))
