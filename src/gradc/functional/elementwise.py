"""Functions of each element."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..tracer.composite import Number, composite, in_float32, weakly
from ..tracer.dtypes import DType, bfloat16, promote
from ..tracer.errors import DTypeError, located
from ..tracer.ir import Node, Op
from ..tracer.operand import NESTED
from ..tracer.ops import elementwise as e
from ..tracer.ops.sources import constant_like, constant_of, number_in
from ..tracer.recording import Numbers
from ..tracer.tensor import Tensor
from ..tracer.weak import Weak, from_above, from_below

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
    "cbrt",
    "ceil",
    "clamp",
    "clip",
    "cos",
    "cosh",
    "deg2rad",
    "div",
    "divide",
    "erf",
    "exp",
    "exp2",
    "expm1",
    "floor",
    "floor_div",
    "floor_divide",
    "fmod",
    "frac",
    "hypot",
    "lerp",
    "log",
    "log1p",
    "log2",
    "log10",
    "logaddexp",
    "logit",
    "maximum",
    "minimum",
    "mod",
    "mul",
    "multiply",
    "nan_to_num",
    "neg",
    "negative",
    "pow",
    "power",
    "rad2deg",
    "reciprocal",
    "remainder",
    "rint",
    "round",
    "rsqrt",
    "sign",
    "signbit",
    "sin",
    "sinc",
    "sinh",
    "sqrt",
    "square",
    "sub",
    "subtract",
    "tan",
    "tanh",
    "true_div",
    "trunc",
    "xlogy",
]


def unary(op: Any, doc: str) -> Callable[..., Tensor]:
    """The function of a tensor that `op` is."""

    def function(x: Node) -> Node:
        made: Node = op(x)
        return made

    return _named(function, op, doc)


def binary(op: Any, doc: str, rule: Weak | None = None) -> Callable[..., Tensor]:
    """The function of two tensors that `op` is; `rule` says what its numbers mean."""

    def function(x: Node, y: Node) -> Node:
        made: Node = op(x, y)
        return made

    if rule is not None:
        weakly(x=rule, y=rule)(function)
    return _named(function, op, doc)


def _named(function: Any, op: Op, doc: str) -> Callable[..., Tensor]:
    function.__name__ = function.__qualname__ = op.name
    function.__doc__ = f"{doc}; {op.doc}." if op.doc else f"{doc}."
    return composite(in_float32(function) if getattr(op, "domain", "") == "float" else function)


add = binary(e.add, "x + y")
sub = subtract = binary(e.sub, "x - y")
mul = multiply = binary(e.mul, "x * y")
div = divide = true_div = binary(e.div, "x / y, in floats")
floor_div = floor_divide = binary(e.floordiv, "x // y")
mod = remainder = binary(e.mod, "x % y")
neg = negative = unary(e.neg, "-x")
abs = absolute = unary(e.abs, "The absolute value")
sign = unary(e.sign, "-1 or 1 by the sign")

exp = unary(e.exp, "e to the power x")
exp2 = unary(e.exp2, "2 to the power x")
expm1 = unary(e.expm1, "exp(x) - 1")
log = unary(e.log, "The natural logarithm")
log2 = unary(e.log2, "The logarithm to the base 2")
log10 = unary(e.log10, "The logarithm to the base 10")
log1p = unary(e.log1p, "log(1 + x)")
logaddexp = binary(e.logaddexp, "The logarithm of a sum")
sqrt = unary(e.sqrt, "The square root")
rsqrt = unary(e.rsqrt, "1 / sqrt(x)")
cbrt = unary(e.cbrt, "The cube root, with the sign of x")
hypot = binary(e.hypot, "sqrt(x^2 + y^2)")
erf = unary(e.erf, "The error function")

sin = unary(e.sin, "The sine")
cos = unary(e.cos, "The cosine")
tan = unary(e.tan, "The tangent")
asin = arcsin = unary(e.asin, "The inverse sine")
acos = arccos = unary(e.acos, "The inverse cosine")
atan = arctan = unary(e.atan, "The inverse tangent")
sinh = unary(e.sinh, "The hyperbolic sine")
cosh = unary(e.cosh, "The hyperbolic cosine")
tanh = unary(e.tanh, "The hyperbolic tangent")
asinh = arcsinh = unary(e.asinh, "The inverse hyperbolic sine")
acosh = arccosh = unary(e.acosh, "The inverse hyperbolic cosine")
atanh = arctanh = unary(e.atanh, "The inverse hyperbolic tangent")

floor = unary(e.floor, "The next whole number below")
ceil = unary(e.ceil, "The next whole number above")
round = rint = unary(e.round, "Rounding")

maximum = binary(e.maximum, "The larger of two", from_below)
minimum = binary(e.minimum, "The smaller of two", from_above)


@composite
def trunc(x: Node) -> Node:
    """The next whole number towards 0."""
    return e.where(x < 0, e.ceil(x), e.floor(x))


@composite
@weakly(lower=from_below, upper=from_above)
def clip(x: Node, lower: Node | None = None, upper: Node | None = None) -> Node:
    """x, brought between `lower` and `upper`; the derivative at the bounds themselves is 1.

    A bound that is NaN gives NaN; where `lower` is above `upper`, the result is `upper`.
    """
    above = x if lower is None else e.where(_beyond(x < lower, lower), lower, x)
    return above if upper is None else e.where(_beyond(above > upper, upper), upper, above)


def _beyond(beyond: Node, bound: Node) -> Node:
    """Where a bound counts: where it is passed, and where it is NaN."""
    return e.bit_or(beyond, e.isnan(bound)) if bound.dtype.is_float else beyond


clamp = clip


@composite
def square(x: Node) -> Node:
    """x times itself."""
    return x * x


@composite
@in_float32
def reciprocal(x: Node) -> Node:
    """1 / x."""
    floating = e.to_float(x)
    return constant_like(1, floating) / floating


@composite
@in_float32
def atan2(y: Node, x: Node) -> Node:
    """The angle of the point (x, y), from -pi to pi; its derivatives at the origin are 0."""
    return e.atan2(y, x)


arctan2 = atan2


def pow(x: Any, y: Any) -> Tensor:
    """x to the power y; the derivative of x**0 is 0.

    A number y is read when a program runs, but for small whole ones, which become products, and
    roots.
    """
    for each in (x, y):
        if not isinstance(each, (Tensor, *NESTED, *Numbers)):
            expected = "expected a tensor, an array or a number"
            raise DTypeError(located(f"pow: {expected}, found {each!r:.60}"))
    made: Tensor = (x if isinstance(x, Tensor) or isinstance(y, Tensor) else Tensor(x)) ** y
    return made


power = pow


@composite
@in_float32
def xlogy(x: Node, y: Node) -> Node:
    """x log(y), which is 0 where x is 0 even if log(y) is infinite."""
    x, y = e.to_float(x), e.to_float(y)
    return xlogy_of(x, y)


def xlogy_of(x: Node, y: Node) -> Node:
    """x log(y), and 0 where x is 0 and log(y) infinite."""
    infinite = e.bit_or(e.eq(y, constant_like(0, y)), e.isinf(y))
    vanishes = e.bit_and(e.eq(x, constant_like(0, x)), infinite)
    return x * e.log(e.where(vanishes, constant_like(1, y), y))


@composite
def nan_to_num(
    x: Node, nan: Number = 0.0, posinf: Number | None = None, neginf: Number | None = None
) -> Node:
    """x with numbers in place of NaN and the infinities (None: the ends of the type)."""
    if not x.dtype.is_float:
        return x
    largest = constant_of(_largest(x.dtype), x.dtype)
    infinity = constant_of(math.inf, x.dtype)
    for bad, value in (
        (e.isnan(x), number_in(nan, x.dtype)),
        (e.eq(x, infinity), largest if posinf is None else number_in(posinf, x.dtype)),
        (e.eq(x, -infinity), -largest if neginf is None else number_in(neginf, x.dtype)),
    ):
        x = e.where(bad, value, x)
    return x


def _largest(dtype: DType) -> float:
    return (2 - 2**-7) * 2.0**127 if dtype is bfloat16 else float(np.finfo(dtype.storage).max)


def softplus_of(x: Node) -> Node:
    """log(1 + exp(x)) = max(x, 0) + log1p(exp(-|x|)), with derivatives that are right at 0 too."""
    x = e.to_float(x)
    below = x <= 0.0
    small = e.where(below, x, -x)
    return e.where(below, constant_like(0, x), x) + e.log1p(e.exp(small))


@composite
def fmod(x: Node, y: Node) -> Node:
    """x less y times x / y brought to a whole number towards 0: it has the sign of x."""
    if promote(x.dtype, y.dtype).is_float:
        size = e.mod(e.where(x < 0, -x, x), e.where(y < 0, -y, y))  # exact where x is small
        return e.where(x < 0, -size, size)
    rest = e.mod(x, y)
    zero = constant_like(0, rest)
    other = e.bit_and(e.ne(rest, zero), e.ne(x < 0, y < 0))
    return e.where(other, rest - y, rest)


@composite
def frac(x: Node) -> Node:
    """x less its whole part, with the sign of x."""
    x = e.to_float(x)
    return x - e.where(x < 0, e.ceil(x), e.floor(x))


@composite
def signbit(x: Node) -> Node:
    """Whether the sign is set: of negative numbers and of -0.0."""
    zero = constant_like(0, x)
    if not x.dtype.is_float:
        return e.lt(x, zero)
    return e.lt(e.where(e.eq(x, zero), constant_like(1, x) / x, x), zero)


@composite
@in_float32
def sinc(x: Node) -> Node:
    """sin(pi x) / (pi x), and 1 where x is 0."""
    x = e.to_float(x)
    pi = constant_of(math.pi, x.dtype)
    middle = e.abs(x) < 0.25
    angle = e.where(middle, x, constant_like(0, x)) * pi
    series = polynomial(angle * angle, SINC)
    safe = e.where(middle, constant_like(1, x), x)
    turned = safe - 2.0 * e.round(0.5 * safe)  # exact; the sine of large angles is no more so
    return e.where(middle, series, e.sin(turned * pi) / pi / safe)


SINC = tuple((-1) ** k / math.factorial(2 * k + 1) for k in range(10))
"""sin(a) / a in powers of a^2: near 0 the derivatives of a quotient cancel."""


def polynomial(x: Node, coefficients: Sequence[float]) -> Node:
    """The sum of coefficients[k] x^k."""
    total = constant_of(coefficients[-1], x.dtype)
    for each in reversed(coefficients[:-1]):
        total = total * x + constant_of(each, x.dtype)
    return total


@composite
@in_float32
def deg2rad(x: Node) -> Node:
    """Degrees as radians."""
    x = e.to_float(x)
    return x * constant_of(math.pi / 180, x.dtype)


@composite
@in_float32
def rad2deg(x: Node) -> Node:
    """Radians as degrees."""
    x = e.to_float(x)
    return x * constant_of(180 / math.pi, x.dtype)


@composite
@in_float32
def lerp(x: Node, y: Node, weight: Node) -> Node:
    """x + weight (y - x)."""
    x, y = e.to_float(x), e.to_float(y)
    apart = e.ne(x < 0, y < 0)  # y - x may overflow
    nothing, other = constant_like(0, x), constant_like(0, y)
    near = e.where(apart, nothing, x) + weight * (
        e.where(apart, other, y) - e.where(apart, nothing, x)
    )
    far = (1.0 - weight) * e.where(apart, x, nothing) + weight * e.where(apart, y, other)
    return e.where(apart, far, near)


@composite
@in_float32
def logit(x: Node) -> Node:
    """log(x / (1 - x)), the inverse of sigmoid; exact around 1/2 too."""
    x = e.to_float(x)
    middle = e.bit_and(x > 0.25, x < 0.75)  # it is 2 atanh(2 x - 1) as well
    near = e.where(middle, x, constant_of(0.5, x.dtype))
    far = e.where(middle, constant_of(0.25, x.dtype), x)
    return e.where(middle, 2.0 * e.atanh(2.0 * near - 1.0), e.log(far) - e.log1p(-far))
