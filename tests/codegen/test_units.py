"""Units of translation: long programs are cut between functions, and give what they gave."""

from pathlib import Path

import numpy as np
import pytest
from contract.compute import leaf
from gradc.codegen.units import MOST_UNITS, STATEMENTS, units_of
from gradc.runtime.cache import Cache
from gradc.tracer.ir import Node
from gradc.tracer.ops import elementwise as e
from gradc.tracer.ops import reduction
from graphs.build import graph_of
from graphs.compiled import Compiled, sample


@pytest.mark.parametrize(
    ("sizes", "expected"),
    [
        ([], ((),)),
        ([5, STATEMENTS], ((0, 1),)),
        ([STATEMENTS, STATEMENTS], ((0,), (1,))),
        ([STATEMENTS // 2] * 4, ((0, 1), (2, 3))),
        ([9 * STATEMENTS], ((0,),)),
        ([10, 10, 4 * STATEMENTS], ((0, 1), (2,))),
        ([STATEMENTS] * 12, ((0, 1, 2), (3, 4, 5), (6, 7, 8), (9, 10, 11))),
    ],
)
def test_functions_are_spread_in_order(
    sizes: list[int], expected: tuple[tuple[int, ...], ...]
) -> None:
    found = units_of(range(len(sizes)), sizes)
    assert found == expected
    assert len(found) <= MOST_UNITS


def long_program() -> Node:
    """Chains over lines of several lengths, each a kernel of its own, and none of them a loop."""
    chosen = np.random.default_rng(0)
    total = leaf(0, (1, 1))
    for slot in range(1, 5):
        x = y = leaf(slot, (3, 7 + slot))
        for _ in range(300):
            steps = (y * 0.5 + x, e.maximum(y, x * 0.25) - 0.125, e.neg(y) * x, y - 0.75 * x)
            y = steps[chosen.integers(4)]
        total = total + reduction.sum(y, (0, 1))
    return total


def test_units_are_the_whole(tmp_path: Path) -> None:
    graph = graph_of(long_program())
    arrays = sample(graph)
    apart = Compiled(graph, apart=Cache(tmp_path))
    assert apart.made.source.units > 1
    np.testing.assert_array_equal(apart(arrays)[0], Compiled(graph)(arrays)[0])
