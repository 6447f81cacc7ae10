"""First values of parameters. Names that end with _ set a tensor in place.

All draw from one generator, which `gradc.manual_seed` begins anew.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..arguments import number
from ..generator import generator
from ..tracer.dtypes import default_float
from ..tracer.errors import located
from ..tracer.ir import Shape
from ..tracer.tensor import Tensor

__all__ = [
    "calculate_correct_fan",
    "calculate_fan_in_and_fan_out",
    "calculate_gain",
    "fill_",
    "msra_normal_",
    "msra_uniform_",
    "normal_",
    "ones_",
    "uniform_",
    "xavier_normal_",
    "xavier_uniform_",
    "zeros_",
]


def empty(shape: Shape) -> np.ndarray[Any, Any]:
    """An array of the default type for values that are set before they are read."""
    return np.zeros(shape, default_float().storage)


def _set(tensor: Tensor, array: Any) -> None:
    tensor.rebind(Tensor(array, tensor.dtype).to(tensor.device))


def _shape_of(name: str, tensor: Any) -> Shape:
    if not isinstance(tensor, Tensor):
        raise TypeError(located(f"{name}: expected a tensor, found {tensor!r:.60}"))
    return tensor.shape


def fill_(tensor: Tensor, val: float) -> None:
    """Set every element to `val`."""
    _set(tensor, np.full(_shape_of("fill_", tensor), number("fill_", "val", val)))


def zeros_(tensor: Tensor) -> None:
    """Set every element to 0."""
    fill_(tensor, 0)


def ones_(tensor: Tensor) -> None:
    """Set every element to 1."""
    fill_(tensor, 1)


def uniform_(tensor: Tensor, a: float = 0.0, b: float = 1.0) -> None:
    """Draw every element evenly from [a, b)."""
    low, high = number("uniform_", "a", a), number("uniform_", "b", b)
    _set(tensor, generator().uniform(low, high, _shape_of("uniform_", tensor)))


def normal_(tensor: Tensor, mean: float = 0.0, std: float = 1.0) -> None:
    """Draw every element from the normal distribution."""
    middle, deviation = number("normal_", "mean", mean), number("normal_", "std", std, 0)
    _set(tensor, generator().normal(middle, deviation, _shape_of("normal_", tensor)))


def calculate_gain(nonlinearity: str, param: float | None = None) -> float:
    """The factor that weights before `nonlinearity` need; `param` is the slope of leaky_relu."""
    if nonlinearity in (
        *("linear", "sigmoid", "conv1d", "conv2d", "conv3d"),
        *("conv_transpose1d", "conv_transpose2d", "conv_transpose3d"),
    ):
        return 1.0
    if nonlinearity == "tanh":
        return 5.0 / 3.0
    if nonlinearity == "relu":
        return math.sqrt(2.0)
    if nonlinearity == "leaky_relu":
        slope = 0.01 if param is None else param
        return math.sqrt(2.0 / (1.0 + slope * slope))
    raise ValueError(located(f"expected a known nonlinearity, found {nonlinearity!r}"))


def calculate_fan_in_and_fan_out(tensor: Tensor) -> tuple[int, int]:
    """How many inputs each output depends on, and the reverse, for weights (out, in, *kernel).

    A first axis of five or more counts the groups of a convolution.
    """
    shape = tensor.shape
    if len(shape) < 2:
        raise ValueError(located(f"expected weights with two axes or more, found {list(shape)}"))
    outputs, inputs, *kernel = shape[1:] if len(shape) > 4 else shape
    return inputs * math.prod(kernel), outputs * math.prod(kernel)


def calculate_correct_fan(tensor: Tensor, mode: str) -> int:
    """The fan that `mode` names, "fan_in" or "fan_out"."""
    modes = ("fan_in", "fan_out")
    if mode.lower() not in modes:
        raise ValueError(located(f"expected the mode fan_in or fan_out, found {mode!r}"))
    return calculate_fan_in_and_fan_out(tensor)[modes.index(mode.lower())]


def _xavier_deviation(tensor: Tensor, gain: float) -> float:
    return gain * math.sqrt(2.0 / sum(calculate_fan_in_and_fan_out(tensor)))


def _msra_deviation(tensor: Tensor, slope: float, mode: str, nonlinearity: str) -> float:
    return calculate_gain(nonlinearity, slope) / math.sqrt(calculate_correct_fan(tensor, mode))


def xavier_uniform_(tensor: Tensor, gain: float = 1.0) -> None:
    """Draw evenly, with the variance gain² 2 / (fan in + fan out) of Glorot and Bengio (2010)."""
    bound = math.sqrt(3.0) * _xavier_deviation(tensor, gain)
    uniform_(tensor, -bound, bound)


def xavier_normal_(tensor: Tensor, gain: float = 1.0) -> None:
    """Draw normally, with the variance gain² 2 / (fan in + fan out) of Glorot and Bengio (2010)."""
    normal_(tensor, 0.0, _xavier_deviation(tensor, gain))


def msra_uniform_(
    tensor: Tensor, a: float = 0.0, mode: str = "fan_in", nonlinearity: str = "leaky_relu"
) -> None:
    """Draw evenly, with the variance gain² / fan of He et al. (2015); `a` is the slope."""
    bound = math.sqrt(3.0) * _msra_deviation(tensor, a, mode, nonlinearity)
    uniform_(tensor, -bound, bound)


def msra_normal_(
    tensor: Tensor, a: float = 0.0, mode: str = "fan_in", nonlinearity: str = "leaky_relu"
) -> None:
    """Draw normally, with the variance gain² / fan of He et al. (2015); `a` is the slope."""
    normal_(tensor, 0.0, _msra_deviation(tensor, a, mode, nonlinearity))
