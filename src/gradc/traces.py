"""The traces of a function: which one fits a call, its replay, and when it is traced anew."""

from __future__ import annotations

import itertools
import warnings
from collections import Counter, OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from types import ModuleType
from typing import Any

from .difference import Told, compared, described, tensor_names
from .lookup import code_of, dict_of
from .signature import THEMSELVES, Call
from .surroundings import Others
from .tracer.accumulation import ADDING, FOLLOWING
from .tracer.errors import GradcError, located
from .tracer.layout import TRACES, layout_of
from .tracer.locks import new_lock
from .tracer.replay_code import STALE
from .tracer.structure import is_plain
from .tracer.tensor import Tensor
from .variant import Variant, recorded

MANY = 8
"""More traces than this are worth a warning; so many differ in Python values alone at most."""

KEPT = 64
"""So many traces are kept for one object, those that were used last."""

MOST_KINDS = 1024
"""Of so many types of arguments is counted how often they were traced."""

UNUSED = 64
"""So many objects may be met whose traces were never replayed; those of others are not traced."""

TOLD = 32
"""So many different reasons are told one by one; values that always change would give no end."""

_numbers = itertools.count()


class TraceError(GradcError, RuntimeError):
    """A frozen function would have to be traced again, or cannot be replayed."""


class RetraceWarning(UserWarning):
    """A function is traced again and again."""


class TooDeep(Exception):
    """An argument that cannot be gone through."""


@dataclass(eq=False)
class Tally:
    """What one traced function did so far, whatever objects it was called with.

    With `once`, only the first call with an object may trace; `frozen`, none any more. `unused` is
    how many objects have traces that were never replayed.
    """

    once: bool
    frozen: bool = False
    traced: int = 0
    replayed: int = 0
    plain: int = 0
    unused: int = 0
    warned: bool = False
    told: Told = field(default_factory=dict)
    reasons: Counter[str] = field(default_factory=Counter)

    def count(self, reason: str) -> None:
        """Count a reason; beyond TOLD different ones, all others together."""
        known = reason in self.reasons or len(self.reasons) < TOLD
        self.reasons[reason if known else "for other reasons"] += 1


