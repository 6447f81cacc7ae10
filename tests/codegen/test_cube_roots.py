"""Cube roots, as the interpreter and C have them, against exact fractions."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from gradc.tracer.dtypes import DType, float32, float64
from gradc.tracer.graph import Graph
from gradc.tracer.interpret import interpret
from graphs.compiled import Array, Compiled
from graphs.cube_roots import graph_on, numbers, require_exact


def interpreted(graph: Graph) -> Callable[[Sequence[Array]], list[Array]]:
    """The interpreter, called as a compiled graph is."""
    return lambda arrays: interpret(graph, arrays, [], [])


EVALUATORS: dict[str, Callable[[Graph], Any]] = {"interpreter": interpreted, "C": Compiled}


@pytest.mark.parametrize("evaluator", EVALUATORS)
@pytest.mark.parametrize("dtype", [float32, float64], ids=str)
def test_cube_roots_are_exact_to_a_few_units(evaluator: str, dtype: DType) -> None:
    x = numbers(dtype)
    require_exact(x, EVALUATORS[evaluator](graph_on(x, dtype))([x])[0])


@pytest.mark.parametrize("evaluator", EVALUATORS)
@pytest.mark.parametrize("dtype", [float32, float64], ids=str)
def test_cube_roots_of_special_values(evaluator: str, dtype: DType) -> None:
    """On arrays as long as several vectors, so that the lanes have them too."""
    x = np.repeat(np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, -1.0], dtype.name), 37)
    (found,) = EVALUATORS[evaluator](graph_on(x, dtype))([x])
    np.testing.assert_array_equal(found, x)
    known = ~np.isnan(x)
    np.testing.assert_array_equal(np.signbit(found[known]), np.signbit(x[known]))
