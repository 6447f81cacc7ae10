"""Losses of probabilities. `reduction` is "mean", "sum" or "none"."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from typing import Any, NamedTuple

from ..tracer.composite import NumberTo1, composite, in_float32
from ..tracer.dtypes import DType, float64, promote
from ..tracer.errors import ShapeError, located
from ..tracer.interpret import computing
from ..tracer.ir import Node
from ..tracer.methods import mean_of, without_axes
from ..tracer.ops import elementwise as e
from ..tracer.ops import reduction as reductions
from ..tracer.ops.kinds import cast_to, normalized_axis
from ..tracer.ops.movement import broadcast, reshape
from ..tracer.ops.sources import constant_like, constant_of, is_number, number_in
from .activation import shifted
from .elementwise import softplus_of, xlogy_of
from .indexing import is_at

__all__ = [
    "binary_cross_entropy",
    "binary_cross_entropy_with_logits",
    "cross_entropy",
    "kl_div",
    "nll_loss",
]


def reduced(loss: Node, reduction: str, weight: Node | None = None) -> Node:
    """The mean, the sum or all of `loss`; a weighted mean is divided by the sum of the weights."""
    axes = tuple(range(loss.ndim))
    if reduction == "mean" and weight is None:
        return mean_of(loss, None, keepdims=False)
    if reduction in ("mean", "sum"):
        total = without_axes(reductions.sum(loss, axes), axes)
        return total if weight is None or reduction == "sum" else _divided(total, weight)
    if reduction != "none":
        found = f"expected mean, sum or none, found {reduction!r}"
        raise ValueError(located(f"reduction: {found}"))
    return loss


def _divided(total: Node, weight: Node) -> Node:
    """`total` by the sum of the weights; by 1 where that is 0."""
    axes = tuple(range(weight.ndim))
    count = without_axes(reductions.sum(weight, axes), axes)
    nothing = e.eq(count, constant_like(0, count))
    return total / e.where(nothing, constant_like(1, count), count)


def widened(*operands: Node | None) -> tuple[Any, ...]:
    """The operands in the types in which they are computed, and the type of what is made of them.

    What half types would not hold on the way, sums of exponentials or of weights, float32 does.
    """
    given = [each for each in operands if each is not None]
    wide = [each if each is None else cast_to(each, computing(each.dtype)) for each in operands]
    return (*wide, reduce(promote, [each.dtype for each in given]))


def narrowed(made: Node, kind: DType) -> Node:
    """`made` in `kind`, where that is the half type of all operands."""
    return cast_to(made, kind) if computing(kind) is not kind else made


# ---- classes


def _axis(name: str, pred: Node, axis: int) -> int:
    """The axis of the classes; a single line has but one axis."""
    return normalized_axis(name, 0 if pred.ndim == 1 and axis == 1 else axis, pred.ndim)


def _check_label(name: str, pred: Node, label: Node, axis: int) -> None:
    expected = (*pred.shape[:axis], *pred.shape[axis + 1 :])
    if label.shape not in (expected, (*pred.shape[:axis], 1, *pred.shape[axis + 1 :])):
        found = f"expected labels of shape {list(expected)}, found {list(label.shape)}"
        found += (
            f" beside predictions of shape {list(pred.shape)}, with the classes along axis {axis}"
        )
        raise ShapeError(located(f"{name}: {found}"))


def _class_weights(name: str, weight: Node, pred: Node, axis: int) -> Node:
    classes = pred.shape[axis]
    if weight.shape != (classes,):
        found = f"expected a weight for each of {classes} classes, found {list(weight.shape)}"
        raise ShapeError(located(f"{name}: {found}"))
    return reshape(weight, tuple(classes if i == axis else 1 for i in range(pred.ndim)))


def _picked(x: Node, label: Node, axis: int) -> Node:
    """The element of each line of x that its label names, by comparison: it fuses into the row."""
    here = is_at(label, x.shape, axis, negative=False)
    return reductions.sum(e.where(here, x, constant_like(0, x)), (axis,))


def _valid(label: Node, ignore_index: int | None) -> tuple[Node, Node | None]:
    """Labels that name a class, and which of them count (None: all)."""
    if ignore_index is None:
        return label, None
    valid = e.ne(label, constant_of(ignore_index, label.dtype))
    return e.where(valid, label, constant_like(0, label)), valid


class _Logs(NamedTuple):
    """Logarithms of probabilities: `below` less `total`, or, without that, `below` itself."""

    below: Node
    total: Node | None


def _logs(pred: Node, axis: int, with_logits: bool) -> _Logs:
    if not with_logits:
        return _Logs(e.log(pred), None)
    below, _, axes = shifted(pred, axis)
    return _Logs(below, e.log(reductions.sum(e.exp(below), axes)))


def _loss(logs: _Logs, label: Node, axis: int, smooth: Node | None) -> Node:
    """-log of the probability of each label, spread over all classes by `smooth`."""
    chosen = _picked(logs.below, label, axis)
    if smooth is not None:
        kept, lost = _shares(smooth, chosen.dtype)
        chosen = chosen * kept + mean_of(logs.below, axis) * lost
    return -chosen if logs.total is None else logs.total - chosen


def _weighted(
    logs: _Logs, share: Node, label: Node, axis: int, weight: Node, smooth: Node | None
) -> Node:
    """The same with a factor for each class; that of the label is `share`."""
    loss = share * _loss(logs, label, axis, None)
    if smooth is None:
        return loss
    every = logs.below if logs.total is None else logs.below - logs.total
    spread = mean_of(every * weight, axis)
    kept, lost = _shares(smooth, loss.dtype)
    return kept * loss - lost * spread


def _of_lines(
    logs: _Logs,
    label: Node,
    axis: int,
    weight: Node | None,
    valid: Node | None,
    smooth: Node | None,
) -> tuple[Node, Node | None]:
    """The loss of each line, and how much each counts (None: all alike)."""
    share = None
    if weight is None:
        loss = _loss(logs, label, axis, smooth)
    else:
        share = _picked(broadcast(weight, logs.below.shape), label, axis)
        loss = _weighted(logs, share, label, axis, weight, smooth)
    if valid is not None:
        kept, nothing = reshape(valid, loss.shape), constant_like(0, loss)
        share = e.where(kept, constant_like(1, loss) if share is None else share, nothing)
        loss = e.where(kept, loss, nothing)
    return loss, share


def _shares(smooth: Node, dtype: DType) -> tuple[Node, Node]:
    """1 - smooth and smooth, rounded once."""
    exact = number_in(smooth, float64)
    return cast_to(1.0 - exact, dtype), number_in(smooth, dtype)


def _soft(logs: Node, label: Node, axis: int, weight: Node | None, smooth: Node | None) -> Node:
    """-sum(label * logs) along `axis`, for labels that are probabilities."""
    if label.shape != logs.shape:
        found = f"expected probabilities of shape {list(logs.shape)}, found {list(label.shape)}"
        raise ShapeError(located(f"cross_entropy: {found}"))
    if smooth is not None:
        uniform = number_in(smooth, float64) / constant_of(logs.shape[axis], float64)
        label = label * _shares(smooth, label.dtype)[0] + cast_to(uniform, label.dtype)
    never = e.bit_and(e.eq(label, constant_like(0, label)), e.isinf(logs))
    each = label * e.where(never, constant_like(0, logs), logs)
    return -reductions.sum(each if weight is None else each * weight, (axis,))


@composite
def cross_entropy(
    pred: Node,
    label: Node,
    axis: int = 1,
    with_logits: bool = True,
    label_smooth: NumberTo1 = 0.0,
    reduction: str = "mean",
    ignore_index: int | None = None,
    weight: Node | None = None,
) -> Node:
    """-log of the probability that `pred` gives to the class `label` along `axis`.

    `pred` are logits, or probabilities where `with_logits` is False. Labels are integers, or
    probabilities of all classes in the shape of `pred`. `label_smooth` spreads that share of the
    label evenly over all classes. `weight` has a factor for each class; the mean over integer
    labels is divided by the factors of theirs. Lines with the label `ignore_index` do not count.
    """
    smooth = None if is_number(label_smooth, 0) else label_smooth
    axis = _axis("cross_entropy", pred, axis)
    soft = label if label.dtype.is_float and label.ndim == pred.ndim else None
    pred, weight, soft, kind = widened(pred, weight, soft)
    w = None if weight is None else _class_weights("cross_entropy", weight, pred, axis)
    if soft is not None:
        logs = _logs(pred, axis, with_logits)
        every = logs.below if logs.total is None else logs.below - logs.total
        loss = without_axes(_soft(every, soft, axis, w, smooth), (axis,))
        return narrowed(reduced(loss, reduction), kind)
    _check_label("cross_entropy", pred, label, axis)
    label, valid = _valid(label, ignore_index)
    logs = _logs(pred, axis, with_logits)
    loss = _lines_reduced(_of_lines(logs, label, axis, w, valid, smooth), axis, reduction)
    return narrowed(loss, kind)


def _lines_reduced(found: tuple[Node, Node | None], axis: int, reduction: str) -> Node:
    loss, share = found
    return reduced(without_axes(loss, (axis,)), reduction, share)


@composite
def nll_loss(
    pred: Node,
    label: Node,
    axis: int = 1,
    reduction: str = "mean",
    weight: Node | None = None,
    ignore_index: int | None = None,
) -> Node:
    """-pred at the class `label` along `axis`; `pred` are logarithms of probabilities.

    `weight` and `ignore_index` are those of cross_entropy.
    """
    axis = _axis("nll_loss", pred, axis)
    pred, weight, kind = widened(pred, weight)
    w = None if weight is None else _class_weights("nll_loss", weight, pred, axis)
    _check_label("nll_loss", pred, label, axis)
    label, valid = _valid(label, ignore_index)
    found = _of_lines(_Logs(pred, None), label, axis, w, valid, None)
    return narrowed(_lines_reduced(found, axis, reduction), kind)


# ---- two classes, and distributions


@composite
@in_float32
def binary_cross_entropy(
    pred: Node,
    label: Node,
    with_logits: bool = True,
    reduction: str = "mean",
    weight: Node | None = None,
    pos_weight: Node | None = None,
) -> Node:
    """-label log(p) - (1 - label) log(1 - p); p = sigmoid(pred), or pred without logits.

    `weight` multiplies the loss, `pos_weight` what positive labels add to it.
    """
    function = _of_logits if with_logits else _of_probabilities
    return _binary(function, pred, label, weight, pos_weight, reduction)


@composite
@in_float32
def binary_cross_entropy_with_logits(
    pred: Node,
    label: Node,
    weight: Node | None = None,
    pos_weight: Node | None = None,
    reduction: str = "mean",
) -> Node:
    """`binary_cross_entropy` of logits, under PyTorch's name."""
    return _binary(_of_logits, pred, label, weight, pos_weight, reduction)


