"""Repetition: where a graph does the same thing again and again.

A loop in the user's code is recorded step by step, and so is its adjoint. In the order of the
graph, the operators of such a loop come in equal segments; a segment reads what is the same for
all of them, what the segment before has computed, and what lies at a place that moves evenly.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..tracer.ir import Node
from ..tracer.ops import movement

LEAST_SEGMENTS = 8
WINDOWS = (512, 128, 32, 8)
"""Operators that must be equal for a period to be looked at; long ones see past inner periods."""

MOST_PERIODS = 4

Numbers = NDArray[np.int64]


@dataclass(frozen=True)
class Run:
    """Equal segments: `count` of them, of `period` operators each, from the place `start` on."""

    start: int
    period: int
    count: int

    @property
    def stop(self) -> int:
        """The place behind the last segment."""
        return self.start + self.period * self.count


@dataclass(frozen=True)
class Reference:
    """An operand, seen through movements: the node that is moved, and what moves it, outermost
    first."""

    base: Node
    moves: tuple[Node, ...]


class Line:
    """The operators of a graph in their order, without the movements between them."""

    def __init__(self, order: Sequence[Node]) -> None:
        self.nodes = [each for each in order if not is_moved(each) and each.op.kind != "source"]
        self.places = {each: place for place, each in enumerate(self.nodes)}
        self._known: dict[Node, tuple[Reference, Any]] = {}
        numbers: dict[Any, int] = {}
        self.kinds: Numbers = np.array(
            [numbers.setdefault(self._kind(each), len(numbers)) for each in self.nodes],
            dtype=np.int64,
        )

    def reference(self, operand: Node) -> Reference:
        """What `operand` is, seen through movements."""
        return self._seen(operand)[0]

    def base_place(self, operand: Node) -> int:
        """The place of the operator that `operand` shows; -1 for sources."""
        return self.places.get(self._seen(operand)[0].base, -1)

    def _seen(self, operand: Node) -> tuple[Reference, Any]:
        """The reference, and what must be equal in all segments of it."""
        chain: list[Node] = []
        while operand not in self._known and is_moved(operand):
            chain.append(operand)
            (operand,) = operand.inputs
        if operand not in self._known:
            own = operand if operand.op.kind == "source" and operand.inputs == () else operand.op
            if own is operand and operand.op.name == "input":
                own = operand.op
            self._known[operand] = Reference(operand, ()), (own, operand.type)
        for each in reversed(chain):
            (below, key), shifts = self._known[each.inputs[0]], each.op is movement.slice_op
            attrs = each.attrs[1:] if shifts else each.attrs
            known = Reference(below.base, (each, *below.moves)), (each.op, attrs, key)
            self._known[each] = known
        return self._known[chain[0] if chain else operand]

    def _kind(self, each: Node) -> Any:
        return (each.op, each.attrs, each.type, tuple(self._seen(i)[1] for i in each.inputs))


def is_moved(node: Node) -> bool:
    """Whether `node` is one other node in another place."""
    return node.op.kind == "movement" and len(node.inputs) == 1


def runs(line: Line) -> list[Run]:
    """Where equal kinds follow each other with a period; runs do not overlap, longest first."""
    kinds = line.kinds
    free = np.ones(len(kinds), dtype=bool)
    found: list[Run] = []
    for window in WINDOWS:
        for period in _periods(kinds, free, window):
            for start, stop in _stretches(kinds, free, period):
                run = Run(start, period, (stop - start) // period)
                found.append(run)
                free[start : run.stop] = False
    return found


def _periods(kinds: Numbers, free: NDArray[np.bool_], window: int) -> list[int]:
    """The commonest distances between equal windows, those that cover most first."""
    if len(kinds) < 2 * window:
        return []
    digests = _digests(kinds, window)
    order = np.argsort(digests, kind="stable")
    same = digests[order[1:]] == digests[order[:-1]]
    distances = (order[1:] - order[:-1])[same & free[order[:-1]]]
    values, counts = np.unique(distances, return_counts=True)
    best = np.argsort(-counts, kind="stable")[:MOST_PERIODS]
    return [int(values[at]) for at in best if counts[at] >= LEAST_SEGMENTS]


def _digests(kinds: Numbers, window: int) -> Numbers:
    """A number for each window, equal for equal ones (and, by chance, for a few others)."""
    mixed = (kinds + 1) * np.int64(0x2545F4914F6CDD1D)
    mixed ^= mixed >> 29
    base = np.int64(0x5851F42D4C957F2D)
    width = 1
    result = mixed
    with np.errstate(over="ignore"):
        while width < window:
            power = np.int64(pow(int(base), width, 1 << 63))
            result = result[:-width] * power + result[width:]
            width *= 2
    return result


def _stretches(kinds: Numbers, free: NDArray[np.bool_], period: int) -> Iterator[tuple[int, int]]:
    """Where each kind equals that a period later, for long enough."""
    equal = (kinds[period:] == kinds[:-period]) & free[period:] & free[:-period]
    edges = np.flatnonzero(np.diff(np.concatenate(([0], equal.view(np.int8), [0]))))
    for start, stop in zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True):
        if stop - start >= period * (LEAST_SEGMENTS - 1):
            yield start, stop + period
