"""Concatenations of many parts are made of groups, whatever surrounds them."""

import numpy as np
import pytest
from contract.compute import leaf
from gradc.codegen.kernel import Repeat
from gradc.codegen.parts import MOST_PARTS, grouped
from gradc.codegen.pipeline import translate
from gradc.codegen.target import C
from gradc.tracer.dtypes import float64, int64
from gradc.tracer.interpret import interpret
from gradc.tracer.ir import Node
from gradc.tracer.ops import elementwise as e
from gradc.tracer.ops import indexing, movement
from graphs.build import graph_of, with_gradients
from graphs.compiled import Compiled, sample


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("count", [8, 9, 70])
def test_many_parts_come_together_in_groups(count: int, axis: int) -> None:
    shape = (1, 3) if axis == 0 else (2, 1)
    parts = [leaf(slot, shape, float64) for slot in range(count)]
    doubled = e.add(*[movement.concat(tuple(parts), axis)] * 2)
    graph = graph_of(doubled)
    made, _ = grouped(graph)
    groups = [each for each in made.nodes() if each.op is movement.concat_op]
    assert max(len(each.inputs) for each in groups) <= MOST_PARTS
    assert len(groups) <= 1 + count // (MOST_PARTS - 1)
    arrays = [np.full(shape, float(slot)) for slot in range(count)]
    (found,) = Compiled(graph)(arrays)
    np.testing.assert_array_equal(found, 2 * np.concatenate(arrays, axis))


def test_kernels_of_equal_groups_are_written_once() -> None:
    sources = []
    for count in (2 * MOST_PARTS, 4 * MOST_PARTS):
        parts = tuple(leaf(slot, (1, 50)) for slot in range(count))
        sources.append(translate(graph_of(movement.concat(parts, 0)), C, verify=True).source.text)
    assert sources[0].count("static void k") == sources[1].count("static void k") == 1


def test_checks_behind_many_parts_keep_their_names() -> None:
    """The number of a check is that of its node in the graph as it was recorded."""
    parts = tuple(leaf(slot, (1,), int64) for slot in range(1, MOST_PARTS + 3))
    graph = graph_of(indexing.take(leaf(0, (5,)), movement.concat(parts, 0), 0))
    made = translate(graph, C, verify=True)
    (check,) = made.checks
    assert graph.nodes()[check].op is e.checked_index


def test_loops_read_what_was_put_together() -> None:
    """The steps of a loop side by side, and the loop that goes back through them."""

    def kept(x: Node) -> Node:
        y, lines = x, []
        for _ in range(150):
            y = e.sin(y) * 0.9 + x * 0.1
            lines.append(movement.reshape(y, (1, *y.shape)))
        return e.exp(movement.concat(tuple(lines), 0))

    graph = with_gradients(kept, leaf(0, (50,), float64))
    made = translate(graph, C, verify=True)
    assert any(isinstance(each, Repeat) for each in made.program.launches)
    arrays = sample(graph)
    for found, expected in zip(
        Compiled(graph)(arrays), interpret(graph, arrays, [], []), strict=True
    ):
        np.testing.assert_allclose(found, expected, 1e-12, 1e-13)
