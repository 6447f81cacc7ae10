"""Short axes: loops of a few steps inside a row are written out.

An axis of two elements fills no lanes, and where a condition asks about it (which window of a
pooling an element belongs to), each step has its own answer. Written out, the conditions are known
and the loop that is left runs along an axis that is worth it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import product

from ..tracer.ops.elementwise import where
from .index import Axis, Index, constant, of_axis, substituted
from .interior import middle_of
from .kernel import Interior, Kernel, Let, Stage, Statement
from .layout import SHORT, Substitution
from .lower import Builder
from .value import (
    Apply,
    Cached,
    Held,
    Load,
    Number,
    Select,
    Slot,
    Value,
    condition_index,
    indices_of,
)

MOST_STEPS = 16
MOST_STATEMENTS = 600
"""Statements of a loop once it is written out."""

MOST_ELEMENTS = 1024
"""Elements of a row of which only an interior is written out: they are summed in one go."""


def without_short_axes(kernel: Kernel) -> Kernel:
    """`kernel`, with the short axes inside its rows written out where that pays."""
    gone = _short(kernel)
    if not gone:
        return kernel
    writing = _Writing(kernel, gone)
    stages = writing.needed([writing.stage(each) for each in kernel.stages])
    kept = tuple(axis for axis in kernel.inner if axis not in gone)
    if any(_chooses_apart(stage, kept[-1]) for stage in stages):
        return _with_interior(kernel, gone, kept[-1], stages)
    return replace(kernel, inner=kept, stages=stages, names=writing.names, checks=writing.checks)


def _with_interior(
    kernel: Kernel, gone: tuple[Axis, ...], along: Axis, written: Sequence[Stage]
) -> Kernel:
    """`kernel` with the short axes written out only where no condition is left that can fail."""
    if len(kernel.stages) > 1 or kernel.checks or kernel.inner_count > MOST_ELEMENTS:
        return kernel
    if {each.scope for each in kernel.stages[0].accumulators} - {"chunk"}:
        return kernel
    middle = middle_of(written[0], along)
    if middle is None:
        return kernel
    steps = Axis(1 + max(axis.number for axis in (*kernel.rows, *kernel.inner)), middle.size)
    image = {along: of_axis(steps).plus(middle.begin)}
    writing = _Writing(kernel, gone, image, prefix="w")
    (stage,) = kernel.stages
    row = tuple(each for each in stage.row if isinstance(each, Let))
    (made,) = writing.needed([writing.stage(replace(stage, row=row, after=()))])
    if _chooses_apart(replace(made, body=tuple(map(_unasked, made.body))), steps):
        return kernel
    body = (*made.row, *made.body)
    interior = Interior(along, middle.begin, steps, gone, middle.outer, body)
    stages = (replace(stage, interior=interior),)
    return replace(kernel, stages=stages, names={**kernel.names, **writing.names})


def _unasked(statement: Statement) -> Statement:
    """`statement` where no condition fails."""
    if isinstance(statement, Let) and isinstance(statement.value, Load):
        return replace(statement, value=replace(statement.value, conditions=()))
    return statement


def _chooses_apart(stage: Stage, axis: Axis) -> bool:
    """Whether something that is read in steps of several elements is needed under a condition.

    gcc 12 joins neighbouring reads of this kind whose results are written side by side, and takes
    the conditions of some elements for those of others (shown by tests/codegen/test_short_axes.py).
    """
    apart: set[Value] = set()
    for each in stage.body:
        value = each.value
        if not isinstance(each, Let):
            continue
        if isinstance(value, Load):
            if value.conditions:
                return True
            if value.offset.coefficient(axis) not in (-1, 0, 1):
                apart.add(value)
        elif isinstance(value, Select) or (isinstance(value, Apply) and value.op is where):
            arms = value.operands[:2] if isinstance(value, Select) else value.operands[1:]
            if not apart.isdisjoint(arms):
                return True
        if not apart.isdisjoint(value.operands):
            apart.add(value)
    return False


def _short(kernel: Kernel) -> tuple[Axis, ...]:
    """The axes to write out: those behind the last long one, and short ones in conditions."""
    long_axes = [axis for axis in kernel.inner if axis.extent > SHORT]
    if kernel.split != "rows" or kernel.ordered or not long_axes or _is_positional(kernel):
        return ()
    behind = kernel.inner[kernel.inner.index(long_axes[-1]) + 1 :]
    asked = {axis for value in kernel.names for axis in _asked(value)}
    chosen = tuple(a for a in kernel.inner if a.extent <= SHORT and (a in behind or a in asked))
    if not set(behind) <= set(chosen) or not behind:
        return ()
    steps = 1
    for axis in chosen:
        steps *= axis.extent
    size = max(len(stage.body) for stage in kernel.stages) * steps
    return chosen if 1 < steps <= MOST_STEPS and size <= MOST_STATEMENTS else ()


def _is_positional(kernel: Kernel) -> bool:
    """Whether some reduction looks for a place: it must see the elements in their order."""
    return any(
        getattr(each.op, "result", "") == "index"
        for stage in kernel.stages
        for each in stage.accumulators
    )


def _asked(value: Value) -> Iterator[Axis]:
    """The axes that the conditions of `value` ask about."""
    indices: Iterable[Index] = indices_of(value)
    if isinstance(value, Load):
        indices = [condition_index(each) for each in value.conditions]
    for index in indices:
        yield from index.axes()


class _Writing:
    """A kernel on its way: its values are made anew for each place of the short axes."""

    def __init__(
        self,
        kernel: Kernel,
        gone: tuple[Axis, ...],
        moved: Mapping[Axis, Index] | None = None,
        prefix: str = "v",
    ) -> None:
        self.kernel = kernel
        self.prefix = prefix
        self.values = {name: value for value, name in kernel.names.items()}
        self.names: dict[Value, str] = {
            value: name for value, name in kernel.names.items() if isinstance(value, Held)
        }
        self.checks: dict[Value, int] = {}
        self.outside: set[Value] = set()
        builder = Builder()
        images = (
            {**(moved or {}), **dict(zip(gone, map(constant, place), strict=True))}
            for place in product(*(range(axis.extent) for axis in gone))
        )
        self.places = [(image, Substitution(builder, image, {})) for image in images]

    def stage(self, stage: Stage) -> Stage:
        """`stage`, written out."""
        row = self._written(stage.row, self.outside, 1)
        body = self._written(stage.body, set(self.outside), len(self.places))
        after = self._written(stage.after, self.outside, 1)
        return replace(stage, row=row, body=body, after=after)

    def _written(
        self, listed: Iterable[Statement], defined: set[Value], places: int
    ) -> tuple[Statement, ...]:
        """`listed` for so many of the places; what is defined already is not computed again."""
        made: list[Statement] = []
        for image, moved in self.places[:places]:
            for each in listed:
                if not isinstance(each, Let):
                    offset = substituted(each.offset, image, {})
                    made.append(replace(each, value=moved(each.value), offset=offset))
                    continue
                value = moved(self.values[each.name])
                if value not in defined and not isinstance(value, Number | Slot):
                    defined.add(value)
                    made.append(self._let(each, value, image))
        return tuple(made)

    def _let(self, before: Let, value: Value, image: Mapping[Axis, Index]) -> Let:
        name = self.names.setdefault(value, f"{self.prefix}{len(self.names)}")
        if isinstance(before.value, Cached):
            offset = substituted(before.value.offset, image, {})
            return Let(name, replace(before.value, offset=offset))
        number = self.kernel.checks.get(before.value)
        if number is not None:
            self.checks[value] = number
        return Let(name, value)

    def needed(self, stages: Sequence[Stage]) -> tuple[Stage, ...]:
        """`stages` without what is computed for sides that are never taken."""
        asked: set[str] = set()
        kept: list[Stage] = []
        for stage in reversed(stages):
            after = self._asked(stage.after, asked)
            body = self._asked(stage.body, asked)
            row = self._asked(stage.row, asked)
            kept.append(replace(stage, row=row, body=body, after=after))
        return tuple(reversed(kept))

    def _asked(self, listed: Sequence[Statement], asked: set[str]) -> tuple[Statement, ...]:
        """Those of `listed` that write something, check something or are `asked` for."""
        kept: list[Statement] = []
        for each in reversed(listed):
            named: tuple[Value, ...] = (each.value,)
            if isinstance(each, Let):
                if each.name not in asked and each.value not in self.checks:
                    continue
                named = each.value.operands
            asked |= {self.names[value] for value in named if value in self.names}
            kept.append(each)
        return tuple(reversed(kept))
