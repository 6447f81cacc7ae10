"""Losses. `reduction` is "mean", "sum" or "none"."""

from __future__ import annotations

import math

from ..tracer.composite import Number, NumberAbove0, NumberFrom0, composite, in_float32
from ..tracer.errors import ShapeError, located
from ..tracer.ir import Node, node
from ..tracer.methods import without_axes
from ..tracer.ops import elementwise as e
from ..tracer.ops import markers
from ..tracer.ops import reduction as reductions
from ..tracer.ops.kinds import cast_to, normalized_axis
from ..tracer.ops.sources import constant_like, constant_of, is_number, is_plain, number_in
from .elementwise import softplus_of
from .entropy import (
    binary_cross_entropy,
    binary_cross_entropy_with_logits,
    cross_entropy,
    kl_div,
    narrowed,
    nll_loss,
    reduced,
    widened,
)
from .reduction import norm_of, unit_of

__all__ = [
    "binary_cross_entropy",
    "binary_cross_entropy_with_logits",
    "cosine_embedding_loss",
    "cosine_similarity",
    "cross_entropy",
    "gaussian_nll_loss",
    "hinge_embedding_loss",
    "hinge_loss",
    "huber_loss",
    "kl_div",
    "l1_loss",
    "margin_ranking_loss",
    "mse_loss",
    "nll_loss",
    "poisson_nll_loss",
    "smooth_l1_loss",
    "soft_margin_loss",
    "square_loss",
    "triplet_margin_loss",
]


@composite
@in_float32
def square_loss(pred: Node, label: Node, reduction: str = "mean") -> Node:
    """(pred - label)^2."""
    distance = e.to_float(pred) - label
    return reduced(distance * distance, reduction)


mse_loss = square_loss


@composite
@in_float32
def l1_loss(pred: Node, label: Node, reduction: str = "mean") -> Node:
    """|pred - label|."""
    return reduced(e.abs(e.to_float(pred) - label), reduction)


@composite
@in_float32
def smooth_l1_loss(
    pred: Node, label: Node, beta: NumberFrom0 = 1.0, reduction: str = "mean"
) -> Node:
    """d^2 / (2 beta) where d = |pred - label| is below `beta`, else d - beta / 2."""
    distance = e.to_float(pred) - label
    if is_number(beta, 0):
        return reduced(e.abs(distance), reduction)
    scaled = number_in(beta, distance.dtype)
    if is_plain(beta):  # and not 0
        return reduced(_smooth(distance, scaled), reduction)
    nothing = e.eq(scaled, constant_like(0, scaled))
    safe = e.where(nothing, constant_like(1, scaled), scaled)
    return reduced(e.where(nothing, e.abs(distance), _smooth(distance, safe)), reduction)


def _smooth(distance: Node, beta: Node) -> Node:
    """`_huber` divided by `beta`, without products that overflow."""
    length = e.abs(distance)
    below = length < beta
    near, reached = _apart(distance, below), e.where(below, constant_like(0, beta), beta)
    return e.where(below, 0.5 * near * (near / beta), length - 0.5 * reached)


def _apart(distance: Node, below: Node) -> Node:
    """What is squared; 0 where it is not, as 0 times an infinite one is no derivative."""
    return e.where(below, distance, constant_like(0, distance))


@composite
@in_float32
def huber_loss(pred: Node, label: Node, delta: NumberAbove0 = 1.0, reduction: str = "mean") -> Node:
    """d^2 / 2 where d = |pred - label| is below `delta`, else delta (d - delta / 2)."""
    distance = e.to_float(pred) - label
    return reduced(_huber(distance, number_in(delta, distance.dtype)), reduction)


def _huber(distance: Node, delta: Node) -> Node:
    """A `delta` that is not reached is taken out: 0 times an infinite one is no derivative."""
    length = e.abs(distance)
    below = length < delta
    reached = e.where(below, constant_like(0, delta), delta)
    near = _apart(distance, below)
    return e.where(below, 0.5 * near * near, reached * (length - 0.5 * reached))


@composite
@in_float32
def hinge_loss(pred: Node, label: Node, norm: str = "L1", reduction: str = "mean") -> Node:
    """max(0, 1 - pred * label), summed along axis 1, for labels -1 and 1.

    With `norm="L2"`, its square.
    """
    if norm not in ("L1", "L2"):
        raise ValueError(located(f"hinge_loss: expected L1 or L2, found {norm!r}"))
    axis = normalized_axis("hinge_loss", 1, pred.ndim)
    margin = 1.0 - e.mul(e.to_float(pred), label)
    loss = e.where(margin <= 0, constant_like(0, margin), margin)
    loss = loss * loss if norm == "L2" else loss
    return reduced(without_axes(reductions.sum(loss, (axis,)), (axis,)), reduction)


