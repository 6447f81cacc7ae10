"""Whole functions as programs.

A traced function is recorded once for each signature, with its backwards and the steps of its
optimizers, and becomes one program; afterwards the program runs and the function does not. Where
anything that the function depends on has changed, it is traced again. A function that cannot be
replayed is called as it stands; `explain` says why.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import WRAPPER_ASSIGNMENTS, partial
from types import FunctionType, MethodType
from typing import Any

from .runtime.rebuilds import RebuildWarning
from .tracer.errors import BoundsError, located
from .tracer.layout import own_attribute
from .tracer.recording import THREAD
from .tracer.replay_code import STALE
from .traces import RetraceWarning, Tally, TooDeep, TraceError, Traces, kept_with

__all__ = [
    "RebuildWarning",
    "RetraceWarning",
    "TraceError",
    "TraceStatistics",
    "Traced",
    "exclude_from_trace",
    "trace",
]


@dataclass(frozen=True)
class TraceStatistics:
    """How often a traced function was traced, replayed, and called as it stands."""

    traced: int = 0
    replayed: int = 0
    plain: int = 0


class Traced:
    """A function that `trace` was applied to.

    What is called with an object has its traces with this object, so that they go with it.
    """

    def __init__(self, function: Callable[..., Any], frozen: bool = False) -> None:
        named = function.__func__ if isinstance(function, MethodType) else function
        self.__dict__.update(vars(named) if isinstance(named, FunctionType) else ())
        self.__wrapped__ = function
        for name in WRAPPER_ASSIGNMENTS:
            if (found := own_attribute(named, name)) is not None:
                setattr(self, name, found)
        self.__name__ = own_attribute(named, "__name__", type(function).__name__)
        self.function = function
        self._owner: type | None = None
        self._tally = Tally(frozen)
        self._shared = self._new_traces()

    def __set_name__(self, owner: type, name: str) -> None:
        self._owner = owner  # of the method that this is
        self._shared = self._new_traces()

    def _new_traces(self) -> Traces:
        return Traces(self.function, self.__name__, self._owner, self._tally)

    # ---- calling

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """What the function gives."""
        recording = THREAD.recording
        if recording.trace is not None or (recording.managers and recording.recording_managers()):
            return self.function(*args, **kwargs)  # it belongs to what is recorded there
        shared = self._shared
        last = shared.last
        try:
            if last is not None and not kwargs and last.fits(recording.quiet, args):
                made = shared.replay(last, args, None, (), True)
                if made is not STALE:
                    return made
            return self._traces(args, kwargs).call(args, kwargs)
        except BoundsError as error:
            if not error.undone:
                raise
            reason = "an index does not fit, and the function is to tell"
        except TooDeep:
            reason = "an argument is nested too deeply"
        self._tally.plain += 1
        self._tally.count(f"called as it stands: {reason}")
        return self.function(*args, **kwargs)  # it does what it does, up to the line that fails

    def _traces(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Traces:
        """The traces with the object that is given, or those without one."""
        kept = kept_with(args, kwargs, self._owner)
        if kept is None:
            return self._shared
        found = kept.get(self._tally)
        return found or kept.setdefault(self._tally, self._new_traces())

    # ---- for people

    def freeze(self) -> None:
        """From now on raise TraceError where the function would have to be traced again."""
        self._tally.frozen = True

    def statistics(self) -> TraceStatistics:
        """How often the function was traced, replayed, and called as it stands."""
        return TraceStatistics(self._tally.traced, self._tally.replayed, self._tally.plain)

    def explain(self) -> str:
        """How often the function was traced and why, and why it cannot be replayed if so."""
        tally = self._tally
        lines = [
            f"{self.__name__}: traced {tally.traced} times, replayed {tally.replayed} times, "
            f"called as it stands {tally.plain} times"
        ]
        for reason, count in tally.reasons.items():
            lines.append(f"  {reason}" + (f" ({count} times)" if count > 1 else ""))
        return "\n".join(lines)

    def __reduce__(self) -> str | tuple[Any, ...]:
        """As functions do, by their names; where another stands there, by what is traced."""
        found: Any = sys.modules.get(own_attribute(self, "__module__") or "")
        qualified = own_attribute(self, "__qualname__") or ""
        for name in qualified.split("."):
            found = getattr(found, name, None)
        return qualified if found is self else (Traced, (self.function, self._tally.once))

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else MethodType(self, instance)

    def __repr__(self) -> str:
        return f"<traced {self.function!r}>"


class exclude_from_trace:
    """What is inside is done at every call; the traced function around it is not replayed."""

    def __enter__(self) -> None:
        trace = THREAD.recording.trace
        if trace is not None:
            trace.abandon("is excluded from the trace")

    def __exit__(self, *error: object) -> None:
        return None


def trace(
    function: Callable[..., Any] | None = None,
    *,
    symbolic: bool = False,
    capture_as_const: bool = False,
    record_only: bool = False,
    sublinear_memory_config: Any = None,
    dtr_config: Any = None,
    profiling: bool = False,
    opt_level: int = 2,
    graph_opt_config: Any = None,
    symbolic_shape: bool = True,
    without_host: bool = False,
    imperative: bool = False,
    frozen: bool = False,
) -> Any:
    """Decorate a function, bare or with options: it is recorded once and replayed afterwards.

    Results are those of the plain function. It is traced again where types of arguments, Python
    values, or variables and attributes that its code names have changed; tensors, hyper-parameters
    of optimizers and gradients are read at every call. A function that reads the value of a tensor,
    keeps tensors, or changes Python objects is called every time; callbacks, hooks and Functions
    count with it. What cannot be seen (printing, and appending to a list in the body itself) is
    done when it is traced.

    With `frozen`, only the first call may trace. All other options are MegEngine's and change
    nothing.
    """
    if function is None:
        return partial(_traced, frozen=frozen)
    return _traced(function, frozen)


def _traced(function: Any, frozen: bool) -> Any:
    if isinstance(function, (staticmethod, classmethod)):
        return type(function)(_traced(function.__func__, frozen))
    if not callable(function):
        raise TypeError(located(f"trace: expected a function, found {function!r}"))
    return Traced(function, frozen)
