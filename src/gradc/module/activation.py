"""Activations as modules."""

from __future__ import annotations

from typing import Any

from .. import functional as F
from ..tracer.tensor import Tensor
from .module import Module


class ReLU(Module):
    """x where it is positive, else 0."""

    def forward(self, x: Tensor) -> Tensor:
        """The rectified x."""
        made: Tensor = F.relu(x)
        return made


class Sigmoid(Module):
    """1 / (1 + exp(-x))."""

    def forward(self, x: Tensor) -> Tensor:
        """The sigmoid of x."""
        made: Tensor = F.sigmoid(x)
        return made


class Tanh(Module):
    """The hyperbolic tangent."""

    def forward(self, x: Tensor) -> Tensor:
        """The hyperbolic tangent of x."""
        made: Tensor = F.tanh(x)
        return made


class GELU(Module):
    """x times the normal distribution function of x."""

    def forward(self, x: Tensor) -> Tensor:
        """The gated x."""
        made: Tensor = F.gelu(x)
        return made


class Softmax(Module):
    """exp(x) / sum(exp(x)) along `axis`.

    Without an axis it is 0 for tensors with no, one or three axes and 1 for others.
    """

    def __init__(self, axis: int | None = None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.axis = axis

    def forward(self, x: Tensor) -> Tensor:
        """The shares of x."""
        chosen = (0 if x.ndim in (0, 1, 3) else 1) if self.axis is None else self.axis
        made: Tensor = F.softmax(x, chosen)
        return made

    def _module_info_string(self) -> str:
        return "" if self.axis is None else f"axis={self.axis}"
