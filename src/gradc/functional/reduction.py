"""Functions along axes."""

from __future__ import annotations

import math

from ..tracer.composite import composite
from ..tracer.dtypes import DType, float16, float64
from ..tracer.interpret import computing
from ..tracer.ir import Node, node
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
from ..tracer.ops import markers, reduction
from ..tracer.ops.kinds import cast_to, normalized_axes
from ..tracer.ops.sources import constant_like, constant_of
from .activation import shifted

__all__ = [
    "all",
    "amax",
    "amin",
    "any",
    "argmax",
    "argmin",
    "count_nonzero",
    "logsumexp",
    "max",
    "mean",
    "min",
    "nanmean",
    "nansum",
    "norm",
    "normalize",
    "prod",
    "std",
    "sum",
    "var",
]

amax, amin = max, min


def centred(x: Node, axis: Axis) -> tuple[Node, Node]:
    """x less its mean along `axis`, and the mean square of that: nothing cancels.

    Half types are computed in float32.
    """
    x = e.to_float(x)
    x = cast_to(x, computing(x.dtype))
    distance = x - mean_of(x, axis)
    return distance, mean_of(distance * distance, axis)


def _variance(x: Node, axis: Axis, keepdims: bool, ddof: int) -> Node:
    x = e.to_float(x)
    axes = normalized_axes("var", axis, x.ndim)
    distance, variance = centred(x, axes)
    if ddof:
        count = math.prod(x.shape[each] for each in axes)
        total = reduction.sum(distance * distance, axes)
        variance = total / constant_of(count - ddof if count > ddof else 0, total.dtype)
    return variance if keepdims else without_axes(variance, axes)


@composite
def var(inp: Node, axis: Axis = None, keepdims: bool = False, ddof: int = 0) -> Node:
    """The variance along `axis` (None: of all): squares are divided by the count less `ddof`."""
    return cast_to(_variance(inp, axis, keepdims, ddof), e.to_float(inp).dtype)


@composite
def std(inp: Node, axis: Axis = None, keepdims: bool = False, ddof: int = 0) -> Node:
    """The root of `var`; where that is 0, so is the derivative."""
    x = e.to_float(inp)
    wide = cast_to(x, computing(x.dtype))
    axes = normalized_axes("std", axis, x.ndim)
    count = math.prod(x.shape[each] for each in axes)
    length = norm_of(wide - mean_of(wide, axes), 2, axes, keepdims)  # a variance may overflow
    root = constant_of(math.sqrt(count - ddof if count > ddof else 0), length.dtype)
    return cast_to(length / root, x.dtype)


def _root(total: Node, ord: float) -> Node:
    """The root number `ord` of what is not negative; the derivative at 0 is 0."""
    zero, one = constant_like(0, total), constant_like(1, total)
    nothing = e.eq(total, zero)
    return e.where(nothing, zero, e.to_power(e.where(nothing, one, total), 1 / ord))


def norm_of(x: Node, ord: float | None, axis: Axis, keepdims: bool) -> Node:
    """The p-norm of x, a floating value, in its computing type."""
    _, length, top = _scaled_norm(x, ord, axis)
    made = cast_to(length if top is None else length * top, computing(x.dtype))
    return made if keepdims else without_axes(made, normalized_axes("norm", axis, x.ndim))


def unit_of(x: Node, ord: float | None, axis: Axis, eps: float) -> Node:
    """x, a floating value, divided by its p-norm, or by `eps` where that is smaller."""
    scaled, length, top = _scaled_norm(x, ord, axis)
    least = constant_of(eps, length.dtype)
    short = (length if top is None else length * top) < least
    made = scaled / e.where(short, least if top is None else least / top, length)
    return cast_to(made, computing(x.dtype))


