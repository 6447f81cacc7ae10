"""Loops: what is repeated is compiled once, and computes what it did."""

import gc
import weakref
from functools import cache

import numpy as np
import pytest
from contract.compute import leaf
from gradc.codegen.kernel import Kernel, Product, Program, Repeat, flat
from gradc.codegen.loop import Carried
from gradc.codegen.roll import rolled
from gradc.codegen.simplify import simplified
from gradc.codegen.target import CUDA, C
from gradc.tracer.dtypes import float32, float64
from gradc.tracer.graph import Graph
from gradc.tracer.interpret import interpret
from gradc.tracer.ir import Node
from gradc.tracer.ops import contraction, movement, reduction
from gradc.tracer.ops import elementwise as e
from graphs.build import graph_of, with_gradients
from graphs.compiled import Compiled, sample, written
from graphs.loops import LOOPS, STEPS, H, W, random_loops, recurrent
from hypothesis import HealthCheck, given, settings

DRAWN = settings().max_examples if settings().max_examples > 100 else 12
"""Each of them is compiled."""

SLOW = HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.large_base_example

IRREGULAR = ("placed",)
"""What their steps read lies in no even order, so that they stay as they are."""


@cache
def compiled(name: str) -> Compiled:
    return Compiled(LOOPS[name]())


def loops(program: Program) -> list[Repeat]:
    return [each for each in program.launches if isinstance(each, Repeat)]


@pytest.mark.parametrize("name", LOOPS)
def test_loops_compute_what_the_steps_did(name: str) -> None:
    graph = LOOPS[name]()
    arrays = [each * 0.3 for each in sample(graph)]
    expected = interpret(graph, arrays, [0.02], [])
    for x, y in zip(compiled(name)(arrays, [0.02]), expected, strict=True):
        tolerance = 1e-11 if y.dtype == np.float64 else 2e-5
        np.testing.assert_allclose(x, y, tolerance, tolerance * np.abs(y).max(initial=1.0))


@settings(max_examples=DRAWN, deadline=None, suppress_health_check=SLOW)
@given(random_loops())
def test_random_loops_compute_what_the_steps_did(graph: Graph) -> None:
    arrays = [each * 0.3 for each in sample(graph)]
    expected = interpret(graph, arrays, [], [])
    for x, y in zip(Compiled(graph)(arrays), expected, strict=True):
        np.testing.assert_allclose(x, y, 1e-10, 1e-10 * np.abs(y).max(initial=1.0))


@pytest.mark.parametrize("name", [each for each in LOOPS if each not in IRREGULAR])
def test_few_kernels_are_left(name: str) -> None:
    """Forward and adjoint are a loop each, and some steps at the ends stand alone."""
    program = compiled(name).made.program
    assert len(loops(program)) >= 2
    assert len(list(flat(program.launches))) < 40
    assert len(compiled(name).made.source.text) < 120_000


@pytest.mark.parametrize("name", ["recurrent", "all states", "recurrent, batch first"])
def test_the_gradient_of_a_recurrent_weight_is_one_deep_product(name: str) -> None:
    products = [each for each, _ in flat(compiled(name).made.program.launches)]
    depths = [each.a.shape[1] for each in products if isinstance(each, Product)]
    assert max(depths) > 0.8 * STEPS * H.shape[0]
    assert len(depths) < 12


def test_cotangents_of_the_lines_of_a_sequence_are_one_array() -> None:
    """What the adjoint's loop has left, first to last, and a few lines from outside of it."""
    graph, _ = rolled(simplified(LOOPS["recurrent"]()))
    (joined,) = (each for each in graph.nodes() if each.op is movement.concat_op)
    assert len(joined.inputs) <= 3


@pytest.mark.parametrize("name", ["recurrent", "backwards"])
def test_what_a_deep_product_reads_is_not_copied(name: str) -> None:
    """Both sides of it lie in the order of the steps, or both in the reverse."""
    launches = compiled(name).made.program.launches
    assert not [each.label for each in launches if each.label in ("slice", "transpose_slice")]


