"""Clusters: items that one kernel computes.

A cluster runs over one space of loop axes, of which some are rows and the others lie inside a row.
Within a row, a value may depend on reductions of that row (softmax, layer norm); what is summed
over the rows themselves is known only when the kernel ends.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from math import prod

from ..tracer.ir import Node
from .index import Axis, Index, of_axis, row_major, substituted
from .item import Extents, Item
from .value import Value

MOST_ARGUMENTS = 60
"""Memories that one kernel reads or writes. A chain of 400 steps with masks, of which one kernel
had 657 of them, took 36 s to build; with this bound 8 s (`benchmarks/growth.py`)."""

MOST_VALUES = 2000
SMALL = 4096
NEARBY = 24
MOST_MERGED = 1000
FAR = 16
"""Elements from one that is read to the next that are a large step."""

FEW = 64
"""Elements that need no streams: items of so few share kernels although they share nothing."""


class Role(Enum):
    """What an item is to the space of its cluster."""

    ELEMENT = "one per element"
    ROW = "one per row"
    IN_ROW = "a reduction of each row"
    COLUMNS = "a reduction over the rows, of each element inside a row"
    OVER_ALL = "a reduction over all elements"
    OVER_ROWS = "a reduction of values that are one per row, over all rows"


INSIDE = (Role.IN_ROW, Role.COLUMNS)
"""Reductions that want the places in their order."""


@dataclass(frozen=True)
class Fit:
    """An item's place in a cluster: the space that the cluster has with it, its role and stage."""

    extents: Extents
    rows: frozenset[int] | None
    role: Role
    level: int


@dataclass(eq=False)
class Cluster:
    """`extents` are those of the space, outermost first; `rows` the numbers of the row axes.

    `rows` is None while every choice is open. `ancestors` has a bit for each cluster that must run
    before. Nothing joins a `closed` one.
    """

    extents: Extents
    rows: frozenset[int] | None = None
    items: list[Item] = field(default_factory=list)
    fits: dict[Node, Fit] = field(default_factory=dict)
    reads: set[Node] = field(default_factory=set)
    ancestors: int = 0
    values: set[Value] = field(default_factory=set)
    closed: bool = False
    spread: bool = False

    def take(self, item: Item, fit: Fit, reads: set[Node]) -> None:
        """Add `item`, which reads `reads`, as `fit` says."""
        self.extents, self.rows = fit.extents, fit.rows
        self.items.append(item)
        self.fits[item.node] = fit
        self.reads |= reads
        self.values |= item.values
        self.spread |= item.spread

    def has_room(self, values: set[Value]) -> bool:
        """Whether `values` may be added: what is in the cluster already costs nothing."""
        room = MOST_VALUES - len(self.values)
        return len(values) <= room or len(values - self.values) <= room or not self.items

    @property
    def axes(self) -> tuple[Axis, ...]:
        """The axes of the space."""
        return tuple(Axis(number, extent) for number, extent in enumerate(self.extents))


