"""Programs for CUDA as views: distinct kernels, and the launches of them in order.

All kernels get the same arguments, so a kernel names the memories that it uses.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from ..tracer.dtypes import DType
from .cuda_view import (
    CudaCombineView,
    CudaFunctionView,
    CudaProductView,
    CudaProgramView,
    CudaSortingView,
    PointerView,
)
from .kernel import Combine, Kernel, Launch, Memory, Product, Program, Sorting
from .launch import (
    MOST_BLOCKS,
    MOST_PIECES,
    SIDE,
    THREADS,
    WARP,
    Launched,
    combine_grid,
    combine_lanes,
    product_square,
    spread_of,
)
from .plan import Plan
from .spell_cuda_kernel import FUNCTORS, CudaKernelSpelling
from .spell_kernel import coordinates_of
from .spell_program import identifier, product_title, sorting_title, written_total
from .spelling import (
    HALVES,
    STORED,
    Speller,
    combined,
    computed_type,
    half_name,
    identity,
    loaded,
    short_name,
    wide_dtype,
)
from .target import Target

Grid = tuple[int, int, int]


def cuda_program_view(program: Program, plan: Plan, target: Target) -> CudaProgramView:
    """`program`, laid out by `plan`, spelled for CUDA."""
    addresses = _addresses(program, plan)
    functions: dict[CudaFunctionView, str] = {}
    launches: list[Launched] = []
    for launch in program.launches:
        grid, block = _extents(launch)
        if 0 in grid:
            continue
        bare = _function(launch, target, addresses)
        name = functions.get(bare)
        if name is None:
            name = functions[bare] = f"k{len(functions)}_{identifier(launch.label)}"
        launches.append(Launched(name, grid, block))
    return CudaProgramView(
        functions=tuple(replace(view, name=name) for view, name in functions.items()),
        launches=tuple(launches),
        arena=plan.nbytes,
        products=any(isinstance(view, CudaProductView) for view in functions),
    )


def _addresses(program: Program, plan: Plan) -> dict[Memory, str]:
    """Where each memory begins: the arena is the last of the buffers."""
    table = [*program.inputs, *program.outputs]
    found = {memory: f"buffers[{number}]" for number, memory in enumerate(table)}
    arena = f"buffers[{len(table)}]"
    for memory, at in plan.offsets.items():
        found[memory] = f"((char *){arena} + {at})" if at else arena
    return found


def _extents(launch: Launch) -> tuple[Grid, Grid]:
    """The grid in blocks, and the block in threads; no blocks where there is nothing to do."""
    if isinstance(launch, Kernel):
        spread = spread_of(launch)
        return spread.grid, (spread.threads, 1, 1)
    if isinstance(launch, Product):
        down, across = _tiles(launch)
        blocks = min(down * across * launch.batch_count, MOST_BLOCKS)
        return (blocks, 1, 1), (SIDE * SIDE, 1, 1)
    if isinstance(launch, Sorting):
        blocks = min(-(-launch.rows * launch.length // THREADS), MOST_PIECES)
        return (blocks, 1, 1), (THREADS, 1, 1)
    assert isinstance(launch, Combine)
    return (combine_grid(launch), 1, 1), (_combine_threads(launch), 1, 1)


def _function(launch: Launch, target: Target, addresses: Mapping[Memory, str]) -> CudaFunctionView:
    if isinstance(launch, Kernel):
        return CudaKernelSpelling(launch, target, addresses).cuda_view()
    if isinstance(launch, Product):
        return _product(launch, addresses)
    if isinstance(launch, Sorting):
        return _sorting(launch, addresses)
    assert isinstance(launch, Combine), "loops are written out for a device"
    return _combine(launch, addresses)


# ---- sorts


def _sorting(launch: Sorting, addresses: Mapping[Memory, str]) -> CudaSortingView:
    source = PointerView(STORED[launch.dtype], "x", addresses[launch.source], 0, False)
    return CudaSortingView(
        name="",
        title=sorting_title(launch),
        pointers=(source, PointerView("int32_t", "y", addresses[launch.result], 0, True)),
        key=computed_type(launch.dtype),
        own=loaded("x", "element", launch.dtype),
        other=loaded("x", "other", launch.dtype),
        rows=launch.rows,
        length=launch.length,
        count=launch.count,
        descending=launch.descending,
        threads=THREADS,
    )


# ---- combines


def _combine_threads(launch: Combine) -> int:
    lanes = combine_lanes(launch)
    return lanes if launch.columns == 1 else lanes * WARP


def _combine(launch: Combine, addresses: Mapping[Memory, str]) -> CudaCombineView:
    kept, result = launch.partial.dtype, launch.result.dtype
    sum_dtype = wide_dtype(launch.op, kept)
    sum_type, functor = computed_type(sum_dtype), FUNCTORS[launch.op.name]
    element = f"({sum_type})part[chunk * {launch.columns} + column]"
    alone = launch.columns == 1
    shared = combined(launch.op, sum_dtype, "total", "shares[lane][place]")
    return CudaCombineView(
        name="",
        title=f"{launch.label}: {launch.columns} results of {launch.chunks} shares",
        pointers=(
            PointerView(STORED[kept], "part", addresses[launch.partial], 0, False),
            PointerView(STORED[result], "y", addresses[launch.result], 0, True),
        ),
        sum_type=sum_type,
        identity=identity(launch.op, sum_dtype),
        join=combined(launch.op, sum_dtype, "total", element),
        joined=f"gradc_block_reduce(total, {functor})" if alone else shared,
        result=written_total(launch),
        chunks=launch.chunks,
        columns=launch.columns,
        lanes=combine_lanes(launch),
        threads=_combine_threads(launch),
    )


# ---- products


def _tiles(launch: Product) -> tuple[int, int]:
    """The number of tiles of one product, down and across."""
    edge = SIDE * product_square(launch)
    rows, columns = launch.c.shape
    return -(-rows // edge), -(-columns // edge)


def _product(launch: Product, addresses: Mapping[Memory, str]) -> CudaProductView:
    axes = {axis: f"r{number}" for number, axis in enumerate(launch.batch)}
    speller = Speller({}, axes, {}, {})
    matrices = (launch.a, launch.b, launch.c)
    kind, square = STORED[launch.dtype], product_square(launch)
    pointers = zip("abc", launch.memories, strict=True)
    offsets = [speller.index(each.base) for each in matrices]
    down, across = _tiles(launch)
    return CudaProductView(
        name="",
        title=product_title(launch),
        elements=f"gradc_elements_{_elements_name(launch.dtype)}",
        square=square,
        edge=SIDE * square,
        down=down,
        across=across,
        tiles=down * across,
        blocks=down * across * launch.batch_count,
        pointers=tuple(
            PointerView(kind, name, addresses[memory], 0, name == "c") for name, memory in pointers
        ),
        offsets=(offsets[0], offsets[1], offsets[2]),
        coordinates=coordinates_of(axes.items(), "chunk"),
        rows=launch.c.shape[0],
        columns=launch.c.shape[1],
        depth=launch.a.shape[1],
        strides=((launch.a.row, launch.a.column), (launch.b.row, launch.b.column)),
    )


def _elements_name(dtype: DType) -> str:
    return half_name(dtype) if dtype in HALVES else short_name(dtype)
