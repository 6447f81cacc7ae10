"""Ratios as bars on a logarithmic axis: left of 1 gradc is faster, right of it slower."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from rivals.results import Results, ratios
from rivals.workloads import BY_NAME

SHOWN = "gradc trace"
LEFT, RIGHT, TOP = 64.0, 640.0, 48.0
BAR, GAP = 8.0, 10.0
SHADES = ("#1b6ca8", "#7fb2d9", "#345", "#89a")
TICKS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0)


@dataclass(frozen=True)
class Bar:
    """A bar, and the number that stands at its end."""

    x: float
    y: float
    width: float
    fill: str
    text: str
    text_x: float
    text_y: float
    anchor: str


@dataclass(frozen=True)
class Label:
    """A text at a place."""

    x: float
    y: float
    text: str
    fill: str = "#222"


@dataclass(frozen=True)
class Chart:
    """All that is drawn."""

    width: float
    height: float
    bottom: float
    top: float
    middle: float
    one: float
    bars: tuple[Bar, ...]
    names: tuple[Label, ...]
    ticks: tuple[Label, ...]
    legend: tuple[Label, ...]


def chart(results: Results) -> Chart:
    """The bars of what is shown, by workload and threads."""
    threads = sorted({int(each) for part in results.steps.values() for each in part})
    values = {
        (each.workload, count): each.value
        for count in threads
        for each in ratios(results, count)
        if each.contender == SHOWN
    }
    names = [name for name in BY_NAME if any((name, count) in values for count in threads)]
    shown = [*values.values(), 0.5, 2.0]
    low = max((tick for tick in TICKS if tick < min(shown)), default=TICKS[0])
    high = min((tick for tick in TICKS if tick > max(shown)), default=TICKS[-1])

    def place(value: float) -> float:
        part = math.log(value / low) / math.log(high / low)
        return round(LEFT + min(max(part, 0), 1) * (RIGHT - LEFT), 1)

    row = len(threads) * BAR + GAP
    bars, labels = [], []
    for number, name in enumerate(names):
        y = TOP + number * row
        labels.append(Label(LEFT - 30, y + (row - GAP) / 2 + 4, name))
        for index, count in enumerate(threads):
            if (name, count) in values:
                shade = SHADES[index % len(SHADES)]
                bars.append(_bar(values[name, count], place, y + index * BAR, shade))
    bottom = TOP + len(names) * row
    legend = [
        Label(LEFT + 110 * index, 18, f"{count} thread" + "s" * (count > 1), SHADES[index % 4])
        for index, count in enumerate(threads)
    ]
    ticks = [Label(place(tick), bottom + 16, f"{tick:g}") for tick in TICKS if low <= tick <= high]
    return Chart(
        *(RIGHT + 50, bottom + 44, bottom, TOP - 6, (LEFT + RIGHT) / 2, place(1.0)),
        *(tuple(bars), tuple(labels), tuple(ticks), tuple(legend)),
    )


def _bar(value: float, place: Callable[[float], float], y: float, fill: str) -> Bar:
    begin, end = sorted((place(value), place(1.0)))
    faster = value < 1
    return Bar(
        x=begin,
        y=y,
        width=round(end - begin, 1),
        fill=fill,
        text=f"{value:.2f}",
        text_x=begin - 3 if faster else end + 3,
        text_y=y + BAR - 1,
        anchor="end" if faster else "start",
    )
