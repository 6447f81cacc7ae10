"""Verification: what must hold for every program, whatever passes have made it.

It is on wherever programs are built: a wrong one is found where it is made, and not by what it
computes. The run time then interprets the graph, and says so.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import product
from math import prod

import numpy as np

from .index import Axis, Bounded, Index, Place, constant, of_axis, substituted
from .kernel import (
    Accumulate,
    Argument,
    Combine,
    ImplicitLeft,
    ImplicitRight,
    Interior,
    Kernel,
    Launch,
    Let,
    Memory,
    Product,
    Program,
    Put,
    Repeat,
    Sorting,
    Stage,
    Statement,
    flat,
    memories_of,
)
from .plan import ALIGNMENT, Plan
from .unordered import unordered
from .value import Cached, Load, Number, Slot, Value, indices_of

MOST_PLACES = 1 << 20
"""Elements of a memory of which each is looked at."""


def require_sound(program: Program) -> None:
    """Raise AssertionError, with all that is wrong, unless `program` may be run."""
    wrong = [*unordered(program), *_results(program)]
    for number, (launch, around) in enumerate(flat(program.launches)):
        for loop in around:
            wrong += [f"loop {loop.label}: {each}" for each in _moving(loop)]
        wrong += [f"launch {number} ({launch.label}): {each}" for each in _faults(launch, program)]
    assert not wrong, "\n".join(wrong)


def require_apart(program: Program, plan: Plan) -> None:
    """Raise AssertionError unless memories that are alive together lie apart in the arena."""
    lives: dict[Memory, list[int]] = {}
    for number, (launch, around) in enumerate(flat(program.launches)):
        for memory, _ in memories_of(launch):
            for touched in outside(memory.whole, around):
                if touched.what == "arena":
                    lives.setdefault(touched, []).append(number)
    _as_long_as_loops(program.launches, 0, lives)
    assert lives.keys() == plan.offsets.keys(), "other memories are placed than are used"
    placed: list[tuple[int, int, int, int, Memory]] = []  # from, to, first and last launch
    for memory, at in plan.offsets.items():
        end, first, last = at + memory.nbytes, lives[memory][0], lives[memory][-1]
        assert at % ALIGNMENT == 0 and at >= 0, f"{memory} begins at {at}"
        assert end <= plan.nbytes, f"{memory} ends behind the arena"
        for low, high, begins, ends, other in placed:
            apart = at >= high or low >= end or begins > last or first > ends
            assert apart, f"{memory} and {other} share bytes"
        placed.append((at, end, first, last, memory))


def outside(memory: Memory, around: Sequence[Repeat]) -> set[Memory]:
    """What `memory`, which a launch within the loops `around` touches, stands for."""
    found = {memory}
    for loop in around:
        found = {place.whole for each in found for place, _ in loop.moving.get(each, ((each, 0),))}
    return found


def _as_long_as_loops(
    launches: Iterable[Launch], number: int, lives: Mapping[Memory, list[int]]
) -> int:
    """What a loop takes in or gives out lives as long as it runs."""
    for launch in launches:
        behind = number + 1
        if isinstance(launch, Repeat):
            behind = _as_long_as_loops(launch.body, number, lives)
            for memory in (touched.whole for touched, _ in memories_of(launch)):
                if memory in lives:
                    lives[memory][:] = sorted([*lives[memory], number, behind - 1])
        number = behind
    return number


# ---- the program as a whole


def _results(program: Program) -> Iterator[str]:
    counts = {"input": len(program.inputs), "output": len(program.outputs)}
    for what, number in program.results:
        if not 0 <= number < counts[what]:
            yield f"a result is the {what} {number} of {counts[what]}"


# ---- one launch


def _faults(launch: Launch, program: Program) -> Iterable[str]:
    assert not isinstance(launch, Repeat)
    if isinstance(launch, Kernel):
        return [*_scopes(launch), *_accesses(launch), *_checks(launch, program)]
    if isinstance(launch, Sorting):
        return _sorting(launch)
    if isinstance(launch, ImplicitLeft | ImplicitRight):
        return _implicit(launch)
    return _combine(launch) if isinstance(launch, Combine) else _product(launch)


def _moving(loop: Repeat) -> Iterator[str]:
    """What is written lies within what it is written to, and each step has its place."""
    written = {m.whole for each in loop.body for m, writes in memories_of(each) if writes}
    for memory, places in loop.moving.items():
        if len(places) != loop.count:
            yield f"{len(places)} places of {memory} for {loop.count} steps"
        for place, start in places if memory in written else ():
            if not 0 <= start <= place.size - memory.size:
                yield f"{memory} is written at {start} of {place}"


def _combine(launch: Combine) -> Iterator[str]:
    if launch.partial.size < launch.chunks * launch.columns:
        yield f"{launch.chunks} x {launch.columns} shares do not fit {launch.partial}"
    if launch.result.size != launch.columns:
        yield f"{launch.columns} results for {launch.result}"


def _sorting(launch: Sorting) -> Iterator[str]:
    for memory, each in ((launch.source, launch.length), (launch.result, launch.count)):
        if memory.size != launch.rows * each:
            yield f"{launch.rows} lines of {each} elements for {memory}"
    if launch.scratch.size < launch.chunks * launch.length * 2:
        yield f"{launch.chunks} lines of {launch.length} elements do not fit {launch.scratch}"


def _product(launch: Product) -> Iterator[str]:
    if launch.c.shape != (launch.a.shape[0], launch.b.shape[1]):
        yield f"{launch.a.shape} times {launch.b.shape} gives {launch.c.shape}"
    if launch.a.shape[1] != launch.b.shape[0]:
        yield f"{launch.a.shape} times {launch.b.shape}"
    if launch.d is not None and launch.d.shape != launch.c.shape:
        yield f"{launch.d.shape} are added to {launch.c.shape}"
    for each, memory in zip(launch.matrices, launch.memories, strict=True):
        if not each.base.is_affine() or not each.base.axes() <= set(launch.batch):
            yield f"the base {each.base} is no sum over the batch"
        low, high = each.base.bounds()
        rows, columns = each.shape
        high += (rows - 1) * each.row + (columns - 1) * each.column
        if (
            memory.size
            and rows * columns * launch.batch_count
            and not 0 <= low <= high < memory.size
        ):
            yield f"a matrix lies from {low} to {high} in {memory}"


def _implicit(launch: ImplicitLeft | ImplicitRight) -> Iterator[str]:
    products, columns, depth = (
        prod(axis.extent for axis in axes) for axes in (launch.batch, launch.columns, launch.depth)
    )
    a, b, c = launch.memories
    if isinstance(launch, ImplicitRight):
        rows, shares = launch.rows, 1
        reach = -(-rows // launch.panel) * launch.panel * depth - 1
        axes = {launch.a: launch.batch, launch.b: (*launch.batch, *launch.depth, *launch.columns)}
    else:
        rows, shares, reach = prod(axis.extent for axis in launch.rows), launch.shares, 0
        axes = {
            launch.a: (*launch.batch, *launch.rows, *launch.depth),
            launch.b: (*launch.batch, *launch.depth, *launch.columns),
        }
    if c.size != shares * products * rows * columns:
        yield f"{shares} x {products} results of {rows} x {columns} for {c}"
    for offset, further, memory in ((launch.a, reach, a), (launch.b, 0, b)):
        low, high = offset.bounds()
        if not offset.is_affine() or not offset.axes() <= set(axes[offset]):
            yield f"the place {offset} is no sum over its axes"
        if not 0 <= low <= high + further < memory.size:
            yield f"an operand lies from {low} to {high + further} in {memory}"


def _checks(kernel: Kernel, program: Program) -> Iterator[str]:
    for number in kernel.checks.values():
        if not 0 <= number < len(program.checks):
            yield f"the check {number} is not listed"


# ---- scopes: what a statement names is there

Scope = tuple[Statement, set[str], tuple[Axis, ...]]
"""A statement, the variables that are defined where it stands, and the loops around it."""


def statements(kernel: Kernel) -> Iterator[Scope]:
    """All statements in their order; the sets are those of the walk, and grow with it."""
    outer: set[str] = set()
    inside = (*kernel.rows, *kernel.inner)
    for stage in kernel.stages:
        outer |= {f"{each.name}_sum" for each in stage.accumulators if each.scope == "carry"}
        yield from _walked(stage.row, outer, kernel.rows)
        yield from _walked(stage.body, set(outer), inside)
        if stage.interior is not None:
            part = stage.interior
            kept = [axis for axis in inside if axis not in (part.along, *part.gone)]
            yield from _walked(part.body, set(outer), (*kept, part.steps))
        outer |= {each.name for each in stage.accumulators if each.scope == "row"}
        yield from _walked(stage.after, outer, kernel.rows)


def _walked(
    listed: Iterable[Statement], defined: set[str], axes: tuple[Axis, ...]
) -> Iterator[Scope]:
    for each in listed:
        yield each, defined, axes
        if isinstance(each, Let):
            defined.add(each.name)


def _scopes(kernel: Kernel) -> Iterator[str]:
    for statement, defined, axes in statements(kernel):
        if isinstance(statement, Let) and statement.name in defined:
            yield f"{statement.name} is defined twice"
        for value in _named_by(statement):
            if not isinstance(value, Number | Slot) and kernel.names.get(value) not in defined:
                yield f"{_title(statement)} uses {type(value).__name__}, which is not defined yet"
        in_row = isinstance(statement, Accumulate) and statement.accumulator.scope == "row"
        if in_row and not set(axes) & set(kernel.inner):
            yield f"{_title(statement)} is reduced outside of its loop"
        for index in _indices(statement):
            if not index.axes() <= set(axes):
                yield f"{_title(statement)} asks for {index} outside of its loops"
    accumulated = {
        each.accumulator for each, _, _ in statements(kernel) if isinstance(each, Accumulate)
    }
    declared = {each for stage in kernel.stages for each in stage.accumulators}
    if accumulated != declared or not set(kernel.accumulators) <= declared:
        yield "other accumulators are declared than are used"


def _title(statement: Statement) -> str:
    if isinstance(statement, Let):
        return statement.name
    return statement.argument if isinstance(statement, Put) else statement.accumulator.name


def _named_by(statement: Statement) -> tuple[Value, ...]:
    """The values that a statement refers to by name."""
    if isinstance(statement, Let):
        return statement.value.operands
    return (statement.value, *(place.value for place in statement.offset.places()))


def _indices(statement: Statement) -> tuple[Index, ...]:
    if not isinstance(statement, Let):
        return (statement.offset,)
    value = statement.value
    return (value.offset,) if isinstance(value, Cached) else indices_of(value)


# ---- accesses: what is read and written lies within its memory


def _accesses(kernel: Kernel) -> Iterator[str]:
    arguments = {each.name: each for each in kernel.arguments}
    if len(arguments) < len(kernel.arguments):
        yield "two arguments have one name"
    for each in kernel.arguments:
        if each.memory.size < each.per_chunk * kernel.chunks:
            yield f"{each.name} holds {each.memory.size} for {kernel.chunks} chunks"
    for accumulator in kernel.accumulators:
        room = _room(arguments[accumulator.partial])
        if room < accumulator.columns:
            yield f"{accumulator.columns} columns for the {room} elements of {accumulator.partial}"
    if not kernel.row_count * kernel.inner_count:
        return
    for statement, _, _ in statements(kernel):
        for name, index in _touched(statement, kernel):
            if _room(arguments[name]) and not within(index, _room(arguments[name])):
                yield f"{name}[{index}] is outside of its {_room(arguments[name])} elements"
    if not kernel.ordered:
        yield from _coverage(kernel, arguments)
    for stage in kernel.stages:
        if stage.interior is not None:
            yield from _interior(stage, stage.interior)


def _interior(stage: Stage, part: Interior) -> Iterator[str]:
    """What a part of the loops writes in place of the body must be what that would write there."""
    if part.begin < 0 or part.begin + part.steps.extent > part.along.extent:
        yield f"{part.steps} from {part.begin} on is no part of {part.along}"
    moved = {part.along: of_axis(part.steps).plus(part.begin)}
    places = [
        {**moved, **dict(zip(part.gone, map(constant, place), strict=True))}
        for place in product(*(range(axis.extent) for axis in part.gone))
    ]
    expected = Counter(
        (each.argument, substituted(each.offset, place, {}))
        for each in stage.body
        if isinstance(each, Put)
        for place in places
    )
    if expected != Counter((e.argument, e.offset) for e in part.body if isinstance(e, Put)):
        yield f"another body writes elsewhere along {part.along}"


def _coverage(kernel: Kernel, arguments: Mapping[str, Argument]) -> Iterator[str]:
    """What is written must be written once for each element, by one statement or by several."""
    puts: dict[str, list[tuple[Index, tuple[Axis, ...]]]] = {}
    plain = replace(kernel, stages=tuple(replace(e, interior=None) for e in kernel.stages))
    for statement, _, axes in statements(plain):
        if isinstance(statement, Put):
            puts.setdefault(statement.argument, []).append((statement.offset, axes))
    for name, written in puts.items():
        argument = arguments[name]
        if not argument.written:
            yield f"{name} is written, but read only"
        if not covers(written, _room(argument), argument.per_chunk > 0):
            places = ", ".join(str(offset) for offset, _ in written)
            yield f"{name}[{places}] is not one place for each element"


def _room(argument: Argument) -> int:
    """The number of elements that one chunk may touch."""
    return argument.per_chunk or argument.memory.size


def _touched(statement: Statement, kernel: Kernel) -> Iterator[tuple[str, Index]]:
    if isinstance(statement, Put):
        yield statement.argument, statement.offset
    if isinstance(statement, Accumulate) and statement.accumulator.scope == "column":
        yield statement.accumulator.partial, statement.offset
    if isinstance(statement, Let) and isinstance(statement.value, Cached):
        yield statement.value.argument, statement.value.offset
    if isinstance(statement, Let) and isinstance(statement.value, Load):
        yield kernel.reads[statement.value.node], statement.value.offset


def within(index: Index, size: int) -> bool:
    """Whether an index stays from 0 to below `size`; taken for granted where divisions remain."""
    if any(not isinstance(atom, Axis | Place | Bounded) for atom, _ in index.terms):
        return True
    low, high = index.bounds()
    return low >= 0 and high < size


def covers(written: Sequence[tuple[Index, tuple[Axis, ...]]], size: int, per_chunk: bool) -> bool:
    """Whether the places that are `written`, in loops over their axes, are each of `size` once.

    Only asked of plain sums, and not of very large memories. What each chunk has for itself is
    written for one row after another.
    """
    if size > MOST_PLACES or not all(offset.is_affine() for offset, _ in written):
        return True
    counts = np.zeros(size, dtype=np.int64)
    for offset, axes in written:
        places = np.array([offset.constant])
        for axis in axes:
            if not per_chunk or axis in offset.axes():
                steps = offset.coefficient(axis) * np.arange(axis.extent)
                places = (places[:, None] + steps).ravel()
        if places.size > size or places.min(initial=0) < 0 or places.max(initial=0) >= size:
            return False
        np.add.at(counts, places, 1)
    return bool((counts == 1).all())
