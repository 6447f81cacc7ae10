"""One trace of a function: what was recorded, what it depends on, and whether it is replayed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from .chance import random_states
from .difference import compared, described
from .lookup import code_of
from .optimizer.again import EpochAgain
from .signature import NODE_OF, Call
from .surroundings import Others, Surroundings
from .tracer.dtypes import default_float
from .tracer.replay import Replay
from .tracer.tensor import Tensor
from .tracer.tracing import Tracing


@dataclass(eq=False)
class Variant:
    """What a trace depends on, and its replay, or the reason why there is none.

    `known` are the tensors that the function can come upon by itself, and `pinned` those of the
    arguments, by place, that were among them: what was done to one was done to the other. One that
    is `quick` was called with nothing but tensors, by place, of the types `types`.
    """

    key: list[Any]
    surroundings: Surroundings
    objects: list[Any]
    replay: Replay | None
    reason: str
    known: dict[int, Tensor]
    pinned: dict[int, Tensor]
    quick: bool
    calls: int = 0

    def __post_init__(self) -> None:
        self.quiet, self.default_float, *self.types = self.key

    def fits(self, quiet: bool, args: tuple[Any, ...]) -> bool:
        """Whether nothing but tensors is given, by place, and all is as it was, by a quick look."""
        if not self.quick or quiet is not self.quiet or default_float() is not self.default_float:
            return False
        if args or self.types:
            try:
                types = [NODE_OF(each).type for each in args]
            except TypeError:
                return False
            if types != self.types or not self.holds(args):
                return False
        return self.surroundings.unchanged()

    def holds(self, tensors: Sequence[Any], others: Others | None = None) -> bool:
        """Whether the same arguments as then are tensors that the function comes upon by itself.

        `others` stand in its variables now; an argument may follow where nothing is written.
        """
        if not self.known:
            return True
        known, pinned = self.known.keys(), self.pinned
        if others:
            if self._is_stateful() and any(id(each) in others for each in pinned.values()):
                return False
            now = [others.get(key, each) for key, each in self.known.items()]
            known = {id(each): each for each in now}.keys()
            pinned = {place: others.get(id(each), each) for place, each in pinned.items()}
        if not pinned:
            return known.isdisjoint(map(id, tensors))
        for place, each in enumerate(tensors):
            wanted = pinned.get(place)
            if id(each) in known if wanted is None else each is not wanted:
                return False
        return True

    def aliased(self, tensors: Sequence[Any], name_of: Callable[[Any], str]) -> str:
        """In words, what `holds` found."""
        for place, each in enumerate(tensors):
            pinned = self.pinned.get(place)
            if pinned is not None and each is not pinned:
                mine = self.surroundings.name_of(pinned) or "one that the function finds"
                return f"{name_of(each)} is another tensor than {mine}, which was given before"
        each = next((each for each in tensors if id(each) in self.known), tensors[0])
        return f"{name_of(each)} is a tensor that the function finds by itself, too"

    def _is_stateful(self) -> bool:
        return self.replay is None or self.replay.stateful


def recorded(
    function: Callable[..., Any], call: Call, args: Any, kwargs: Any
) -> tuple[Any, Variant]:
    """What `function` gives, and what later calls need."""
    surroundings = Surroundings(function, call.objects)
    known = surroundings.tensors()
    pinned = {k: each for k, each in enumerate(call.tensors) if id(each) in known}
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
        elif surroundings.unseen:
            reason = surroundings.unseen
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
        surroundings = Surroundings(function, call.objects)  # with what was made meanwhile
    else:
        surroundings.leave_arrays()
    trace.forget()
    quick = replay is not None and len(call.key) == 2 + len(call.tensors) and not kwargs
    told = reason or ""
    variant = Variant(
        call.key, surroundings, call.objects, replay, told, known, pinned, quick=quick
    )
    return result, variant


def _unnamed_manager(trace: Tracing, surroundings: Surroundings) -> str | None:
    """A manager whose callbacks may do what was not looked at."""
    for each in trace.managed_.values():
        if any(each.attached.values()) and not surroundings.knows(each.manager):
            return "uses a manager with callbacks that its code does not reach by names"
    return None
