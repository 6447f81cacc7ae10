"""Random programs: rows of all tables, one after another; and models, which are stacks of layers.

Hypothesis draws which rows, and for each a number; all else about the row follows from that number.
So it has few choices to make, and to take back when it looks for a smaller program that fails.
"""

from __future__ import annotations

from random import Random

from hypothesis import assume
from hypothesis import strategies as st
from peers import rows_elementwise, rows_model, rows_network, rows_reduction, rows_shape
from peers.draft import Draft, Row, Unfit
from peers.program import Program

ROWS = (*rows_elementwise.ROWS, *rows_shape.ROWS, *rows_reduction.ROWS, *rows_network.ROWS)
LAYER_ROWS = rows_model.ROWS
WAYS = ("by_managers", "by_managers", "by_managers", "by_functions")


SEEDS = st.integers(0, 2**24)


LAYERS = (rows_model.RECURRENT, rows_model.SEQUENCES, rows_model.IMAGES)


def models(most: int = 4, only: tuple[str, ...] = ()) -> st.SearchStrategy[Program]:
    """Stacks of one to `most` layers. Each follows from one number, so that few are alike."""
    made = st.integers(0, 2**60).map(lambda number: model(Random(number), most, only))
    return made.filter(lambda program: bool(program.steps))


def model(random: Random, most: int = 4, only: tuple[str, ...] = ()) -> Program:
    """A stack of layers, each on the last, in float64."""
    draft = Draft(random, "float64")
    draft.add_input(_begin(draft, draft.one_of([3, 3, 4, 5])), -1.0, 1.0)
    groups = [[row for row in rows if not only or row.name in only] for rows in LAYERS]
    for _ in range(draft.whole(1, most)):
        _add(draft, draft.one_of(draft.one_of([rows for rows in groups if rows])))
    return draft.program(draft.one_of(WAYS), kept=False)


def _begin(draft: Draft, rank: int) -> tuple[int, ...]:
    """The shape of sequences (batch, steps, features), or of images (batch, channels, ...)."""
    batch = draft.one_of([1, 1, 2, 3])
    if rank == 3:
        return batch, draft.one_of([1, 3, 8, 11, 16, 20, 25]), draft.whole(1, 6)
    space = (3, 5, 7, 8, 9, 12, 16) if rank == 4 else (2, 3, 4, 5)
    return batch, draft.whole(1, 6), *(draft.one_of(space) for _ in range(rank - 2))


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
