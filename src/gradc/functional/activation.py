"""What networks put between their layers."""

from __future__ import annotations

import math
from fractions import Fraction

from ..tracer.composite import Number, composite, in_float32
from ..tracer.errors import ShapeError, located
from ..tracer.interpret import computing
from ..tracer.ir import Node, node
from ..tracer.ops import elementwise as e
from ..tracer.ops import markers, reduction
from ..tracer.ops.kinds import cast_to, normalized_axes, normalized_axis
from ..tracer.ops.movement import reshape, slice_
from ..tracer.ops.sources import constant_like, constant_of, full, is_number, number_in
from .elementwise import polynomial, softplus_of

__all__ = [
    "celu",
    "elu",
    "gelu",
    "glu",
    "hardshrink",
    "hardsigmoid",
    "hardswish",
    "hardtanh",
    "hsigmoid",
    "hswish",
    "leaky_relu",
    "log_softmax",
    "logsigmoid",
    "logsoftmax",
    "mish",
    "prelu",
    "relu",
    "relu6",
    "selu",
    "sigmoid",
    "silu",
    "softmax",
    "softmin",
    "softplus",
    "softshrink",
    "softsign",
    "swish",
    "tanhshrink",
    "threshold",
]

SELU = (1.0507009873554804934193349852946, 1.6732632423543772848170429916717)
"""Scale and alpha of selu (G. Klambauer et al., Self-normalizing neural networks, 2017)."""

FLAT = 40.0
"""From here on gelu is x in every type; what its formulas are made of may overflow."""

FAR = 1024.0
"""From here on exp(-x) is 0 in every type."""


@composite
def relu(x: Node) -> Node:
    """x where it is positive, else 0; the derivative at 0 is 0, and NaN goes through."""
    return e.where(x <= 0, constant_like(0, x), x)


def _relu6(x: Node) -> Node:
    six = constant_like(6, x)
    return e.where(x <= 0, constant_like(0, x), e.where(x >= six, six, x))


@composite
def relu6(x: Node) -> Node:
    """x between 0 and 6; the derivative on both bounds is 0."""
    return _relu6(x)


@composite
def hardtanh(x: Node, min_val: Number = -1.0, max_val: Number = 1.0) -> Node:
    """x between two bounds; the derivative on them is 0."""
    x = e.to_float(x)
    low, high = number_in(min_val, x.dtype), number_in(max_val, x.dtype)
    return e.where(x <= low, low, e.where(x >= high, high, x))


@composite
@in_float32
def leaky_relu(inp: Node, negative_slope: Node = 0.01) -> Node:  # type: ignore[assignment]  # a number
    """`inp`, times `negative_slope` where it is negative; the derivative at 0 is 1."""
    return _sloped(inp, negative_slope)


@composite
@in_float32
def prelu(inp: Node, weight: Node) -> Node:
    """`inp`, times `weight` where it is negative; the derivative at 0 is 1.

    Several weights, in the shape (channels,) or (1, channels, 1, 1), are those of the channels,
    along axis 1.
    """
    count = weight.type.size
    if weight.shape in ((count,), (1, count, 1, 1)) and count != 1 and inp.ndim > 1:
        if inp.shape[1] != count:
            found = f"expected a weight for each of {inp.shape[1]} channels"
            raise ShapeError(located(f"prelu: {found}, found {count}"))
        weight = reshape(weight, (count, *(1,) * (inp.ndim - 2)))
    return _sloped(inp, weight)


def _sloped(x: Node, slope: Node) -> Node:
    """x, times `slope` where it is negative: elsewhere not even an infinite one counts."""
    return x * e.where(x < 0, slope, constant_like(1, slope))


def _expm1_below(x: Node, scale: Node | None = None) -> Node:
    """exp(x / scale) - 1 where x is not positive, else 0: nothing overflows."""
    below = e.where(x > 0, constant_like(0, x), x)
    return e.expm1(below if scale is None else below / scale)


def _below(x: Node, alpha: Node) -> Node:
    """`alpha` where x is not positive; elsewhere 1, so that not even an infinite one counts."""
    factor = number_in(alpha, x.dtype)
    return factor if is_number(alpha, 1) else e.where(x > 0, constant_like(1, x), factor)


@composite
@in_float32
def elu(x: Node, alpha: Number = 1.0) -> Node:
    """x where it is positive, else alpha (exp(x) - 1)."""
    x = e.to_float(x)
    return e.where(x > 0, x, _expm1_below(x) * _below(x, alpha))


@composite
@in_float32
def celu(x: Node, alpha: Number = 1.0) -> Node:
    """x where it is positive, else alpha (exp(x / alpha) - 1)."""
    x = e.to_float(x)
    scale = number_in(alpha, x.dtype)
    below = _expm1_below(x) if is_number(alpha, 1) else _expm1_below(x, scale)
    return e.where(x > 0, x, below * _below(x, alpha))


