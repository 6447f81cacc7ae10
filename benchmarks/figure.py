"""One measured figure and its target."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Figure:
    """What was measured; `target` is the most that it may be, None where it is only told."""

    name: str
    measured: float
    unit: str
    target: float | None = None

    @property
    def fine(self) -> bool:
        """Whether the target is met."""
        return self.target is None or self.measured <= self.target


def table(figures: list[Figure]) -> str:
    """The figures as lines of text."""
    rows = [("figure", "target", "measured", "")]
    for each in figures:
        target = "" if each.target is None else f"<= {each.target:g} {each.unit}".rstrip()
        measured = f"{each.measured:.4g} {each.unit}".rstrip()
        rows.append((each.name, target, measured, "" if each.fine else "MISSED"))
    widths = [max(len(row[column]) for row in rows) for column in range(4)]
    lines = [
        "  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True))
        for row in rows
    ]
    return "\n".join(line.rstrip() for line in lines)


def microseconds(function: Callable[[], object], number: int, repeats: int = 7) -> float:
    """The time of a call: the best of `repeats` means over `number` calls, as timeit measures."""
    samples = []
    for _ in range(repeats):
        begin = time.perf_counter()
        for _ in range(number):
            function()
        samples.append((time.perf_counter() - begin) / number)
    return 1e6 * min(samples)
