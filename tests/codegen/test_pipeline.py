"""The pipeline: its order, its dumps, and which node a failing check stands for."""

from typing import Any

import numpy as np
import pytest
from contract.compute import leaf
from gradc.codegen.pipeline import translate
from gradc.codegen.plan import plan
from gradc.codegen.program import program_of
from gradc.codegen.render import render
from gradc.codegen.simplify import simplified
from gradc.codegen.target import CUDA, C, Target
from gradc.tracer.dtypes import float32, int32, int64
from gradc.tracer.graph import Graph
from gradc.tracer.ops import elementwise as e
from gradc.tracer.ops import indexing, reduction
from graphs.build import graph_of
from graphs.compiled import Compiled, Fault, body_of, sample
from graphs.named import EVERY, NAMED
from walk import walk


def test_passes_run_in_order_and_are_dumped() -> None:
    dumped: list[tuple[str, Any]] = []
    graph = NAMED["softmax"]()
    made = translate(graph, C, lambda name, result: dumped.append((name, result)))
    assert dumped == [
        ("simplify", made.graph),
        ("roll", made.graph),
        ("group parts", made.graph),
        ("lower and fuse", made.program),
        ("plan", made.plan),
        ("render", made.source),
    ]


@walk("target", [C, CUDA], ids=["c", "cuda"])
@walk("name", EVERY)
def test_a_translation_is_what_the_passes_give(name: str, target: Target) -> None:
    graph = EVERY[name]()
    made = translate(graph, target, verify=True)
    assert made.graph == simplified(graph)
    program = program_of(made.graph, target)
    assert made.source == render(program, plan(program), target)


# ---- what is checked while a program runs

TABLE, ROWS, COLUMNS = leaf(0, (5, 7)), leaf(1, (3,), int32), leaf(2, (4,), int64)
TAKEN = indexing.take(indexing.take(TABLE, ROWS, 0), COLUMNS, 1) * 1.0
GRAPH = graph_of(e.sin(TAKEN))
GOOD = np.zeros((5, 7)), np.array([0, 4, -5], np.int32), np.array([6, 0, -7, 1])


def checks(graph: Graph) -> list[tuple[str, int]]:
    """What each check is about: its operator, and the number of places."""
    made = translate(graph, C)
    nodes = graph.nodes()
    return [(nodes[place].op.name, nodes[place].attrs[0]) for place in made.checks]


def test_checks_are_nodes_of_the_graph_that_was_given() -> None:
    assert sorted(checks(GRAPH)) == [("checked_index", 5), ("checked_index", 7)]


@pytest.mark.parametrize(
    ("slot", "place", "value", "size"),
    [(1, 0, 5, 5), (1, 2, -6, 5), (2, 3, 7, 7), (2, 1, -8, 7), (2, 0, 2**40, 7)],
)
def test_a_place_out_of_range_is_reported(slot: int, place: int, value: int, size: int) -> None:
    arrays = [each.copy() for each in GOOD]
    compiled = Compiled(GRAPH)
    compiled(arrays)
    arrays[slot][place] = value
    with pytest.raises(Fault) as caught:
        compiled(arrays)
    number, position, found, bound = caught.value.args
    assert (position, found, bound) == (place, value, size)
    assert checks(GRAPH)[number] == ("checked_index", size)


def test_a_place_is_checked_before_the_loop_that_does_not_change_it() -> None:
    words = leaf(1, (6, 40), int32)
    lines = reduction.sum(indexing.take(leaf(0, (9, 30), float32), words, 0), (1,))
    graph = graph_of(lines)
    (checked,) = [
        line for line in body_of(translate(graph, C).source).splitlines() if "gradc_place(" in line
    ]
    body = body_of(translate(graph, C).source)
    assert "#pragma omp simd" in body[body.index(checked) :]
    table, places = sample(graph)
    (found,) = Compiled(graph)([table, places])
    np.testing.assert_allclose(found[:, 0], table[places].sum(1), 1e-5, 1e-5)
    places[5, 39] = 9
    with pytest.raises(Fault) as caught:
        Compiled(graph)([table, places])
    assert caught.value.args[1:] == (5 * 40 + 39, 9, 9)


def test_nodes_that_nobody_asks_for_are_not_computed() -> None:
    unused = e.exp(TABLE)
    graph = graph_of(e.sin(TABLE))
    assert unused not in graph.nodes()
    assert [each.op.name for each in translate(graph, C).graph.nodes()] == ["input", "sin"]


def test_an_output_that_is_an_input_is_no_launch() -> None:
    made = translate(graph_of(TABLE * 1.0, TABLE - 0.0), C, verify=True)
    assert made.program.results == (("input", 0), ("input", 0))
    assert made.program.launches == ()


def test_an_output_that_is_asked_for_twice_is_computed_once() -> None:
    y = e.sin(TABLE)
    made = translate(graph_of(y, y), C, verify=True)
    assert made.program.results == (("output", 0), ("output", 0))
    assert len(made.program.outputs) == 1


def test_a_reshaped_output_is_the_same_memory() -> None:
    from gradc.tracer.ops.movement import reshape

    y = e.sin(TABLE)
    made = translate(graph_of(y, reshape(y, (35,)), reshape(TABLE, (7, 5))), C, verify=True)
    assert made.program.results == (("output", 0), ("output", 0), ("input", 0))
    assert len(made.program.launches) == 1
