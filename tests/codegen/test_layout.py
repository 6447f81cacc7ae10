"""Layouts: axes split and joined so that places need no division; every element is met once."""

import re
from collections.abc import Iterator

import pytest
from contract.compute import leaf
from gradc.codegen.fuse import fuse
from gradc.codegen.index import Index, of_axis
from gradc.codegen.kernel import Kernel, Let, Program, Put
from gradc.codegen.layout import layout_of
from gradc.codegen.simplify import simplified
from gradc.codegen.value import indices_of
from gradc.codegen.verify import statements
from gradc.tracer.dtypes import float32
from gradc.tracer.graph import Graph
from gradc.tracer.ir import Node
from gradc.tracer.ops import elementwise as e
from gradc.tracer.ops import movement, reduction
from graphs.arbitrary import graphs
from graphs.build import graph_of, with_gradients
from graphs.compiled import body_of, written
from graphs.evaluate import evaluated, points
from graphs.named import EVERY, LARGER, NAMED
from hypothesis import assume, given
from walk import walk

X = leaf(0, (4, 6, 10))


def reshaped(shape: tuple[int, ...], x: Node = X) -> Node:
    return movement.reshape(x, shape)


def kernels(made: Program) -> list[Kernel]:
    return [each for each in made.launches if isinstance(each, Kernel)]


def loops(graph: Graph) -> list[tuple[tuple[int, ...], tuple[int, ...]]]:
    """The extents of the rows and of the inside of a row, for each kernel."""
    return [
        (tuple(a.extent for a in each.rows), tuple(a.extent for a in each.inner))
        for each in kernels(written(graph).program)
    ]


def indices(made: Program) -> Iterator[Index]:
    for kernel in kernels(made):
        for statement, _, _ in statements(kernel):
            if isinstance(statement, Let):
                yield from indices_of(statement.value)
            elif isinstance(statement, Put):
                yield statement.offset


# ---- loops

SHOWN = leaf(1, (6, 10))
LOOPS: dict[str, tuple[Graph, list[tuple[tuple[int, ...], tuple[int, ...]]]]] = {
    "one loop for what lies in a row": (graph_of(e.sin(X)), [((), (240,))]),
    "reshaped": (graph_of(e.sin(reshaped((8, 30)))), [((), (240,))]),
    "two operands": (graph_of(X + leaf(1, (4, 6, 10))), [((), (240,))]),
    "repeated over the first axis": (graph_of(X + SHOWN), [((4,), (60,))]),
    "repeated over the last axis": (graph_of(X + leaf(1, (4, 6, 1))), [((24,), (10,))]),
    "repeated over the middle": (graph_of(X + leaf(1, (4, 1, 10))), [((4, 6), (10,))]),
    "transposed": (graph_of(e.sin(movement.transpose(X, (2, 0, 1)))), [((10,), (24,))]),
    "split by a reshape": (
        graph_of(movement.transpose(reshaped((2, 2, 60)), (1, 0, 2)) + reshaped((2, 2, 60))),
        [((2, 2), (60,))],
    ),
    "split in the middle": (
        graph_of(reshaped((24, 10)) + movement.reshape(leaf(1, (240,)), (24, 10))),
        [((), (240,))],
    ),
    "rows": (graph_of(reduction.sum(X, (2,))), [((24,), (10,))]),
    "last two axes": (graph_of(reduction.sum(X, (1, 2))), [((4,), (60,))]),
    "columns": (graph_of(reduction.sum(X, (0,))), [((4,), (60,))]),
    "everything": (graph_of(reduction.sum(X, (0, 1, 2))), [((), (240,))]),
    "a number": (graph_of(e.sin(leaf(0, ()))), [((), ())]),
}


@pytest.mark.parametrize("name", LOOPS)
def test_loops(name: str) -> None:
    graph, expected = LOOPS[name]
    assert loops(graph) == expected


# ---- divisions

DIVIDED = re.compile(r"(?<!/)[/%](?![/*])|gradc_(floordiv|mod)_i64")


def heads(x: Node) -> Node:
    """Four heads in front, as attention has them, and back."""
    split = movement.transpose(movement.reshape(x, (5, 4, 8)), (1, 0, 2))
    return movement.reshape(movement.transpose(e.exp(split), (1, 0, 2)), (5, 32))


PLAIN: dict[str, Graph] = {
    "flattened and summed": graph_of(reduction.sum(reshaped((24, 10)), (1,)), e.sin(X)),
    "heads": with_gradients(heads, leaf(0, (5, 32))),
    "blocks": graph_of(reduction.max(reshaped((2, 2, 3, 2, 5, 2)), (1, 3, 5))),
    "space to depth": graph_of(
        reshaped((4, 3, 5, 4), movement.transpose(reshaped((4, 3, 2, 5, 2)), (0, 1, 3, 2, 4))) * 2.0
    ),
    "pad": graph_of(movement.pad(X, (1, 0, 2), (0, 1, 1)) * 2.0),
    "slice backwards": graph_of(movement.flip(X, 2) + X),
    "strided": graph_of(movement.slice_(X, 1, 1, None, 2) * 2.0),
    **{name: make() for name, make in NAMED.items() if name != "take_scatter"},
    **{name: make() for name, make in LARGER.items()},
}


@walk("name", PLAIN)
def test_no_index_is_divided(name: str) -> None:
    made = written(PLAIN[name])
    for index in indices(made.program):
        for atom, _ in index.terms:
            assert type(atom).__name__ not in ("Quotient", "Remainder"), index
    loads = [line for line in body_of(made.source).splitlines() if " = x" in line]
    assert not [line for line in loads if DIVIDED.search(line.partition("//")[0])]


def test_a_split_that_does_not_divide_stays_a_division() -> None:
    odd = reshaped((10, 24), movement.transpose(X, (1, 0, 2)))
    made = written(graph_of(odd * reshaped((10, 24))))
    assert any(not index.is_affine() for index in indices(made.program))


def test_interior_padding_needs_a_division() -> None:
    made = written(graph_of(movement.pad(X, (0, 0, 0), (0, 0, 0), (0, 0, 1)) * 2.0))
    assert any(not index.is_affine() for index in indices(made.program))


# ---- layouts run over every element once


def assert_every_element_once(graph: Graph) -> None:
    simple = simplified(graph)
    for step in fuse(simple.outputs, simple.nodes()).steps:
        if step.cluster is None:
            continue
        layout = layout_of(step.cluster)
        for item in step.cluster.items:
            image = layout.images[item.node]
            if not 0 < item.size <= 3000:
                continue
            used = {axis for axis in (*layout.rows, *layout.inner) if axis.extent > 1}
            listed = [image.get(axis, of_axis(axis)) for axis in item.axes]
            axes = [axis for axis in used if any(axis in each.axes() for each in listed)]
            found = {tuple(evaluated(each, at) for each in listed) for at in points(axes)}
            assert len(found) == item.size
            for number, axis in enumerate(item.axes):
                assert {place[number] for place in found} == set(range(axis.extent))


@pytest.mark.parametrize("name", EVERY)
def test_every_element_of_known_graphs_is_met_once(name: str) -> None:
    assert_every_element_once(EVERY[name]())


@given(graphs(most=16))
def test_every_element_of_random_graphs_is_met_once(graph: Graph) -> None:
    assume(len(graph.nodes()) < 200)
    assert_every_element_once(graph)


def test_axes_of_extent_one_cost_no_loop() -> None:
    x = leaf(0, (1, 30, 1, 40), float32)
    assert loops(graph_of(e.sin(x))) == [((), (1200,))]
