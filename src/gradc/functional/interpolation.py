"""Images in another size."""

from __future__ import annotations

import math
from typing import Any

from ..tracer.composite import composite
from ..tracer.dtypes import int64
from ..tracer.errors import ShapeError, located
from ..tracer.ir import Node, Shape, node
from ..tracer.ops import elementwise as e
from ..tracer.ops.indexing import take_op
from ..tracer.ops.kinds import cast_to
from ..tracer.ops.movement import reshape, transpose
from ..tracer.ops.sources import constant_of
from .creation import ramp

__all__ = ["interpolate", "pixel_shuffle", "pixel_unshuffle"]

MODES = {"nearest": None, "linear": 1, "bilinear": 2, "trilinear": 3, "bicubic": 2}
"""The modes, and how many axes of space each is for (None: any)."""


def _whole(value: int) -> Node:
    return constant_of(value, int64)


def _nearest(x: Node, axis: int, size: int) -> Node:
    """Place i takes element floor(i * extent / size)."""
    scaled = ramp(size, int64) * _whole(x.shape[axis])
    return node(take_op, (x, e.floordiv(scaled, _whole(size))), (axis,))


def _linear(x: Node, axis: int, size: int, align_corners: bool) -> Node:
    """Place i lies at i (extent - 1) / (size - 1) between the elements, or, without aligned
    corners, at (i + 1/2) extent / size - 1/2, but not before the first. All places are fractions of
    whole numbers, so that none is rounded to the wrong side of an element.
    """
    extent, place = x.shape[axis], ramp(size, int64)
    if align_corners:
        above, below = place * _whole(extent - 1), max(size - 1, 1)
    else:
        above, below = (place * _whole(2) + _whole(1)) * _whole(extent) - _whole(size), 2 * size
    above = e.maximum(above, _whole(0))
    low = e.floordiv(above, _whole(below))
    high = e.minimum(low + _whole(1), _whole(extent - 1))
    share = cast_to(above - low * _whole(below), x.dtype) / constant_of(below, x.dtype)
    weight = reshape(share, tuple(size if i == axis else 1 for i in range(x.ndim)))
    first, second = (node(take_op, (x, at), (axis,)) for at in (low, high))
    return first + weight * (second - first)


CUBIC = -0.75
"""The slope of the kernel at 1 (R. Keys, Cubic convolution interpolation, 1981)."""


def _cubic(x: Node, axis: int, size: int, align_corners: bool) -> Node:
    """Four neighbours, weighted by their distance from where `_linear` puts the place.

    Elements behind the edges are those on the edges.
    """
    extent, place = x.shape[axis], ramp(size, int64)
    if align_corners:
        above, below = place * _whole(extent - 1), max(size - 1, 1)
    else:
        above, below = (place * _whole(2) + _whole(1)) * _whole(extent) - _whole(size), 2 * size
    low = e.floordiv(above, _whole(below))
    share = cast_to(above - low * _whole(below), x.dtype) / constant_of(below, x.dtype)
    t = reshape(share, tuple(size if i == axis else 1 for i in range(x.ndim)))
    total: Node | None = None
    for tap, weight in (
        (-1, _far(t + 1.0)),
        (0, _near(t)),
        (1, _near(1.0 - t)),
        (2, _far(2.0 - t)),
    ):
        at = e.minimum(e.maximum(low + _whole(tap), _whole(0)), _whole(extent - 1))
        part = weight * node(take_op, (x, at), (axis,))
        total = part if total is None else total + part
    assert total is not None
    return total


def _near(d: Node) -> Node:
    """(a + 2) d^3 - (a + 3) d^2 + 1, for distances up to 1."""
    a, b = (constant_of(each, d.dtype) for each in (CUBIC + 2, CUBIC + 3))
    return (a * d - b) * d * d + 1.0


def _far(d: Node) -> Node:
    """a (d^3 - 5 d^2 + 8 d - 4), for distances from 1 to 2."""
    a, five, eight, four = (constant_of(each, d.dtype) for each in (CUBIC, 5, 8, 4))
    return a * (((d - five) * d + eight) * d - four)


