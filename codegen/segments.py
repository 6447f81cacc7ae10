"""Segments: which part of a run can be a loop, and how its segments are linked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..tracer.ir import Node
from ..tracer.ops.elementwise import checked_index
from .repetition import Line, Run, is_moved

LONG = 400
"""Operators of a run from which on it is worth a loop, whatever they are."""

LEAST_ALONE = 32
"""Operators with kernels of their own from which on a run is worth a loop."""

ENOUGH = 64
"""Operators of a body that are worth reading and writing memory for."""

LEAST_STEPS = 4
MULTIPLES = (1, 2, 3, 4, 6, 8)
MOST_LAG = 2
LEAST_SHARE = 0.6
"""The part of a run that a loop must cover."""


@dataclass(frozen=True)
class Repeated:
    """Segments of which each does the same: `links` tells for each operator of a segment and each
    of its operands which operator it is, of how many segments before; None is outside."""

    run: Run
    links: tuple[tuple[tuple[int, int] | None, ...], ...]


def repeated_segments(line: Line, run: Run) -> Repeated | None:
    """The part of `run` that can be a loop; some periods are only right several at once."""
    nodes = line.nodes[run.start : run.stop]
    alone = sum(each.op.kind not in ("elementwise", "movement", "reduction") for each in nodes)
    if any(each.op is checked_index for each in nodes):
        return None
    if len(nodes) < LONG and alone < LEAST_ALONE:
        return None
    least = 1 if alone else max(ENOUGH // run.period, 1)
    multiples = dict.fromkeys(-(-least // each) * each for each in MULTIPLES)
    for multiple in multiples:
        wide = Run(run.start, run.period * multiple, run.count // multiple)
        if wide.count < LEAST_STEPS:
            break
        found = _linked(line, wide)
        if found is not None and found.run.count >= LEAST_SHARE * wide.count:
            return found
    return None


def _linked(line: Line, run: Run) -> Repeated | None:
    """The segments around the middle one that are linked as that one is."""
    first, last = 0, run.count
    links: list[tuple[tuple[int, int] | None, ...]] = []
    middle = run.count // 2
    for place in range(run.period):
        nodes = line.nodes[run.start + place : run.stop : run.period]
        own: list[tuple[int, int] | None] = []
        for operand in range(len(nodes[0].inputs)):
            bases = line.base_places(run, place, operand)
            segment, at = np.divmod(bases - run.start, run.period)
            lag = np.arange(run.count) - segment
            inside = (bases >= run.start) & (bases < run.stop)
            link = (int(lag[middle]), int(at[middle])) if inside[middle] else None
            own.append(link)
            fits, begins = ~inside, ~inside
            if link is not None:
                if not 0 <= link[0] <= MOST_LAG:
                    return None
                alike = _moved_alike(nodes, operand, middle, line)
                fits = inside & (lag == link[0]) & (at == link[1]) & alike
                begins &= alike
            ahead = link[0] if link is not None else 0
            first = max(first, _behind(fits, middle) - ahead, _behind(fits | begins, middle))
            above = np.flatnonzero(~fits[middle:])
            last = min(last, middle + int(above[0])) if len(above) else last
        links.append(tuple(own))
    if last - first < LEAST_STEPS:
        return None
    start = run.start + first * run.period
    return Repeated(Run(start, run.period, last - first), tuple(links))


def _behind(fits: NDArray[np.bool_], middle: int) -> int:
    """The first place from which on all fit, up to the middle."""
    return int(np.flatnonzero(~fits[:middle]).max(initial=-1)) + 1


def _moved_alike(nodes: Sequence[Node], operand: int, middle: int, line: Line) -> NDArray[np.bool_]:
    """Which of the operands of `nodes` are moved as the middle one is; slices alone may differ."""
    if not is_moved(nodes[middle].inputs[operand]):
        return np.ones(len(nodes), dtype=bool)
    operands = [each.inputs[operand] for each in nodes]
    moves = [[move.attrs for move in line.reference(each).moves] for each in operands]
    return np.array([each == moves[middle] for each in moves])
