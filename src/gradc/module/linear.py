"""Linear layers."""

from __future__ import annotations

import math
from typing import Any

from .. import functional as F
from ..arguments import whole
from ..tracer.tensor import Parameter, Tensor
from . import init
from .module import Module


class Linear(Module):
    """x times the transposed `weight`, of shape (out_features, in_features), plus `bias`.

    Weights begin with a normal distribution of variance 1 / in_features, biases with 0.
    """

    def __init__(
        self, in_features: int, out_features: int, bias: bool = True, **kwargs: Any
    ) -> None:
        super().__init__(**kwargs)
        self.in_features = whole("Linear", "in_features", in_features)
        self.out_features = whole("Linear", "out_features", out_features)
        self.weight = Parameter(init.empty((self.out_features, self.in_features)))
        self.bias = Parameter(init.empty((self.out_features,))) if bias else None
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Give weight and bias their first values anew."""
        init.normal_(self.weight, 0.0, math.sqrt(1 / max(self.in_features, 1)))
        if self.bias is not None:
            init.zeros_(self.bias)

    def forward(self, x: Tensor) -> Tensor:
        """The product, plus the bias."""
        made: Tensor = F.linear(x, self.weight, self.bias)
        return made

    def _module_info_string(self) -> str:
        sizes = f"in_features={self.in_features}, out_features={self.out_features}"
        return f"{sizes}, bias={self.bias is not None}"
