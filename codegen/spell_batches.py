"""Kernels that go over their rows in batches, as views."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace

from .batches import Batches, Phase, RowValue, batches_of
from .kernel import Accumulate, Accumulator, Kernel, Let, Put
from .spell_kernel import BLOCK, KernelSpelling
from .spelling import STORED, cast_text, combined, computed_type, identity, simd_clause, wide_dtype
from .target import Target
from .value import Cached
from .view import BatchesView, GroupView, KernelView, PhaseView, RowView


def kernel_view(kernel: Kernel, target: Target) -> KernelView:
    """The view of `kernel`, in batches where that pays."""
    batches = batches_of(kernel)
    if batches is None:
        return KernelSpelling(kernel, target).view()
    return _BatchSpelling(kernel, target, batches).view()


class _BatchSpelling(KernelSpelling):
    """A kernel whose rows go through its stages in batches."""

    def __init__(self, kernel: Kernel, target: Target, batches: Batches) -> None:
        super().__init__(kernel, target)
        self.rows = batches.rows
        kept = (each for phase in batches.phases for each in phase.kept)
        self.arrays = {each.name: f"batch{number}" for number, each in enumerate(kept)}
        self.cached = {each.name: each.per_chunk for each in batches.cached}
        self.phases = batches.phases

    def view(self) -> KernelView:
        """The view."""
        made = super().view()
        self.coordinates = made.coordinates
        outside = tuple(each for each in made.arguments if each.name not in self.cached)
        return replace(made, arguments=outside, stages=(), batches=self._batches())

    def _batches(self) -> BatchesView:
        types = {
            self.arrays[each.name]: _type_of(each) for phase in self.phases for each in phase.kept
        }
        arrays = [(kind, array, self.rows) for array, kind in types.items()]
        for name, size in self.cached.items():
            arrays.append((STORED[self.dtypes[name]], f"{name}_batch", self.rows * size))
        return BatchesView(
            rows=self.rows,
            arrays=tuple(arrays),
            phases=tuple(self._phase(each) for each in self.phases),
        )

    def _phase(self, phase: Phase) -> PhaseView:
        if phase.stage is None:
            return PhaseView((), (self._group(phase, 1),))
        loops = tuple(self._loop(number, axis) for number, axis in enumerate(self.kernel.inner))
        exact = not (self.kernel.row_count | self.kernel.chunk | self.rows) % phase.together
        sizes = (phase.together,) if exact else (phase.together, 1)
        wide = any(wide_dtype(each.op, each.dtype) is not each.dtype for each in _looped(phase))
        length = self.kernel.inner[-1].extent
        block = BLOCK if wide and length > BLOCK else 0
        return PhaseView(loops, tuple(self._group(phase, each) for each in sizes), block)

    def _group(self, phase: Phase, count: int) -> GroupView:
        """So many rows together; sums of columns are read and written once for all of them."""
        looped = _looped(phase)
        rows: list[RowView] = []
        parts: dict[Accumulator, list[str]] = {each: [] for each in looped}
        for number in range(count):
            self.lane = f"_{number}" if count > 1 else ""
            rows.append(self._row_view(phase, looped, f"first + {number}" if number else "first"))
            for each in looped:
                parts[each].append(self._part(each))
        self.lane = ""
        told = (simd_clause(each.op, each.dtype, ", ".join(parts[each])) for each in looped)
        clauses = "".join(f" {each}" for each in told)
        columns = {
            each.accumulator: self.speller.index(each.offset)
            for each in phase.statements
            if isinstance(each, Accumulate) and each.accumulator.scope == "column" and count > 1
        }
        return GroupView(
            rows=tuple(rows),
            clauses=clauses,
            before=tuple(
                f"{STORED[each.kept]} {each.name}_column = {each.partial}[{place}];"
                for each, place in columns.items()
            ),
            after=tuple(
                f"{each.partial}[{place}] = {each.name}_column;" for each, place in columns.items()
            ),
        )

    def _accumulate(self, statement: Accumulate, inside: bool) -> str:
        each = statement.accumulator
        if each.scope != "column" or not self.lane:
            return super()._accumulate(statement, inside)
        x, total = self.speller.name(statement.value), f"{each.name}_column"
        widened = x if each.kept is each.dtype else f"({STORED[each.kept]}){x}"
        return f"{total} = {combined(each.op, each.kept, total, widened)};"

    def _row_view(self, phase: Phase, looped: Sequence[Accumulator], row: str) -> RowView:
        body: list[str] = []
        at = f"{self.row if phase.stage is None else row} - batch"
        for name in self._cached_in(phase):
            place = f"{name}_batch + ({at}) * {self.cached[name]}"
            body.append(f"{STORED[self.dtypes[name]]} *const {name} = {place};")
        for each in phase.read:
            body.append(f"const {_type_of(each)} {each.name} = {self.arrays[each.name]}[{at}];")
        body += [self._statement(each, inside=True) for each in (*phase.again, *phase.statements)]
        kept: list[str] = []
        for each in phase.kept:
            array, source = self.arrays[each.name], each.source
            if isinstance(source, Let):
                body.append(f"{array}[{at}] = {each.name};")
            else:
                kept.append(f"{array}[{at}] = {self._finished(source)};")
        if phase.stage is not None:
            body = _with_used(((self.row, row), *self.coordinates), body)
        own = [each for each in looped if each.scope == "row"]
        return RowView(
            sums=tuple(
                f"{computed_type(wide_dtype(each.op, each.dtype))} {self._sum(each)} = "
                f"{identity(each.op, wide_dtype(each.op, each.dtype))};"
                for each in own
            ),
            parts=tuple(
                f"{computed_type(each.dtype)} {self._part(each)} = {identity(each.op, each.dtype)};"
                for each in looped
            ),
            body=tuple(body),
            joins=tuple(map(self._join, looped)),
            kept=tuple(kept),
        )

    def _cached_in(self, phase: Phase) -> list[str]:
        """What keeps elements of the row and is written or read in a phase."""
        found: set[str] = set()
        for each in phase.statements:
            if isinstance(each, Put):
                found.add(each.argument)
            elif isinstance(each, Let) and isinstance(each.value, Cached):
                found.add(each.value.argument)
        return [each for each in self.cached if each in found]

    def _part(self, each: Accumulator) -> str:
        return f"{each.name}{self.lane}_part"

    def _sum(self, each: Accumulator) -> str:
        return f"{each.name}{self.lane if each.scope == 'row' else ''}_sum"

    def _join(self, each: Accumulator) -> str:
        wide, part, total = wide_dtype(each.op, each.dtype), self._part(each), self._sum(each)
        added = part if wide is each.dtype else f"({computed_type(wide)}){part}"
        return f"{total} = {combined(each.op, wide, total, added)};"

    def _finished(self, each: Accumulator) -> str:
        wide = wide_dtype(each.op, each.dtype)
        total = self._sum(each)
        return total if wide is each.dtype else cast_text(total, wide, each.dtype)


def _with_used(variables: Iterable[tuple[str, str]], lines: list[str]) -> list[str]:
    """`lines` behind those of the `variables` that they use."""
    for name, value in reversed(tuple(variables)):
        if any(re.search(rf"\b{name}\b", line) for line in lines):
            lines = [f"const int64_t {name} = {value};", *lines]
    return lines


def _looped(phase: Phase) -> tuple[Accumulator, ...]:
    """The reductions that have a part of their own in the innermost loop of a phase."""
    found = (each.accumulator for each in phase.statements if isinstance(each, Accumulate))
    return tuple(dict.fromkeys(each for each in found if each.scope in ("row", "chunk")))


def _type_of(kept: RowValue) -> str:
    source = kept.source
    return computed_type(source.value.dtype if isinstance(source, Let) else source.dtype)
