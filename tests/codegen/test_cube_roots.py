"""Cube roots, as the interpreter and C have them, against exact fractions."""

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from contract.compute import leaf
from gradc.tracer.dtypes import DType, float32, float64
from gradc.tracer.graph import Graph, canonical
from gradc.tracer.interpret import interpret
from gradc.tracer.ops import elementwise as e
from graphs.compiled import Array, Compiled

ULPS = 4
"""What is allowed: glibc's vectors are within 4 units in the last place, all else within 1."""


def interpreted(graph: Graph) -> Callable[[Sequence[Array]], list[Array]]:
    """The interpreter, called as a compiled graph is."""
    return lambda arrays: interpret(graph, arrays, [], [])


EVALUATORS: dict[str, Callable[[Graph], Any]] = {"interpreter": interpreted, "C": Compiled}


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


@pytest.mark.parametrize("evaluator", EVALUATORS)
@pytest.mark.parametrize("dtype", [float32, float64], ids=str)
def test_cube_roots_are_exact_to_a_few_units(evaluator: str, dtype: DType) -> None:
    x = numbers(dtype)
    graph = canonical([e.cbrt(leaf(0, x.shape, dtype))])[0]
    (found,) = EVALUATORS[evaluator](graph)([x])
    assert found.dtype == x.dtype
    wrong = [(a, b) for a, b in zip(x, found, strict=True) if not lies_within(b, a, ULPS)]
    assert not wrong


@pytest.mark.parametrize("evaluator", EVALUATORS)
@pytest.mark.parametrize("dtype", [float32, float64], ids=str)
def test_cube_roots_of_special_values(evaluator: str, dtype: DType) -> None:
    """On arrays as long as several vectors, so that the lanes have them too."""
    x = np.repeat(np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, -1.0], dtype.name), 37)
    graph = canonical([e.cbrt(leaf(0, x.shape, dtype))])[0]
    (found,) = EVALUATORS[evaluator](graph)([x])
    np.testing.assert_array_equal(found, x)
    numbers = ~np.isnan(x)
    np.testing.assert_array_equal(np.signbit(found[numbers]), np.signbit(x[numbers]))
