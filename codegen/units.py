"""Units of translation: a long program is compiled in several at once, from one text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from .kernel import Kernel, Launch

STATEMENTS = 250
"""So many statements take a compiler a quarter of a second or more: enough for a unit."""

MOST_UNITS = 4

Function = TypeVar("Function")


def statements(launch: Launch) -> int:
    """How many statements the function of a launch has."""
    if not isinstance(launch, Kernel):
        return 10
    return sum(len(each.row) + len(each.body) + len(each.after) for each in launch.stages)


def units_of(
    functions: Sequence[Function], sizes: Sequence[int]
) -> tuple[tuple[Function, ...], ...]:
    """`functions`, of so many statements, in as many units as they are worth, about equally long.

    Their order stays.
    """
    count = max(min(sum(sizes) // STATEMENTS, MOST_UNITS, len(functions)), 1)
    units: list[list[Function]] = [[] for _ in range(count)]
    before = 0
    for function, size in zip(functions, sizes, strict=True):
        middle = before + size / 2
        units[min(int(middle * count / max(sum(sizes), 1)), count - 1)].append(function)
        before += size
    return tuple(tuple(each) for each in units if each) or ((),)
