"""Layout: the loop axes of a kernel, split where that removes divisions and joined where it can."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from ..tracer.ir import Node
from .cluster import Cluster, Role, images, position
from .index import (
    Axis,
    Bounded,
    Index,
    Place,
    Quotient,
    Remainder,
    of_axis,
    substituted,
    unravelled,
)
from .item import Item, values_below
from .lower import Builder
from .value import (
    Apply,
    Condition,
    Load,
    Ramp,
    Select,
    Stride,
    Value,
    always,
    indices_of,
    never,
)

Image = Mapping[Axis, Index]

SHORT = 4
"""Elements of an axis that may be written out (`short_axes`)."""

LEAST_LANES = 8
"""Elements of an axis that fills lanes."""


@dataclass(frozen=True)
class Layout:
    """The axes of a kernel, outermost first, and each item's own axes in terms of them."""

    rows: tuple[Axis, ...]
    inner: tuple[Axis, ...]
    images: Mapping[Node, Image]


def layout_of(cluster: Cluster) -> Layout:
    """The loop axes for `cluster`."""
    rows = cluster.rows
    space = {item.node: _image(item, cluster) for item in cluster.items}
    indices = {
        substituted(index, space[item.node], {})
        for item in cluster.items
        for value in values_below([item.value])
        for index in indices_of(value)
    }
    chosen = rows or frozenset()
    groups = (
        [axis for axis in cluster.axes if axis.number in chosen],
        [axis for axis in cluster.axes if axis.number not in chosen],
    )
    numbering = Numbering(len(cluster.axes))
    image: dict[Axis, Index] = {}
    made = [arranged(group, indices, numbering, image) for group in groups]
    outer, inner = made
    if rows is None:
        outer, inner = _with_lanes(inner)
    final = {
        node: {axis: substituted(index, image, {}) for axis, index in own.items()}
        for node, own in space.items()
    }
    return Layout(tuple(outer), tuple(inner), final)


def _with_lanes(axes: list[Axis]) -> tuple[list[Axis], list[Axis]]:
    """Rows and their inside, where every choice is open: the last axis, if that fills lanes.

    Else the inside begins at the last axis that does, with the short ones before it.
    """
    wide = [number for number, axis in enumerate(axes) if axis.extent >= LEAST_LANES]
    first = wide[-1] if wide else len(axes) - 1
    if first != len(axes) - 1 and all(axis.extent <= SHORT for axis in axes[first + 1 :]):
        while first and 1 < axes[first - 1].extent <= SHORT:
            first -= 1
    else:
        first = len(axes) - 1
    first = max(first, 0)
    return axes[:first], axes[first:]


def _image(item: Item, cluster: Cluster) -> dict[Axis, Index]:
    """The item's own axes over those of its cluster's space."""
    axes: Sequence[Axis] = cluster.axes
    if cluster.fits[item.node].role in (Role.ROW, Role.OVER_ROWS):
        axes = [axis for axis in axes if cluster.rows and axis.number in cluster.rows]
    own = images(item.extents, axes)
    assert own is not None
    return dict(zip(item.axes, own, strict=True))


class Numbering:
    """New axes, numbered from `first` on."""

    def __init__(self, first: int) -> None:
        self.next = first

    def axis(self, extent: int) -> Axis:
        """One more."""
        self.next += 1
        return Axis(self.next - 1, extent)


def arranged(
    group: Sequence[Axis], indices: set[Index], numbering: Numbering, image: dict[Axis, Index]
) -> list[Axis]:
    """New axes for `group`; fills `image` with the old axes over the new ones."""
    parts: list[Axis] = []
    for axis in group:
        pieces = [numbering.axis(extent) for extent in factors(axis, indices)]
        image[axis] = position(pieces)
        parts += pieces
    moved = {substituted(index, image, {}) for index in indices}
    joined: list[Axis] = []
    for axis in parts:
        joined.append(axis)
        while len(joined) > 1:
            step = _joined(joined[-2], joined[-1], moved, numbering)
            if step is None:
                break
            whole, change = step
            joined[-2:] = [whole]
            moved = {substituted(index, change, {}) for index in moved}
            for old in group:
                if old in image:
                    image[old] = substituted(image[old], change, {})
    indices.clear()
    indices |= moved
    return joined


