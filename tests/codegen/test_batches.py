"""Rows that go through a kernel in batches; values against NumPy in float64, at every edge."""

from collections.abc import Callable

import numpy as np
import pytest
from contract.compute import leaf
from gradc.codegen.batches import LONGEST, ROWS, SHORT, SHORTEST, Batches, batches_of
from gradc.codegen.kernel import Kernel
from gradc.runtime.support import get_num_threads, set_num_threads
from gradc.tracer.dtypes import DType, bfloat16, float16, float32, float64, int32
from gradc.tracer.graph import Graph
from gradc.tracer.ir import Node
from gradc.tracer.ops import elementwise as e
from gradc.tracer.ops import movement, reduction
from graphs.build import graph_of
from graphs.compiled import Array, Compiled, body_of, sample, written


def batches(graph: Graph) -> list[Batches]:
    """Those of the kernels of a graph."""
    kernels = [each for each in written(graph).program.launches if isinstance(each, Kernel)]
    found = (batches_of(each) for each in kernels)
    return [each for each in found if each is not None]


def along_rows(x: Node, values: Node) -> Node:
    """One value for each row, for all of its elements."""
    return movement.broadcast(values, x.shape)


def softmax(x: Node) -> tuple[Node, ...]:
    last = (x.ndim - 1,)
    powers = e.exp(x - along_rows(x, reduction.max(x, last)))
    return (powers / along_rows(x, reduction.sum(powers, last)),)


def numpy_softmax(x: Array) -> tuple[Array, ...]:
    powers = np.exp(x - x.max(-1, keepdims=True))
    return (powers / powers.sum(-1, keepdims=True),)


def norm(x: Node) -> tuple[Node, ...]:
    last = (x.ndim - 1,)
    centred = x - along_rows(x, reduction.sum(x, last) / float(x.shape[-1]))
    variance = reduction.sum(centred * centred, last) / float(x.shape[-1])
    return centred / along_rows(x, e.sqrt(variance + 1e-3)), variance


def numpy_norm(x: Array) -> tuple[Array, ...]:
    variance = x.var(-1, keepdims=True)
    return (x - x.mean(-1, keepdims=True)) / np.sqrt(variance + 1e-3), variance


def logistic(x: Node) -> tuple[Node, ...]:
    """Sums of rows, of all rows, and of columns, with functions of the sums between them."""
    last = (x.ndim - 1,)
    sums = e.sigmoid(reduction.sum(x, last))
    weighted = x * along_rows(x, sums)
    others = tuple(range(x.ndim - 1))
    return reduction.sum(e.log(sums), others), reduction.sum(weighted, others)


def numpy_logistic(x: Array) -> tuple[Array, ...]:
    sums = 1 / (1 + np.exp(-x.sum(-1, keepdims=True)))
    others = tuple(range(x.ndim - 1))
    return np.log(sums).sum(others, keepdims=True), (x * sums).sum(others, keepdims=True)


def extremes(x: Node) -> tuple[Node, ...]:
    last = (x.ndim - 1,)
    low, high = reduction.min(x, last), reduction.max(x, last)
    return (e.exp(low) + e.log(high * high + 1.0), reduction.sum(x * x, last))


def numpy_extremes(x: Array) -> tuple[Array, ...]:
    low, high = x.min(-1, keepdims=True), x.max(-1, keepdims=True)
    return np.exp(low) + np.log(high**2 + 1), (x * x).sum(-1, keepdims=True)


Function = tuple[Callable[[Node], tuple[Node, ...]], Callable[[Array], tuple[Array, ...]]]
FUNCTIONS: dict[str, Function] = {
    "softmax": (softmax, numpy_softmax),
    "norm": (norm, numpy_norm),
    "logistic": (logistic, numpy_logistic),
    "extremes": (extremes, numpy_extremes),
}
EVERY = pytest.mark.parametrize("name", FUNCTIONS)
TOLERANCE = {float32: 2e-5, float64: 1e-12}


def require_values(name: str, shape: tuple[int, ...], dtype: DType) -> Graph:
    function, by_numpy = FUNCTIONS[name]
    graph = graph_of(*function(leaf(0, shape, dtype)))
    arrays = sample(graph)
    expected = by_numpy(arrays[0].astype(float))
    for got, wanted in zip(Compiled(graph)(arrays), expected, strict=True):
        scale = TOLERANCE[dtype] * max(1.0, float(np.abs(wanted).max()))
        np.testing.assert_allclose(got, wanted, TOLERANCE[dtype], scale)
    return graph


SHAPES = [
    *((16, 10), (17, SHORTEST), (ROWS - 1, 33), (ROWS, SHORTEST - 1), (ROWS + 1, SHORT)),
    *((3 * ROWS + 5, SHORTEST), (3 * ROWS + 6, 10), (1000, 33), (1003, SHORT)),
]


