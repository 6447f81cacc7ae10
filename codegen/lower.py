"""Lowering: what one element of a node is, as a scalar value over loop axes.

Movements disappear into the indices, elementwise operators are inlined, and what lies in memory is
loaded. The rules are generators that ask for the elements they need, so that deep graphs need no
recursion.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Generator, Hashable

from ..tracer.ir import Node
from ..tracer.ops import movement, sources, window
from .budget import Budget
from .index import (
    ZERO,
    Axis,
    Index,
    Place,
    bounded,
    of_axis,
    of_place,
    row_major,
    unravelled,
)
from .value import (
    Apply,
    Condition,
    Load,
    Number,
    Ramp,
    Select,
    Slot,
    Stride,
    Value,
    always,
    condition_index,
    run_time_parts,
)

Coordinates = tuple[Index, ...]
Element = tuple[Node, Coordinates, tuple[Condition, ...]]
"""A node, the place in it, and the conditions under which it is asked for."""

Rule = Generator[Element, Value, Value]


def axes_of(shape: tuple[int, ...]) -> tuple[tuple[Axis, ...], Coordinates]:
    """Loop axes for the extents of `shape` that are not 1, and the coordinates they give."""
    axes: list[Axis] = []
    coordinates: list[Index] = []
    for extent in shape:
        if extent == 1:
            coordinates.append(ZERO)
            continue
        axes.append(Axis(len(axes), extent))
        coordinates.append(of_axis(axes[-1]))
    return tuple(axes), tuple(coordinates)


class Builder:
    """Makes values; equal ones are one object."""

    def __init__(self) -> None:
        self._table: dict[Hashable, Value] = {}
        self._places: dict[tuple[Value, int], Place] = {}

    def _keep(self, key: Hashable, make: Callable[[], Value]) -> Value:
        found = self._table.get(key)
        if found is None:
            found = self._table[key] = make()
        return found

    def place(self, value: Value, extent: int) -> Place:
        """The run-time place that `value` holds."""
        key = (value, extent)
        return self._places.setdefault(key, Place(value, extent, len(self._places)))

    def number(self, like: Node | Value, text: str) -> Value:
        """A literal of the type of `like`."""
        dtype = like.dtype
        return self._keep(("number", text, dtype), lambda: Number(dtype, text, axes=frozenset()))

    def slot(self, node: Node) -> Value:
        """A run-time number."""
        slot, source, dtype = node.attrs
        return self._keep(node, lambda: Slot(dtype, slot, source, axes=frozenset()))

    def ramp(self, index: Index, like: Value | Node) -> Value:
        """An index as a number of the type of `like`."""
        parts = run_time_parts(index)
        axes = _axes_below(index, parts)
        key = ("ramp", index, like.dtype)
        return self._keep(key, lambda: Ramp(like.dtype, index, parts, axes=axes))

    def load(self, node: Node, offset: Index, conditions: tuple[Condition, ...]) -> Value:
        """An element in memory."""
        indices = (offset, *(condition_index(each) for each in conditions))
        parts = run_time_parts(*indices)
        axes = frozenset[Axis]().union(*(_axes_below(index, parts) for index in indices))
        key = (node, offset, conditions)
        return self._keep(key, lambda: Load(node.dtype, node, offset, conditions, parts, axes=axes))

    def apply(self, node: Node, arguments: tuple[Value, ...]) -> Value:
        """The elementwise operator of `node` on values."""
        axes = frozenset[Axis]().union(*(each.axes for each in arguments))
        op, attrs, dtype = node.op, node.attrs, node.dtype
        key = (op, attrs, arguments)
        return self._keep(key, lambda: Apply(dtype, op, attrs, arguments, node, axes=axes))

    def select(self, conditions: tuple[Condition, ...], inside: Value, outside: Value) -> Value:
        """`inside` where all conditions hold."""
        if not conditions:
            return inside
        indices = tuple(condition_index(each) for each in conditions)
        parts = run_time_parts(*indices)
        axes = frozenset(inside.axes | outside.axes).union(
            *(_axes_below(index, parts) for index in indices)
        )
        return self._keep(
            ("select", conditions, inside, outside),
            lambda: Select(inside.dtype, conditions, inside, outside, parts, axes=axes),
        )


def _axes_below(index: Index, parts: tuple[Value, ...]) -> frozenset[Axis]:
    return frozenset(index.axes()).union(*(part.axes for part in parts))


MOST_ELEMENTS = 1 << 21
"""Elements that the lowering of one program may ask for. The programs of `benchmarks/growth.py` ask
for about one per operator, 2 700 with 200 steps; what asks for millions fills all memory."""


class Lowering:
    """The values of nodes' elements, given which nodes lie in memory."""

    def __init__(self, in_memory: Collection[Node]) -> None:
        self.in_memory = in_memory
        self.builder = Builder()
        self._known: dict[Element, Value] = {}
        self._budget = Budget("lowering", MOST_ELEMENTS)

    def element(self, node: Node, coordinates: Coordinates) -> Value:
        """The element of `node` at `coordinates`."""
        return self._run((node, coordinates, ()), self._rule(node))

    def computed(self, node: Node, coordinates: Coordinates) -> Value:
        """The element of `node`, computed even where the node lies in memory."""
        return self._run((node, coordinates, ()), _RULES[node.op.kind])

    def _run(self, wanted: Element, first: Callable[[Lowering, Element], Rule]) -> Value:
        stack: list[tuple[Element | None, Rule]] = [(None, first(self, wanted))]
        sent: Value | None = None
        while True:
            key, rule = stack[-1]
            try:
                need = rule.send(sent)  # type: ignore[arg-type]  # None starts a generator
            except StopIteration as finished:
                sent = finished.value
                stack.pop()
                if key is not None:
                    self._known[key] = sent
                if not stack:
                    return sent
                continue
            sent = self._known.get(need)
            if sent is None:
                self._budget.spend()
                stack.append((need, self._rule(need[0])(self, need)))

    def _rule(self, node: Node) -> Callable[[Lowering, Element], Rule]:
        if node in self.in_memory:
            return _load
        return _RULES[node.op.kind]


