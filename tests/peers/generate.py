"""Random programs: rows of all tables, one after another.

Hypothesis draws which rows, and for each a number; all else about the row follows from that number.
So it has few choices to make, and to take back when it looks for a smaller program that fails.
"""

from __future__ import annotations

from random import Random

from hypothesis import assume
from hypothesis import strategies as st
from peers import rows_elementwise, rows_network, rows_reduction, rows_shape
from peers.draft import Draft, Row, Unfit
from peers.program import Program

ROWS = (*rows_elementwise.ROWS, *rows_shape.ROWS, *rows_reduction.ROWS, *rows_network.ROWS)
WAYS = ("by_managers", "by_managers", "by_managers", "by_functions")


SEEDS = st.integers(0, 2**24)


@st.composite
def programs(draw: st.DrawFn, least: int, most: int, only: tuple[str, ...] = ()) -> Program:
    """Programs of `least` to `most` rows; every fifth is computed in float32."""
    dtype = draw(st.sampled_from(["float64"] * 4 + ["float32"]))
    way, kept = draw(st.sampled_from(WAYS)), draw(st.sampled_from([False] * 3 + [True]))
    count = draw(st.integers(least, most))
    rows = st.sampled_from([row for row in ROWS if not only or row.name in only])
    draft = Draft(Random(draw(SEEDS)), dtype)
    for _ in range(draft.whole(1, 3)):
        draft.add_input(draft.shape(draft.whole(0, 4)), tied=not draft.whole(0, 3))
    for row, number in draw(st.lists(st.tuples(rows, SEEDS), min_size=count, max_size=count)):
        draft.random = Random(number)
        _add(draft, row)
    assume(len(draft.steps) >= least)
    return draft.program(way, kept)


def _add(draft: Draft, row: Row) -> None:
    """Add the row, if that can be done in some tries."""
    for _ in range(6):
        try:
            draft.add(row)
        except Unfit:
            continue
        return
