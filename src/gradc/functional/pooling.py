"""Pooling: reductions over the windows of (batch, channels, *space)."""

from __future__ import annotations

from math import prod

from ..arguments import one_of
from ..tracer.composite import composite
from ..tracer.dtypes import DType, bool_, int64
from ..tracer.errors import ShapeError, located
from ..tracer.interpret import computing
from ..tracer.ir import Node, Shape, node
from ..tracer.methods import mean_of
from ..tracer.ops import contraction, reduction, sources, window
from ..tracer.ops import elementwise as e
from ..tracer.ops.kinds import cast_to
from ..tracer.ops.movement import concat, reshape, slice_
from ..tracer.ops.sources import constant_like, constant_of
from .convolution import check_fits, each_axis, padded

__all__ = [
    "adaptive_avg_pool1d",
    "adaptive_avg_pool2d",
    "adaptive_avg_pool3d",
    "adaptive_max_pool1d",
    "adaptive_max_pool2d",
    "adaptive_max_pool3d",
    "avg_pool1d",
    "avg_pool2d",
    "avg_pool3d",
    "max_pool1d",
    "max_pool2d",
    "max_pool3d",
]

Sizes = int | tuple[int, ...]
AVERAGES = ("average", "average_count_exclude_padding")
"""The modes of avg_pool: over all elements of a window, or over those within the input."""
Windows = tuple[Sizes, Sizes | None, Sizes]
"""The size of the windows, their stride (None: the size) and the padding."""


def settled(name: str, rank: int, windows: Windows) -> tuple[Shape, Shape, Shape]:
    """The windows, with a number for each axis of space, that are known to be possible."""
    kernel, stride, padding = windows
    span = each_axis(name, "kernel_size", kernel, rank, 1)
    strides = each_axis(name, "stride", span if stride is None else stride, rank, 1)
    amounts = each_axis(name, "padding", padding, rank)
    if any(amount >= size for amount, size in zip(amounts, span, strict=True)):
        found = f"expected a padding below the window {list(span)}, found {list(amounts)}"
        raise ShapeError(located(f"{name}: {found}"))
    return span, strides, amounts


def _lines(name: str, x: Node, rank: int, windows: Windows, fill: float) -> Node:
    """The windows of `x`, each as one line behind the places."""
    if x.ndim != rank + 2:
        found = f"expected (batch, channels, *space) with {rank + 2} axes, found {list(x.shape)}"
        raise ShapeError(located(f"{name}: {found}"))
    span, strides, amounts = settled(name, rank, windows)
    axes, ones = tuple(range(2, rank + 2)), (1,) * rank
    wide = padded(x, amounts, fill)
    check_fits(name, wide, span, ones)
    seen = window.windows(wide, axes, span, strides, ones)
    return reshape(seen, (*seen.shape[: x.ndim], prod(span)))


def _lowest(dtype: DType) -> float:
    if dtype.is_float:
        return float("-inf")
    return 0 if dtype is bool_ or dtype.kind == "u" else -(2 ** (dtype.bits - 1))


def _max_pool(name: str, x: Node, rank: int, windows: Windows) -> Node:
    lines = _lines(name, x, rank, windows, _lowest(x.dtype))
    return reshape(reduction.first_max(lines, (lines.ndim - 1,)), lines.shape[:-1])


def _avg_pool(name: str, x: Node, rank: int, windows: Windows, mode: str) -> Node:
    mode = one_of(name, "mode", mode.lower(), AVERAGES)
    x = e.to_float(x)
    lines = _lines(name, x, rank, windows, 0)
    last = (lines.ndim - 1,)
    if mode == "average" or not any(each_axis(name, "padding", windows[2], rank)):
        return reshape(mean_of(lines, last), lines.shape[:-1])
    inside = _lines(name, sources.full(1, x.shape, x.dtype), rank, windows, 0)
    wide = cast_to(lines, computing(lines.dtype))  # a sum of half types may be more than they hold
    made = cast_to(e.div(reduction.sum(wide, last), reduction.sum(inside, last)), lines.dtype)
    return reshape(made, lines.shape[:-1])


@composite
def max_pool1d(
    inp: Node,
    kernel_size: int | tuple[int, ...],
    stride: int | tuple[int, ...] | None = None,
    padding: int | tuple[int, ...] = 0,
) -> Node:
    """The largest element of each window of (batch, channels, length); see max_pool2d."""
    return _max_pool("max_pool1d", inp, 1, (kernel_size, stride, padding))


@composite
def max_pool2d(
    inp: Node,
    kernel_size: int | tuple[int, ...],
    stride: int | tuple[int, ...] | None = None,
    padding: int | tuple[int, ...] = 0,
) -> Node:
    """The largest element of each window; the derivative goes to the first of tied ones.

    `stride` is the size of the window unless it is given. The padding counts as -inf: where all of
    a window is, the derivative may go to the padding and be lost.
    """
    return _max_pool("max_pool2d", inp, 2, (kernel_size, stride, padding))


@composite
def max_pool3d(
    inp: Node,
    kernel_size: int | tuple[int, ...],
    stride: int | tuple[int, ...] | None = None,
    padding: int | tuple[int, ...] = 0,
) -> Node:
    """The largest element of each window in three dimensions; see max_pool2d."""
    return _max_pool("max_pool3d", inp, 3, (kernel_size, stride, padding))


@composite
def avg_pool1d(
    inp: Node,
    kernel_size: int | tuple[int, ...],
    stride: int | tuple[int, ...] | None = None,
    padding: int | tuple[int, ...] = 0,
    mode: str = "average_count_exclude_padding",
) -> Node:
    """The mean of each window of (batch, channels, length); see avg_pool2d."""
    return _avg_pool("avg_pool1d", inp, 1, (kernel_size, stride, padding), mode)