def _scaled_norm(x: Node, ord: float | None, axis: Axis) -> tuple[Node, Node, Node | None]:
    """x, divided by `top`, and the p-norm of that, whose axes are kept (no `top`: 1)."""
    given, x = x.dtype, cast_to(x, computing(x.dtype))
    if ord == math.inf:
        return x, reduced(reduction.max, e.abs(x), axis, True), None
    if ord == -math.inf:
        return x, reduced(reduction.min, e.abs(x), axis, True), None
    if ord == 0:
        present = cast_to(e.ne(x, constant_like(0, x)), x.dtype)
        return x, reduced(reduction.sum, present, axis, True), None
    if ord == 1:
        return x, reduced(reduction.sum, e.abs(x), axis, True), None
    power = 2.0 if ord is None else float(ord)
    x, top = _in_range(x, given, power, axis)
    powers = x * x if power == 2 else e.to_power(e.abs(x), power)
    return x, _root(reduced(reduction.sum, powers, axis, True), power), top


def _in_range(x: Node, given: DType, power: float, axis: Axis) -> tuple[Node, Node | None]:
    """x so that its powers do not overflow, and by what it was divided.

    Squares of float16 stay in float32, those of float32 in float64. All else is divided by the
    largest, which counts as a constant: the norm does not depend on it.
    """
    if power == 2 and given is not float64:
        return x if given is float16 else cast_to(x, float64), None
    axes = normalized_axes("norm", axis, x.ndim)
    if power < 0 or not math.prod(x.shape[each] for each in axes):
        return x, None
    largest = node(markers.stop, (reduction.max(e.abs(x), axes),))
    none = e.bit_or(e.eq(largest, constant_like(0, largest)), e.isinf(largest))
    top = e.where(none, constant_like(1, largest), largest)
    return x / top, top


@composite
def norm(inp: Node, ord: float | None = None, axis: Axis = None, keepdims: bool = False) -> Node:
    """The p-norm, sum(|x|^p)^(1/p), along `axis` (None: of all); p is `ord` (None: 2).

    inf and -inf mean the largest and the smallest |x|, 0 the number of elements that are not 0. The
    derivative of the 2-norm at 0 is 0.
    """
    x = e.to_float(inp)
    return cast_to(norm_of(x, ord, axis, keepdims), x.dtype)


@composite
def normalize(inp: Node, ord: float | None = None, axis: Axis = None, eps: float = 1e-12) -> Node:
    """`inp` divided by its p-norm along `axis`, or by `eps` where the norm is smaller."""
    x = e.to_float(inp)
    return cast_to(unit_of(x, ord, axis, eps), x.dtype)


@composite
def count_nonzero(inp: Node, axis: Axis = None, keepdims: bool = False) -> Node:
    """How many elements along `axis` (None: of all) are not zero."""
    return reduced(reduction.sum, e.ne(inp, constant_like(0, inp)), axis, keepdims)


@composite
def logsumexp(inp: Node, axis: Axis = None, keepdims: bool = False) -> Node:
    """log(sum(exp(x))) along `axis` (None: of all), without overflow."""
    below, top, axes = shifted(inp, axis)
    made = cast_to(e.log(reduction.sum(e.exp(below), axes)) + top, e.to_float(inp).dtype)
    return made if keepdims else without_axes(made, axes)


@composite
def nansum(inp: Node, axis: Axis = None, keepdims: bool = False) -> Node:
    """The sum along `axis` (None: of all) of what is not NaN."""
    return reduced(reduction.sum, _without_nan(inp), axis, keepdims)


@composite
def nanmean(inp: Node, axis: Axis = None, keepdims: bool = False) -> Node:
    """The mean along `axis` (None: of all) of what is not NaN; NaN where all is."""
    x = e.to_float(inp)
    wide = cast_to(_without_nan(x), computing(x.dtype))
    count = cast_to(e.logical_not(e.isnan(x)), wide.dtype)
    sums = (reduced(reduction.sum, each, axis, keepdims) for each in (wide, count))
    return cast_to(e.div(*sums), x.dtype)


def _without_nan(x: Node) -> Node:
    return e.where(e.isnan(x), constant_like(0, x), x) if x.dtype.is_float else x
