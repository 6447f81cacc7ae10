"""Tiles: what lies across the rows is read in blocks of several rows.

Where an argument lies transposed, neighbours in memory belong to neighbouring rows. A row alone
would take one element out of each line of the cache, and all of them out of a few places there. So
blocks of rows are copied first, in the order of memory, to a tile on the stack.
"""

from __future__ import annotations

from dataclasses import dataclass

from .index import Axis
from .kernel import Kernel, Let
from .value import Load

ROWS = 16
"""Rows of a tile: of float32, as many as a line of the cache holds."""

COLUMNS = 256
"""Elements of a row that are copied at a time, if the rows need not be whole."""

WHOLE = 512
"""Elements of rows that may be copied as a whole."""

MOST_TILES = 4
FAR = 16
"""Elements from one to the next along a row from which on they are worth a tile."""


@dataclass(frozen=True)
class Tiling:
    """The loads that are read through tiles, and how many elements of the rows at a time.

    `across` is the last of the row axes, along which the loads run through memory.
    """

    loads: tuple[Load, ...]
    across: Axis
    along: Axis
    columns: int


def tiling_of(kernel: Kernel) -> Tiling | None:
    """How `kernel` is tiled, if that pays."""
    rows = [axis for axis in kernel.rows if axis.extent > 1]
    if kernel.split != "rows" or kernel.ordered or len(kernel.inner) != 1 or not rows:
        return None
    (along,), across = kernel.inner, rows[-1]
    if across.extent < ROWS // 2 or along.extent < FAR:
        return None
    found = [
        each.value
        for stage in kernel.stages
        for each in stage.body
        if isinstance(each, Let) and _lies_across(each, across, along)
    ]
    loads = tuple(value for value in dict.fromkeys(found) if isinstance(value, Load))
    if not loads or len(loads) > MOST_TILES:
        return None
    if along.extent <= WHOLE:
        return Tiling(loads, across, along, along.extent)
    return Tiling(loads, across, along, COLUMNS) if _may_be_cut(kernel) else None


def _lies_across(let: Let, across: Axis, along: Axis) -> bool:
    """Whether what is read lies side by side in neighbouring rows, and far apart in one."""
    load = let.value
    if not isinstance(load, Load) or load.conditions or not load.offset.is_affine():
        return False
    far = abs(load.offset.coefficient(along)) >= FAR
    return far and load.offset.coefficient(across) == 1


def _may_be_cut(kernel: Kernel) -> bool:
    """Whether no row must be seen as a whole."""
    if len(kernel.stages) > 1:
        return False
    (stage,) = kernel.stages
    scopes = {each.scope for each in stage.accumulators}
    once = (*stage.row, *stage.after)
    return scopes <= {"chunk", "column"} and all(isinstance(each, Let) for each in once)
