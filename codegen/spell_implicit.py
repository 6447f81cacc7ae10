"""Implicit products as views: their index maps as text."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from math import prod

from .index import Axis, Index
from .kernel import ImplicitLeft, ImplicitRight
from .spell_kernel import coordinates_of
from .spelling import STORED, Speller
from .view import ImplicitLeftView, ImplicitRightView, LoopView

BLOCK = 256
"""Steps of the depth for which a few columns are packed together."""


def work_of(launch: ImplicitRight | ImplicitLeft) -> int:
    """Products of numbers in all."""
    steps = (*launch.batch, *launch.columns)
    if isinstance(launch, ImplicitRight):
        return launch.rows * _extent((*steps, *launch.depth))
    return _extent((*steps, *launch.rows, *launch.depth))


def _extent(axes: Iterable[Axis]) -> int:
    return prod(axis.extent for axis in axes)


class _Spelling:
    """The axes of a product under their names."""

    def __init__(self, groups: dict[str, tuple[Axis, ...]]) -> None:
        self.names = {
            axis: f"{letter}{number}"
            for letter, axes in groups.items()
            for number, axis in enumerate(axes)
        }
        self.speller = Speller({}, self.names, {}, {})

    def part(self, offset: Index, axes: Collection[Axis], start: int = 0) -> str:
        """What `offset` owes to `axes`."""
        terms = tuple((atom, factor) for atom, factor in offset.terms if atom in axes)
        return self.speller.index(Index(start, terms))

    def coordinates(self, axes: Iterable[Axis], place: str) -> tuple[tuple[str, str], ...]:
        """The variables of `axes` at a place among them."""
        return coordinates_of(((axis, self.names[axis]) for axis in axes), place)

    def loops(self, axes: Iterable[Axis]) -> tuple[LoopView, ...]:
        """Loops over `axes`."""
        return tuple(LoopView(self.names[axis], "0", str(axis.extent)) for axis in axes)

    def used(self, found: tuple[tuple[str, str], ...], *texts: str) -> tuple[tuple[str, str], ...]:
        """Those coordinates that stand in `texts`."""
        words = {word for text in texts for word in text.split()}
        return tuple(each for each in found if each[0] in words)


def right_view(launch: ImplicitRight) -> ImplicitRightView:
    """`launch` as a view."""
    batch, columns = launch.batch, launch.columns
    spell = _Spelling({"r": batch, "j": columns, "i": launch.depth})
    offsets = (spell.part(launch.a, batch), spell.part(launch.b, batch, launch.b.constant))
    column_offset = spell.part(launch.b, columns)
    count, depth = _extent(columns), _extent(launch.depth)
    panels = -(-launch.rows // launch.panel)
    return ImplicitRightView(
        name="",
        title=f"{launch.label}: {_extent(batch)} products of {launch.rows} x {depth} times "
        f"{depth} x {count}, through an index map",
        type=STORED[launch.dtype],
        rows=launch.rows,
        columns=count,
        width=columns[-1].extent if launch.in_place else count,
        panel=launch.panel,
        panels=panels,
        last_rows=launch.rows - (panels - 1) * launch.panel,
        depth=depth,
        in_place=launch.in_place,
        parts=launch.parts,
        tasks=launch.tasks,
        chunk=launch.chunk,
        coordinates=spell.used(spell.coordinates(batch, "product"), *offsets),
        offsets=offsets,
        column_coordinates=spell.used(spell.coordinates(columns, "place"), column_offset),
        column_offset=column_offset,
        depth_loops=spell.loops(launch.depth),
        depth_offset=spell.part(launch.b, launch.depth),
    )


def left_view(launch: ImplicitLeft) -> ImplicitLeftView:
    """`launch` as a view."""
    batch, depth = launch.batch, launch.depth
    spell = _Spelling({"r": batch, "i": launch.rows, "j": launch.columns, "d": depth})
    offsets = (
        spell.part(launch.a, batch, launch.a.constant),
        spell.part(launch.b, batch, launch.b.constant),
    )
    row_offset = spell.part(launch.a, launch.rows)
    column_offset = spell.part(launch.b, launch.columns)
    rows, columns, steps = (_extent(each) for each in (launch.rows, launch.columns, depth))
    return ImplicitLeftView(
        name="",
        title=f"{launch.label}: {_extent(batch)} products of {rows} x {steps}, through an index "
        f"map, times {steps} x {columns}",
        type=STORED[launch.dtype],
        rows=rows,
        columns=columns,
        depth=steps,
        panel=launch.panel,
        block=min(BLOCK, steps),
        shares=launch.shares,
        ranges=launch.ranges,
        products=_extent(batch),
        coordinates=spell.used(spell.coordinates(batch, "product"), *offsets),
        offsets=offsets,
        row_coordinates=spell.used(spell.coordinates(launch.rows, "place"), row_offset),
        row_offset=row_offset,
        column_coordinates=spell.used(spell.coordinates(launch.columns, "place"), column_offset),
        column_offset=column_offset,
        depth_coordinates=spell.coordinates(depth, "first_step"),
        depth_offsets=(spell.part(launch.a, depth), spell.part(launch.b, depth)),
        odometer=tuple((spell.names[axis], axis.extent) for axis in reversed(depth)),
    )
