"""Loops as views: pointers that move from step to step."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import product

from .kernel import Memory, Place, Repeat, memories_of
from .view import RepeatView

FEW = 2
"""Steps at each end that may differ from those between."""

MOST_SLOTS = 3
"""Slots that are gone round in."""


@dataclass(frozen=True)
class Pointer:
    """Bytes behind a pointer that has a name."""

    base: str
    offset: int = 0

    def behind(self, nbytes: int) -> Pointer:
        """The pointer to so many bytes further on."""
        return Pointer(self.base, self.offset + nbytes)

    def text(self) -> str:
        """The pointer as an expression."""
        if not self.offset and self.base != "arena":
            return self.base
        sign = "-" if self.offset < 0 else "+"
        return f"{_bytes(self.base)} {sign} {abs(self.offset)}"


def located(memory: Memory, pointers: Mapping[Memory, Pointer]) -> Pointer:
    """Where `memory` begins; a part begins within what it is a part of."""
    if memory.within is None:
        return pointers[memory]
    return _pointer(memory.within, pointers)


def spelled_loop(
    launch: Repeat, pointers: Mapping[Memory, Pointer], depth: int
) -> tuple[RepeatView, dict[Memory, Pointer]]:
    """The loop without its body, and the pointers that hold inside."""
    variable = f"t{depth}"
    touched = dict.fromkeys(m.whole for each in launch.body for m, _ in memories_of(each))
    inside = dict(pointers)
    offsets: list[tuple[str, tuple[int, ...]]] = []
    tables: list[tuple[str, tuple[str, ...]]] = []
    places: list[tuple[str, str]] = []
    for memory, steps in launch.moving.items():
        if memory not in touched:
            continue
        found = [_pointer(each, pointers) for each in steps]
        if all(each == found[0] for each in found):
            inside[memory] = found[0]
            continue
        name = f"{variable}_{len(places)}"
        text = _moving(found, variable)
        if text is None and all(each.base == found[0].base for each in found):
            offsets.append((f"{name}_offsets", tuple(each.offset for each in found)))
            text = f"{_bytes(found[0].base)} + {name}_offsets[{variable}]"
        elif text is None:
            tables.append((f"{name}_table", tuple(each.text() for each in found)))
            text = f"{name}_table[{variable}]"
        places.append((name, text))
        inside[memory] = Pointer(name)
    view = RepeatView(
        variable, launch.count, tuple(offsets), tuple(tables), tuple(places), (), launch.label
    )
    return view, inside


def _bytes(base: str) -> str:
    """The pointer `base`, to count bytes from."""
    return f"(char *){base}" if base.startswith("buffers") else base


def _pointer(place: Place, pointers: Mapping[Memory, Pointer]) -> Pointer:
    memory, start = place
    return located(memory, pointers).behind(start * memory.dtype.itemsize)


def _moving(found: list[Pointer], variable: str) -> str | None:
    """`found` as an expression: even steps or a few slots in turn, but for a few at both ends."""
    count = len(found)
    for few in sorted(product(range(FEW + 1), repeat=2), key=sum):
        first, last = few[0], count - few[1]
        middle = found[first:last]
        if len(middle) < 2 or any(each.base != middle[0].base for each in middle):
            continue
        text = _even(middle, first, variable) or _in_turn(middle, first, variable)
        if text is not None:
            others = (*range(first), *range(last, count))
            ahead = (f"{variable} == {step} ? {found[step].text()} : " for step in others)
            return "".join(ahead) + text
    return None


def _even(middle: list[Pointer], first: int, variable: str) -> str | None:
    step = middle[1].offset - middle[0].offset
    if any(each.offset != middle[0].offset + number * step for number, each in enumerate(middle)):
        return None
    start = middle[0].behind(-first * step).text()
    if not step:
        return start
    return f"{_bytes(start)} {'-' if step < 0 else '+'} {abs(step)} * {variable}"


def _in_turn(middle: list[Pointer], first: int, variable: str) -> str | None:
    size = middle[1].offset - middle[0].offset
    for slots in range(2, MOST_SLOTS + 1):
        expected = (middle[0].offset + number % slots * size for number in range(len(middle)))
        if all(each.offset == at for each, at in zip(middle, expected, strict=True)):
            start = middle[0].text()
            counted = f"({variable} - {first})" if first else variable
            return f"{_bytes(start)} + {counted} % {slots} * {size}"
    return None
