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
            try:
                from .runtime.compiling import CompilingEvaluator
            except (OSError, MemoryError) as error:  # nothing can be read at this moment
                return _interpreting(graph, error)
            self._evaluator = CompilingEvaluator()
        return self._evaluator.prepare(graph)


def _interpreting(graph: Graph, error: Exception) -> Executable:
    import warnings

    from .tracer.evaluator import InterpretingEvaluator

    warnings.warn(
        f"the compiler cannot be loaded: {error}; programs are interpreted with NumPy",
        UserWarning,
        stacklevel=2,
    )
    return InterpretingEvaluator().prepare(graph)


def install() -> None:
    """Let graphs be compiled from now on."""
    set_evaluator(CompilingWhenNeeded())
