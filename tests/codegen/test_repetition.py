"""Where operators repeat: the runs of equal segments in the order of a graph."""

from itertools import pairwise
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from contract.compute import leaf
from gradc.codegen.repetition import LEAST_SEGMENTS, Line, Run, runs
from gradc.tracer.dtypes import float64
from gradc.tracer.ir import Node, topological
from gradc.tracer.ops import contraction, movement
from gradc.tracer.ops import elementwise as e
from graphs.build import with_gradients
from hypothesis import given
from hypothesis import strategies as st

X = leaf(0, (3, 3), float64)
W = leaf(1, (3, 3), float64)
LINES = leaf(2, (40, 3, 3), float64)


def found(*outputs: Node) -> list[Run]:
    return runs(Line(topological(outputs)))


def steps(count: int, x: Node = X) -> Node:
    for _ in range(count):
        x = e.tanh(contraction.matmul(x, W)) + X
    return x


def test_a_loop_has_the_period_of_its_body() -> None:
    (run,) = found(steps(20))
    assert run.period == 3
    assert run.count >= 19  # the first step reads what no step has made


def test_few_steps_are_no_run() -> None:
    assert found(steps(LEAST_SEGMENTS - 2)) == []


def test_lines_of_an_array_are_taken_for_the_same() -> None:
    x = X
    for step in range(20):
        line = movement.stepped(LINES, (step, 0, 0), (1, 3, 3), (1, 1, 1))
        x = e.tanh(contraction.matmul(x, W)) + movement.reshape(line, (3, 3))
    (run,) = found(x)
    assert run.period == 3


@pytest.mark.parametrize("other", [e.sin, e.cos])
def test_two_loops_are_two_runs(other: object) -> None:
    x = steps(16)
    for _ in range(16):
        x = other(x * W) - X  # type: ignore[operator]
    first, second = sorted(found(x), key=lambda run: run.start)
    assert first.stop <= second.start
    assert {first.period, second.period} == {3}


def test_a_loop_and_its_adjoint_are_runs() -> None:
    graph = with_gradients(lambda x: steps(30, x), X)
    made = runs(Line(graph.nodes()))
    assert sum(run.period * run.count for run in made) > 0.8 * len(Line(graph.nodes()).nodes)


def test_runs_do_not_overlap() -> None:
    graph = with_gradients(lambda x, w: steps(25, x) * w, X, W)
    made = sorted(runs(Line(graph.nodes())), key=lambda run: run.start)
    assert all(a.stop <= b.start for a, b in pairwise(made))


@given(
    st.lists(
        st.tuples(
            st.lists(st.integers(0, 3), min_size=1, max_size=6),
            st.integers(1, 14),
            st.lists(st.integers(0, 3), max_size=6),
        ),
        min_size=1,
        max_size=8,
    )
)
def test_runs_are_equal_segments_apart(pieces: list[tuple[list[int], int, list[int]]]) -> None:
    """Also where a loop goes over into another one of the same period."""
    kinds = [kind for body, count, between in pieces for kind in [*body * count, *between]]
    assert_runs_are_right(kinds)


def test_a_loop_may_go_on_with_another_operator_in_its_body() -> None:
    """What is left of the body is equal on both sides, and belongs to one run alone."""
    body = list(range(7))
    for changed in range(7):
        other = [*body[:changed], 9, *body[changed + 1 :]]
        assert len(assert_runs_are_right([*body * 12, *other * 12])) == 2, changed


def assert_runs_are_right(kinds: list[int]) -> list[Run]:
    line: Any = SimpleNamespace(kinds=np.array(kinds, dtype=np.int64))
    made = sorted(runs(line), key=lambda run: run.start)
    assert all(a.stop <= b.start for a, b in pairwise(made)), (kinds, made)
    for run in made:
        assert run.count >= LEAST_SEGMENTS
        segments = [kinds[at : at + run.period] for at in range(run.start, run.stop, run.period)]
        assert all(each == segments[0] for each in segments), (kinds, run)
    return made


def test_what_each_segment_reads_is_found_for_all_at_once() -> None:
    line = Line(with_gradients(lambda x: steps(30, x), X).nodes())
    for run in runs(line):
        for place in range(run.period):
            nodes = line.nodes[run.start + place : run.stop : run.period]
            for operand in range(len(nodes[0].inputs)):
                one_by_one = [line.base_place(each.inputs[operand]) for each in nodes]
                assert line.base_places(run, place, operand).tolist() == one_by_one
