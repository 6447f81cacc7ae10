"""How work is spread over a CUDA device: all of it, within the limits, and evenly enough."""

import pytest
from contract.compute import leaf
from gradc.codegen.kernel import Combine, Kernel
from gradc.codegen.launch import (
    ELEMENTS,
    MANY_BLOCKS,
    MOST_BLOCKS,
    MOST_PIECES,
    MOST_SHARES,
    Launched,
    Spread,
    spread_of,
)
from gradc.codegen.pipeline import translate
from gradc.codegen.program import program_of
from gradc.codegen.target import CUDA
from gradc.tracer.dtypes import float32, int32
from gradc.tracer.ir import Node, Shape
from gradc.tracer.ops import contraction, indexing, reduction
from graphs.build import graph_of
from walk import walk

SHAPES: tuple[Shape, ...] = (
    *((1, 1), (5, 3), (300, 7), (90, 40), (40, 300), (3, 9000), (7, 100003), (100003, 7)),
    *((1 << 16, 1 << 10), (3, 1 << 33), (1 << 33, 3), ((1 << 31) + 1, 2), (0, 5), (5, 0), (0, 0)),
)


def chain(shape: Shape) -> Node:
    """An elementwise function of a matrix and a row."""
    return leaf(0, shape, float32) * leaf(1, shape[1:], float32)


def added(shape: Shape) -> Node:
    """A scatter of as many lines as a matrix has rows."""
    base, places = leaf(0, (1000, shape[1]), float32), leaf(1, (shape[0],), int32)
    return indexing.scatter_add(base, places, leaf(2, shape, float32), 0)


FUNCTIONS = {
    "chain": chain,
    "rows": lambda shape: reduction.sum(chain(shape), (1,)),
    "columns": lambda shape: reduction.sum(chain(shape), (0,)),
    "everything": lambda shape: reduction.sum(chain(shape), (0, 1)),
    "scatter": added,
    "product": lambda shape: contraction.matmul(
        leaf(0, shape, float32), leaf(1, (shape[1], 50), float32)
    ),
}


def kernels(node: Node) -> list[tuple[Kernel, Spread]]:
    """The kernels of a node, and how they are spread."""
    launches = program_of(graph_of(node), CUDA).launches
    return [(each, spread_of(each)) for each in launches if isinstance(each, Kernel)]


@walk("shape", SHAPES, ids=str)
@walk("function", FUNCTIONS)
def test_all_work_is_done(function: str, shape: Shape) -> None:
    for kernel, spread in kernels(FUNCTIONS[function](shape)):
        groups = spread.blocks * spread.threads // spread.group
        parts = spread.owners if kernel.ordered else kernel.chunks
        assert groups >= parts, "every chunk has a group"
        total = kernel.row_count if kernel.split == "rows" else kernel.inner_count
        assert (
            kernel.chunks * kernel.chunk >= total > (kernel.chunks - 1) * kernel.chunk or not total
        )
        if spread.pieces > 1:
            assert spread.is_block and spread.piece % spread.threads == 0
            assert spread.pieces * spread.piece >= kernel.inner_count
            assert (spread.pieces - 1) * spread.piece < kernel.inner_count


@walk("shape", SHAPES, ids=str)
@walk("function", FUNCTIONS)
def test_launches_are_within_the_limits(function: str, shape: Shape) -> None:
    launches: tuple[Launched, ...] = translate(
        graph_of(FUNCTIONS[function](shape)), CUDA
    ).source.launches
    for each in launches:
        blocks, pieces, layers = each.grid
        assert 1 <= blocks <= MOST_BLOCKS and 1 <= pieces <= MOST_PIECES and layers == 1
        threads, *others = each.block
        assert threads % 32 == 0 and 32 <= threads <= 512 and others == [1, 1]


@pytest.mark.parametrize("function", ["chain", "columns"])
def test_a_large_device_is_kept_busy(function: str) -> None:
    for shape in ((64, 1 << 20), (1 << 20, 64), (4096, 4096)):
        launches = translate(graph_of(FUNCTIONS[function](shape)), CUDA).source.launches
        blocks, pieces, _ = launches[0].grid
        assert 2 * blocks * pieces >= MANY_BLOCKS, shape


def test_a_chunk_of_elements_is_cut_out_of_long_rows() -> None:
    ((kernel, spread),) = kernels(leaf(0, (10 * ELEMENTS + 1,), float32) * 2.0)
    assert (kernel.split, kernel.chunk, kernel.chunks) == ("inner", ELEMENTS, 11)
    assert spread == Spread(11, 256, 256)


def test_sums_of_everything_leave_few_shares() -> None:
    program = program_of(graph_of(reduction.sum(leaf(0, (1 << 30,), float32), (0,))), CUDA)
    kernel, combine = program.launches
    assert isinstance(kernel, Kernel) and isinstance(combine, Combine)
    assert kernel.chunks == combine.chunks == MOST_SHARES


def test_short_rows_share_a_block() -> None:
    ((kernel, spread),) = kernels(reduction.sum(leaf(0, (9999, 10), float32), (1,)))
    assert (spread.group, spread.threads) == (8, 256)
    assert kernel.chunk > 1


def test_lines_of_a_scatter_have_owners() -> None:
    _, (kernel, spread) = kernels(added((5000, 1)))
    assert kernel.ordered and kernel.chunks == 1
    assert (spread.owners, spread.group) == (512, 1)


def test_nothing_is_launched_for_an_empty_product() -> None:
    assert translate(graph_of(FUNCTIONS["product"]((0, 3))), CUDA).source.launches == ()
