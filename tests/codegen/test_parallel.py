"""Large graphs: many chunks, on one thread and on several, give the same bits."""

from collections.abc import Iterator

import numpy as np
import pytest
from contract.compute import leaf
from gradc.codegen.kernel import Kernel
from gradc.runtime.support import get_num_threads, set_num_threads
from gradc.tracer.dtypes import float16, float32, int32
from gradc.tracer.graph import Graph
from gradc.tracer.interpret import interpret
from gradc.tracer.ir import Node
from gradc.tracer.ops import contraction, indexing, movement, reduction
from gradc.tracer.ops import elementwise as e
from graphs.build import composed, graph_of, with_gradients
from graphs.compiled import Compiled, differences, sample
from graphs.named import chain

from gradc import functional as F


@pytest.fixture(autouse=True)
def threads() -> Iterator[None]:
    before = get_num_threads()
    yield
    set_num_threads(before)


def classes(x: Node, bias: Node, label: Node) -> Node:
    return composed(F.cross_entropy, x + bias, label)


X = leaf(0, (700, 300), float32)
GRAPHS: dict[str, Graph] = {
    "elementwise": with_gradients(chain, leaf(0, (400_003,), float32)),
    "softmax": with_gradients(lambda x: composed(F.softmax, x, -1), X),
    "layer norm": with_gradients(
        lambda x, w, b: composed(F.layer_norm, x, 300, True, w, b),
        *(X, leaf(1, (300,), float32), leaf(2, (300,), float32)),
    ),
    "cross entropy": with_gradients(classes, X, leaf(1, (300,), float32), leaf(2, (700,), int32)),
    "column sums": graph_of(reduction.sum(leaf(0, (9001, 33), float32), (0,))),
    "column extrema": graph_of(
        reduction.max(leaf(0, (9001, 33)), (0,)), reduction.min(leaf(0, (9001, 33)), (0,))
    ),
    "sum of everything": graph_of(reduction.sum(leaf(0, (513, 1025), float32), (0, 1))),
    "product of everything": graph_of(reduction.prod(leaf(0, (300_000,)) * 1e-7 + 1.0, (0,))),
    "sum of halves": graph_of(reduction.sum(e.tanh(leaf(0, (200, 999), float16)), (1,))),
    "place of the largest": graph_of(reduction.argmax(X, (1,)), reduction.argmin(X, (0, 1))),
    "transposed": graph_of(movement.transpose(e.sin(X), (1, 0)) + leaf(1, (300, 700), float32)),
    "rows of a table": graph_of(e.sin(indexing.take(X, leaf(1, (5000,), int32), 0))),
    "products": with_gradients(
        lambda a, b: e.tanh(contraction.matmul(a, b)), X, leaf(1, (300, 129), float32)
    ),
    "large products": with_gradients(
        lambda a, b: e.tanh(contraction.matmul(a, b)),
        *(leaf(0, (620, 530), float32), leaf(1, (530, 620), float32)),
    ),
    "batch of large products": graph_of(
        contraction.matmul(leaf(0, (2, 400, 520), float32), leaf(1, (2, 520, 1000), float32))
    ),
    "batch of products": graph_of(
        contraction.matmul(leaf(0, (40, 33, 65), float32), leaf(1, (40, 65, 34), float32))
    ),
}


@pytest.mark.parametrize("name", GRAPHS)
def test_results_do_not_depend_on_threads(name: str) -> None:
    graph = GRAPHS[name]
    compiled, arrays = Compiled(graph), sample(graph)
    results = []
    for count in (1, 2, 3, 1):
        set_num_threads(count)
        results.append([each.tobytes() for each in compiled(arrays)])
    assert all(each == results[0] for each in results)


@pytest.mark.parametrize("name", GRAPHS)
def test_large_graphs_give_what_the_interpreter_gives(name: str) -> None:
    graph = GRAPHS[name]
    arrays = sample(graph)
    expected = interpret(graph, arrays, [], [])
    for node, x, y in zip(graph.outputs, Compiled(graph)(arrays), expected, strict=True):
        scale = max(float(np.abs(y.astype(np.float64)).max(initial=0)), 1e-30)
        tolerance = 2e-3 if node.dtype is float16 else 1e-4 if "products" in name else 1e-5
        assert not differences(x, y, node.type, tolerance, tolerance * scale)


def test_most_of_them_have_many_chunks() -> None:
    chunks = {
        name: max(
            (
                each.chunks
                for each in Compiled(graph).made.program.launches
                if isinstance(each, Kernel)
            ),
            default=0,
        )
        for name, graph in GRAPHS.items()
    }
    assert [name for name, count in chunks.items() if count < 2] == [
        "batch of large products",
        "batch of products",
    ]


def test_a_sum_of_floats_keeps_their_digits() -> None:
    """Half a million equal numbers: added up one by one in float32 they lose three digits more.

    Each of 8 lanes adds 64 of a block of 512, and is five in 10^7 off; with 16 lanes it is less.
    """
    graph = GRAPHS["sum of everything"]
    arrays = [np.full((513, 1025), 0.1, np.float32)]
    (found,) = Compiled(graph)(arrays)
    assert float(found.reshape(())) == pytest.approx(513 * 1025 * float(np.float32(0.1)), rel=1e-6)