@composite
@in_float32
def selu(x: Node) -> Node:
    """elu with the alpha and the scale under which activations keep mean 0 and variance 1."""
    x = e.to_float(x)
    scale, alpha = (constant_of(each, x.dtype) for each in SELU)
    return scale * e.where(x > 0, x, alpha * _expm1_below(x))


@composite
@in_float32
def sigmoid(x: Node) -> Node:
    """1 / (1 + exp(-x))."""
    return e.sigmoid(x)


@composite
@in_float32
def hsigmoid(x: Node) -> Node:
    """relu6(x + 3) / 6."""
    x = e.to_float(x)
    return _relu6(x + 3) / constant_like(6, x)


@composite
@in_float32
def hswish(x: Node) -> Node:
    """x relu6(x + 3) / 6."""
    x = e.to_float(x)
    above = e.where(x <= -3, constant_like(0, x), x)  # an infinite one times 0 is no number
    return above * (_relu6(x + 3) / constant_like(6, x))


hardsigmoid, hardswish = hsigmoid, hswish


@composite
@in_float32
def softplus(inp: Node, beta: Number = 1.0) -> Node:
    """log(1 + exp(beta x)) / beta, exact in both tails."""
    if is_number(beta, 1):
        return softplus_of(inp)
    inp = e.to_float(inp)
    scale = number_in(beta, inp.dtype)
    scaled = inp * scale
    below = scaled <= 0.0
    tail = e.log1p(e.exp(e.where(below, scaled, -scaled))) / scale
    return e.where(below, constant_like(0, inp), inp) + tail  # not scaled: that may overflow


@composite
def threshold(x: Node, threshold: Number, value: Number) -> Node:
    """x where it is above `threshold`, else `value`."""
    x = e.to_float(x)
    return e.where(x > number_in(threshold, x.dtype), x, number_in(value, x.dtype))


@composite
@in_float32
def logsigmoid(inp: Node) -> Node:
    """log(sigmoid(x)), exact in both tails."""
    return -softplus_of(-e.to_float(inp))


@composite
@in_float32
def silu(x: Node) -> Node:
    """x sigmoid(x)."""
    x = e.to_float(x)
    near = _within(x, FAR)
    return e.where(x >= FAR, x, near * e.sigmoid(near))


def _within(x: Node, bound: float) -> Node:
    """x, and 0 where it is not nearer to 0 than `bound`: infinite ones times 0 are no numbers."""
    return e.where(e.abs(x) >= bound, constant_like(0, x), x)


swish = silu


@composite
@in_float32
def mish(x: Node) -> Node:
    """x tanh(log(1 + exp(x)))."""
    # The second factor is (u^2 + 2 u) / (u^2 + 2 u + 2) where u = exp(x), or, divided by u^2,
    # (1 + 2 v) / (1 + 2 v + 2 v^2) where v = exp(-x): one exponential, which does not overflow.
    x = e.to_float(x)
    near = _within(x, FAR)
    below = near <= 0.0
    small = e.exp(e.where(below, near, -near))
    upper = e.where(below, small * (small + 2.0), 1.0 + 2.0 * small)
    rest = e.where(below, constant_like(1, x), small * small)
    return e.where(x >= FAR, x, near * (upper / (upper + 2.0 * rest)))


@composite
@in_float32
def gelu(x: Node, approximate: str = "none") -> Node:
    """x times the normal distribution function: x (1 + erf(x / sqrt(2))) / 2.

    With `approximate="tanh"`: x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))) / 2.
    """
    if approximate not in ("none", "tanh"):
        raise ValueError(located(f"gelu: expected none or tanh, found {approximate!r}"))
    x = e.to_float(x)
    if approximate == "none":
        near = _within(x, FLAT)
        share = 0.5 * (1.0 + e.erf(near * constant_of(math.sqrt(0.5), x.dtype)))
        return e.where(x >= FLAT, x, near * share)
    near = _within(x, FLAT)
    cubic = near + constant_of(0.044715, x.dtype) * near * near * near
    share = e.sigmoid(constant_of(2 * math.sqrt(2 / math.pi), x.dtype) * cubic)
    return e.where(x >= FLAT, x, near * share)


@composite
@in_float32
def softsign(x: Node) -> Node:
    """x / (1 + |x|); far from 0 as 1 - 1 / (1 + |x|), whose derivatives do not cancel."""
    x = e.to_float(x)
    size = e.abs(x)
    near, side = size < 1.0, e.sign(x)
    part = e.where(near, x, -side) / (1.0 + size)  # one division for both
    return e.where(near, part, side + part)


