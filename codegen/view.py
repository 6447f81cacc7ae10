"""Views: programs as templates see them, with every expression spelled out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from .index import Axis
from .kernel import (
    Accumulate,
    Accumulator,
    Combine,
    Kernel,
    Launch,
    Let,
    Memory,
    Product,
    Program,
    Put,
    Stage,
    Statement,
    memories_of,
)
from .plan import Plan
from .spelling import (
    HALVES,
    STORED,
    Speller,
    cast_text,
    combined,
    computed_type,
    identity,
    short_name,
    simd_clause,
    slot_expression,
    slot_name,
    stored,
    wide_dtype,
)
from .target import Target
from .value import Apply, Slot, Value

BLOCK = 512
"""Elements whose float32 sum is taken before it is added to a float64 one."""

PARALLEL_WORK = 1 << 17
"""Additions below which a kernel stays on the caller's thread."""


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
class StageView:
    """A stage: `row`, then `loops` around `body`, then `after`."""

    row: tuple[str, ...]
    loops: tuple[LoopView, ...]
    body: tuple[str, ...]
    after: tuple[str, ...]
    row_accumulators: tuple[AccumulatorView, ...]
    parts: tuple[AccumulatorView, ...]
    simd: bool
    clauses: str
    block: int


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
    blas: bool
    rows: int
    columns: int
    depth: int
    coordinates: tuple[tuple[str, str], ...]
    offsets: tuple[str, str, str]
    strides: tuple[tuple[int, int], tuple[int, int]]
    transposed: tuple[int, int]
    leading: tuple[int, int]
    kind: str = "product"


FunctionView = KernelView | CombineView | ProductView


@dataclass(frozen=True)
class LaunchView:
    """A call of a function: its pointers as expressions, its chunks, whether they run in parallel."""

    function: str
    pointers: tuple[str, ...]
    chunks: int
    parallel: bool
    title: str


@dataclass(frozen=True)
class ProgramView:
    """A program: distinct functions, and the calls of them in order."""

    entry: str
    functions: tuple[FunctionView, ...]
    launches: tuple[LaunchView, ...]
    arena: int
    arena_number: int
    matmuls: tuple[str, ...]


def program_view(program: Program, plan: Plan, target: Target) -> ProgramView:
    """`program`, laid out by `plan`, spelled for `target`."""
    del target
    pointers = _pointers(program, plan)
    functions: dict[FunctionView, str] = {}
    launches: list[LaunchView] = []
    for launch in program.launches:
        bare = _function(launch)
        name = functions.get(bare)
        if name is None:
            name = functions[bare] = f"k{len(functions)}_{_identifier(launch.label)}"
        launches.append(_launch(launch, name, pointers))
    named = tuple(replace(view, name=name) for view, name in functions.items())
    products = (view for view in named if isinstance(view, ProductView) and not view.blas)
    return ProgramView(
        entry="gradc_program",
        functions=named,
        launches=tuple(launches),
        arena=plan.nbytes,
        arena_number=len(program.inputs) + len(program.outputs),
        matmuls=tuple(sorted({view.short for view in products})),
    )


def _identifier(label: str) -> str:
    return "".join(c if c.isalnum() and c.isascii() else "_" for c in label) or "kernel"


def _pointers(program: Program, plan: Plan) -> dict[Memory, str]:
    table = [*program.inputs, *program.outputs]
    found = {memory: f"buffers[{number}]" for number, memory in enumerate(table)}
    return found | {memory: f"arena + {at}" for memory, at in plan.offsets.items()}


def _launch(launch: Launch, name: str, pointers: Mapping[Memory, str]) -> LaunchView:
    touched = tuple(pointers[memory] for memory, _ in memories_of(launch))
    if isinstance(launch, Kernel):
        chunks, work = launch.chunks, launch.work
    elif isinstance(launch, Product):
        chunks = max(launch.batch_count, 0)
        work = launch.c.shape[0] * launch.c.shape[1] * launch.a.shape[1] * chunks
    else:
        chunks, work = 1, 0
    parallel = chunks > 1 and work >= PARALLEL_WORK
    return LaunchView(name, touched, chunks, parallel, launch.label)


def _function(launch: Launch) -> FunctionView:
    if isinstance(launch, Kernel):
        return _KernelSpelling(launch).view()
    if isinstance(launch, Product):
        return _product(launch)
    return _combine(launch)


