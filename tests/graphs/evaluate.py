"""Indices and values evaluated by their definition, for every value of their axes."""

from collections.abc import Iterable, Iterator, Mapping
from itertools import product
from typing import Any

import numpy as np
from gradc.codegen.index import Atom, Axis, Bounded, Index, Place, Quotient
from gradc.codegen.item import values_below
from gradc.codegen.value import (
    Apply,
    Condition,
    Load,
    Number,
    Ramp,
    Select,
    Stride,
    Value,
    indices_of,
)
from gradc.tracer.dtypes import DType
from gradc.tracer.interpret import computing, rounded
from gradc.tracer.ir import Node
from gradc.tracer.ops.sources import number_of

Array = np.ndarray[Any, Any]
Point = Mapping[Axis, int]


def evaluated(index: Index, point: Point, places: Mapping[Place, int] | None = None) -> int:
    """The value of `index` where its axes and run-time places have the given values."""
    result = index.constant
    for atom, coefficient in index.terms:
        result += coefficient * _atom(atom, point, places or {})
    return result


def _atom(atom: Atom, point: Point, places: Mapping[Place, int]) -> int:
    if isinstance(atom, Axis):
        return point[atom]
    if isinstance(atom, Place):
        return places[atom]
    inside = evaluated(atom.dividend, point, places)
    if isinstance(atom, Bounded):
        return inside
    quotient, remainder = divmod(inside, atom.divisor)
    return quotient if isinstance(atom, Quotient) else remainder


def points(axes: Iterable[Axis]) -> Iterator[Point]:
    """All values of `axes`."""
    listed = list(axes)
    for values in product(*(range(axis.extent) for axis in listed)):
        yield dict(zip(listed, values, strict=True))


# ---- values


def value_at(value: Value, point: Point, arrays: Mapping[Node, Array]) -> Any:
    """The value of one element, by the references of the operators; `arrays` are flat."""
    known: dict[Value, Any] = {}
    for each in values_below([value]):
        places = {
            place: int(known[place.value]) for index in indices_of(each) for place in index.places()
        }
        with np.errstate(all="ignore"):
            known[each] = _value(each, known, point, places, arrays)
    return known[value]


def _value(
    value: Value,
    known: Mapping[Value, Any],
    point: Point,
    places: Mapping[Place, int],
    arrays: Mapping[Node, Array],
) -> Any:
    storage = computing(value.dtype).storage.type
    if isinstance(value, Number):
        return storage(number_of(value.text, value.dtype))
    if isinstance(value, Ramp):
        return storage(evaluated(value.index, point, places))
    if isinstance(value, Load):
        if not all(_holds(each, point, places) for each in value.conditions):
            return storage(0)
        offset = evaluated(value.offset, point, places)
        assert 0 <= offset < arrays[value.node].size, f"{value.node} at {offset}"
        return arrays[value.node][offset]
    if isinstance(value, Select):
        holds = all(_holds(each, point, places) for each in value.conditions)
        return known[value.inside if holds else value.outside]
    assert isinstance(value, Apply)
    attrs = [computing(each) if isinstance(each, DType) else each for each in value.attrs]
    operands = [np.asarray(known[each]) for each in value.arguments]
    return rounded(np.asarray(value.op.reference(*operands, *attrs)), value.dtype)[()]


def _holds(condition: Condition, point: Point, places: Mapping[Place, int]) -> bool:
    if isinstance(condition, Stride):
        return evaluated(condition.index, point, places) % condition.step == 0
    return 0 <= evaluated(condition[0], point, places) < condition[1]
