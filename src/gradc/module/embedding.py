"""A vector for each of some things that are named by numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import functional as F
from ..arguments import whole
from ..tracer.errors import ShapeError, located
from ..tracer.tensor import Parameter, Tensor
from . import init
from .module import Module


class Embedding(Module):
    """The rows of `weight`, of shape (num_embeddings, embedding_dim), that whole numbers name.

    They begin with the normal distribution, or as `initial_weight`. The row `padding_idx` begins
    with 0 and gets no gradient; with `freeze` no row gets any.
    """

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        padding_idx: int | None = None,
        max_norm: float | None = None,
        norm_type: float | None = None,
        initial_weight: Any = None,
        freeze: bool = False,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        if max_norm is not None or norm_type is not None:
            raise ValueError(located("Embedding: max_norm and norm_type are not supported"))
        num_embeddings = whole("Embedding", "num_embeddings", num_embeddings)
        embedding_dim = whole("Embedding", "embedding_dim", embedding_dim)
        if padding_idx is not None:
            padding_idx = whole("Embedding", "padding_idx", padding_idx, -num_embeddings)
        if padding_idx is not None and not -num_embeddings <= padding_idx < num_embeddings:
            expected = f"expected a row from {-num_embeddings} to {num_embeddings - 1}"
            raise ShapeError(located(f"Embedding: padding_idx: {expected}, found {padding_idx}"))
        self.num_embeddings, self.embedding_dim = num_embeddings, embedding_dim
        self.padding_idx, self.freeze = padding_idx, freeze
        shape = (num_embeddings, embedding_dim)
        if initial_weight is None:
            self.weight = Parameter(init.empty(shape))
            self.reset_parameters()
        else:
            self.weight = Parameter(initial_weight)
            if self.weight.shape != shape:
                found = f"expected initial weights {list(shape)}, found {list(self.weight.shape)}"
                raise ShapeError(located(f"Embedding: {found}"))

    def reset_parameters(self) -> None:
        """Give the weight its first values anew."""
        init.normal_(self.weight)
        if self.padding_idx is not None:
            values = np.array(self.weight.numpy())
            values[self.padding_idx] = 0
            self.weight.rebind(Tensor(values, self.weight.dtype).to(self.weight.device))

    def forward(self, inp: Tensor) -> Tensor:
        """The rows that `inp` names."""
        weight = self.weight.detach() if self.freeze else self.weight
        made: Tensor = F.embedding(inp, weight, self.padding_idx)
        return made

    @classmethod
    def from_pretrained(
        cls, embeddings: Any, freeze: bool = True, padding_idx: int | None = None
    ) -> Embedding:
        """A module that holds `embeddings`, (num_embeddings, embedding_dim)."""
        rows, columns = embeddings.shape
        return cls(rows, columns, padding_idx, initial_weight=embeddings, freeze=freeze)

    def _module_info_string(self) -> str:
        told = f"{self.num_embeddings}, {self.embedding_dim}"
        return told if self.padding_idx is None else f"{told}, padding_idx={self.padding_idx}"
