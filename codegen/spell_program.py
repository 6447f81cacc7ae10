"""Programs as views: distinct functions, and the calls of them in order."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from ..tracer.ops.kinds import Elementwise
from ..tracer.ops.transcendental import TRANSCENDENTAL
from .assemble import CHUNK_WORK
from .fuse import Matrix
from .kernel import (
    Combine,
    ImplicitLeft,
    ImplicitRight,
    Kernel,
    Launch,
    Let,
    Memory,
    Product,
    Program,
    Repeat,
    Sorting,
    flat,
    memories_of,
)
from .plan import Plan
from .spell_batches import kernel_view
from .spell_implicit import left_view, right_view, work_of
from .spell_kernel import coordinates_of, starts_of
from .spell_loop import Pointer, located, spelled_loop
from .spelling import (
    HALVES,
    STORED,
    Speller,
    cast_text,
    combined,
    computed_type,
    identity,
    short_name,
    stored,
    wide_dtype,
)
from .target import Target
from .units import statements, units_of
from .value import Apply
from .view import (
    CombineView,
    FunctionView,
    ImplicitLeftView,
    ImplicitRightView,
    LaunchView,
    ProductView,
    ProgramView,
    RepeatView,
    SortingView,
)

MANY_CALLS = 100
"""Uses of elementary functions above which a program has these functions once, and calls them:
compilers take long to lay out bodies in which hundreds of them are written out."""

PARALLEL_WORK = 1 << 18
"""Additions below which a kernel stays on the caller's thread."""


def program_view(program: Program, plan: Plan, target: Target) -> ProgramView:
    """`program`, laid out by `plan`, spelled for `target`."""
    functions: dict[FunctionView, str] = {}
    calls = 0
    sizes: list[int] = []
    names: dict[Launch, str] = {}
    for launch, _ in flat(program.launches):
        bare = _function(launch, target)
        name = functions.get(bare)
        if name is None:
            name = functions[bare] = f"k{len(functions)}_{identifier(launch.label)}"
            calls += _calls(launch)
            sizes.append(statements(launch))
        names[launch] = name
    launches = spelled_launches(program.launches, names, _pointers(program, plan))
    named = tuple(replace(view, name=name) for view, name in functions.items())
    products = (view for view in named if isinstance(view, ProductView) and not view.gemm)
    return ProgramView(
        entry="gradc_program",
        functions=named,
        units=units_of(named, sizes),
        launches=launches,
        calls=len(names),
        arena=plan.nbytes,
        arena_number=len(program.inputs) + len(program.outputs),
        matmuls=tuple(sorted({view.short for view in products})),
        vectors=any(isinstance(view, ImplicitLeftView | ImplicitRightView) for view in named),
        sorts=tuple(sorted({view.short for view in named if isinstance(view, SortingView)})),
        many_calls=calls > MANY_CALLS,
    )


def _calls(launch: Launch) -> int:
    """How many elementary functions the text of a launch uses."""
    if not isinstance(launch, Kernel):
        return 0
    lines = (each for stage in launch.stages for each in (*stage.row, *stage.body, *stage.after))
    values = (each.value for each in lines if isinstance(each, Let))
    return sum(
        isinstance(value, Apply)
        and isinstance(value.op, Elementwise)
        and value.op.weight >= TRANSCENDENTAL
        for value in values
    )


def spelled_launches(
    launches: Iterable[Launch],
    names: Mapping[Launch, str],
    pointers: Mapping[Memory, Pointer],
    depth: int = 0,
) -> tuple[LaunchView | RepeatView, ...]:
    """The calls of `launches`, whose functions have `names`, within `depth` loops."""
    made: list[LaunchView | RepeatView] = []
    for launch in launches:
        if isinstance(launch, Repeat):
            view, inside = spelled_loop(launch, pointers, depth)
            body = spelled_launches(launch.body, names, inside, depth + 1)
            made.append(replace(view, body=body))
        else:
            made.append(_launch(launch, names[launch], pointers))
    return tuple(made)


def identifier(label: str) -> str:
    """`label` as a name in C."""
    return "".join(c if c.isalnum() and c.isascii() else "_" for c in label) or "kernel"


def _pointers(program: Program, plan: Plan) -> dict[Memory, Pointer]:
    table = [*program.inputs, *program.outputs]
    found = {memory: Pointer(f"buffers[{number}]") for number, memory in enumerate(table)}
    return found | {memory: Pointer("arena", at) for memory, at in plan.offsets.items()}


