"""Arguments that lie across the rows are read in tiles; values against NumPy, at every edge."""

import numpy as np
import pytest
from contract.compute import leaf
from gradc.codegen.kernel import Kernel
from gradc.codegen.target import CUDA, C
from gradc.codegen.tiling import COLUMNS, FAR, ROWS, WHOLE, tiling_of
from gradc.tracer.dtypes import DType, bfloat16, bool_, float16, float32, float64, int8, int64
from gradc.tracer.graph import Graph
from gradc.tracer.interpret import interpret
from gradc.tracer.ir import Node
from gradc.tracer.ops import elementwise as e
from gradc.tracer.ops import movement, reduction
from gradc.tracer.ops.kinds import cast_to
from graphs.build import graph_of
from graphs.compiled import Compiled, body_of, sample, written
from walk import walk


def turned(x: Node) -> Node:
    """`x` with its last axis first."""
    return movement.transpose(x, (x.ndim - 1, *range(x.ndim - 1)))


def tilings(graph: Graph) -> list[tuple[int, int]]:
    """Of each kernel that is tiled: how many arguments, and how many elements of rows at a time."""
    kernels = [each for each in written(graph).program.launches if isinstance(each, Kernel)]
    found = [tiling_of(each) for each in kernels]
    return [(len(each.loads), each.columns) for each in found if each is not None]


def require_values(graph: Graph, tolerance: float = 0.0) -> None:
    arrays = sample(graph)
    expected = interpret(graph, arrays, [], [])
    for got, wanted in zip(Compiled(graph)(arrays), expected, strict=True):
        np.testing.assert_allclose(got, wanted, tolerance)


SHAPES = [
    *((rows, columns) for rows in (16, 23, 64, 100) for columns in (8, 15, 16, 17, 40, 63)),
    *((rows, 40) for rows in (WHOLE - 1, WHOLE, WHOLE + 1, 2 * COLUMNS + 3, 3 * COLUMNS)),
]


@walk("shape", SHAPES)
def test_transposes(shape: tuple[int, int]) -> None:
    graph = graph_of(turned(leaf(0, shape, float32)) * 3.0)
    tiled = (1, COLUMNS if shape[0] > WHOLE else shape[0])
    assert tilings(graph) == ([tiled] if shape[1] >= FAR else [])
    require_values(graph)


@pytest.mark.parametrize("dtype", [float16, bfloat16, float32, float64, int8, int64, bool_])
def test_types(dtype: DType) -> None:
    x = turned(leaf(0, (70, 37), dtype))
    graph = graph_of(e.logical_not(x) if dtype is bool_ else x + x)
    assert tilings(graph) == [(1, 70)]
    require_values(graph)


@pytest.mark.parametrize("shape", [(5, 3, 20, 30), (2, 50, 9), (3, 40, 7, 11), (1, 64, 128)])
@pytest.mark.parametrize("first", [1, 2])
def test_blocks_end_where_neighbours_do(shape: tuple[int, ...], first: int) -> None:
    """As channels come last: rows are neighbours in memory only within one image."""
    order = [0, *range(first + 1, len(shape)), *range(1, first + 1)]
    graph = graph_of(movement.transpose(leaf(0, shape, float32), tuple(order)) * 0.5)
    require_values(graph)


def test_several_arguments_beside_one_that_is_not_turned() -> None:
    a, b, c = leaf(0, (70, 90)), leaf(1, (70, 90)), leaf(2, (90, 70))
    graph = graph_of(turned(a) * c + turned(b))
    assert tilings(graph) == [(2, 70)]
    require_values(graph)


@pytest.mark.parametrize("columns", [70, WHOLE, WHOLE + 200])
def test_reductions_of_rows_see_the_whole_row(columns: int) -> None:
    x = turned(leaf(0, (columns, 90)))
    graph = graph_of(x / reduction.sum(e.exp(x), (1,)), reduction.max(x, (1,)))
    assert tilings(graph) == ([(1, columns)] if columns <= WHOLE else [])
    require_values(graph, 1e-13)


@pytest.mark.parametrize("columns", [70, WHOLE + 200])
def test_reductions_of_all_rows(columns: int) -> None:
    x, y = turned(leaf(0, (columns, 90))), leaf(1, (90, columns))
    graph = graph_of(x * y, reduction.sum(x * y, (0, 1)), reduction.sum(x * y, (0,)))
    require_values(graph, 1e-12)


def test_what_is_padded_is_asked_for_one_by_one() -> None:
    padded = movement.pad(leaf(0, (70, 90)), (1, 2), (3, 4))
    graph = graph_of(turned(padded) * 2.0)
    assert tilings(graph) == []
    require_values(graph)


def test_integers_as_floats() -> None:
    graph = graph_of(cast_to(turned(leaf(0, (70, 90), int64)), float32) * 2.0)
    require_values(graph)


def test_a_block_is_copied_in_the_order_of_memory() -> None:
    graph = graph_of(turned(leaf(0, (64, 48), float32)) * 3.0)
    text = body_of(written(graph, C).source)
    assert f"float tile0[{ROWS}][{64 + ROWS}]" in text
    assert "tile0[lane][i0 - block] = tile0_from[lane];" in text
    assert "tile" not in body_of(written(graph, CUDA).source)


def test_two_that_are_turned_against_each_other_are_two_kernels() -> None:
    """In one, both would be cut so that neither runs in the order of memory."""
    x, y = leaf(0, (512, 1024), float32), leaf(1, (1024, 512), float32)
    graph = graph_of(turned(x) * y, turned(y) * x)
    assert len(tilings(graph)) == 2
    require_values(graph)