def coordinates_of(axes: Iterable[tuple[Axis, str]], position: str) -> tuple[tuple[str, str], ...]:
    """For each axis its variable and its value at the row-major `position` among all of them."""
    listed = [(axis, name) for axis, name in axes if axis.extent != 1]
    found: list[tuple[str, str]] = []
    stride = 1
    for number, (axis, name) in enumerate(reversed(listed)):
        text = position if stride == 1 else f"{position} / {stride}"
        outermost = number == len(listed) - 1
        found.append((name, text if outermost else f"{text} % {axis.extent}"))
        stride *= max(axis.extent, 1)
    return tuple(reversed(found))


# ---- kernels


class _KernelSpelling:
    """One kernel on its way into a view."""

    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel
        self.axes = {axis: f"r{number}" for number, axis in enumerate(kernel.rows)}
        self.axes |= {axis: f"i{number}" for number, axis in enumerate(kernel.inner)}
        self.dtypes = {each.name: each.memory.dtype for each in kernel.arguments}
        self.speller = Speller(kernel.names, self.axes, kernel.reads, kernel.checks)

    def view(self) -> KernelView:
        """The view."""
        kernel = self.kernel
        accumulators = [self._accumulator(each) for each in kernel.accumulators]
        coordinates = coordinates_of(((a, self.axes[a]) for a in kernel.rows), "row")
        row = None
        if kernel.split == "rows" and (kernel.rows or kernel.chunks > 1):
            name = coordinates[0][0] if len(coordinates) == 1 else "row"
            row = LoopView(name, *self._ends(kernel.row_count))
        return KernelView(
            name="",
            title=f"{kernel.label}: {_shape(kernel.rows, 'row')} of {_shape(kernel.inner, 'element')}",
            arguments=tuple(
                ArgumentView(
                    STORED[each.memory.dtype], each.name, number, each.per_chunk, each.written
                )
                for number, each in enumerate(kernel.arguments)
            ),
            slots=self._slots(),
            checks=bool(kernel.checks),
            chunks=kernel.chunks,
            chunk=kernel.chunk,
            extent=kernel.row_count if kernel.split == "rows" else kernel.inner_count,
            row=row,
            coordinates=coordinates if len(coordinates) > 1 else (),
            chunk_accumulators=tuple(a for a in accumulators if a.scope == "chunk"),
            column_accumulators=tuple(a for a in accumulators if a.scope == "column"),
            stages=tuple(self._stage(stage) for stage in kernel.stages),
        )

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
        within = [each for each in stage.accumulators if self._is_looped(each, stage)]
        parts = tuple(self._accumulator(each) for each in within)
        simple = not any(part.positional for part in parts)
        checked = any(isinstance(s, Let) and s.value in self.kernel.checks for s in stage.body)
        wide = any(part.part_type != part.sum_type for part in parts if not part.positional)
        return StageView(
            row=tuple(self._statement(each, inside=False) for each in stage.row),
            loops=tuple(self._loop(number, axis) for number, axis in enumerate(inner)),
            body=tuple(self._statement(each, inside=True) for each in stage.body),
            after=tuple(self._statement(each, inside=False) for each in stage.after),
            row_accumulators=tuple(part for part in parts if part.scope == "row"),
            parts=parts,
            simd=simple and not checked,
            clauses="".join(
                " " + simd_clause(each.op, each.dtype, f"{each.name}_part") for each in within
            ),
            block=BLOCK if wide and inner and inner[-1].extent > BLOCK else 0,
        )

    def _is_looped(self, accumulator: Accumulator, stage: Stage) -> bool:
        """Whether the accumulator needs a part of its own in the innermost loop."""
        return accumulator.scope != "column" and any(
            isinstance(each, Accumulate) and each.accumulator is accumulator for each in stage.body
        )

    def _loop(self, number: int, axis: Axis) -> LoopView:
        cut = number == 0 and self.kernel.split == "inner"
        ends = self._ends(axis.extent) if cut else ("0", str(axis.extent))
        return LoopView(self.axes[axis], *ends)

    def _ends(self, extent: int) -> tuple[str, str]:
        """Where a chunk's loop begins and ends."""
        return ("0", str(extent)) if self.kernel.chunks == 1 else ("begin", "end")

    def _accumulator(self, each: Accumulator) -> AccumulatorView:
        positional = each.op.result == "index"
        wide = wide_dtype(each.op, each.dtype)
        sum_dtype = each.kept if each.scope == "column" else wide
        added = f"{each.name}_part" if sum_dtype is each.dtype else (
            f"({computed_type(sum_dtype)}){each.name}_part"
        )
        join = "" if positional else combined(each.op, sum_dtype, f"{each.name}_sum", added)
        finish = f"{each.name}_sum"
        if not positional and sum_dtype is not each.dtype and each.scope == "row":
            finish = cast_text(finish, sum_dtype, each.dtype) if each.dtype not in HALVES else finish
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
        text = self.speller.expression(value)
        comment = _comment(value)
        type_ = computed_type(value.dtype)
        return f"const {type_} {statement.name} = {text};{comment}"

    def _accumulate(self, statement: Accumulate, inside: bool) -> str:
        each = statement.accumulator
        x = self.speller.name(statement.value)
        if each.op.result == "index":
            return self._find(each, x, self.speller.index(statement.offset))
        if each.scope == "column":
            place = f"{each.partial}[{self.speller.index(statement.offset)}]"
            widened = x if each.kept is each.dtype else f"({STORED[each.kept]}){x}"
            return f"{place} = {combined(each.op, each.kept, place, widened)};"
        variable = f"{each.name}_part" if inside else f"{each.name}_sum"
        dtype = each.dtype if inside else wide_dtype(each.op, each.dtype)
        widened = x if dtype is each.dtype else f"({computed_type(dtype)}){x}"
        return f"{variable} = {combined(each.op, dtype, variable, widened)};"

    def _find(self, each: Accumulator, x: str, position: str) -> str:
        best = f"{each.name}_best"
        sign = ">" if each.op.name == "argmax" else "<"
        better = f"{x} {sign} {best}"
        if each.dtype.is_float:
            better = f"{better} || ({x} != {x} && {best} == {best})"
        return f"if ({better}) {{ {best} = {x}; {each.name}_sum = (int32_t)({position}); }}"


