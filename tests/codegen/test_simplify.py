"""Simplification: what each rule makes of a graph, and that no value changes by it, bit for bit."""

from dataclasses import replace

import numpy as np
import pytest
from contract.cases import Case, cases
from contract.compute import leaf
from contract.values import special_values
from gradc.codegen.simplify import images, replaced, simplified
from gradc.tracer.dtypes import DType, bool_, float16, float32, float64, int32
from gradc.tracer.graph import Graph
from gradc.tracer.interpret import from_storage, interpret, to_storage
from gradc.tracer.ir import Node, node
from gradc.tracer.ops import OPS, contraction, movement, reduction, sources
from gradc.tracer.ops import elementwise as e
from gradc.tracer.ops.kinds import Elementwise, cast_to
from gradc.tracer.text import show
from graphs.build import graph_of
from graphs.compiled import Array, sample
from graphs.named import EVERY
from walk import walk

SPECIAL = special_values(float64)
X = leaf(0, (len(SPECIAL),))
C = leaf(0, (3,), bool_)


def number(value: float, dtype: object = float64) -> Node:
    return sources.constant_of(value, dtype)  # type: ignore[arg-type]


def full(value: float, shape: tuple[int, ...] = X.shape) -> Node:
    return sources.full(value, shape, float64)


def power_of_two(value: float) -> Node:
    return e.div(X, number(value))


REWRITTEN: dict[str, tuple[Node, Node]] = {
    "fold": (e.add(number(2), number(3)), number(5)),
    "fold inf": (e.div(number(1), number(0)), number(np.inf)),
    "fold nan": (e.sub(number(np.inf), number(np.inf)), number(np.nan)),
    "fold -0.0": (e.mul(number(-1), number(0)), number(-0.0)),
    "fold float32": (
        e.div(number(1, float32), number(3, float32)),
        number(float(1 / np.float32(3)), float32),
    ),
    "fold float16": (e.exp(number(1, float16)), number(2.71875, float16)),
    "fold shown": (e.exp(full(0)), full(1)),
    "fold cast": (cast_to(number(2.7), int32), number(2, int32)),
    "transposed constant": (movement.transpose(full(2, (3, 4)), (1, 0)), full(2, (4, 3))),
    "sliced constant": (movement.slice_(full(2, (9,)), 0, 1, 7, 2), full(2, (3,))),
    "reshaped constant": (movement.reshape(full(2, (3, 4)), (12,)), full(2, (12,))),
    "sum of one": (reduction.sum(leaf(0, (3, 1)), (1,)), leaf(0, (3, 1))),
    "max of one": (reduction.max(leaf(0, (3, 1)), (1,)), leaf(0, (3, 1))),
    "argmax of one": (reduction.argmax(leaf(0, (3, 1)), (1,)), sources.full(0, (3, 1), int32)),
    "x * 1": (X * 1.0, X),
    "1 * x": (1.0 * X, X),
    "x * 1 that broadcasts": (
        e.mul(leaf(0, (1, 3)), full(1, (4, 1))),
        movement.broadcast(leaf(0, (1, 3)), (4, 3)),
    ),
    "x - 0": (X - 0.0, X),
    "x / 2": (power_of_two(2), e.mul(X, number(0.5))),
    "x / -0.25": (power_of_two(-0.25), e.mul(X, number(-4))),
    "--x": (e.neg(e.neg(X)), X),
    "where true": (e.where(number(1, bool_), X, -X), X),
    "where false": (e.where(number(0, bool_), X, -X), -X),
    "where same": (e.where(leaf(1, (1,), bool_), X, X), X),
    "cast of bool": (cast_to(cast_to(C, float32), float64), cast_to(C, float64)),
    "broadcast twice": (
        movement.broadcast(movement.broadcast(leaf(0, (1, 1)), (1, 3)), (2, 3)),
        movement.broadcast(leaf(0, (1, 1)), (2, 3)),
    ),
    "sum of equals": (
        reduction.sum(movement.broadcast(leaf(0, (3, 1)), (3, 4)), (1,)),
        e.mul(leaf(0, (3, 1)), number(4)),
    ),
    "sum of equals along all": (
        reduction.sum(movement.broadcast(leaf(0, ()), (3, 4)), (0, 1)),
        e.mul(movement.broadcast(movement.reshape(leaf(0, ()), (1, 1)), (1, 1)), number(12)),
    ),
}
"""What is given, and what becomes of it."""

KEPT: dict[str, Node] = {
    "x + 0": X + 0.0,
    "x - (-0)": X - number(-0.0),
    "x * 0": X * 0.0,
    "x / 3": power_of_two(3),
    "x / 0": power_of_two(0),
    "x / inf": power_of_two(np.inf),
    "x / 2**-1074": power_of_two(2.0**-1074),
    "x - x": X - X,
    "x / x": X / X,
    "x + -x": X + (-X),
    "sqrt(x * x)": e.sqrt(X * X),
    "log(exp(x))": e.log(e.exp(X)),
    "cast of float": cast_to(cast_to(X, float32), float64),
    "cast of integer": cast_to(cast_to(leaf(0, (3,), int32), float32), int32),
    "sum of some equals": reduction.sum(movement.broadcast(leaf(0, (3, 1)), (3, 4)), (0, 1)),
    "padded constant": movement.pad(full(2, (3,)), (1,), (1,), fill=7),
    "checked constant": e.checked_index(number(9, int32), attrs=(5, True)),
}
"""What no exact rule may touch."""


