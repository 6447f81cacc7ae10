"""The evaluator that compiles, imported when the first graph is to be run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .tracer.evaluator import set_evaluator

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .tracer.buffer import Buffer
    from .tracer.evaluator import Evaluator, Executable
    from .tracer.graph import Graph


class CompilingWhenNeeded:
    """Stands for `runtime.compiling.CompilingEvaluator`, whose import would cost every start."""

    def __init__(self) -> None:
        self._evaluator: Evaluator | None = None
        self.warned = False

    def prepare(self, graph: Graph) -> Executable:
        """What runs `graph`."""
        if self._evaluator is None:
            try:
                from .runtime.compiling import CompilingEvaluator
            except (OSError, MemoryError) as error:  # nothing can be read at this moment
                return _Waiting(self, graph, error)
            self._evaluator = CompilingEvaluator()
        return self._evaluator.prepare(graph)


class _Waiting:
    """A graph that came while the compiler could not be loaded, interpreted until it can."""

    def __init__(self, evaluator: CompilingWhenNeeded, graph: Graph, error: Exception) -> None:
        import warnings

        from .tracer.evaluator import InterpretingEvaluator

        self._evaluator, self._graph = evaluator, graph
        self._interpreted = InterpretingEvaluator().prepare(graph)
        self._found: Executable | None = None
        if not evaluator.warned:
            evaluator.warned = True
            reason = str(error) or "no memory"
            warnings.warn(
                f"the compiler cannot be loaded: {reason}; programs are interpreted with NumPy",
                stacklevel=2,
            )

    def __call__(
        self, inputs: Sequence[Buffer], floats: Sequence[float], ints: Sequence[int]
    ) -> list[Buffer]:
        if self._found is None:
            found = self._evaluator.prepare(self._graph)
            self._found = None if isinstance(found, _Waiting) else found
        return (self._found or self._interpreted)(inputs, floats, ints)


def install() -> None:
    """Let graphs be compiled from now on."""
    set_evaluator(CompilingWhenNeeded())
