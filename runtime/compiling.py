"""The evaluator that compiles: from a graph to a program, by way of the cache."""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Sequence
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from ..tracer.buffer import Buffer
from ..tracer.evaluator import Executable, interpreted
from ..tracer.graph import Graph
from ..tracer.ir import Node
from ..tracer.locks import new_lock
from ..tracer.ops.kinds import Elementwise
from ..tracer.ops.transcendental import TRANSCENDENTAL
from ..tracer.text import digest as graph_digest
from ..tracer.text import taken_text
from .blas import BlasError
from .build import CompileError, build
from .cache import Cache, open_cache
from .digest import digest, key_of
from .failures import TranslationError
from .faults import is_passing
from .manifest import Manifest, read_manifest
from .program import Program
from .rebuilds import REBUILDS
from .store import identity_of
from .support import prepare, prepare_products, runtime
from .toolchain import CompilerNotFoundError, Toolchain, find_toolchain

INTERPRETED_NODES = 16
INTERPRETED_ELEMENTS = 1 << 14
SETTLED = 2.0  # seconds after which a file that changes again has another time


class CompilerWarning(UserWarning):
    """Programs are interpreted with NumPy, because none can be compiled."""


class TranslationWarning(CompilerWarning):
    """A program is interpreted with NumPy, because gradc has failed to make it."""


class CompilingEvaluator:
    """Builds graphs with the C compiler, or finds them built.

    With `first_sight`, a graph that is small, exact and new is interpreted once, so that an
    interactive prompt does not wait for a compiler at every line; it is compiled when it is run
    again.
    """

    def __init__(self, first_sight: bool = True) -> None:
        self.first_sight = first_sight
        self._lock = new_lock()
        self._warned = False
        self._failures: set[str] = set()  # the kinds of those of gradc that were told
        self._failed: set[str] = set()  # the digests of graphs that need not be tried again

    def prepare(self, graph: Graph) -> Executable:
        """What runs `graph`."""
        if self.first_sight and is_trivial(graph):
            return _FirstSight(self, graph)
        return self.compiled(graph)

    def compiled(self, graph: Graph) -> Executable:
        """The program of `graph`; the interpreter, with a warning, where there is no compiler."""
        if self._failed and graph_digest(graph) in self._failed:
            return _interpreter(graph)
        REBUILDS.note(graph)
        try:
            return load_program(graph)
        except CompilerNotFoundError as error:
            return self._interpreting(graph, f"{error}; programs are interpreted with NumPy")
        except CompileError as error:
            return self._interpreting(graph, f"{error}\nThis program is interpreted with NumPy")
        except TranslationError as error:
            return self._after(error)
        except BlasError:
            raise  # the user's own choice
        except (OSError, MemoryError, ImportError) as error:
            # A full disk, a folder that went away, a limit on files, processes or memory
            if isinstance(error, ImportError) and not is_passing(error):
                raise
            reason = str(error) or "no memory"
            self._warn(f"no program can be built: {reason}; programs are interpreted with NumPy")
            return _Retrying(self, graph)

    def _interpreting(self, graph: Graph, reason: str) -> Executable:
        self._warn(reason)
        return _interpreter(graph)

    def _after(self, failure: TranslationError) -> Executable:
        """What runs a graph that a pass has failed on. It is tried again where memory or files were
        short; else not, whoever asks. Each kind of failure is told once, and kept each time."""
        kept = failure.keep()
        kind = f"{type(failure.error).__name__} {failure.place}"
        with self._lock:
            told = kind in self._failures
            self._failures.add(kind)
        if not told:
            shown = f"\nIts graph, and a program that shows the failure again: {kept}"
            warnings.warn(
                f"{failure}\nThis program is interpreted with NumPy: slower, but with the same "
                f"results.{shown if kept else ''}",
                TranslationWarning,
                stacklevel=3,
            )
        if isinstance(failure.error, MemoryError) or is_passing(failure.error):
            return _Retrying(self, failure.graph)
        self._failed.add(graph_digest(failure.graph))
        failure.graph.known.pop("text", None)
        return _interpreter(failure.graph)

    def _warn(self, reason: str) -> None:
        with self._lock:
            if not self._warned:
                self._warned = True
                warnings.warn(reason, CompilerWarning, stacklevel=3)


def _interpreter(graph: Graph) -> Executable:
    return lambda inputs, floats, ints: interpreted(graph, inputs, floats, ints)


class _Retrying:
    """A graph for which the machine had no room: interpreted, and tried again now and then.

    The next call tries again, and then one of ten times as many, so that a fault which passes costs
    little, and one which stays does too.
    """

    __slots__ = ("_calls", "_evaluator", "_graph", "_next", "_program")

    def __init__(self, evaluator: CompilingEvaluator, graph: Graph) -> None:
        self._evaluator = evaluator
        self._graph = graph
        self._calls, self._next = 0, 1
        self._program: Executable | None = None

    def __call__(
        self, inputs: Sequence[Buffer], floats: Sequence[float], ints: Sequence[int]
    ) -> list[Buffer]:
        if self._program is None:
            self._calls += 1
            if self._calls > self._next:
                self._next *= 10
                found = self._evaluator.compiled(self._graph)
                self._program = None if isinstance(found, _Retrying) else found
        if self._program is None:
            return interpreted(self._graph, inputs, floats, ints)
        return self._program(inputs, floats, ints)


