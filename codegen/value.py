"""Scalar values: what one element of a kernel computes, as a graph of loads and operators."""

from __future__ import annotations

from dataclasses import dataclass, field

from ..tracer.dtypes import DType
from ..tracer.ir import Attributes, Node, Op
from .index import Axis, Index, Place

Guard = tuple[Index, int]
"""A condition: the index lies from 0 to below the bound."""


@dataclass(frozen=True, slots=True)
class Stride:
    """A condition: the index is a multiple of the step."""

    index: Index
    step: int


Condition = Guard | Stride


@dataclass(frozen=True, eq=False, slots=True)
class Value:
    """Base of all values. Two values are the same only if they are one object."""

    dtype: DType
    axes: frozenset[Axis] = field(kw_only=True)

    @property
    def operands(self) -> tuple[Value, ...]:
        """The values that this one is computed from."""
        return ()


@dataclass(frozen=True, eq=False, slots=True)
class Number(Value):
    """A literal."""

    text: str


@dataclass(frozen=True, eq=False, slots=True)
class Slot(Value):
    """A run-time number: the float or int ("f", "i") in a slot."""

    slot: int
    source: str


@dataclass(frozen=True, eq=False, slots=True)
class Ramp(Value):
    """An index as a number."""

    index: Index
    parts: tuple[Value, ...] = ()

    @property
    def operands(self) -> tuple[Value, ...]:
        """The values of run-time places."""
        return self.parts


@dataclass(frozen=True, eq=False, slots=True)
class Load(Value):
    """An element of a node that lies in memory; nothing is read where a condition fails."""

    node: Node
    offset: Index
    conditions: tuple[Condition, ...] = ()
    parts: tuple[Value, ...] = ()

    @property
    def operands(self) -> tuple[Value, ...]:
        """The values of run-time places in the offset and the conditions."""
        return self.parts


@dataclass(frozen=True, eq=False, slots=True)
class Apply(Value):
    """An elementwise operator on values."""

    op: Op
    attrs: Attributes
    arguments: tuple[Value, ...]
    made_by: Node

    @property
    def operands(self) -> tuple[Value, ...]:
        """The arguments."""
        return self.arguments


@dataclass(frozen=True, eq=False, slots=True)
class Select(Value):
    """The first value where all conditions hold, else the second."""

    conditions: tuple[Condition, ...]
    inside: Value
    outside: Value
    parts: tuple[Value, ...] = ()

    @property
    def operands(self) -> tuple[Value, ...]:
        """Both sides, and the values of run-time places in the conditions."""
        return (self.inside, self.outside, *self.parts)


def condition_index(condition: Condition) -> Index:
    """The index that a condition asks about."""
    return condition.index if isinstance(condition, Stride) else condition[0]


def always(condition: Condition) -> bool:
    """Whether the condition can't fail."""
    if isinstance(condition, Stride):
        index = condition.index
        return index.constant % condition.step == 0 and all(
            coefficient % condition.step == 0 for _, coefficient in index.terms
        )
    low, high = condition[0].bounds()
    return low >= 0 and high < condition[1]


def never(condition: Condition) -> bool:
    """Whether the condition can't hold."""
    if isinstance(condition, Stride):
        index, step = condition.index, condition.step
        return index.constant % step != 0 and all(c % step == 0 for _, c in index.terms)
    low, high = condition[0].bounds()
    return high < 0 or low >= condition[1]


def run_time_parts(*indices: Index) -> tuple[Value, ...]:
    """The values of the run-time places in `indices`, each once."""
    places: dict[Place, None] = {}
    for index in indices:
        places.update(dict.fromkeys(index.places()))
    return tuple(dict.fromkeys(place.value for place in places))


@dataclass(frozen=True, eq=False, slots=True)
class Held(Value):
    """The result of a reduction of the row, once the loop that computes it has ended."""

    node: Node


@dataclass(frozen=True, eq=False, slots=True)
class Cached(Value):
    """A value of the row that an earlier stage has written to `argument`."""

    argument: str
    offset: Index


def indices_of(value: Value) -> tuple[Index, ...]:
    """The indices that stand in `value` itself."""
    if isinstance(value, Ramp):
        return (value.index,)
    if isinstance(value, Load):
        return (value.offset, *(condition_index(each) for each in value.conditions))
    if isinstance(value, Select):
        return tuple(condition_index(each) for each in value.conditions)
    return ()
