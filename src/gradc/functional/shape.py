"""Functions that move elements and compute nothing."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import reduce
from itertools import pairwise
from typing import Any

import numpy as np

from ..tracer.arguments import WHOLES
from ..tracer.composite import Nodes, composite, static
from ..tracer.dtypes import promote
from ..tracer.errors import ShapeError, located
from ..tracer.ir import Node
from ..tracer.methods import astype, broadcast_to, flatten, reshape, squeeze, transpose
from ..tracer.ops import movement
from ..tracer.ops.kinds import cast_to, normalized_axes, normalized_axis
from ..tracer.tensor import Tensor
from .indexing import take

__all__ = [
    "astype",
    "broadcast_to",
    "cat",
    "chunk",
    "concat",
    "concatenate",
    "expand_dims",
    "flatten",
    "flip",
    "moveaxis",
    "movedim",
    "permute",
    "repeat",
    "reshape",
    "roll",
    "split",
    "squeeze",
    "stack",
    "swapaxes",
    "tile",
    "transpose",
    "unbind",
    "unsqueeze",
    "unstack",
]

permute = transpose


@composite
def expand_dims(inp: Node, axis: int | tuple[int, ...]) -> Node:
    """`inp` with new axes of extent 1 at the places `axis` of the result."""
    given = (axis,) if isinstance(axis, int) else axis
    rank = inp.ndim + len(given)
    if wrong := [each for each in given if not -rank <= each < rank]:
        expected = f"expected places from {-rank} to {rank - 1} for {len(given)} new axes"
        found = f"beside the {inp.ndim} of the tensor, found {wrong[0]}"
        raise ShapeError(located(f"expand_dims: {expected} {found}"))
    places = normalized_axes("expand_dims", given, rank)
    extents = iter(inp.shape)
    return movement.reshape(inp, tuple(1 if i in places else next(extents) for i in range(rank)))


unsqueeze = expand_dims


@composite
def swapaxes(inp: Node, axis1: int, axis2: int) -> Node:
    """`inp` with two axes exchanged."""
    order = list(range(inp.ndim))
    a = normalized_axis("swapaxes", axis1, inp.ndim)
    b = normalized_axis("swapaxes", axis2, inp.ndim)
    order[a], order[b] = b, a
    return movement.transpose(inp, tuple(order))


@composite
def moveaxis(inp: Node, source: int | tuple[int, ...], destination: int | tuple[int, ...]) -> Node:
    """`inp` with the axes `source` at the places `destination`, the others in their order."""
    taken, places = (
        [normalized_axis("moveaxis", each, inp.ndim) for each in _listed(given)]
        for given in (source, destination)
    )
    if len({*taken}) != len(taken) or len({*places}) != len(places) or len(taken) != len(places):
        found = f"found {source} and {destination}"
        raise ShapeError(located(f"moveaxis: expected as many places as axes, each once, {found}"))
    rest = iter(axis for axis in range(inp.ndim) if axis not in taken)
    at = dict(zip(places, taken, strict=True))
    return movement.transpose(
        inp, tuple(at[place] if place in at else next(rest) for place in range(inp.ndim))
    )


movedim = moveaxis


def _listed(given: int | tuple[int, ...]) -> tuple[int, ...]:
    return (given,) if isinstance(given, int) else given


# ---- together and apart


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


concatenate = cat = concat


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
def split(inp: Node, nsplits_or_sections: int | tuple[int, ...], axis: int = 0) -> Nodes:
    """`inp` cut along `axis` in so many equal parts, or at the given places."""
    axis = normalized_axis("split", axis, inp.ndim)
    extent = inp.shape[axis]
    if isinstance(nsplits_or_sections, int):
        count = nsplits_or_sections
        if count <= 0 or extent % count:
            raise ShapeError(located(f"split: {extent} is no multiple of {count}"))
        places: Sequence[int] = [extent // count * part for part in range(1, count)]
    else:
        places = nsplits_or_sections
    return _cut(inp, [0, *places, extent], axis)


def _cut(x: Node, edges: Sequence[int], axis: int) -> Nodes:
    return tuple(movement.slice_(x, axis, low, high) for low, high in pairwise(edges))


@composite
def chunk(inp: Node, chunks: int, axis: int = 0) -> Nodes:
    """`inp` cut along `axis` in at most `chunks` parts, all as large as the first but the last."""
    axis = normalized_axis("chunk", axis, inp.ndim)
    if chunks <= 0:
        raise ShapeError(located(f"chunk: expected a number from 1 on, found {chunks}"))
    extent = inp.shape[axis]
    size = max(-(-extent // chunks), 1)
    return _cut(inp, [*range(0, max(extent, 1), size), extent], axis)


@composite
def unstack(inp: Node, axis: int = 0) -> Nodes:
    """The lines of `inp` along `axis`, without that axis."""
    axis = normalized_axis("unstack", axis, inp.ndim)
    shape = (*inp.shape[:axis], *inp.shape[axis + 1 :])
    lines = _cut(inp, range(inp.shape[axis] + 1), axis)
    return tuple(movement.reshape(each, shape) for each in lines)


unbind = unstack


# ---- again, around and backwards


@composite
def tile(inp: Node, reps: int | tuple[int, ...]) -> Node:
    """`inp` repeated as a whole, so many times along each axis."""
    times = (reps,) if isinstance(reps, int) else reps
    if any(each < 0 for each in times):
        raise ShapeError(located(f"tile: expected numbers from 0 on, found {reps}"))
    rank = max(len(times), inp.ndim)
    times = (1,) * (rank - len(times)) + times
    shape = (1,) * (rank - inp.ndim) + inp.shape
    apart = movement.reshape(inp, tuple(n for extent in shape for n in (1, extent)))
    pairs = zip(times, shape, strict=True)
    wide = movement.broadcast(apart, tuple(n for pair in pairs for n in pair))
    return movement.reshape(wide, tuple(t * n for t, n in zip(times, shape, strict=True)))


@composite
def _repeat(inp: Node, repeats: int, axis: int | None) -> Node:
    if axis is None:
        inp, axis = movement.reshape(inp, (inp.type.size,)), 0
    if repeats < 0:
        raise ShapeError(located(f"repeat: expected a number from 0 on, found {repeats}"))
    axis = normalized_axis("repeat", axis, inp.ndim)
    before, after = inp.shape[: axis + 1], inp.shape[axis + 1 :]
    apart = movement.reshape(inp, (*before, 1, *after))
    wide = movement.broadcast(apart, (*before, repeats, *after))
    return movement.reshape(wide, (*inp.shape[:axis], inp.shape[axis] * repeats, *after))


def repeat(inp: Any, repeats: Any, axis: int | None = None) -> Tensor:
    """`inp` with each element (or each line along `axis`) repeated.

    `repeats` is one number for all, or one for each line.
    """
    counts = static(repeats)
    if isinstance(counts, tuple) and len(counts) == 1:
        (counts,) = counts
    if isinstance(counts, int):
        once: Tensor = _repeat(inp, counts, axis)
        return once
    WHOLES.check("repeat", "repeats", counts)
    x = inp if isinstance(inp, Tensor) else Tensor(inp)
    x, along = (x.flatten(), 0) if axis is None else (x, normalized_axis("repeat", axis, x.ndim))
    if len(counts) != x.shape[along] or any(count < 0 for count in counts):
        found = f"expected a number from 0 on for each of {x.shape[along]} lines, found {counts}"
        raise ShapeError(located(f"repeat: {found}"))
    made: Tensor = take(x, along, np.repeat(np.arange(len(counts), dtype=np.int32), counts))
    return made


@composite
def roll(
    inp: Node, shift: int | tuple[int, ...], axis: int | tuple[int, ...] | None = None
) -> Node:
    """`inp` with its elements moved on by `shift` along `axis`, around the end."""
    if axis is None:
        if not isinstance(shift, int):
            raise ShapeError(located(f"roll: expected an axis for each shift, found {shift}"))
        flat = movement.reshape(inp, (math.prod(inp.shape),))
        return movement.reshape(_rolled(flat, shift, 0), inp.shape)
    axes = _listed(axis)
    shifts = (shift,) * len(axes) if isinstance(shift, int) else shift
    if len(shifts) != len(axes):
        found = f"found {len(shifts)} shifts for {len(axes)} axes"
        raise ShapeError(located(f"roll: expected an axis for each shift, {found}"))
    for by, along in zip(shifts, axes, strict=True):
        inp = _rolled(inp, by, normalized_axis("roll", along, inp.ndim))
    return inp


def _rolled(x: Node, shift: int, axis: int) -> Node:
    extent = x.shape[axis]
    by = shift % extent if extent else 0
    if not by:
        return x
    ends = movement.slice_(x, axis, extent - by, None), movement.slice_(x, axis, 0, extent - by)
    return movement.concat(ends, axis)


@composite
def flip(inp: Node, axis: int | tuple[int, ...] | None = None) -> Node:
    """`inp` backwards along `axis` (None: along all)."""
    for each in normalized_axes("flip", axis, inp.ndim):
        inp = movement.flip(inp, each)
    return inp
