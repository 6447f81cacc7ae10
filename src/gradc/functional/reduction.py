"""Functions along axes."""

from __future__ import annotations

import math

from ..tracer.composite import composite
from ..tracer.ir import Node
from ..tracer.methods import (
    Axis,
    all,
    any,
    argmax,
    argmin,
    max,
    mean,
    mean_of,
    min,
    prod,
    reduced,
    sum,
    without_axes,
)
from ..tracer.ops import elementwise as e
from ..tracer.ops import reduction
from ..tracer.ops.sources import constant_like
from .activation import shifted

__all__ = [
    "all",
    "any",
    "argmax",
    "argmin",
    "logsumexp",
    "max",
    "mean",
    "min",
    "norm",
    "prod",
    "std",
    "sum",
    "var",
]


def variance_of(x: Node, axis: Axis, keepdims: bool = True) -> Node:
    """The mean square distance from the mean, in two passes: nothing cancels."""
    distance = e.to_float(x) - mean_of(x, axis)
    return mean_of(distance * distance, axis, keepdims)


@composite
def var(x: Node, axis: Axis = None, keepdims: bool = False) -> Node:
    """The variance along `axis` (None: of all), divided by the count."""
    return variance_of(x, axis, keepdims)


@composite
def std(x: Node, axis: Axis = None, keepdims: bool = False) -> Node:
    """The standard deviation along `axis` (None: of all), divided by the count."""
    return e.sqrt(variance_of(x, axis, keepdims))


@composite
def norm(x: Node, ord: float = 2, axis: Axis = None, keepdims: bool = False) -> Node:
    """The p-norm along `axis` (None: of all); the derivative of the 2-norm at 0 is 0."""
    x = e.to_float(x)
    if ord == math.inf:
        return reduced(reduction.max, e.abs(x), axis, keepdims)
    if ord == -math.inf:
        return reduced(reduction.min, e.abs(x), axis, keepdims)
    if ord == 1:
        return reduced(reduction.sum, e.abs(x), axis, keepdims)
    powers = x * x if ord == 2 else e.to_power(e.abs(x), float(ord))
    total = reduced(reduction.sum, powers, axis, keepdims)
    zero, one = constant_like(0, total), constant_like(1, total)
    nothing = e.eq(total, zero)
    root = e.to_power(e.where(nothing, one, total), 1 / ord)
    return e.where(nothing, zero, root)


@composite
def logsumexp(x: Node, axis: Axis = None, keepdims: bool = False) -> Node:
    """log(sum(exp(x))) along `axis` (None: of all), without overflow."""
    below, top, axes = shifted(x, axis)
    made = e.log(reduction.sum(e.exp(below), axes)) + top
    return made if keepdims else without_axes(made, axes)
