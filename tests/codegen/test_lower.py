"""Lowering: the value of each element, evaluated by hand, is what the interpreter gives."""

import numpy as np
import pytest
from contract.cases import cases
from contract.compute import leaf
from gradc.codegen.index import Axis, of_axis
from gradc.codegen.item import item_of, values_below
from gradc.codegen.lower import Builder, Lowering, axes_of
from gradc.codegen.value import Apply, Load, Number, Ramp, Select, Slot, Value
from gradc.tracer.dtypes import float64, int32
from gradc.tracer.graph import Graph
from gradc.tracer.interpret import computing, from_storage, interpret
from gradc.tracer.ir import Node, node
from gradc.tracer.ops import contraction, indexing, movement, reduction, sources
from gradc.tracer.ops import elementwise as e
from graphs.arbitrary import graphs
from graphs.build import scalar
from graphs.compiled import Array, sample
from graphs.evaluate import points, value_at
from hypothesis import assume, given

INLINED = ("elementwise", "movement", "gather", "source")
LARGEST = 200


def stored(graph: Graph) -> list[Node]:
    """The nodes that have to lie in memory, inputs first."""
    return [each for each in graph.nodes() if each.op.kind not in INLINED]


def arrays_of(graph: Graph, arrays: list[Array]) -> dict[Node, Array]:
    """All nodes' values in their computing types, flat, as if all lay in memory."""
    nodes = graph.nodes()
    whole = Graph(graph.inputs, graph.floats, graph.ints, tuple(nodes))
    found = interpret(whole, arrays, [2.5] * graph.floats, [3] * graph.ints)
    return {
        each: from_storage(array, each.dtype).astype(computing(each.dtype).storage).reshape(-1)
        for each, array in zip(nodes, found, strict=True)
    }


def assert_lowered(graph: Graph, arrays: list[Array]) -> None:
    known = arrays_of(graph, arrays)
    lowering = Lowering(set(stored(graph)))
    for output in graph.outputs:
        if output.op.kind not in INLINED or output.type.size > LARGEST:
            continue
        axes, coordinates = axes_of(output.shape)
        value = lowering.element(output, coordinates)
        found = [value_at(value, at, known) for at in points(axes)]
        np.testing.assert_array_equal(np.array(found).reshape(-1), known[output])


@pytest.mark.parametrize("name", ["reshape", "transpose", "broadcast", "slice", "pad", "concat"])
def test_movements(name: str) -> None:
    for case in cases():
        if case.op == name and case.dtype in (float64, int32):
            assert_lowered(case.graph(), case.sample(np.random.default_rng(0)))


@pytest.mark.parametrize("name", ["take", "iota", "constant", "where", "cast", "add", "power"])
def test_other_inlined_operators(name: str) -> None:
    for case in cases():
        if case.op == name and case.dtype in (float64, int32) and not case.special:
            assert_lowered(case.graph(), case.sample(np.random.default_rng(0)))


@given(graphs(most=12))
def test_random_graphs(graph: Graph) -> None:
    assume(len(graph.nodes()) < 200)
    assert_lowered(graph, sample(graph))


# ---- what values look like

X = leaf(0, (3, 4))


def lowered(node: Node, *in_memory: Node) -> Value:
    return Lowering(set(in_memory)).element(node, axes_of(node.shape)[1])


def test_a_movement_leaves_nothing_but_the_place() -> None:
    moved = movement.transpose(movement.reshape(X, (2, 2, 3)), (2, 0, 1))
    value = lowered(moved)
    assert isinstance(value, Load)
    i, j, k = (of_axis(axis) for axis in axes_of(moved.shape)[0])
    assert value.offset == j * 6 + k * 3 + i


def test_what_lies_in_memory_is_loaded() -> None:
    y = e.sin(X)
    assert isinstance(lowered(y), Apply)
    value = lowered(y, y)
    assert isinstance(value, Load)
    assert value.node is y
    assert value.offset.bounds() == (0, 11)


def test_what_lies_in_memory_can_be_computed() -> None:
    y = e.sin(X)
    assert isinstance(Lowering({y}).computed(y, axes_of(y.shape)[1]), Apply)


def test_extents_of_one_have_no_axis() -> None:
    axes, coordinates = axes_of((1, 5, 1, 2))
    assert axes == (Axis(0, 5), Axis(1, 2))
    assert len(coordinates) == 4
    assert lowered(movement.broadcast(leaf(0, (1, 1)), (3, 4))).axes == frozenset()


