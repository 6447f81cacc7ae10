"""Activations as modules."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import functional as F
from ..arguments import number, one_of, whole
from ..tracer.tensor import Parameter, Tensor
from .module import Module
from .state import array_of

AXES = 64
"""More axes than a tensor has."""


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
    """x times the normal distribution function of x; `approximate` is "none" or "tanh"."""

    def __init__(self, approximate: str = "none", **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.approximate = one_of("GELU", "approximate", approximate, ("none", "tanh"))

    def forward(self, x: Tensor) -> Tensor:
        """The gated x."""
        made: Tensor = F.gelu(x, self.approximate)
        return made


class Softmax(Module):
    """exp(x) / sum(exp(x)) along `axis`.

    Without an axis it is 0 for tensors with no, one or three axes and 1 for others.
    """

    def __init__(self, axis: int | None = None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.axis = None if axis is None else whole("Softmax", "axis", axis, -AXES)

    def forward(self, x: Tensor) -> Tensor:
        """The shares of x."""
        made: Tensor = F.softmax(x, self.axis)
        return made

    def _module_info_string(self) -> str:
        return "" if self.axis is None else f"axis={self.axis}"


class LogSoftmax(Module):
    """log(softmax(x)) along `axis`, without overflow or cancellation; the axis is Softmax's."""

    def __init__(self, axis: int | None = None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.axis = None if axis is None else whole("LogSoftmax", "axis", axis, -AXES)

    def forward(self, x: Tensor) -> Tensor:
        """The logarithms of the shares of x."""
        made: Tensor = F.logsoftmax(x, self.axis)
        return made

    def _module_info_string(self) -> str:
        return "" if self.axis is None else f"axis={self.axis}"


class PReLU(Module):
    """x, times `weight` where it is negative: one for all, or, with `num_parameters`, for each
    channel, in the shape (1, channels, 1, 1). It begins as `init`.
    """

    def __init__(self, num_parameters: int = 1, init: float = 0.25, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.num_parameters = whole("PReLU", "num_parameters", num_parameters)
        count = self.num_parameters
        shape = (count,) if count < 2 else (1, count, 1, 1)
        self.weight = Parameter(np.full(shape, number("PReLU", "init", init)))

    def translated_state(self, given: dict[str, Any]) -> dict[str, Any]:
        """Weights in the shape (channels,), as PyTorch and earlier versions have them, fit too."""
        weight = array_of(given["weight"]) if "weight" in given else None
        if weight is None or weight.shape != (self.weight.size,):
            return given
        return {**given, "weight": weight.reshape(self.weight.shape)}

    def forward(self, x: Tensor) -> Tensor:
        """x with its negative part scaled."""
        made: Tensor = F.prelu(x, self.weight)
        return made

    def _module_info_string(self) -> str:
        return f"num_parameters={self.num_parameters}"


class LeakyReLU(Module):
    """x, times `negative_slope` where it is negative."""

    def __init__(self, negative_slope: float = 0.01, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.negative_slope = number("LeakyReLU", "negative_slope", negative_slope)

    def forward(self, x: Tensor) -> Tensor:
        """x with its negative part scaled."""
        made: Tensor = F.leaky_relu(x, self.negative_slope)
        return made

    def _module_info_string(self) -> str:
        return f"negative_slope={self.negative_slope}"


class ELU(Module):
    """x where it is positive, else alpha (exp(x) - 1)."""

    def __init__(self, alpha: float = 1.0, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.alpha = number("ELU", "alpha", alpha)

    def forward(self, x: Tensor) -> Tensor:
        """x with its negative part bent."""
        made: Tensor = F.elu(x, self.alpha)
        return made

    def _module_info_string(self) -> str:
        return f"alpha={self.alpha}"


class SELU(Module):
    """ELU with the alpha and the scale under which activations keep mean 0 and variance 1."""

    def forward(self, x: Tensor) -> Tensor:
        """The bent and scaled x."""
        made: Tensor = F.selu(x)
        return made


class SiLU(Module):
    """x sigmoid(x)."""

    def forward(self, x: Tensor) -> Tensor:
        """The gated x."""
        made: Tensor = F.silu(x)
        return made


class ReLU6(Module):
    """x between 0 and 6."""

    def forward(self, x: Tensor) -> Tensor:
        """The clipped x."""
        made: Tensor = F.relu6(x)
        return made


class HSwish(Module):
    """x relu6(x + 3) / 6."""

    def forward(self, x: Tensor) -> Tensor:
        """The gated x."""
        made: Tensor = F.hswish(x)
        return made


class Mish(Module):
    """x tanh(log(1 + exp(x)))."""

    def forward(self, x: Tensor) -> Tensor:
        """The gated x."""
        made: Tensor = F.mish(x)
        return made


class Softplus(Module):
    """log(1 + exp(x))."""

    def forward(self, x: Tensor) -> Tensor:
        """The smoothly rectified x."""
        made: Tensor = F.softplus(x)
        return made


class CELU(Module):
    """x where it is positive, else alpha (exp(x / alpha) - 1)."""

    def __init__(self, alpha: float = 1.0, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.alpha = number("CELU", "alpha", alpha)

    def forward(self, x: Tensor) -> Tensor:
        """x with its negative part bent."""
        made: Tensor = F.celu(x, self.alpha)
        return made

    def _module_info_string(self) -> str:
        return f"alpha={self.alpha}"


class GLU(Module):
    """The first half along `axis`, times the sigmoid of the second."""

    def __init__(self, axis: int = -1, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.axis = whole("GLU", "axis", axis, -AXES)

    def forward(self, x: Tensor) -> Tensor:
        """The gated half of x."""
        made: Tensor = F.glu(x, self.axis)
        return made

    def _module_info_string(self) -> str:
        return f"axis={self.axis}"


class Hardtanh(Module):
    """x between `min_val` and `max_val`."""

    def __init__(self, min_val: float = -1.0, max_val: float = 1.0, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.min_val = number("Hardtanh", "min_val", min_val)
        self.max_val = number("Hardtanh", "max_val", max_val, self.min_val)

    def forward(self, x: Tensor) -> Tensor:
        """The clipped x."""
        made: Tensor = F.hardtanh(x, self.min_val, self.max_val)
        return made

    def _module_info_string(self) -> str:
        return f"min_val={self.min_val}, max_val={self.max_val}"


class HSigmoid(Module):
    """relu6(x + 3) / 6."""

    def forward(self, x: Tensor) -> Tensor:
        """The clipped line."""
        made: Tensor = F.hsigmoid(x)
        return made


class LogSigmoid(Module):
    """log(sigmoid(x)), exact in both tails."""

    def forward(self, x: Tensor) -> Tensor:
        """The logarithm of the sigmoid of x."""
        made: Tensor = F.logsigmoid(x)
        return made


class Softsign(Module):
    """x / (1 + |x|)."""

    def forward(self, x: Tensor) -> Tensor:
        """x between -1 and 1."""
        made: Tensor = F.softsign(x)
        return made