def _load(lowering: Lowering, element: Element) -> Rule:
    node, coordinates, conditions = element
    return lowering.builder.load(node, row_major(coordinates, node.shape), conditions)
    yield  # a rule is a generator


def _source(lowering: Lowering, element: Element) -> Rule:
    node, coordinates, _ = element
    build = lowering.builder
    if node.op is sources.constant:
        return build.number(node, node.attrs[0])
    if node.op is sources.scalar:
        return build.slot(node)
    if node.op is sources.iota:
        return build.ramp(coordinates[node.attrs[0]], node)
    return (yield from _load(lowering, element))


def _broadcast_coordinates(coordinates: Coordinates, shape: tuple[int, ...]) -> Coordinates:
    lead = len(coordinates) - len(shape)
    pairs = zip(coordinates[lead:], shape, strict=True)
    return tuple(ZERO if extent == 1 else coordinate for coordinate, extent in pairs)


def _elementwise(lowering: Lowering, element: Element) -> Rule:
    node, coordinates, conditions = element
    arguments = []
    for each in node.inputs:
        argument = yield each, _broadcast_coordinates(coordinates, each.shape), conditions
        arguments.append(argument)
    return lowering.builder.apply(node, tuple(arguments))


def _movement(lowering: Lowering, element: Element) -> Rule:
    node, coordinates, conditions = element
    if node.op is movement.pad_op:
        return (yield from _pad(lowering, element))
    if node.op is window.unwindow_op:
        return (yield from _unwindow(lowering, element))
    if node.op is movement.concat_op:
        return (yield from _concat(lowering, element))
    moved = _MAPS[node.op.name](node, coordinates)
    return (yield node.inputs[0], moved, conditions)


def _sliced(node: Node, coordinates: Coordinates) -> Coordinates:
    starts, _, steps = node.attrs
    triples = zip(coordinates, starts, steps, strict=True)
    return tuple((coordinate * step).plus(start) for coordinate, start, step in triples)


def _transposed(node: Node, coordinates: Coordinates) -> Coordinates:
    (order,) = node.attrs
    return tuple(coordinates[order.index(axis)] for axis in range(len(order)))


def _windowed(node: Node, coordinates: Coordinates) -> Coordinates:
    axes, strides, dilations = node.attrs
    moved = list(coordinates)
    for number, (axis, stride, dilation) in enumerate(zip(axes, strides, dilations, strict=True)):
        element = coordinates[node.ndim - len(axes) + number]
        moved[axis] = coordinates[axis] * stride + element * dilation
    return tuple(moved)


