"""Fission: a long loop body is run in pieces, each of them over a block of elements.

A body of hundreds of operators is one chain of dependences, longer than what a processor looks
ahead: it waits for each result. In pieces over a block whose intermediates stay in the first-level
cache, many elements are under way at once. What is dear, above all functions, is kept for later
pieces; what is cheap is computed again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ..tracer.dtypes import DType
from ..tracer.ops.kinds import Elementwise
from ..tracer.ops.transcendental import TRANSCENDENTAL
from .kernel import Let, Statement
from .value import Apply, Value

LONG = 96
"""Additions that a body must cost to be cut."""

ENOUGH = 24
"""Additions of a piece."""

DEAR = TRANSCENDENTAL
"""Additions from which on an operator's result is kept."""

WORTH_KEEPING = 8
"""Additions from which on a cheap value that a later piece needs is kept."""

MOST_KEPT = 48
"""Values that are kept of a block: on the stack, and better in the second-level cache than all in
one piece."""


@dataclass(frozen=True)
class FissionPiece:
    """Statements in their order; `read` are values that earlier pieces have kept, `kept` those that
    this one keeps, each with the number of the place where."""

    statements: tuple[Statement, ...]
    read: tuple[tuple[Let, int], ...] = ()
    kept: tuple[tuple[Let, int], ...] = ()


def pieces_of(body: Sequence[Statement], names: Mapping[Value, str]) -> tuple[FissionPiece, ...]:
    """`body` in pieces; a single one where that is better."""
    whole = (FissionPiece(tuple(body)),)
    lets = {each.name: each for each in body if isinstance(each, Let)}
    if sum(_weight(each) for each in lets.values()) < LONG:
        return whole
    cutting = _Cutting(body, lets, names)
    if cutting.count < 2:
        return whole
    made = cutting.pieces()
    places = {place for each in made for _, place in each.kept}
    return whole if len(places) > MOST_KEPT else made


def _weight(let: Let) -> int:
    value = let.value
    if isinstance(value, Apply) and isinstance(value.op, Elementwise):
        return value.op.weight
    return 1


class _Cutting:
    """A body on its way: which piece each value belongs to."""

    def __init__(
        self, body: Sequence[Statement], lets: Mapping[str, Let], names: Mapping[Value, str]
    ) -> None:
        self.body = body
        self.lets = lets
        self.operands: dict[str, list[str]] = {}
        for name, let in lets.items():
            listed = (names.get(operand, "") for operand in let.value.operands)
            self.operands[name] = [each for each in listed if each in lets]
        self.effects = [
            (each, names.get(each.value, "")) for each in body if not isinstance(each, Let)
        ]
        self.piece = self._grouped(self._levels())
        self.count = max(self.piece.values(), default=0) + 1
        self.cones = self._cones()

    def _levels(self) -> dict[str, int]:
        """For each value, how many dear ones lie one behind the other before it."""
        levels: dict[str, int] = {}
        for name in self.lets:
            below = self.operands[name]
            before = (levels[each] + (_weight(self.lets[each]) >= DEAR) for each in below)
            levels[name] = max(before, default=0)
        return levels

    def _grouped(self, levels: Mapping[str, int]) -> dict[str, int]:
        """The piece of each value: levels together, as long as they are short."""
        weights: dict[int, int] = {}
        for name, level in levels.items():
            weights[level] = weights.get(level, 0) + _weight(self.lets[name])
        group: dict[int, int] = {}
        number, total = 0, 0
        for level in sorted(weights):
            if total and total + weights[level] > ENOUGH:
                number, total = number + 1, 0
            group[level] = number
            total += weights[level]
        return {name: group[level] for name, level in levels.items()}

    def _cones(self) -> dict[str, int]:
        """What computing each value costs, down to what is dear."""
        cones: dict[str, int] = {}
        for name, let in self.lets.items():
            below = sum(
                1 if _weight(self.lets[each]) >= DEAR else cones[each]
                for each in self.operands[name]
            )
            cones[name] = min(_weight(let) + below, LONG)
        return cones

    def pieces(self) -> tuple[FissionPiece, ...]:
        """The pieces in their order."""
        wanted: list[set[str]] = [set() for _ in range(self.count)]
        for _, name in self.effects:
            if name in self.piece:
                wanted[self.piece[name]].add(name)
        kept: dict[str, int] = {}
        needed = [self._needed(number, wanted, kept) for number in reversed(range(self.count))]
        computed = needed[::-1]
        read = [self._read(number, names, kept) for number, names in enumerate(computed)]
        places = self._places(read, kept)
        return tuple(
            self._piece(number, computed[number], read[number], places)
            for number in range(self.count)
        )

    def _needed(self, number: int, wanted: list[set[str]], kept: dict[str, int]) -> set[str]:
        """What the piece `number` computes; what it reads of earlier ones is wanted of them."""
        found: set[str] = set()
        stack = list(wanted[number])
        while stack:
            name = stack.pop()
            if name in found:
                continue
            own = self.piece[name]
            if own < number and self.cones[name] > WORTH_KEEPING:
                kept[name] = own
                wanted[own].add(name)
                continue
            found.add(name)
            stack.extend(self.operands[name])
        return found

    def _read(self, number: int, names: set[str], kept: Mapping[str, int]) -> list[str]:
        """What the piece `number`, which computes `names`, reads of earlier ones."""
        asked = {each for name in names for each in self.operands[name]}
        asked |= {name for _, name in self.effects if self.piece.get(name, 0) == number}
        return [name for name in self.lets if name in asked - names and name in kept]

    def _places(self, read: Sequence[Sequence[str]], kept: Mapping[str, int]) -> dict[str, int]:
        """Where each value is kept: a place is free again behind the last piece that reads it."""
        last = {name: number for number, names in enumerate(read) for name in names}
        places: dict[str, int] = {}
        taken: dict[int, tuple[DType, int]] = {}
        for name in sorted(kept, key=lambda each: (kept[each], list(self.lets).index(each))):
            dtype, made = self.lets[name].value.dtype, kept[name]
            free = (at for at, (of, until) in taken.items() if of is dtype and until < made)
            at = next(free, len(taken))
            taken[at] = dtype, last[name]
            places[name] = at
        return places

    def _piece(
        self, number: int, names: set[str], read: Sequence[str], places: Mapping[str, int]
    ) -> FissionPiece:
        statements: list[Statement] = [let for name, let in self.lets.items() if name in names]
        for effect, name in self.effects:
            if self.piece.get(name, 0) == number:
                statements.append(effect)
        own = (name for name in places if name in names and self.piece[name] == number)
        return FissionPiece(
            tuple(statements),
            tuple((self.lets[name], places[name]) for name in read),
            tuple((self.lets[name], places[name]) for name in own),
        )
