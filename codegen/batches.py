"""Batches: some rows go through the stages of a kernel together.

A row by itself alternates between loops over its elements and a few operators on what they have
summed, and each waits for the other. In a batch, the operators on sums run over all of its rows,
in lanes, and a loop over elements goes along several rows at once: they share what it reads besides
them, their sums do not wait for one another, and what they add to the same place is written once.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from ..tracer.ops.kinds import Elementwise
from .fission import LONG
from .index import Axis, Index
from .kernel import Accumulate, Accumulator, Argument, Kernel, Let, Put, Stage, Statement
from .spelling import HALVES
from .tiling import tiling_of
from .value import Apply, Cached, Load, Select, Value, indices_of

ROWS = 64
"""Rows of a batch, at most."""

LEAST_ROWS = 16
"""Rows of a batch, and of a chunk, that are worth it."""

SHORT, LONGEST = 64, 128
"""Elements of a row that several loops go over, up to which they are worth a batch: where that is
for the loops alone, and where it is for the operators on sums too."""

BYTES = 1 << 15
"""What the elements of a batch that is read more than once may take: the first-level cache."""

TOGETHER = 4
"""Rows that a loop goes along at once."""

LIGHT = 12
"""Statements of a loop, and additions that they cost, up to which it goes along several rows."""

SHORTEST = 8
"""Elements of such a loop."""

ROW_WEIGHT = 24
"""Additions that the operators on sums of a row must cost to be run in lanes."""

LANES = 8
"""How many elements a lane loop is taken to be faster by."""


@dataclass(frozen=True, eq=False)
class RowValue:
    """A value of each row that a later phase reads: a statement's, or the result of a reduction."""

    name: str
    source: Let | Accumulator


@dataclass(frozen=True, eq=False)
class Phase:
    """A loop over the rows of a batch: of statements of the row, or with a loop of `stage` inside.

    `read` are values that earlier phases have kept, `again` those that are loaded once more.
    """

    statements: tuple[Statement, ...]
    stage: Stage | None
    together: int
    read: tuple[RowValue, ...]
    again: tuple[Let, ...]
    kept: tuple[RowValue, ...]


@dataclass(frozen=True, eq=False)
class Batches:
    """The phases of each batch of so many `rows`; `cached` are the arguments that keep elements of
    a row for later stages, for which a batch has a place of its own."""

    rows: int
    phases: tuple[Phase, ...]
    cached: tuple[Argument, ...]


def batches_of(kernel: Kernel) -> Batches | None:
    """How `kernel` goes over its rows in batches, if that can be and pays."""
    if not _is_plain(kernel):
        return None
    drafts = _drafts(kernel)
    in_lanes = _is_worth_lanes(kernel, drafts)
    if not in_lanes and not any(each.together > 1 and _sums_rows(each) for each in drafts):
        return None
    loops = sum(each.stage is not None for each in drafts)
    if loops > 1 and _elements(kernel) > (LONGEST if in_lanes else SHORT):
        return None
    rows = _rows(kernel)
    if rows < LEAST_ROWS:
        return None
    return Batches(rows, _linked(kernel, drafts), tuple(_cached(kernel)))


def _is_plain(kernel: Kernel) -> bool:
    """Whether rows may go side by side, and nothing in them needs more than a loop."""
    if kernel.split != "rows" or kernel.ordered or kernel.checks or not kernel.inner:
        return False
    if min(kernel.row_count, kernel.chunk) < LEAST_ROWS or tiling_of(kernel) is not None:
        return False
    return all(_is_plain_stage(kernel, stage) for stage in kernel.stages)


def _is_plain_stage(kernel: Kernel, stage: Stage) -> bool:
    if stage.interior is not None or _weight(stage.body) >= LONG:
        return False
    for reduction in stage.accumulators:
        positional = getattr(reduction.op, "result", "") == "index"
        if positional or reduction.scope == "carry" or reduction.dtype in HALVES:
            return False
    at_rows = (*stage.row, *stage.after)
    several = sum(axis.extent > 1 for axis in kernel.rows) > 1
    for each in (*at_rows, *stage.body):
        if isinstance(each.value, Select):
            return False
        if isinstance(each.value, Load) and each.value.conditions:
            return False
        if isinstance(each, Put) and each.how != "set":
            return False
        if not all(index.is_affine() for index in _indices(each)):
            return False
        if isinstance(each, Accumulate) and each.accumulator.scope == "column" and each in at_rows:
            return False
    # where rows have several axes, places in them take divisions, for which there are no lanes
    return not (several and any(index.terms for each in at_rows for index in _indices(each)))


def _indices(statement: Statement) -> tuple[Index, ...]:
    if isinstance(statement, Let):
        return tuple(indices_of(statement.value))
    return (statement.offset,)


def _weight(statements: Iterable[Statement]) -> int:
    found = 0
    for each in statements:
        value = each.value
        if isinstance(each, Let) and isinstance(value, Apply) and isinstance(value.op, Elementwise):
            found += value.op.weight
    return found


def _drafts(kernel: Kernel) -> list[Phase]:
    """The phases, which do not know yet what they hand on."""
    drafts: list[Phase] = []
    waiting: list[Statement] = []
    for stage in kernel.stages:
        waiting += stage.row
        if not stage.body:
            waiting += stage.after
            continue
        if not all(_is_repeated(each) for each in waiting):
            drafts.append(Phase(tuple(waiting), None, 1, (), (), ()))
            waiting = []
        statements = (*waiting, *stage.body)  # what is left over is loads alone
        drafts.append(Phase(statements, stage, _together(kernel, stage), (), (), ()))
        waiting = list(stage.after)
    if waiting:
        drafts.append(Phase(tuple(waiting), None, 1, (), (), ()))
    return drafts


