"""Attention with several heads."""

from __future__ import annotations

import math
from typing import Any

from .. import functional as F
from ..arguments import whole
from ..functional.attention import attention_weights
from ..functional.dropout import probability_of
from ..tracer.errors import ArgumentError, DTypeError, ShapeError, located
from ..tracer.tensor import Tensor
from .linear import Linear
from .module import Module
from .state import cut

PROJECTIONS = ("query", "key", "value", "out")
"""The linear layers, in the order in which MegEngine saves them."""


class MultiHeadAttention(Module):
    """Attention of `num_heads` heads (Vaswani et al., 2017).

    Query, key and value, (batch, length, width), go through linear layers to `embed_dim`, are cut
    into heads, each head looks by `F.scaled_dot_product_attention`, and one more linear layer joins
    them. `attn_dropout` is for the weights, `out_dropout` for the result, both while training.
    """

    def __init__(
        self,
        embed_dim: int,
        num_heads: int,
        attn_dropout: float = 0.0,
        out_dropout: float = 0.0,
        bias: bool = True,
        add_bias_kv: bool = False,
        add_zero_attn: bool = False,
        kdim: int | None = None,
        vdim: int | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        embed_dim = whole("MultiHeadAttention", "embed_dim", embed_dim)
        num_heads = whole("MultiHeadAttention", "num_heads", num_heads, 1)
        if embed_dim % num_heads:
            found = f"{embed_dim} is no multiple of {num_heads} heads"
            raise ArgumentError(located(f"MultiHeadAttention: {found}"))
        if add_bias_kv or add_zero_attn:
            expected = "add_bias_kv and add_zero_attn are not supported: expected False"
            raise ArgumentError(located(f"MultiHeadAttention: {expected}"))
        self.embed_dim, self.num_heads = embed_dim, num_heads
        self.attn_dropout = probability_of("MultiHeadAttention", attn_dropout)
        self.out_dropout = probability_of("MultiHeadAttention", out_dropout)
        self.query = Linear(embed_dim, embed_dim, bias)
        self.key = Linear(embed_dim if kdim is None else kdim, embed_dim, bias)
        self.value = Linear(embed_dim if vdim is None else vdim, embed_dim, bias)
        self.out = Linear(embed_dim, embed_dim, bias)

    def reset_parameters(self) -> None:
        """Give the weights and biases of all linear layers their first values anew."""
        for name in PROJECTIONS:
            getattr(self, name).reset_parameters()

    def translated_state(self, given: dict[str, Any]) -> dict[str, Any]:
        """All linear layers as MegEngine has them: in one, `io_weight_bias`.

        There the weights of query, key, value and out follow one another, each (inputs, outputs),
        and then, where there are any, their biases.
        """
        if "io_weight_bias" not in given:
            return given
        layers = [(name, getattr(self, name)) for name in PROJECTIONS]
        parts = [(f"{name}.weight", each.weight.shape[::-1]) for name, each in layers]
        if self.out.bias is not None:
            parts += [(f"{name}.bias", each.bias.shape) for name, each in layers]
        made = cut("io_weight_bias", given["io_weight_bias"], parts)
        rest = {name: value for name, value in given.items() if name != "io_weight_bias"}
        return {**rest, **{name: each.T for name, each in made.items()}}

    def forward(
        self,
        query: Tensor,
        key: Tensor | None = None,
        value: Tensor | None = None,
        key_padding_mask: Tensor | None = None,
        attn_mask: Tensor | None = None,
        need_weights: bool = False,
        average_attn_weights: bool = False,
        is_causal: bool = False,
        maybe_cudnn_style_mask: bool = False,
    ) -> tuple[Tensor, Tensor | None]:
        """What the queries find, and, with `need_weights`, how much they saw of each key, or None.

        Without a key they look at themselves; `value` is by default the key. Masks say by True
        where no query may look, or are added to the scores: `key_padding_mask` is (batch, keys),
        `attn_mask` (queries, keys), (batch * heads, queries, keys), or has axes for batch and
        heads. With `is_causal` none looks behind its own place. The weights, before any dropout,
        are (batch * heads, queries, keys); `average_attn_weights` gives their mean over the heads,
        (batch, queries, keys).
        """
        if maybe_cudnn_style_mask:
            expected = "masks of cuDNN's style are not supported: expected masks of the scores"
            raise ArgumentError(located(f"MultiHeadAttention: {expected}"))
        key = query if key is None else key
        value = key if value is None else value
        q, k, v = self._heads("query", query), self._heads("key", key), self._heads("value", value)
        mask = self._mask(key_padding_mask, attn_mask, q, k)
        chance = self.attn_dropout if self.training else 0.0
        seen = F.scaled_dot_product_attention(q, k, v, mask, chance, is_causal)
        batch, length = query.shape[:2]
        joined = seen.transpose(0, 2, 1, 3).reshape(batch, length, self.embed_dim)
        made = F.dropout(self.out(joined), self.out_dropout, self.training)
        if not need_weights:
            return made, None
        weights: Tensor = attention_weights(q, k, mask, is_causal)
        if average_attn_weights:
            return made, F.mean(weights, axis=1)
        return made, weights.reshape(batch * self.num_heads, *weights.shape[2:])

    def _heads(self, name: str, x: Tensor) -> Tensor:
        """What the linear layer `name` makes of x: (batch, heads, length, width of a head)."""
        if x.ndim != 3:
            expected = "expected (batch, length, width)"
            raise ShapeError(located(f"MultiHeadAttention: {expected}, found {list(x.shape)}"))
        batch, length = x.shape[:2]
        made: Tensor = getattr(self, name)(x)
        width = self.embed_dim // self.num_heads
        return made.reshape(batch, length, self.num_heads, width).transpose(0, 2, 1, 3)

    def _mask(self, padding: Any, mask: Any, q: Tensor, k: Tensor) -> Tensor | None:
        """Both masks as one of the scores: what is added to them, or where queries may look."""
        batch, heads, queries = q.shape[:3]
        keys = k.shape[2]
        if padding is not None:
            padding = _checked("key_padding_mask", padding)
            if padding.shape != (batch, keys):
                found = f"expected a key_padding_mask {[batch, keys]}, found {list(padding.shape)}"
                raise ShapeError(located(f"MultiHeadAttention: {found}"))
            padding = padding.reshape(batch, 1, 1, keys)
        if mask is not None:
            mask = _checked("attn_mask", mask)
            if mask.ndim == 3:
                if mask.shape != (batch * heads, queries, keys):
                    expected = f"expected an attn_mask {[batch * heads, queries, keys]}"
                    raise ShapeError(
                        located(f"MultiHeadAttention: {expected}, found {list(mask.shape)}")
                    )
                mask = mask.reshape(batch, heads, queries, keys)
        return _joined(padding, mask)

    def _module_info_string(self) -> str:
        return f"{self.embed_dim}, num_heads={self.num_heads}"


def _checked(name: str, given: Any) -> Tensor:
    mask = given if isinstance(given, Tensor) else Tensor(given)
    if mask.dtype != bool and not mask._node.dtype.is_float:
        expected = f"expected {name} to be of bool or a floating type, found {mask._node.type}"
        raise DTypeError(located(f"MultiHeadAttention: {expected}"))
    return mask


def _joined(a: Tensor | None, b: Tensor | None) -> Tensor | None:
    """Two masks as one; those that say where not to look, as what says where to look."""
    given = [each for each in (a, b) if each is not None]
    if all(each.dtype == bool for each in given):
        allowed = [F.logical_not(each) for each in given]
        return F.logical_and(*allowed) if len(allowed) == 2 else allowed[0] if allowed else None
    added = [F.where(each, -math.inf, 0.0) if each.dtype == bool else each for each in given]
    return added[0] + added[1] if len(added) == 2 else added[0]