_MAPS: dict[str, Callable[[Node, Coordinates], Coordinates]] = {
    "reshape": lambda node, at: unravelled(row_major(at, node.shape), node.inputs[0].shape),
    "broadcast": lambda node, at: _broadcast_coordinates(at, node.inputs[0].shape),
    "transpose": _transposed,
    "slice": _sliced,
    "window": _windowed,
}


def _pad(lowering: Lowering, element: Element) -> Rule:
    node, coordinates, conditions = element
    (x,) = node.inputs
    low, _, interior, fill = node.attrs
    outside = lowering.builder.number(node, fill)
    if x.type.size == 0:
        return outside
    inner: list[Index] = []
    asked: list[Condition] = []
    for at, extent, before, gap in zip(coordinates, x.shape, low, interior, strict=True):
        moved = at.plus(-before)
        asked.append((moved, (extent - 1) * (gap + 1) + 1))
        if gap:
            asked.append(Stride(moved, gap + 1))
        inner.append(ZERO if extent == 1 else bounded(moved // (gap + 1), extent))
    open_ = tuple(each for each in asked if not always(each))
    inside = yield x, tuple(inner), conditions + open_
    return lowering.builder.select(open_, inside, outside)


def _unwindow(lowering: Lowering, element: Element) -> Rule:
    node, coordinates, conditions = element
    (x,) = node.inputs
    axes, strides, dilations, _ = node.attrs
    outside = lowering.builder.number(node, "0")
    if x.type.size == 0:
        return outside
    inner, asked = list(coordinates), list[Condition]()
    for number, (axis, stride, dilation) in enumerate(zip(axes, strides, dilations, strict=True)):
        moved = coordinates[axis] + coordinates[node.ndim - len(axes) + number] * -dilation
        asked.append((moved, (x.shape[axis] - 1) * stride + 1))
        if stride > 1:
            asked.append(Stride(moved, stride))
        alone = x.shape[axis] == 1
        inner[axis] = ZERO if alone else bounded(moved // stride, x.shape[axis])
    open_ = tuple(each for each in asked if not always(each))
    inside = yield x, tuple(inner), conditions + open_
    return lowering.builder.select(open_, inside, outside)


def _concat(lowering: Lowering, element: Element) -> Rule:
    node, coordinates, conditions = element
    (axis,) = node.attrs
    at = coordinates[axis]
    result: Value | None = None
    start = 0
    pieces: list[tuple[Condition, Node, Coordinates]] = []
    for part in node.inputs:
        moved = at.plus(-start)
        start += part.shape[axis]
        low, high = moved.bounds()
        if part.type.size and high >= 0 and low < part.shape[axis]:
            own = ZERO if part.shape[axis] == 1 else bounded(moved, part.shape[axis])
            place = (*coordinates[:axis], own, *coordinates[axis + 1 :])
            pieces.append(((moved, part.shape[axis]), part, place))
    for condition, part, place in reversed(pieces):
        asked = () if always(condition) else (condition,)
        inside = yield part, place, conditions + asked
        result = inside if result is None else lowering.builder.select(asked, inside, result)
    return result if result is not None else lowering.builder.number(node, "0")


def _take(lowering: Lowering, element: Element) -> Rule:
    node, coordinates, conditions = element
    x, indices = node.inputs
    (axis,) = node.attrs
    inside = coordinates[axis : axis + indices.ndim]
    found = yield indices, inside, conditions
    index = of_place(lowering.builder.place(found, x.shape[axis]))
    place = (*coordinates[:axis], index, *coordinates[axis + indices.ndim :])
    return (yield x, place, conditions)


def _must_lie_in_memory(lowering: Lowering, element: Element) -> Rule:
    raise AssertionError(f"{element[0]!r} was not given a kernel of its own")
    yield


_RULES: dict[str, Callable[[Lowering, Element], Rule]] = {
    "source": _source,
    "elementwise": _elementwise,
    "movement": _movement,
    "gather": _take,
    "reduction": _must_lie_in_memory,
    "contraction": _must_lie_in_memory,
    "scatter": _must_lie_in_memory,
    "scan": _must_lie_in_memory,
    "sort": _must_lie_in_memory,
}
