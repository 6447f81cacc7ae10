"""Views of CUDA programs: what its templates see, with every expression spelled out."""

from __future__ import annotations

from dataclasses import dataclass

from .launch import Launched, Spread
from .view import AccumulatorView, LoopView


@dataclass(frozen=True)
class PointerView:
    """A pointer: its type, its name, the address it comes from, its step per chunk."""

    type: str
    name: str
    address: str
    per_chunk: int
    written: bool


@dataclass(frozen=True)
class JoinedView(AccumulatorView):
    """A reduction; `joined` is the result of all threads of a group, "" where each has it all."""

    joined: str = ""


@dataclass(frozen=True)
class CudaStageView:
    """A stage: `row`, then a loop of the group's threads around `body`, then `after`.

    `block` is the number of elements whose sum is taken before it is added to a wider one, or 0.
    """

    row: tuple[str, ...]
    body: tuple[str, ...]
    after: tuple[str, ...]
    parts: tuple[JoinedView, ...]
    row_accumulators: tuple[JoinedView, ...]
    carries: tuple[JoinedView, ...]
    block: int


@dataclass(frozen=True)
class CudaKernelView:
    """A kernel: everything that stands in its function.

    `element` is the loop over the inside of a row, `columnar` tells whether it is the outer one.
    `extent` is what is cut into chunks. `coordinates` are those of the row, `places` those of the
    element.
    """

    name: str
    title: str
    spread: Spread
    pointers: tuple[PointerView, ...]
    slots: tuple[tuple[str, str, str], ...]
    chunks: int
    chunk: int
    extent: int
    inner: int
    ordered: bool
    columnar: bool
    row: LoopView | None
    coordinates: tuple[tuple[str, str], ...]
    element: LoopView
    places: tuple[tuple[str, str], ...]
    chunk_accumulators: tuple[JoinedView, ...]
    column_accumulators: tuple[JoinedView, ...]
    writer: str
    stages: tuple[CudaStageView, ...]
    kind: str = "kernel"


@dataclass(frozen=True)
class CudaCombineView:
    """A Combine: everything that stands in its function.

    `lanes` threads share the chunks of a result.
    """

    name: str
    title: str
    pointers: tuple[PointerView, ...]
    sum_type: str
    identity: str
    join: str
    joined: str
    result: str
    chunks: int
    columns: int
    lanes: int
    threads: int
    kind: str = "combine"


@dataclass(frozen=True)
class CudaProductView:
    """A Product: everything that stands in its function.

    A matrix is cut into `tiles` with edges of `edge`, `down` times `across` of them, and there are
    `blocks` in all. A thread computes a square of elements.
    """

    name: str
    title: str
    elements: str
    square: int
    edge: int
    down: int
    across: int
    tiles: int
    blocks: int
    pointers: tuple[PointerView, ...]
    offsets: tuple[str, str, str]
    coordinates: tuple[tuple[str, str], ...]
    rows: int
    columns: int
    depth: int
    strides: tuple[tuple[int, int], tuple[int, int]]
    kind: str = "product"


@dataclass(frozen=True)
class CudaSortingView:
    """A Sorting: everything that stands in its function. `own` and `other` load elements."""

    name: str
    title: str
    pointers: tuple[PointerView, ...]
    key: str
    own: str
    other: str
    rows: int
    length: int
    count: int
    descending: bool
    threads: int
    kind: str = "sorting"


CudaFunctionView = CudaKernelView | CudaCombineView | CudaProductView | CudaSortingView


@dataclass(frozen=True)
class CudaProgramView:
    """A program: distinct kernels, and the launches of them in order."""

    functions: tuple[CudaFunctionView, ...]
    launches: tuple[Launched, ...]
    arena: int
    products: bool
