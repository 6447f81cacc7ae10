import copy
import re
import threading
from pathlib import Path

import pytest
from contract.compute import compute, leaf
from gradc.tracer.dtypes import float32, float64, int32
from gradc.tracer.errors import ShapeError
from gradc.tracer.graph import Graph
from gradc.tracer.ir import (
    ANYWHERE,
    DeviceError,
    InternTable,
    Node,
    TensorType,
    common_device,
    labelled,
    node,
    on_behalf_of,
    topological,
)
from gradc.tracer.ops import elementwise as e
from gradc.tracer.ops import reduction, sources
from graphs.arbitrary import graphs
from hypothesis import given
from hypothesis import strategies as st


def test_equal_nodes_are_one_object() -> None:
    x = leaf(0, (3,))
    assert e.sin(x) is e.sin(leaf(0, (3,)))
    assert e.sin(x) is not e.sin(leaf(1, (3,)))
    assert reduction.sum(x, (0,)) is not reduction.max(x, (0,))


def test_zeros_of_both_signs_are_two_constants() -> None:
    assert sources.constant_of(0.0, float32) is not sources.constant_of(-0.0, float32)
    assert sources.constant_of(1, float32) is not sources.constant_of(1, float64)


def test_bad_node_is_not_kept() -> None:
    x = leaf(0, (3,))
    for _ in range(2):
        with pytest.raises(ShapeError):
            e.add(x, leaf(1, (4,)))


def test_operators_of_nodes() -> None:
    x, y = leaf(0), leaf(1)
    nodes = [x + y, 2 - x, x - 2, 3.0 * y, x * y, 1 / x, x / y, -x, 1 + x, x < y, x <= 2, x > 2]
    found = [float(each) for each in compute([*nodes, x >= y], [2.0, 5.0])]
    assert found == [7, 0, 0, 15, 10, 0.5, 0.4, -2, 3, 1, 1, 0, 0]


def test_numbers_take_the_type_of_the_node() -> None:
    assert (leaf(0, (), float32) * 0.1).dtype is float32
    assert (leaf(0, (), int32) * 2).dtype is int32


def test_attributes_by_name() -> None:
    x = reduction.sum(leaf(0, (2, 3)), (1,))
    assert x.attr("axes") == (1,)
    assert (x.shape, x.ndim, x.dtype) == ((2, 1), 2, float64)


def test_types_as_text() -> None:
    assert str(TensorType(float32, (2, 3), "cpu")) == "float32[2, 3]"
    assert str(TensorType(float32, (), "cuda:1")) == "float32[]@cuda:1"
    assert TensorType(float64, (2, 0, 3)).nbytes == 0
    assert TensorType(float64, (2, 3)).nbytes == 48
    assert TensorType(float64, ()).size == 1


def test_devices_do_not_mix() -> None:
    on_cpu, anywhere = TensorType(float32, (), "cpu"), TensorType(float32, ())
    assert common_device([anywhere, on_cpu]) == "cpu"
    assert common_device([anywhere, anywhere]) == ANYWHERE
    with pytest.raises(DeviceError, match="found cpu and cuda:0"):
        common_device([on_cpu, anywhere, TensorType(float32, (), "cuda:0")])


def test_operators_are_not_copied() -> None:
    assert copy.deepcopy(e.sin) is e.sin


# ---- origins


def test_node_remembers_the_line_that_made_it() -> None:
    made = e.cosh(leaf(17))
    assert made.origin is not None
    assert Path(made.origin.file).name == "test_ir.py"
    line = Path(made.origin.file).read_text(encoding="utf-8").splitlines()[made.origin.line - 1]
    assert "e.cosh(leaf(17))" in line
    assert re.fullmatch(r".*test_ir\.py:\d+", str(made.origin))


def test_outermost_label_wins_and_ends() -> None:
    with labelled("softmax"), labelled("exp"):
        inside = e.cosh(leaf(18))
    outside = e.cosh(leaf(19))
    assert inside.origin is not None
    assert outside.origin is not None
    assert (inside.origin.label, outside.origin.label) == ("softmax", "")


def test_nodes_made_on_behalf_of_another_carry_its_origin() -> None:
    first = e.cosh(leaf(20))
    with on_behalf_of(first.origin):
        second = e.cosh(leaf(21))
    third = e.cosh(leaf(22))
    assert second.origin is first.origin
    assert third.origin != first.origin


def test_labels_are_per_thread() -> None:
    made: list[Node] = []
    with labelled("softmax"):
        thread = threading.Thread(target=lambda: made.append(e.cosh(leaf(23))))
        thread.start()
        thread.join()
    assert made[0].origin is not None
    assert made[0].origin.label == ""


# ---- interning and order


def test_what_two_generations_do_not_ask_for_is_forgotten() -> None:
    table = InternTable(limit=3)
    for key in "abc":
        table.put(key, key.upper())
    table.put("d", "D")  # a new generation begins
    assert table.get("a") == "A"  # asked for: it is young again
    table.put("e", "E")
    table.put("f", "F")  # another one: b and c go, a stays
    assert [table.get(key) for key in "abcdef"] == ["A", None, None, "D", "E", "F"]


def test_a_generation_ends_by_weight() -> None:
    table = InternTable(limit=10, weigh=len)
    table.put("a", "x" * 6)
    table.put("b", "x" * 6)  # 12: the next begins a generation
    table.put("c", "x")
    assert table.get("a") is not None  # asked for: young again, 7 with c
    table.put("d", "x" * 6)  # 13
    table.put("e", "x")  # another generation: b goes
    assert [table.get(key) is None for key in "abcde"] == [False, True, False, False, False]


def test_first_value_under_a_key_stays() -> None:
    table = InternTable()
    assert table.put("k", "first") == "first"
    assert table.put("k", "second") == "first"
    assert len(table) == 1


def test_inputs_come_before_what_is_made_of_them() -> None:
    x, y = leaf(0), leaf(1)
    product = x * y
    total = product + x
    order = topological([total, product])
    assert order == [x, y, product, total]


def test_order_stops_at_what_is_known() -> None:
    x = leaf(0)
    middle = e.exp(x)
    last = e.sin(middle)
    assert topological([last], {middle}) == [middle, last]


@given(graphs(), st.data())
def test_the_order_is_depth_first_with_operands_from_the_left(
    graph: Graph, data: st.DataObject
) -> None:
    known = set(data.draw(st.lists(st.sampled_from(graph.nodes()), max_size=3)))
    expected: dict[Node, None] = {}

    def visit(each: Node) -> None:
        if each not in expected:
            for operand in each.inputs if each not in known else ():
                visit(operand)
            expected[each] = None

    for each in graph.outputs:
        visit(each)
    assert topological(graph.outputs, known) == list(expected)


def test_long_chains_are_not_walked_by_recursion() -> None:
    x = leaf(0)
    last = x
    for _ in range(20_000):
        last = e.neg(e.cos(last))
    assert len(topological([last])) == 40_001


def test_shared_nodes_are_walked_once() -> None:
    """A walk along all paths would take 2**200 steps."""
    x = leaf(0)
    for _ in range(200):
        x = x + x
    assert len(topological([x])) == 201


def test_node_of_an_operator_checks_its_types() -> None:
    with pytest.raises(ShapeError, match=r"\(at .*test_ir\.py:\d+\)"):
        node(e.add, (leaf(0, (2,)), leaf(1, (3,))))
