"""Fusion: which nodes lie in memory, and which of them share a kernel. All others are inlined."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import prod

from ..tracer.ir import Node
from ..tracer.ops import movement, sources
from ..tracer.ops.kinds import Elementwise
from .beside import Home, homes
from .cluster import Cluster, Clustering
from .implicit import Implicit, implicit
from .index import Axis, Index, of_axis
from .item import item_of, values_below
from .lower import Lowering, axes_of
from .stored import (
    ALONE,
    COMPUTED,
    between_stretches,
    groups_of_parts,
    read_too_much,
    seen_from_many_places,
    spread_apart,
)
from .target import C, Target
from .value import Apply, Load, Value

WORTH_STORING = 12
"""A value that several kernels need is stored if computing it costs more additions than this."""

COST_OF_LOAD = 2
FEW_LANES = 16
FEW = 4

LONG = 5000
FEW_ROUNDS = 4
MOST_ROUNDS = 64
"""How often the choice of what is stored is made anew, where a program has many nodes and else."""


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


@dataclass(frozen=True)
class Step:
    """What one kernel is made from: a cluster of items, or a node with a kernel of its own.

    A product may write the `total` of itself and an `addend` instead.
    """

    cluster: Cluster | None = None
    alone: Node | None = None
    total: Node | None = None
    addend: Matrix | None = None


@dataclass(frozen=True)
class Fused:
    """The steps in the order in which they run, and the lowering that their values belong to.

    `homes` tells which nodes are stored as parts of others; for those there is no kernel.
    """

    steps: tuple[Step, ...]
    lowering: Lowering
    homes: Mapping[Node, Home]


def fuse(outputs: Sequence[Node], order: Sequence[Node], target: Target = C) -> Fused:
    """Choose what lies in memory, and distribute it over kernels.

    `order` are the nodes of the graph, inputs first. What several kernels would compute is stored
    where that is cheaper, and the choice is made anew.
    """
    in_memory = set(outputs) | {node for node in order if node.op.kind in ("reduction", *ALONE)}
    in_memory |= between_stretches(order)
    in_memory |= groups_of_parts(order)
    in_memory |= spread_apart(order)
    in_memory |= seen_from_many_places(order, in_memory)
    rounds = FEW_ROUNDS if len(order) > LONG else MOST_ROUNDS
    left = len(set(order) - in_memory)
    while True:
        lowering = Lowering(in_memory)
        found = homes(order, outputs, lowering) if target.language == "c" else {}
        more = operands_to_store(order, lowering, target)
        more |= {whole for whole, _ in found.values()} - in_memory
        more |= read_too_much(order, in_memory)
        if not more:
            clustering = _clustered(order, lowering, found)
            rounds -= 1
            more = _worth_storing(clustering, lowering) - in_memory if rounds > 0 else set()
            if not more:
                return Fused(_steps(clustering, found), lowering, found)
        # Each round stores something more, so that there are no more rounds than nodes.
        in_memory |= more
        left, before = len(set(order) - in_memory), left
        assert left < before, f"what is stored already is asked for again: {sorted(map(str, more))}"


def _clustered(order: Sequence[Node], lowering: Lowering, found: Mapping[Node, Home]) -> Clustering:
    clustering = Clustering()
    wholes = {whole for whole, _ in found.values()}
    for node in order:
        if node not in lowering.in_memory:
            continue
        if node.op.kind in ALONE or node in wholes:
            clustering.add_alone(node, read_by(node, lowering))
        else:
            clustering.add(item_of(node, lowering))
    clustering.merge()
    return clustering


def read_by(node: Node, lowering: Lowering) -> set[Node]:
    """What lies in memory and is read by the kernel of `node` alone."""
    if node.op.kind == "loop":  # what it reads is stored as it is
        return set(node.inputs)
    values = values_below(lowering.element(each, axes_of(each.shape)[1]) for each in node.inputs)
    return {value.node for value in values if isinstance(value, Load)}


def _steps(clustering: Clustering, found: Mapping[Node, Home]) -> tuple[Step, ...]:
    wholes = {whole for whole, _ in found.values()}
    home = clustering.home.items()
    alone = {at: node for node, at in home if node.op.kind in ALONE or node in wholes}
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


def operands_to_store(order: Iterable[Node], lowering: Lowering, target: Target = C) -> set[Node]:
    """What must be stored so that products and sorts can read their operands where they are."""
    found: set[Node] = set()
    for node in order:
        if node.op.kind == "sort" and not _lies_in_order(node.inputs[0], lowering):
            found.add(node.inputs[0])
        if node.op.kind == "loop":
            found |= {each for each in node.inputs if not _lies_in_order(each, lowering)}
        if node.op.kind == "contraction":
            found |= _stored_for(node, lowering, target)
    return found


def _stored_for(node: Node, lowering: Lowering, target: Target) -> set[Node]:
    """What the kernel of the contraction `node` asks to lie in memory, and does not yet."""
    made = implicit_in(node, lowering, target)
    if made is None:
        lacks = (each for each in node.inputs if not _is_readable(each, lowering))
        return {_readable(each, lowering) for each in lacks}
    left = {_base(node.inputs[0], lowering)} if made.a is None else set()
    wanted = made.stored | {each for each in left if each.op.kind in COMPUTED}
    lacks = (each for each in wanted if each not in lowering.in_memory)
    return {each for each in lacks if each.op is not sources.input_}


def implicit_in(node: Node, lowering: Lowering, target: Target) -> Implicit | None:
    """`node` as an implicit product, where no other kernel can read its operands in place."""
    if target.language != "c" or all(_is_readable(each, lowering) for each in node.inputs):
        return None
    return implicit(node, lowering.in_memory)


def _is_readable(node: Node, lowering: Lowering) -> bool:
    """Whether a product can read `node` where it is now."""
    return not _is_computed(node, lowering) and matrix(node, lowering) is not None


def _readable(node: Node, lowering: Lowering) -> Node:
    """What to store, and is not yet, so that a product can read `node`.

    The deepest value that will do, but rather one whose last axis is no shorter than a few lanes.
    What lies below a stored value is not seen through that, whether it is stored or not.
    """
    chain = [node]
    while chain[-1].op.kind == "movement" and len(chain[-1].inputs) == 1:
        (source,) = chain[-1].inputs
        if source.type.size != node.type.size or source.op.kind == "source":
            break
        if source in lowering.in_memory:
            break
        chain.append(source)
    fits = [each for each in reversed(chain) if matrix(node, Lowering({each})) is not None]
    wide = [each for each in fits if each.shape[-1] >= FEW_LANES]
    return next(iter((*wide, *fits)), unswapped(node))


def _lies_in_order(node: Node, lowering: Lowering) -> bool:
    """Whether the elements of `node` lie in memory, one after another."""
    return node in lowering.in_memory or node.op is sources.input_


def _is_computed(node: Node, lowering: Lowering) -> bool:
    """Whether something is computed for `node` that is not stored yet."""
    base = _base(node, lowering)
    return base.op.kind in COMPUTED and base not in lowering.in_memory


def _base(node: Node, lowering: Lowering) -> Node:
    """What `node` is a movement of."""
    while node.op.kind == "movement" and len(node.inputs) == 1 and node not in lowering.in_memory:
        (node,) = node.inputs
    return node


def unswapped(node: Node) -> Node:
    """`node` without an exchange of its last two axes, which a product can read either way."""
    last = (*range(node.ndim - 2), node.ndim - 1, node.ndim - 2)
    swapped = node.op is movement.transpose_op and node.attrs[0] == last
    return node.inputs[0] if swapped else node


# ---- what is cheaper to store than to compute again


def cost(value: Value, stored: Collection[Node] = ()) -> int:
    """The cost of computing `value` from memory, in additions; `stored` nodes lie there too."""
    total = 0
    done: set[Value] = set()
    stack = [value]
    while stack:
        each = stack.pop()
        if each in done:
            continue
        done.add(each)
        if isinstance(each, Apply) and each.made_by not in stored:
            total += each.op.weight if isinstance(each.op, Elementwise) else 0
            stack.extend(each.operands)
        elif isinstance(each, Apply | Load):
            total += COST_OF_LOAD if each.axes else 0
        else:
            stack.extend(each.operands)
    return total


@dataclass
class Uses:
    """How an inlined node is computed: by which clusters, and how many elements in all.

    `readers` are the inlined nodes that it is an operand of, `roots` the clusters that read it
    otherwise.
    """

    value: Value
    clusters: set[int] = field(default_factory=set)
    elements: int = 0
    readers: set[Node] = field(default_factory=set)
    roots: set[int] = field(default_factory=set)

    def rate(self, node: Node) -> float:
        """How often each element of `node` is computed."""
        return self.elements / max(node.type.size, 1)

    def is_worth_storing(self, node: Node) -> bool:
        """Whether computing `node` where it is needed is dearer than storing it once.

        Transcendental functions always are if several kernels need them. Those of the math library
        must be: lanes and tails of a loop round such a call differently, so that a second
        computation is not bound to give equal bits.
        """
        again = self.rate(node) - 1
        if len(self.clusters) == 1 and again < 1:
            return False
        price = cost(self.value)
        if len(self.clusters) > 1 and price > WORTH_STORING:
            return True
        return again >= 1 and again * (price - COST_OF_LOAD) > WORTH_STORING


def _worth_storing(clustering: Clustering, lowering: Lowering) -> set[Node]:
    """The inlined nodes that had better be stored; of a chain of such, the last one."""
    uses = _uses(clustering, lowering)
    dear = {node for node, found in uses.items() if found.is_worth_storing(node)}
    smaller = _smaller(uses, dear)
    return {each for node in dear if _is_asked_for(node, uses, dear) for each in smaller[node]}


def _is_asked_for(node: Node, uses: Mapping[Node, Uses], dear: set[Node]) -> bool:
    """Whether `node` is still computed in several places once its dear readers are stored."""
    own = uses[node]
    above = [each for each in own.readers if each in dear]
    alone = len(own.clusters) == 1
    if alone and any(own.rate(node) > uses[each].rate(each) for each in above):
        return True
    places = {min(uses[each].clusters) for each in above} | own.roots
    for each in own.readers - dear:
        places |= uses[each].clusters
    return len(places) > 1 or not above


def _smaller(uses: Mapping[Node, Uses], dear: set[Node]) -> dict[Node, frozenset[Node]]:
    """What to store for each dear node: what is below, if that is less and the rest is cheap.

    `uses` lists operands before what is made of them.
    """
    found: dict[Node, frozenset[Node]] = {}
    for node in (each for each in uses if each in dear):
        value = uses[node].value
        below = {each.made_by for each in value.operands if isinstance(each, Apply)} & dear
        deeper = frozenset(each for operand in below for each in found[operand])
        fewer = len(deeper) <= FEW and sum(each.type.size for each in deeper) < node.type.size
        cheap = bool(deeper) and fewer and cost(value, deeper) <= WORTH_STORING
        found[node] = deeper if cheap else frozenset((node,))
    return found


def _uses(clustering: Clustering, lowering: Lowering) -> dict[Node, Uses]:
    uses: dict[Node, Uses] = {}
    for number, cluster in enumerate(clustering.clusters):
        _count(uses, number, [(item.value, item.axes) for item in cluster.items])
    for node, number in clustering.home.items():
        if node.op.kind in ALONE and node.op.kind != "loop":
            spaces = ((each, *axes_of(each.shape)) for each in node.inputs)
            _count(uses, number, [(lowering.element(x, at), axes) for x, axes, at in spaces])
    return uses


def _count(
    uses: dict[Node, Uses], cluster: int, roots: Sequence[tuple[Value, tuple[Axis, ...]]]
) -> None:
    """Note what the values `roots`, over their axes, let the kernel `cluster` compute."""
    times: dict[Value, int] = {}
    for root, axes in roots:
        for value in values_below([root]):
            times[value] = max(times.get(value, 0), _times(value, axes))
    for value, count in times.items():
        if isinstance(value, Apply):
            found = uses.setdefault(value.made_by, Uses(value))
            found.clusters.add(cluster)
            found.elements += count
    for value in times:
        for operand in value.operands:
            if isinstance(operand, Apply) and isinstance(value, Apply):
                uses[operand.made_by].readers.add(value.made_by)
            elif isinstance(operand, Apply):
                uses[operand.made_by].roots.add(cluster)
    for root, _ in roots:
        if isinstance(root, Apply):
            uses[root.made_by].roots.add(cluster)


def _times(value: Value, axes: tuple[Axis, ...]) -> int:
    """How often `value` is computed in loops over `axes`: in the innermost one it depends on."""
    depth = max((number for number, axis in enumerate(axes) if axis in value.axes), default=-1)
    return prod(axis.extent for axis in axes[: depth + 1])
