"""Where the inputs of the contract cases come from: values by domain, in the computing type."""

from collections.abc import Callable
from typing import Any

import numpy as np
from gradc.tracer.dtypes import DType, bool_
from gradc.tracer.interpret import computing
from gradc.tracer.ir import TensorType

Array = np.ndarray[Any, Any]
Values = Callable[[np.random.Generator, TensorType], Array]
"""Makes an array of the shape of a type, in the type in which its dtype is computed."""


def between(low: float, high: float) -> Values:
    """Evenly distributed values; integers from both ends on, bool as it comes."""

    def values(rng: np.random.Generator, kind: TensorType) -> Array:
        storage = computing(kind.dtype).storage
        if kind.dtype is bool_:
            return np.asarray(rng.random(kind.shape) < 0.5)
        if kind.dtype.is_float:
            return np.asarray(rng.uniform(low, high, kind.shape)).astype(storage)
        first = 0 if kind.dtype.kind == "u" else int(np.ceil(low))
        drawn = rng.integers(first, max(int(high), first) + 1, kind.shape)
        return np.asarray(drawn).astype(storage)

    return values


def distinct(rng: np.random.Generator, kind: TensorType) -> Array:
    """Values of which no two are equal (where the type has as many)."""
    order = rng.permutation(kind.size).reshape(kind.shape)
    step = 0.25 if kind.dtype.is_float else 1
    return np.asarray(order * step).astype(computing(kind.dtype).storage)


def few(rng: np.random.Generator, kind: TensorType) -> Array:
    """Whole numbers from 0 to 3: ties almost everywhere."""
    return np.asarray(rng.integers(0, 4, kind.shape)).astype(computing(kind.dtype).storage)


def places(size: int) -> Values:
    """Places among `size`, some of them twice."""
    return lambda rng, kind: np.asarray(rng.integers(0, size, kind.shape)).astype(
        kind.dtype.storage
    )


def signed_places(size: int) -> Values:
    """Places among `size`, counted from the front or from the end."""
    return lambda rng, kind: np.asarray(rng.integers(-size, size, kind.shape)).astype(
        kind.dtype.storage
    )


def special_values(dtype: DType) -> Array:
    """The values at which operators go wrong, in the computing type of `dtype`."""
    if dtype is bool_:
        return np.array([False, True])
    if not dtype.is_float:
        ends = np.iinfo(dtype.storage)
        small = [0, 1, 2, 3, 7] if dtype.kind == "u" else [0, 1, -1, 2, -2, 3, -3, 7, -7]
        return np.array([*small, ends.max, ends.max - 1, ends.min, ends.min + 1], dtype.storage)
    finite = [0.0, 1.0, 0.5, 1.5, 2.0, 2.5, 3.0, *_ends(dtype), np.inf]
    return np.array([*finite, *(-x for x in finite), np.nan], computing(dtype).storage)


def _ends(dtype: DType) -> tuple[float, float]:
    """The smallest normal and the largest finite value."""
    if dtype.name == "bfloat16":
        return 2.0**-126, (2 - 2.0**-7) * 2.0**127
    limits = np.finfo(dtype.storage)
    return float(limits.tiny), float(limits.max)


def special(rng: np.random.Generator, kind: TensorType) -> Array:
    """The special values in their order: with the shapes (n, 1) and (1, n) all pairs meet."""
    return special_values(kind.dtype).reshape(kind.shape)