def _joined(
    outer: Axis, inner: Axis, indices: Iterable[Index], numbering: Numbering
) -> tuple[Axis, Image] | None:
    """One axis in place of two neighbours, if no index then needs a division."""
    if 0 in (outer.extent, inner.extent):  # bounds say nothing of an axis without elements
        return None
    whole = numbering.axis(outer.extent * inner.extent)
    along = of_axis(whole)
    change = dict(zip((outer, inner), unravelled(along, (outer.extent, inner.extent)), strict=True))
    for index in indices:
        if whole in _divided_axes(substituted(index, change, {})):
            return None
    return whole, change


def _divided_axes(index: Index) -> set[Axis]:
    found: set[Axis] = set()
    for atom, _ in index.terms:
        if isinstance(atom, Quotient | Remainder):
            found |= atom.dividend.axes()
        elif isinstance(atom, Bounded):
            found |= _divided_axes(atom.dividend)
    return found


def factors(axis: Axis, indices: Iterable[Index]) -> list[int]:
    """The extents into which `axis` falls so that no index divides it, outermost first."""
    wanted = sorted({d for index in indices for d in _divisors(index, axis)})
    chain: list[int] = []
    for divisor in wanted:
        below = chain[-1] if chain else 1
        if axis.extent % divisor == 0 and divisor % below == 0 and below < divisor < axis.extent:
            chain.append(divisor)
    steps = [1, *chain, axis.extent]
    return [high // low for low, high in itertools.pairwise(steps)][::-1]


def _divisors(index: Index, axis: Axis) -> list[int]:
    found: list[int] = []
    for atom, _ in index.terms:
        if isinstance(atom, Quotient | Remainder):
            if atom.dividend == of_axis(axis):
                found.append(atom.divisor)
                if isinstance(atom, Remainder):
                    continue
            found += _divisors(atom.dividend, axis)
        elif isinstance(atom, Bounded):
            found += _divisors(atom.dividend, axis)
    return found


class Substitution:
    """Values over other axes. `replaced` gives what stands in place of a load, or None."""

    def __init__(self, builder: Builder, image: Image, replaced: Mapping[Node, Value]) -> None:
        self.builder = builder
        self.image = image
        self.replaced = replaced
        self._done: dict[Value, Value] = {}

    def __call__(self, value: Value) -> Value:
        """`value` over the new axes."""
        for each in values_below([value]):
            if each not in self._done:
                self._done[each] = self._moved(each)
        return self._done[value]

    def _moved(self, value: Value) -> Value:
        build = self.builder
        if isinstance(value, Load):
            found = self.replaced.get(value.node)
            if found is not None:
                return found
            conditions = self._conditions(value.conditions)
            if any(never(each) for each in conditions):
                return build.number(value, "0")
            return build.load(value.node, self._index(value.offset), conditions)
        if isinstance(value, Apply):
            return build.apply(value.made_by, tuple(self._done[a] for a in value.arguments))
        if isinstance(value, Select):
            sides = self._done[value.inside], self._done[value.outside]
            conditions = self._conditions(value.conditions)
            if any(never(each) for each in conditions):
                return sides[1]
            return build.select(conditions, *sides)
        if isinstance(value, Ramp):
            return build.ramp(self._index(value.index), value)
        return value

    def _index(self, index: Index) -> Index:
        places: dict[Place, Place] = {
            place: self.builder.place(self._done[place.value], place.extent)
            for place in index.places()
        }
        return substituted(index, self.image, places)

    def _conditions(self, conditions: tuple[Condition, ...]) -> tuple[Condition, ...]:
        moved = (
            Stride(self._index(each.index), each.step)
            if isinstance(each, Stride)
            else (self._index(each[0]), each[1])
            for each in conditions
        )
        return tuple(each for each in moved if not always(each))
