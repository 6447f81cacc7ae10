"""What the losses and gradients of a workload are: NumPy in float64, and differences of its values.

Gradients come from gradc in float64. What is true of them is asked of NumPy: along random
directions, they must have the slope that the losses have.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from rivals.operators import Operators
from rivals.workloads import Arrays, Workload

SLOPE_TOLERANCE = 1e-3
STEP = 1e-7  # so small because of rectifiers: some change sign on the way


@dataclass(frozen=True)
class Jet:
    """u(t, x) at points, with u_t, u_x and u_xx."""

    u: Any
    t: Any
    x: Any
    xx: Any


class NumpyOperators(Operators):
    """Plain formulas, without a thought of speed."""

    def __init__(self) -> None:
        super().__init__(np)

    def affine(self, x: Any, weight: Any, bias: Any) -> Any:
        """x W + b, of jets as well."""
        if isinstance(x, Jet):
            return Jet(x.u @ weight + bias, x.t @ weight, x.x @ weight, x.xx @ weight)
        return x @ weight + bias

    def tanh(self, x: Any) -> Any:
        """tanh, of jets as well: (tanh u)_xx = (1 - y²) (u_xx - 2 y u_x²)."""
        if not isinstance(x, Jet):
            return np.tanh(x)
        y = np.tanh(x.u)
        slope = 1 - y * y
        return Jet(y, slope * x.t, slope * x.x, slope * (x.xx - 2 * y * x.x**2))

    def relu(self, x: Any) -> Any:
        """max(x, 0)."""
        return np.maximum(x, 0)

    def sigmoid(self, x: Any) -> Any:
        """1 / (1 + exp(-x))."""
        return 1 / (1 + np.exp(-x))

    def softmax(self, x: Any) -> Any:
        """Over the last axis."""
        y = np.exp(x - x.max(axis=-1, keepdims=True))
        return y / y.sum(axis=-1, keepdims=True)

    def cross_entropy(self, logits: Any, label: Any, batch: int) -> Any:
        """The mean over rows."""
        return -np.log(self.softmax(logits)[np.arange(batch), label]).mean()

    def conv(self, x: Any, weight: Any, bias: Any, padding: int) -> Any:
        """Sums over windows."""
        x = np.pad(x, [(0, 0), (0, 0), (padding, padding), (padding, padding)])
        windows = sliding_window_view(x, weight.shape[2:], axis=(2, 3))
        made = np.tensordot(windows, weight, axes=([1, 4, 5], [1, 2, 3])).transpose(0, 3, 1, 2)
        return made if bias is None else made + bias[:, None, None]

    def max_pool(self, x: Any) -> Any:
        """Of squares of four."""
        batch, channels, height, width = x.shape
        return x.reshape(batch, channels, height // 2, 2, width // 2, 2).max(axis=(3, 5))

    def derivatives(self, network: Callable[..., Any], points: Any) -> tuple[Any, ...]:
        """By jets (Taylor polynomials)."""
        nothing, one = np.zeros_like(points), np.ones(len(points))
        along_t, along_x = np.stack([one, 0 * one], 1), np.stack([0 * one, one], 1)
        jet = network(Jet(points, along_t, along_x, nothing))
        return jet.u[:, 0], jet.t[:, 0], jet.x[:, 0], jet.xx[:, 0]


def loss_of(workload: Workload, parameters: Arrays, inputs: Arrays) -> float:
    """The loss, in float64."""
    return float(workload.loss(NumpyOperators(), parameters, inputs, workload.sizes))


class WrongError(RuntimeError):
    """A loss or a gradient is not what it must be."""


@dataclass(frozen=True)
class Reference:
    """The losses of the first two steps, and the first gradients."""

    losses: tuple[float, float]
    gradients: Arrays


def reference_of(workload: Workload) -> Reference:
    """The reference; raises WrongError where NumPy's losses do not confirm the gradients."""
    parameters, inputs = workload.data(dtype="float64")
    gradients = gradients_of(workload)
    for name, error in slope_errors(workload, gradients).items():
        if not error < SLOPE_TOLERANCE:
            raise WrongError(f"in float64 the gradient of {name} is off by {error:.1e}")
    after = {name: each - workload.rate * gradients[name] for name, each in parameters.items()}
    losses = loss_of(workload, parameters, inputs), loss_of(workload, after, inputs)
    return Reference(losses, gradients)


def gradients_of(workload: Workload, dtype: str = "float64", variant: str = "loop") -> Arrays:
    """Those of gradc: the change of the parameters in a step with rate 1."""
    from rivals.steps_gradc import build

    parameters, _ = workload.data(dtype=dtype)
    step = build(workload, variant, 1, 1.0, dtype)
    step.run()
    after = step.parameters()
    return {name: each - after[name] for name, each in parameters.items()}


def slope_errors(workload: Workload, gradients: Arrays, step: float = STEP) -> dict[str, float]:
    """How far the slope along a random direction is from central differences, by parameter.

    For d ~ N(0, 1), the square of (g - true) · d is |g - true|² in the mean; it is given in |g|.
    """
    parameters, inputs = workload.data(dtype="float64")
    random = np.random.default_rng(99)
    found = {}
    for name, gradient in gradients.items():
        size = np.linalg.norm(parameters[name]) / np.sqrt(gradient.size)
        direction = size * random.standard_normal(gradient.shape)
        slope = _slope(workload, parameters, inputs, {name: direction}, step)
        error = abs(slope - np.vdot(gradient, direction))
        found[name] = float(error / (size * np.linalg.norm(gradient)))
    return found


def _slope(
    workload: Workload, parameters: Arrays, inputs: Arrays, direction: Arrays, step: float
) -> float:
    """The slope of the loss, by a central difference."""

    def moved(by: float) -> float:
        there = {name: parameters[name] + by * each for name, each in direction.items()}
        return loss_of(workload, parameters | there, inputs)

    return (moved(step) - moved(-step)) / (2 * step)