def _is_repeated(statement: Statement) -> bool:
    """Whether a value of the row is loaded again wherever it is needed."""
    value = statement.value
    return isinstance(statement, Let) and isinstance(value, Load) and not value.conditions


def _together(kernel: Kernel, stage: Stage) -> int:
    """How many rows the loop of a stage goes along at once."""
    light = len(stage.body) <= LIGHT and _weight(stage.body) <= LIGHT
    sums = any(isinstance(each, Accumulate) for each in stage.body)
    long = kernel.inner[-1].extent >= SHORTEST
    return TOGETHER if light and sums and long else 1


def _sums_rows(draft: Phase) -> bool:
    """Whether the loop of a phase sums up each row, which has to wait for its own sum."""
    accumulators = draft.stage.accumulators if draft.stage else ()
    return any(each.scope == "row" for each in accumulators)


def _is_worth_lanes(kernel: Kernel, drafts: Iterable[Phase]) -> bool:
    """Whether the operators on sums are a part of the work that counts."""
    of_rows = sum(_weight(each.statements) for each in drafts if each.stage is None)
    inside = sum(_weight(each.statements) for each in drafts if each.stage is not None)
    return of_rows >= max(ROW_WEIGHT, inside * kernel.inner_count // (LANES * LANES))


def _rows(kernel: Kernel) -> int:
    """The rows of a batch."""
    rows = min(ROWS, kernel.chunk)
    if len([stage for stage in kernel.stages if stage.body]) == 1:
        return rows
    inner = frozenset(kernel.inner)
    loads = (value for value in kernel.names if isinstance(value, Load))
    nodes = {value.node: value.dtype.itemsize for value in loads if value.axes >= inner}
    kept = sum(each.per_chunk * each.memory.dtype.itemsize for each in _cached(kernel))
    row = _elements(kernel) * sum(nodes.values()) + kept
    return min(rows, BYTES // max(row, 1) // TOGETHER * TOGETHER)


def _elements(kernel: Kernel) -> int:
    """How many elements a row has, with those of short axes that are written out."""
    return max([kernel.inner_count, *(each.per_chunk for each in _cached(kernel))])


def _cached(kernel: Kernel) -> list[Argument]:
    """The arguments that keep elements of a row for later stages."""
    lets = (each for stage in kernel.stages for each in stage.body if isinstance(each, Let))
    names = {each.value.argument for each in lets if isinstance(each.value, Cached)}
    return [each for each in kernel.arguments if each.name in names]


def _linked(kernel: Kernel, drafts: list[Phase]) -> tuple[Phase, ...]:
    """`drafts`, with what each of them needs of those before."""
    inner = frozenset(kernel.inner)
    made_by: dict[str, int] = {}
    sources: dict[str, Let | Accumulator] = {}
    for number, draft in enumerate(drafts):
        for name, source in _made(kernel, draft):
            made_by.setdefault(name, number)
            sources.setdefault(name, source)
    asked = [_asked(kernel.names, draft, sources) for draft in drafts]
    needed = [
        tuple(s for s in draft.statements if not _is_repeated(s) or _is_needed(s, names, inner))
        for draft, names in zip(drafts, asked, strict=True)
    ]
    read: list[tuple[RowValue, ...]] = []
    again: list[tuple[Let, ...]] = []
    kept: dict[str, RowValue] = {}
    for number, names in enumerate(asked):
        loads: list[Let] = []
        earlier: list[RowValue] = []
        for name in names:
            source = sources[name]
            if made_by[name] >= number:
                continue
            if isinstance(source, Let) and _is_repeated(source):
                loads.append(source)
            else:
                earlier.append(kept.setdefault(name, RowValue(name, source)))
        read.append(tuple(earlier))
        again.append(tuple(loads))
    return tuple(
        Phase(
            needed[number],
            draft.stage,
            draft.together,
            read[number],
            again[number],
            tuple(each for name, each in kept.items() if made_by[name] == number),
        )
        for number, draft in enumerate(drafts)
    )


def _is_needed(load: Statement, names: Collection[str], inner: frozenset[Axis]) -> bool:
    """Whether a phase that computes with `names` of the row does so with what is loaded."""
    assert isinstance(load, Let)
    return load.name in names or not inner.isdisjoint(load.value.axes)


def _made(kernel: Kernel, draft: Phase) -> Iterable[tuple[str, Let | Accumulator]]:
    """What a phase knows of each row."""
    inner = frozenset(kernel.inner)
    for each in draft.statements:
        if isinstance(each, Let) and inner.isdisjoint(each.value.axes):
            yield each.name, each
    if draft.stage is not None:
        for accumulator in draft.stage.accumulators:
            if accumulator.scope == "row":
                yield accumulator.name, accumulator


def _asked(
    names: Mapping[Value, str], draft: Phase, sources: Mapping[str, Let | Accumulator]
) -> list[str]:
    """The values of rows that a phase computes with."""
    found: dict[str, None] = {}
    for each in draft.statements:
        operands = each.value.operands if isinstance(each, Let) else (each.value,)
        for operand in operands:
            name = names.get(operand)
            if name is not None and name in sources:
                found[name] = None
    return list(found)