@EVERY
@pytest.mark.parametrize("dtype", [float32, float64])
@pytest.mark.parametrize("shape", SHAPES)
def test_values(name: str, shape: tuple[int, int], dtype: DType) -> None:
    rows, length = shape
    graph = require_values(name, shape, dtype)
    if length >= SHORTEST and rows >= 100:
        assert batches(graph), "this is to test batches"


@EVERY
@pytest.mark.parametrize("length", [SHORT + 1, 100, LONGEST, LONGEST + 1, 600])
def test_longer_rows(name: str, length: int) -> None:
    graph = require_values(name, (200, length), float32)
    assert not (batches(graph) and length > LONGEST and name in ("softmax", "norm"))


@EVERY
@pytest.mark.parametrize("shape", [(4, 5, 30), (2, 3, 50, 20), (1, 70, 16), (130, 1, 24)])
def test_rows_of_several_axes(name: str, shape: tuple[int, ...]) -> None:
    assert batches(require_values(name, shape, float32)), "this is to test batches"


def test_a_row_is_of_several_axes() -> None:
    x = leaf(0, (100, 6, 9), float32)
    sums = e.tanh(reduction.sum(x, (1, 2)))
    graph = graph_of(x * movement.broadcast(sums, x.shape))
    arrays = sample(graph)
    wide = arrays[0].astype(float)
    (got,) = Compiled(graph)(arrays)
    wanted = wide * np.tanh(wide.sum((1, 2), keepdims=True))
    np.testing.assert_allclose(got, wanted, 1e-5, 1e-5)


@EVERY
def test_any_number_of_threads_gives_the_same_bits(name: str) -> None:
    graph = graph_of(*FUNCTIONS[name][0](leaf(0, (3000, 40), float32)))
    assert batches(graph)
    compiled, arrays = Compiled(graph), sample(graph)
    before, found = get_num_threads(), []
    for threads in (1, 2, 3):
        set_num_threads(threads)
        found.append([each.tobytes() for each in compiled(arrays)])
    set_num_threads(before)
    assert found[0] == found[1] == found[2]


def test_values_that_are_not_numbers_stay_in_their_rows() -> None:
    graph = graph_of(*softmax(leaf(0, (70, 12), float32)))
    arrays = sample(graph)
    arrays[0][3, 4], arrays[0][69, 0] = np.nan, np.inf
    (got,) = Compiled(graph)(arrays)
    assert np.flatnonzero(np.isnan(got).any(1)).tolist() == [3, 69]


@pytest.mark.parametrize("dtype", [float16, bfloat16])
def test_halves_go_row_by_row(dtype: DType) -> None:
    assert not batches(graph_of(*softmax(leaf(0, (100, 12), dtype))))


def test_places_go_row_by_row() -> None:
    x = leaf(0, (100, 12), float32)
    assert not batches(graph_of(reduction.argmax(x, (1,)), e.exp(reduction.sum(x, (1,)))))


def test_whole_numbers() -> None:
    x = leaf(0, (100, 12), int32)
    graph = graph_of(x * along_rows(x, reduction.sum(x * x, (1,))))
    assert batches(graph)
    arrays = sample(graph)
    (got,) = Compiled(graph)(arrays)
    np.testing.assert_array_equal(got, arrays[0] * (arrays[0] ** 2).sum(1, keepdims=True))


@pytest.mark.parametrize("shape", [(20, 8), (64, 8), (70, 33), (128, 16), (200, 60)])
@pytest.mark.parametrize("count", [2, 3])
def test_rows_whose_short_axis_is_written_out(shape: tuple[int, int], count: int) -> None:
    """What is kept of a row has all of its elements, not one for each step of the loop."""
    parts = [leaf(slot, (*shape, 1), float32) for slot in range(count)]
    powers = e.exp(movement.concat(tuple(parts), 2))
    part = powers / movement.broadcast(reduction.sum(powers, (1, 2)), powers.shape)
    most = movement.broadcast(reduction.max(part * part, (1, 2)), powers.shape)
    graph = graph_of(part - most)
    arrays = sample(graph)
    (got,) = Compiled(graph)(arrays)
    wide = np.exp(np.concatenate(arrays, 2).astype(float))
    wide /= wide.sum((1, 2), keepdims=True)
    np.testing.assert_allclose(got, wide - (wide**2).max((1, 2), keepdims=True), 1e-5, 1e-7)
    for found in batches(graph):
        assert all(each.per_chunk == count * shape[1] for each in found.cached)


def test_a_phase_loads_what_it_needs() -> None:
    x, shift = leaf(0, (100, 20), float32), leaf(1, (100, 1), float32)
    total = e.exp(reduction.sum(x, (1,)))
    graph = graph_of(e.tanh(total) + total * shift + movement.broadcast(shift, (100, 1)))
    text = body_of(written(graph).source)
    assert batches(graph)
    assert text.count("= x1[r0];") == 1
