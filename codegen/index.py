"""Integer index arithmetic: affine sums over loop axes, with divisions only where they must stay.

An index is `constant + sum(coefficient * atom)`. An atom is a loop axis, a quotient or remainder
that did not simplify, or a place that is read at run time. Normal forms are unique enough that
equal places compare equal.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import gcd
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .value import Value


@dataclass(frozen=True, slots=True)
class Axis:
    """A loop axis, told apart by its number among those of one space."""

    number: int
    extent: int


@dataclass(frozen=True, slots=True)
class Quotient:
    """`dividend` divided by `divisor`, rounded down."""

    dividend: Index
    divisor: int


@dataclass(frozen=True, slots=True)
class Remainder:
    """What `dividend` leaves when divided by `divisor`."""

    dividend: Index
    divisor: int


@dataclass(frozen=True, slots=True)
class Place:
    """An integer that is read at run time and lies from 0 to `extent` - 1."""

    value: Value
    extent: int
    number: int

    def __repr__(self) -> str:
        return f"place{self.number}"


@dataclass(frozen=True, slots=True)
class Bounded:
    """`dividend`, which lies from 0 to `extent` - 1 wherever a condition lets it be asked for."""

    dividend: Index
    extent: int


Atom = Axis | Quotient | Remainder | Place | Bounded


@dataclass(frozen=True, slots=True)
class Index:
    """`constant` plus the sum of coefficient times atom; `terms` are in a fixed order."""

    constant: int
    terms: tuple[tuple[Atom, int], ...] = ()

    def __add__(self, other: Index) -> Index:
        if not other.terms:
            return Index(self.constant + other.constant, self.terms) if other.constant else self
        if not self.terms and not self.constant:
            return other
        return total(self.constant + other.constant, (*self.terms, *other.terms))

    def __mul__(self, factor: int) -> Index:
        if factor == 1:
            return self
        if factor == 0:
            return ZERO
        return Index(self.constant * factor, tuple((a, c * factor) for a, c in self.terms))

    def plus(self, offset: int) -> Index:
        """This index, moved by a constant."""
        return Index(self.constant + offset, self.terms) if offset else self

    def bounds(self) -> tuple[int, int]:
        """The smallest and the largest value, both included."""
        low = high = self.constant
        for atom, coefficient in self.terms:
            least, most = _atom_bounds(atom)
            ends = (coefficient * least, coefficient * most)
            low, high = low + min(ends), high + max(ends)
        return low, high

    def __floordiv__(self, divisor: int) -> Index:
        return self._divided(divisor)[0]

    def __mod__(self, divisor: int) -> Index:
        return self._divided(divisor)[1]

    def _divided(self, divisor: int) -> tuple[Index, Index]:
        """Quotient and remainder; what is a multiple of the divisor needs no division."""
        if divisor == 1:
            return self, ZERO
        whole = tuple((a, c // divisor) for a, c in self.terms if c % divisor == 0)
        rest = tuple((a, c) for a, c in self.terms if c % divisor)
        lift, left = divmod(self.constant, divisor)
        remainder = Index(left, rest)
        quotient = Index(lift, whole)
        low, high = remainder.bounds()
        if low >= 0 and high < divisor:
            return quotient, remainder
        by_steps = remainder._divided_by_steps(divisor)
        if by_steps is not None:
            return quotient + by_steps[0], by_steps[1]
        return (
            quotient + Index(0, ((_quotient(remainder, divisor), 1),)),
            Index(0, ((_remainder(remainder, divisor), 1),)),
        )

    def _divided_by_steps(self, divisor: int) -> tuple[Index, Index] | None:
        """(g x + r) divided by g d is x divided by d, where r lies from 0 to below g."""
        steps = {gcd(coefficient, divisor) for _, coefficient in self.terms} - {1, divisor}
        for step in sorted(steps, reverse=True):
            large = tuple((a, c // step) for a, c in self.terms if c % step == 0)
            lift, left = divmod(self.constant, step)
            rest = Index(left, tuple((a, c) for a, c in self.terms if c % step))
            low, high = rest.bounds()
            if low >= 0 and high < step:
                quotient, remainder = Index(lift, large)._divided(divisor // step)
                return quotient, remainder * step + rest
        return None

    def axes(self) -> set[Axis]:
        """The loop axes that the value depends on, but for what run-time places depend on."""
        found: set[Axis] = set()
        for atom, _ in self.terms:
            if isinstance(atom, Axis):
                found.add(atom)
            elif not isinstance(atom, Place):
                found |= atom.dividend.axes()
        return found

    def places(self) -> list[Place]:
        """The run-time places inside."""
        found: list[Place] = []
        for atom, _ in self.terms:
            if isinstance(atom, Place):
                found.append(atom)
            elif not isinstance(atom, Axis):
                found += atom.dividend.places()
        return found

    def coefficient(self, axis: Axis) -> int:
        """The stride along `axis`, which must not stand under a division."""
        return next((c for a, c in self.terms if a == axis), 0)

    def is_affine(self) -> bool:
        """Whether only loop axes occur."""
        return all(isinstance(atom, Axis) for atom, _ in self.terms)


ZERO = Index(0)


def constant(value: int) -> Index:
    """The index that is always `value`."""
    return Index(value)


def of_axis(axis: Axis) -> Index:
    """The index that runs along `axis`."""
    return ZERO if axis.extent == 1 else Index(0, ((axis, 1),))


def of_place(place: Place) -> Index:
    """The index that is read at run time."""
    return Index(0, ((place, 1),))


def bounded(index: Index, extent: int) -> Index:
    """`index`, said to lie from 0 to `extent` - 1."""
    low, high = index.bounds()
    return index if low >= 0 and high < extent else Index(0, ((Bounded(index, extent), 1),))


def _quotient(dividend: Index, divisor: int) -> Quotient:
    """(x // a) // b is x // (a b)."""
    if dividend.constant == 0 and len(dividend.terms) == 1:
        ((atom, coefficient),) = dividend.terms
        if coefficient == 1 and isinstance(atom, Quotient):
            return Quotient(atom.dividend, atom.divisor * divisor)
    return Quotient(dividend, divisor)


def _remainder(dividend: Index, divisor: int) -> Remainder:
    """(x % (a b)) % b is x % b."""
    if dividend.constant == 0 and len(dividend.terms) == 1:
        ((atom, coefficient),) = dividend.terms
        inner = isinstance(atom, Remainder) and coefficient == 1
        if inner and isinstance(atom, Remainder) and atom.divisor % divisor == 0:
            return Remainder(atom.dividend, divisor)
    return Remainder(dividend, divisor)


def _atom_bounds(atom: Atom) -> tuple[int, int]:
    if isinstance(atom, Axis | Place | Bounded):
        return 0, max(atom.extent - 1, 0)
    if isinstance(atom, Remainder):
        return 0, atom.divisor - 1
    low, high = atom.dividend.bounds()
    return low // atom.divisor, high // atom.divisor


def _rank(atom: Atom) -> tuple[int, int, str]:
    """A fixed order of atoms: axes by number, then run-time places, then the others by text."""
    if isinstance(atom, Axis):
        return 0, atom.number, ""
    if isinstance(atom, Place):
        return 1, atom.number, ""
    return 2, 0, repr(atom)


def total(offset: int, terms: Iterable[tuple[Atom, int]]) -> Index:
    """The normal form of a sum: equal atoms joined, (x // c) * c k + (x % c) * k made x * k."""
    sums: dict[Atom, int] = {}
    for atom, coefficient in terms:
        sums[atom] = sums.get(atom, 0) + coefficient
    for atom in [each for each in sums if isinstance(each, Remainder)]:
        assert isinstance(atom, Remainder)
        partner = _quotient(atom.dividend, atom.divisor)
        each = sums[atom]
        if each and sums.get(partner) == each * atom.divisor:
            del sums[atom], sums[partner]
            whole = atom.dividend * each
            joined = [*sums.items(), *whole.terms]
            return total(offset + whole.constant, joined)
    ordered = sorted(((a, c) for a, c in sums.items() if c), key=lambda term: _rank(term[0]))
    return Index(offset, tuple(ordered))


def substituted(index: Index, image: Mapping[Axis, Index], places: Mapping[Place, Place]) -> Index:
    """`index` with each axis replaced by its image and each run-time place by its own."""
    result = constant(index.constant)
    for atom, coefficient in index.terms:
        if isinstance(atom, Axis):
            part = image.get(atom)
            made = of_axis(atom) if part is None else part
        elif isinstance(atom, Place):
            made = of_place(places.get(atom, atom))
        elif isinstance(atom, Bounded):
            made = bounded(substituted(atom.dividend, image, places), atom.extent)
        elif isinstance(atom, Quotient):
            made = substituted(atom.dividend, image, places) // atom.divisor
        else:
            made = substituted(atom.dividend, image, places) % atom.divisor
        result = result + made * coefficient
    return result


def row_major(coordinates: tuple[Index, ...], shape: tuple[int, ...]) -> Index:
    """The position of `coordinates` among the elements of `shape`, last axis fastest."""
    result, stride = ZERO, 1
    for coordinate, extent in zip(reversed(coordinates), reversed(shape), strict=True):
        result = result + coordinate * stride
        stride *= extent
    return result


def unravelled(position: Index, shape: tuple[int, ...]) -> tuple[Index, ...]:
    """The coordinates in `shape` of the element at `position`."""
    coordinates: list[Index] = []
    stride = 1
    for number, extent in enumerate(reversed(shape)):
        step = position // stride if stride else ZERO
        outermost = number == len(shape) - 1
        coordinates.append(step if outermost else step % extent if extent > 1 else ZERO)
        stride *= extent
    return tuple(reversed(coordinates))