class _FirstSight:
    """A small graph: interpreted when it is run for the first time, compiled for the second."""

    __slots__ = ("_evaluator", "_graph", "_program", "_seen")

    def __init__(self, evaluator: CompilingEvaluator, graph: Graph) -> None:
        self._evaluator = evaluator
        self._graph = graph
        self._seen = False
        self._program: Executable | None = None

    def __call__(
        self, inputs: Sequence[Buffer], floats: Sequence[float], ints: Sequence[int]
    ) -> list[Buffer]:
        if self._program is not None:
            return self._program(inputs, floats, ints)
        if not self._seen:
            made = interpreted(self._graph, inputs, floats, ints)
            self._seen = True
            return made
        self._program = self._evaluator.compiled(self._graph)
        return self._program(inputs, floats, ints)


def is_trivial(graph: Graph) -> bool:
    """Whether running `graph` once is worth less than a compiler's start, and gives the same bits.

    The answer depends on the graph alone: a process that starts warm computes what a cold one does.
    """
    nodes = graph.nodes()
    if len(nodes) > INTERPRETED_NODES or not all(map(is_exact, nodes)):
        return False
    return sum(each.type.size for each in nodes) <= INTERPRETED_ELEMENTS


def is_exact(node: Node) -> bool:
    """Whether NumPy and generated code agree on `node` to the bit: neither a function of the math
    library nor an order of summation is involved."""
    op = node.op
    if isinstance(op, Elementwise):
        return op.weight < TRANSCENDENTAL
    added = op.kind in ("contraction", "scatter") or op.name in ("sum", "prod")
    return not (added and node.dtype.is_float)


# ---- the cache of programs


def load_program(graph: Graph) -> Program:
    """The program of `graph`: from the cache, or translated and built."""
    store = open_cache()
    toolchain = find_toolchain(store)
    name = key_of({"graph": graph_digest(graph), **stamp(), **toolchain.parts})
    manifest = read_manifest(store.read_document("manifest", name))
    if manifest is not None:
        path = store.find(manifest.library)
        if path is not None:
            return _loaded(graph, manifest, path, "cached")
    return _built(graph, name, store, toolchain)


def _loaded(graph: Graph, manifest: Manifest, path: Path, status: str) -> Program:
    """The program, with all that it calls: where that cannot be built, no call finds out."""
    runtime(manifest.gemms)
    return Program(graph, manifest, path, status)


def _built(graph: Graph, name: str, store: Cache, toolchain: Toolchain) -> Program:
    from ..codegen.kernel import Program as Lowered
    from ..codegen.pipeline import translate
    from ..codegen.target import C

    short: list[Exception] = []

    def prepare_gemms(_: str, made: Any) -> None:
        if isinstance(made, Lowered):
            try:
                prepare_products(made.gemms)
            except Exception as error:
                short.append(error)  # no fault of the passes
                raise

    prepare()
    try:
        made = translate(graph, C, prepare_gemms, verify=True)
    except Exception as error:
        if error in short:
            raise
        raise TranslationError(graph, error) from error
    path = build(made.source.text, toolchain, store, units=made.source.units)
    manifest = Manifest(
        library=path.parent.name,
        entry=made.source.entry,
        inputs=len(made.program.inputs),
        outputs=tuple(memory.nbytes for memory in made.program.outputs),
        arena=made.source.arena,
        floats=graph.floats,
        ints=graph.ints,
        results=made.program.results,
        checks=made.checks,
        kernels=made.source.kernels,
        gemms=made.program.gemms,
    )
    store.write_document("graph", manifest.library, {"graph": taken_text(graph)})
    store.write_document("manifest", name, manifest.document())
    return _loaded(graph, manifest, path, "built")


@cache
def stamp() -> dict[str, str]:
    """What tells one state of gradc's code from another: the content of its files.

    That is remembered in the cache under their places, sizes, times and numbers, which costs less
    than reading them, unless one has changed a moment ago: times have steps.
    """
    files: list[tuple[str, Path]] = []
    for name in ("tracer", "codegen", "templates"):
        spec = find_spec(f"gradc.{name}")
        assert spec is not None and spec.submodule_search_locations
        for folder in spec.submodule_search_locations:
            files += _listed(name, Path(folder))
    status = [path.stat() for _, path in files]
    seen = [f"{path} {identity_of(each)}" for (_, path), each in zip(files, status, strict=True)]
    name = key_of({"files": sorted(seen)})
    document = open_cache().read_document("stamp", name) or {}
    known = document.get("gradc")
    if not isinstance(known, str):
        contents = [f"{place} {digest(path.read_bytes())}" for place, path in files]
        known = key_of({"files": sorted(contents)})
        if max(each.st_ctime for each in status) < time.time() - SETTLED:
            open_cache().write_document("stamp", name, {"gradc": known})
    return {"gradc": known}


def _listed(place: str, folder: Path) -> list[tuple[str, Path]]:
    """The files in a folder, by where they are in gradc."""
    found: list[tuple[str, Path]] = []
    for entry in os.scandir(folder):
        inner = f"{place}/{entry.name}"
        if not entry.is_dir():
            found.append((inner, Path(entry.path)))
        elif entry.name != "__pycache__":
            found += _listed(inner, Path(entry.path))
    return found
