"""Attention."""

from __future__ import annotations

import math
from typing import Any

from ..generator import GENERATOR
from ..random import number
from ..tracer.composite import Number, composite
from ..tracer.dtypes import bool_, float32, float64, int32
from ..tracer.errors import ShapeError, located
from ..tracer.ir import Node, Shape
from ..tracer.ops import contraction, reduction
from ..tracer.ops import elementwise as e
from ..tracer.ops.kinds import cast_to
from ..tracer.ops.sources import constant_like, constant_of, number_in
from ..tracer.tensor import Tensor
from .activation import shifted
from .creation import ramp
from .dropout import dropped, probability_of

__all__ = ["scaled_dot_product_attention"]


def _causal(scores: Node) -> Node:
    """Whether the place of the key is not behind that of the query."""
    shape = scores.shape[-2:]
    rows, columns = (ramp(0, int32, axis, shape) for axis in (0, 1))
    return e.ge(rows, columns)


def _fits(shape: Shape, whole: Shape) -> bool:
    """Whether `shape` broadcasts with the last axes of `whole`."""
    pairs = zip(reversed(shape), reversed(whole), strict=False)
    return all(1 in pair or pair[0] == pair[1] for pair in pairs)


def _masked(scores: Node, mask: Node | None, causal: bool) -> Node:
    nothing = constant_like(-math.inf, scores)
    if causal:
        scores = e.where(_causal(scores), scores, nothing)
    if mask is None:
        return scores
    if not _fits(mask.shape, scores.shape):
        found = f"expected a mask for scores of shape {list(scores.shape)}"
        name = "scaled_dot_product_attention"
        raise ShapeError(located(f"{name}: {found}, found {list(mask.shape)}"))
    return e.where(mask, scores, nothing) if mask.dtype is bool_ else scores + mask


def _weights(scores: Node) -> Node:
    """softmax along the last axis, and 0 where a query may look at nothing."""
    below, _, axes = shifted(scores, -1)
    powers = e.exp(below)
    total = reduction.sum(powers, axes)
    total = e.where(e.eq(total, constant_like(0, total)), constant_like(1, total), total)
    return cast_to(powers / total, scores.dtype)


def _check(query: Node, key: Node, value: Node) -> None:
    fits = (
        min(query.ndim, key.ndim, value.ndim) >= 2
        and query.shape[-1] == key.shape[-1]
        and key.shape[-2] == value.shape[-2]
    )
    if not fits:
        name = "scaled_dot_product_attention"
        expected = "expected (..., queries, width), (..., keys, width) and (..., keys, any)"
        found = ", ".join(str(list(each.shape)) for each in (query, key, value))
        raise ShapeError(located(f"{name}: {expected}, found {found}"))


@composite
def _scaled_dot_product_attention(
    query: Node,
    key: Node,
    value: Node,
    mask: Node | None,
    random_key: Node | None,
    stream: Node | None,
    probability: Node | None,
    causal: bool,
    scale: Number | None,
) -> Node:
    _check(query, key, value)
    width = query.shape[-1]
    query = e.to_float(query)
    kind = query.dtype
    usual = constant_of(1 / math.sqrt(max(width, 1)), kind)
    factor = usual if scale is None else number_in(scale, kind)
    scores = contraction.matmul(query * factor, contraction.swapped(key))
    weights = _weights(_masked(scores, mask, causal))
    if random_key is not None and stream is not None and probability is not None:
        weights = dropped(weights, random_key, stream, probability)
    return contraction.matmul(weights, value)


@composite
def attention_weights(query: Node, key: Node, mask: Node | None, causal: bool) -> Node:
    """softmax(query key' / sqrt(width)): how much each query sees of each key."""
    _check(query, key, key)
    query = e.to_float(query)
    factor = constant_of(1 / math.sqrt(max(query.shape[-1], 1)), query.dtype)
    scores = contraction.matmul(query * factor, contraction.swapped(key))
    return _weights(_masked(scores, mask, causal))


def scaled_dot_product_attention(
    query: Any,
    key: Any,
    value: Any,
    attn_mask: Any = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
) -> Tensor:
    """softmax(query key' scale) value, over the last two axes; the others broadcast.

    `scale` is by default 1 / sqrt(width). `attn_mask` says where a query may look, or is added to
    the scores; with `is_causal` none looks behind its own place. A query that may look at nothing
    gets 0. `dropout_p` is the probability with which a weight is set to 0.
    """
    chance = probability_of("scaled_dot_product_attention", dropout_p)
    noise: tuple[Any, ...] = (None, None, None)
    if chance:
        given = [each for each in (query, key, value) if isinstance(each, Tensor)]
        wide = any(each._node.dtype is float64 for each in given)
        noise = (*GENERATOR.draw(), number(chance, float64 if wide else float32))
    made: Tensor = _scaled_dot_product_attention(
        query, key, value, attn_mask, *noise, is_causal, scale
    )
    return made