def _launch(launch: Launch, name: str, pointers: Mapping[Memory, Pointer]) -> LaunchView:
    touched = tuple(
        located(memory, pointers).behind(start * memory.dtype.itemsize).text()
        for (memory, _), start in zip(memories_of(launch), _starts(launch), strict=True)
    )
    if isinstance(launch, Kernel):
        chunks, work = launch.chunks, launch.work
    elif isinstance(launch, Product):
        chunks = max(launch.batch_count, 0)
        work = launch.c.shape[0] * launch.c.shape[1] * launch.a.shape[1] * chunks
    elif isinstance(launch, Sorting):
        chunks, work = launch.chunks, launch.chunks * CHUNK_WORK
    elif isinstance(launch, ImplicitLeft | ImplicitRight):
        chunks, work = launch.chunks, work_of(launch)
    else:
        chunks, work = 1, 0
    parallel = chunks > 1 and work >= PARALLEL_WORK
    return LaunchView(name, touched, chunks, parallel, launch.label)


def _starts(launch: Launch) -> Iterable[int]:
    """How many elements behind the start of its memory each pointer begins."""
    if isinstance(launch, Kernel):
        known = starts_of(launch)
        return [known.get(each.name, 0) for each in launch.arguments]
    if isinstance(launch, Product):
        return [each.base.constant for each in launch.matrices]
    return [0 for _ in memories_of(launch)]


def _function(launch: Launch, target: Target) -> FunctionView:
    assert not isinstance(launch, Repeat), "a loop is no function"
    if isinstance(launch, Kernel):
        return kernel_view(launch, target)
    if isinstance(launch, Product):
        return _product(launch)
    if isinstance(launch, ImplicitRight):
        return right_view(launch)
    if isinstance(launch, ImplicitLeft):
        return left_view(launch)
    return _sorting(launch) if isinstance(launch, Sorting) else _combine(launch)


# ---- combines and products


def _combine(launch: Combine) -> CombineView:
    kept = launch.partial.dtype
    sum_dtype = wide_dtype(launch.op, kept)
    element = f"({computed_type(sum_dtype)})part[chunk * {launch.columns} + column]"
    return CombineView(
        name="",
        title=f"{launch.label}: {launch.columns} results of {launch.chunks} shares",
        kept_type=STORED[kept],
        sum_type=computed_type(sum_dtype),
        result_type=STORED[launch.result.dtype],
        identity=identity(launch.op, sum_dtype),
        join=combined(launch.op, sum_dtype, "total", element),
        result=written_total(launch),
        chunks=launch.chunks,
        columns=launch.columns,
    )


def sorting_title(launch: Sorting) -> str:
    """What is sorted."""
    what = "order" if launch.count == launch.length else f"first {launch.count}"
    return f"{launch.label}: the {what} of {launch.rows} lines of {launch.length} elements"


def _sorting(launch: Sorting) -> SortingView:
    return SortingView(
        name="",
        title=sorting_title(launch),
        type=STORED[launch.dtype],
        short=launch.dtype.name,
        rows=launch.rows,
        length=launch.length,
        count=launch.count,
        chunk=launch.chunk,
        descending=int(launch.descending),
    )


def written_total(launch: Combine) -> str:
    """The statement that writes a result."""
    sum_dtype, result = wide_dtype(launch.op, launch.partial.dtype), launch.result.dtype
    plain = result in HALVES or result is sum_dtype
    total = "total" if plain else cast_text("total", sum_dtype, result)
    return stored("y", "column", total, result, "set")


def product_title(launch: Product) -> str:
    """What is multiplied."""
    shape = " x ".join(str(axis.extent) for axis in launch.batch)
    a, b = (f"{each.shape[0]} x {each.shape[1]}" for each in (launch.a, launch.b))
    added = "" if launch.d is None else ", added"
    return f"{shape + ' products of ' if shape else ''}{a} times {b}{added}"


def _product(launch: Product) -> ProductView:
    axes = {axis: f"r{number}" for number, axis in enumerate(launch.batch)}
    speller = Speller({}, axes, {}, {})
    a, b, c = launch.a, launch.b, launch.c

    def moving(each: Matrix) -> str:
        """The offset of a matrix of the batch from the first one."""
        return speller.index(each.base.plus(-each.base.constant))

    transposed = tuple(int(each.column != 1) for each in (a, b))
    leading = tuple(each.row if each.column == 1 else each.column for each in (a, b))
    dtype = launch.dtype
    short = dtype.name if dtype in HALVES or not dtype.is_float else short_name(dtype)
    return ProductView(
        name="",
        title=product_title(launch),
        type=STORED[dtype],
        short=short,
        gemm=launch.gemm,
        rows=c.shape[0],
        columns=c.shape[1],
        depth=a.shape[1],
        coordinates=coordinates_of(axes.items(), "chunk"),
        offsets=tuple(moving(each) for each in launch.matrices),
        strides=((a.row, a.column), (b.row, b.column)),
        transposed=(transposed[0], transposed[1]),
        leading=(leading[0], leading[1]),
        added_row=None if launch.d is None else launch.d.row,
    )