def _shape(axes: tuple[Axis, ...], what: str) -> str:
    if not axes:
        return f"1 {what}"
    return " x ".join(str(axis.extent) for axis in axes) + f" {what}s"


def _comment(value: Value) -> str:
    if not isinstance(value, Apply):
        return ""
    origin = value.made_by.origin
    label = origin.label if origin else ""
    shown = f"{label}: {value.op.name}" if label and label != value.op.name else value.op.name
    return f"  // {shown}"


# ---- combines and products


def _combine(launch: Combine) -> CombineView:
    kept = launch.partial.dtype
    sum_dtype = wide_dtype(launch.op, kept)
    element = f"({computed_type(sum_dtype)})part[chunk * {launch.columns} + column]"
    total = "total"
    result = launch.result.dtype
    cast = total if result in HALVES or result is sum_dtype else cast_text(total, sum_dtype, result)
    return CombineView(
        name="",
        title=f"{launch.label}: {launch.columns} results of {launch.chunks} shares",
        kept_type=STORED[kept],
        sum_type=computed_type(sum_dtype),
        result_type=STORED[result],
        identity=identity(launch.op, sum_dtype),
        join=combined(launch.op, sum_dtype, total, element),
        result=stored("y", "column", cast, result, "set"),
        chunks=launch.chunks,
        columns=launch.columns,
    )


def _product(launch: Product) -> ProductView:
    axes = {axis: f"r{number}" for number, axis in enumerate(launch.batch)}
    speller = Speller({}, axes, {}, {})
    a, b, c = launch.a, launch.b, launch.c
    transposed = tuple(int(each.column != 1) for each in (a, b))
    leading = tuple(each.row if each.column == 1 else each.column for each in (a, b))
    shape = " x ".join(str(axis.extent) for axis in launch.batch)
    dtype = launch.dtype
    short = dtype.name if dtype in HALVES or not dtype.is_float else short_name(dtype)
    return ProductView(
        name="",
        title=f"{shape + ' products of ' if shape else ''}"
        f"{a.shape[0]} x {a.shape[1]} times {b.shape[0]} x {b.shape[1]}",
        type=STORED[dtype],
        short=short,
        blas=launch.blas,
        rows=c.shape[0],
        columns=c.shape[1],
        depth=a.shape[1],
        coordinates=coordinates_of(axes.items(), "chunk"),
        offsets=(speller.index(a.base), speller.index(b.base), speller.index(c.base)),
        strides=((a.row, a.column), (b.row, b.column)),
        transposed=(transposed[0], transposed[1]),
        leading=(leading[0], leading[1]),
    )

