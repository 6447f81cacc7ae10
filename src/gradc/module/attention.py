"""Attention with several heads."""

from __future__ import annotations

from typing import Any

from .. import functional as F
from ..arguments import whole
from ..functional.dropout import probability_of
from ..tracer.errors import ShapeError, located
from ..tracer.tensor import Tensor
from .linear import Linear
from .module import Module


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
        kdim: int | None = None,
        vdim: int | None = None,
        bias: bool = True,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        embed_dim = whole("MultiHeadAttention", "embed_dim", embed_dim)
        num_heads = whole("MultiHeadAttention", "num_heads", num_heads, 1)
        if embed_dim % num_heads:
            found = f"{embed_dim} is no multiple of {num_heads} heads"
            raise ValueError(located(f"MultiHeadAttention: {found}"))
        self.embed_dim, self.num_heads = embed_dim, num_heads
        self.attn_dropout = probability_of("MultiHeadAttention", attn_dropout)
        self.out_dropout = probability_of("MultiHeadAttention", out_dropout)
        self.query = Linear(embed_dim, embed_dim, bias)
        self.key = Linear(embed_dim if kdim is None else kdim, embed_dim, bias)
        self.value = Linear(embed_dim if vdim is None else vdim, embed_dim, bias)
        self.out = Linear(embed_dim, embed_dim, bias)

    def forward(
        self,
        query: Tensor,
        key: Tensor | None = None,
        value: Tensor | None = None,
        attn_mask: Tensor | None = None,
        is_causal: bool = False,
    ) -> Tensor:
        """What the queries find; without a key they look at themselves.

        `value` is by default the key. `attn_mask` says where a query may look, or is added to the
        scores; it is (query length, key length), or has axes for batch and heads before these. With
        `is_causal` none looks behind its own place.
        """
        key = query if key is None else key
        value = key if value is None else value
        seen = F.scaled_dot_product_attention(
            self._heads(self.query(query)),
            self._heads(self.key(key)),
            self._heads(self.value(value)),
            attn_mask,
            self.attn_dropout if self.training else 0.0,
            is_causal,
        )
        batch, length = query.shape[:2]
        joined = seen.transpose(0, 2, 1, 3).reshape(batch, length, self.embed_dim)
        return F.dropout(self.out(joined), self.out_dropout, self.training)

    def _heads(self, x: Tensor) -> Tensor:
        """(batch, heads, length, width of a head)."""
        if x.ndim != 3:
            expected = "expected (batch, length, width)"
            raise ShapeError(located(f"MultiHeadAttention: {expected}, found {list(x.shape)}"))
        batch, length = x.shape[:2]
        width = self.embed_dim // self.num_heads
        return x.reshape(batch, length, self.num_heads, width).transpose(0, 2, 1, 3)

    def _module_info_string(self) -> str:
        return f"{self.embed_dim}, num_heads={self.num_heads}"
