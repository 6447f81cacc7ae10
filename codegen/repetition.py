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

from ..tracer.ir import Node, TensorType
from ..tracer.ops import movement, sources

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
    """The operators of a graph in their order, without the movements between them.

    `kinds` are numbers, equal for what may be one operator of two segments. The operands of an
    operator begin at `firsts[place]` among `bases`, which are the places of the operators that they
    show (-1 for sources).
    """

    def __init__(self, order: Sequence[Node]) -> None:
        self.nodes: list[Node] = []
        self.places: dict[Node, int] = {}
        self._base: dict[Node, int] = {}
        self._references: dict[Node, Reference] = {}
        kinds, firsts, bases = list[int](), list[int](), list[int]()
        numbers = _Numbers()
        base_of, shown_by = self._base.__getitem__, numbers.shown.__getitem__
        for each in order:
            op, inputs = each.op, each.inputs
            kind = numbers.of_type(each.type)
            alike: Any = (op, kind)
            base = -1
            if is_moved(each):
                base = base_of(inputs[0])
                attrs = each.attrs[1:] if op is movement.slice_op else each.attrs
                alike = (op, attrs, shown_by(inputs[0]))
            elif op.kind != "source":
                base = self.places[each] = len(self.nodes)
                self.nodes.append(each)
                kinds.append(numbers.of((op, each.attrs, kind, *map(shown_by, inputs))))
                firsts.append(len(bases))
                bases += map(base_of, inputs)
            elif not inputs and op is not sources.input_:
                alike = (each, kind)
            self._base[each] = base
            numbers.shown[each] = numbers.of(alike)
        self.kinds: Numbers = np.array(kinds, dtype=np.int64)
        self.firsts: Numbers = np.array(firsts, dtype=np.int64)
        self.bases: Numbers = np.array(bases, dtype=np.int64)

    def reference(self, operand: Node) -> Reference:
        """What `operand` is, seen through movements."""
        known = self._references.get(operand)
        if known is None:
            moves: list[Node] = []
            base = operand
            while is_moved(base):
                moves.append(base)
                (base,) = base.inputs
            known = self._references[operand] = Reference(base, tuple(moves))
        return known

    def base_place(self, operand: Node) -> int:
        """The place of the operator that `operand` shows; -1 for sources."""
        return self._base[operand]

    def base_places(self, run: Run, place: int, operand: int) -> Numbers:
        """The same for one operand of one operator, in each segment of `run`."""
        found: Numbers = self.bases[
            self.firsts[run.start + place : run.stop : run.period] + operand
        ]
        return found


class _Numbers:
    """Numbers for what must be equal in all segments; `shown` are those of what operands show: of
    slices, wherever they begin."""

    def __init__(self) -> None:
        self.shown: dict[Node, int] = {}
        self._numbers: dict[Any, int] = {}
        self._types: dict[int, int] = {}

    def of(self, key: Any) -> int:
        """The number of what has the key `key`."""
        return self._numbers.setdefault(key, len(self._numbers))

    def of_type(self, kind: TensorType) -> int:
        """The number of a type; most nodes share theirs."""
        known = self._types.get(id(kind))
        if known is None:
            known = self._types[id(kind)] = self.of(kind)
        return known


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
            behind = 0
            for start, stop in _stretches(kinds, free, period):
                # The last segment of one stretch may be where the next one of its period begins.
                run = Run(max(start, behind), period, (stop - max(start, behind)) // period)
                if run.count >= LEAST_SEGMENTS:
                    assert free[run.start : run.stop].all(), "runs overlap"
                    found.append(run)
                    free[run.start : run.stop] = False
                    behind = run.stop
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
