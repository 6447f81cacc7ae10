"""Checks of derivatives: what the rules say against differences of values."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .derivatives import check_function, grad, hvp, listed, values_of
from .tracer.dtypes import as_dtype, float64
from .tracer.errors import DerivativeError, located
from .tracer.tensor import Tensor

STEP = 1e-3
"""The distance of the values whose differences are taken, relative to the argument."""

ROUNDING = 1e-14
"""What the value of a function may be off by, relative to its size."""

Array = NDArray[np.float64]


class WrongDerivativeError(DerivativeError, AssertionError):
    """A derivative that differences of values contradict."""


def check_grad(
    function: Callable[..., Any],
    args: Sequence[Any],
    *,
    order: int = 1,
    directions: int = 3,
    tolerance: float = 1e-6,
    seed: int = 0,
) -> float:
    """Compare derivatives of `function` at `args` with differences of values, in float64.

    Arguments that are floating-point tensors or arrays are cast to float64 and varied along random
    `directions`; all others stay as they are. One argument may be given alone. Several results, or
    results that are no single number, are weighted by fixed random numbers and added. With `order`
    2 the second derivatives are compared as well, as differences of first ones.

    Slopes are taken by the fourth-order formula [8 (f(h) - f(-h)) - f(2h) + f(-2h)] / 12h (M.
    Abramowitz and I. Stegun, Handbook of Mathematical Functions, 25.3.6), so that the function must
    be smooth around the point. What it computes in float32 inside has errors above the tolerance.

    Each element is varied in proportion to its size (by numbers about 1e-3 where it is 0). Returns
    the largest difference found, relative to the larger of both slopes, less what rounding
    explains. Raises WrongDerivativeError where one exceeds `tolerance`; it names the argument that
    contributes most.
    """
    if order not in (1, 2) or directions < 1:
        expected = "expected order 1 or 2 and at least one direction"
        raise ValueError(located(f"check_grad: {expected}, found {order} and {directions}"))
    checking = _Checking(function, args, seed)
    worst = 0.0
    for number in range(directions):
        for degree in range(1, order + 1):
            found = checking.along(degree, [checking.direction(each) for each in checking.arrays])
            if not found.difference <= tolerance:
                raise WrongDerivativeError(located(checking.complaint(found, number, tolerance)))
            worst = max(worst, found.difference)
    return worst


@dataclass(frozen=True)
class _Slopes:
    """A derivative along a direction: by the rules, and by differences."""

    order: int
    by_rule: float
    by_differences: float
    rounding: float

    @property
    def difference(self) -> float:
        """How far they are apart, beyond what rounding explains, relative to the larger slope."""
        apart = abs(self.by_rule - self.by_differences)
        if apart <= self.rounding:
            return 0.0
        return (apart - self.rounding) / max(abs(self.by_rule), abs(self.by_differences))


class _Checking:
    """A function as a single number of float64 arrays."""

    def __init__(self, function: Callable[..., Any], args: Sequence[Any], seed: int) -> None:
        check_function("check_grad", function)
        args = listed(args)
        self.function = function
        self.args = list(args)
        self.random = np.random.default_rng(seed)
        self.places = [place for place, each in enumerate(args) if _is_varied(each)]
        if not self.places:
            expected = "expected at least one floating-point tensor or array among the arguments"
            raise TypeError(located(f"check_grad: {expected}"))
        self.arrays = [_array(args[place]) for place in self.places]
        self.weights: list[Tensor] = []
        self.first = self.direction_set()

    def direction(self, like: Array) -> Array:
        """Random numbers in proportion to those of `like`."""
        sizes = np.where(like == 0, 1.0, np.abs(like))
        signs = self.random.choice((-1.0, 1.0), like.shape)
        return np.asarray(self.random.uniform(0.5, 1.5, like.shape) * signs * sizes)

    def direction_set(self) -> list[Array]:
        """A direction for all arguments, along which first derivatives are taken for second."""
        return [self.direction(each) for each in self.arrays]

    def number(self, *varied: Tensor) -> Tensor:
        """The results, weighted and added."""
        inputs = list(self.args)
        for place, each in zip(self.places, varied, strict=True):
            inputs[place] = each
        made = self.function(*inputs)
        if isinstance(made, (tuple, list)):
            made = [each for each in made if each is not None]
        results = values_of("check_grad", made)
        while len(self.weights) < len(results):
            shape = results[len(self.weights)].shape
            self.weights.append(_tensor(self.random.uniform(0.5, 1.5, tuple(shape))))
        total: Tensor = (results[0] * self.weights[0]).sum()
        for each, weight in zip(results[1:], self.weights[1:], strict=False):
            total = total + (each * weight).sum()
        return total

    def along(self, order: int, direction: Sequence[Array]) -> _Slopes:
        """The derivative of this order along `direction`."""
        places = tuple(range(len(self.arrays)))
        inputs = [_tensor(each) for each in self.arrays]
        if order == 1:
            slopes = grad(self.number, places)(*inputs)
            value = self._value
        else:
            slopes = hvp(self.number, inputs, [_tensor(each) for each in self.first])
            value = self._first_slope
        return _Slopes(order, _dot(slopes, direction), *_difference(value, self.arrays, direction))

    def _value(self, arrays: Sequence[Array]) -> float:
        return float(self.number(*map(_tensor, arrays)).item())

    def _first_slope(self, arrays: Sequence[Array]) -> float:
        slopes = grad(self.number, tuple(range(len(arrays))))(*map(_tensor, arrays))
        return _dot(slopes, self.first)

    def complaint(self, found: _Slopes, number: int, tolerance: float) -> str:
        """What is wrong, and in which argument most of it."""
        parts: list[float] = []
        for at in range(len(self.arrays)):
            single = [self.direction(e) if n == at else e * 0 for n, e in enumerate(self.arrays)]
            parts.append(self.along(found.order, single).difference)
        worst = int(np.argmax(np.nan_to_num(parts, nan=np.inf)))
        order = "derivative" if found.order == 1 else "second derivative"
        return (
            f"check_grad: along random direction {number} the {order} is {found.by_rule:.10g} by "
            f"the rules and {found.by_differences:.10g} by differences, {found.difference:.2g} "
            f"apart (tolerance {tolerance:g}); argument {self.places[worst]} differs "
            "most"
        )


def _is_varied(value: Any) -> bool:
    if isinstance(value, Tensor):
        return as_dtype(value.dtype).is_float
    return isinstance(value, np.ndarray) and value.dtype.kind == "f"


def _array(value: Any) -> Array:
    given = value.astype(float64).numpy() if isinstance(value, Tensor) else value
    return np.array(given, dtype=np.float64)


def _tensor(array: Array) -> Tensor:
    return Tensor(array, dtype=float64)


def _dot(slopes: Sequence[Tensor], direction: Sequence[Array]) -> float:
    pairs = zip(slopes, direction, strict=True)
    return float(sum(np.sum(slope.numpy() * along) for slope, along in pairs))


def _difference(
    value: Callable[[Sequence[Array]], float], at: Sequence[Array], along: Sequence[Array]
) -> tuple[float, float]:
    """The slope of `value` at `at`, by differences, and what it is off by from rounding."""

    def moved(steps: float) -> float:
        return value([x + steps * STEP * d for x, d in zip(at, along, strict=True)])

    values = [moved(steps) for steps in (1, -1, 2, -2)]
    slope = (8 * (values[0] - values[1]) - (values[2] - values[3])) / (12 * STEP)
    return slope, ROUNDING * max(map(abs, values)) / STEP
