"""Views: programs as templates see them, with every expression spelled out."""

from __future__ import annotations

from dataclasses import dataclass

from .lanes import lanes_of


@dataclass(frozen=True)
class ArgumentView:
    """A pointer: its type, its name, its place in the kernel's table, its step per chunk."""

    type: str
    name: str
    number: int
    per_chunk: int
    written: bool


@dataclass(frozen=True)
class LoopView:
    """A loop variable from `begin` to below `end`."""

    name: str
    begin: str
    end: str


@dataclass(frozen=True)
class AccumulatorView:
    """A reduction: `part` is the result of one innermost loop, `sum` that of all of them."""

    name: str
    type: str
    part_type: str
    sum_type: str
    part_identity: str
    sum_identity: str
    join: str
    finish: str
    partial: str
    columns: int
    positional: bool
    scope: str


@dataclass(frozen=True)
class PieceView:
    """A piece of a loop body: `read` are the types and names of what earlier pieces have kept, and
    the arrays where, `kept` the names and arrays of what this one keeps."""

    body: tuple[str, ...]
    read: tuple[tuple[str, str, str], ...]
    kept: tuple[tuple[str, str], ...]
    clauses: str


@dataclass(frozen=True)
class InsideView:
    """A part of a loop in which conditions hold that are asked for at its ends.

    `asked` is what must hold besides, and does not change in the loop.
    """

    begin: int
    end: int
    extent: int
    asked: str
    body: tuple[str, ...]


@dataclass(frozen=True)
class InteriorView:
    """A part of the loops of a stage with a loop and a body of its own, where `asked` holds.

    `around` are the loops that both have; the others are `before` it, `after` it, and `instead`.
    """

    asked: str
    around: tuple[LoopView, ...]
    before: tuple[LoopView, ...]
    loop: LoopView
    body: tuple[str, ...]
    after: tuple[LoopView, ...]
    instead: tuple[LoopView, ...]


@dataclass(frozen=True)
class StageView:
    """A stage: `row`, then `loops` around `body`, the last of them behind `outer`, then `after`.

    Where the body is in `pieces`, `kept` are the types and names of the arrays, of `kept_size`
    elements, by which they hand on values.
    Where `inside` is there, the last of the loops falls into parts. What is `repeatable` gives the
    same if some steps are done twice.
    """

    row: tuple[str, ...]
    loops: tuple[LoopView, ...]
    outer: tuple[str, ...]
    body: tuple[str, ...]
    after: tuple[str, ...]
    row_accumulators: tuple[AccumulatorView, ...]
    parts: tuple[AccumulatorView, ...]
    carries: tuple[AccumulatorView, ...]
    simd: bool
    clauses: str
    block: int
    pieces: tuple[PieceView, ...] = ()
    kept: tuple[tuple[str, str], ...] = ()
    kept_size: int = 0
    inside: InsideView | None = None
    interior: InteriorView | None = None
    repeatable: bool = False

    def lanes(self, begin: int | str, end: int | str) -> int:
        """How many steps of a loop go together; see lanes_of."""
        return lanes_of(begin, end) if self.repeatable else 0


@dataclass(frozen=True)
class TileView:
    """A tile: `element` is what it has of row number `lane`, read behind the pointer `start`."""

    name: str
    type: str
    start: str
    element: str


@dataclass(frozen=True)
class TilingView:
    """Blocks of `rows` rows and `columns` elements of them, for which `tiles` are filled.

    `along` is the loop variable of a row, up to `length`. A block does not cross a multiple of
    `across` rows, and `coordinates` are those of its first row.
    """

    tiles: tuple[TileView, ...]
    rows: int
    columns: int
    along: str
    length: int
    across: int
    coordinates: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class RowView:
    """One of the rows that a loop goes along together: the lines that stand before its loops,
    before the innermost, in that, behind it, and behind all.
    """

    sums: tuple[str, ...]
    parts: tuple[str, ...]
    body: tuple[str, ...]
    joins: tuple[str, ...]
    kept: tuple[str, ...]


@dataclass(frozen=True)
class GroupView:
    """Rows that a loop goes along together, and what the loop is told of reductions.

    `before` and `after` are lines around what is done for each of the rows with an element.
    """

    rows: tuple[RowView, ...]
    clauses: str
    before: tuple[str, ...]
    after: tuple[str, ...]


@dataclass(frozen=True)
class PhaseView:
    """A loop over the rows of a batch: in lanes, or with `loops` inside.

    These go along several rows, which are in the first of the `groups`, as long as there are so
    many, and then along one. Elements are cut into blocks of `block`.
    """

    loops: tuple[LoopView, ...]
    groups: tuple[GroupView, ...]
    block: int = 0


