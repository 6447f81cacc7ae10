"""Functions of each element."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from ..tracer.composite import composite
from ..tracer.dtypes import bool_
from ..tracer.ir import Node, Op
from ..tracer.ops import elementwise as e
from ..tracer.ops.kinds import cast_to
from ..tracer.ops.sources import constant_like, constant_of
from ..tracer.tensor import Tensor

__all__ = [
    "abs",
    "absolute",
    "acos",
    "acosh",
    "add",
    "arccos",
    "arccosh",
    "arcsin",
    "arcsinh",
    "arctan",
    "arctan2",
    "arctanh",
    "asin",
    "asinh",
    "atan",
    "atan2",
    "atanh",
    "ceil",
    "clamp",
    "clip",
    "cos",
    "cosh",
    "div",
    "equal",
    "erf",
    "exp",
    "expm1",
    "floor",
    "floor_div",
    "greater",
    "greater_equal",
    "isfinite",
    "isinf",
    "isnan",
    "less",
    "less_equal",
    "log",
    "log1p",
    "logaddexp",
    "logical_and",
    "logical_not",
    "logical_or",
    "logical_xor",
    "maximum",
    "minimum",
    "mod",
    "mul",
    "neg",
    "not_equal",
    "pow",
    "reciprocal",
    "round",
    "rsqrt",
    "sign",
    "sin",
    "sinh",
    "sqrt",
    "square",
    "sub",
    "tan",
    "tanh",
    "true_div",
    "where",
]


def _unary(op: Any, doc: str) -> Callable[..., Tensor]:
    def function(x: Node) -> Node:
        made: Node = op(x)
        return made

    return _named(function, op, doc)


def _binary(op: Any, doc: str) -> Callable[..., Tensor]:
    def function(x: Node, y: Node) -> Node:
        made: Node = op(x, y)
        return made

    return _named(function, op, doc)


def _named(function: Any, op: Op, doc: str) -> Callable[..., Tensor]:
    function.__name__ = function.__qualname__ = op.name
    function.__doc__ = f"{doc}; {op.doc}." if op.doc else f"{doc}."
    return composite(function)


add = _binary(e.add, "x + y")
sub = _binary(e.sub, "x - y")
mul = _binary(e.mul, "x * y")
div = true_div = _binary(e.div, "x / y, in floats")
floor_div = _binary(e.floordiv, "x // y")
mod = _binary(e.mod, "x % y")
neg = _unary(e.neg, "-x")
abs = absolute = _unary(e.abs, "The absolute value")
sign = _unary(e.sign, "-1, 0 or 1 by the sign")

exp = _unary(e.exp, "e to the power x")
expm1 = _unary(e.expm1, "exp(x) - 1, exact near 0")
log = _unary(e.log, "The natural logarithm")
log1p = _unary(e.log1p, "log(1 + x), exact near 0")
sqrt = _unary(e.sqrt, "The square root")
rsqrt = _unary(e.rsqrt, "1 / sqrt(x)")
erf = _unary(e.erf, "The error function")

sin = _unary(e.sin, "The sine")
cos = _unary(e.cos, "The cosine")
tan = _unary(e.tan, "The tangent")
asin = arcsin = _unary(e.asin, "The inverse sine")
acos = arccos = _unary(e.acos, "The inverse cosine")
atan = arctan = _unary(e.atan, "The inverse tangent")
sinh = _unary(e.sinh, "The hyperbolic sine")
cosh = _unary(e.cosh, "The hyperbolic cosine")
tanh = _unary(e.tanh, "The hyperbolic tangent")
asinh = arcsinh = _unary(e.asinh, "The inverse hyperbolic sine")
acosh = arccosh = _unary(e.acosh, "The inverse hyperbolic cosine")
atanh = arctanh = _unary(e.atanh, "The inverse hyperbolic tangent")

floor = _unary(e.floor, "The next whole number below")
ceil = _unary(e.ceil, "The next whole number above")
round = _unary(e.round, "Rounding")

maximum = _binary(e.maximum, "The larger of two")
minimum = _binary(e.minimum, "The smaller of two")

equal = _binary(e.eq, "x == y")
not_equal = _binary(e.ne, "x != y")
less = _binary(e.lt, "x < y")
less_equal = _binary(e.le, "x <= y")
greater = _binary(e.gt, "x > y")
greater_equal = _binary(e.ge, "x >= y")
logical_not = _unary(e.logical_not, "Whether x is zero")


@composite
def logical_and(x: Node, y: Node) -> Node:
    """Whether both are not zero."""
    return e.bit_and(cast_to(x, bool_), cast_to(y, bool_))


@composite
def logical_or(x: Node, y: Node) -> Node:
    """Whether one or both are not zero."""
    return e.bit_or(cast_to(x, bool_), cast_to(y, bool_))


@composite
def logical_xor(x: Node, y: Node) -> Node:
    """Whether one, but not both, is not zero."""
    return e.bit_xor(cast_to(x, bool_), cast_to(y, bool_))


@composite
def isnan(x: Node) -> Node:
    """Whether x is not a number."""
    return e.ne(x, x)


@composite
def isinf(x: Node) -> Node:
    """Whether x is inf or -inf."""
    floating = e.to_float(x)
    return e.eq(e.abs(floating), constant_of(math.inf, floating.dtype))


@composite
def isfinite(x: Node) -> Node:
    """Whether x is neither inf, -inf nor NaN."""
    floating = e.to_float(x)
    return e.lt(e.abs(floating), constant_of(math.inf, floating.dtype))


@composite
def where(mask: Node, x: Node, y: Node) -> Node:
    """x where `mask` holds, else y; the side that is not taken gets a zero derivative."""
    return e.where(mask, x, y)


@composite
def clip(x: Node, lower: Node | None = None, upper: Node | None = None) -> Node:
    """x, brought between `lower` and `upper`; the derivative at the bounds themselves is 1."""
    below = x if upper is None else e.where(x > upper, upper, x)
    return below if lower is None else e.where(x < lower, lower, below)


clamp = clip


@composite
def square(x: Node) -> Node:
    """x times itself."""
    return x * x


@composite
def reciprocal(x: Node) -> Node:
    """1 / x."""
    floating = e.to_float(x)
    return constant_like(1, floating) / floating


@composite
def atan2(y: Node, x: Node) -> Node:
    """The angle of the point (x, y), from -pi to pi; its derivative at the origin is NaN.

    The smaller coordinate is divided by the larger one, so that derivatives hold on the axes too.
    """
    y, x = e.to_float(y), e.to_float(x)
    steep = e.abs(y) > e.abs(x)
    angle = e.atan(e.where(steep, x, y) / e.where(steep, y, x))
    quarter, half = constant_of(math.pi / 2, angle.dtype), constant_of(math.pi, angle.dtype)
    upwards = e.where(y < 0.0, -quarter, quarter)
    turned = e.where(x < 0.0, angle + e.where(y < 0.0, -half, half), angle)
    return e.where(steep, upwards - angle, turned)


arctan2 = atan2


def pow(x: Any, y: Any) -> Tensor:
    """x to the power y; a number y is part of the program. The derivative of x**0 is 0."""
    made: Tensor = (x if isinstance(x, Tensor) or isinstance(y, Tensor) else Tensor(x)) ** y
    return made


@composite
def logaddexp(x: Node, y: Node) -> Node:
    """log(exp(x) + exp(y)), without overflow."""
    return e.to_float(x) + softplus_of(y - x)


def softplus_of(x: Node) -> Node:
    """log(1 + exp(x)) = max(x, 0) + log1p(exp(-|x|)), with derivatives that are right at 0 too."""
    x = e.to_float(x)
    below = x <= 0.0
    small = e.where(below, x, -x)
    return e.where(below, constant_like(0, x), x) + e.log1p(e.exp(small))
