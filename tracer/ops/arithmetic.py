"""Arithmetic, rounding and powers.

In every `vjp` of the elementwise operators g is the cotangent of the result y, and the cotangent of
an operand may have the result's shape: the adjoint sums it over broadcast axes.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ..ir import Node
from . import logic, sources, transcendental
from .kinds import Elementwise, cast_to, operand_type
from .transcendental import DIVISION, TRANSCENDENTAL

add = Elementwise(
    "add",
    scalar="{x} + {y}",
    reference=np.add,
    vjp=lambda g, y, a, b: (g, g),
    domain="number",
)
sub = Elementwise(
    "sub",
    scalar="{x} - {y}",
    reference=np.subtract,
    vjp=lambda g, y, a, b: (g, -g),
    domain="number",
)
mul = Elementwise(
    "mul",
    scalar="{x} * {y}",
    reference=np.multiply,
    vjp=lambda g, y, a, b: (g * b, g * a),
    domain="number",
)
div = Elementwise(
    "div",
    scalar="{x} / {y}",
    reference=np.divide,
    vjp=lambda g, y, a, b: (g / b, -(g / b) * y),
    domain="float",
    weight=DIVISION,
    doc="inf, -inf or NaN where b is 0, and so are the derivatives there",
)
floordiv = Elementwise(
    "floordiv",
    scalar="gradc_floordiv_{k}({x}, {y})",
    reference=np.floor_divide,
    vjp=None,
    domain="number",
    weight=DIVISION,
    doc="the quotient rounded down, as in Python; an integer divided by 0 gives 0",
)
mod = Elementwise(
    "mod",
    scalar="gradc_mod_{k}({x}, {y})",
    reference=np.mod,
    vjp=lambda g, y, a, b: (g, -g * floordiv(a, b)),
    domain="number",
    weight=DIVISION,
    doc="the remainder with the sign of the divisor, as in Python; an integer modulo 0 gives 0; "
    "the derivatives ignore the jumps: 1 for the first operand, everywhere",
)
neg = Elementwise(
    "neg",
    scalar="-{x}",
    reference=np.negative,
    vjp=lambda g, y, x: (-g,),
    domain="number",
)
sign = Elementwise(
    "sign",
    scalar="{x} != {x} ? {x} : ({t})(({x} > 0) - ({x} < 0))",
    integer="({x} > 0) - ({x} < 0)",
    reference=np.sign,
    vjp=None,
    domain="number",
    doc="0 at 0, NaN at NaN",
)
abs = Elementwise(
    "abs",
    scalar="fabs{s}({x})",
    integer="{x} < 0 ? -{x} : {x}",
    reference=np.abs,
    vjp=lambda g, y, x: (g * sign(x),),
    domain="number",
    doc="the derivative at 0 is 0",
)


# ---- rounding: integers are whole already


def _of_floats(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda x: function(x) if x.dtype.kind == "f" else x


floor = Elementwise(
    "floor",
    scalar="floor{s}({x})",
    integer="{x}",
    reference=_of_floats(np.floor),
    vjp=None,
    domain="number",
)
ceil = Elementwise(
    "ceil",
    scalar="ceil{s}({x})",
    integer="{x}",
    reference=_of_floats(np.ceil),
    vjp=None,
    domain="number",
)
round = Elementwise(
    "round",
    scalar="rint{s}({x})",
    integer="{x}",
    reference=_of_floats(np.rint),
    vjp=None,
    domain="number",
    doc="the nearest whole number, ties to the even one",
)


# ---- powers


def _pow(x: Any, y: Any) -> Any:
    if x.dtype.kind == "f":
        return np.power(x, y)
    inverse = np.where(x == 1, 1, np.where(x == -1, 1 - 2 * (y & 1), 0))
    return np.where(y < 0, inverse, np.power(x, np.maximum(y, 0))).astype(x.dtype)


def _pow_vjp(g: Node, r: Node, x: Node, y: Node) -> tuple[Node, Node]:
    """y * x**(y-1) and r * log(x); both are 0 at x = 0 where y = 0, the second also where y > 0.

    What would not be a number is taken out of the operands, not out of the result, so that the
    derivatives of these expressions are right again.
    """
    zero, one = sources.constant_like(0, x), sources.constant_like(1, x)
    at_zero = logic.eq(x, zero)
    base = logic.where(logic.bit_and(at_zero, logic.eq(y, zero)), one, x)
    vanishes = logic.bit_and(at_zero, logic.ge(y, zero))
    logarithm = transcendental.log(logic.where(vanishes, one, x))
    return g * (y * pow(base, y - 1.0)), g * (r * logarithm)


pow: Elementwise = Elementwise(
    "pow",
    scalar="pow{s}({x}, {y})",
    integer="gradc_pow_{k}({x}, {y})",
    reference=_pow,
    vjp=_pow_vjp,
    domain="number",
    weight=2 * TRANSCENDENTAL,
    doc="x to the power y; the derivative of x**0 is 0, that of 0**y with respect to y is 0 where "
    "y >= 0. Of integers, x**-n is 1 / x**n without its fraction, and 0**-n is 0",
)
power = Elementwise(
    "power",
    scalar="pow{s}({x}, ({t}){exponent})",
    reference=lambda x, exponent: np.power(x, x.dtype.type(float(exponent))),
    vjp=lambda g, y, x, exponent: (g * (float(exponent) * to_power(x, float(exponent) - 1.0)),),
    attributes=("exponent",),
    domain="float",
    weight=2 * TRANSCENDENTAL,
    doc="x to a power that belongs to the program; the derivative at 0 is inf if the exponent is "
    "between 0 and 1, -inf if it is negative",
)


def is_short_power(exponent: float) -> bool:
    """Whether `to_power` makes it of products, roots and quotients."""
    return exponent in (-0.5, 0.5) or (exponent == exponent // 1 and -4 <= exponent <= 8)


def to_power(x: Node, exponent: float) -> Node:
    """`x ** exponent` for a number known now: of products, roots and quotients where few will do.

    Integers stay integers where the exponent is a whole number that is not negative.
    """
    x = cast_to(x, operand_type("pow", "number", x.dtype))
    whole = int(exponent) if math.isfinite(exponent) and exponent == int(exponent) else None
    if whole is not None and whole >= 0 and (whole <= 8 or not x.dtype.is_float):
        return _product_of_equals(x, whole)
    x = to_float(x)
    if whole is not None and -4 <= whole < 0:
        return _product_of_equals(1.0 / x, -whole)  # inverted first: no derivative has 0 times inf
    if exponent == 0.5:
        return transcendental.sqrt(x)
    if exponent == -0.5:
        return transcendental.rsqrt(x)
    if not math.isfinite(exponent):
        return pow(x, sources.constant_like(exponent, x))
    return power(x, attrs=(repr(float(exponent)),))


def _product_of_equals(x: Node, count: int) -> Node:
    """The product of `count` factors `x`, by repeated squaring."""
    if count == 0:
        return sources.full(1, x.shape, x.dtype)
    if count == 1:
        return x
    half = _product_of_equals(x, count // 2)
    return half * half * x if count % 2 else half * half


def to_float(x: Node) -> Node:
    """`x`, cast to the default floating type where it is no float."""
    return cast_to(x, operand_type("to_float", "float", x.dtype))
