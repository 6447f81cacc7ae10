"""The middle of a loop over padded values asks nothing."""

import numpy as np
import pytest
from contract.compute import leaf
from gradc.codegen.interior import middle_of
from gradc.codegen.kernel import Kernel
from gradc.tracer.dtypes import float32
from gradc.tracer.graph import Graph
from gradc.tracer.interpret import interpret
from gradc.tracer.ops import movement, reduction
from graphs.build import composed, graph_of, with_gradients
from graphs.compiled import Compiled, body_of, sample, written

from gradc import functional as F

X = leaf(0, (5, 7, 20), float32)


def padded(low: int, high: int, rows: int = 0) -> Graph:
    return graph_of(movement.pad(X, (0, rows, low), (0, rows, high), fill=2.0) * 3.0)


def middles(graph: Graph) -> list[tuple[int, int, int]]:
    """Of each middle: where it begins and ends, and how much else is asked for."""
    kernels = [each for each in written(graph).program.launches if isinstance(each, Kernel)]
    found = [
        middle_of(stage, kernel.inner[-1])
        for kernel in kernels
        for stage in kernel.stages
        if kernel.inner
    ]
    return [(each.begin, each.end, len(each.outer)) for each in found if each is not None]


@pytest.mark.parametrize("ends", [(0, 1, 0), (3, 0, 0), (2, 5, 0), (1, 1, 1), (2, 2, 2)])
def test_values(ends: tuple[int, int, int]) -> None:
    graph = padded(*ends)
    arrays = sample(graph)
    (expected,) = interpret(graph, arrays, [], [])
    np.testing.assert_array_equal(Compiled(graph)(arrays)[0], expected)


def test_the_middle_is_what_lies_inside() -> None:
    assert middles(padded(2, 5)) == [(2, 22, 0)]
    assert middles(padded(2, 2, 1)) == [(2, 22, 1)]


def test_its_loop_has_no_conditions() -> None:
    text = body_of(written(padded(2, 5)).source)
    middle = text[text.index("left = 2;") :]
    middle = middle[middle.index("const int64_t i0 =") :]
    assert "?" not in middle[: middle.index("}")]


def test_nothing_asked_for_is_no_middle() -> None:
    assert middles(graph_of(X * 3.0)) == []


def test_what_is_spread_has_no_middle() -> None:
    """Elements between the others fail all along the loop."""
    spread = movement.pad(X, (0, 0, 0), (0, 0, 0), (0, 0, 1))
    assert middles(graph_of(spread * 3.0)) == []


def test_reductions_have_a_middle() -> None:
    """What the first and the last steps add joins what the middle adds."""
    low, high = (0, 0, 2), (0, 0, 5)
    padded = movement.pad(X, low, high) * 3.0
    for axes in ((2,), (0, 1, 2)):
        graph = graph_of(reduction.sum(padded, axes), reduction.max(padded, axes))
        arrays = sample(graph)
        for got, wanted in zip(
            Compiled(graph)(arrays), interpret(graph, arrays, [], []), strict=True
        ):
            np.testing.assert_allclose(got, wanted, 1e-6, 2e-6)  # sums of both signs, up to 20


@pytest.mark.parametrize(
    "size, padding, middle",
    [(3, 1, (1, 29)), (5, 2, (2, 28)), (5, 0, (4, 26)), (3, 3, (3, 31))],
)
def test_windows_of_all_channels_apart(size: int, padding: int, middle: tuple[int, int]) -> None:
    """The weights' gradient asks about sums of two axes; it has a middle for the worst of them."""
    image, weights = leaf(0, (2, 3, 20, 30)), leaf(1, (3, 1, 1, size, size))
    graph = with_gradients(
        lambda x, w: composed(F.conv2d, x, w, None, 1, padding, 1, 3), image, weights
    )
    arrays = sample(graph)
    for got, wanted in zip(Compiled(graph)(arrays), interpret(graph, arrays, [], []), strict=True):
        np.testing.assert_allclose(got, wanted, 1e-11, 1e-11)
    assert middle in {(begin, end) for begin, end, _ in middles(graph)}
