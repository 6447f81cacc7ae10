"""The movements: elements in another place. They are index maps, folded into whoever reads them."""

from __future__ import annotations

import math
from functools import reduce
from typing import Any

import numpy as np

from ..dtypes import promote
from ..errors import ShapeError, located
from ..ir import Node, Shape, node
from . import reduction, sources
from .kinds import Movement, cast_to, normalized_axis


def _reshape_shape(x: Shape, shape: Shape) -> Shape:
    if math.prod(x) != math.prod(shape):
        raise ShapeError(located(f"reshape: {list(x)} has not as many elements as {list(shape)}"))
    return shape


reshape_op = Movement(
    "reshape",
    reference=lambda x, shape: np.reshape(x, shape),
    vjp=lambda g, y, x, shape: (reshape(g, x.shape),),
    attributes=("shape",),
    shaped=_reshape_shape,
    doc="the same elements, in row-major order, under another shape",
)


def reshape(x: Node, shape: Shape) -> Node:
    """`x` under `shape`, of which one extent may be -1."""
    if shape.count(-1) == 1:
        known = -math.prod(shape)
        if known == 0 or x.type.size % known:
            found = f"{list(x.shape)} does not fit {list(shape)}"
            raise ShapeError(located(f"reshape: {found}"))
        shape = tuple(x.type.size // known if extent == -1 else extent for extent in shape)
    if any(extent < 0 for extent in shape):
        raise ShapeError(located(f"reshape: {list(shape)} is no shape"))
    if x.op is reshape_op:
        x = x.inputs[0]
    return x if shape == x.shape else node(reshape_op, (x,), (shape,))


transpose_op = Movement(
    "transpose",
    reference=lambda x, order: np.transpose(x, order),
    vjp=lambda g, y, x, order: (transpose(g, tuple(order.index(i) for i in range(x.ndim))),),
    attributes=("order",),
    shaped=lambda x, order: tuple(x[axis] for axis in order),
    doc="axis i of the result is axis order[i] of x",
)


def transpose(x: Node, order: tuple[int, ...]) -> Node:
    """`x` with its axes in another order."""
    if sorted(order) != list(range(x.ndim)):
        raise ShapeError(located(f"transpose: {order} is no order of {x.ndim} axes"))
    if x.op is transpose_op:
        order = tuple(x.attrs[0][axis] for axis in order)
        x = x.inputs[0]
    return x if order == tuple(range(x.ndim)) else node(transpose_op, (x,), (order,))


def _broadcast_shape(x: Shape, shape: Shape) -> Shape:
    lead = len(shape) - len(x)
    if lead < 0 or any(have not in (1, want) for have, want in zip(x, shape[lead:], strict=True)):
        raise ShapeError(located(f"broadcast: {list(x)} does not broadcast to {list(shape)}"))
    return shape


broadcast_op = Movement(
    "broadcast",
    reference=lambda x, shape: np.broadcast_to(x, shape),
    vjp=lambda g, y, x, shape: (reduction.sum_to_shape(g, x.shape),),
    attributes=("shape",),
    shaped=_broadcast_shape,
    doc="x repeated along new leading axes and along axes of extent 1",
)


def broadcast(x: Node, shape: Shape) -> Node:
    """`x` as large as `shape`."""
    return x if x.shape == shape else node(broadcast_op, (x,), (shape,))


def _stepped(x: Any, starts: Shape, sizes: Shape, steps: Shape) -> Any:
    index = []
    for start, size, step in zip(starts, sizes, steps, strict=True):
        end = start + size * step
        index.append(slice(start, end if end >= 0 else None, step) if size else slice(0, 0))
    return x[tuple(index)]


def _slice_vjp(g: Node, y: Node, x: Node, starts: Shape, sizes: Shape, steps: Shape) -> tuple[Node]:
    for axis, step in enumerate(steps):
        if step < 0:
            g = flip(g, axis)
    lowest = tuple(
        start if step > 0 else start + (size - 1) * step
        for start, size, step in zip(starts, sizes, steps, strict=True)
    )
    spread = tuple(abs(step) for step in steps)
    above = tuple(
        extent - low - ((size - 1) * step + 1) if size else extent - low
        for extent, low, size, step in zip(x.shape, lowest, sizes, spread, strict=True)
    )
    return (pad(g, lowest, above, tuple(step - 1 for step in spread)),)


def _slice_shape(x: Shape, starts: Shape, sizes: Shape, steps: Shape) -> Shape:
    for extent, start, size, step in zip(x, starts, sizes, steps, strict=True):
        last = start + (size - 1) * step
        if size < 0 or (size and not (0 <= start < extent and 0 <= last < extent)):
            box = f"{list(sizes)} elements from {list(starts)} in steps of {list(steps)}"
            raise ShapeError(located(f"slice: {box} are not within {list(x)}"))
    return sizes


slice_op = Movement(
    "slice",
    reference=_stepped,
    vjp=_slice_vjp,
    attributes=("starts", "sizes", "steps"),
    shaped=_slice_shape,
    doc="element i of the result is element starts + i * steps of x; steps may be negative",
)


def stepped(x: Node, starts: Shape, sizes: Shape, steps: Shape) -> Node:
    """The box of `x` that begins at `starts` and goes on in `steps`."""
    steps = tuple(step if size > 1 else 1 for size, step in zip(sizes, steps, strict=True))
    whole = sizes == x.shape and all(step == 1 for step in steps)
    return x if whole else node(slice_op, (x,), (starts, sizes, steps))


def slice_(x: Node, axis: int, start: int | None, stop: int | None, step: int = 1) -> Node:
    """`x` restricted along one axis as Python's slice(start, stop, step) does."""
    low, high, by = slice(start, stop, step).indices(x.shape[axis])
    size = len(range(low, high, by))
    starts, sizes, steps = [0] * x.ndim, list(x.shape), [1] * x.ndim
    starts[axis], sizes[axis], steps[axis] = (low if size else 0), size, by
    return stepped(x, tuple(starts), tuple(sizes), tuple(steps))


def flip(x: Node, axis: int) -> Node:
    """`x` backwards along `axis`."""
    return slice_(x, axis, None, None, -1)


def _pad_shape(x: Shape, low: Shape, high: Shape, interior: Shape, fill: str) -> Shape:
    if any(count < 0 for count in (*low, *high, *interior)):
        found = f"{list(low)}, {list(high)} and {list(interior)}"
        raise ShapeError(located(f"pad: expected numbers from 0 on, found {found}"))
    return tuple(
        lo + hi + extent + max(extent - 1, 0) * gap
        for extent, lo, hi, gap in zip(x, low, high, interior, strict=True)
    )


def _padded(x: Any, low: Shape, high: Shape, interior: Shape, fill: str) -> Any:
    shape = _pad_shape(x.shape, low, high, interior, fill)
    result = np.full(shape, float(fill) if x.dtype.kind == "f" else int(fill), x.dtype)
    inside = tuple(
        slice(lo, lo + extent * (gap + 1), gap + 1) if extent else slice(0, 0)
        for lo, extent, gap in zip(low, x.shape, interior, strict=True)
    )
    result[inside] = x
    return result


pad_op = Movement(
    "pad",
    reference=_padded,
    vjp=lambda g, y, x, low, high, interior, fill: (
        stepped(g, low, x.shape, tuple(gap + 1 for gap in interior)),
    ),
    attributes=("low", "high", "interior", "fill"),
    shaped=_pad_shape,
    doc="x with `low` and `high` elements around it and `interior` ones between its own",
)


def pad(x: Node, low: Shape, high: Shape, interior: Shape | None = None, fill: float = 0) -> Node:
    """`x` surrounded by `fill`."""
    gaps = interior or (0,) * x.ndim
    if not any((*low, *high, *gaps)):
        return x
    return node(pad_op, (x,), (low, high, gaps, sources.text_of(fill, x.dtype)))


def _concat_shape(*arguments: Any) -> Shape:
    *shapes, axis = arguments
    first = shapes[0]
    normalized_axis("concat", axis, len(first))
    rest = (*first[:axis], *first[axis + 1 :])
    for shape in shapes:
        if len(shape) != len(first) or (*shape[:axis], *shape[axis + 1 :]) != rest:
            found = f"{list(first)} and {list(shape)} do not fit along axis {axis}"
            raise ShapeError(located(f"concat: {found}"))
    length = sum(shape[axis] for shape in shapes)
    return (*first[:axis], length, *first[axis + 1 :])


def _concat_vjp(g: Node, y: Node, *arguments: Any) -> tuple[Node, ...]:
    *parts, axis = arguments
    pieces, start = [], 0
    for part in parts:
        pieces.append(slice_(g, axis, start, start + part.shape[axis]))
        start += part.shape[axis]
    return tuple(pieces)


concat_op = Movement(
    "concat",
    reference=lambda *arguments: np.concatenate(arguments[:-1], axis=arguments[-1]),
    vjp=_concat_vjp,
    attributes=("axis",),
    shaped=_concat_shape,
    doc="the inputs one after another along `axis`",
)


def concat(parts: tuple[Node, ...], axis: int) -> Node:
    """`parts` one after another along `axis`; they are brought to their common type."""
    if not parts:
        raise ShapeError(located("concat: expected at least one tensor"))
    axis = normalized_axis("concat", axis, parts[0].ndim)
    dtype = reduce(promote, (part.dtype for part in parts))
    cast_parts = tuple(cast_to(part, dtype) for part in parts)
    return parts[0] if len(parts) == 1 else node(concat_op, cast_parts, (axis,))
