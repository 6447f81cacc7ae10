"""Convolutions in one, two and three dimensions: matrix products over sliding windows.

Inputs are (batch, channels, *space). Weights are (out, in, *window), grouped ones (groups, out per
group, in per group, *window); PyTorch's (out, in per group, *window) is taken as well.
"""

from __future__ import annotations

from math import prod

from ..tracer.arguments import WHOLES
from ..tracer.composite import composite, static
from ..tracer.errors import ShapeError, located
from ..tracer.ir import Node, Shape
from ..tracer.ops import contraction, window
from ..tracer.ops import elementwise as e
from ..tracer.ops.movement import pad, reshape, slice_, transpose

__all__ = [
    "conv1d",
    "conv2d",
    "conv3d",
    "conv_transpose1d",
    "conv_transpose2d",
    "conv_transpose3d",
    "sliding_window",
]

Sizes = int | tuple[int, ...]


def each_axis(name: str, what: str, given: Sizes, count: int, least: int = 0) -> Shape:
    """One number per axis of space: the same for all, or a tuple of `count`."""
    given = static(given)
    WHOLES.check(name, what, given)
    sizes = (given,) * count if isinstance(given, int) else given
    if len(sizes) != count or any(size < least for size in sizes):
        expected = f"expected {what} as an integer or {count} of them, at least {least}"
        raise ShapeError(located(f"{name}: {expected}, found {given}"))
    return sizes


def padded(x: Node, amounts: Shape, fill: float = 0) -> Node:
    """`x` with `amounts` elements before and behind its last axes."""
    around = (*(0,) * (x.ndim - len(amounts)), *amounts)
    return pad(x, around, around, fill=fill)


def check_fits(name: str, x: Node, span: Shape, dilations: Shape) -> None:
    """Raise unless the last axes of `x`, padding among them, hold a window."""
    space = x.shape[x.ndim - len(span) :]
    for extent, size, dilation in zip(space, span, dilations, strict=True):
        if dilation * (size - 1) >= extent:
            found = f"a window of {dilation * (size - 1) + 1} elements does not fit {extent}"
            found += f": the window is {list(span)}, the input with its padding {list(x.shape)}"
            raise ShapeError(located(f"{name}: {found}"))