@composite
@in_float32
def tanhshrink(x: Node) -> Node:
    """x - tanh(x); near 0 as the series of x^3 / 3, as the difference cancels."""
    x = e.to_float(x)
    middle = e.abs(x) < 0.5
    near = e.where(middle, x, constant_like(0, x))
    squared = near * near
    far = e.where(middle, constant_like(1, x), x)
    return e.where(middle, near * squared * polynomial(squared, TANHSHRINK), far - e.tanh(far))


def _tangent_series(count: int) -> tuple[float, ...]:
    """The coefficients of x^3, x^5, ... in x - tanh(x), from tanh' = 1 - tanh^2."""
    found = [Fraction(1)]
    for k in range(1, count + 1):
        products = sum((found[i] * found[k - 1 - i] for i in range(k)), Fraction(0))
        found.append(-products / (2 * k + 1))
    return tuple(-float(each) for each in found[1:])


TANHSHRINK = _tangent_series(18)


@composite
@in_float32
def softshrink(x: Node, lambd: Number = 0.5) -> Node:
    """x brought nearer to 0 by `lambd`; where it is not farther away, 0 with the derivative 0."""
    x = e.to_float(x)
    bound = number_in(lambd, x.dtype)
    lower = e.where(x < -bound, x + bound, x * constant_like(0, x))
    return e.where(x > bound, x - bound, lower)


@composite
def hardshrink(x: Node, lambd: Number = 0.5) -> Node:
    """x, and where it is not farther than `lambd` from 0, 0 with the derivative 0."""
    x = e.to_float(x)
    return e.where(e.abs(x) <= number_in(lambd, x.dtype), constant_like(0, x), x)


@composite
@in_float32
def glu(inp: Node, axis: int = -1) -> Node:
    """The first half along `axis`, times the sigmoid of the second."""
    axis = normalized_axis("glu", axis, inp.ndim)
    extent = inp.shape[axis]
    if extent % 2:
        found = f"expected an even number of elements along axis {axis}, found {extent}"
        raise ShapeError(located(f"glu: {found}"))
    half = extent // 2
    return slice_(inp, axis, 0, half) * e.sigmoid(slice_(inp, axis, half, None))


# ---- softmax

Axis = int | tuple[int, ...] | None


def shifted(x: Node, axis: Axis) -> tuple[Node, Node, tuple[int, ...]]:
    """x less its maximum along `axis`, that maximum, and the axes.

    The maximum counts as a constant. What is formed of both as softmax is does not depend on it, so
    the derivatives are right to any order. An infinite one shifts nothing. Half types are computed
    in float32, as what is summed of them may be more than they can hold.
    """
    x = e.to_float(x)
    x = cast_to(x, computing(x.dtype))
    axes = normalized_axes("softmax", axis, x.ndim)
    if not math.prod(x.shape[each] for each in axes):  # empty lines have no maximum
        kept = tuple(1 if i in axes else extent for i, extent in enumerate(x.shape))
        return x, full(0, kept, x.dtype), axes
    largest = node(markers.stop, (reduction.max(x, axes),))
    infinite = e.eq(e.abs(largest), constant_of(math.inf, x.dtype))
    top = e.where(infinite, constant_like(0, x), largest)
    return x - top, top, axes


def _class_axis(x: Node, axis: Axis) -> Axis:
    """The axis of the classes where none is given, as in MegEngine."""
    return (0 if x.ndim in (0, 1, 3) else 1) if axis is None else axis


def _softmax(x: Node, axis: Axis) -> Node:
    below, _, axes = shifted(x, axis)
    weights = e.exp(below)
    return cast_to(weights / reduction.sum(weights, axes), e.to_float(x).dtype)


@composite
def softmax(inp: Node, axis: int | tuple[int, ...] | None = None) -> Node:
    """exp(x) / sum(exp(x)) along `axis`, without overflow.

    Without `axis`: along axis 0 of tensors with 1 or 3 axes, along axis 1 of others.
    """
    return _softmax(inp, _class_axis(inp, axis))


@composite
def softmin(inp: Node, axis: int | tuple[int, ...] | None = None) -> Node:
    """softmax(-x)."""
    return _softmax(-e.to_float(inp), _class_axis(inp, axis))


@composite
def logsoftmax(inp: Node, axis: int | tuple[int, ...] | None = None) -> Node:
    """log(softmax(x)) along `axis`, without overflow or cancellation; the axis is softmax's."""
    below, _, axes = shifted(inp, _class_axis(inp, axis))
    made = below - e.log(reduction.sum(e.exp(below), axes))
    return cast_to(made, e.to_float(inp).dtype)


log_softmax = logsoftmax
