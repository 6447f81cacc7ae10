"""Axes of a few elements are written out, so that conditions are known and lanes are filled."""

import numpy as np
import pytest
from contract.compute import leaf
from gradc.codegen.kernel import Kernel, Let
from gradc.codegen.layout import LEAST_LANES, SHORT
from gradc.codegen.target import CUDA, C, Target
from gradc.codegen.value import Load, Select
from gradc.codegen.verify import statements
from gradc.tracer.dtypes import float64
from gradc.tracer.graph import Graph
from gradc.tracer.interpret import interpret
from gradc.tracer.ops import elementwise as e
from gradc.tracer.ops import movement, reduction
from graphs.build import composed, graph_of, with_gradients
from graphs.compiled import Compiled, sample, written

from gradc import functional as F

IMAGE = leaf(0, (3, 4, 28, 28), float64)
PAIRS = leaf(0, (3, 2), float64)
LINES = leaf(0, (50, 30, 2), float64)


def pooled(size: int, stride: int) -> Graph:
    return with_gradients(lambda x: composed(F.max_pool2d, x * 2.0, size, stride), IMAGE)


def chosen_triples() -> Graph:
    """What is chosen lies in the reverse order."""
    x, y, z = (leaf(number, (7, 5, 3), float64) for number in range(3))
    positive, turned = e.gt(x, x * 0.0), movement.flip(y, 2) * 1.05
    low = e.exp(e.where(positive, x * 0.0, x))
    slope = e.where(positive, turned, x * 0.0) + e.where(positive, x * 0.0, turned * 1.67 * low)
    return graph_of(low, slope, reduction.sum(slope * z, (0, 1, 2)))


GRAPHS = {
    "pooling of 2 x 2 and its adjoint": pooled(2, 2),
    "pooling of 3 x 3, two apart": pooled(3, 2),
    "pooling of 4 x 4, four apart": pooled(4, 4),
    "pairs of which some are padding": graph_of(movement.pad(PAIRS, (1, 0), (3, 0))),
    "pairs of which some are padding, and more": graph_of(
        reduction.sum(leaf(1, (7, 2), float64) * leaf(2, (7, 2), float64), (0, 1)),
        movement.pad(PAIRS, (1, 0), (3, 0)),
        reduction.sum(leaf(2, (7, 2), float64), (0, 1)),
    ),
    "choices between triples": chosen_triples(),
    "pairs": graph_of(LINES * LINES),
    "sums of pairs": graph_of(reduction.sum(LINES * 3.0, (1, 2))),
    "a few of each": graph_of(movement.stepped(LINES, (0, 3, 0), (50, 9, 2), (1, 3, 1)) * 2.0),
}


def kernels(graph: Graph, target: Target = C) -> list[Kernel]:
    return [each for each in written(graph, target).program.launches if isinstance(each, Kernel)]


def conditions(kernel: Kernel) -> int:
    """How many statements ask where they are."""
    lets = (each.value for each, _, _ in statements(kernel) if isinstance(each, Let))
    return sum(bool(each.conditions) for each in lets if isinstance(each, Load | Select))


@pytest.mark.parametrize("name", GRAPHS)
def test_values_are_those_of_the_interpreter(name: str) -> None:
    graph = GRAPHS[name]
    arrays = sample(graph)
    expected = interpret(graph, arrays, [], [])
    for x, y in zip(Compiled(graph)(arrays), expected, strict=True):
        np.testing.assert_allclose(x, y, 1e-6)


@pytest.mark.parametrize("name", ["pairs", "sums of pairs"])
def test_the_innermost_loop_is_long(name: str) -> None:
    (kernel,) = kernels(GRAPHS[name])
    assert kernel.inner[-1].extent >= LEAST_LANES
    assert all(axis.extent > SHORT for axis in kernel.inner)


def test_the_adjoint_of_a_pooling_asks_nothing() -> None:
    """Of disjoint windows: to which one an element belongs is known when its place is."""
    adjoint = kernels(GRAPHS["pooling of 2 x 2 and its adjoint"])[-1]
    assert conditions(adjoint) == 0
    assert adjoint.inner[-1].extent == 14


def test_threads_of_a_device_take_an_element_each() -> None:
    (kernel,) = kernels(GRAPHS["pairs"], CUDA)
    assert kernel.row_count * kernel.inner_count == 50 * 30 * 2
