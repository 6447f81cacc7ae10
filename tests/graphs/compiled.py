"""Graphs compiled to C with all warnings as errors, and run; what they give against NumPy."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from gradc.codegen.kernel import GEMMS, Program
from gradc.codegen.pipeline import translate
from gradc.codegen.plan import Plan
from gradc.codegen.render import Source
from gradc.codegen.target import C, Target
from gradc.runtime.build import build
from gradc.runtime.cache import Cache, open_cache
from gradc.runtime.library import FFI, load_function
from gradc.runtime.support import runtime
from gradc.runtime.toolchain import Toolchain, find_toolchain
from gradc.tracer.dtypes import int32, int64
from gradc.tracer.graph import Graph
from gradc.tracer.interpret import computing, from_storage, to_storage
from gradc.tracer.ir import TensorType

Array = np.ndarray[Any, Any]

WARNINGS = ("-Wall", "-Wextra", "-Werror", "-Wno-type-limits")
"""An operator's expression is shared by types: that an unsigned one is not negative is no fault."""

CLANG_WARNINGS = ("-Wno-unused-function", "-Wno-pass-failed", "-Wno-unused-command-line-argument")
"""clang warns of functions of the headers that nobody calls, since these are part of the file, of
loops that it does not vectorize, since it has no vector math, and of flags for linking and for
compiling where it does the other."""

UNWRITTEN = 0xFF
"""The bytes of memory before a program runs: NaN in every float."""


class Fault(Exception):
    """A place out of range: check, position, what was found, and its bound."""


@dataclass(frozen=True)
class Written:
    """A graph, and what the passes have made of it."""

    graph: Graph
    program: Program
    plan: Plan
    source: Source


def written(graph: Graph, target: Target = C) -> Written:
    """`graph`, verified and rendered."""
    made = translate(graph, target, verify=True)
    return Written(made.graph, made.program, made.plan, made.source)


def strict_toolchain() -> Toolchain:
    """The toolchain of programs, with warnings that are errors."""
    found = find_toolchain()
    for_clang = CLANG_WARNINGS if "clang" in found.version else ()
    return found._replace(flags=(*found.flags, *WARNINGS, *for_clang))


def body_of(source: Source) -> str:
    """The text behind the headers."""
    return source.text[source.text.rindex("/* >>> ") :].partition("\n")[2].lstrip("\n")


class Compiled:
    """A graph as machine code, called with arrays; compiled as a whole, or apart in a new cache."""

    def __init__(self, graph: Graph, target: Target = C, apart: Cache | None = None) -> None:
        self.made = written(graph, target)
        source = self.made.source
        units = source.units if apart else 1
        path = build(source.text, strict_toolchain(), apart or open_cache(), units=units)
        self._run = load_function(path, self.made.source.entry)

    def __call__(
        self, arrays: Sequence[Array], floats: Sequence[float] = (), ints: Sequence[int] = ()
    ) -> list[Array]:
        """The outputs on `arrays`, which must not change meanwhile."""
        program = self.made.program
        inputs = [_handed_over(each) for each in arrays]
        before = [each.copy() for each in inputs]
        outputs = [_unwritten(memory.nbytes) for memory in program.outputs]
        arena = _unwritten(self.made.plan.nbytes)
        code, error = self._call([*inputs, *outputs, arena], floats, ints)
        for each, old in zip(inputs, before, strict=True):
            assert each.tobytes() == old.tobytes(), "an input was written"
        if code:
            raise Fault(error.node, error.position, error.found, error.bound)
        typed = [
            each.view(memory.dtype.storage)
            for each, memory in zip(outputs, program.outputs, strict=True)
        ]
        tables = {"input": inputs, "output": typed}
        pairs = zip(program.results, self.made.graph.outputs, strict=True)
        return [tables[what][number].reshape(node.shape) for (what, number), node in pairs]

    def _call(
        self, buffers: Sequence[Array], floats: Sequence[float], ints: Sequence[int]
    ) -> tuple[int, Any]:
        table = FFI.new("void *[]", [FFI.cast("void *", each.ctypes.data) for each in buffers])
        error = FFI.new("gradc_error *")
        numbers = FFI.new("double[]", list(floats) or [0.0])
        whole = FFI.new("int64_t[]", list(ints) or [0])
        return self._run(table, numbers, whole, runtime(GEMMS.values()), error), error


def _handed_over(array: Array) -> Array:
    """`array` in memory as a user may hand it over: aligned to its elements and to no more.

    It ends where the block of memory ends, so that sanitizers see what is read behind it.
    """
    array = np.asarray(array)
    block = np.empty(array.itemsize + array.nbytes, np.uint8)
    made = block[array.itemsize :].view(array.dtype).reshape(array.shape)
    made[...] = array
    return made


def _unwritten(nbytes: int) -> Array:
    return np.full(nbytes, UNWRITTEN, np.uint8)


def sample(graph: Graph, seed: int = 0) -> list[Array]:
    """An array for each input: numbers about 1, and small places where integers are asked for."""
    rng = np.random.default_rng(seed)
    return [_drawn(rng, each.type) for each in graph.inputs]


def _drawn(rng: np.random.Generator, kind: TensorType) -> Array:
    if kind.dtype in (int32, int64):
        return np.asarray(rng.integers(0, 5, kind.shape)).astype(kind.dtype.storage)
    if not kind.dtype.is_float:
        return np.asarray(rng.integers(0, 2, kind.shape)).astype(kind.dtype.storage)
    values = np.asarray(rng.normal(size=kind.shape), computing(kind.dtype).storage)
    return to_storage(values, kind.dtype)


def differences(
    found: Array, expected: Array, kind: TensorType, rtol: float, atol: float
) -> list[str]:
    """Where two results in storage differ by more than the tolerance, as text."""
    assert (found.shape, found.dtype) == (expected.shape, expected.dtype), kind
    x, y = (np.asarray(from_storage(each, kind.dtype)) for each in (found, expected))
    if kind.dtype.is_float:
        with np.errstate(invalid="ignore"):  # signalling NaN
            wide = x.astype(np.float64), y.astype(np.float64)
        equal = np.isclose(*wide, rtol=rtol, atol=atol, equal_nan=True)
    else:
        equal = x == y
    wrong = np.argwhere(~np.atleast_1d(equal))[:5]
    return [
        f"{tuple(map(int, at))}: {np.atleast_1d(x)[tuple(at)]!r}"
        f" instead of {np.atleast_1d(y)[tuple(at)]!r}"
        for at in wrong
    ]
