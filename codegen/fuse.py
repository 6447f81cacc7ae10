"""Fusion: which nodes lie in memory, and which of them share a kernel. All others are inlined."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ..tracer.ir import Node
from ..tracer.ops import movement, sources
from ..tracer.ops.kinds import Elementwise
from .cluster import Cluster, Clustering
from .index import Axis, Index, of_axis
from .item import item_of, values_below
from .lower import Lowering, axes_of
from .value import Apply, Load, Value

WORTH_STORING = 12
"""A value that several kernels need is stored if computing it costs more additions than this."""

COST_OF_LOAD = 2

ALONE = ("contraction", "scatter", "scan", "sort")
"""Kinds of operators that have kernels of their own."""


@dataclass(frozen=True)
class Step:
    """What one kernel is made from: a cluster of items, or a node with a kernel of its own."""

    cluster: Cluster | None = None
    alone: Node | None = None


@dataclass(frozen=True)
class Fused:
    """The steps in the order in which they run, and the lowering that their values belong to."""

    steps: tuple[Step, ...]
    lowering: Lowering


@dataclass(frozen=True)
class Matrix:
    """A matrix in memory, or a batch of them: the offset of element (i, j) of the matrix at `base`.

    `base` runs over the batch axes; `row` and `column` are the distances of neighbours.
    """

    node: Node
    base: Index
    row: int
    column: int
    shape: tuple[int, int]


def fuse(outputs: Sequence[Node], order: Sequence[Node]) -> Fused:
    """Choose what lies in memory, and distribute it over kernels.

    `order` are the nodes of the graph, inputs first. What several kernels would compute is stored
    where that is cheaper, and the choice is made anew.
    """
    in_memory = set(outputs) | {node for node in order if node.op.kind in ("reduction", *ALONE)}
    while True:
        lowering = Lowering(in_memory)
        more = operands_to_store(order, lowering)
        if not more:
            clustering = _clustered(order, lowering)
            more = _worth_storing(clustering, lowering) - in_memory
            if not more:
                return Fused(_steps(clustering), lowering)
        in_memory |= more


def _clustered(order: Sequence[Node], lowering: Lowering) -> Clustering:
    clustering = Clustering()
    for node in order:
        if node not in lowering.in_memory:
            continue
        if node.op.kind in ALONE:
            clustering.add_alone(node, read_by(node, lowering))
        else:
            clustering.add(item_of(node, lowering))
    return clustering


def read_by(node: Node, lowering: Lowering) -> set[Node]:
    """What lies in memory and is read by the kernel of `node` alone."""
    values = values_below(_elements_for(node, lowering))
    return {value.node for value in values if isinstance(value, Load)}


def _elements_for(node: Node, lowering: Lowering) -> list[Value]:
    """The elements of what `node` is made of."""
    return [lowering.element(each, axes_of(each.shape)[1]) for each in node.inputs]


def _steps(clustering: Clustering) -> tuple[Step, ...]:
    alone = {at: node for node, at in clustering.home.items() if node.op.kind in ALONE}
    return tuple(
        Step(alone=alone[at]) if at in alone else Step(cluster)
        for at, cluster in clustering.ordered()
    )


# ---- what a BLAS can read in place


def matrix(node: Node, lowering: Lowering) -> Matrix | None:
    """`node` as a matrix in memory; None where its rows or columns are not contiguous there."""
    axes = tuple(Axis(number, extent) for number, extent in enumerate(node.shape))
    value = lowering.element(node, tuple(of_axis(axis) for axis in axes))
    if not isinstance(value, Load) or value.conditions or not value.offset.is_affine():
        return None
    *_, rows, columns = axes
    row, column = value.offset.coefficient(rows), value.offset.coefficient(columns)
    batch = tuple((a, c) for a, c in value.offset.terms if a not in (rows, columns))
    if columns.extent == 1:
        column = 1 if row != 1 or rows.extent == 1 else max(rows.extent, 1)
    if rows.extent == 1:
        row = max(columns.extent, 1) if column == 1 else 1
    contiguous = (column == 1 and row >= columns.extent) or (row == 1 and column >= rows.extent)
    if not contiguous:
        return None
    base = Index(value.offset.constant, batch)
    return Matrix(value.node, base, row, column, (rows.extent, columns.extent))


def operands_to_store(order: Iterable[Node], lowering: Lowering) -> set[Node]:
    """What must be stored so that products and sorts can read their operands where they are."""
    found: set[Node] = set()
    for node in order:
        if node.op.kind == "sort" and not _lies_in_order(node.inputs[0], lowering):
            found.add(node.inputs[0])
        if node.op.kind == "contraction":
            for each in node.inputs:
                below = _same_size_below(each, lowering)
                if _is_computed(below, lowering):
                    found.add(below)
                elif each not in lowering.in_memory and matrix(each, lowering) is None:
                    found.add(_unswapped(each))
    return found


def _lies_in_order(node: Node, lowering: Lowering) -> bool:
    """Whether the elements of `node` lie in memory, one after another."""
    return node in lowering.in_memory or node.op is sources.input_


def _same_size_below(node: Node, lowering: Lowering) -> Node:
    """The deepest value of which `node` shows all elements in other places, and no more."""
    while node.op.kind == "movement" and len(node.inputs) == 1 and node not in lowering.in_memory:
        (source,) = node.inputs
        if source.type.size != node.type.size:
            break
        node = source
    return node


def _is_computed(node: Node, lowering: Lowering) -> bool:
    """Whether something is computed for `node` that is not stored yet."""
    while node.op.kind == "movement" and len(node.inputs) == 1 and node not in lowering.in_memory:
        (node,) = node.inputs
    return node.op.kind in ("elementwise", "gather") and node not in lowering.in_memory


def _unswapped(node: Node) -> Node:
    """`node` without an exchange of its last two axes, which a product can read either way."""
    last = (*range(node.ndim - 2), node.ndim - 1, node.ndim - 2)
    swapped = node.op is movement.transpose_op and node.attrs[0] == last
    return node.inputs[0] if swapped else node


# ---- what is cheaper to store than to compute again


def cost(value: Value, known: dict[Value, int] | None = None) -> int:
    """The cost of computing `value` from memory, in additions."""
    total = 0
    for each in values_below([value]):
        if isinstance(each, Apply) and isinstance(each.op, Elementwise):
            total += each.op.weight
        elif isinstance(each, Load) and each.axes:
            total += COST_OF_LOAD
    return total


def _worth_storing(clustering: Clustering, lowering: Lowering) -> set[Node]:
    """Inlined nodes that more than one kernel computes, at a price above that of storing them.

    What calls a function of the math library is always above. It must be: lanes and tails of a loop
    round such a call differently, so that a second computation is not bound to give equal bits.
    """
    roots = {at: [item.value for item in c.items] for at, c in enumerate(clustering.clusters)}
    for node, at in clustering.home.items():
        if node.op.kind in ALONE:
            roots[at] = _elements_for(node, lowering)
    users: dict[Node, set[int]] = {}
    direct: dict[Node, Value] = {}
    for number, values in roots.items():
        for value in values_below(values):
            if isinstance(value, Apply):
                users.setdefault(value.made_by, set()).add(number)
                direct[value.made_by] = value
    shared = {node for node, numbers in users.items() if len(numbers) > 1}
    below_shared = {
        operand.made_by
        for node in shared
        for operand in direct[node].operands
        if isinstance(operand, Apply) and users[operand.made_by] == users[node]
    }
    return {node for node in shared - below_shared if cost(direct[node]) > WORTH_STORING}
