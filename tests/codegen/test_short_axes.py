"""Axes of a few elements are written out, so that conditions are known and lanes are filled."""

from dataclasses import replace

import numpy as np
import pytest
from contract.compute import leaf
from gradc.codegen.kernel import Kernel, Let
from gradc.codegen.layout import LEAST_LANES, SHORT
from gradc.codegen.target import CUDA, C, Target
from gradc.codegen.value import Load, Select, Stride
from gradc.codegen.verify import require_sound, statements
from gradc.codegen.windows import FLAT
from gradc.tracer.dtypes import float64
from gradc.tracer.graph import Graph
from gradc.tracer.interpret import interpret
from gradc.tracer.ir import Node
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


def padded_pooling(size: int, stride: int, padding: int, shape: tuple[int, ...]) -> Graph:
    image = leaf(0, shape, float64)
    return with_gradients(lambda x: composed(F.max_pool2d, x, size, stride, padding), image)


DEEP = FLAT + 1
"""Channels of which windows two apart are added up, and not multiplied for each remainder."""


def convolved(stride: int, padding: int, shape: tuple[int, ...], kernel: int = 3) -> Graph:
    image, weights = leaf(0, shape, float64), leaf(1, (DEEP, shape[1], kernel, kernel), float64)
    return with_gradients(
        lambda x, w: composed(F.conv2d, x, w, None, stride, padding), image, weights
    )


def transposed_convolution(stride: int, padding: int) -> Graph:
    """With a loss that is summed where the result is made."""
    image, weights = leaf(0, (2, DEEP, 16, 18), float64), leaf(1, (DEEP, 4, 4, 4), float64)

    def loss(x: Node, w: Node) -> Node:
        made = composed(F.conv_transpose2d, x, w, None, stride, padding)
        return reduction.sum(made * made, (0, 1, 2, 3))

    return with_gradients(loss, image, weights)


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
    "pooling of 3 x 3, two apart, padded": padded_pooling(3, 2, 1, (2, 3, 32, 32)),
    "pooling of 3 x 3, two apart, padded, odd": padded_pooling(3, 2, 1, (2, 3, 21, 39)),
    "pooling of 5 x 5, three apart, padded": padded_pooling(5, 3, 2, (1, 3, 40, 37)),
    "convolution, two apart": convolved(2, 1, (2, 6, 32, 32)),
    "convolution, two apart, odd": convolved(2, 1, (2, 6, 23, 41)),
    "convolution, three apart": convolved(3, 2, (2, 3, 40, 40), 4),
    "transposed convolution, two apart": transposed_convolution(2, 1),
    "transposed convolution, three apart": transposed_convolution(3, 0),
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
        np.testing.assert_allclose(x, y, 1e-10, 1e-12)


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


@pytest.mark.parametrize(
    "name",
    [
        "pooling of 3 x 3, two apart, padded",
        "convolution, two apart",
        "transposed convolution, two apart",
    ],
)
def test_where_only_edges_ask_the_interior_does_not(name: str) -> None:
    parts = [stage.interior for each in kernels(GRAPHS[name]) for stage in each.stages]
    (part,) = [each for each in parts if each is not None]
    lets = [each.value for each in part.body if isinstance(each, Let)]
    asked = {c for each in lets if isinstance(each, Load | Select) for c in each.conditions}
    assert asked == set(part.asked)
    assert not any(isinstance(each, Stride) or part.steps in each[0].axes() for each in asked)
    assert part.steps.extent >= part.along.extent - 2


def test_an_interior_that_writes_elsewhere_is_found() -> None:
    made = written(GRAPHS["convolution, two apart"]).program
    launches = list(made.launches)
    place = next(k for k, each in enumerate(launches) if interior_of(each))
    kernel = launches[place]
    assert isinstance(kernel, Kernel)
    (stage,) = kernel.stages
    assert stage.interior is not None
    for part in (
        replace(stage.interior, begin=stage.interior.begin + 1),
        replace(stage.interior, body=stage.interior.body[:-1]),
    ):
        wrong = replace(kernel, stages=(replace(stage, interior=part),))
        launches[place] = wrong
        with pytest.raises(AssertionError, match=r"another body writes|is no part of"):
            require_sound(replace(made, launches=tuple(launches)))


def interior_of(launch: object) -> bool:
    return isinstance(launch, Kernel) and any(each.interior for each in launch.stages)


def test_threads_of_a_device_take_an_element_each() -> None:
    (kernel,) = kernels(GRAPHS["pairs"], CUDA)
    assert kernel.row_count * kernel.inner_count == 50 * 30 * 2
