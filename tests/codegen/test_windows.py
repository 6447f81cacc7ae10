"""The adjoints of convolutions are rewritten as products over windows, and stay what they are."""

import numpy as np
import pytest
from contract.compute import leaf
from gradc.codegen.simplify import simplified
from gradc.codegen.windows import (
    FLAT,
    NARROW,
    overlapping_product,
    part_of_product,
    slides,
    sum_of_products,
)
from gradc.tracer.dtypes import float64, int64
from gradc.tracer.graph import Graph
from gradc.tracer.interpret import interpret
from gradc.tracer.ops import contraction, movement, reduction, window
from graphs.build import composed, graph_of, with_gradients
from graphs.compiled import sample
from walk import walk

from gradc import functional as F

X, W = leaf(0, (2, 4, 9, 8), float64), leaf(1, (6, 2, 3, 2), float64)


def convolved(stride: int, padding: int, dilation: int) -> Graph:
    sizes = (None, stride, padding, dilation, 2)
    return with_gradients(lambda x, w: composed(F.conv2d, x, w, *sizes), X, W)


def count(graph: Graph, name: str) -> int:
    return sum(node.op.name == name for node in graph.nodes())


@pytest.mark.parametrize("stride", [1, 2])
@pytest.mark.parametrize("padding", [0, 1, 4])
@pytest.mark.parametrize("dilation", [1, 2])
def test_values_stay(stride: int, padding: int, dilation: int) -> None:
    graph = convolved(stride, padding, dilation)
    arrays = sample(graph)
    found = interpret(simplified(graph), arrays, [], [])
    for x, y in zip(found, interpret(graph, arrays, [], []), strict=True):
        np.testing.assert_allclose(x, y, 1e-11, 1e-12)


@pytest.mark.parametrize("padding", [0, 1, 4])
def test_no_windows_are_added_up(padding: int) -> None:
    made = simplified(convolved(1, padding, 1))
    assert count(made, "unwindow") == count(made, "sum") == count(made, "add") == 0
    assert count(made, "matmul") == 3


def test_the_padding_is_not_computed_first_and_dropped_then() -> None:
    made = simplified(convolved(1, 1, 1))
    sizes = {node.shape[-1] for node in made.nodes() if node.op.name == "matmul"}
    assert sizes == {72 + 9, 9 * 8, 3}


def test_windows_of_what_was_reshaped_have_other_axes() -> None:
    """All but one column of the padding is dropped, and what is left is not (..., *space)."""
    x, w = leaf(0, (2, 2, 6, 5), float64), leaf(1, (2, 3, 3, 1), float64)
    graph = with_gradients(lambda x, w: composed(F.conv_transpose2d, x, w, None, 1, 2), x, w)
    arrays = sample(graph)
    found = interpret(simplified(graph), arrays, [], [])
    for a, b in zip(found, interpret(graph, arrays, [], []), strict=True):
        np.testing.assert_allclose(a, b, 1e-11, 1e-12)


@walk("padding", [0, 1, 2])
@walk(
    ("span", "strides"),
    [
        *(((2, 3), (2, 2)), ((3, 3), (2, 2)), ((4, 5), (2, 2)), ((7, 2), (2, 1))),
        *(((3, 4), (3, 3)), ((4, 3), (3, 2)), ((2, 4), (1, 4)), ((5, 5), (2, 3))),
    ],
)
def test_windows_apart_are_one_product_for_each_remainder(
    span: tuple[int, int], strides: tuple[int, int], padding: int
) -> None:
    x, w = leaf(0, (2, 3, 11, 9), float64), leaf(1, (4, 3, *span), float64)
    graphs = [
        with_gradients(lambda x, w: composed(F.conv2d, x, w, None, strides, padding), x, w),
        with_gradients(
            lambda x, w: composed(F.conv_transpose2d, x, w, None, strides, padding),
            leaf(0, (2, 4, 5, 6), float64),
            w,
        ),
    ]
    for graph in graphs:
        made = simplified(graph)
        assert count(made, "unwindow") == 0
        assert count(made, "matmul") >= strides[0] * strides[1]
        arrays = sample(graph)
        expected = interpret(graph, arrays, [], [])
        for a, b in zip(interpret(made, arrays, [], []), expected, strict=True):
            np.testing.assert_allclose(a, b, 1e-11, 1e-12)


@pytest.mark.parametrize(
    ("image", "channels", "span", "stride", "left"),
    [
        ((19, 19), FLAT + 1, (3, 3), 2, 1),
        ((19, 19), FLAT, (3, 3), 2, 0),
        ((19, 2 * NARROW + 1), FLAT + 1, (3, 3), 2, 0),
        ((23, 23), FLAT + 1, (5, 5), 2, 0),
        ((40, 40), 4, (4, 4), 4, 0),  # they do not overlap
        ((40, 40), 4, (5, 5), 4, 1),  # too many products
        ((40, 40), 4, (1, 3), 2, 1),  # places that no window reaches
    ],
)
def test_where_windows_apart_are_added_up(
    image: tuple[int, int], channels: int, span: tuple[int, int], stride: int, left: int
) -> None:
    x, w = leaf(0, (2, 3, *image), float64), leaf(1, (channels, 3, *span), float64)
    graph = with_gradients(lambda x, w: composed(F.conv2d, x, w, None, stride, 0), x, w)
    assert count(simplified(graph), "unwindow") == left


def test_dilated_windows_apart_are_left_alone() -> None:
    assert count(simplified(convolved(2, 1, 2)), "unwindow") == 1


@pytest.mark.parametrize("room", [0, 1, 5])
@pytest.mark.parametrize(
    ("span", "strides", "dilations"),
    [
        ((2, 3), (2, 3), (1, 1)),
        ((2, 1), (3, 2), (1, 1)),
        ((2, 2), (4, 3), (2, 2)),
        ((3, 1), (5, 1), (2, 9)),
    ],
)
def test_windows_that_do_not_overlap_are_moved(
    span: tuple[int, int], strides: tuple[int, int], dilations: tuple[int, int], room: int
) -> None:
    """Each element has one place, whatever lies between windows and behind the last one."""
    x = leaf(0, (2, 4, 3, *span), float64)
    reach = zip((4, 3), strides, span, dilations, strict=True)
    extents = tuple((n - 1) * s + d * (k - 1) + 1 + room for n, s, k, d in reach)
    spread = window.unwindow(x, (1, 2), strides, dilations, extents)
    graph = graph_of(reduction.sum(spread, (3, 4)))
    made = simplified(graph)
    assert count(made, "unwindow") == count(made, "sum") == count(made, "add") == 0
    arrays = sample(graph)
    found, expected = (interpret(each, arrays, [], []) for each in (made, graph))
    np.testing.assert_array_equal(found[0], expected[0])


def test_what_is_no_convolution_is_left_alone() -> None:
    a, b = leaf(0, (3, 4, 5), float64), leaf(1, (3, 5, 6), float64)
    product = contraction.matmul(a, b)
    assert not slides(product)
    assert sum_of_products(reduction.sum(product, (0,))) is None
    assert part_of_product(movement.slice_(product, 2, 1, 3)) is None
    spread = window.unwindow(leaf(0, (4, 5, 2), float64), (1,), (1,), (1,), (6,))
    assert overlapping_product(reduction.sum(spread, (2,))) is None


def test_whole_numbers_are_left_alone() -> None:
    a, b = leaf(0, (3, 4, 5), int64), leaf(1, (3, 5, 6), int64)
    assert sum_of_products(reduction.sum(contraction.matmul(a, b), (0,))) is None
    assert graph_of(a).nodes()
