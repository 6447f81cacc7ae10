"""The functions that tensors have as methods: reductions, changes of shape and of type."""

from __future__ import annotations

import math
from typing import Any

from .composite import composite
from .dtypes import as_dtype, bool_
from .errors import ShapeError, located
from .interpret import computing
from .ir import Node, Shape
from .ops import elementwise as e
from .ops import movement, reduction
from .ops.kinds import Reduction, cast_to, normalized_axes, normalized_axis
from .ops.sources import constant_of

Axis = int | tuple[int, ...] | None


def reduced(op: Reduction, x: Node, axis: Axis, keepdims: bool) -> Node:
    """`x` reduced along `axis`; the axes go unless `keepdims`."""
    axes = normalized_axes(op.name, axis, x.ndim)
    made = op(x, axes)
    return made if keepdims else without_axes(made, axes)


def without_axes(x: Node, axes: tuple[int, ...]) -> Node:
    """`x` without `axes`, whose extent is 1."""
    return movement.reshape(x, tuple(n for i, n in enumerate(x.shape) if i not in axes))


def mean_of(x: Node, axis: Axis, keepdims: bool = True) -> Node:
    """The mean of `x` along `axis`; half types are summed and divided in float32."""
    x = e.to_float(x)
    count = math.prod(x.shape[each] for each in normalized_axes("mean", axis, x.ndim))
    total = reduced(reduction.sum, cast_to(x, computing(x.dtype)), axis, keepdims)
    return cast_to(total / constant_of(count, total.dtype), x.dtype)


@composite
def sum(x: Node, axis: Axis = None, keepdims: bool = False) -> Node:
    """The sum along `axis` (None: of all); bool and small integers are summed in int32."""
    return reduced(reduction.sum, x, axis, keepdims)


@composite
def mean(x: Node, axis: Axis = None, keepdims: bool = False) -> Node:
    """The mean along `axis` (None: of all); a float also for integers."""
    return mean_of(x, axis, keepdims)


@composite
def prod(x: Node, axis: Axis = None, keepdims: bool = False) -> Node:
    """The product along `axis` (None: of all); its derivative is exact beside zeros."""
    return reduced(reduction.prod, x, axis, keepdims)


@composite
def max(x: Node, axis: Axis = None, keepdims: bool = False) -> Node:
    """The largest along `axis` (None: of all), NaN where one is; ties share the derivative."""
    return reduced(reduction.max, x, axis, keepdims)


@composite
def min(x: Node, axis: Axis = None, keepdims: bool = False) -> Node:
    """The smallest along `axis` (None: of all), NaN where one is; ties share the derivative."""
    return reduced(reduction.min, x, axis, keepdims)


@composite
def argmax(x: Node, axis: Axis = None, keepdims: bool = False) -> Node:
    """The position (int32) of the first largest along `axis` (None: in the flat order)."""
    return reduced(reduction.argmax, x, axis, keepdims)


@composite
def argmin(x: Node, axis: Axis = None, keepdims: bool = False) -> Node:
    """The position (int32) of the first smallest along `axis` (None: in the flat order)."""
    return reduced(reduction.argmin, x, axis, keepdims)


@composite
def any(x: Node, axis: Axis = None, keepdims: bool = False) -> Node:
    """Whether something along `axis` is not zero."""
    return reduced(reduction.max, cast_to(x, bool_), axis, keepdims)


@composite
def all(x: Node, axis: Axis = None, keepdims: bool = False) -> Node:
    """Whether nothing along `axis` is zero."""
    return reduced(reduction.min, cast_to(x, bool_), axis, keepdims)


@composite
def reshape(x: Node, shape: Shape) -> Node:
    """The elements of `x` under `shape`, of which one extent may be -1."""
    return movement.reshape(x, (shape,) if isinstance(shape, int) else shape)


@composite
def transpose(x: Node, axes: tuple[int, ...] | None = None) -> Node:
    """`x` with its axes in the order `axes` (None: reversed)."""
    if axes is None:
        return movement.transpose(x, tuple(reversed(range(x.ndim))))
    return movement.transpose(x, tuple(normalized_axis("transpose", each, x.ndim) for each in axes))


@composite
def flatten(x: Node, start_axis: int = 0, end_axis: int = -1) -> Node:
    """`x` with the axes from `start_axis` to `end_axis` made one."""
    if not x.ndim:
        return movement.reshape(x, (1,))
    first = normalized_axis("flatten", start_axis, x.ndim)
    last = normalized_axis("flatten", end_axis, x.ndim)
    if first > last:
        raise ShapeError(located(f"flatten: axis {start_axis} comes after axis {end_axis}"))
    middle = math.prod(x.shape[first : last + 1])
    return movement.reshape(x, (*x.shape[:first], middle, *x.shape[last + 1 :]))


@composite
def astype(x: Node, dtype: Any) -> Node:
    """`x` in another element type; floats are truncated towards zero when cast to integers."""
    return cast_to(x, as_dtype(dtype))


@composite
def squeeze(x: Node, axis: Axis = None) -> Node:
    """`x` without the axes of extent 1 at `axis` (None: without all such)."""
    if axis is None:
        return without_axes(x, tuple(i for i, extent in enumerate(x.shape) if extent == 1))
    axes = normalized_axes("squeeze", axis, x.ndim)
    if any_wide := [each for each in axes if x.shape[each] != 1]:
        raise ShapeError(located(f"squeeze: axis {any_wide[0]} of {list(x.shape)} is not 1"))
    return without_axes(x, axes)


@composite
def broadcast_to(x: Node, shape: Shape) -> Node:
    """`x` repeated along new leading axes and axes of extent 1, to `shape`."""
    return movement.broadcast(x, (shape,) if isinstance(shape, int) else shape)
