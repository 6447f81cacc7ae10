"""The evaluator that compiles, imported when the first graph is to be run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .tracer.evaluator import set_evaluator

if TYPE_CHECKING:
    from .tracer.evaluator import Evaluator, Executable
    from .tracer.graph import Graph


class CompilingWhenNeeded:
    """Stands for `runtime.compiling.CompilingEvaluator`, whose import would cost every start."""

    def __init__(self) -> None:
        self._evaluator: Evaluator | None = None

    def prepare(self, graph: Graph) -> Executable:
        """What runs `graph`."""
        if self._evaluator is None:
            from .runtime.compiling import CompilingEvaluator

            self._evaluator = CompilingEvaluator()
        return self._evaluator.prepare(graph)


def install() -> None:
    """Let graphs be compiled from now on."""
    set_evaluator(CompilingWhenNeeded())
