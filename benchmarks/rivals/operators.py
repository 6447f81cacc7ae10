"""What the losses of the workloads are written with.

A framework overrides what it has a function for, and answers elementary functions (`exp`, `tanh`)
with its own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

GELU_SLOPE = 0.7978845608028654  # the square root of 2 / π


class Operators:
    """The operators of a framework, whose `module` has the elementary functions.

    Tensors are Any: each framework has its own.
    """

    def __init__(self, module: Any) -> None:
        self.module = module

    def __getattr__(self, name: str) -> Any:
        return getattr(self.module, name)

    def sum(self, x: Any) -> Any:
        """The sum of all elements."""
        return x.sum()

    def mean(self, x: Any) -> Any:
        """The mean of all elements."""
        return x.mean()

    def affine(self, x: Any, weight: Any, bias: Any) -> Any:
        """x W + b over the last axis of `x`."""
        return x @ weight + bias

    def permuted(self, x: Any, *axes: int) -> Any:
        """`x` with its axes in another order."""
        return x.transpose(axes)

    def parts(self, x: Any, count: int, size: int) -> Sequence[Any]:
        """`count` slices of `size` columns."""
        return [x[:, k * size : (k + 1) * size] for k in range(count)]

    def components(self, x: Any, count: int) -> Sequence[Any]:
        """The `count` elements along the first axis."""
        return [x[k] for k in range(count)]

    def layer_norm(self, x: Any, scale: Any, shift: Any) -> Any:
        """(x - mean) / sqrt(variance + 1e-5) over the last axis, scaled and shifted."""
        centred = x - x.mean(axis=-1, keepdims=True)
        variance = (centred * centred).mean(axis=-1, keepdims=True)
        return centred / self.sqrt(variance + 1e-5) * scale + shift

    def batch_norm(self, x: Any, scale: Any, shift: Any) -> Any:
        """The same over all axes but that of channels."""
        centred = x - x.mean(axis=(0, 2, 3), keepdims=True)
        variance = (centred * centred).mean(axis=(0, 2, 3), keepdims=True)
        whitened = centred / self.sqrt(variance + 1e-5)
        return whitened * scale.reshape((-1, 1, 1)) + shift.reshape((-1, 1, 1))

    def gelu(self, x: Any) -> Any:
        """GELU by tanh (Hendrycks and Gimpel 2016)."""
        return 0.5 * x * (1 + self.tanh(GELU_SLOPE * (x + 0.044715 * x * x * x)))

    def attention(self, query: Any, key: Any, value: Any, width: int) -> Any:
        """softmax(Q Kᵀ / sqrt(width)) V over the last two axes of four."""
        scores = query @ self.permuted(key, 0, 1, 3, 2) * width**-0.5
        return self.softmax(scores) @ value

    def folded(
        self,
        cell: Callable[..., tuple[Any, ...]],
        sequence: Any,
        states: tuple[Any, ...],
        constant: Any,
        steps: int,
    ) -> tuple[Any, ...]:
        """The states behind the last of `cell(element, *states, constant)` along a sequence."""
        for step in range(steps):
            states = cell(sequence[step], *states, constant)
        return states

    def repeated(
        self,
        step: Callable[[Sequence[Any], Sequence[Any]], Sequence[Any]],
        state: Sequence[Any],
        constants: Sequence[Any],
        steps: int,
    ) -> Sequence[Any]:
        """The scalars of `state` behind `steps` of `step(state, constants)`."""
        for _ in range(steps):
            state = step(state, constants)
        return state
