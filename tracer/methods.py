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
def sum(inp: Node, axis: Axis = None, keepdims: bool = False) -> Node:
    """The sum along `axis` (None: of all); bool and small integers are summed in int32."""
    return reduced(reduction.sum, inp, axis, keepdims)


@composite
def mean(inp: Node, axis: Axis = None, keepdims: bool = False) -> Node:
    """The mean along `axis` (None: of all); a float also for integers."""
    return mean_of(inp, axis, keepdims)


@composite
def prod(inp: Node, axis: Axis = None, keepdims: bool = False) -> Node:
    """The product along `axis` (None: of all); its derivative is exact beside zeros."""
    return reduced(reduction.prod, inp, axis, keepdims)


@composite
def max(inp: Node, axis: Axis = None, keepdims: bool = False) -> Node:
    """The largest along `axis` (None: of all), NaN where one is; ties share the derivative."""
    return reduced(reduction.max, inp, axis, keepdims)


@composite
def min(inp: Node, axis: Axis = None, keepdims: bool = False) -> Node:
    """The smallest along `axis` (None: of all), NaN where one is; ties share the derivative."""
    return reduced(reduction.min, inp, axis, keepdims)


@composite
def argmax(inp: Node, axis: Axis = None, keepdims: bool = False) -> Node:
    """The position (int32) of the first largest along `axis` (None: in the flat order)."""
    return reduced(reduction.argmax, inp, axis, keepdims)


@composite
def argmin(inp: Node, axis: Axis = None, keepdims: bool = False) -> Node:
    """The position (int32) of the first smallest along `axis` (None: in the flat order)."""
    return reduced(reduction.argmin, inp, axis, keepdims)


@composite
def any(inp: Node, axis: Axis = None, keepdims: bool = False) -> Node:
    """Whether something along `axis` is not zero."""
    return reduced(reduction.max, cast_to(inp, bool_), axis, keepdims)


@composite
def all(inp: Node, axis: Axis = None, keepdims: bool = False) -> Node:
    """Whether nothing along `axis` is zero."""
    return reduced(reduction.min, cast_to(inp, bool_), axis, keepdims)


@composite
def reshape(inp: Node, target_shape: Shape) -> Node:
    """The elements of `inp` under `target_shape`, of which one extent may be -1."""
    return movement.reshape(inp, (target_shape,) if isinstance(target_shape, int) else target_shape)


@composite
def transpose(inp: Node, pattern: tuple[int, ...] | None = None) -> Node:
    """`inp` with its axes in the order `pattern` (None: reversed)."""
    if pattern is None:
        return movement.transpose(inp, tuple(reversed(range(inp.ndim))))
    return movement.transpose(
        inp, tuple(normalized_axis("transpose", each, inp.ndim) for each in pattern)
    )


@composite
def flatten(inp: Node, start_axis: int = 0, end_axis: int = -1) -> Node:
    """`inp` with the axes from `start_axis` to `end_axis` made one."""
    if not inp.ndim:
        return movement.reshape(inp, (1,))
    first = normalized_axis("flatten", start_axis, inp.ndim)
    last = normalized_axis("flatten", end_axis, inp.ndim)
    if first > last:
        raise ShapeError(located(f"flatten: axis {start_axis} comes after axis {end_axis}"))
    middle = math.prod(inp.shape[first : last + 1])
    return movement.reshape(inp, (*inp.shape[:first], middle, *inp.shape[last + 1 :]))


@composite
def astype(inp: Node, dtype: Any) -> Node:
    """`inp` in another element type; floats are truncated towards zero when cast to integers."""
    return cast_to(inp, as_dtype(dtype))


@composite
def squeeze(inp: Node, axis: Axis = None) -> Node:
    """`inp` without the axes of extent 1 at `axis` (None: without all such)."""
    if axis is None:
        return without_axes(inp, tuple(i for i, extent in enumerate(inp.shape) if extent == 1))
    axes = normalized_axes("squeeze", axis, inp.ndim)
    if any_wide := [each for each in axes if inp.shape[each] != 1]:
        raise ShapeError(located(f"squeeze: axis {any_wide[0]} of {list(inp.shape)} is not 1"))
    return without_axes(inp, axes)


@composite
def broadcast_to(inp: Node, shape: Shape) -> Node:
    """`inp` repeated along new leading axes and axes of extent 1, to `shape`."""
    return movement.broadcast(inp, (shape,) if isinstance(shape, int) else shape)
