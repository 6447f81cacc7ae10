"""Pooling: reductions over the windows of (batch, channels, height, width)."""

from __future__ import annotations

from math import prod

from ..tracer.composite import composite
from ..tracer.ir import Node, Shape, node
from ..tracer.methods import mean_of
from ..tracer.ops import contraction, reduction, sources, window
from ..tracer.ops import elementwise as e
from ..tracer.ops.movement import reshape
from ..tracer.ops.sources import constant_like, constant_of
from .convolution import each_axis, padded

__all__ = ["adaptive_avg_pool2d", "adaptive_max_pool2d", "avg_pool2d", "max_pool2d"]


def _lines(
    name: str, x: Node, kernel: int | tuple[int, ...], stride: object, padding: object, fill: float
) -> Node:
    """The windows of `x`, each as one line behind the places."""
    span = each_axis(name, "kernel_size", kernel, 2, 1)
    given = span if stride is None else stride
    strides = each_axis(name, "stride", given, 2, 1)  # type: ignore[arg-type]
    amounts = each_axis(name, "padding", padding, 2)  # type: ignore[arg-type]
    axes = (x.ndim - 2, x.ndim - 1)
    seen = window.windows(padded(x, amounts, fill), axes, span, strides, (1, 1))
    return reshape(seen, (*seen.shape[: x.ndim], prod(span)))


def _first_largest(lines: Node) -> Node:
    """The largest element of each line; its derivative goes to the first of several."""
    last = (lines.ndim - 1,)
    at = reduction.argmax(lines, last)
    ramp = node(sources.iota, (), (last[0], lines.shape, at.dtype))
    taken = e.where(e.eq(ramp, at), lines, constant_like(0, lines))
    return reshape(reduction.sum(taken, last), lines.shape[:-1])


@composite
def max_pool2d(
    inp: Node,
    kernel_size: int | tuple[int, ...],
    stride: int | tuple[int, ...] | None = None,
    padding: int | tuple[int, ...] = 0,
) -> Node:
    """The largest element of each window; the derivative goes to the first of tied ones.

    `stride` is the size of the window unless it is given.
    """
    fill = float("-inf") if inp.dtype.is_float else -(2 ** (inp.dtype.bits - 1))
    return _first_largest(_lines("max_pool2d", inp, kernel_size, stride, padding, fill))


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
    if mode not in ("average", "average_count_exclude_padding"):
        raise ValueError(f"avg_pool2d: expected one of the two modes, found {mode!r}")
    inp = e.to_float(inp)
    lines = _lines("avg_pool2d", inp, kernel_size, stride, padding, 0)
    if mode == "average" or not any(each_axis("avg_pool2d", "padding", padding, 2)):
        return reshape(mean_of(lines, (lines.ndim - 1,)), lines.shape[:-1])
    ones = sources.full(1, inp.shape, inp.dtype)
    inside = _lines("avg_pool2d", ones, kernel_size, stride, padding, 0)
    last = (lines.ndim - 1,)
    made = e.div(reduction.sum(lines, last), reduction.sum(inside, last))
    return reshape(made, lines.shape[:-1])


def _share(extent: int, places: int, like: Node) -> Node:
    """A matrix (places, extent): how much each element counts in the mean of each part."""
    shape = (places, extent)
    place = node(sources.iota, (), (0, shape, like.dtype))
    element = node(sources.iota, (), (1, shape, like.dtype))
    size = constant_of(extent, like.dtype) / constant_of(places, like.dtype)
    begin, end = e.floor(place * size), e.ceil((place + 1.0) * size)
    inside = e.bit_and(e.ge(element, begin), e.lt(element, end))
    return e.where(inside, 1.0 / (end - begin), constant_like(0, like))


@composite
def adaptive_avg_pool2d(inp: Node, oshp: int | tuple[int, ...]) -> Node:
    """The means of `oshp` parts, as equal as they can be; neighbours may share an element."""
    inp = e.to_float(inp)
    rows, columns = each_axis("adaptive_avg_pool2d", "oshp", oshp, 2, 1)
    *lead, height, width = inp.shape
    flat = reshape(inp, (prod(lead), height, width))
    across = contraction.matmul(_share(height, rows, inp), flat)
    made = contraction.matmul(across, contraction.swapped(_share(width, columns, inp)))
    return reshape(made, (*lead, rows, columns))


def _parts(extent: int, places: int) -> tuple[Shape, Shape]:
    """Where each of `places` parts begins and ends."""
    begins = tuple(place * extent // places for place in range(places))
    ends = tuple(-(-(place + 1) * extent // places) for place in range(places))
    return begins, ends


@composite
def adaptive_max_pool2d(inp: Node, oshp: int | tuple[int, ...]) -> Node:
    """The largest elements of `oshp` parts, as equal as they can be."""
    from ..tracer.ops.movement import concat, slice_

    sizes = each_axis("adaptive_max_pool2d", "oshp", oshp, 2, 1)
    made = inp
    for axis, places in zip((inp.ndim - 2, inp.ndim - 1), sizes, strict=True):
        pieces = [
            _largest_along(slice_(made, axis, begin, end), axis)
            for begin, end in zip(*_parts(made.shape[axis], places), strict=True)
        ]
        made = concat(tuple(pieces), axis)
    return made


def _largest_along(x: Node, axis: int) -> Node:
    at = reduction.argmax(x, (axis,))
    ramp = node(sources.iota, (), (axis, x.shape, at.dtype))
    return reduction.sum(e.where(e.eq(ramp, at), x, constant_like(0, x)), (axis,))
