"""Kernels: target-neutral loop nests, and the programs that are made of them.

A kernel goes over its rows in chunks. For each row it runs its stages: code of the row, then a loop
over the inside of the row, at whose end the reductions of the row are known. What is reduced over
the rows is kept per chunk, and a Combine joins the chunks in a fixed order, so that results do not
depend on the number of threads.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from math import prod

from ..tracer.dtypes import DType, float32, float64
from ..tracer.ir import Node
from ..tracer.ops.kinds import Reduction, Scan
from .fuse import Matrix
from .index import Axis, Index
from .value import Condition, Value


@dataclass(frozen=True, eq=False)
class Memory:
    """Elements in a row: an input or an output of the program, or a part of its arena.

    A "part" lies `within` another memory, from an element of it on.
    """

    dtype: DType
    size: int
    what: str
    within: tuple[Memory, int] | None = None

    @property
    def nbytes(self) -> int:
        """Bytes of the elements."""
        return self.size * self.dtype.itemsize

    @property
    def whole(self) -> Memory:
        """What it is a part of in the end, or itself."""
        return self if self.within is None else self.within[0].whole


@dataclass(frozen=True)
class Argument:
    """A memory as one kernel sees it: under a local name, read or written.

    Chunk number c begins `per_chunk * c` elements behind the start.
    """

    name: str
    memory: Memory
    written: bool
    per_chunk: int = 0


@dataclass(frozen=True, eq=False)
class Let:
    """A named value."""

    name: str
    value: Value


@dataclass(frozen=True, eq=False)
class Put:
    """A value written to memory; `how` is "set" or "add"."""

    argument: str
    offset: Index
    value: Value
    how: str = "set"


@dataclass(frozen=True, eq=False)
class Accumulator:
    """A reduction under way, by its scope: of a "row", of a "chunk", or of each "column".

    The scope "carry" is that of a scan: the result so far of a row, which is read on the way.

    `dtype` is that of the reduced values. `partial` is the argument that keeps a chunk's share, in
    the type `kept`; for a column there are `columns` of them.
    """

    name: str
    op: Reduction | Scan
    dtype: DType
    scope: str
    kept: DType
    partial: str = ""
    columns: int = 1


@dataclass(frozen=True, eq=False)
class Accumulate:
    """A value that joins an accumulator; `offset` is the column."""

    accumulator: Accumulator
    value: Value
    offset: Index


Statement = Let | Put | Accumulate


@dataclass(frozen=True, eq=False)
class Interior:
    """A part of the loops of a stage that has a body of its own, where the conditions `asked` hold.

    It is what lies along the axis `along` from `begin` on, for as many elements as the axis `steps`
    has; the body runs over these, and has the axes `gone` written out.
    """

    along: Axis
    begin: int
    steps: Axis
    gone: tuple[Axis, ...]
    asked: tuple[Condition, ...]
    body: tuple[Statement, ...]


@dataclass(frozen=True, eq=False)
class Stage:
    """Code of the row, then a loop over its inside, then what is done with what it has reduced."""

    row: tuple[Statement, ...]
    body: tuple[Statement, ...]
    after: tuple[Statement, ...]
    accumulators: tuple[Accumulator, ...]
    interior: Interior | None = None


@dataclass(frozen=True, eq=False)
class Kernel:
    """One loop nest.

    `split` says what is cut into chunks, "rows" or "inner"; `chunk` is the size of one. `names` are
    the variables that hold values, `reads` the arguments through which nodes are loaded. An
    `ordered` kernel must go over its rows one after another.
    """

    label: str
    rows: tuple[Axis, ...]
    inner: tuple[Axis, ...]
    stages: tuple[Stage, ...]
    arguments: tuple[Argument, ...]
    accumulators: tuple[Accumulator, ...]
    names: Mapping[Value, str]
    reads: Mapping[Node, str]
    checks: Mapping[Value, int]
    split: str
    chunk: int
    work: int
    ordered: bool = False

    @property
    def row_count(self) -> int:
        """The number of rows."""
        return prod(axis.extent for axis in self.rows)

    @property
    def inner_count(self) -> int:
        """The number of elements inside a row."""
        return prod(axis.extent for axis in self.inner)

    @property
    def chunks(self) -> int:
        """The number of chunks; at least one, which may be empty."""
        total = self.row_count if self.split == "rows" else self.inner_count
        return max(-(-total // self.chunk), 1)


@dataclass(frozen=True, eq=False)
class Combine:
    """The chunks' shares of a reduction, joined: `columns` results from `chunks` shares each."""

    label: str
    op: Reduction
    dtype: DType
    partial: Memory
    result: Memory
    chunks: int
    columns: int


GEMMS = {float32: "sgemm", float64: "dgemm"}
"""The functions of the run time that multiply matrices."""


@dataclass(frozen=True, eq=False)
class Product:
    """A batch of matrix products c = a b, or c = d + a b where there is a d.

    `batch` are its axes, over which the bases of all of them run.
    """

    label: str
    dtype: DType
    batch: tuple[Axis, ...]
    a: Matrix
    b: Matrix
    c: Matrix
    memories: tuple[Memory, ...]
    d: Matrix | None = None

    @property
    def matrices(self) -> tuple[Matrix, ...]:
        """All of them, as `memories` has theirs."""
        return (self.a, self.b, self.c) if self.d is None else (self.a, self.b, self.c, self.d)

    @property
    def gemm(self) -> str:
        """The function of the run time that multiplies them, if it knows their type."""
        return GEMMS.get(self.dtype, "")

    @property
    def batch_count(self) -> int:
        """The number of products."""
        return prod(axis.extent for axis in self.batch)


