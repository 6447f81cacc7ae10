"""Functions that move elements and compute nothing."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import reduce
from itertools import pairwise

from ..tracer.composite import Nodes, composite
from ..tracer.dtypes import promote
from ..tracer.errors import ShapeError, located
from ..tracer.ir import Node
from ..tracer.methods import astype, broadcast_to, flatten, reshape, squeeze, transpose
from ..tracer.ops import movement
from ..tracer.ops.kinds import cast_to, normalized_axes, normalized_axis

__all__ = [
    "astype",
    "broadcast_to",
    "concat",
    "expand_dims",
    "flatten",
    "flip",
    "pad",
    "repeat",
    "reshape",
    "roll",
    "split",
    "squeeze",
    "stack",
    "swapaxes",
    "tile",
    "transpose",
]


@composite
def expand_dims(x: Node, axis: int | tuple[int, ...]) -> Node:
    """x with new axes of extent 1 at the places `axis` of the result."""
    given = (axis,) if isinstance(axis, int) else axis
    places = normalized_axes("expand_dims", given, x.ndim + len(given))
    extents = iter(x.shape)
    rank = x.ndim + len(places)
    return movement.reshape(x, tuple(1 if i in places else next(extents) for i in range(rank)))


@composite
def swapaxes(x: Node, axis1: int, axis2: int) -> Node:
    """x with two axes exchanged."""
    order = list(range(x.ndim))
    a = normalized_axis("swapaxes", axis1, x.ndim)
    b = normalized_axis("swapaxes", axis2, x.ndim)
    order[a], order[b] = b, a
    return movement.transpose(x, tuple(order))


def _of_one_type(name: str, parts: Nodes) -> Nodes:
    if not parts:
        raise ShapeError(located(f"{name}: expected at least one tensor"))
    dtype = reduce(promote, (each.dtype for each in parts))
    return tuple(cast_to(each, dtype) for each in parts)


@composite
def concat(inps: Nodes, axis: int = 0) -> Node:
    """The tensors one after another along `axis`."""
    parts = _of_one_type("concat", inps)
    return movement.concat(parts, normalized_axis("concat", axis, parts[0].ndim))


@composite
def stack(inps: Nodes, axis: int = 0) -> Node:
    """The tensors, of one shape, along a new axis."""
    parts = _of_one_type("stack", inps)
    shapes = {each.shape for each in parts}
    if len(shapes) > 1:
        found = " and ".join(str(list(each)) for each in sorted(shapes))
        raise ShapeError(located(f"stack: expected one shape, found {found}"))
    place = normalized_axis("stack", axis, parts[0].ndim + 1)
    shape = (*parts[0].shape[:place], 1, *parts[0].shape[place:])
    return movement.concat(tuple(movement.reshape(each, shape) for each in parts), place)


@composite
def split(x: Node, nsplits_or_sections: int | tuple[int, ...], axis: int = 0) -> Nodes:
    """x cut along `axis` in so many equal parts, or at the given places."""
    axis = normalized_axis("split", axis, x.ndim)
    extent = x.shape[axis]
    if isinstance(nsplits_or_sections, int):
        count = nsplits_or_sections
        if count <= 0 or extent % count:
            raise ShapeError(located(f"split: {extent} is no multiple of {count}"))
        places: Sequence[int] = range(extent // count, extent, extent // count) if extent else ()
    else:
        places = nsplits_or_sections
    edges = [0, *places, extent]
    return tuple(movement.slice_(x, axis, low, high) for low, high in pairwise(edges))


@composite
def tile(x: Node, reps: int | tuple[int, ...]) -> Node:
    """x repeated as a whole, so many times along each axis."""
    times = (reps,) if isinstance(reps, int) else reps
    rank = max(len(times), x.ndim)
    times = (1,) * (rank - len(times)) + times
    shape = (1,) * (rank - x.ndim) + x.shape
    apart = movement.reshape(x, tuple(n for extent in shape for n in (1, extent)))
    pairs = zip(times, shape, strict=True)
    wide = movement.broadcast(apart, tuple(n for pair in pairs for n in pair))
    return movement.reshape(wide, tuple(t * n for t, n in zip(times, shape, strict=True)))


@composite
def repeat(x: Node, repeats: int, axis: int | None = None) -> Node:
    """x with each element (or each line along `axis`) repeated."""
    if axis is None:
        x, axis = movement.reshape(x, (-1,)), 0
    axis = normalized_axis("repeat", axis, x.ndim)
    before, after = x.shape[: axis + 1], x.shape[axis + 1 :]
    apart = movement.reshape(x, (*before, 1, *after))
    wide = movement.broadcast(apart, (*before, repeats, *after))
    return movement.reshape(wide, (*x.shape[:axis], x.shape[axis] * repeats, *after))


@composite
def roll(x: Node, shift: int | tuple[int, ...], axis: int | tuple[int, ...] | None = None) -> Node:
    """x with its elements moved on by `shift` along `axis`, around the end."""
    if axis is None:
        flat = movement.reshape(x, (math.prod(x.shape),))
        return movement.reshape(_rolled(flat, int(shift), 0), x.shape)  # type: ignore[arg-type]
    axes = (axis,) if isinstance(axis, int) else axis
    shifts = (shift,) * len(axes) if isinstance(shift, int) else shift
    for by, along in zip(shifts, axes, strict=True):
        x = _rolled(x, by, normalized_axis("roll", along, x.ndim))
    return x


def _rolled(x: Node, shift: int, axis: int) -> Node:
    extent = x.shape[axis]
    by = shift % extent if extent else 0
    if not by:
        return x
    ends = movement.slice_(x, axis, extent - by, None), movement.slice_(x, axis, 0, extent - by)
    return movement.concat(ends, axis)


@composite
def flip(x: Node, axis: int | tuple[int, ...] | None = None) -> Node:
    """x backwards along `axis` (None: along all)."""
    for each in normalized_axes("flip", axis, x.ndim):
        x = movement.flip(x, each)
    return x


@composite
def pad(
    src: Node,
    pad_width: tuple[tuple[int, int], ...],
    mode: str = "constant",
    constant_value: float = 0.0,
) -> Node:
    """`src` with (before, after) more elements along each axis.

    `mode` is "constant", "reflect" (without the edge itself) or "replicate" (the edge).
    """
    missing = src.ndim - len(pad_width)
    widths = (*pad_width, *((0, 0),) * missing)
    low, high = (tuple(pair[side] for pair in widths) for side in (0, 1))
    if mode == "constant":
        return movement.pad(src, low, high, fill=constant_value)
    if mode not in _EDGES:
        raise ValueError(located(f"pad: expected constant, reflect or replicate, found {mode!r}"))
    for axis, (before, after) in enumerate(widths):
        src = movement.concat(_EDGES[mode](src, axis, before, after), axis)
    return src


def _reflected(x: Node, axis: int, before: int, after: int) -> Nodes:
    extent = x.shape[axis]
    if max(before, after) >= extent:
        raise ShapeError(located(f"pad: cannot reflect {max(before, after)} of {extent} elements"))
    head = movement.flip(movement.slice_(x, axis, 1, before + 1), axis)
    tail = movement.flip(movement.slice_(x, axis, extent - 1 - after, extent - 1), axis)
    return head, x, tail


def _replicated(x: Node, axis: int, before: int, after: int) -> Nodes:
    first, last = movement.slice_(x, axis, 0, 1), movement.slice_(x, axis, -1, None)
    head, tail = (
        movement.broadcast(edge, (*x.shape[:axis], width, *x.shape[axis + 1 :]))
        for edge, width in ((first, before), (last, after))
    )
    return head, x, tail


_EDGES = {"reflect": _reflected, "replicate": _replicated, "edge": _replicated}