@composite
@in_float32
def triplet_margin_loss(
    anchor: Node,
    positive: Node,
    negative: Node,
    margin: Number = 1.0,
    p: float = 2.0,
    reduction: str = "mean",
) -> Node:
    """max(0, |anchor - positive| - |anchor - negative| + margin), in p-norms of the last axis."""
    near, far = (e.to_float(anchor) - each for each in (positive, negative))
    axis = normalized_axis("triplet_margin_loss", -1, near.ndim)
    gap = norm_of(near, p, axis, False) - norm_of(far, p, axis, False)
    loss = gap + number_in(margin, gap.dtype)
    made = reduced(e.where(loss <= 0, constant_like(0, loss), loss), reduction)
    return cast_to(made, near.dtype)


def _positive(x: Node) -> Node:
    return e.where(x <= 0, constant_like(0, x), x)


def _similarity(name: str, x: Node, y: Node, axis: int, eps: float) -> Node:
    x, y, kind = widened(e.to_float(x), e.to_float(y))
    if not x.ndim or not y.ndim:
        raise ShapeError(located(f"{name}: expected at least one axis"))
    ndim = max(x.ndim, y.ndim)
    axis = normalized_axis(name, axis, ndim)
    both = [unit_of(each, 2, axis - ndim, eps) for each in (x, y)]  # products may overflow
    product = e.mul(*both)
    return narrowed(without_axes(reductions.sum(product, (axis,)), (axis,)), kind)


@composite
def cosine_similarity(x: Node, y: Node, axis: int = 1, eps: float = 1e-8) -> Node:
    """x . y / (|x| |y|) along `axis`; lengths below `eps` count as that."""
    return _similarity("cosine_similarity", x, y, axis, eps)


@composite
@in_float32
def cosine_embedding_loss(
    x: Node, y: Node, label: Node, margin: Number = 0.0, reduction: str = "mean"
) -> Node:
    """1 - cos(x, y) along the last axis where `label` is 1, max(0, cos(x, y) - margin) where -1."""
    similarity = _similarity("cosine_embedding_loss", x, y, -1, 1e-8)
    far = _positive(similarity - number_in(margin, similarity.dtype))
    return reduced(e.where(label > 0, 1.0 - similarity, far), reduction)


@composite
@in_float32
def margin_ranking_loss(
    x: Node, y: Node, label: Node, margin: Number = 0.0, reduction: str = "mean"
) -> Node:
    """max(0, -label (x - y) + margin): `label` is 1 where x should be the larger one, else -1."""
    distance = e.to_float(x) - y
    loss = number_in(margin, distance.dtype) - label * distance
    return reduced(_positive(loss), reduction)


@composite
@in_float32
def hinge_embedding_loss(
    pred: Node, label: Node, margin: Number = 1.0, reduction: str = "mean"
) -> Node:
    """`pred` where `label` is 1, max(0, margin - pred) where it is -1."""
    pred = e.to_float(pred)
    far = _positive(number_in(margin, pred.dtype) - pred)
    return reduced(e.where(label > 0, pred, far), reduction)


@composite
@in_float32
def soft_margin_loss(pred: Node, label: Node, reduction: str = "mean") -> Node:
    """log(1 + exp(-label pred)), for labels -1 and 1."""
    return reduced(softplus_of(-(label * e.to_float(pred))), reduction)


@composite
def gaussian_nll_loss(
    pred: Node,
    label: Node,
    variance: Node,
    full: bool = False,
    eps: float = 1e-6,
    reduction: str = "mean",
) -> Node:
    """(log(v) + (pred - label)^2 / v) / 2, where v = `variance`, or `eps` where it is smaller.

    `full` adds log(2 pi) / 2. `eps` counts as a constant.
    """
    pred, label, variance, kind = widened(e.to_float(pred), label, e.to_float(variance))
    distance = pred - label
    least = constant_of(eps, variance.dtype)
    v = variance + node(markers.stop, (_positive(least - variance),))
    loss = 0.5 * e.log(v) + 0.5 * distance * (distance / v)
    half = constant_of(0.5 * math.log(2 * math.pi), loss.dtype)
    return narrowed(reduced(loss + half if full else loss, reduction), kind)


@composite
def poisson_nll_loss(
    pred: Node, label: Node, log_input: bool = True, eps: float = 1e-8, reduction: str = "mean"
) -> Node:
    """exp(pred) - label pred, or pred - label log(pred + eps) without `log_input`."""
    pred, label, kind = widened(e.to_float(pred), label)
    if log_input:
        return narrowed(reduced(e.exp(pred) - label * pred, reduction), kind)
    loss = pred - label * e.log(pred + constant_of(eps, pred.dtype))
    return narrowed(reduced(loss, reduction), kind)
