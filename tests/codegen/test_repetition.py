"""Where operators repeat: the runs of equal segments in the order of a graph."""

from itertools import pairwise

import pytest
from contract.compute import leaf
from gradc.codegen.repetition import LEAST_SEGMENTS, Line, Run, runs
from gradc.tracer.dtypes import float64
from gradc.tracer.ir import Node, topological
from gradc.tracer.ops import contraction, movement
from gradc.tracer.ops import elementwise as e
from graphs.build import with_gradients

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


def test_what_each_segment_reads_is_found_for_all_at_once() -> None:
    line = Line(with_gradients(lambda x: steps(30, x), X).nodes())
    for run in runs(line):
        for place in range(run.period):
            nodes = line.nodes[run.start + place : run.stop : run.period]
            for operand in range(len(nodes[0].inputs)):
                one_by_one = [line.base_place(each.inputs[operand]) for each in nodes]
                assert line.base_places(run, place, operand).tolist() == one_by_one
