"""Whole functions as programs.

A traced function is recorded once for each signature, with its backwards and the steps of its
optimizers, and becomes one program; afterwards the program runs and the function does not. Where
anything that the function depends on has changed, it is traced again. A function that cannot be
replayed is called as it stands; `explain` says why.
"""

from __future__ import annotations

import itertools
import threading
import warnings
from collections import Counter, OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import WRAPPER_ASSIGNMENTS, partial
from types import MethodType
from typing import Any

from .difference import Told, compared, described, tensor_names
from .lookup import code_of
from .runtime.rebuilds import RebuildWarning
from .signature import Call
from .surroundings import Others
from .tracer.accumulation import ADDING
from .tracer.errors import BoundsError, GradcError, located
from .tracer.layout import own_attribute
from .tracer.recording import THREAD
from .tracer.replay_code import STALE
from .variant import Variant, recorded

__all__ = [
    "RebuildWarning",
    "RetraceWarning",
    "TraceError",
    "TraceStatistics",
    "Traced",
    "exclude_from_trace",
    "trace",
]

MANY = 8
"""More traces than this are worth a warning; so many differ in Python values alone at most."""

KEPT = 64
"""So many traces of one function are kept, those that were used last."""

TOLD = 32
"""So many different reasons are told one by one; values that always change would give no end."""


class TraceError(GradcError, RuntimeError):
    """A frozen function would have to be traced again, or cannot be replayed."""


class RetraceWarning(UserWarning):
    """A function is traced again and again."""


@dataclass(frozen=True)
class TraceStatistics:
    """How often a traced function was traced, replayed, and called as it stands."""

    traced: int = 0
    replayed: int = 0
    plain: int = 0


class _TooDeep(Exception):
    """An argument that cannot be gone through."""


