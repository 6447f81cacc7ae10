"""A program in the making: its values so far, and what the rows of the tables ask of it."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from random import Random
from typing import Any

import torch
from peers.program import Program, Step, array, function

Shape = tuple[int, ...]
Words = dict[str, Any]

LARGEST = 20.0
"""What no value exceeds: nothing overflows, and rounding stays small."""
MOST_ELEMENTS = 3000
EXTENTS = (1, 2, 3, 4, 5, 7)
WIDE = (16, 17, 33, 65, 130)
MARGIN = 1e-4
"""How far values keep from the kinks that are named."""


class Unfit(Exception):
    """The row cannot be drawn here."""


@dataclass(frozen=True)
class Row:
    """An operator: how its arguments are drawn, and the two texts that they are put into.

    A text is an expression, or statements that begin with "{out} = ". An `exact` operator rounds
    nothing where numbers have few binary digits.
    """

    name: str
    draw: Callable[[Draft], Words]
    ours: str
    theirs: str
    exact: bool = False


def with_exact(names: Collection[str], *rows: Row) -> tuple[Row, ...]:
    """The rows, where those of these names are exact."""
    return tuple(replace(row, exact=row.name in names) for row in rows)


class Draft:
    """Draws by `random`, and remembers what PyTorch makes of the program so far."""

    def __init__(self, random: Random, dtype: str) -> None:
        self.random = random
        self.dtype = dtype
        self.values: dict[str, torch.Tensor] = {}
        self.inputs: dict[str, str] = {}
        self.steps: list[Step] = []
        self.used: set[str] = set()
        self.exact: set[str] = set()

    # ---- plain numbers

    def one_of(self, choices: Sequence[Any]) -> Any:
        """One of `choices`."""
        if not choices:
            raise Unfit
        return self.random.choice(choices)

    def whole(self, low: int, high: int) -> int:
        """A whole number from `low` to `high`, both included."""
        if low > high:
            raise Unfit
        return self.random.randint(low, high)

    def yes(self) -> bool:
        """True or False."""
        return self.random.random() < 0.5

    def number(self, low: float, high: float) -> float:
        """A number of few digits."""
        return round(low + (high - low) * self.whole(0, 40) / 40, 3)

    # ---- values

    def add_input(
        self, shape: Shape, low: float = -2.0, high: float = 2.0, tied: bool = False
    ) -> str:
        """A new input, of halves where `tied`: many of them are equal, and some are 0."""
        name = f"x{len(self.inputs)}"
        random = f"np.random.default_rng({self.whole(0, 999)})"
        if tied:
            text = (
                f"{random}.integers({math.ceil(2 * low)}, {math.floor(2 * high) + 1}, {shape}) / 2"
            )
            self.exact.add(name)
        else:
            text = f"{random}.uniform({low}, {high}, {shape})"
        self.inputs[name] = text
        self.values[name] = torch.tensor(array(text).astype(self.dtype)).double()
        return name

    def add(self, row: Row) -> str:
        """The name of a new value: `row`, with arguments drawn for it."""
        words = row.draw(self)
        name = f"v{len(self.steps)}"
        ours, theirs = (
            text.format(out=name, **words)
            if "{out}" in text
            else f"{name} = {text.format(**words)}"
            for text in (row.ours, row.theirs)
        )
        made = self._made(name, theirs)
        fine = made.dtype == torch.float64 and made.numel() <= MOST_ELEMENTS and made.ndim <= 6
        if not fine or not bool((made.abs() <= LARGEST).all()):
            raise Unfit
        reads = tuple(
            each
            for word in words.values()
            if isinstance(word, str | tuple | Names)
            for each in ([word] if isinstance(word, str) else word)
            if isinstance(each, str) and each in self.values
        )
        if row.exact and self.exact.issuperset(reads):
            self.exact.add(name)
        self.steps.append(Step(row.name, name, reads, ours, theirs, name in self.exact))
        self.values[name] = made
        self.used |= {*reads}
        return name

    def _made(self, name: str, statements: str) -> torch.Tensor:
        """What PyTorch makes of the statements about `name`."""
        body = "\n    ".join([*statements.split("\n"), f"return {name}"])
        step = function(f"def step({', '.join(self.values)}):\n    {body}", "step")
        try:
            made: torch.Tensor = step(*self.values.values())
        except (RuntimeError, IndexError) as error:  # it takes no such arguments
            raise Unfit from error
        return made

    def value(
        self,
        low: float = -LARGEST,
        high: float = LARGEST,
        ranks: Sequence[int] = range(7),
        away: Sequence[float] = (),
        some: bool = False,
    ) -> str:
        """A value of one of these ranks, within the bounds and away from some numbers.

        Where there is none, one is brought within the bounds, or becomes a new input. With `some`
        it has elements.
        """

        def fits(value: torch.Tensor) -> bool:
            return self._is_within(value, low, high, away) and has_shape(value)

        def has_shape(value: torch.Tensor) -> bool:
            return value.ndim in ranks and (not some or value.numel() > 0)

        if self.whole(0, 7):
            found = [name for name, value in self.values.items() if fits(value)]
            if found:
                return self.one_of(found[::-1])
            bounded = max(low, -3.0), min(high, 3.0)
            found = [name for name, value in self.values.items() if has_shape(value)]
            if found and not away:
                return self.bounded(self.one_of(found[::-1]), *bounded)
        shape = self.shape(self.one_of([*ranks][:5]))
        shape = tuple(max(extent, int(some)) for extent in shape)
        return self.add_input(shape, max(low, -2.0), min(high, 2.0))

    def bounded(self, name: str, low: float, high: float) -> str:
        """The value brought smoothly between two bounds."""
        text = f"sigmoid({{x}}) * {round(high - low, 3)} + {low}"
        return self.add(Row("sigmoid", lambda _: {"x": name}, f"F.{text}", f"torch.{text}"))

    @staticmethod
    def _is_within(value: torch.Tensor, low: float, high: float, away: Sequence[float]) -> bool:
        inside = bool(((value >= low) & (value <= high)).all())
        return inside and all(bool(((value - kink).abs() > MARGIN).all()) for kink in away)

    def beside(
        self, name: str, low: float = -LARGEST, high: float = LARGEST, away: Sequence[float] = ()
    ) -> str:
        """A value that is broadcast against `name`, within the bounds."""
        shape = self.shape_of(name)

        def fits(value: torch.Tensor) -> bool:
            return self._is_within(value, low, high, away) and broadcasts(tuple(value.shape), shape)

        found = [each for each, value in self.values.items() if fits(value)]
        if found and self.whole(0, 3):
            return self.one_of(found[::-1])
        drop = self.whole(0, len(shape)) if self.yes() else 0
        narrow = [1 if self.whole(0, 3) == 0 else extent for extent in shape[drop:]]
        return self.add_input(tuple(narrow), max(low, -2.0), min(high, 2.0))

    def sized(self, shape: Shape, low: float = -2.0, high: float = 2.0) -> str:
        """A value of exactly this shape, within the bounds."""
        found = [
            name
            for name, value in self.values.items()
            if tuple(value.shape) == shape and self._is_within(value, low, high, ())
        ]
        if found and self.whole(0, 3):
            return self.one_of(found[::-1])
        return self.add_input(shape, low, high)

    # ---- shapes and places

    def shape(self, rank: int) -> Shape:
        """A new shape; at times with a long axis, or with none of its elements."""
        extents = [self.one_of(EXTENTS) for _ in range(rank)]
        special = self.whole(0, 24)
        if rank and special >= 23:
            extents[self.whole(0, rank - 1)] = self.one_of(WIDE)
        if rank and special == 22:
            extents[self.whole(0, rank - 1)] = 0
        while math.prod(extents) > MOST_ELEMENTS // 2:
            extents[extents.index(max(extents))] = 2
        return tuple(extents)

    def shape_of(self, name: str) -> Shape:
        """The shape of a value."""
        return tuple(self.values[name].shape)

    def axis(self, name: str) -> int:
        """One of its axes, at times counted from the end."""
        rank = self.values[name].ndim
        return self.whole(0, rank - 1) - (rank if self.yes() else 0)

    def axes(self, name: str, least: int = 1) -> Shape:
        """Some of its axes."""
        rank = self.values[name].ndim
        order = self.permutation(rank)
        return order[: self.whole(least, rank)]

    def permutation(self, count: int) -> Shape:
        """The numbers below `count` in some order."""
        return tuple(self.random.sample(range(count), count))

    def places(self, extent: int, shape: Shape, negative: bool = False) -> str:
        """The text of an array of places among `extent`."""
        low = -extent if negative else 0
        if not extent and math.prod(shape):
            raise Unfit
        seed = self.whole(0, 999)
        return f"np.random.default_rng({seed}).integers({low}, {max(extent, 1)}, {shape})"

    # ---- the end

    def program(self, way: str, kept: bool) -> Program:
        """The program whose outputs are what nothing else reads."""
        outputs = tuple(each.name for each in self.steps if each.name not in self.used)
        return Program(self.inputs, tuple(self.steps), outputs, self.dtype, way, kept)


class Names(tuple[str, ...]):
    """Several values, as the text of a list."""

    __slots__ = ()

    def __str__(self) -> str:
        return f"[{', '.join(self)}]"

    def __format__(self, form: str) -> str:
        return str(self)


def broadcasts(shape: Shape, other: Shape) -> bool:
    """Whether two shapes fit each other, and the result is no larger than the second."""
    try:
        return tuple(torch.broadcast_shapes(shape, other)) == other
    except RuntimeError:
        return False