def _sizes(x: Node, size: Any, scale_factor: Any) -> Shape:
    """The extents that the axes of space shall have."""
    rank = x.ndim - 2
    if (size is None) == (scale_factor is None):
        raise ValueError(located("interpolate: expected either a size or a scale_factor"))
    given = scale_factor if size is None else size
    each = tuple(given) if isinstance(given, tuple) else (given,) * rank
    if len(each) != rank:
        raise ShapeError(located(f"interpolate: expected {rank} extents, found {given}"))
    if size is None:
        each = tuple(math.floor(n * by) for n, by in zip(x.shape[2:], each, strict=True))
    if any(extent < 1 for extent in each) or not all(x.shape[2:]):
        found = f"found {list(each)} for {list(x.shape)}"
        raise ShapeError(located(f"interpolate: expected at least one element per axis, {found}"))
    return tuple(int(extent) for extent in each)


@composite
def interpolate(
    inp: Node,
    size: int | tuple[int, ...] | None = None,
    scale_factor: float | tuple[float, ...] | None = None,
    mode: str = "bilinear",
    align_corners: bool | None = None,
) -> Node:
    """(batch, channels, *space) with the extents `size` along the axes of space.

    Or with extents `scale_factor` times as large. `mode` is "nearest", or, for one, two or three
    axes of space, "linear", "bilinear" or "bicubic", or "trilinear". With `align_corners` the
    outermost elements keep their places, else the outermost edges do.
    """
    mode = mode.lower()
    if mode not in MODES:
        raise ValueError(located(f"interpolate: expected {', '.join(MODES)}, found {mode!r}"))
    rank = MODES[mode]
    if inp.ndim < 3 or rank not in (None, inp.ndim - 2):
        expected = f"expected (batch, channels, *space) for {mode}"
        raise ShapeError(located(f"interpolate: {expected}, found {list(inp.shape)}"))
    x = inp if rank is None else e.to_float(inp)
    for axis, extent in enumerate(_sizes(inp, size, scale_factor), 2):
        if rank is None:
            x = _nearest(x, axis, extent)
        else:
            function = _cubic if mode == "bicubic" else _linear
            x = function(x, axis, extent, bool(align_corners))
    return x


def _check_images(name: str, x: Node, factor: int, fits: bool) -> None:
    if factor < 1 or not fits:
        found = f"{list(x.shape)} does not fit the factor {factor}"
        raise ShapeError(located(f"{name}: {found}"))


@composite
def pixel_shuffle(inp: Node, upscale_factor: int) -> Node:
    """(..., c r^2, h, w) as (..., c, h r, w r): channels become finer places, r by r."""
    r = upscale_factor
    fits = inp.ndim >= 3 and r >= 1 and inp.shape[-3] % (r * r) == 0
    _check_images("pixel_shuffle", inp, r, fits)
    *lead, channels, height, width = inp.shape
    count = len(lead)
    apart = reshape(inp, (*lead, channels // (r * r), r, r, height, width))
    order = (*range(count + 1), count + 3, count + 1, count + 4, count + 2)
    return reshape(transpose(apart, order), (*lead, channels // (r * r), height * r, width * r))


@composite
def pixel_unshuffle(inp: Node, downscale_factor: int) -> Node:
    """(..., c, h r, w r) as (..., c r^2, h, w): the way back from pixel_shuffle."""
    r = downscale_factor
    fits = inp.ndim >= 3 and r >= 1 and inp.shape[-1] % r == 0 and inp.shape[-2] % r == 0
    _check_images("pixel_unshuffle", inp, r, fits)
    *lead, channels, height, width = inp.shape
    count = len(lead)
    apart = reshape(inp, (*lead, channels, height // r, r, width // r, r))
    order = (*range(count + 1), count + 2, count + 4, count + 1, count + 3)
    return reshape(transpose(apart, order), (*lead, channels * r * r, height // r, width // r))