class Traced:
    """A function that `trace` was applied to."""

    def __init__(self, function: Callable[..., Any], frozen: bool = False) -> None:
        self.__wrapped__ = function
        named = function.__func__ if isinstance(function, MethodType) else function
        for name in WRAPPER_ASSIGNMENTS:
            if (found := own_attribute(named, name)) is not None:
                setattr(self, name, found)
        self.__name__ = own_attribute(named, "__name__", type(function).__name__)
        self.function = function
        self._once = frozen
        self._frozen = False
        self._lock = threading.RLock()
        self._variants: OrderedDict[int, Variant] = OrderedDict()
        self._last: Variant | None = None
        self._traced = self._replayed = self._plain = 0
        self._kinds: Counter[tuple[Any, ...]] = Counter()
        self._told: Told = {}
        self._owner: type | None = None
        self._dropped = self._warned = False
        self._reasons: Counter[str] = Counter()

    def __set_name__(self, owner: type, name: str) -> None:
        self._owner = owner  # of the method that this is

    # ---- calling

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """What the function gives."""
        recording = THREAD.recording
        if recording.trace is not None or (recording.managers and recording.recording_managers()):
            return self.function(*args, **kwargs)  # it belongs to what is recorded there
        last = self._last
        try:
            if last is not None and not kwargs and last.fits(recording.quiet, args):
                made = self._replay(last, args, None, (), True)
                if made is not STALE:
                    return made
            call = self._call(args, kwargs)
            if last is not None and last.key == call.key and last.surroundings.unchanged():
                made = self._run(last, call.tensors, None, call.containers)
                if made is not STALE:
                    return made
            call.settle()
            return self._searched(call, args, kwargs)
        except BoundsError as error:
            if not error.undone:
                raise
            reason = "an index does not fit, and the function is to tell"
        except _TooDeep:
            reason = "an argument is nested too deeply"
        self._plain += 1
        self._count(f"called as it stands: {reason}")
        return self.function(*args, **kwargs)  # it does what it does, up to the line that fails

    def _call(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Call:
        try:
            return Call(args, kwargs, self._owner)
        except RecursionError:
            raise _TooDeep from None

    def _run(
        self,
        variant: Variant,
        tensors: Sequence[Any],
        others: Others | None,
        containers: Sequence[Any],
    ) -> Any:
        """The result by the program of a trace, or STALE."""
        replay = variant.replay
        if replay is None or (variant.known and not variant.holds(tensors, others)):
            return STALE
        closed = replay.replaced(others) if others else None
        if others and closed is None:
            return STALE
        return self._replay(variant, tensors, closed, containers, False)

    def _replay(
        self,
        variant: Variant,
        tensors: Sequence[Any],
        closed: list[Any] | None,
        containers: Sequence[Any],
        typed: bool,
    ) -> Any:
        """The result, or STALE; `typed` says that the types of the arguments are known to fit."""
        replay = variant.replay
        assert replay is not None
        if replay.adds:
            with self._lock, ADDING:
                made = replay.run(tensors, closed, containers, typed)
        elif replay.stateful:
            with self._lock:
                made = replay.run(tensors, closed, containers, typed)
        else:
            made = replay.run(tensors, closed, containers, typed)
        if made is not STALE:
            self._replayed += 1
            self._last = variant
        return made

    def _searched(self, call: Call, args: Any, kwargs: Any) -> Any:
        """The result by an older trace; without one that fits, the function is traced."""
        reason = ""
        for number, variant in reversed(list(self._variants.items())):
            if variant.key != call.key:
                continue
            others: Others = {}
            found = variant.surroundings.difference(others)
            if found is None and variant.replay is None:
                return self._unreplayable(variant, number, call, args, kwargs)
            if found is None:
                made = self._run(variant, call.tensors, others, call.containers)
                if made is not STALE:
                    self._used(number)
                    return made
                names = tensor_names(self.function, args, kwargs)
                found = self._stale(variant, call, others, names)
            reason = reason or found or ""
        return self._new(call, args, kwargs, reason)

    def _stale(self, variant: Variant, call: Call, others: Others, names: dict[int, str]) -> str:
        """In words, why the replay of a variant that fits otherwise is stale."""
        replay = variant.replay
        assert replay is not None
        closed = replay.replaced(others) if others else None

        def name_of(value: Any) -> str:
            known = names.get(id(value)) or variant.surroundings.name_of(value)
            return known or f"a {type(value).__name__}"

        if others and closed is None:
            new = next(iter(others.values()))
            return f"{name_of(new)} is another tensor, and the old one is changed by the function"
        if not variant.holds(call.tensors, others):
            return variant.aliased(call.tensors, name_of)
        return replay.difference(call.tensors, closed, name_of)

    def _used(self, number: int) -> None:
        with self._lock:
            if number in self._variants:
                self._variants.move_to_end(number)

    def _unreplayable(
        self, variant: Variant, number: int, call: Call, args: Any, kwargs: Any
    ) -> Any:
        """Call the function as it stands; now and then look whether it can be replayed by now."""
        if self._is_frozen():
            raise TraceError(f"{self.__name__} cannot be replayed: it {variant.reason}")
        variant.calls += 1
        if variant.calls & (variant.calls - 1) == 0:
            with self._lock:
                calls = variant.calls
                result, fresh = self._recorded(call, args, kwargs)
                fresh.calls = calls
                if number in self._variants:
                    self._variants[number] = fresh
                if fresh.replay is None:
                    self._plain += 1
                else:
                    self._traced += 1
                    self._count("traced: can be replayed by now")
            return result
        self._plain += 1
        return self.function(*args, **kwargs)

    # ---- tracing

    def _is_frozen(self) -> bool:
        return self._frozen or (self._once and bool(self._variants))

    def _new(self, call: Call, args: Any, kwargs: Any, reason: str) -> Any:
        told = described(self.function, args, kwargs)
        if self._variants:
            reason = reason or located(compared(self._told, told) or self._other_call())
        else:
            reason = "first call"
        if self._is_frozen():
            raise TraceError(f"{self.__name__} is frozen and would be traced again: {reason}")
        kinds = call.kinds()
        if self._kinds[kinds] >= MANY:
            self._plain += 1
            self._count(f"called as it stands: {reason}, once more")
            if any(each.replay is not None for each in self._variants.values()):
                self._warn(reason)
            return self.function(*args, **kwargs)
        with self._lock:
            self._told = told
            self._kinds[kinds] += 1
            self._traced += 1
            self._count(f"traced: {reason}")
            result, variant = self._recorded(call, args, kwargs)
            self._variants[next(_numbers)] = variant
            if len(self._variants) > KEPT:
                self._variants.popitem(last=False)
                self._dropped = True
            self._last = variant
        if self._traced == MANY + 1:
            self._warn(reason)
        return result

    def _other_call(self) -> str:
        """Why a call whose arguments seem to be those of the last trace was not found."""
        if self._dropped:
            return f"only the last {KEPT} traces are kept, and that for these arguments was not"
        return "the arguments are given in another way, by position or by name"

    def _recorded(self, call: Call, args: Any, kwargs: Any) -> tuple[Any, Variant]:
        """The result, and what later calls need."""
        result, variant = recorded(self.function, call, args, kwargs)
        if variant.replay is None:
            self._count(f"cannot be replayed: it {variant.reason}")
        return result, variant

    def _warn(self, reason: str) -> None:
        """Warn once of traces that keep coming."""
        if self._warned:
            return
        self._warned = True
        code = code_of(self.function)
        where = f" ({code.co_filename}:{code.co_firstlineno})" if code else ""
        message = f"{self.__name__}{where} was traced {self._traced} times, now because {reason}"
        warnings.warn(message, RetraceWarning, stacklevel=5)

    def _count(self, reason: str) -> None:
        """Count a reason; beyond TOLD different ones, all others together."""
        known = reason in self._reasons or len(self._reasons) < TOLD
        self._reasons[reason if known else "for other reasons"] += 1

    # ---- for people

    def freeze(self) -> None:
        """From now on raise TraceError where the function would have to be traced again."""
        self._frozen = True

    def statistics(self) -> TraceStatistics:
        """How often the function was traced, replayed, and called as it stands."""
        return TraceStatistics(self._traced, self._replayed, self._plain)

    def explain(self) -> str:
        """How often the function was traced and why, and why it cannot be replayed if so."""
        lines = [
            f"{self.__name__}: traced {self._traced} times, replayed {self._replayed} times, "
            f"called as it stands {self._plain} times"
        ]
        for reason, count in self._reasons.items():
            lines.append(f"  {reason}" + (f" ({count} times)" if count > 1 else ""))
        return "\n".join(lines)

    def __reduce__(self) -> tuple[Any, ...]:
        return Traced, (self.function, self._once)

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else MethodType(self, instance)

    def __repr__(self) -> str:
        return f"<traced {self.function!r}>"


_numbers = itertools.count()


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


def _traced(function: Any, frozen: bool) -> Traced:
    if not callable(function):
        raise TypeError(located(f"trace: expected a function, found {function!r}"))
    return Traced(function, frozen)
