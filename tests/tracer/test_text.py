import hashlib
from collections.abc import Callable

import pytest
from contract.cases import Case, cases
from contract.compute import leaf
from gradc.tracer.dtypes import float32, int32
from gradc.tracer.errors import GradcError
from gradc.tracer.graph import Graph, canonical
from gradc.tracer.ir import Node
from gradc.tracer.ops import OPS, movement, reduction
from gradc.tracer.ops import elementwise as e
from gradc.tracer.text import ParseError, digest, parse, show, taken_text
from walk import walk

Function = Callable[[Node], Node]

SMALL = """\
graph inputs=2 floats=0 ints=0
%0: float32[2, 3] = input(slot=0, dtype=float32, shape=(2, 3), device='cpu')
%1: float32[3] = input(slot=1, dtype=float32, shape=(3,), device='cpu')
%2: float32[2, 3] = mul(%0, %1)
%3: float32[2, 1] = sum(%2, axes=(1,))
return %3, %2
"""


def small() -> Graph:
    product = e.mul(leaf(0, (2, 3), float32), leaf(1, (3,), float32))
    return canonical([reduction.sum(product, (1,)), product])[0]


def test_text_of_a_graph() -> None:
    assert show(small()) == SMALL


def test_text_is_read_back_as_the_same_graph() -> None:
    assert parse(SMALL) == small()


COMPILED = [case for case in cases() if OPS[case.op].kind != "marker"]


@walk("case", COMPILED, ids=str)
def test_round_trip(case: Case) -> None:
    graph = case.graph()
    assert parse(show(graph)) == graph


def test_round_trip_covers_every_operator_that_is_compiled() -> None:
    shown = {each.op.name for case in cases() for each in case.graph().nodes()}
    assert shown == {name for name, op in OPS.items() if op.kind != "marker"}


def test_unused_inputs_are_shown() -> None:
    graph = Graph((leaf(0), leaf(1)), 0, 0, (leaf(1),))
    assert parse(show(graph)) == graph


def test_device_is_part_of_the_text() -> None:
    made = canonical([e.sin(leaf(0))])[0]
    text = show(made).replace("'cpu'", "'cuda:1'").replace("float64[]", "float64[]@cuda:1")
    assert parse(text).outputs[0].type.device == "cuda:1"
    assert digest(parse(text)) != digest(made)


def test_digest_is_that_of_the_text() -> None:
    assert digest(small()) == hashlib.sha256(SMALL.encode()).hexdigest()


def test_what_the_digest_has_written_is_taken_once_and_not_kept() -> None:
    graph = small()
    digest(graph)
    assert graph.known["text"] == SMALL
    assert [taken_text(graph), taken_text(graph)] == [SMALL, SMALL]
    assert graph.known.keys() == {"digest"}


def _padded(x: Node, fill: float) -> Node:
    return movement.pad(x, (1, 0), (0, 0), fill=fill)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (lambda x: x * 0.0, lambda x: x * -0.0),
        (lambda x: reduction.sum(x, (0,)), lambda x: reduction.sum(x, (1,))),
        (lambda x: movement.slice_(x, 0, 0, 2), lambda x: movement.slice_(x, 0, 1, 3)),
        (lambda x: movement.pad(x, (1, 0), (0, 0)), lambda x: movement.pad(x, (0, 0), (1, 0))),
        (lambda x: _padded(x, 0), lambda x: _padded(x, 1)),
        (lambda x: e.cast_to(x, float32), lambda x: e.cast_to(x, int32)),
        (lambda x: x * 0.1, lambda x: x * 0.10000000000000002),
        (lambda x: e.power(x, attrs=("2.5",)), lambda x: e.power(x, attrs=("2.6",))),
    ],
)
def test_whatever_shapes_a_program_is_in_its_digest(one: Function, other: Function) -> None:
    x = leaf(0, (3, 3))
    graphs = [canonical([made(x)])[0] for made in (one, other)]
    assert digest(graphs[0]) != digest(graphs[1])


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("graph inputs=2", "graph", "expected a line 'graph inputs="),
        ("return %3, %2\n", "", "a line 'return"),
        ("return %3", "return %9", "%9 is used, but was not made before"),
        ("mul(%0, %1)", "mul(%0, %5)", "%5 is used, but was not made before"),
        ("mul(%0, %1)", "mul(%0, %1", "expected '%n: type = op"),
        ("mul(%0, %1)", "mul(%0 %1)", "expected arguments, found '%0 %1'"),
        ("mul(%0, %1)", "mull(%0, %1)", "no operator is called 'mull'"),
        ("%2: float32[2, 3]", "%2: float32[3, 2]", "is said to be float32"),
        ("axes=(1,)", "axis=(1,)", r"expected the attributes \('axes',\), found \('axis',\)"),
        ("(%2, axes=(1,))", "(%2)", r"expected the attributes \('axes',\), found \(\)"),
        ("axes=(1,)", "axes=f(1)", r"expected a literal, found 'f\(1\)'"),
        ("dtype=float32, shape=(3,)", "dtype=float31, shape=(3,)", "expected a literal"),
        ("inputs=2", "inputs=3", r"expected 3 inputs, numbered from 0, found the slots \[0, 1\]"),
        ("slot=1", "slot=2", r"found the slots \[0, 2\]"),
        ("sum(%2", "sum(2", "%"),
    ],
)
def test_text_that_is_no_graph(old: str, new: str, message: str) -> None:
    assert old in SMALL
    with pytest.raises(ParseError, match=message):
        parse(SMALL.replace(old, new))


def test_graph_of_wrong_types_is_refused() -> None:
    text = SMALL.replace("%1: float32[3]", "%1: int32[3]")
    text = text.replace("slot=1, dtype=float32", "slot=1, dtype=int32")
    with pytest.raises(GradcError, match="mul: expected operands of int32, found float32"):
        parse(text)