@dataclass(frozen=True)
class BatchesView:
    """Batches of `rows` rows, and the arrays by which the phases of one hand values on: type, name,
    size."""

    rows: int
    arrays: tuple[tuple[str, str, int], ...]
    phases: tuple[PhaseView, ...]


@dataclass(frozen=True)
class KernelView:
    """A kernel: everything that stands in its function."""

    name: str
    title: str
    arguments: tuple[ArgumentView, ...]
    slots: tuple[tuple[str, str, str], ...]
    checks: bool
    chunks: int
    chunk: int
    extent: int
    row: LoopView | None
    coordinates: tuple[tuple[str, str], ...]
    chunk_accumulators: tuple[AccumulatorView, ...]
    column_accumulators: tuple[AccumulatorView, ...]
    stages: tuple[StageView, ...]
    tiling: TilingView | None = None
    batches: BatchesView | None = None
    kind: str = "kernel"


@dataclass(frozen=True)
class CombineView:
    """A Combine: everything that stands in its function."""

    name: str
    title: str
    kept_type: str
    sum_type: str
    result_type: str
    identity: str
    join: str
    result: str
    chunks: int
    columns: int
    kind: str = "combine"


@dataclass(frozen=True)
class ProductView:
    """A Product: everything that stands in its function."""

    name: str
    title: str
    type: str
    short: str
    gemm: str
    rows: int
    columns: int
    depth: int
    coordinates: tuple[tuple[str, str], ...]
    offsets: tuple[str, ...]
    strides: tuple[tuple[int, int], tuple[int, int]]
    transposed: tuple[int, int]
    leading: tuple[int, int]
    added_row: int | None
    kind: str = "product"


@dataclass(frozen=True)
class SortingView:
    """A Sorting: everything that stands in its function."""

    name: str
    title: str
    type: str
    short: str
    rows: int
    length: int
    count: int
    chunk: int
    descending: int
    kind: str = "sorting"


@dataclass(frozen=True)
class ImplicitRightView:
    """An ImplicitRight: everything that stands in its functions."""

    name: str
    title: str
    type: str
    rows: int
    columns: int
    width: int
    panel: int
    panels: int
    last_rows: int
    depth: int
    in_place: bool
    parts: int
    tasks: int
    chunk: int
    coordinates: tuple[tuple[str, str], ...]
    offsets: tuple[str, str]
    column_coordinates: tuple[tuple[str, str], ...]
    column_offset: str
    depth_loops: tuple[LoopView, ...]
    depth_offset: str
    kind: str = "implicit_right"


@dataclass(frozen=True)
class ImplicitLeftView:
    """An ImplicitLeft: everything that stands in its functions."""

    name: str
    title: str
    type: str
    rows: int
    columns: int
    depth: int
    panel: int
    block: int
    shares: int
    ranges: int
    products: int
    coordinates: tuple[tuple[str, str], ...]
    offsets: tuple[str, str]
    row_coordinates: tuple[tuple[str, str], ...]
    row_offset: str
    column_coordinates: tuple[tuple[str, str], ...]
    column_offset: str
    depth_coordinates: tuple[tuple[str, str], ...]
    depth_offsets: tuple[str, str]
    odometer: tuple[tuple[str, int], ...]
    kind: str = "implicit_left"


FunctionView = (
    KernelView | CombineView | ProductView | SortingView | ImplicitRightView | ImplicitLeftView
)


@dataclass(frozen=True)
class LaunchView:
    """A call of a function: its pointers as expressions, its chunks, if they run in parallel."""

    function: str
    pointers: tuple[str, ...]
    chunks: int
    parallel: bool
    title: str


@dataclass(frozen=True)
class RepeatView:
    """A loop over calls: `places` are the pointers that move, by name, as expressions of its
    variable; of those that move in no even steps, `offsets` are bytes behind one pointer, by name,
    which cost a compiler nothing, and `tables` the pointers, where there are several."""

    variable: str
    count: int
    offsets: tuple[tuple[str, tuple[int, ...]], ...]
    tables: tuple[tuple[str, tuple[str, ...]], ...]
    places: tuple[tuple[str, str], ...]
    body: tuple[LaunchView | RepeatView, ...]
    title: str


@dataclass(frozen=True)
class ProgramView:
    """A program: distinct functions, and the calls of them in order."""

    entry: str
    functions: tuple[FunctionView, ...]
    units: tuple[tuple[FunctionView, ...], ...]
    launches: tuple[LaunchView | RepeatView, ...]
    calls: int
    arena: int
    arena_number: int
    matmuls: tuple[str, ...]
    vectors: bool
    sorts: tuple[str, ...]
    many_calls: bool