def _binary(
    function: Callable[[Node, Node, Node | None], Node],
    pred: Node,
    label: Node,
    weight: Node | None,
    pos_weight: Node | None,
    reduction: str,
) -> Node:
    pred = e.to_float(pred)
    label = cast_to(label, pred.dtype) if not label.dtype.is_float else label
    loss = function(pred, label, pos_weight)
    return reduced(loss if weight is None else loss * weight, reduction)


def _of_logits(x: Node, label: Node, pos_weight: Node | None) -> Node:
    """(1 - label) x + (1 + (pos_weight - 1) label) softplus(-x), without cancellation."""
    if pos_weight is not None:
        return (1.0 - label) * x + (1.0 + (pos_weight - 1.0) * label) * softplus_of(-x)
    below = x <= 0.0
    positive = e.where(below, constant_like(0, x), x)
    return positive - x * label + e.log1p(e.exp(e.where(below, x, -x)))


def _of_probabilities(p: Node, label: Node, pos_weight: Node | None) -> Node:
    positive = xlogy_of(label, p)
    if pos_weight is not None:
        positive = pos_weight * positive
    none, one = constant_like(0, p), constant_like(1, p)
    vanishes = e.bit_and(e.eq(label, constant_like(1, label)), e.eq(p, one))
    return -(positive + (1.0 - label) * e.log1p(-e.where(vanishes, none, p)))


@composite
def kl_div(pred: Node, label: Node, reduction: str = "mean", log_target: bool = False) -> Node:
    """label (log(label) - pred): how far the distribution exp(pred) is from `label`.

    `pred` are logarithms of probabilities; with `log_target` so is `label`. "batchmean" divides the
    sum by the extent of the first axis.
    """
    pred, label, kind = widened(e.to_float(pred), e.to_float(label))
    certain = e.exp(label) * label if log_target else xlogy_of(label, label)
    loss = certain - (e.exp(label) if log_target else label) * pred
    if reduction != "batchmean":
        return narrowed(reduced(loss, reduction), kind)
    if not loss.ndim:
        raise ShapeError(located("kl_div: batchmean needs at least one axis"))
    total = reduced(loss, "sum")
    return narrowed(total / constant_of(loss.shape[0], total.dtype), kind)
