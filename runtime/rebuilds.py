"""Loops that build ever new programs: found where programs are built, so that repeats pay nothing.

A loop evaluates at one line. Where one program after another is built there, all by the same lines
of the user, and each unlike the one before, something that shapes programs keeps changing.
"""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..tracer.errors import Origin, users_frame
from ..tracer.graph import Graph
from ..tracer.ir import InternTable, Node, Shape
from ..tracer.locks import new_lock
from ..tracer.ops import sources
from ..tracer.recording import THREAD
from ..tracer.text import digest

MANY = 12
"""So many programs in a row are no warming up."""

KEPT_NODES = 200_000
"""How many nodes the last graphs of all lines may have in a generation."""


class RebuildWarning(UserWarning):
    """A loop builds a new program in each iteration."""


@dataclass
class _Line:
    """What was built at one line: the last graph, which lines made it, and the row of programs.

    Threads that begin the same step together build the same program, each for itself: one counts.
    """

    graph: Graph
    made_by: frozenset[tuple[str, str, int]]
    row: set[str] = field(default_factory=set)
    warned: bool = False

    def add(self, graph: Graph, made_by: frozenset[tuple[str, str, int]]) -> Graph | None:
        """Note that `graph` is built. The graph before, where a warning of the two is due."""
        name = digest(graph)
        if self.made_by != made_by:
            self.row.clear()
        elif name in self.row:
            return None
        before, self.graph, self.made_by = self.graph, graph, made_by
        if self.warned:
            return None
        self.row.add(name)
        self.warned = len(self.row) >= MANY
        return before if self.warned else None


class Rebuilds:
    """The programs that were built, by the user's line that asked for them."""

    def __init__(self) -> None:
        self._lock = new_lock()
        self._lines = InternTable(KEPT_NODES, lambda line: 100 + len(line.graph.order))

    def note(self, graph: Graph) -> None:
        """Note that `graph` is about to be built; warn where that has happened too often."""
        origin = users_frame()
        if origin is None or THREAD.recording.trace is not None:  # traces have their own warning
            return
        made_by = frozenset(_lines(graph))
        with self._lock:
            place = (origin.file, origin.line)
            line = self._lines.get(place) or _Line(graph, made_by)
            before = line.add(graph, made_by)
            self._lines.replace(place, line)  # it weighs what its last graph does
        if before is not None:
            warnings.warn_explicit(
                f"{origin} has built {MANY} programs in a row, each for itself: "
                f"{difference(before, graph)}. What shapes a program is part of it: pad to a few "
                "sizes, or keep what changes in a tensor",
                RebuildWarning,
                origin.file,
                origin.line,
            )


REBUILDS = Rebuilds()


def _lines(graph: Graph) -> Iterator[tuple[str, str, int]]:
    for each in graph.order:
        if each.origin is not None and each.inputs:
            yield each.op.name, each.origin.file, each.origin.line


def difference(before: Graph, now: Graph) -> str:
    """In words, what of a graph is not as it was in the one before."""
    old, new = before.order, now.order
    made, earlier = ([each for each in order if each.inputs] for order in (new, old))
    if len(made) != len(earlier):
        return _other_shapes(old, new) or _other_counts(earlier, made)
    for x, y in zip(earlier, made, strict=True):
        if x.op is not y.op:
            return f"operator {y.op.name} stands where {x.op.name} stood{_at(y.origin)}"
    if [x.op for x in old] != [y.op for y in new]:
        reads, read = _sources(new), _sources(old)
        return f"it reads {reads}, not {read}" if reads != read else "its operands are others"
    pairs = sorted(zip(old, new, strict=True), key=lambda pair: _rank(pair[1]))
    found = (_unlike(x, y) for x, y in pairs)
    return next(filter(None, found), "the results that are asked for are others")


def _other_shapes(old: Sequence[Node], new: Sequence[Node]) -> str | None:
    """In words, what tensors or parts of them have another extent; loops follow these.

    Operators are compared line by line, where a line has recorded as many of them as before.
    """
    for x, y in zip(_tensors(old), _tensors(new), strict=False):
        if x.shape != y.shape:
            return _unlike(x, y)
    were, are = _by_line(old), _by_line(new)
    for line, nodes in are.items():
        if len(nodes) == len(were.get(line, ())):
            pairs = zip(were[line], nodes, strict=True)
            if found := next(filter(None, (_unlike(x, y) for x, y in pairs)), None):
                return found
    return None


def _other_counts(old: Sequence[Node], new: Sequence[Node]) -> str:
    """In words, what is recorded more or less often: that whose number has changed most."""
    were, are = _by_line(old), _by_line(new)
    counts = {line: (len(were.get(line, ())), len(are.get(line, ()))) for line in {**were, **are}}
    line = max(counts, key=lambda each: abs(counts[each][1] - counts[each][0]))
    (name, origin), (was, now) = line, counts[line]
    return f"{name} is recorded {now} times, not {was}{_at(origin)}"


def _tensors(order: Sequence[Node]) -> list[Node]:
    return sorted((each for each in order if each.op is sources.input_), key=lambda n: n.attrs[0])


def _by_line(order: Sequence[Node]) -> dict[tuple[str, Origin | None], list[Node]]:
    """What is computed, by the operator and the line of the user that recorded it."""
    found: dict[tuple[str, Origin | None], list[Node]] = {}
    for each in order:
        if each.inputs:
            found.setdefault((each.op.name, each.origin), []).append(each)
    return found


def _sources(order: Sequence[Node]) -> str:
    """How many of each kind of leaf there are, in words."""
    counts = Counter(_LEAVES.get(each.op, each.op.name) for each in order if not each.inputs)
    return ", ".join(f"{name} ({count})" for name, count in sorted(counts.items()))


_LEAVES: dict[Any, str] = {
    sources.input_: "tensors",
    sources.scalar: "numbers",
    sources.constant: "constants",
}


def _rank(each: Node) -> int:
    """Tensors from outside explain all else; constants follow what is done with them."""
    return 0 if each.op is sources.input_ else 1 if each.inputs else 2


def _unlike(old: Node, new: Node) -> str | None:
    """In words, what of a node is not as it was."""
    name = new.origin.label if new.origin and new.origin.label else new.op.name
    for attribute, was, now in zip(new.op.attributes, old.attrs, new.attrs, strict=True):
        if was == now or attribute == "slot":
            continue
        what = f"in {name}, {attribute} is"
        if new.op is sources.input_:
            axis = _only_axis(was, now) if attribute == "shape" else None
            if axis is not None:
                extent = f"the {_ordinal(axis)} extent of a tensor was {was[axis]}, is {now[axis]}"
                return f"{extent}: it has the shape {now}, not {was}{_at(new.origin)}"
            what = f"a tensor has the {attribute}"
        elif new.op is sources.constant:
            what = f"a number in {name} is"
        return f"{what} {now}, not {was}{_at(new.origin)}"
    return None


def _only_axis(was: Shape, now: Shape) -> int | None:
    """The one axis along which two shapes differ."""
    other = [axis for axis, (a, b) in enumerate(zip(was, now, strict=False)) if a != b]
    return other[0] if len(was) == len(now) and len(other) == 1 else None


def _ordinal(axis: int) -> str:
    names = ("first", "second", "third", "fourth", "fifth")
    return names[axis] if axis < len(names) else f"{axis + 1}th"


def _at(origin: Origin | None) -> str:
    return f" (at {origin})" if origin else ""
