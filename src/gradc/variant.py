"""One trace of a function: what was recorded, what it depends on, and whether it is replayed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from .chance import random_states
from .difference import compared, described
from .optimizer.again import EpochAgain
from .reach import code_of
from .signature import Call
from .surroundings import Surroundings
from .tracer.replay import Replay
from .tracer.tracing import Tracing


@dataclass(eq=False, slots=True)
class Variant:
    """What a trace depends on, and its replay, or the reason why there is none."""

    key: list[Any]
    types: list[Any]
    surroundings: Surroundings
    objects: list[Any]
    replay: Replay | None
    reason: str
    calls: int = 0


def recorded(
    function: Callable[..., Any], call: Call, args: Any, kwargs: Any
) -> tuple[Any, Variant]:
    """What `function` gives, and what later calls need."""
    surroundings = Surroundings(function, call.objects)
    before = described(function, args, kwargs)
    drawn = random_states(surroundings.objects())
    trace = Tracing(call.tensors, call.containers)
    result = trace.run(function, args, kwargs)
    outcome = trace.finished(result, surroundings.knows)
    reason = trace.reason
    scheduled = any(isinstance(each, EpochAgain) for each in trace.actions)
    changed = surroundings.changed_by_itself(scheduled)
    if outcome is not None:
        if changed:
            reason = f"changes Python state: {changed}"
        elif unknown := _unnamed_manager(trace, surroundings):
            reason = unknown
        elif random_states(surroundings.objects()) != drawn:
            reason = "draws random numbers of Python or NumPy"
        elif not call.same_arguments(args, kwargs):
            told = compared(before, described(function, args, kwargs))
            reason = f"changes its arguments{': ' if told else ''}{told}"
    if reason and " (at " not in reason and (code := code_of(function)):
        reason = f"{reason} (at {code.co_filename}:{code.co_firstlineno})"
    replay = None
    if outcome is not None and reason is None:
        replay = Replay(outcome, len(call.tensors))
    trace.forget()
    types = call.key if len(call.key) == 2 + len(call.tensors) and not kwargs else []
    return result, Variant(call.key, types, surroundings, call.objects, replay, reason or "")


def _unnamed_manager(trace: Tracing, surroundings: Surroundings) -> str | None:
    """A manager whose callbacks may do what was not looked at."""
    for each in trace.managed_.values():
        if any(each.attached.values()) and not surroundings.knows(each.manager):
            return "uses a manager with callbacks that its code does not reach by names"
    return None
