"""Arguments for cube roots, and whether roots are right, by exact fractions."""

from fractions import Fraction
from typing import Any

import numpy as np
from contract.compute import leaf
from gradc.tracer.dtypes import DType
from gradc.tracer.graph import Graph, canonical
from gradc.tracer.ops import elementwise as e
from graphs.compiled import Array

ULPS = 4
"""What is allowed: glibc's vectors are within 4 units in the last place, all else within 1."""


def graph_on(x: Array, dtype: DType) -> Graph:
    """The cube roots of such an array."""
    return canonical([e.cbrt(leaf(0, x.shape, dtype))])[0]


def numbers(dtype: DType) -> Array:
    """Numbers of all sizes and both signs: those next to cubes, subnormal ones, the ends."""
    real = np.dtype(dtype.name).type
    ends = np.finfo(real)
    spread = np.geomspace(ends.tiny, ends.max / 2, 301).astype(real)
    cubes = np.arange(1, 40).astype(real) ** 3
    near = [np.nextafter(cubes, real(0)), cubes, np.nextafter(cubes, real(np.inf))]
    below = np.array([1, 2, 3, 7, 1001], real) * ends.smallest_subnormal
    positive = np.concatenate([spread, *near, below, [ends.max]]).astype(real)
    return np.concatenate([positive, -positive])


def lies_within(root: Any, x: Any, units: int) -> bool:
    """Whether the cube root of x lies no farther than so many units of `root` from it."""
    middle, off = Fraction(float(root)), units * Fraction(float(np.spacing(abs(root))))
    return (middle - off) ** 3 <= Fraction(float(x)) <= (middle + off) ** 3


def require_exact(x: Array, found: Array) -> None:
    """Fail where a root is off by more than a few units, or is of another type."""
    assert found.dtype == x.dtype
    assert not [(a, b) for a, b in zip(x, found, strict=True) if not lies_within(b, a, ULPS)]
