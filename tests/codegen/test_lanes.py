"""Loops whose last lanes do some elements twice give what the others give."""

import numpy as np
import pytest
from contract.compute import leaf
from gradc.codegen.lanes import LEAST, MOST, lanes_of
from gradc.tracer.dtypes import DType, bfloat16, bool_, float32, float64, int8, int32
from gradc.tracer.graph import Graph
from gradc.tracer.interpret import interpret
from gradc.tracer.ops import elementwise as e
from gradc.tracer.ops import movement, reduction
from graphs.build import graph_of
from graphs.compiled import Compiled, body_of, sample, written
from walk import walk


def laned(graph: Graph) -> bool:
    return "start + lane" in body_of(written(graph).source)


def require_values(graph: Graph) -> None:
    arrays = sample(graph)
    expected = interpret(graph, arrays, [], [])
    for got, wanted in zip(Compiled(graph)(arrays), expected, strict=True):
        np.testing.assert_allclose(got, wanted, 1e-6)


@pytest.mark.parametrize(
    ("begin", "end", "expected"),
    [
        *((0, 16, 0), (0, 28, 16), (0, 24, 0), (0, 15, 8), (1, 8, 4), (0, 8, 0), (0, 3, 0)),
        *((0, 0, 0), ("0", "17", 16), ("block", "stop", 0), ("0", "stop", 0)),
        *((5, 200, 16), (0, 1000, 0)),
    ],
)
def test_how_many_go_together(begin: int | str, end: int | str, expected: int) -> None:
    assert lanes_of(begin, end) == expected
    assert expected == 0 or LEAST <= expected <= MOST


@walk("length", [*range(1, 36), 49, 63, 100])
def test_every_length(length: int) -> None:
    x = leaf(0, (9, length), float32)
    padded = movement.pad(x, (1, 2), (2, 0))
    graph = graph_of(e.tanh(padded) * leaf(1, padded.shape, float32))
    assert laned(graph) or length not in (21, 28, 31, 49, 63, 100), "this is to test lanes"
    require_values(graph)


@pytest.mark.parametrize("dtype", [bool_, int8, int32, bfloat16, float32, float64])
def test_types(dtype: DType) -> None:
    x = leaf(0, (8, 21), dtype)
    padded = movement.pad(x, (1, 1), (1, 1))
    graph = graph_of(e.logical_not(padded) if dtype is bool_ else padded + padded)
    assert laned(graph)
    require_values(graph)


def test_sums_and_steps_of_several_elements_go_once() -> None:
    x = leaf(0, (40, 23), float32)
    assert not laned(graph_of(reduction.sum(movement.pad(x, (1, 0), (1, 0)), (1,))))
    every_second = movement.slice_(movement.pad(x, (1, 0), (1, 24)), 1, 0, 47, 2)
    graph = graph_of(every_second * 2.0)
    assert not laned(graph)
    require_values(graph)
