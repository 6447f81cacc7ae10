"""Comparison, logic on bits, and choice."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..ir import Node
from . import sources
from .kinds import Elementwise

# ---- comparison

UNORDERED = "False where either is NaN"

eq = Elementwise(
    "eq", scalar="{x} == {y}", reference=np.equal, vjp=None, result="bool", doc=UNORDERED
)
ne = Elementwise(
    "ne",
    scalar="{x} != {y}",
    reference=np.not_equal,
    vjp=None,
    result="bool",
    doc="True where either is NaN",
)
lt = Elementwise(
    "lt", scalar="{x} < {y}", reference=np.less, vjp=None, result="bool", doc=UNORDERED
)
le = Elementwise(
    "le", scalar="{x} <= {y}", reference=np.less_equal, vjp=None, result="bool", doc=UNORDERED
)
gt = Elementwise(
    "gt", scalar="{x} > {y}", reference=np.greater, vjp=None, result="bool", doc=UNORDERED
)
ge = Elementwise(
    "ge", scalar="{x} >= {y}", reference=np.greater_equal, vjp=None, result="bool", doc=UNORDERED
)

# Written with differences, not with isinf() and its kin, whose results are not 1 everywhere.
isnan = Elementwise(
    "isnan", scalar="{x} != {x}", integer="0", reference=np.isnan, vjp=None, result="bool"
)
isinf = Elementwise(
    "isinf",
    scalar="{x} == {x} && {x} - {x} != 0",
    integer="0",
    reference=np.isinf,
    vjp=None,
    result="bool",
)
isfinite = Elementwise(
    "isfinite",
    scalar="{x} - {x} == 0",
    integer="1",
    reference=np.isfinite,
    vjp=None,
    result="bool",
)


# ---- bits

bit_and = Elementwise(
    "bit_and", scalar="{x} & {y}", reference=np.bitwise_and, vjp=None, domain="bits"
)
bit_or = Elementwise("bit_or", scalar="{x} | {y}", reference=np.bitwise_or, vjp=None, domain="bits")
bit_xor = Elementwise(
    "bit_xor", scalar="{x} ^ {y}", reference=np.bitwise_xor, vjp=None, domain="bits"
)
shift_left = Elementwise(
    "shift_left",
    scalar="gradc_shift_left_{k}({x}, {y})",
    reference=np.left_shift,
    vjp=None,
    domain="integer",
    doc="x moved up by y bits; 0 where y is negative or not below the width",
)
shift_right = Elementwise(
    "shift_right",
    scalar="gradc_shift_right_{k}({x}, {y})",
    reference=np.right_shift,
    vjp=None,
    domain="integer",
    doc="x moved down by y bits; the sign (0 or -1) where y is negative or not below the width",
)
logical_not = Elementwise(
    "logical_not", scalar="!{x}", reference=np.logical_not, vjp=None, domain="bool", result="bool"
)


# ---- choice


def _where_vjp(g: Node, y: Node, c: Node, a: Node, b: Node) -> tuple[None, Node, Node]:
    zero = sources.constant_like(0, g)
    return None, where(c, g, zero), where(c, zero, g)


where = Elementwise(
    "where",
    scalar="{x} ? {y} : {z}",
    reference=np.where,
    vjp=_where_vjp,
    condition=True,
    doc="a where the condition holds, else b; the side that is not taken gets a zero cotangent",
)


def _extremum_vjp(taken: Elementwise) -> Callable[[Node, Node, Node, Node], tuple[Node, Node]]:
    """The operands are compared with each other, never with the result.

    The result may have been computed earlier, by another program than these operands will be, and
    then need not have their bits.
    """

    def vjp(g: Node, y: Node, a: Node, b: Node) -> tuple[Node, Node]:
        zero = sources.constant_like(0, g)
        of_a, of_b = bit_or(taken(a, b), isnan(a)), bit_or(taken(b, a), isnan(b))
        share = where(bit_and(of_a, of_b), 0.5 * g, g)
        return where(of_a, share, zero), where(of_b, share, zero)

    return vjp


maximum = Elementwise(
    "maximum",
    scalar="gradc_max_{k}({x}, {y})",
    reference=np.maximum,
    vjp=_extremum_vjp(ge),
    doc="NaN where either is; the operand that is taken gets the cotangent, at a "
    "tie (or two NaN) each gets half",
)
minimum = Elementwise(
    "minimum",
    scalar="gradc_min_{k}({x}, {y})",
    reference=np.minimum,
    vjp=_extremum_vjp(le),
    doc="NaN where either is; the operand that is taken gets the cotangent, at a "
    "tie (or two NaN) each gets half",
)


# ---- places that are known only at run time


def _from_the_front(x: Any, size: int, negative: bool) -> Any:
    return np.where(x < 0, x + x.dtype.type(size), x)


checked_index = Elementwise(
    "checked_index",
    scalar="{x} < 0 ? {x} + {size} : {x}",
    reference=_from_the_front,
    vjp=None,
    attributes=("size", "negative"),
    domain="integer",
    doc="x as a place among `size`, counted from the end where negative, if that is allowed; "
    "anything else is an error. The type of x holds `size`",
)