def _grouped(name: str, weight: Node, groups: int, rank: int) -> Node:
    """`weight` as (groups, a per group, b per group, *window)."""
    if weight.ndim == rank + 3:
        if weight.shape[0] != groups:
            found = f"expected {groups} groups, found a weight of shape {list(weight.shape)}"
            raise ShapeError(located(f"{name}: {found}"))
        return weight
    if weight.ndim != rank + 2 or groups < 1 or weight.shape[0] % groups:
        expected = f"expected a weight with {rank + 2} axes for {groups} groups"
        raise ShapeError(located(f"{name}: {expected}, found {list(weight.shape)}"))
    return reshape(weight, (groups, weight.shape[0] // groups, *weight.shape[1:]))


def _check_input(name: str, x: Node, rank: int, channels: int, weight: Node) -> None:
    if x.ndim != rank + 2 or x.shape[1] != channels:
        expected = f"expected an input with {rank + 2} axes and {channels} channels"
        expected += f" for the weight {list(weight.shape)}"
        raise ShapeError(located(f"{name}: {expected}, found {list(x.shape)}"))


def _convolved(
    name: str, x: Node, weight: Node, bias: Node | None, sizes: tuple[Sizes, ...], groups: int
) -> Node:
    rank = x.ndim - 2
    strides, paddings, dilations = (
        each_axis(name, what, given, rank, least)
        for what, given, least in zip(
            ("stride", "padding", "dilation"), sizes, (1, 0, 1), strict=True
        )
    )
    given, weight = weight, _grouped(name, weight, groups, rank)
    _, out, channels, *span = weight.shape
    _check_input(name, x, rank, groups * channels, given)
    axes = tuple(range(2, rank + 2))
    wide = padded(x, paddings)
    check_fits(name, wide, tuple(span), dilations)
    seen = window.windows(wide, axes, tuple(span), strides, dilations)
    places = seen.shape[2 : rank + 2]
    split = reshape(seen, (x.shape[0], groups, channels, *places, *span))
    order = (0, 1, 2, *range(3 + rank, 3 + 2 * rank), *range(3, 3 + rank))
    depth = channels * prod(span)
    lines = reshape(transpose(split, order), (x.shape[0], groups, depth, prod(places)))
    made = contraction.matmul(reshape(weight, (1, groups, out, depth)), lines)
    return _with_bias(name, reshape(made, (x.shape[0], groups * out, *places)), bias)


def _with_bias(name: str, x: Node, bias: Node | None) -> Node:
    if bias is None:
        return x
    if bias.type.size != x.shape[1]:
        found = f"expected one bias for each of {x.shape[1]} channels"
        raise ShapeError(located(f"{name}: {found}, found {list(bias.shape)}"))
    return e.add(x, reshape(bias, (1, x.shape[1], *(1,) * (x.ndim - 2))))


@composite
def conv1d(
    inp: Node,
    weight: Node,
    bias: Node | None = None,
    stride: int | tuple[int, ...] = 1,
    padding: int | tuple[int, ...] = 0,
    dilation: int | tuple[int, ...] = 1,
    groups: int = 1,
) -> Node:
    """The cross-correlation of (batch, in, length) with windows (out, in, size)."""
    _check_rank("conv1d", inp, 3)
    return _convolved("conv1d", inp, weight, bias, (stride, padding, dilation), groups)


@composite
def conv2d(
    inp: Node,
    weight: Node,
    bias: Node | None = None,
    stride: int | tuple[int, ...] = 1,
    padding: int | tuple[int, ...] = 0,
    dilation: int | tuple[int, ...] = 1,
    groups: int = 1,
) -> Node:
    """The cross-correlation of (batch, in, height, width) with windows (out, in, rows, columns).

    out[n, o, i, j] = sum over c, p, q of inp[n, c, i * stride + p * dilation - padding, ...]
    times weight[o, c, p, q], plus bias[o].
    """
    _check_rank("conv2d", inp, 4)
    return _convolved("conv2d", inp, weight, bias, (stride, padding, dilation), groups)


@composite
def conv3d(
    inp: Node,
    weight: Node,
    bias: Node | None = None,
    stride: int | tuple[int, ...] = 1,
    padding: int | tuple[int, ...] = 0,
    dilation: int | tuple[int, ...] = 1,
    groups: int = 1,
) -> Node:
    """The cross-correlation of (batch, in, *space) with windows in three dimensions."""
    _check_rank("conv3d", inp, 5)
    return _convolved("conv3d", inp, weight, bias, (stride, padding, dilation), groups)


def _check_rank(name: str, x: Node, rank: int) -> None:
    if x.ndim != rank:
        found = f"expected an input with {rank} axes, found {list(x.shape)}"
        raise ShapeError(located(f"{name}: {found}"))


def _transposed(
    name: str, x: Node, weight: Node, bias: Node | None, sizes: tuple[Sizes, ...], groups: int
) -> Node:
    """The adjoint of a convolution with respect to its input."""
    rank = x.ndim - 2
    strides, paddings, extra, dilations = (
        each_axis(name, what, given, rank, least)
        for what, given, least in zip(
            ("stride", "padding", "output_padding", "dilation"), sizes, (1, 0, 0, 1), strict=True
        )
    )
    given, weight = weight, _grouped(name, weight, groups, rank)
    _, channels, out, *span = weight.shape
    _check_input(name, x, rank, groups * channels, given)
    if not prod(span) or not prod(x.shape[2:]):
        found = f"found {list(x.shape)} and windows {span}"
        raise ShapeError(located(f"{name}: expected elements along the axes of space, {found}"))
    batch, places = x.shape[0], x.shape[2:]
    columns = transpose(reshape(weight, (groups, channels, out * prod(span))), (0, 2, 1))
    lines = reshape(x, (batch, groups, channels, prod(places)))
    made = contraction.matmul(reshape(columns, (1, *columns.shape)), lines)
    split = reshape(made, (batch, groups * out, *span, *places))
    extents = tuple(
        max((place - 1) * step + spread * (size - 1) + 1 + more, 0)
        for place, step, spread, size, more in zip(
            places, strides, dilations, span, extra, strict=True
        )
    )
    axes = tuple(range(2, rank + 2))
    order = (0, 1, *range(rank + 2, 2 * rank + 2), *axes)
    whole = window.summed(transpose(split, order), axes, strides, dilations, extents)
    for axis, amount in zip(axes, paddings, strict=True):
        whole = slice_(whole, axis, amount, max(whole.shape[axis] - amount, amount))
    return _with_bias(name, whole, bias)


@composite
def conv_transpose1d(
    inp: Node,
    weight: Node,
    bias: Node | None = None,
    stride: int | tuple[int, ...] = 1,
    padding: int | tuple[int, ...] = 0,
    output_padding: int | tuple[int, ...] = 0,
    dilation: int | tuple[int, ...] = 1,
    groups: int = 1,
) -> Node:
    """The adjoint of `conv1d` with respect to its input; the weight is (in, out, size)."""
    _check_rank("conv_transpose1d", inp, 3)
    sizes = (stride, padding, output_padding, dilation)
    return _transposed("conv_transpose1d", inp, weight, bias, sizes, groups)


@composite
def conv_transpose2d(
    inp: Node,
    weight: Node,
    bias: Node | None = None,
    stride: int | tuple[int, ...] = 1,
    padding: int | tuple[int, ...] = 0,
    output_padding: int | tuple[int, ...] = 0,
    dilation: int | tuple[int, ...] = 1,
    groups: int = 1,
) -> Node:
    """The adjoint of `conv2d` with respect to its input; the weight is (in, out, rows, columns)."""
    _check_rank("conv_transpose2d", inp, 4)
    sizes = (stride, padding, output_padding, dilation)
    return _transposed("conv_transpose2d", inp, weight, bias, sizes, groups)


@composite
def conv_transpose3d(
    inp: Node,
    weight: Node,
    bias: Node | None = None,
    stride: int | tuple[int, ...] = 1,
    padding: int | tuple[int, ...] = 0,
    output_padding: int | tuple[int, ...] = 0,
    dilation: int | tuple[int, ...] = 1,
    groups: int = 1,
) -> Node:
    """The adjoint of `conv3d` with respect to its input; the weight is (in, out, *window)."""
    _check_rank("conv_transpose3d", inp, 5)
    sizes = (stride, padding, output_padding, dilation)
    return _transposed("conv_transpose3d", inp, weight, bias, sizes, groups)


# ---- windows themselves


@composite
def sliding_window(
    inp: Node,
    kernel_size: int | tuple[int, ...],
    padding: int | tuple[int, ...] = 0,
    stride: int | tuple[int, ...] = 1,
    dilation: int | tuple[int, ...] = 1,
) -> Node:
    """The windows of (batch, channels, height, width): (batch, channels, *places, *window)."""
    name = "sliding_window"
    _check_rank(name, inp, 4)
    span, strides, dilations = (
        each_axis(name, what, given, 2, 1)
        for what, given in (
            ("kernel_size", kernel_size),
            ("stride", stride),
            ("dilation", dilation),
        )
    )
    wide = padded(inp, each_axis(name, "padding", padding, 2))
    check_fits(name, wide, span, dilations)
    return window.windows(wide, (2, 3), span, strides, dilations)
