"""What networks put between their layers."""

from __future__ import annotations

import math

from ..tracer.composite import composite
from ..tracer.ir import Node, node
from ..tracer.ops import elementwise as e
from ..tracer.ops import markers, reduction
from ..tracer.ops.kinds import normalized_axes
from ..tracer.ops.sources import constant_like, constant_of
from .elementwise import softplus_of

__all__ = [
    "gelu",
    "hsigmoid",
    "hswish",
    "leaky_relu",
    "log_softmax",
    "logsigmoid",
    "logsoftmax",
    "prelu",
    "relu",
    "relu6",
    "sigmoid",
    "silu",
    "softmax",
    "softplus",
]


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
def leaky_relu(x: Node, negative_slope: Node = 0.01) -> Node:  # type: ignore[assignment]  # a number
    """x, times `negative_slope` where it is negative; the derivative at 0 is 1."""
    return e.where(x < 0, x * negative_slope, x)


@composite
def prelu(x: Node, weight: Node) -> Node:
    """x, times `weight` where it is negative; the derivative at 0 is 1."""
    return e.where(x < 0, x * weight, x)


@composite
def sigmoid(x: Node) -> Node:
    """1 / (1 + exp(-x))."""
    return e.sigmoid(x)


@composite
def hsigmoid(x: Node) -> Node:
    """relu6(x + 3) / 6."""
    x = e.to_float(x)
    return _relu6(x + 3) / constant_like(6, x)


@composite
def hswish(x: Node) -> Node:
    """x relu6(x + 3) / 6."""
    x = e.to_float(x)
    return x * _relu6(x + 3) / constant_like(6, x)


@composite
def softplus(x: Node) -> Node:
    """log(1 + exp(x)), exact in both tails."""
    return softplus_of(x)


@composite
def logsigmoid(x: Node) -> Node:
    """log(sigmoid(x)), exact in both tails."""
    return -softplus_of(-x)


@composite
def silu(x: Node) -> Node:
    """x sigmoid(x)."""
    return x * e.sigmoid(x)


@composite
def gelu(x: Node) -> Node:
    """x times the normal distribution function: x (1 + erf(x / sqrt(2))) / 2."""
    x = e.to_float(x)
    return x * (0.5 * (1.0 + e.erf(x * constant_of(math.sqrt(0.5), x.dtype))))


def shifted(x: Node, axis: int | tuple[int, ...] | None) -> tuple[Node, Node, tuple[int, ...]]:
    """x less its maximum along `axis`, that maximum, and the axes.

    The maximum counts as a constant. What is formed of both as softmax is does not depend on it, so
    the derivatives are right to any order. An infinite one shifts nothing.
    """
    x = e.to_float(x)
    axes = normalized_axes("softmax", axis, x.ndim)
    largest = node(markers.stop, (reduction.max(x, axes),))
    infinite = e.eq(e.abs(largest), constant_of(math.inf, x.dtype))
    top = e.where(infinite, constant_like(0, x), largest)
    return x - top, top, axes


@composite
def softmax(x: Node, axis: int = -1) -> Node:
    """exp(x) / sum(exp(x)) along `axis`, without overflow."""
    below, _, axes = shifted(x, axis)
    weights = e.exp(below)
    return weights / reduction.sum(weights, axes)


@composite
def logsoftmax(x: Node, axis: int = -1) -> Node:
    """log(softmax(x)) along `axis`, without overflow or cancellation."""
    below, _, axes = shifted(x, axis)
    return below - e.log(reduction.sum(e.exp(below), axes))


log_softmax = logsoftmax