def may_round_otherwise(graph: Graph) -> bool:
    """Whether there are sums: those of equal terms become products, others are reordered."""
    return any(each.op is reduction.sum or each.op.kind == "contraction" for each in graph.nodes())


def assert_same_values(graph: Graph, made: Graph, arrays: list[Array]) -> None:
    floats = [0.5 + k for k in range(graph.floats)]
    before = interpret(graph, arrays, floats, [1] * graph.ints)
    after = interpret(made, arrays, floats, [1] * graph.ints)
    for x, y in zip(before, after, strict=True):
        assert (x.shape, x.dtype) == (y.shape, y.dtype)
        if x.dtype.kind == "f" and may_round_otherwise(graph):
            np.testing.assert_allclose(x, y, rtol=1e-6)
        else:
            assert bits(x) == bits(y)


def bits(x: Array) -> bytes:
    """The elements as bytes, where -0.0 is not 0.0, with one NaN in place of all."""
    one_nan = np.where(x != x, np.nan, x).astype(x.dtype) if x.dtype.kind == "f" else x
    return one_nan.tobytes()


def special_arrays(graph: Graph) -> list[Array]:
    return [
        to_storage(np.resize(special_values(each.dtype), each.shape), each.dtype)
        for each in graph.inputs
    ]


# ---- rules


@walk("name", REWRITTEN)
def test_rule(name: str) -> None:
    both = graph_of(*REWRITTEN[name])
    given, expected = (replace(both, outputs=(output,)) for output in both.outputs)
    made = simplified(given)
    assert show(made) == show(expected)
    assert_same_values(given, made, special_arrays(given))


@pytest.mark.parametrize("name", KEPT)
def test_what_would_not_be_exact_is_kept(name: str) -> None:
    graph = graph_of(KEPT[name])
    assert show(simplified(graph)) == show(graph)


def test_a_product_with_a_vector_becomes_a_sum() -> None:
    graph = graph_of(contraction.matmul(leaf(0, (3, 4)), leaf(1, (4,))))
    made = simplified(graph)
    assert not [each for each in made.nodes() if each.op.kind == "contraction"]
    assert_same_values(graph, made, sample(graph))


@pytest.mark.parametrize("batch", [(), (2,)])
@pytest.mark.parametrize("rows", [1, 3])
@pytest.mark.parametrize("columns", [1, 5])
def test_the_sum_runs_over_the_matrix_as_it_is_stored(
    batch: tuple[int, ...], rows: int, columns: int
) -> None:
    """Of a transposed matrix nothing is read across."""

    def exchanged(x: Node) -> Node:
        order = [*range(x.ndim)]
        return movement.transpose(x, (*order[:-2], order[-1], order[-2]))

    a, b = leaf(0, (*batch, 4, rows)), leaf(1, (*batch, columns, 4))
    graph = graph_of(contraction.matmul(exchanged(a), exchanged(b)))
    made = simplified(graph)
    if 1 in (rows, columns):
        matrices = [each for each in made.nodes() if 1 not in each.shape[-2:]]
        assert not [each for each in matrices if each.op.kind == "contraction"]
        assert not [each for each in matrices if each.op is movement.transpose_op]
    arrays = sample(graph)
    (found,) = interpret(made, arrays, [], [])
    expected = arrays[0].swapaxes(-1, -2) @ arrays[1].swapaxes(-1, -2)
    np.testing.assert_allclose(found, expected, 1e-14)


@pytest.mark.parametrize("dtype", [float16, float32, float64, int32])
def test_an_outer_product_is_one_product_per_element(dtype: DType) -> None:
    graph = graph_of(contraction.matmul(leaf(0, (2, 3, 1), dtype), leaf(1, (1, 4), dtype)))
    made = simplified(graph)
    assert not [each for each in made.nodes() if each.op.kind == "contraction"]
    assert_same_values(graph, made, sample(graph))


@pytest.mark.parametrize("dtype", [int32])
def test_a_product_of_integers_stays(dtype: object) -> None:
    graph = graph_of(contraction.matmul(leaf(0, (3, 4), int32), leaf(1, (4,), int32)))
    assert [each for each in simplified(graph).nodes() if each.op.kind == "contraction"]


