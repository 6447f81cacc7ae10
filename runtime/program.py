"""Programs: built graphs, ready to be called."""

from __future__ import annotations

import weakref
from collections import deque
from collections.abc import Sequence
from pathlib import Path
from sys import getrefcount
from typing import Any

from ..tracer.buffer import RESERVES, Buffer, rounded
from ..tracer.errors import located
from ..tracer.graph import Graph
from ..tracer.interpret import out_of_range
from ..tracer.text import show
from .library import FFI, load_function
from .manifest import Manifest
from .support import runtime

SMALL = 1 << 16
"""Programs that write no more bytes, results and scratch memory, do so in the same places again."""

KEPT_BYTES = 16 << 20
"""What all programs together keep for that: two sets each of 128 of the largest, or of ten thousand
that write 800 bytes."""

_pointer: Any = Buffer.__dict__["pointer"].__get__
_owned: Any = Buffer.__dict__["_owned"].__get__

ALONE: int = max(map(getrefcount, [object()]))
"""What is counted where nothing but a list holds an object."""


class _Frame:
    """What one call hands over; calls that run at the same time have one each.

    `written` are the buffers that the program writes: its outputs, and scratch memory where it
    needs that. What else stands in the tables already is not entered again: `_filled` are the
    pointers to inputs, `_numbers` the lists that were copied last.
    """

    __slots__ = (
        *("_alone", "_begin", "_filled", "_floats", "_ints", "_numbers", "_pointers"),
        *("arguments", "error", "written"),
    )

    def __init__(self, manifest: Manifest) -> None:
        count = manifest.inputs + len(manifest.outputs) + 1
        self._begin = manifest.inputs
        self._pointers = FFI.new("uintptr_t[]", count)
        self._floats = FFI.new("double[]", max(manifest.floats, 1))
        self._ints = FFI.new("int64_t[]", max(manifest.ints, 1))
        self._filled: list[int] = []
        self._numbers: tuple[Any, Any] = (None, None)
        self._alone: list[int] = []
        self.written: list[Buffer] = []
        self.error = FFI.new("gradc_error *")
        table = FFI.cast("void **", self._pointers)
        self.arguments = (table, self._floats, self._ints, runtime(manifest.gemms), self.error)

    def fill(self, inputs: Sequence[Buffer], floats: Sequence[float], ints: Sequence[int]) -> None:
        """Enter what a call hands over beside what is written."""
        pointers = [*map(_pointer, inputs)]
        if pointers != self._filled:
            self._pointers[0 : len(pointers)] = pointers
            self._filled = pointers
        if floats is not self._numbers[0] or ints is not self._numbers[1]:
            self._floats[0 : len(floats)] = floats
            self._ints[0 : len(ints)] = ints
            self._numbers = (floats, ints)

    def is_free(self) -> bool:
        """Whether nobody else holds what was written, or a view of it."""
        written = self.written
        return [*map(getrefcount, written)] == self._alone and all(map(_owned, written))

    def renew(self, sizes: Sequence[int]) -> bool:
        """Write to buffers of these `sizes`, those of before unless somebody else holds them.

        Tells whether there were none before.
        """
        written, counts = self.written, [*map(getrefcount, self.written)]
        is_first = not written
        if written:
            for place, each in enumerate(counts):
                if each != ALONE or not written[place]._owned:
                    written[place] = Buffer.of_size(sizes[place])
        else:
            self.written = [Buffer.of_size(each) for each in sizes]
            self._alone = [ALONE] * len(sizes)
        end = self._begin + len(sizes)
        self._pointers[self._begin : end] = [*map(_pointer, self.written)]
        return is_first


class _Kept:
    """What programs keep to write to again; those that began earliest let go for the others."""

    def __init__(self) -> None:
        self._queue: deque[tuple[weakref.ref[Program], int]] = deque()
        self.nbytes = 0

    def add(self, program: Program, nbytes: int) -> None:
        """Note that `program` keeps one more set of results."""
        self._queue.append((weakref.ref(program), nbytes))
        self.nbytes += nbytes
        self.shrink(KEPT_BYTES)

    def shrink(self, limit: int = 0) -> None:
        """Let programs let go until they keep at most `limit` bytes."""
        while self.nbytes > limit:
            try:
                found, nbytes = self._queue.popleft()
            except IndexError:  # another thread was faster
                return
            self.nbytes -= nbytes
            program = found()
            if program is not None:
                program.let_go()


KEPT = _Kept()
RESERVES.insert(0, KEPT.shrink)  # before the pool is emptied, into which this goes


class Program:
    """One graph, compiled: called with its inputs' buffers and run-time numbers.

    `path` is the library, `status` tells whether this process "built" it or found it "cached".
    """

    def __init__(self, graph: Graph, manifest: Manifest, path: Path, status: str) -> None:
        self._graph = graph
        self._manifest = manifest
        self._function = load_function(path, manifest.entry)
        self._frames: deque[_Frame] = deque()
        self._outputs = len(manifest.outputs)
        self._sizes = [rounded(each) for each in manifest.outputs]
        if manifest.arena:
            self._sizes.append(rounded(manifest.arena))
        self._keeps = sum(self._sizes) <= SMALL
        self._direct = manifest.results == tuple(("output", k) for k in range(self._outputs))
        self.path = path
        self.status = status
        _Registry.add(self)

    def __call__(
        self, inputs: Sequence[Buffer], floats: Sequence[float], ints: Sequence[int]
    ) -> list[Buffer]:
        """Run the program; its outputs' buffers. Raises BoundsError for a place out of range."""
        frame = self._frame()
        frame.fill(inputs, floats, ints)
        if self._function(*frame.arguments):
            raise self._fault(frame.error)
        outputs = frame.written[: self._outputs]
        if not self._keeps:
            frame.written = []
        self._frames.append(frame)
        if self._direct:
            return outputs
        sources = {"input": inputs, "output": outputs}
        return [sources[kind][number] for kind, number in self._manifest.results]

    def __copy__(self) -> Program:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Program:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        found = "a program cannot be pickled, since it belongs to this process"
        raise TypeError(located(f"{found}: its library is {self.path}"))

    def _frame(self) -> _Frame:
        """A frame that no call uses, with buffers that nobody holds.

        Of two that take turns, one usually has what the last call gave, and the other is free.
        """
        frames = self._frames
        try:
            frame = frames.popleft()
            if self._keeps and frame.is_free():
                return frame
            if self._keeps:
                frames.append(frame)
                frame = _Frame(self._manifest) if len(frames) == 1 else frames.popleft()
                if frame.written and frame.is_free():
                    return frame
        except IndexError:
            frame = _Frame(self._manifest)
        if frame.renew(self._sizes) and self._keeps:
            KEPT.add(self, sum(self._sizes))
        return frame

    def let_go(self) -> None:
        """Keep no results to write to again; calls that run now are not concerned."""
        self._frames.clear()

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
