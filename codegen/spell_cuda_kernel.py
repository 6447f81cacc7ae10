"""Kernels for CUDA: the statements are those of C, the loops belong to groups of threads."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields

from ..tracer.ops.kinds import Elementwise
from .cuda_view import CudaKernelView, CudaStageView, JoinedView, PointerView
from .index import Axis
from .kernel import Accumulate, Accumulator, Argument, Kernel, Let, Memory, Put, Stage, Statement
from .launch import is_columnar, spread_of, written_place
from .spell_kernel import KernelSpelling, coordinates_of, title_of
from .spelling import STORED, combined, computed_type
from .target import Target
from .value import Apply, Value
from .view import AccumulatorView, LoopView

BLOCK_ROUNDS = 32
"""Elements of one thread whose float32 sum is taken before it is added to a float64 one."""

FUNCTORS = {
    "sum": "gradc_sum()",
    "prod": "gradc_product()",
    "max": "gradc_maximum()",
    "min": "gradc_minimum()",
    "argmax": "gradc_argmax()",
    "argmin": "gradc_argmin()",
}
"""What joins two partial results, by the name of the reduction."""

NARROW = 1 << 31
"""Positions below this are divided as 32-bit numbers, which is cheaper."""


class CudaKernelSpelling(KernelSpelling):
    """One kernel on its way into a view for CUDA."""

    def __init__(self, kernel: Kernel, target: Target, addresses: Mapping[Memory, str]) -> None:
        super().__init__(kernel, target)
        self.addresses = addresses
        self.spread = spread_of(kernel)
        self.columnar = is_columnar(kernel)
        self.mentioned = self._mentioned()
        self.looped = {
            each.accumulator
            for stage in kernel.stages
            for each in stage.body
            if isinstance(each, Accumulate)
        }

    def cuda_view(self) -> CudaKernelView:
        """The view."""
        kernel = self.kernel
        accumulators = [self._joined(each) for each in kernel.accumulators]
        row, coordinates = self._row()
        element, places = self._element()
        return CudaKernelView(
            name="",
            title=title_of(kernel),
            spread=self.spread,
            pointers=tuple(self._pointer(each) for each in kernel.arguments),
            slots=self._slots(),
            chunks=kernel.chunks,
            chunk=kernel.chunk,
            extent=kernel.row_count if kernel.split == "rows" else kernel.inner_count,
            inner=kernel.inner_count,
            ordered=kernel.ordered,
            columnar=self.columnar,
            row=row,
            coordinates=coordinates,
            element=element,
            places=places,
            chunk_accumulators=tuple(a for a in accumulators if a.scope == "chunk"),
            column_accumulators=tuple(a for a in accumulators if a.scope == "column"),
            writer=self._writer(),
            stages=tuple(self._cuda_stage(stage) for stage in kernel.stages),
        )

    def _pointer(self, each: Argument) -> PointerView:
        kind, address = STORED[each.memory.dtype], self.addresses[each.memory]
        return PointerView(kind, each.name, address, each.per_chunk, each.written)

    # ---- loops

    def _row(self) -> tuple[LoopView | None, tuple[tuple[str, str], ...]]:
        """The loop over the rows of a chunk, and the coordinates of a row."""
        kernel = self.kernel
        coordinates = self._coordinates(kernel.rows, "row", kernel.row_count)
        if kernel.split != "rows" or not (kernel.rows or kernel.chunks > 1):
            return None, ()
        ends = self._ends(kernel.row_count)
        if len(coordinates) == 1:
            return LoopView(coordinates[0][0], *ends), ()
        return LoopView("row", *ends), coordinates

    def _element(self) -> tuple[LoopView, tuple[tuple[str, str], ...]]:
        """The loop over the inside of a row, and the coordinates of an element."""
        kernel = self.kernel
        ends = ("0", str(kernel.inner_count))
        if kernel.split == "inner":
            ends = self._ends(kernel.inner_count)
        if self.spread.pieces > 1:
            ends = ("first", "last")
        coordinates = self._coordinates(kernel.inner, "element", kernel.inner_count)
        if len(coordinates) == 1:
            return LoopView(coordinates[0][0], *ends), ()
        return LoopView("element", *ends), coordinates

    def _coordinates(
        self, axes: tuple[Axis, ...], position: str, count: int
    ) -> tuple[tuple[str, str], ...]:
        number = position if count >= NARROW else f"(uint32_t){position}"
        return coordinates_of(((axis, self.axes[axis]) for axis in axes), number)

    def _writer(self) -> str:
        """Which of the threads that know a value writes it; "" where only one does."""
        tests = ["lane == 0"] if self.spread.group > 1 else []
        tests += ["blockIdx.y == 0"] if self.spread.pieces > 1 else []
        return " && ".join(tests)

    # ---- stages

    def _cuda_stage(self, stage: Stage) -> CudaStageView:
        within = [each for each in stage.accumulators if self._is_looped(each, stage)]
        parts = tuple(self._joined(each) for each in within)
        wide = any(part.part_type != part.sum_type for part in parts if not part.positional)
        block = BLOCK_ROUNDS * self.spread.group
        split = self.kernel.split == "inner"
        span = self.kernel.chunk if split else self.kernel.inner_count
        return CudaStageView(
            row=self._row_lines(stage.row),
            body=tuple(self._statement(each, inside=True) for each in stage.body),
            after=tuple(self._statement(each, inside=False) for each in stage.after),
            parts=parts,
            row_accumulators=tuple(
                self._joined(each) for each in stage.accumulators if each.scope == "row"
            ),
            carries=tuple(self._joined(a) for a in stage.accumulators if a.scope == "carry"),
            block=block if wide and span > block else 0,
        )

    def _row_lines(self, statements: tuple[Statement, ...]) -> tuple[str, ...]:
        """Code of the row; where places have owners, the others leave once they know the place."""
        lines = [self._statement(each, inside=False) for each in statements]
        put = written_place(self.kernel) if self.spread.owners > 1 else None
        if put is not None:
            (place,) = put.offset.places()
            known = [
                number
                for number, each in enumerate(statements)
                if isinstance(each, Let) and each.value is place.value
            ]
            name = self.speller.name(place.value)
            test = f"if ((uint32_t){name} % {self.spread.owners} != owner) continue;"
            lines.insert(known[0] + 1 if known else 0, test)
        return tuple(lines)

    # ---- reductions

    def _joined(self, each: Accumulator) -> JoinedView:
        plain = self._accumulator(each)
        known = {field.name: getattr(plain, field.name) for field in fields(AccumulatorView)}
        if plain.positional:
            known["finish"] = f"(int32_t){each.name}_best.position"
        return JoinedView(**known, joined=self._group_result(each, plain.positional))

    def _group_result(self, each: Accumulator, positional: bool) -> str:
        if each not in self.looped or each.scope == "column" or self.spread.group == 1:
            return ""
        name = f"{each.name}_best" if positional else f"{each.name}_sum"
        function = "gradc_block_reduce"
        if not self.spread.is_block or self.spread.group <= 32:
            function = f"gradc_group_reduce<{self.spread.group}>"
        return f"{function}({name}, {FUNCTORS[each.op.name]})"

    # ---- statements

    def _mentioned(self) -> set[Value]:
        """The values that the text of some statement names."""
        found: set[Value] = set()
        for stage in self.kernel.stages:
            for each in (*stage.row, *stage.body, *stage.after):
                if not isinstance(each, Let):
                    found |= {each.value, *(place.value for place in each.offset.places())}
                elif not _is_constant(each.value):
                    found.update(each.value.operands)
        return found

    def _let(self, statement: Let) -> str:
        text = super()._let(statement)
        return text if statement.value in self.mentioned else f"[[maybe_unused]] {text}"

    def _statement(self, statement: Statement, inside: bool) -> str:
        text = super()._statement(statement, inside)
        writer = self._writer()
        if isinstance(statement, Put) and not inside and writer:
            return f"if ({writer}) {text}"
        return text

    def _accumulate(self, statement: Accumulate, inside: bool) -> str:
        each = statement.accumulator
        if each.scope != "column" or not self.columnar:
            return super()._accumulate(statement, inside)
        x = self.speller.name(statement.value)
        widened = x if each.kept is each.dtype else f"({computed_type(each.kept)}){x}"
        column = f"{each.name}_column"
        return f"{column} = {combined(each.op, each.kept, column, widened)};"

    def _find(self, each: Accumulator, x: str, position: str) -> str:
        kind = f"gradc_candidate<{computed_type(each.dtype)}>"
        best, functor = f"{each.name}_best", FUNCTORS[each.op.name]
        return f"{best} = {functor}({best}, {kind}{{{x}, {position}}});"


def _is_constant(value: Value) -> bool:
    """Whether an operator has the same result for all whole numbers."""
    if not isinstance(value, Apply) or not isinstance(value.op, Elementwise):
        return False
    text = value.op.integer
    return text is not None and "{" not in text and not value.arguments[-1].dtype.is_float