@composite
def avg_pool2d(
    inp: Node,
    kernel_size: int | tuple[int, ...],
    stride: int | tuple[int, ...] | None = None,
    padding: int | tuple[int, ...] = 0,
    mode: str = "average_count_exclude_padding",
) -> Node:
    """The mean of each window: of its elements within the input, or, with mode "average", of all
    of them, the padding among them as 0.
    """
    return _avg_pool("avg_pool2d", inp, 2, (kernel_size, stride, padding), mode)


@composite
def avg_pool3d(
    inp: Node,
    kernel_size: int | tuple[int, ...],
    stride: int | tuple[int, ...] | None = None,
    padding: int | tuple[int, ...] = 0,
    mode: str = "average_count_exclude_padding",
) -> Node:
    """The mean of each window in three dimensions; see avg_pool2d."""
    return _avg_pool("avg_pool3d", inp, 3, (kernel_size, stride, padding), mode)


# ---- parts


def _part_sizes(name: str, x: Node, given: Sizes, rank: int) -> Shape:
    space = x.shape[max(x.ndim - rank, 0) :]
    if len(space) < rank or not all(space):
        found = f"expected (..., *space) with elements along {rank} axes, found {list(x.shape)}"
        raise ShapeError(located(f"{name}: {found}"))
    return each_axis(name, "oshp", given, rank, 1)


def _share(extent: int, places: int, like: Node) -> Node:
    """A matrix (places, extent): how much each element counts in the mean of each part.

    Part i goes from floor(i extent / places) to ceil((i + 1) extent / places).
    """
    shape = (places, extent)
    place = node(sources.iota, (), (0, shape, int64))
    element = node(sources.iota, (), (1, shape, int64))
    size, count, one = (constant_of(each, int64) for each in (extent, places, 1))
    begin = e.floordiv(place * size, count)
    end = e.floordiv((place + one) * size + count - one, count)
    inside = e.bit_and(e.ge(element, begin), e.lt(element, end))
    return e.where(inside, 1.0 / cast_to(end - begin, like.dtype), constant_like(0, like))


def _averaged(x: Node, axis: int, places: int) -> Node:
    """The means of `places` parts along `axis`, as a product with their shares."""
    before, extent, behind = x.shape[:axis], x.shape[axis], x.shape[axis + 1 :]
    share = _share(extent, places, x)
    if behind:
        lines = reshape(x, (prod(before), extent, prod(behind)))
        made = contraction.matmul(reshape(share, (1, places, extent)), lines)
    else:
        made = contraction.matmul(reshape(x, (prod(before), extent)), contraction.swapped(share))
    return reshape(made, (*before, places, *behind))


def _adaptive_avg(name: str, x: Node, given: Sizes, rank: int) -> Node:
    x = e.to_float(x)
    for axis, places in enumerate(_part_sizes(name, x, given, rank), x.ndim - rank):
        x = _averaged(x, axis, places)
    return x


def _parts(extent: int, places: int) -> list[tuple[int, int]]:
    """Where each of `places` parts begins and ends."""
    return [
        (place * extent // places, -(-(place + 1) * extent // places)) for place in range(places)
    ]


def _adaptive_max(name: str, x: Node, given: Sizes, rank: int) -> Node:
    """From the last axis to the first: what is left of ties is the first in the flat order."""
    sizes = enumerate(_part_sizes(name, x, given, rank), x.ndim - rank)
    for axis, places in reversed(list(sizes)):
        pieces = [
            reduction.first_max(slice_(x, axis, begin, end), (axis,))
            for begin, end in _parts(x.shape[axis], places)
        ]
        x = concat(tuple(pieces), axis)
    return x


@composite
def adaptive_avg_pool1d(inp: Node, oshp: int | tuple[int, ...]) -> Node:
    """The means of `oshp` parts of the last axis; see adaptive_avg_pool2d."""
    return _adaptive_avg("adaptive_avg_pool1d", inp, oshp, 1)


@composite
def adaptive_avg_pool2d(inp: Node, oshp: int | tuple[int, ...]) -> Node:
    """The means of `oshp` parts, as equal as they can be; neighbours may share an element."""
    return _adaptive_avg("adaptive_avg_pool2d", inp, oshp, 2)


@composite
def adaptive_avg_pool3d(inp: Node, oshp: int | tuple[int, ...]) -> Node:
    """The means of `oshp` parts of the last three axes; see adaptive_avg_pool2d."""
    return _adaptive_avg("adaptive_avg_pool3d", inp, oshp, 3)


@composite
def adaptive_max_pool1d(inp: Node, oshp: int | tuple[int, ...]) -> Node:
    """The largest elements of `oshp` parts of the last axis; see adaptive_max_pool2d."""
    return _adaptive_max("adaptive_max_pool1d", inp, oshp, 1)


@composite
def adaptive_max_pool2d(inp: Node, oshp: int | tuple[int, ...]) -> Node:
    """The largest elements of `oshp` parts, as equal as they can be.

    The derivative goes to the first of tied ones.
    """
    return _adaptive_max("adaptive_max_pool2d", inp, oshp, 2)


@composite
def adaptive_max_pool3d(inp: Node, oshp: int | tuple[int, ...]) -> Node:
    """The largest elements of `oshp` parts of the last three axes; see adaptive_max_pool2d."""
    return _adaptive_max("adaptive_max_pool3d", inp, oshp, 3)
