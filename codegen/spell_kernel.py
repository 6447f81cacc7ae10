"""Kernels as views: every statement and loop of a kernel as text."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from ..tracer.ops.kinds import Reduction
from .fission import FissionPiece, pieces_of
from .index import Axis
from .interior import middle_of
from .kernel import Accumulate, Accumulator, Interior, Kernel, Let, Put, Stage, Statement
from .lanes import is_repeatable
from .spelling import (
    HALVES,
    READ,
    STORED,
    Speller,
    cast_text,
    combined,
    commented,
    computed_type,
    identity,
    loaded,
    simd_clause,
    slot_expression,
    slot_name,
    stored,
    wide_dtype,
)
from .target import Target
from .tiling import ROWS, tiling_of
from .value import Apply, Cached, Load, Slot, Value, indices_of
from .view import (
    AccumulatorView,
    ArgumentView,
    InsideView,
    InteriorView,
    KernelView,
    LoopView,
    PieceView,
    StageView,
    TileView,
    TilingView,
)

BLOCK = 512
"""Elements whose float32 sum is taken before it is added to a float64 one, and of which the pieces
of a long body keep their intermediates."""

LEAST_LENGTH = 64
"""Elements of a loop that is worth pieces."""


def coordinates_of(axes: Iterable[tuple[Axis, str]], position: str) -> tuple[tuple[str, str], ...]:
    """For each axis its variable and its value at the row-major `position` among all of them."""
    listed = [(axis, name) for axis, name in axes if axis.extent != 1]
    found: list[tuple[str, str]] = []
    stride = 1
    for number, (axis, name) in enumerate(reversed(listed)):
        text = position if stride == 1 else f"{position} / {stride}"
        outermost = number == len(listed) - 1
        found.append((name, text if outermost else f"{text} % {max(axis.extent, 1)}"))
        stride *= max(axis.extent, 1)
    return tuple(reversed(found))


def starts_of(kernel: Kernel) -> dict[str, int]:
    """Where the arguments that are read begin, in elements, so that no place in them is lower.

    What differs between steps of a loop that was written out is often this alone: without it their
    kernels are one.
    """
    found: dict[str, int] = {}
    for value in kernel.names:
        if isinstance(value, Load):
            name = kernel.reads[value.node]
            found[name] = min(found.get(name, value.offset.constant), value.offset.constant)
    return {name: start for name, start in found.items() if start > 0}


class KernelSpelling:
    """One kernel on its way into a view."""

    def __init__(self, kernel: Kernel, target: Target) -> None:
        self.kernel = kernel
        self.annotated = target.annotated
        self.axes = {axis: f"r{number}" for number, axis in enumerate(kernel.rows)}
        self.axes |= {axis: f"i{number}" for number, axis in enumerate(kernel.inner)}
        self.dtypes = {each.name: each.memory.dtype for each in kernel.arguments}
        starts = starts_of(kernel) if target.language == "c" else {}
        lanes = target.language == "c" and kernel.row_count * kernel.inner_count > 1
        self.speller = Speller(kernel.names, self.axes, kernel.reads, kernel.checks, starts, lanes)
        tiling = tiling_of(kernel) if target.language == "c" else None
        self.tiling = tiling
        self.row = ""
        self.lane = ""  # in the names of reductions, where several rows have theirs
        self.tiles = {value: f"tile{k}" for k, value in enumerate(tiling.loads if tiling else ())}

    def view(self) -> KernelView:
        """The view."""
        kernel = self.kernel
        accumulators = [self._accumulator(each) for each in kernel.accumulators]
        coordinates = coordinates_of(((a, self.axes[a]) for a in kernel.rows), "row")
        self.row = coordinates[0][0] if len(coordinates) == 1 else "row"
        row = None
        if kernel.split == "rows" and (kernel.rows or kernel.chunks > 1):
            ends = ("first", "next") if self.tiling else self._ends(kernel.row_count)
            row = LoopView(self.row, *ends)
        return KernelView(
            name="",
            title=title_of(kernel),
            arguments=tuple(
                ArgumentView(
                    READ[each.memory.dtype], each.name, number, each.per_chunk, each.written
                )
                for number, each in enumerate(kernel.arguments)
            ),
            slots=self._slots(),
            checks=bool(kernel.checks),
            chunks=kernel.chunks,
            chunk=kernel.chunk,
            extent=kernel.row_count if kernel.split == "rows" else kernel.inner_count,
            row=row,
            coordinates=self._asked_for(coordinates) if len(coordinates) > 1 else (),
            chunk_accumulators=tuple(a for a in accumulators if a.scope == "chunk"),
            column_accumulators=tuple(a for a in accumulators if a.scope == "column"),
            stages=tuple(self._stage(stage) for stage in kernel.stages),
            tiling=self._tiling(),
        )

    def _tiling(self) -> TilingView | None:
        """The blocks in which rows are read."""
        tiling = self.tiling
        if tiling is None:
            return None
        coordinates = coordinates_of(((a, self.axes[a]) for a in self.kernel.rows), "first")
        return TilingView(
            tiles=tuple(self._tile(load, name) for load, name in self.tiles.items()),
            rows=ROWS,
            columns=tiling.columns,
            along=self.axes[tiling.along],
            length=tiling.along.extent,
            across=tiling.across.extent,
            coordinates=self._asked_for(coordinates),
        )

    def _tile(self, load: Load, name: str) -> TileView:
        array = self.speller.arguments[load.node]
        offset = self.speller.index(load.offset.plus(-self.speller.starts.get(array, 0)))
        start = f"const {READ[load.dtype]} *const {name}_from = {array} + {offset};"
        element = loaded(f"{name}_from", "lane", load.dtype)
        return TileView(name, computed_type(load.dtype), start, element)

    def _asked_for(self, coordinates: Iterable[tuple[str, str]]) -> tuple[tuple[str, str], ...]:
        """Those of `coordinates` that some place depends on."""
        found: set[str] = set()
        for stage in self.kernel.stages:
            for each in (*stage.row, *stage.body, *stage.after):
                indices = indices_of(each.value) if isinstance(each, Let) else (each.offset,)
                found |= {self.axes[axis] for index in indices for axis in index.axes()}
        return tuple(each for each in coordinates if each[0] in found)

    def _values(self) -> Iterable[Value]:
        for stage in self.kernel.stages:
            for statement in (*stage.row, *stage.body, *stage.after):
                yield statement.value
                yield from statement.value.operands

    def _slots(self) -> tuple[tuple[str, str, str], ...]:
        slots = dict.fromkeys(each for each in self._values() if isinstance(each, Slot))
        return tuple(
            (computed_type(slot.dtype), slot_name(slot), slot_expression(slot)) for slot in slots
        )

    def _stage(self, stage: Stage) -> StageView:
        inner = self.kernel.inner if stage.body else ()
        outer = dict.fromkeys(self._outer(stage))
        stage = replace(stage, body=tuple(each for each in stage.body if each not in outer))
        within = [each for each in stage.accumulators if self._is_looped(each, stage)]
        parts = tuple(self._accumulator(each) for each in within)
        carries = tuple(self._accumulator(a) for a in stage.accumulators if a.scope == "carry")
        simple = not any(part.positional for part in parts)
        checked = any(isinstance(s, Let) and s.value in self.kernel.checks for s in stage.body)
        wide = any(part.part_type != part.sum_type for part in parts if not part.positional)
        simd = simple and not checked and not carries
        length = inner[-1].extent if inner else 0
        long = simd and length >= LEAST_LENGTH and not self.tiling
        cut = pieces_of(stage.body, self.kernel.names) if long else ()
        pieces = tuple(self._piece(each, within) for each in cut) if len(cut) > 1 else ()
        block = BLOCK if (wide or pieces) and length > BLOCK and not self.tiling else 0
        whole = not (carries or pieces or block or self.tiling) and simple
        body = tuple(self._statement(each, inside=True) for each in stage.body)
        return StageView(
            row=tuple(self._statement(each, inside=False) for each in stage.row),
            loops=tuple(self._loop(number, axis) for number, axis in enumerate(inner)),
            outer=tuple(self._statement(each, inside=False) for each in outer),
            body=body,
            after=tuple(self._statement(each, inside=False) for each in stage.after),
            row_accumulators=tuple(part for part in parts if part.scope == "row"),
            parts=parts,
            carries=carries,
            simd=simd,
            clauses=_clauses(within),
            block=block,
            pieces=pieces,
            kept=tuple(
                dict.fromkeys(
                    (computed_type(let.value.dtype), f"between{place}")
                    for each in cut
                    for let, place in each.kept
                )
            ),
            kept_size=min(length, BLOCK),
            inside=self._inside(stage, inner) if whole else None,
            interior=self._interior(stage.interior) if stage.interior else None,
            repeatable=simd and is_repeatable(self.kernel, stage),
        )

    def _outer(self, stage: Stage) -> list[Let]:
        """What the innermost of several loops need not do at each of its steps."""
        inner = self.kernel.inner
        if len(inner) < 2 or stage.interior is not None:
            return []
        found = [s for s in stage.body if isinstance(s, Let) and not isinstance(s.value, Cached)]
        return [each for each in found if inner[-1] not in each.value.axes]

    def _piece(self, piece: FissionPiece, within: Iterable[Accumulator]) -> PieceView:
        reduced = {each.accumulator for each in piece.statements if isinstance(each, Accumulate)}
        return PieceView(
            body=tuple(self._statement(each, inside=True) for each in piece.statements),
            read=tuple(
                (computed_type(let.value.dtype), let.name, f"between{place}")
                for let, place in piece.read
            ),
            kept=tuple((let.name, f"between{place}") for let, place in piece.kept),
            clauses=_clauses(each for each in within if each in reduced),
        )

    def _inside(self, stage: Stage, inner: tuple[Axis, ...]) -> InsideView | None:
        """The part of the last loop of `stage` in which no padding is met."""
        cut = self.kernel.split == "inner" and len(inner) == 1
        middle = None if cut or not inner else middle_of(stage, inner[-1])
        if middle is None:
            return None
        asked = " && ".join(self.speller.condition(each) for each in middle.outer)
        self.speller.holds = middle.holds
        body = tuple(self._statement(each, inside=True) for each in stage.body)
        self.speller.holds = frozenset()
        return InsideView(middle.begin, middle.end, inner[-1].extent, asked, body)

    def _interior(self, part: Interior) -> InteriorView:
        """The part of the loops whose short axes are written out."""
        apart = (part.along, *part.gone)
        self.axes[part.steps] = "m0"
        self.speller.holds = frozenset(part.asked)
        body = tuple(self._statement(each, inside=True) for each in part.body)
        self.speller.holds = frozenset()
        end = part.begin + part.steps.extent

        def loops(first: int, last: int) -> tuple[LoopView, ...]:
            bounds = {part.along: (str(first), str(last))}
            listed = [axis for axis in self.kernel.inner if axis in apart]
            return tuple(
                LoopView(self.axes[axis], *bounds.get(axis, ("0", str(axis.extent))))
                for axis in (listed if first < last else ())
            )

        return InteriorView(
            asked=" && ".join(map(self.speller.condition, part.asked)),
            around=tuple(
                LoopView(self.axes[axis], "0", str(axis.extent))
                for axis in self.kernel.inner
                if axis not in apart
            ),
            before=loops(0, part.begin),
            loop=LoopView("m0", "0", str(part.steps.extent)),
            body=body,
            after=loops(end, part.along.extent),
            instead=loops(0, part.along.extent),
        )

    def _is_looped(self, accumulator: Accumulator, stage: Stage) -> bool:
        """Whether the accumulator needs a part of its own in the innermost loop."""
        return accumulator.scope in ("row", "chunk") and any(
            isinstance(each, Accumulate) and each.accumulator is accumulator for each in stage.body
        )

    def _loop(self, number: int, axis: Axis) -> LoopView:
        cut = number == 0 and self.kernel.split == "inner"
        ends = self._ends(axis.extent) if cut else ("0", str(axis.extent))
        ends = ("block", "stop") if self.tiling else ends
        return LoopView(self.axes[axis], *ends)

    def _ends(self, extent: int) -> tuple[str, str]:
        """Where a chunk's loop begins and ends."""
        return ("0", str(extent)) if self.kernel.chunks == 1 else ("begin", "end")

    def _accumulator(self, each: Accumulator) -> AccumulatorView:
        positional = isinstance(each.op, Reduction) and each.op.result == "index"
        wide = wide_dtype(each.op, each.dtype)
        sum_dtype = each.kept if each.scope == "column" else wide
        added = (
            f"{each.name}_part"
            if sum_dtype is each.dtype
            else (f"({computed_type(sum_dtype)}){each.name}_part")
        )
        join = "" if positional else combined(each.op, sum_dtype, f"{each.name}_sum", added)
        finish = f"{each.name}_sum"
        if not positional and sum_dtype is not each.dtype and each.scope == "row":
            kept = each.dtype in HALVES
            finish = finish if kept else cast_text(finish, sum_dtype, each.dtype)
        return AccumulatorView(
            name=each.name,
            type="int32_t" if positional else computed_type(each.dtype),
            part_type=computed_type(each.dtype),
            sum_type=computed_type(sum_dtype),
            part_identity=identity(each.op, each.dtype),
            sum_identity=identity(each.op, sum_dtype),
            join=join,
            finish=finish,
            partial=each.partial,
            columns=each.columns,
            positional=positional,
            scope=each.scope,
        )

    # ---- statements

    def _statement(self, statement: Statement, inside: bool) -> str:
        if isinstance(statement, Let):
            return self._let(statement)
        if isinstance(statement, Put):
            offset = self.speller.index(statement.offset)
            dtype = self.dtypes[statement.argument]
            name = self.speller.name(statement.value)
            return stored(statement.argument, offset, name, dtype, statement.how)
        return self._accumulate(statement, inside)

    def _let(self, statement: Let) -> str:
        value = statement.value
        if self.tiling and value in self.tiles:
            along = self.axes[self.tiling.along]
            text = f"{self.tiles[value]}[{self.row} - first][{along} - block]"
        else:
            text = self.speller.expression(value)
        comment = _comment(value, self.annotated)
        type_ = computed_type(value.dtype)
        return f"const {type_} {statement.name} = {text};{comment}"

    def _accumulate(self, statement: Accumulate, inside: bool) -> str:
        each = statement.accumulator
        x = self.speller.name(statement.value)
        if isinstance(each.op, Reduction) and each.op.result == "index":
            return self._find(each, x, self.speller.index(statement.offset))
        if each.scope == "column":
            place = f"{each.partial}[{self.speller.index(statement.offset)}]"
            widened = x if each.kept is each.dtype else f"({STORED[each.kept]}){x}"
            return f"{place} = {combined(each.op, each.kept, place, widened)};"
        in_part = inside and each.scope != "carry"
        variable = f"{each.name}{self.lane}_part" if in_part else f"{each.name}_sum"
        dtype = each.dtype if in_part else wide_dtype(each.op, each.dtype)
        widened = x if dtype is each.dtype else f"({computed_type(dtype)}){x}"
        return f"{variable} = {combined(each.op, dtype, variable, widened)};"

    def _find(self, each: Accumulator, x: str, position: str) -> str:
        best = f"{each.name}_best"
        sign = ">" if each.op.name == "argmax" else "<"
        better = f"{x} {sign} {best}"
        if each.dtype.is_float:
            better = f"{better} || ({x} != {x} && {best} == {best})"
        return f"if ({better}) {{ {best} = {x}; {each.name}_sum = (int32_t)({position}); }}"


def _clauses(accumulators: Iterable[Accumulator]) -> str:
    """What OpenMP is told of reductions within a loop."""
    told = (simd_clause(each.op, each.dtype, f"{each.name}_part") for each in accumulators)
    return "".join(f" {each}" for each in told)


def title_of(kernel: Kernel) -> str:
    """What the kernel computes, and over how many rows and elements."""
    rows, inner = shape_text(kernel.rows, "row"), shape_text(kernel.inner, "element")
    return f"{kernel.label}: {rows} of {inner}"


def shape_text(axes: tuple[Axis, ...], what: str) -> str:
    """How many rows or elements there are, by axis."""
    if not axes:
        return f"1 {what}"
    return " x ".join(str(axis.extent) for axis in axes) + f" {what}s"


def _comment(value: Value, annotated: bool) -> str:
    if not isinstance(value, Apply):
        return ""
    origin = value.made_by.origin
    label = origin.label if origin else ""
    shown = f"{label}: {value.op.name}" if label and label != value.op.name else value.op.name
    if origin and annotated:
        shown += f" ({commented(origin.file.rpartition('/')[2])}:{origin.line})"
    return f"  // {shown}"
