"""Sliding windows, as index maps: convolutions and pooling are reductions over them.

For a window of extent K that begins at every `stride`-th place and takes every `dilation`-th
element, place o and element k of the window name the element o * stride + k * dilation. `window`
goes from there to the places and elements; `unwindow` goes back. They are adjoint to each other, so
that every order of derivative follows.
"""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np

from ..errors import ShapeError, located
from ..ir import Node, Shape, node
from . import movement, reduction
from .kinds import Movement


def places(extent: int, size: int, stride: int, dilation: int) -> int:
    """How many windows lie within `extent` elements."""
    return max((extent - dilation * (size - 1) - 1) // stride + 1, 0)


def _window_shape(x: Shape, axes: Shape, strides: Shape, dilations: Shape) -> Shape:
    sizes = x[len(x) - len(axes) :]
    shape = list(x)
    for axis, size, stride, dilation in zip(axes, sizes, strides, dilations, strict=True):
        shape[axis] = places(x[axis], size, stride, dilation)
    return tuple(shape)


def _unwindow_shape(
    x: Shape, axes: Shape, strides: Shape, dilations: Shape, extents: Shape
) -> Shape:
    shape = list(x)
    for axis, extent in zip(axes, extents, strict=True):
        shape[axis] = extent
    return tuple(shape)


def _lines(whole: Any, axes: Shape, strides: Shape, dilations: Shape, counts: Shape) -> Any:
    """For each element of the window: its index, and the places' view of `whole` for it."""
    sizes = whole.shape[whole.ndim - len(axes) :]
    for element in product(*map(range, sizes)):
        index: list[Any] = [slice(None)] * (whole.ndim - len(axes))
        for axis, k, stride, dilation, count in zip(
            axes, element, strides, dilations, counts, strict=True
        ):
            start = k * dilation
            index[axis] = slice(start, start + stride * (count - 1) + 1, stride)
            if count == 0:
                index[axis] = slice(0, 0)
        yield element, whole[(*index, *element)]


def _window(x: Any, axes: Shape, strides: Shape, dilations: Shape) -> Any:
    result = np.empty(_window_shape(x.shape, axes, strides, dilations), x.dtype)
    counts = tuple(result.shape[axis] for axis in axes)
    for element, line in _lines(x, axes, strides, dilations, counts):
        result[(..., *element)] = line
    return result


def _unwindow(x: Any, axes: Shape, strides: Shape, dilations: Shape, extents: Shape) -> Any:
    result = np.zeros(_unwindow_shape(x.shape, axes, strides, dilations, extents), x.dtype)
    counts = tuple(x.shape[axis] for axis in axes)
    for element, line in _lines(result, axes, strides, dilations, counts):
        line[...] = x[(..., *element)]
    return result


def _first(x: Node, shape: Shape, axes: Shape) -> Node:
    """The first places along `axes`, as many as `shape` has: behind them may be room for more."""
    for axis in axes:
        if x.shape[axis] > shape[axis]:
            x = movement.slice_(x, axis, 0, shape[axis])
    return x


window_op = Movement(
    "window",
    reference=_window,
    vjp=lambda g, y, x, axes, strides, dilations: (
        unwindow(g, axes, strides, dilations, tuple(x.shape[axis] for axis in axes)),
    ),
    attributes=("axes", "strides", "dilations"),
    shaped=_window_shape,
    doc="element (o, k) is element (o * stride + k * dilation, k) of x; the last axes are the k",
)

unwindow_op = Movement(
    "unwindow",
    reference=_unwindow,
    vjp=lambda g, y, x, axes, strides, dilations, extents: (
        _first(node(window_op, (g,), (axes, strides, dilations)), x.shape, axes),
    ),
    attributes=("axes", "strides", "dilations", "extents"),
    shaped=_unwindow_shape,
    doc="element (o * stride + k * dilation, k) is element (o, k) of x, all others are 0",
)


def unwindow(x: Node, axes: Shape, strides: Shape, dilations: Shape, extents: Shape) -> Node:
    """The elements of windows at the places that they come from, one copy per window element."""
    return node(unwindow_op, (x,), (axes, strides, dilations, extents))


def windows(x: Node, axes: Shape, sizes: Shape, strides: Shape, dilations: Shape) -> Node:
    """The windows of `x` along `axes`: these become the places, and the windows' axes come last."""
    for axis, size, dilation in zip(axes, sizes, dilations, strict=True):
        if dilation * (size - 1) >= x.shape[axis]:
            span = dilation * (size - 1) + 1
            found = f"a window of {span} elements does not fit {x.shape[axis]}"
            raise ShapeError(located(f"window: {found}"))
    spread = movement.reshape(x, (*x.shape, *(1,) * len(axes)))
    wide = movement.broadcast(spread, (*x.shape, *sizes))
    return node(window_op, (wide,), (axes, strides, dilations))


def summed(x: Node, axes: Shape, strides: Shape, dilations: Shape, extents: Shape) -> Node:
    """The elements of overlapping windows added up: the adjoint of `windows`."""
    spread = unwindow(x, axes, strides, dilations, extents)
    last = tuple(range(x.ndim - len(axes), x.ndim))
    return movement.reshape(reduction.sum(spread, last), spread.shape[: last[0]])