def test_sources() -> None:
    assert isinstance(lowered(sources.full(2, (3,), float64)), Number)
    assert isinstance(lowered(scalar(0, X)), Slot)
    ramp = lowered(node(sources.iota, (), (1, (2, 3), int32)))
    assert isinstance(ramp, Ramp)
    assert ramp.index == of_axis(Axis(1, 3))


def test_a_shared_value_is_one_object() -> None:
    y = e.sin(X)
    value = lowered(y * y + y)
    assert sum(isinstance(each, Apply) for each in values_below([value])) == 3


def test_equal_values_of_different_nodes_are_one_object() -> None:
    flat = movement.reshape(X, (12,))
    value = lowered(e.sin(X) + movement.reshape(e.sin(flat), (3, 4)))
    assert sum(isinstance(each, Load) for each in values_below([value])) <= 2


def test_nothing_is_read_outside_of_a_pad() -> None:
    value = lowered(movement.pad(X, (1, 0), (0, 2)))
    assert isinstance(value, Select)
    assert len(value.conditions) == 2
    assert isinstance(value.inside, Load)
    assert value.inside.conditions == value.conditions


def test_conditions_that_always_hold_are_left_out() -> None:
    value = lowered(movement.slice_(movement.pad(X, (1, 0), (0, 2)), 0, 1, None))
    assert isinstance(value, Select)
    assert len(value.conditions) == 1


def test_a_pad_that_is_sliced_off_is_no_choice() -> None:
    padded = movement.pad(X, (1, 1), (1, 1))
    inside = movement.slice_(movement.slice_(padded, 0, 1, 4), 1, 1, 5)
    value = lowered(inside)
    assert isinstance(value, Load)
    assert not value.conditions


def test_a_part_of_a_concat_that_is_sliced_out_is_all_that_is_read() -> None:
    parts = movement.concat((X, leaf(1, (3, 4)), leaf(2, (3, 4))), 0)
    value = lowered(movement.slice_(parts, 0, 3, 6))
    assert [each.node for each in values_below([value]) if isinstance(each, Load)] == [
        leaf(1, (3, 4))
    ]


def test_a_place_that_is_read_at_run_time_is_part_of_the_offset() -> None:
    value = lowered(indexing.take(X, leaf(1, (5,), int32), 0))
    assert isinstance(value, Load)
    (place,) = value.offset.places()
    assert place.extent == 3
    assert value.offset.bounds() == (0, 11)
    assert value.parts == (place.value,)


def test_deep_graphs_need_no_recursion() -> None:
    x = leaf(0, ())
    for _ in range(5000):
        x = e.sin(x)
    assert len(values_below([lowered(x)])) == 5001


def test_shared_subgraphs_are_walked_once() -> None:
    x = leaf(0, ())
    for _ in range(80):
        x = x + x
    assert len(values_below([lowered(x)])) == 81


@pytest.mark.parametrize("made", [reduction.sum(X, (1,)), contraction.matmul(X, leaf(1, (4, 2)))])
def test_reductions_and_products_must_lie_in_memory(made: Node) -> None:
    with pytest.raises(AssertionError, match="was not given a kernel of its own"):
        lowered(made)
    assert isinstance(lowered(made, made), Load)


# ---- items


def test_the_item_of_an_elementwise_node() -> None:
    y = e.sin(X) + X
    item = item_of(y, Lowering({y}))
    assert (item.extents, item.size, item.reduction) == ((3, 4), 12, None)
    assert [load.node for load in item.loads] == [X]
    assert len(item.values) == 3


def test_the_item_of_a_reduction_is_what_it_reduces() -> None:
    y = reduction.sum(e.sin(X), (1,))
    item = item_of(y, Lowering({y}))
    assert isinstance(item.value, Apply)
    assert item.value.op is e.sin
    assert item.reduced == {Axis(1, 4)}
    assert item.extents == (3, 4)
    assert not item.is_positional


def test_values_are_listed_operands_first() -> None:
    value = lowered(e.sin(X) * 2.0 + e.cos(X))
    listed = values_below([value])
    for number, each in enumerate(listed):
        assert all(operand in listed[:number] for operand in each.operands)
    assert listed[-1] is value


def test_a_builder_makes_equal_values_once() -> None:
    build = Builder()
    one, other = build.number(X, "1.0"), build.number(X, "1.0")
    assert one is other
    assert build.number(leaf(0, (), int32), "1.0") is not one
    assert build.select((), one, other) is one
