"""Convolutions are products through index maps: right for every shape, no windows stored."""

from math import prod

import numpy as np
import pytest
from contract.compute import leaf
from gradc.codegen.kernel import ImplicitLeft, ImplicitRight, memories_of
from gradc.codegen.target import CUDA, C
from gradc.tracer.dtypes import DType, float32, float64
from gradc.tracer.graph import Graph
from gradc.tracer.interpret import interpret
from gradc.tracer.ir import Node
from gradc.tracer.ops import contraction, reduction
from graphs.build import composed, gradients, graph_of, tracked, with_gradients
from graphs.compiled import Compiled, sample, written
from walk import walk

from gradc import functional as F

CONVOLUTIONS = {1: F.conv1d, 2: F.conv2d, 3: F.conv3d}
TRANSPOSED = {1: F.conv_transpose1d, 2: F.conv_transpose2d, 3: F.conv_transpose3d}

# input, weight, stride, padding, dilation, groups
SHAPES = {
    "of LeNet": ((3, 1, 28, 28), (6, 1, 5, 5), 1, 2, 1, 1),
    "a second one of LeNet": ((2, 6, 14, 14), (16, 6, 5, 5), 1, 0, 1, 1),
    "3 x 3": ((2, 3, 20, 32), (7, 3, 3, 3), 1, 1, 1, 1),
    "a narrow image": ((2, 3, 9, 3), (5, 3, 3, 3), 1, 1, 1, 1),
    "of 7 x 7": ((2, 9, 7, 7), (8, 9, 3, 3), 1, 1, 1, 1),
    "much padding": ((1, 2, 9, 10), (3, 2, 2, 2), 1, 3, 1, 1),
    "other padding for each axis": ((1, 2, 9, 18), (3, 2, 3, 2), 1, (0, 2), 1, 1),
    "two apart": ((2, 3, 19, 18), (5, 3, 3, 3), 2, 1, 1, 1),
    "three and one apart": ((2, 3, 19, 18), (5, 3, 4, 3), (3, 1), 1, 1, 1),
    "spread": ((2, 3, 17, 21), (4, 3, 3, 3), 1, 2, 2, 1),
    "spread and apart": ((1, 2, 17, 21), (4, 2, 3, 2), 2, 1, (3, 2), 1),
    "groups": ((2, 6, 11, 12), (9, 2, 3, 3), 1, 1, 1, 3),
    "one channel each": ((2, 4, 11, 12), (4, 1, 3, 3), 1, 1, 1, 4),
    "two results for each channel": ((2, 4, 11, 12), (8, 1, 3, 3), 2, 1, 1, 4),
    "1 x 1": ((2, 5, 8, 9), (7, 5, 1, 1), 1, 0, 1, 1),
    "1 x 1, two apart": ((2, 5, 8, 9), (7, 5, 1, 1), 2, 0, 1, 1),
    "a single result": ((2, 5, 8, 9), (1, 5, 3, 3), 1, 1, 1, 1),
    "of the size of the image": ((3, 2, 6, 6), (4, 2, 6, 6), 1, 0, 1, 1),
    "many channels": ((1, 70, 6, 18), (37, 70, 3, 3), 1, 1, 1, 1),
    "in one dimension": ((2, 3, 700), (5, 3, 9), 1, 4, 1, 1),
    "in one dimension, apart": ((2, 3, 45), (5, 3, 4), 3, 2, 2, 1),
    "in three dimensions": ((2, 2, 5, 6, 9), (3, 2, 3, 2, 3), 1, 1, 1, 1),
    "in three dimensions, apart": ((1, 2, 7, 6, 9), (3, 2, 3, 2, 3), (1, 2, 2), 1, 1, 1),
}


def convolved(name: str, dtype: DType) -> Graph:
    """The convolution and both of its adjoints."""
    x, w, *sizes = SHAPES[name]
    function = CONVOLUTIONS[len(x) - 2]
    leaves = leaf(0, x, dtype), leaf(1, w, dtype)
    return with_gradients(lambda a, b: composed(function, a, b, None, *sizes), *leaves)


def twice(name: str) -> Graph:
    """The derivatives of the length of both adjoints."""
    x, w, *sizes = SHAPES[name]
    function = CONVOLUTIONS[len(x) - 2]
    inputs = tracked((leaf(0, x, float64), leaf(1, w, float64)))
    y = composed(function, *inputs, None, *sizes)
    first = gradients(length(y), inputs, None)
    total = length(first[0]) + length(first[1])
    return graph_of(*gradients(total, inputs, None))


def length(x: Node) -> Node:
    """The sum of the squares of `x`."""
    squares = reduction.sum(x * x, tuple(range(x.ndim)))
    return composed(F.reshape, squares, ())


def check(graph: Graph, tolerance: float) -> None:
    """Compare the program of `graph` with the interpreter in float64."""
    arrays = sample(graph)
    expected = interpret(graph, arrays, [], [])
    for found, wanted in zip(Compiled(graph)(arrays), expected, strict=True):
        scale = max(np.abs(wanted).max(initial=0), 1)
        np.testing.assert_allclose(found, wanted, tolerance, tolerance * scale)


@walk("name", SHAPES)
def test_convolutions_and_adjoints(name: str) -> None:
    check(convolved(name, float64), 1e-12)


@walk("name", SHAPES)
def test_convolutions_in_single_precision(name: str) -> None:
    check(convolved(name, float32), 3e-5)


@pytest.mark.parametrize("name", ["3 x 3", "two apart", "groups", "in one dimension, apart"])
def test_second_derivatives(name: str) -> None:
    check(twice(name), 1e-11)


