"""Launches: how chunks, rows and elements are spread over the blocks and threads of a CUDA device.

A group of threads runs a chunk. It goes over the rows of the chunk one after another, and its
threads take turns with the elements inside a row, the same thread always the same elements. Small
groups share a block. Everything here follows from extents, so that results are the same on every
device.
"""

from __future__ import annotations

from dataclasses import dataclass

from .kernel import Accumulate, Combine, Kernel, Product, Put, Stage

WARP = 32
THREADS = 256
"""Threads of a block of small groups, or of a tile of a product."""

ELEMENTS = 1024
"""Elements of a chunk that is cut out of the inside of a row."""

THREAD_WORK = 32
"""Additions that each thread of a group is given at least, where there are as many rows."""

COLUMN_ROWS = (8, 64)
"""The least and the most rows that are summed before their sum is joined with others."""

MOST_SHARES = 1 << 12
"""Chunks of a kernel that reduces everything to one number."""

MOST_BLOCKS = (1 << 31) - 1
MOST_PIECES = (1 << 16) - 1
MANY_BLOCKS = 1 << 10
"""Blocks that keep a large device busy."""

MOST_OWNERS = 1 << 14
"""Threads among which the places that a scatter writes are distributed."""

SIDE = 16
"""A tile of a product has SIDE * SIDE threads, and 1, 4 or 16 elements for each of them."""


@dataclass(frozen=True)
class Launched:
    """A call of a kernel: the grid in blocks, the block in threads, dynamic shared memory."""

    kernel: str
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    shared_bytes: int = 0


@dataclass(frozen=True)
class Spread:
    """How a kernel is spread: `blocks` of `threads`, of which each `group` runs a chunk.

    Where `pieces` is more than 1, so many blocks share the inside of a row: `piece` elements each.
    In an ordered kernel, which has one chunk, every group goes over all rows, and does those whose
    place belongs to it: that modulo `owners`.
    """

    blocks: int
    threads: int
    group: int
    pieces: int = 1
    piece: int = 0
    owners: int = 1

    @property
    def is_block(self) -> bool:
        """Whether all threads of a block are one group."""
        return self.group == self.threads

    @property
    def grid(self) -> tuple[int, int, int]:
        """The grid in blocks."""
        return self.blocks, self.pieces, 1


def chunk_of(kernel: Kernel, row_weight: int, inner_weight: int) -> int:
    """The size of a chunk of `kernel`, whose rows and elements cost so many additions."""
    total = kernel.row_count if kernel.split == "rows" else kernel.inner_count
    scopes = {each.scope for each in kernel.accumulators}
    if kernel.split == "inner":
        chunk = ELEMENTS
    else:
        per_row = row_weight + kernel.inner_count * inner_weight + 1
        chunk = max(THREAD_WORK * group_of(kernel) // per_row, 1)
    if "column" in scopes:
        least, most = COLUMN_ROWS
        chunk = min(max(-(-total // MANY_BLOCKS), least), most)
    shares = MOST_SHARES if "chunk" in scopes else MOST_BLOCKS
    least = -(-total // shares)
    if kernel.split == "inner":
        least = -(-least // ELEMENTS) * ELEMENTS
    return min(max(chunk, least), max(total, 1))


def group_of(kernel: Kernel) -> int:
    """The number of threads that run a chunk: by how many elements are at hand at once."""
    carried = any(a.scope == "carry" for stage in kernel.stages for a in stage.accumulators)
    if carried or not any(stage.body for stage in kernel.stages):
        return 1
    width = kernel.inner_count
    if kernel.split == "inner":
        width = min(width, ELEMENTS)
    if width < THREADS:
        return min(1 << max(width.bit_length() - 1, 0), WARP)
    return 128 if width < 1024 else 256 if width < 8192 else 512


def spread_of(kernel: Kernel) -> Spread:
    """How `kernel` is spread."""
    group = group_of(kernel)
    is_block = group > WARP
    chunks = _owners(kernel, group) if kernel.ordered else kernel.chunks
    threads = group if is_block else _block_of(group * chunks)
    blocks = -(-chunks * group // threads)
    pieces, piece = _pieces(kernel, blocks, threads) if is_block else (1, 0)
    return Spread(blocks, threads, group, pieces, piece, chunks if kernel.ordered else 1)


def _block_of(threads: int) -> int:
    """Whole warps for so many threads, as far as one block goes."""
    return min(-(-threads // WARP) * WARP, THREADS)


def _pieces(kernel: Kernel, blocks: int, threads: int) -> tuple[int, int]:
    """How many blocks share the inside of a row, and how many elements each of them takes."""
    if kernel.split == "inner" or _joins_elements(kernel):
        return 1, 0
    columns = any(each.scope == "column" for each in kernel.accumulators)
    each = threads if columns or kernel.ordered else 4 * threads
    most = min(-(-kernel.inner_count // each), -(-MANY_BLOCKS // blocks), MOST_PIECES)
    if most <= 1:
        return 1, 0
    piece = -(-kernel.inner_count // (most * threads)) * threads
    return -(-kernel.inner_count // piece), piece


def _joins_elements(kernel: Kernel) -> bool:
    """Whether some value is reduced over the inside of a row."""
    return any(
        isinstance(each, Accumulate) and each.accumulator.scope != "column"
        for stage in kernel.stages
        for each in stage.body
    )


def _owners(kernel: Kernel, group: int) -> int:
    """Among how many groups the places that an ordered kernel writes are distributed."""
    put = written_place(kernel)
    if put is None or not kernel.rows:
        return 1
    (place,) = put.offset.places()
    most = min(kernel.row_count, place.extent, MOST_OWNERS // max(group, kernel.inner_count, 1))
    return 1 << max(most.bit_length() - 1, 0)


def written_place(kernel: Kernel) -> Put | None:
    """The statement of an ordered kernel that writes to a place known at run time."""
    statements = (each for stage in kernel.stages for each in (*stage.row, *stage.body))
    puts = (each for each in statements if isinstance(each, Put))
    return next((each for each in puts if len(each.offset.places()) == 1), None)


def is_columnar(kernel: Kernel) -> bool:
    """Whether each thread may go over all rows for one element before it takes the next."""
    if len(kernel.stages) != 1 or not kernel.rows:
        return False
    stage: Stage = kernel.stages[0]
    effects = any(isinstance(each, Put | Accumulate) for each in (*stage.row, *stage.after))
    scopes = {each.scope for each in stage.accumulators}
    return "column" in scopes and "row" not in scopes and not effects


def combine_lanes(combine: Combine) -> int:
    """How many threads share the chunks of one result."""
    if combine.columns == 1:
        return _block_of(combine.chunks)
    return 1 if combine.chunks <= WARP else THREADS // WARP


def combine_grid(combine: Combine) -> int:
    """The number of blocks: one result each, or as many as a warp has lanes."""
    return 1 if combine.columns == 1 else -(-combine.columns // WARP)


def product_square(product: Product) -> int:
    """The side of the square of elements that one thread of a product computes."""
    rows, columns = product.c.shape
    for each in (4, 2):
        edge = SIDE * each
        if -(-rows // edge) * -(-columns // edge) * product.batch_count >= THREADS // 2:
            return each
    return 1