def test_a_matrix_that_all_steps_multiply_by_is_turned_once() -> None:
    """The adjoint multiplies by the transposed weight, whose rows are laid out before the loop.

    A few rows are multiplied by it as it stands, which takes no longer.
    """
    for rows, plain in ((8, True), (4, False)):
        x, h = leaf(0, (STEPS, rows, 5), float64), leaf(2, (rows, 5), float64)
        graph = with_gradients(recurrent(0), x, W, h)
        forward, adjoint = loops(written(graph, C).program)[:2]
        columns = [
            each.b.column
            for loop in (forward, adjoint)
            for each in loop.body
            if isinstance(each, Product)
        ]
        assert columns == [1, 1 if plain else 5]
        arrays = [each * 0.3 for each in sample(graph)]
        expected = interpret(graph, arrays, [], [])
        for found, wanted in zip(Compiled(graph)(arrays), expected, strict=True):
            np.testing.assert_allclose(found, wanted, 1e-11, 1e-11 * np.abs(wanted).max())


def test_more_steps_make_no_longer_a_program() -> None:
    def source(steps: int) -> str:
        x, w = leaf(0, (4, 5), float64), leaf(1, (5, 5), float64)

        def function(h: Node, w: Node) -> Node:
            for _ in range(steps):
                h = e.tanh(contraction.matmul(h, w)) * 1.5 + e.sin(h)
            return reduction.sum(h, (0, 1))

        return written(with_gradients(function, x, w), C).source.text

    assert len(source(200)) < 1.1 * len(source(100))


def test_short_graphs_are_left_alone() -> None:
    graph = simplified(graph_of(e.tanh(contraction.matmul(H, W))))
    assert rolled(graph) == (graph, {})


def test_a_wide_chain_of_operators_stays_one_kernel() -> None:
    """It would write and read memory for each of its steps."""
    x = leaf(0, (1000, 1000), float32)
    for _ in range(50):
        x = e.tanh(x) * 1.5
    (kernel,) = written(graph_of(x), C).program.launches
    assert isinstance(kernel, Kernel)


def test_large_values_are_rather_computed_again_than_kept_step_by_step() -> None:
    """The adjoint of a long chain of operators on much memory."""

    def chain(x: Node) -> Node:
        for _ in range(150):
            x = e.tanh(x * 1.5) + 0.25
        return reduction.sum(x, (0,))

    graph = rolled(simplified(with_gradients(chain, leaf(0, (1 << 18,), float32))))[0]
    assert not any(each.op.kind == "loop" for each in graph.nodes())
    graph = rolled(simplified(with_gradients(chain, leaf(0, (1 << 10,), float32))))[0]
    assert any(each.op.kind == "loop" for each in graph.nodes())


def test_a_device_runs_the_steps_one_by_one() -> None:
    assert not loops(written(LOOPS["recurrent"](), CUDA).program)


def test_what_one_step_hands_to_the_next_is_kept_no_longer() -> None:
    """The cotangent of a state goes round in two slots; the states themselves are all kept."""
    graph, _ = rolled(simplified(LOOPS["backwards"]()))
    made = {each.attrs[0] for each in graph.nodes() if each.op.kind == "loop"}
    kept = {
        slots
        for loop in made
        for feed in loop.feeds
        if isinstance(feed, Carried) and (slots := loop.slots[feed.output]) < loop.count
    }
    assert kept == {2}


def test_loops_are_let_go() -> None:
    """Nothing that outlives the compiler refers to them."""
    graph = rolled(simplified(LOOPS["recurrent"]()))[0]
    loop = next(each.attrs[0] for each in graph.nodes() if each.op.kind == "loop")
    known = weakref.ref(loop)
    del loop, graph
    gc.collect()
    assert known() is None
