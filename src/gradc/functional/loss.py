"""Losses. `reduction` is "mean", "sum" or "none"."""

from __future__ import annotations

from ..tracer.composite import composite
from ..tracer.errors import ShapeError, located
from ..tracer.ir import Node
from ..tracer.methods import mean_of, without_axes
from ..tracer.ops import elementwise as e
from ..tracer.ops import reduction as reductions
from ..tracer.ops.kinds import cast_to, normalized_axis
from ..tracer.ops.movement import reshape
from ..tracer.ops.sources import constant_like, constant_of
from .activation import shifted
from .indexing import is_at

__all__ = ["binary_cross_entropy", "cross_entropy", "l1_loss", "nll_loss", "square_loss"]


def _reduced(loss: Node, reduction: str) -> Node:
    if reduction == "mean":
        return mean_of(loss, None, keepdims=False)
    if reduction == "sum":
        total = reductions.sum(loss, tuple(range(loss.ndim)))
        return without_axes(total, tuple(range(loss.ndim)))
    if reduction != "none":
        found = f"expected mean, sum or none, found {reduction!r}"
        raise ValueError(located(f"reduction: {found}"))
    return loss


@composite
def square_loss(pred: Node, label: Node, reduction: str = "mean") -> Node:
    """(pred - label)^2."""
    distance = pred - label
    return _reduced(distance * distance, reduction)


@composite
def l1_loss(pred: Node, label: Node, reduction: str = "mean") -> Node:
    """|pred - label|."""
    return _reduced(e.abs(pred - label), reduction)


def _picked(x: Node, label: Node, axis: int) -> Node:
    """The element of each line of x that its label names, by comparison: it fuses into the row."""
    here = is_at(label, x.shape, axis, negative=False)
    return reductions.sum(e.where(here, x, constant_like(0, x)), (axis,))


def _check_label(name: str, pred: Node, label: Node, axis: int) -> None:
    expected = (*pred.shape[:axis], *pred.shape[axis + 1 :])
    if label.shape not in (expected, (*pred.shape[:axis], 1, *pred.shape[axis + 1 :])):
        found = f"expected labels of shape {list(expected)}, found {list(label.shape)}"
        raise ShapeError(located(f"{name}: {found}"))


@composite
def cross_entropy(
    pred: Node,
    label: Node,
    axis: int = 1,
    with_logits: bool = True,
    label_smooth: float = 0.0,
    reduction: str = "mean",
    ignore_index: int | None = None,
) -> Node:
    """-log of the probability that `pred` gives to the class `label`, an integer, along `axis`.

    `pred` are logits, or probabilities where `with_logits` is False. `label_smooth` spreads that
    share of the label evenly over all classes. Lines with the label `ignore_index` do not count.
    """
    axis = normalized_axis("cross_entropy", axis, pred.ndim)
    _check_label("cross_entropy", pred, label, axis)
    valid = None
    if ignore_index is not None:
        valid = e.ne(label, constant_of(ignore_index, label.dtype))
        label = e.where(valid, label, constant_like(0, label))
    loss = _cross_entropy(pred, label, axis, with_logits, label_smooth)
    return _reduced(loss, reduction) if valid is None else _of_valid(loss, valid, reduction)


def _cross_entropy(pred: Node, label: Node, axis: int, logits: bool, smooth: float) -> Node:
    if logits:
        below, _, axes = shifted(pred, axis)
        total = e.log(reductions.sum(e.exp(below), axes))
    else:
        below, total = e.log(pred), None
    chosen = _picked(below, label, axis)
    if smooth:
        rest = mean_of(below, axis) * constant_of(smooth, below.dtype)
        chosen = chosen * constant_of(1 - smooth, below.dtype) + rest
    return without_axes(-chosen if total is None else total - chosen, (axis,))


def _of_valid(loss: Node, valid: Node, reduction: str) -> Node:
    """The loss over the lines that count; 0 where none does."""
    counts = e.where(reshape(valid, loss.shape), loss, constant_like(0, loss))
    if reduction != "mean":
        return _reduced(counts, reduction)
    number = _reduced(cast_to(valid, loss.dtype), "sum")
    return _reduced(counts, "sum") / e.maximum(number, constant_like(1, number))


@composite
def nll_loss(pred: Node, label: Node, axis: int = 1, reduction: str = "mean") -> Node:
    """-pred at the class `label` along `axis`; `pred` are logarithms of probabilities."""
    axis = normalized_axis("nll_loss", axis, pred.ndim)
    _check_label("nll_loss", pred, label, axis)
    return _reduced(without_axes(-_picked(pred, label, axis), (axis,)), reduction)


@composite
def binary_cross_entropy(
    pred: Node, label: Node, with_logits: bool = True, reduction: str = "mean"
) -> Node:
    """-label log(p) - (1 - label) log(1 - p); p = sigmoid(pred), or pred without logits."""
    pred = e.to_float(pred)
    if not with_logits:
        one = constant_like(1, pred)
        return _reduced(-(label * e.log(pred) + (one - label) * e.log(one - pred)), reduction)
    below = pred <= 0.0
    positive = e.where(below, constant_like(0, pred), pred)
    small = e.where(below, pred, -pred)
    return _reduced(positive - pred * label + e.log1p(e.exp(small)), reduction)
