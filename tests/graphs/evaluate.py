"""Indices evaluated by their definition, for every value of their axes."""

from collections.abc import Iterable, Iterator, Mapping
from itertools import product

from gradc.codegen.index import Atom, Axis, Bounded, Index, Place, Quotient

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
