"""Dropout as a module."""

from __future__ import annotations

from typing import Any

from .. import functional as F
from ..functional.dropout import probability_of
from ..tracer.tensor import Tensor
from .module import Module


class Dropout(Module):
    """While training, elements become 0 with the probability `drop_prob`.

    The others are divided by 1 - `drop_prob`. In evaluation nothing happens.
    """

    def __init__(self, drop_prob: float = 0.0, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.drop_prob = probability_of("Dropout", drop_prob)

    def forward(self, inp: Tensor) -> Tensor:
        """The input with holes."""
        return F.dropout(inp, self.drop_prob, self.training)

    def _module_info_string(self) -> str:
        return f"drop_prob={self.drop_prob}"