class Traces:
    """The traces of `function`, called `name`: those for one object, or for calls without one."""

    def __init__(self, function: Callable[..., Any], name: str, owner: Any, tally: Tally) -> None:
        self.function = function
        self.last: Variant | None = None
        self._name = name
        self._owner = owner
        self._tally = tally
        self._lock = new_lock()
        self._variants: OrderedDict[int, Variant] = OrderedDict()
        self._kinds: Counter[tuple[Any, ...]] = Counter()
        self._traced = 0
        self._dropped = self._useful = False

    def call(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """What the function gives, by a trace where one fits."""
        call, last = self._call(args, kwargs), self.last
        if last is not None and last.key == call.key and last.surroundings.unchanged():
            made = self._run(last, call.tensors, None, call.containers)
            if made is not STALE:
                return made
        call.settle()
        return self._searched(call, args, kwargs)

    def _call(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Call:
        try:
            return Call(args, kwargs, self._owner)
        except RecursionError:
            raise TooDeep from None

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
        return self.replay(variant, tensors, closed, containers, False)

    def replay(
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
        if replay.adds or replay.writes:
            with self._lock, ADDING, FOLLOWING:
                made = replay.run(tensors, closed, containers, typed)
        elif replay.stateful:
            with self._lock:
                made = replay.run(tensors, closed, containers, typed)
        else:
            made = replay.run(tensors, closed, containers, typed)
        if made is not STALE:
            self._tally.replayed += 1
            self.last = variant
            if not self._useful:
                self._useful = True
                self._tally.unused -= 1
        return made

    def _searched(self, call: Call, args: Any, kwargs: Any) -> Any:
        """The result by an older trace; without one that fits, the function is traced."""
        reason, known = "", self._traced
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
        return self._new(call, args, kwargs, reason, known)

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
            raise TraceError(f"{self._name} cannot be replayed: it {variant.reason}")
        variant.calls += 1
        if variant.calls & (variant.calls - 1) == 0:
            with self._lock:
                calls = variant.calls
                result, fresh = self._recorded(call, args, kwargs)
                fresh.calls = calls
                if number in self._variants:
                    self._variants[number] = fresh
                if fresh.replay is None:
                    self._tally.plain += 1
                else:
                    self._tally.traced += 1
                    self._tally.count("traced: can be replayed by now")
            return result
        self._tally.plain += 1
        return self.function(*args, **kwargs)

    # ---- tracing

    def _is_frozen(self) -> bool:
        before = self._variants if self._owner else self._tally.traced
        return self._tally.frozen or (self._tally.once and bool(before))

    def _new(self, call: Call, args: Any, kwargs: Any, reason: str, known: int) -> Any:
        """Trace the function, unless another thread has done so: there were `known` traces."""
        with self._lock:
            is_late = self._traced != known
        if is_late:
            return self._searched(call, args, kwargs)
        told = described(self.function, args, kwargs)
        if self._tally.traced:
            before = self._tally.told
            reason = reason or located(compared(before, told) or self._other_call())
        else:
            reason = "first call"
        if self._is_frozen():
            raise TraceError(f"{self._name} is frozen and would be traced again: {reason}")
        kinds = call.kinds()
        useless = not self._traced and self._tally.unused >= UNUSED
        if useless or self._kinds[kinds] >= MANY:
            self._tally.plain += 1
            self._tally.count(f"called as it stands: {reason}, once more")
            if useless or any(each.replay is not None for each in self._variants.values()):
                self._warn(reason)
            return self.function(*args, **kwargs)
        with self._lock:
            if self._traced != known:
                return self._searched(call, args, kwargs)
            self._tally.told = told
            self._tally.traced += 1
            self._tally.count(f"traced: {reason}")
            result, variant = self._recorded(call, args, kwargs)
            self._tally.unused += not self._traced
            self._kinds[kinds] += 1  # one that fails is no trace that was of no use
            while len(self._kinds) > MOST_KINDS:
                self._kinds.pop(next(iter(self._kinds)))
            self._variants[next(_numbers)] = variant
            self._traced += 1  # when it can be found: who counted before has not seen it
            if len(self._variants) > KEPT:
                self._variants.popitem(last=False)
                self._dropped = True
            self.last = variant
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
            self._tally.count(f"cannot be replayed: it {variant.reason}")
        return result, variant

    def _warn(self, reason: str) -> None:
        """Warn once of traces that keep coming."""
        if self._tally.warned:
            return
        self._tally.warned = True
        code = code_of(self.function)
        where = f" ({code.co_filename}:{code.co_firstlineno})" if code else ""
        message = f"{self._name}{where} was traced {self._tally.traced} times, now because {reason}"
        warnings.warn(message, RetraceWarning, stacklevel=6)


# ---- where they are kept


class Kept(dict[Tally, Traces]):
    """The traces in which an object is an argument; they stand in its `__dict__`, and go with it.

    A copy of the object has none: `of` is the identity of that whose traces these are.
    """

    def __init__(self, of: int = 0) -> None:
        super().__init__()
        self.of = of

    def __reduce__(self) -> tuple[Any, ...]:
        return Kept, ()


def kept_with(args: tuple[Any, ...], kwargs: dict[str, Any], owner: type | None) -> Kept | None:
    """The traces that an argument keeps: the first that only its identity tells, if any.

    It needs a `__dict__` to keep them in.
    """
    if owner is not None and args and isinstance(args[0], owner):
        return _kept_by(args[0])
    for each in (*args, *kwargs.values()) if kwargs else args:
        kind: Any = type(each)
        if not _is_told(kind) and not is_plain(each):
            found = _kept_by(each)
            if found is not None:
                return found
    return None


@lru_cache(1_000)
def _is_told(kind: type) -> bool:
    """Whether objects of the class are told by what they hold, or hold no attributes of theirs."""
    if issubclass(kind, THEMSELVES):
        return False
    layout: Any = layout_of
    return issubclass(kind, (Tensor, ModuleType, type)) or layout(kind) is not None


def _kept_by(value: Any) -> Kept | None:
    space = dict_of(value)
    if space is None:
        return None
    found: Kept | None = space.get(TRACES)
    if found is None or found.of != id(value):
        space.pop(TRACES, None)
        found = space.setdefault(TRACES, Kept(id(value)))
    return found
