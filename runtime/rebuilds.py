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
from ..tracer.ir import Node
from ..tracer.locks import new_lock
from ..tracer.ops import sources
from ..tracer.recording import THREAD
from ..tracer.text import digest

MANY = 12
"""So many programs in a row are no warming up."""


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
        self._lines: dict[tuple[str, int], _Line] = {}

    def note(self, graph: Graph) -> None:
        """Note that `graph` is about to be built; warn where that has happened too often."""
        origin = users_frame()
        if origin is None or THREAD.recording.trace is not None:  # traces have their own warning
            return
        made_by = frozenset(_lines(graph))
        with self._lock:
            line = self._lines.setdefault((origin.file, origin.line), _Line(graph, made_by))
            before = line.add(graph, made_by)
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
        counts = f"it has {len(made)} operators, not {len(earlier)}"
        return f"{counts}{_at(made[-1].origin)}" if made else counts
    for x, y in zip(earlier, made, strict=True):
        if x.op is not y.op:
            return f"operator {y.op.name} stands where {x.op.name} stood{_at(y.origin)}"
    if [x.op for x in old] != [y.op for y in new]:
        reads, read = _sources(new), _sources(old)
        return f"it reads {reads}, not {read}" if reads != read else "its operands are others"
    pairs = sorted(zip(old, new, strict=True), key=lambda pair: _rank(pair[1]))
    found = (_unlike(x, y) for x, y in pairs)
    return next(filter(None, found), "the results that are asked for are others")


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
            what = f"a tensor has the {attribute}"
        elif new.op is sources.constant:
            what = f"a number in {name} is"
        return f"{what} {now}, not {was}{_at(new.origin)}"
    return None


def _at(origin: Origin | None) -> str:
    return f" (at {origin})" if origin else ""
