"""Roots, exponentials, logarithms, trigonometric and hyperbolic functions.

Records that are named above their own line carry their type, for the type checker.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..ir import Node
from . import logic, sources
from .kinds import Elementwise

TRANSCENDENTAL = 16
DIVISION = 4


# ---- roots

sqrt = Elementwise(
    "sqrt",
    scalar="sqrt{s}({x})",
    reference=np.sqrt,
    vjp=lambda g, y, x: (0.5 * g / y,),
    domain="float",
    weight=DIVISION,
    doc="the derivative at 0 is inf",
)
rsqrt = Elementwise(
    "rsqrt",
    scalar="({t})1 / sqrt{s}({x})",
    reference=lambda x: 1 / np.sqrt(x),
    vjp=lambda g, y, x: (-0.5 * g * y / x,),
    domain="float",
    weight=2 * DIVISION,
    doc="inf at 0, where the derivative is -inf",
)


def _cbrt_vjp(g: Node, y: Node, x: Node) -> tuple[Node]:
    """g / (3 y^2), by 1 / y, so that no order of derivatives has 0 times inf at 0."""
    inverse = 1.0 / y
    return (g * (1 / 3) * inverse * inverse,)


cbrt = Elementwise(
    "cbrt",
    scalar="cbrt{s}({x})",
    reference=np.cbrt,
    vjp=_cbrt_vjp,
    domain="float",
    weight=TRANSCENDENTAL,
    doc="the derivative at 0 is inf",
)


def _where_zero(x: Node, value: float) -> Node:
    """`x`, with `value` in place of zeros."""
    zero = logic.eq(x, sources.constant_like(0, x))
    return logic.where(zero, sources.constant_like(value, x), x)


def _hypot_vjp(g: Node, y: Node, a: Node, b: Node) -> tuple[Node, Node]:
    infinite = logic.eq(y, sources.constant_of(math.inf, y.dtype))
    length = logic.where(infinite, sources.constant_like(1, y), _where_zero(y, 1.0))
    return g * (_leg(a, infinite) / length), g * (_leg(b, infinite) / length)


def _leg(x: Node, infinite: Node) -> Node:
    """`x`, but beside an infinite length its sign where it is infinite too, and else 0."""
    side = sources.constant_like(0, x)
    for sign in (1, -1):
        there = logic.eq(x, sources.constant_of(sign * math.inf, x.dtype))
        side = logic.where(there, sources.constant_like(sign, x), side)
    return logic.where(infinite, side, x)


hypot = Elementwise(
    "hypot",
    scalar="hypot{s}({x}, {y})",
    reference=np.hypot,
    vjp=_hypot_vjp,
    domain="float",
    weight=TRANSCENDENTAL,
    doc="without overflow; the derivatives at the origin are 0",
)


# ---- exponentials and logarithms

exp = Elementwise(
    "exp",
    scalar="gradc_exp_{k}({x})",
    reference=np.exp,
    vjp=lambda g, y, x: (g * y,),
    domain="float",
    weight=TRANSCENDENTAL,
)
exp2 = Elementwise(
    "exp2",
    scalar="gradc_exp2_{k}({x})",
    reference=np.exp2,
    vjp=lambda g, y, x: (math.log(2) * g * y,),
    domain="float",
    weight=TRANSCENDENTAL,
)
expm1 = Elementwise(
    "expm1",
    scalar="gradc_expm1_{k}({x})",
    reference=np.expm1,
    vjp=lambda g, y, x: (g * exp(x),),
    domain="float",
    weight=TRANSCENDENTAL,
    doc="exact near 0; the derivative is exp(x), as y + 1 keeps no digits where x is very negative",
)
log = Elementwise(
    "log",
    scalar="gradc_log_{k}({x})",
    reference=np.log,
    vjp=lambda g, y, x: (g / x,),
    domain="float",
    weight=TRANSCENDENTAL,
    doc="-inf at 0, where the derivative is inf; NaN below, where the derivative is 1 / x all the "
    "same",
)
log2 = Elementwise(
    "log2",
    scalar="gradc_log2_{k}({x})",
    reference=np.log2,
    vjp=lambda g, y, x: (1 / math.log(2) * g / x,),
    domain="float",
    weight=TRANSCENDENTAL,
    doc="-inf at 0, where the derivative is inf",
)
log10 = Elementwise(
    "log10",
    scalar="gradc_log10_{k}({x})",
    reference=np.log10,
    vjp=lambda g, y, x: (1 / math.log(10) * g / x,),
    domain="float",
    weight=TRANSCENDENTAL,
    doc="-inf at 0, where the derivative is inf",
)
log1p = Elementwise(
    "log1p",
    scalar="gradc_log1p_{k}({x})",
    reference=np.log1p,
    vjp=lambda g, y, x: (g / (1.0 + x),),
    domain="float",
    weight=TRANSCENDENTAL,
    doc="exact near 0; -inf at -1, where the derivative is inf",
)


def _sigmoid(x: Any) -> Any:
    small = np.exp(-np.abs(x))
    return np.where(x < 0, small, x.dtype.type(1)) / (1 + small)


sigmoid = Elementwise(
    "sigmoid",
    scalar="gradc_sigmoid_{k}({x})",
    reference=_sigmoid,
    vjp=lambda g, y, x: (g * y * (1.0 - y),),
    domain="float",
    weight=TRANSCENDENTAL + DIVISION,
)


def _logaddexp_vjp(g: Node, y: Node, a: Node, b: Node) -> tuple[Node, Node]:
    """The weights exp(a - y) and exp(b - y), without y; two equal infinities share."""
    same = logic.bit_and(logic.eq(a, b), logic.isinf(a))
    difference = logic.where(same, sources.constant_like(0, a), a - b)
    return g * sigmoid(difference), g * sigmoid(-difference)


logaddexp = Elementwise(
    "logaddexp",
    scalar="gradc_logaddexp_{k}({x}, {y})",
    reference=np.logaddexp,
    vjp=_logaddexp_vjp,
    domain="float",
    weight=2 * TRANSCENDENTAL,
    doc="log(exp(a) + exp(b)), without overflow; two equal infinities share the cotangent evenly; "
    "logaddexp(x, 0) is softplus",
)


# ---- trigonometric functions


def _one_less_square(x: Node) -> Node:
    """1 - x^2; near 1 as (1 - x) (1 + x), whose own derivative cancels near 0."""
    near = 1.0 - x * x
    return logic.where(x * x < 0.25, near, (1.0 - x) * (1.0 + x))


def _atan_vjp(g: Node, y: Node, x: Node) -> tuple[Node]:
    """g / (1 + x^2), divided in two steps, so that the square cannot overflow."""
    length = hypot(x, sources.constant_like(1, x))
    return (g / length / length,)


sin: Elementwise = Elementwise(
    "sin",
    scalar="sin{s}({x})",
    lanes="gradc_lanes_sin{s}({x})",
    reference=np.sin,
    vjp=lambda g, y, x: (g * cos(x),),
    domain="float",
    weight=TRANSCENDENTAL,
)
cos: Elementwise = Elementwise(
    "cos",
    scalar="cos{s}({x})",
    lanes="gradc_lanes_cos{s}({x})",
    reference=np.cos,
    vjp=lambda g, y, x: (-g * sin(x),),
    domain="float",
    weight=TRANSCENDENTAL,
)
tan = Elementwise(
    "tan",
    scalar="tan{s}({x})",
    reference=np.tan,
    vjp=lambda g, y, x: (g * (1.0 + y * y),),
    domain="float",
    weight=TRANSCENDENTAL,
)
asin = Elementwise(
    "asin",
    scalar="asin{s}({x})",
    reference=np.arcsin,
    vjp=lambda g, y, x: (g * rsqrt(_one_less_square(x)),),
    domain="float",
    weight=TRANSCENDENTAL,
    doc="the derivatives at -1 and 1 are inf",
)
acos = Elementwise(
    "acos",
    scalar="acos{s}({x})",
    reference=np.arccos,
    vjp=lambda g, y, x: (-g * rsqrt(_one_less_square(x)),),
    domain="float",
    weight=TRANSCENDENTAL,
    doc="the derivatives at -1 and 1 are -inf",
)
atan = Elementwise(
    "atan",
    scalar="atan{s}({x})",
    reference=np.arctan,
    vjp=_atan_vjp,
    domain="float",
    weight=TRANSCENDENTAL,
)


def _atan2_vjp(g: Node, r: Node, y: Node, x: Node) -> tuple[Node, Node]:
    """(x, -y) / (x*x + y*y), divided in two steps, so that the square cannot overflow."""
    length = _where_zero(hypot(x, y), 1.0)
    scaled = g / length
    return scaled * (x / length), -scaled * (y / length)


atan2 = Elementwise(
    "atan2",
    scalar="atan2{s}({x}, {y})",
    reference=np.arctan2,
    vjp=_atan2_vjp,
    domain="float",
    weight=TRANSCENDENTAL,
    doc="the angle of the point (second operand, first operand); the derivatives at the origin are "
    "0",
)


# ---- hyperbolic functions, erf

sinh: Elementwise = Elementwise(
    "sinh",
    scalar="gradc_sinh_{k}({x})",
    reference=np.sinh,
    vjp=lambda g, y, x: (g * cosh(x),),
    domain="float",
    weight=TRANSCENDENTAL,
)
cosh: Elementwise = Elementwise(
    "cosh",
    scalar="gradc_cosh_{k}({x})",
    reference=np.cosh,
    vjp=lambda g, y, x: (g * sinh(x),),
    domain="float",
    weight=TRANSCENDENTAL,
)
tanh = Elementwise(
    "tanh",
    scalar="gradc_tanh_{k}({x})",
    reference=np.tanh,
    vjp=lambda g, y, x: (g * (1.0 - y * y),),
    domain="float",
    weight=TRANSCENDENTAL,
)
asinh = Elementwise(
    "asinh",
    scalar="gradc_asinh_{k}({x})",
    reference=np.arcsinh,
    vjp=lambda g, y, x: (g / hypot(x, sources.constant_like(1, x)),),  # x * x may overflow
    domain="float",
    weight=TRANSCENDENTAL,
)
acosh = Elementwise(
    "acosh",
    scalar="gradc_acosh_{k}({x})",
    reference=np.arccosh,
    vjp=lambda g, y, x: (g * rsqrt(x - 1.0) * rsqrt(x + 1.0),),
    domain="float",
    weight=TRANSCENDENTAL,
    doc="the derivative at 1 is inf",
)
atanh = Elementwise(
    "atanh",
    scalar="gradc_atanh_{k}({x})",
    reference=np.arctanh,
    vjp=lambda g, y, x: (g / _one_less_square(x),),
    domain="float",
    weight=TRANSCENDENTAL,
    doc="-inf at -1 and inf at 1, where the derivatives are inf",
)


def _erf(x: Any) -> Any:
    return np.vectorize(math.erf, otypes=[x.dtype])(x)


def _erf_vjp(g: Node, y: Node, x: Node) -> tuple[Node]:
    """2 / sqrt(pi) exp(-x^2), which is 0 in every type where |x| is 32."""
    bounded = logic.where(x * x >= 1024.0, sources.constant_of(32.0, x.dtype), x)
    return (2 / math.sqrt(math.pi) * g * exp(-bounded * bounded),)


erf = Elementwise(
    "erf",
    scalar="gradc_erf_{k}({x})",
    reference=_erf,
    vjp=_erf_vjp,
    domain="float",
    weight=TRANSCENDENTAL,
)
