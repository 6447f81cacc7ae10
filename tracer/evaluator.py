"""The slot for whoever runs graphs: the NumPy interpreter, until the runtime takes its place."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from .buffer import Buffer
from .graph import Graph
from .interpret import interpret

Executable = Callable[[Sequence[Buffer], Sequence[float], Sequence[int]], list[Buffer]]
"""Runs one graph: its input buffers, floats and ints, in slot order, give its output buffers."""


class Evaluator(Protocol):
    """Makes graphs runnable. Called only for graphs that a recording has not met before."""

    def prepare(self, graph: Graph) -> Executable:
        """What runs `graph`; the same graph may be asked for more than once."""


class InterpretingEvaluator:
    """Runs every graph with NumPy."""

    def prepare(self, graph: Graph) -> Executable:
        """The interpreter, bound to `graph`."""
        return lambda inputs, floats, ints: interpreted(graph, inputs, floats, ints)


def interpreted(
    graph: Graph, inputs: Sequence[Buffer], floats: Sequence[float], ints: Sequence[int]
) -> list[Buffer]:
    """The outputs of `graph` on buffers, computed by the interpreter."""
    arrays = [
        buffer.array(leaf.dtype, leaf.shape)
        for buffer, leaf in zip(inputs, graph.inputs, strict=True)
    ]
    return [Buffer.copied(each) for each in interpret(graph, arrays, floats, ints)]


class _Slot:
    evaluator: Evaluator = InterpretingEvaluator()


def current_evaluator() -> Evaluator:
    """Who runs graphs now."""
    return _Slot.evaluator


def set_evaluator(evaluator: Evaluator) -> None:
    """Let `evaluator` run graphs from now on; executables that exist stay in use."""
    _Slot.evaluator = evaluator