def test_cotangents_of_slices_come_together() -> None:
    """Any number of neighbours, in either order; with room around them that stays room."""
    parts = [leaf(slot, (2, size), float64) for slot, size in enumerate((3, 1, 4))]

    def beside(low: int, part: Node, width: int) -> Node:
        return movement.pad(part, (0, low), (0, width - low - part.shape[1]))

    shown = [beside(low, part, 10) for low, part in zip((1, 4, 5), parts, strict=True)]
    for order in ((0, 1, 2), (2, 1, 0), (1, 0, 2)):
        first, second, third = (shown[each] for each in order)
        graph = simplified(graph_of(e.add(e.add(first, second), third)))
        (output,) = graph.outputs
        assert [each.op.name for each in graph.nodes()] == ["input"] * 3 + ["concat", "pad"]
        arrays = sample(graph)
        expected = np.zeros((2, 10))
        for leaf_, array in zip(graph.inputs, arrays, strict=True):
            low = {3: 1, 1: 4, 4: 5}[leaf_.shape[1]]
            expected[:, low : low + leaf_.shape[1]] = array
        (found,) = interpret(graph, arrays, [], [])
        np.testing.assert_array_equal(found, expected)
        assert output.shape == (2, 10)


def test_what_lies_apart_or_overlaps_is_added() -> None:
    a, b = leaf(0, (3,), float64), leaf(1, (3,), float64)
    for low in (2, 4):
        total = e.add(movement.pad(a, (0,), (5,)), movement.pad(b, (low,), (5 - low,)))
        assert simplified(graph_of(total)).outputs[0].op is e.add
    total = e.add(movement.pad(a, (0,), (3,), fill=1), movement.pad(b, (3,), (0,), fill=1))
    assert simplified(graph_of(total)).outputs[0].op is e.add


def test_rules_reach_what_other_rules_make() -> None:
    half = e.div(X, number(2))
    assert show(simplified(graph_of(e.mul(half, number(2) / number(2))))) == show(
        graph_of(e.mul(X, number(0.5)))
    )


# ---- graphs


def test_outputs_keep_their_places_and_inputs_their_slots() -> None:
    x, y = leaf(0, (2,)), leaf(1, (2,))
    graph = graph_of(x * 1.0, y, y * 0.0 + x, x * 1.0)
    made = simplified(graph)
    assert made.inputs == graph.inputs
    assert made.outputs[0] is made.outputs[3] is graph.inputs[0]
    assert made.outputs[1] is graph.inputs[1]


def test_images_tell_what_became_of_each_node() -> None:
    graph = graph_of(e.sin(X * 1.0))
    image = images(graph)
    product = next(each for each in graph.nodes() if each.op is e.mul)
    assert image[product] is graph.inputs[0]
    assert set(image) == set(graph.nodes())
    assert replaced(graph, image) == simplified(graph)


def test_a_graph_without_anything_to_simplify_is_the_same_nodes() -> None:
    graph = graph_of(e.sin(X) + e.cos(X))
    assert simplified(graph) == graph


@pytest.mark.parametrize("name", EVERY)
def test_simplifying_twice_changes_nothing_more(name: str) -> None:
    made = simplified(EVERY[name]())
    assert simplified(made) == made


@pytest.mark.parametrize("name", EVERY)
def test_values_of_whole_graphs(name: str) -> None:
    graph = EVERY[name]()
    made = simplified(graph)
    floats = [0.5 + 0.1 * k for k in range(graph.floats)]
    arrays = sample(graph)
    before, after = (interpret(each, arrays, floats, []) for each in (graph, made))
    for x, y in zip(before, after, strict=True):
        scale = np.nanmax(np.abs(y), initial=1.0)
        np.testing.assert_allclose(x, y, rtol=1e-5, atol=1e-6 * scale)


def test_deep_graphs_need_no_recursion() -> None:
    x = leaf(0, ())
    for _ in range(5000):
        x = e.sin(x * 1.0)
    assert len(simplified(graph_of(x)).nodes()) == 5001


def test_what_repeats_is_simplified_once() -> None:
    """Sixty doublings: a walk that meets a shared node once per use would not end."""
    x = leaf(0, ())
    for _ in range(60):
        x = (x * 1.0) + (x - 0.0)
    assert len(simplified(graph_of(x)).nodes()) == 61


def special_cases(op: str) -> list[Case]:
    return [case for case in cases() if case.special and case.op == op]


FOLDED = sorted(
    op.name for op in OPS.values() if isinstance(op, Elementwise) and special_cases(op.name)
)


@walk("op", FOLDED)
def test_operators_on_constants_become_what_they_give_on_values(op: str) -> None:
    """Folding goes through the reference, in the type in which the operator computes."""
    for case in special_cases(op):
        drawn = [special_values(kind.dtype) for kind in case.types]
        for turn in range(max(len(values) for values in drawn)):
            operands = tuple(
                sources.constant_of(values[(turn * (k + 1) + k) % len(values)].item(), kind.dtype)
                for k, (values, kind) in enumerate(zip(drawn, case.types, strict=True))
            )
            graph = graph_of(node(OPS[case.op], operands, case.attrs))
            made = simplified(graph)
            assert {each.op.kind for each in made.nodes()} == {"source"}
            dtype = graph.outputs[0].dtype
            found = [from_storage(interpret(g, [], [], [])[0], dtype) for g in (graph, made)]
            assert bits(found[0]) == bits(found[1]), show(graph)
