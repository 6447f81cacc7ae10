"""Windows as columns, and columns summed to images again."""

from __future__ import annotations

from math import prod

from ..tracer.composite import composite
from ..tracer.errors import ShapeError, located
from ..tracer.ir import Node, Shape
from ..tracer.ops import window
from ..tracer.ops.movement import reshape, slice_, transpose
from .convolution import Sizes, check_fits, each_axis, padded

__all__ = ["fold", "unfold"]


def _sizes(name: str, given: tuple[Sizes, ...]) -> tuple[Shape, ...]:
    what = ("kernel_size", "dilation", "padding", "stride")
    return tuple(
        each_axis(name, each, sizes, 2, least)
        for each, sizes, least in zip(what, given, (1, 1, 0, 1), strict=True)
    )


@composite
def unfold(
    inp: Node,
    kernel_size: int | tuple[int, ...],
    dilation: int | tuple[int, ...] = 1,
    padding: int | tuple[int, ...] = 0,
    stride: int | tuple[int, ...] = 1,
) -> Node:
    """The windows of (batch, channels, height, width) as (batch, channels * window, places)."""
    if inp.ndim != 4:
        raise ShapeError(located(f"unfold: expected four axes, found {list(inp.shape)}"))
    span, dilations, around, strides = _sizes("unfold", (kernel_size, dilation, padding, stride))
    wide = padded(inp, around)
    check_fits("unfold", wide, span, dilations)
    seen = window.windows(wide, (2, 3), span, strides, dilations)
    columns = transpose(seen, (0, 1, 4, 5, 2, 3))
    batch, channels, *_, rows, lines = columns.shape
    return reshape(columns, (batch, channels * prod(span), rows * lines))


@composite
def fold(
    inp: Node,
    output_size: int | tuple[int, ...],
    kernel_size: int | tuple[int, ...],
    dilation: int | tuple[int, ...] = 1,
    padding: int | tuple[int, ...] = 0,
    stride: int | tuple[int, ...] = 1,
) -> Node:
    """The adjoint of `unfold`: overlapping elements are added up."""
    sizes = each_axis("fold", "output_size", output_size, 2, 1)
    span, dilations, around, strides = _sizes("fold", (kernel_size, dilation, padding, stride))
    whole = tuple(size + 2 * more for size, more in zip(sizes, around, strict=True))
    places = tuple(
        max((extent - spread * (size - 1) - 1) // step + 1, 0)
        for extent, size, spread, step in zip(whole, span, dilations, strides, strict=True)
    )
    expected = ("batch", f"channels * {prod(span)}", prod(places))
    if inp.ndim != 3 or inp.shape[1] % prod(span) or inp.shape[2] != prod(places):
        found = f"expected ({', '.join(map(str, expected))}), found {list(inp.shape)}"
        raise ShapeError(located(f"fold: {found}"))
    batch, channels = inp.shape[0], inp.shape[1] // prod(span)
    columns = reshape(inp, (batch, channels, *span, *places))
    made = window.summed(transpose(columns, (0, 1, 4, 5, 2, 3)), (2, 3), strides, dilations, whole)
    for axis, (size, more) in enumerate(zip(sizes, around, strict=True), 2):
        made = slice_(made, axis, more, more + size)
    return made
