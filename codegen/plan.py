"""The arena: where temporary memories lie, so that those that are never alive together share."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from .kernel import Launch, Memory, Program, Repeat, memories_of

ALIGNMENT = 64


@dataclass(frozen=True, eq=False)
class Plan:
    """Byte offsets of the temporary memories, and the size of the arena that holds them."""

    offsets: Mapping[Memory, int]
    nbytes: int


def plan(program: Program) -> Plan:
    """Lay out the arena: large memories first, each at the lowest place free in its life.

    Those of a cache line or less lie behind them, one after another.
    """
    lives = _lives(program)
    offsets: dict[Memory, int] = {}
    taken: list[tuple[int, int, int, int]] = []  # from, to, first and last launch
    order = {memory: number for number, memory in enumerate(lives)}
    large = [memory for memory in lives if memory.nbytes > ALIGNMENT]
    for memory in sorted(large, key=lambda each: (-each.nbytes, order[each])):
        (first, last), nbytes = lives[memory], aligned(memory.nbytes)
        beside = [(low, high) for low, high, f, t in taken if f <= last and first <= t]
        offsets[memory] = at = _lowest(nbytes, beside)
        taken.append((at, at + nbytes, first, last))
    total = max((high for _, high, _, _ in taken), default=0)
    for memory in lives:  # of numbers there may be thousands; a place for each costs little
        if memory.nbytes <= ALIGNMENT:
            offsets[memory] = total
            total += ALIGNMENT
    return Plan(offsets, total)


def aligned(nbytes: int) -> int:
    """`nbytes`, rounded up to a whole cache line."""
    return -(-max(nbytes, 1) // ALIGNMENT) * ALIGNMENT


def _lives(program: Program) -> dict[Memory, tuple[int, int]]:
    """The first and the last launch that touch each temporary memory."""
    lives: dict[Memory, tuple[int, int]] = {}
    _live(program.launches, 0, lives)
    return lives


def _live(launches: Iterable[Launch], number: int, lives: dict[Memory, tuple[int, int]]) -> int:
    """Note who lives from `number` on; what loops touch lives as long as they run."""
    for launch in launches:
        last = number
        if isinstance(launch, Repeat):
            last = _live(launch.body, number, lives) - 1
        for memory in (touched.whole for touched, _ in memories_of(launch)):
            if memory.what == "arena":
                first, end = lives.get(memory, (number, number))
                lives[memory] = (min(first, number), max(end, last))
        number = last + 1
    return number


def _lowest(nbytes: int, beside: list[tuple[int, int]]) -> int:
    """The lowest place for `nbytes` outside of the ranges `beside`."""
    start = 0
    for low, high in sorted(beside):
        if start + nbytes <= low:
            break
        start = max(start, high)
    return start