@dataclass(frozen=True, eq=False)
class Sorting:
    """The first `count` places of `rows` lines of `length` elements in their order.

    `scratch` has two lines of 64 bits for each chunk.
    """

    label: str
    dtype: DType
    rows: int
    length: int
    count: int
    chunk: int
    descending: bool
    source: Memory
    scratch: Memory
    result: Memory

    @property
    def chunks(self) -> int:
        """The number of chunks; at least one, which may be empty."""
        return max(-(-self.rows // self.chunk), 1)


@dataclass(frozen=True, eq=False)
class ImplicitRight:
    """An implicit product whose right operand is read, vector by vector, through an index map.

    `a` is where the panels of the left operand begin: `panel` rows each, a step of the depth after
    the other. `b` is where an element of the right operand lies, over the batch, the depth and the
    columns; `in_place` tells that the last axis of the columns fills vectors there. The columns
    of each product fall into `parts`, and `chunk` of these make up a chunk.
    """

    label: str
    dtype: DType
    batch: tuple[Axis, ...]
    rows: int
    panel: int
    depth: tuple[Axis, ...]
    columns: tuple[Axis, ...]
    a: Index
    b: Index
    in_place: bool
    parts: int
    chunk: int
    memories: tuple[Memory, Memory, Memory]

    @property
    def tasks(self) -> int:
        """The number of parts of all products."""
        return prod(axis.extent for axis in self.batch) * self.parts

    @property
    def chunks(self) -> int:
        """The number of chunks."""
        return -(-self.tasks // self.chunk)


@dataclass(frozen=True, eq=False)
class ImplicitLeft:
    """An implicit product whose left operand is read, element by element, through an index map.

    `a` and `b` are where elements of the operands lie, over the batch, the depth and the rows or
    columns. `panel` rows are summed together. The steps of the depth fall into `shares`, each with
    a result of its own, and the rows into `ranges`.
    """

    label: str
    dtype: DType
    batch: tuple[Axis, ...]
    rows: tuple[Axis, ...]
    columns: tuple[Axis, ...]
    depth: tuple[Axis, ...]
    a: Index
    b: Index
    panel: int
    shares: int
    ranges: int
    memories: tuple[Memory, Memory, Memory]

    @property
    def chunks(self) -> int:
        """The number of chunks: one for each share, product and range."""
        return self.shares * prod(axis.extent for axis in self.batch) * self.ranges


Place = tuple[Memory, int]
"""An element of a memory."""


@dataclass(frozen=True, eq=False)
class Repeat:
    """`count` steps of a body. `moving` tells for the memories of the body's inputs and results
    where each of them begins in each step."""

    label: str
    count: int
    body: tuple[Launch, ...]
    moving: Mapping[Memory, tuple[Place, ...]]


Launch = Kernel | Combine | Product | Sorting | ImplicitRight | ImplicitLeft | Repeat


@dataclass(frozen=True)
class Check:
    """A node whose index or label is checked while the program runs."""

    node: Node
    size: int


@dataclass(frozen=True, eq=False)
class Program:
    """All kernels of a graph in the order in which they run, and where their memories lie.

    `results` tells for each output of the graph which it is: ("input", slot) or ("output", number).
    """

    launches: tuple[Launch, ...]
    inputs: tuple[Memory, ...]
    outputs: tuple[Memory, ...]
    results: tuple[tuple[str, int], ...]
    checks: tuple[Check, ...]
    floats: int
    ints: int

    @property
    def gemms(self) -> tuple[str, ...]:
        """The functions of GEMMS that it calls."""
        products = (each for each, _ in flat(self.launches) if isinstance(each, Product))
        return tuple(sorted({each.gemm for each in products if each.gemm}))


def memories_of(launch: Launch) -> tuple[tuple[Memory, bool], ...]:
    """What a launch touches, and whether it writes it."""
    if isinstance(launch, Kernel):
        return tuple((each.memory, each.written) for each in launch.arguments)
    if isinstance(launch, Combine):
        return (launch.partial, False), (launch.result, True)
    if isinstance(launch, Sorting):
        return (launch.source, False), (launch.scratch, True), (launch.result, True)
    if isinstance(launch, Repeat):
        return _repeated(launch)
    a, b, c, *added = launch.memories
    return (a, False), (b, False), (c, True), *((d, False) for d in added)


def _repeated(launch: Repeat) -> tuple[tuple[Memory, bool], ...]:
    """What the steps touch outside of their body; what they write first is not said to be read."""
    writes: dict[Memory, bool] = {}
    for each in launch.body:
        for memory, written in memories_of(each):
            for outside, _ in launch.moving.get(memory.whole, ()):
                writes[outside] = writes.get(outside, False) or written
    return tuple(writes.items())


def flat(launches: Iterable[Launch]) -> Iterator[tuple[Launch, tuple[Repeat, ...]]]:
    """All launches in the order in which they stand, each with the loops around it."""
    for each in launches:
        if isinstance(each, Repeat):
            yield from ((inner, (each, *around)) for inner, around in flat(each.body))
        else:
            yield each, ()
