"""The kernels of implicit products: what is packed beforehand, the product, what joins its shares.

How the work is cut follows from extents alone, so that results do not depend on the number of
threads.
"""

from __future__ import annotations

from math import prod

from ..tracer.ir import Node, node
from ..tracer.ops import movement
from ..tracer.ops.reduction import sum as sum_op
from .assemble import Assembly, Names, label_of
from .cluster import Clustering
from .implicit import Implicit, Reading, is_in_place
from .index import Axis, Index, of_axis, row_major
from .item import item_of
from .kernel import Combine, ImplicitLeft, ImplicitRight, Launch, Memory
from .lower import Lowering
from .target import Target

PART_WORK = 1 << 22
"""Products of numbers that make up a part of one matrix product."""

CHUNK_WORK = 1 << 19
"""Products of numbers that make up a chunk of several of them."""

PANELS = (6, 5, 4, 3)
"""Rows of a panel, the best first: so many vectors of sums stay in registers."""

COST_OF_STEP = 3
"""What a step of the depth costs besides its rows, in tenths of one."""

MOST_SHARES = 16
SHARE_BYTES = 1 << 20
"""Shares of a sum over images, and what they may take in memory."""

SHARE_WORK = 1 << 20
LEAST_STEPS = 256
"""Products of numbers, and steps of the depth, that make up a share."""

MOST_RANGES = 16
LEAST_RANGE = 24
"""Into how many ranges the rows fall, and rows of one."""


def implicit_launches(
    made: Implicit, lowering: Lowering, names: Names, target: Target, packed: set[Node]
) -> list[Launch]:
    """The kernels of `made`; `packed` are the operands that are packed already."""
    if made.a is not None:
        return _left(made, made.a, names)
    panels = packed_panels(made.node.inputs[0], _panel(made.node.shape[-2]))
    product = _right(made, panels, names)
    if panels in packed:
        return [product]
    packed.add(panels)
    return [*_packing(panels, lowering, names, target), product]


def _panel(rows: int) -> int:
    """How many rows are multiplied together: many, but so that few lack in the last panel."""
    return min(rows, min(PANELS, key=lambda size: -(-rows // size) * (10 * size + COST_OF_STEP)))


def _right(made: Implicit, panels: Node, names: Names) -> Launch:
    rows, columns = made.node.shape[-2:]
    work = rows * columns * prod(axis.extent for axis in made.depth)
    parts = max(min(work // PART_WORK, columns // 64), 1)
    products = prod(axis.extent for axis in made.batch)
    chunk = min(max(CHUNK_WORK // max(work // parts, 1), 1), products * parts)
    return ImplicitRight(
        label=label_of([made.node]),
        dtype=made.node.dtype,
        batch=made.batch,
        rows=rows,
        panel=panels.shape[-1],
        depth=made.depth,
        columns=made.columns,
        a=_panel_offset(made, panels),
        b=made.b.offset,
        in_place=is_in_place(made),
        parts=parts,
        chunk=chunk,
        memories=(names.written(panels), names.read(made.b.node), names.written(made.node)),
    )


def packed_panels(a: Node, panel: int) -> Node:
    """(..., rows, depth) as (..., panels, depth, rows of a panel), zeros for rows that lack."""
    lack = -a.shape[-2] % panel
    none = (0,) * a.ndim
    whole = movement.pad(a, none, (*none[:-2], lack, 0))
    lead = a.shape[:-2]
    shape = (*lead, whole.shape[-2] // panel, panel, a.shape[-1])
    split = node(movement.reshape_op, (whole,), (shape,))  # of a itself, which may be stored
    order = (*range(len(lead) + 1), len(lead) + 2, len(lead) + 1)
    return movement.transpose(split, order)


def _packing(packed: Node, lowering: Lowering, names: Names, target: Target) -> list[Launch]:
    clustering = Clustering()
    clustering.add(item_of(packed, lowering))
    (cluster,) = clustering.clusters
    return Assembly(cluster, {packed}, names, target).build()


def _panel_offset(made: Implicit, packed: Node) -> Index:
    """Where the panels of each product begin."""
    lead = packed.shape[:-3]
    own = made.batch[len(made.batch) - len(lead) :]
    pairs = zip(own, lead, strict=True)
    at = tuple(of_axis(Axis(axis.number, min(axis.extent, n))) for axis, n in pairs)
    return row_major(at, lead) * prod(packed.shape[-3:])


def _left(made: Implicit, a: Reading, names: Names) -> list[Launch]:
    node = made.node
    rows, steps = node.shape[-2], prod(axis.extent for axis in made.depth)
    work = node.type.size * steps
    most = max(min(MOST_SHARES, SHARE_BYTES // (node.type.size * node.dtype.itemsize)), 1)
    shares = max(min(work // SHARE_WORK, most, steps // LEAST_STEPS), 1)
    products = prod(axis.extent for axis in made.batch)
    wanted = min(MOST_RANGES // min(shares * products, MOST_RANGES), work // PART_WORK)
    ranges = max(min(wanted, rows // LEAST_RANGE), 1)
    result = names.written(node)
    shared = Memory(node.dtype, shares * node.type.size, "arena") if shares > 1 else result
    product = ImplicitLeft(
        label=label_of([node]),
        dtype=node.dtype,
        batch=made.batch,
        rows=made.rows,
        columns=made.columns,
        depth=made.depth,
        a=a.offset,
        b=made.b.offset,
        panel=_panel(-(-rows // ranges)),
        shares=shares,
        ranges=ranges,
        memories=(names.read(a.node), names.read(made.b.node), shared),
    )
    if shares == 1:
        return [product]
    label = label_of([node])
    total = Combine(label, sum_op, node.dtype, shared, result, shares, node.type.size)
    return [product, total]
