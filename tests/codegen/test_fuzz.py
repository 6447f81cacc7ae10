"""Random graphs: simplified or not, the C program gives what the interpreter gives."""

import numpy as np
import pytest
from gradc.codegen import simplify
from gradc.codegen.simplify import simplified
from gradc.codegen.target import CUDA
from gradc.tracer.graph import Graph
from gradc.tracer.interpret import interpret
from gradc.tracer.ir import Op
from gradc.tracer.text import parse, show
from graphs.arbitrary import graphs, is_moderate
from graphs.compiled import Array, Compiled, sample, written
from hypothesis import HealthCheck, assume, given, settings

TOLERANCE = 1e-9
MOST_NODES = 1200

SLOW = HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large
more = settings(
    max_examples=max(settings().max_examples, 100), suppress_health_check=SLOW, deadline=None
)


def inputs_and_results(graph: Graph) -> tuple[list[Array], list[Array]]:
    """Arrays for the graph and what the interpreter makes of them, unless that overflows."""
    arrays = sample(graph)
    expected = interpret(graph, arrays, [], [])
    assume(all(is_moderate(each) for each in expected))
    return arrays, expected


def assert_close(found: list[Array], expected: list[Array], graph: Graph) -> None:
    for number, (x, y) in enumerate(zip(found, expected, strict=True)):
        assert (x.shape, x.dtype) == (y.shape, y.dtype)
        scale = max(float(np.abs(y).max(initial=0)), 1.0)
        np.testing.assert_allclose(
            *(x, y), TOLERANCE, TOLERANCE * scale, err_msg=f"output {number} of {show(graph)}"
        )


@more
@given(graphs())
def test_programs_give_what_the_interpreter_gives(graph: Graph) -> None:
    assume(len(graph.nodes()) <= MOST_NODES)
    arrays, expected = inputs_and_results(graph)
    assert_close(Compiled(graph)(arrays), expected, graph)


def only_of_one(op: Op) -> tuple[simplify.Rule, ...]:
    """The rules that may fit a node of `op`, where all others are forgotten."""
    return (simplify.of_one,) if op.kind in simplify.ANY[simplify.of_one] else ()


@more
@given(graphs(most=8))
def test_programs_need_no_simplification(graph: Graph) -> None:
    """But for what is reduced along extents of 1, which is no reduction, and for empty values."""
    assume(len(graph.nodes()) <= MOST_NODES and all(each.type.size for each in graph.nodes()))
    arrays, expected = inputs_and_results(graph)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(simplify, "_rules_for", only_of_one)
        compiled = Compiled(graph)
    assert_close(compiled(arrays), expected, graph)


@more
@given(graphs())
def test_simplification_keeps_values(graph: Graph) -> None:
    arrays, expected = inputs_and_results(graph)
    assert_close(interpret(simplified(graph), arrays, [], []), expected, graph)


@more
@given(graphs())
def test_cuda_programs_are_sound(graph: Graph) -> None:
    assume(len(graph.nodes()) <= MOST_NODES)
    assert written(graph, CUDA).source.text


@more
@given(graphs())
def test_text_is_read_back(graph: Graph) -> None:
    assert parse(show(graph)) == graph
