"""Losses. `reduction` is "mean", "sum" or "none"."""

from __future__ import annotations

from ..tracer.composite import composite
from ..tracer.errors import ShapeError, located
from ..tracer.interpret import computing
from ..tracer.ir import Node
from ..tracer.methods import without_axes
from ..tracer.ops import elementwise as e
from ..tracer.ops import reduction as reductions
from ..tracer.ops.kinds import cast_to, normalized_axis
from ..tracer.ops.sources import constant_like, constant_of
from .entropy import binary_cross_entropy, cross_entropy, kl_div, nll_loss, reduced
from .reduction import norm_of

__all__ = [
    "binary_cross_entropy",
    "cosine_similarity",
    "cross_entropy",
    "hinge_loss",
    "huber_loss",
    "kl_div",
    "l1_loss",
    "mse_loss",
    "nll_loss",
    "smooth_l1_loss",
    "square_loss",
    "triplet_margin_loss",
]


@composite
def square_loss(pred: Node, label: Node, reduction: str = "mean") -> Node:
    """(pred - label)^2."""
    distance = e.to_float(pred) - label
    return reduced(distance * distance, reduction)


mse_loss = square_loss


@composite
def l1_loss(pred: Node, label: Node, reduction: str = "mean") -> Node:
    """|pred - label|."""
    return reduced(e.abs(e.to_float(pred) - label), reduction)


@composite
def smooth_l1_loss(pred: Node, label: Node, beta: float = 1.0, reduction: str = "mean") -> Node:
    """d^2 / (2 beta) where d = |pred - label| is below `beta`, else d - beta / 2."""
    if beta < 0:
        raise ValueError(located(f"smooth_l1_loss: expected beta from 0 on, found {beta}"))
    distance = e.to_float(pred) - label
    if beta == 0:
        return reduced(e.abs(distance), reduction)
    scaled = constant_of(beta, distance.dtype)
    return reduced(_huber(distance, scaled) / scaled, reduction)


@composite
def huber_loss(pred: Node, label: Node, delta: float = 1.0, reduction: str = "mean") -> Node:
    """d^2 / 2 where d = |pred - label| is below `delta`, else delta (d - delta / 2)."""
    if delta <= 0:
        raise ValueError(located(f"huber_loss: expected delta above 0, found {delta}"))
    distance = e.to_float(pred) - label
    return reduced(_huber(distance, constant_of(delta, distance.dtype)), reduction)


def _huber(distance: Node, delta: Node) -> Node:
    length = e.abs(distance)
    near = 0.5 * distance * distance
    return e.where(length < delta, near, delta * (length - 0.5 * delta))


@composite
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
def triplet_margin_loss(
    anchor: Node,
    positive: Node,
    negative: Node,
    margin: float = 1.0,
    p: float = 2.0,
    reduction: str = "mean",
) -> Node:
    """max(0, |anchor - positive| - |anchor - negative| + margin), in p-norms of the last axis."""
    near, far = (e.to_float(anchor) - each for each in (positive, negative))
    axis = normalized_axis("triplet_margin_loss", -1, near.ndim)
    gap = norm_of(near, p, axis, False) - norm_of(far, p, axis, False)
    loss = gap + constant_of(margin, gap.dtype)
    made = reduced(e.where(loss <= 0, constant_like(0, loss), loss), reduction)
    return cast_to(made, near.dtype)


@composite
def cosine_similarity(x: Node, y: Node, axis: int = 1, eps: float = 1e-8) -> Node:
    """x . y / (|x| |y|) along `axis`; lengths below `eps` count as that."""
    x, y = e.to_float(x), e.to_float(y)
    if not x.ndim or not y.ndim:
        raise ShapeError(located("cosine_similarity: expected at least one axis"))
    product = e.mul(x, y)
    axis = normalized_axis("cosine_similarity", axis, product.ndim)
    wide = cast_to(product, computing(product.dtype))
    total = without_axes(reductions.sum(wide, (axis,)), (axis,))
    for each in (x, y):
        length = norm_of(each, 2, axis - product.ndim, False)
        least = constant_of(eps, length.dtype)
        total = total / e.where(length < least, least, length)
    return cast_to(total, product.dtype)