@pytest.mark.parametrize(("rank", "stride", "groups"), [(1, 1, 1), (2, 1, 2), (2, 2, 1), (3, 1, 1)])
def test_transposed_convolutions(rank: int, stride: int, groups: int) -> None:
    x = leaf(0, (2, 4, *(9, 6, 5)[:rank]), float64)
    w = leaf(1, (4, 3, *(3, 2, 3)[:rank]), float64)
    function = TRANSPOSED[rank]
    sizes = (None, stride, 1, stride - 1, 1, groups)
    check(with_gradients(lambda a, b: composed(function, a, b, *sizes), x, w), 1e-12)


def test_nothing_is_multiplied_that_lies_beside_an_image() -> None:
    """What vectors hold besides their places reaches no result: infinities do not spread."""
    graph = convolved("a second one of LeNet", float64)
    w, x, g = sample(graph)
    x[0, :, :, -1] = np.inf
    found = Compiled(graph)([w, x, g])[0]
    assert np.isfinite(found[0, :, :, :-1]).all()
    assert np.isfinite(found[1]).all()


# ---- structure


@pytest.mark.parametrize("name", ["of LeNet", "3 x 3", "many channels", "in one dimension"])
def test_no_memory_holds_windows(name: str) -> None:
    x, w, *_ = SHAPES[name]
    columns = prod(x) * prod(w[2:])
    program = written(convolved(name, float32), C).program
    touched = {memory for launch in program.launches for memory, _ in memories_of(launch)}
    assert all(memory.size < columns / 2 for memory in touched if memory.what == "arena")


def test_both_adjoints_are_implicit() -> None:
    launches = written(convolved("3 x 3", float32), C).program.launches
    assert sum(isinstance(each, ImplicitRight) for each in launches) == 2
    assert sum(isinstance(each, ImplicitLeft) for each in launches) == 1


def test_the_padding_of_an_adjoint_is_what_is_asked_for() -> None:
    """Results beside the image are not computed."""
    launches = written(convolved("3 x 3", float32), C).program.launches
    found = [each for each in launches if isinstance(each, ImplicitRight)]
    assert [prod(axis.extent for axis in each.columns) for each in found] == [640, 640]


def test_cuda_has_products() -> None:
    launches = written(convolved("3 x 3", float32), CUDA).program.launches
    assert not any(isinstance(each, ImplicitLeft | ImplicitRight) for each in launches)


def test_other_products_stay_what_they_are() -> None:
    a, b = leaf(0, (3, 8, 9), float32), leaf(1, (3, 9, 10), float32)
    launches = written(graph_of(contraction.matmul(a, b)), C).program.launches
    assert not any(isinstance(each, ImplicitLeft | ImplicitRight) for each in launches)


def test_chunks_follow_from_extents() -> None:
    """A large convolution falls into many parts, whatever the number of threads."""
    x, w = leaf(0, (1, 64, 56, 56), float32), leaf(1, (64, 64, 3, 3), float32)
    graph = with_gradients(lambda a, b: composed(F.conv2d, a, b, None, 1, 1), x, w)
    for each in written(graph, C).program.launches:
        if isinstance(each, ImplicitLeft | ImplicitRight):
            assert each.chunks >= 8


def test_what_lies_too_far_away_is_no_implicit_product() -> None:
    """Places are kept as 32 bits."""
    for channels, expected in ((1, 1), (1 << 12, 0)):
        x, w = leaf(0, (1, channels, 1024, 1024), float32), leaf(1, (2, channels, 3, 3), float32)
        launches = written(graph_of(composed(F.conv2d, x, w)), C).program.launches
        assert sum(isinstance(each, ImplicitRight) for each in launches) == expected


def test_what_is_packed_is_what_is_stored() -> None:
    """The cotangent is stored under one shape and packed under another."""
    x, w = leaf(0, (1, 1, 16, 12), float32), leaf(1, (8, 1, 4, 1), float32)

    def squares(x: Node, w: Node) -> Node:
        y = composed(F.conv2d, x, w)
        return reduction.sum(y * y, (0, 1, 2, 3))

    graph = with_gradients(squares, x, w)
    arrays = sample(graph)
    expected = interpret(graph, arrays, [], [])
    for found, y in zip(Compiled(graph)(arrays), expected, strict=True):
        np.testing.assert_allclose(found, y, 1e-4, 1e-4 * np.abs(y).max())


@walk("columns", [8, 10, 15, 16, 17, 20, 24, 31, 32, 33, 64])
@walk("dtype", [float32, float64])
def test_packed_columns_of_any_number(columns: int, dtype: DType) -> None:
    """gcc 12 took arrays on the stack for aligned to vectors that were not, at 16 columns."""
    for depth in (8, 17, 33, 129):
        a, b = leaf(0, (129, columns), dtype), leaf(1, (columns, depth), dtype)

        def total(x: Node, y: Node) -> Node:
            return reduction.sum(contraction.matmul(x, y), (0, 1))

        check(with_gradients(total, a, b), 1e-12 if dtype is float64 else 3e-5)


@pytest.mark.parametrize("channels", [(4, 16, 5), (16, 17, 3), (16, 16, 3), (3, 20, 4)])
def test_convolutions_of_computed_cotangents(channels: tuple[int, int, int]) -> None:
    before, behind, size = channels
    x, w = leaf(0, (2, before, 15, 15), float32), leaf(1, (behind, before, size, size), float32)

    def total(x: Node, w: Node) -> Node:
        y = composed(F.conv2d, x, w, None, 2, 1)
        return reduction.sum(composed(F.tanh, y), (0, 1, 2, 3))

    check(with_gradients(total, x, w), 3e-5)
