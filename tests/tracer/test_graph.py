import numpy as np
from contract.compute import leaf
from gradc.tracer.dtypes import float32, float64, int64
from gradc.tracer.graph import Graph, canonical
from gradc.tracer.interpret import interpret
from gradc.tracer.ir import Node, node, topological
from gradc.tracer.ops import elementwise as e
from gradc.tracer.ops import markers, sources
from gradc.tracer.text import show
from graphs.arbitrary import graphs
from hypothesis import given
from hypothesis import strategies as st


def scalar(slot: int, source: str = "f") -> Node:
    return node(sources.scalar, (), (slot, source, float64 if source == "f" else int64))


def test_leaves_are_numbered_by_first_use() -> None:
    a, b = leaf(7, (2,)), leaf(3, (2,))
    graph, binding = canonical([b * scalar(9) - a * scalar(4)])
    assert binding.inputs == (b, a)
    assert binding.floats == (9, 4)
    assert [each.attr("slot") for each in graph.inputs] == [0, 1]
    assert (graph.floats, graph.ints) == (2, 0)


def test_same_structure_over_other_slots_is_the_same_graph() -> None:
    def made(first: int, second: int, number: int) -> Node:
        return e.exp(leaf(first, (2,)) * leaf(second, (2,))) + scalar(number)

    one, other = canonical([made(0, 1, 0)])[0], canonical([made(8, 5, 3)])[0]
    assert one == other
    assert show(one) == show(other)


def test_order_of_use_tells_graphs_apart() -> None:
    a, b = leaf(0), leaf(1)
    graph, binding = canonical([a - b])
    other, swapped = canonical([b - a])
    assert graph == other
    assert (binding.inputs, swapped.inputs) == ((a, b), (b, a))


def test_markers_vanish() -> None:
    x = leaf(0, (2,))
    tracked = node(markers.track, (x,), (3,))
    hidden = node(markers.opaque, (e.sin(tracked),), ((1,),))
    graph, binding = canonical([node(markers.stop, (hidden,)), tracked])
    assert binding.inputs == (x,)
    assert [each.op.name for each in graph.nodes()] == ["input", "sin"]
    assert graph.outputs[1] is graph.inputs[0]


def test_known_nodes_become_inputs() -> None:
    x = leaf(0, (2,))
    middle = e.exp(x)
    graph, binding = canonical([e.sin(middle), middle], {middle})
    assert binding.inputs == (middle,)
    assert graph.inputs[0].type == middle.type
    assert graph.outputs[1] is graph.inputs[0]


def test_scalars_of_one_slot_in_two_types_are_one_number() -> None:
    both = [scalar(5), node(sources.scalar, (), (5, "f", float32)), scalar(2, "i"), scalar(5)]
    graph, binding = canonical(both)
    assert (binding.floats, binding.ints) == ((5,), (2,))
    assert (graph.floats, graph.ints) == (1, 1)


def test_canonical_is_canonical_already() -> None:
    graph, _ = canonical([leaf(4) * scalar(3) + leaf(2)])
    again, binding = canonical(graph.outputs)
    assert again == graph
    assert binding.inputs == graph.inputs


def test_outputs_keep_their_order_and_may_repeat() -> None:
    x = leaf(6)
    graph, _ = canonical([e.sin(x), x, e.sin(x)])
    found = interpret(graph, [np.array(0.5)], [], [])
    assert [float(each) for each in found] == [np.sin(0.5), 0.5, np.sin(0.5)]


def test_nodes_keep_the_lines_that_made_them() -> None:
    x = leaf(90, (5,))
    made = e.tanh(e.cos(x))
    graph, _ = canonical([made])
    assert graph.outputs[0].origin == made.origin


@given(graphs(), st.data())
def test_the_order_is_that_of_a_walk_over_what_was_made(
    given_graph: Graph, data: st.DataObject
) -> None:
    inner = given_graph.nodes()
    known = set(data.draw(st.lists(st.sampled_from(inner), max_size=3)))
    marked = [node(markers.stop, (each,)) for each in given_graph.outputs if each.dtype.is_float]
    graph, _ = canonical([*given_graph.outputs, *marked], known)
    assert graph.order == tuple(topological(graph.outputs))


def test_nodes_that_become_one_stand_once_in_the_order() -> None:
    x = leaf(3)
    once, again = e.exp(node(markers.stop, (x,))), e.exp(x)
    graph, _ = canonical([once * again])
    assert [each.op for each in graph.nodes()] == [sources.input_, e.exp, e.mul]
    assert graph.order == tuple(topological(graph.outputs))