def refined(a: Extents, b: Extents) -> Extents | None:
    """The coarsest extents of which both `a` and `b` are made by joining neighbours, or None."""
    if a == b:
        return a
    if prod(a) != prod(b) or 0 in a:
        return None
    result: list[int] = []
    left, right = list(reversed(a)), list(reversed(b))
    while left and right:
        x, y = left.pop(), right.pop()
        outer = min(x, y)
        if max(x, y) % outer:
            return None
        result.append(outer)
        if x > outer:
            left.append(x // outer)
        elif y > outer:
            right.append(y // outer)
    return tuple(result)


def images(extents: Extents, space: Sequence[Axis]) -> list[Index] | None:
    """Each of `extents` as an index over consecutive axes of `space`, or None where none fits."""
    if extents == tuple(axis.extent for axis in space):
        return [of_axis(axis) for axis in space]
    remaining = list(space)
    result: list[Index] = []
    for extent in extents:
        group: list[Axis] = []
        while remaining and prod(axis.extent for axis in group) < extent:
            group.append(remaining.pop(0))
        if prod(axis.extent for axis in group) != extent:
            return None
        result.append(position(group))
    return None if remaining else result


def position(axes: Sequence[Axis]) -> Index:
    """The row-major place among all elements of `axes`."""
    return row_major(tuple(of_axis(a) for a in axes), tuple(a.extent for a in axes))


def fit_whole(item: Item, cluster: Cluster) -> Fit | None:
    """How `item`, which runs over the whole space, would join."""
    extents = refined(item.extents, cluster.extents)
    if extents is None:
        return None
    both_cut = len(extents) > max(len(item.extents), len(cluster.extents))
    if both_cut and any(_lies_across(each) for each in (item, *cluster.items)):
        return None  # neither would run through what it reads in the order of memory
    space = Cluster(extents).axes
    before, own = images(cluster.extents, space), images(item.extents, space)
    if before is None or own is None:
        return None
    rows = cluster.rows
    if rows is not None:
        rows = frozenset(axis.number for number in rows for axis in before[number].axes())
    image = dict(zip(item.axes, own, strict=True))
    chosen = _role(item, image, rows, extents)
    if chosen is None:
        return None
    role, rows = chosen
    if cluster.items and (item.spread or cluster.spread):
        among = (role, *(each.role for each in cluster.fits.values()))
        if any(each in INSIDE for each in among):
            return None
    level = _level(item, image, cluster, space, rows, whole=True)
    return None if level is None else Fit(extents, rows, role, level)


def _lies_across(item: Item) -> bool:
    """Whether something is read in large steps."""
    return item.size > SMALL and any(
        load.offset.is_affine() and abs(load.offset.coefficient(item.axes[-1])) >= FAR
        for load in item.loads
        if item.axes
    )


def fit_row(item: Item, cluster: Cluster) -> Fit | None:
    """How `item`, which has one element per row (or is reduced over all rows), would join."""
    if cluster.rows is None or not cluster.items or item.is_positional:
        return None
    if item.reduction and item.reduced != frozenset(item.axes):
        return None
    own = images(item.extents, [axis for axis in cluster.axes if axis.number in cluster.rows])
    if own is None:
        return None
    image = dict(zip(item.axes, own, strict=True))
    level = _level(item, image, cluster, cluster.axes, cluster.rows, whole=False)
    role = Role.OVER_ROWS if item.reduction else Role.ROW
    return None if level is None else Fit(cluster.extents, cluster.rows, role, level)


def _role(
    item: Item, image: dict[Axis, Index], rows: frozenset[int] | None, extents: Extents
) -> tuple[Role, frozenset[int] | None] | None:
    """The item's role in a space whose rows are given or still to be chosen, and the rows."""
    if not item.reduction:
        return Role.ELEMENT, rows
    everything = frozenset(range(len(extents)))
    gone = frozenset(axis.number for each in item.reduced for axis in image[each].axes())
    if rows is None:
        small = prod(extents) <= SMALL
        if gone == everything and not small and not item.is_positional:
            return Role.OVER_ALL, None
        inside = item.is_positional or gone == everything or len(extents) - 1 in gone
        rows = everything - gone if inside else gone
    if gone == everything - rows:
        return Role.IN_ROW, rows
    if item.is_positional:
        return None
    if gone == everything:
        return Role.OVER_ALL, rows
    return (Role.COLUMNS, rows) if gone == rows else None


def _level(
    item: Item,
    image: dict[Axis, Index],
    cluster: Cluster,
    space: Sequence[Axis],
    rows: frozenset[int] | None,
    whole: bool,
) -> int | None:
    """The stage in which the item's value is known; None where it needs what another row knows."""
    here = position(space)
    row = position([axis for axis in space if rows is not None and axis.number in rows])
    level = 0
    for load in item.loads:
        fit = cluster.fits.get(load.node)
        if fit is None:
            continue
        if load.conditions:
            return None
        offset = substituted(load.offset, image, {})
        if fit.role is Role.ELEMENT and whole and offset == here:
            level = max(level, fit.level)
        elif fit.role in (Role.ROW, Role.IN_ROW) and offset == row:
            level = max(level, fit.level + (fit.role is Role.IN_ROW))
        else:
            return None
    return level


class Clustering:
    """Distributes items over clusters, each item to the nearest cluster that it fits."""

    def __init__(self) -> None:
        self.clusters: list[Cluster] = []
        self.home: dict[Node, int] = {}

    def add(self, item: Item) -> None:
        """Put `item` into a cluster; those that it reads must have been added before."""
        reads = {load.node for load in item.loads}
        needed = {self.home[node] for node in reads if node in self.home}
        for number in self._candidates(needed):
            if any(self.clusters[each].ancestors >> number & 1 for each in needed - {number}):
                continue
            fit = self._fit(item, self.clusters[number], reads)
            if fit is not None:
                self._join(item, number, fit, needed, reads)
                return
        self.clusters.append(Cluster(item.extents))
        fit = fit_whole(item, self.clusters[-1])
        assert fit is not None, f"{item.node!r} does not fit a cluster of its own"
        self._join(item, len(self.clusters) - 1, fit, needed, reads)

    def add_alone(self, node: Node, reads: Iterable[Node]) -> None:
        """Give `node` a kernel of another kind, which nothing joins; a loop has all its values."""
        if node.op.kind == "loop":
            stacks = node.attrs[0].stacks
            made = next((self.home[each] for each in stacks if each in self.home), None)
            if made is not None:
                self.home[node] = made
                return
        needed = {self.home[each] for each in reads if each in self.home}
        self.home[node] = len(self.clusters)
        self.clusters.append(Cluster((), ancestors=self._ancestors(needed), closed=True))

    def merge(self) -> None:
        """Join clusters whose relation was not seen item by item: one reads what the other reads
        or computes.
        """
        if len(self.clusters) > MOST_MERGED:
            return
        for number, cluster in enumerate(self.clusters):
            reads = {load.node for item in cluster.items for load in item.loads}
            near = {self.home[node] for node in reads if node in self.home}
            for other in range(max(number - NEARBY, 0), number):
                same_size = prod(self.clusters[other].extents) == prod(cluster.extents)
                if same_size and reads & self.clusters[other].reads:
                    near.add(other)
            for other in sorted(near - {number}, reverse=True):
                if self._merged(other, number):
                    break

    def _merged(self, into: int, number: int) -> bool:
        """Move all items of a cluster into one that runs before it, if nothing is in between."""
        target, cluster = self.clusters[into], self.clusters[number]
        if not target.items or not cluster.items or not target.has_room(cluster.values):
            return False
        if target.ancestors >> number & 1 or self._is_between(into, number):
            return False
        trial = replace(
            target,
            items=list(target.items),
            fits=dict(target.fits),
            reads=set(target.reads),
            values=set(target.values),
        )
        for item in cluster.items:
            reads = {load.node for load in item.loads}
            fit = self._fit(item, trial, reads, related=True)
            if fit is None:
                return False
            trial.take(item, fit, reads)
        self._replace(into, number, trial)
        return True

    def _is_between(self, first: int, last: int) -> bool:
        """Whether something must run after the cluster `first` and before `last`."""
        before = self.clusters[last].ancestors
        return any(
            other.ancestors >> first & 1 and before >> each & 1
            for each, other in enumerate(self.clusters)
        )

    def _replace(self, into: int, number: int, merged: Cluster) -> None:
        """Put `merged` in the place of both clusters."""
        cluster = self.clusters[number]
        merged.ancestors |= cluster.ancestors & ~(1 << into)
        self.clusters[into] = merged
        self.clusters[number] = Cluster((), ancestors=cluster.ancestors)
        for item in cluster.items:
            self.home[item.node] = into
        for other in self.clusters:
            if other.ancestors >> number & 1:
                other.ancestors = other.ancestors & ~(1 << number) | 1 << into
            if other.ancestors >> into & 1:
                other.ancestors |= merged.ancestors

    def ordered(self) -> list[tuple[int, Cluster]]:
        """The clusters in an order in which they can run."""
        full = set(self.home.values())
        numbered = [pair for pair in enumerate(self.clusters) if pair[0] in full]
        return sorted(numbered, key=lambda pair: (pair[1].ancestors.bit_count(), pair[0]))

    def _candidates(self, needed: set[int]) -> list[int]:
        last = len(self.clusters) - 1
        near = range(last, max(last - NEARBY, -1), -1)
        return sorted({*near, *needed}, reverse=True)

    def _ancestors(self, needed: set[int]) -> int:
        bits = 0
        for each in needed:
            bits |= self.clusters[each].ancestors | 1 << each
        return bits

    def _fit(
        self, item: Item, cluster: Cluster, reads: set[Node], related: bool = False
    ) -> Fit | None:
        arguments = len(cluster.reads | reads) + len(cluster.items)
        if cluster.closed or arguments > MOST_ARGUMENTS or not cluster.has_room(item.values):
            return None
        related = related or item.size <= FEW or bool(reads & cluster.reads)
        if not (related or reads & cluster.fits.keys()):
            return None
        return fit_whole(item, cluster) or fit_row(item, cluster)

    def _join(self, item: Item, number: int, fit: Fit, needed: set[int], reads: set[Node]) -> None:
        cluster = self.clusters[number]
        cluster.take(item, fit, reads)
        self.home[item.node] = number
        new = self._ancestors(needed - {number}) & ~cluster.ancestors
        if new:
            cluster.ancestors |= new
            for other in self.clusters:
                if other.ancestors >> number & 1:
                    other.ancestors |= new
