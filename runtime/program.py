"""Programs: built graphs, ready to be called."""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ..tracer.buffer import Buffer, rounded
from ..tracer.graph import Graph
from ..tracer.interpret import out_of_range
from ..tracer.text import show
from .library import FFI, load_function
from .manifest import Manifest
from .support import runtime


class _Frame:
    """The tables that one call hands over; calls that run at the same time have one each.

    `filled` are the pointers that stand there, `numbers` the lists that were copied last.
    """

    __slots__ = ("error", "filled", "floats", "ints", "numbers", "pointers", "table")

    def __init__(self, manifest: Manifest) -> None:
        count = manifest.inputs + len(manifest.outputs) + 1
        self.pointers = FFI.new("uintptr_t[]", count)
        self.table = FFI.cast("void **", self.pointers)
        self.floats = FFI.new("double[]", max(manifest.floats, 1))
        self.ints = FFI.new("int64_t[]", max(manifest.ints, 1))
        self.error = FFI.new("gradc_error *")
        self.filled: list[int] = []
        self.numbers: tuple[Any, Any] = (None, None)

    def fill(self, pointers: list[int], floats: Sequence[float], ints: Sequence[int]) -> None:
        """Enter what a call hands over; what stands there already is not written again."""
        if pointers != self.filled:
            self.pointers[0 : len(pointers)] = pointers
            self.filled = pointers
        if floats is not self.numbers[0] or ints is not self.numbers[1]:
            self.floats[0 : len(floats)] = floats
            self.ints[0 : len(ints)] = ints
            self.numbers = (floats, ints)


class Program:
    """One graph, compiled: called with its inputs' buffers and run-time numbers.

    `path` is the library, `status` tells whether this process "built" it or found it "cached".
    """

    def __init__(self, graph: Graph, manifest: Manifest, path: Path, status: str) -> None:
        self._graph = graph
        self._manifest = manifest
        self._function = load_function(path, manifest.entry)
        self._runtime = runtime()
        self._frames: list[_Frame] = []
        self._own = [number for number, _ in enumerate(manifest.outputs)]
        self._sizes = [rounded(each) for each in manifest.outputs]
        self._arena = rounded(manifest.arena) if manifest.arena else 0
        self._direct = manifest.results == tuple(("output", number) for number in self._own)
        self.path = path
        self.status = status
        _Registry.add(self)

    def __call__(
        self, inputs: Sequence[Buffer], floats: Sequence[float], ints: Sequence[int]
    ) -> list[Buffer]:
        """Run the program; its outputs' buffers. Raises BoundsError for a place out of range."""
        make = Buffer.of_size
        outputs = [make(size) for size in self._sizes]
        pointers = [each.pointer for each in inputs]
        pointers += [each.pointer for each in outputs]
        arena = make(self._arena) if self._arena else None
        pointers.append(arena.pointer if arena is not None else 0)
        try:
            frame = self._frames.pop()
        except IndexError:
            frame = _Frame(self._manifest)
        frame.fill(pointers, floats, ints)
        code = self._function(frame.table, frame.floats, frame.ints, self._runtime, frame.error)
        if code:
            raise self._fault(frame.error)
        self._frames.append(frame)
        if self._direct:
            return outputs
        sources = {"input": inputs, "output": outputs}
        return [sources[kind][number] for kind, number in self._manifest.results]

    def _fault(self, error: Any) -> Exception:
        place = self._manifest.checks[error.node]
        return out_of_range(self._graph, place, int(error.found))

    @property
    def graph(self) -> str:
        """The graph as text."""
        return show(self._graph)

    @property
    def kernels(self) -> tuple[str, ...]:
        """The names of the kernels, in the order in which they run."""
        return self._manifest.kernels

    @property
    def source(self) -> str:
        """The C text that was compiled, with the user's lines beside what they made."""
        from .listing import listing

        return listing(self._graph)

    def render(self, language: str) -> str:
        """The text for another target ("c" or "cuda"), from the same graph."""
        from .listing import listing

        return listing(self._graph, language)

    def __repr__(self) -> str:
        return f"<gradc program {self._manifest.library[:10]}: {', '.join(self.kernels)}>"


class _Registry:
    """The programs of this process that are alive, and how many it built and found."""

    alive: list[weakref.ref[Program]] = []  # noqa: RUF012  # one per process on purpose
    counts = {"built": 0, "cached": 0}  # noqa: RUF012

    @classmethod
    def add(cls, program: Program) -> None:
        cls.counts[program.status] += 1
        cls.alive.append(weakref.ref(program, cls.alive.remove))


def programs() -> list[Program]:
    """The programs that this process has built or loaded and still uses, in order."""
    return [found for each in list(_Registry.alive) if (found := each()) is not None]


def program_counts() -> dict[str, int]:
    """How many programs this process "built" and how many it found "cached"."""
    return dict(_Registry.counts)
