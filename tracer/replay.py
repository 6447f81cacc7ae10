"""Replays: what a traced function did, done again by one program and without the function.

All is laid out beforehand: which boxes are read, what must still be as it was, and where results
go. Nothing is written before the program has run.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from .action import Action
from .cached import cached_property
from .evaluation import Entry
from .ir import Node, TensorType, node
from .ops import sources
from .outcome import Outcome
from .replay_code import ABSENT, OWN, SAME, replay_code
from .structure import renumbered
from .tensor import Tensor
from .tracing import Managed, Tracing
from .value import concrete

if TYPE_CHECKING:
    from .grad_manager import Callback, GradManager


class _Boxes:
    """The boxes of a trace, numbered anew.

    First those that the function found by itself (`closed`, constants among them), then its
    arguments, then gradients, which are looked up at every call: `looks` are (number of the owner,
    what must be there, number of the box that must be there).
    """

    def __init__(self, trace: Tracing, arguments: int) -> None:
        count = len(trace.boxes)
        places = [each for each in range(arguments, count) if each not in trace.owners]
        recording = trace.recording
        leaves = {each.attrs[0]: each.type for each in recording.leaves.values()}
        constants = [slot for slot in leaves if slot not in trace.inputs]
        made = [concrete(recording.slots[slot], leaves[slot]) for slot in constants]
        self.closed = [*(trace.boxes[each] for each in places), *made]
        order: list[int] = [*places, *(~each for each in constants)]
        order += [*range(arguments), *trace.owners]
        self.numbers = {place: number for number, place in enumerate(order)}
        types = [trace.types[each] if each >= 0 else leaves[~each] for each in order]
        self.types = [each.settled() for each in types]
        self.traced = [trace.boxes[each] if each >= 0 else None for each in order]
        self.looks = self._looks(trace)
        self._inputs = trace.inputs

    def _looks(self, trace: Tracing) -> list[tuple[int, int, int]]:
        same = dict(trace.same)
        found = []
        for place in trace.grads:
            if place in trace.asked:
                kind = ABSENT if trace.grads[place] is None else SAME if place in same else OWN
                found.append((self.numbers[place], kind, self.numbers[same.get(place, place)]))
        return found

    def of_slot(self, slot: int) -> int:
        """The number of the box that the leaf `slot` stands for."""
        return self.numbers[self._inputs.get(slot, ~slot)]


class _Manager:
    """A manager from outside, and what of the boxes must be attached to it."""

    def __init__(self, managed: Managed, boxes: _Boxes) -> None:
        self.manager = managed.manager
        self.version = managed.version
        self.wanted = [managed.attached.get(id(each)) for each in boxes.traced]
        self.looked_up = self.wanted[len(boxes.closed) :]

    def fits(self, boxes: list[Tensor], replaced: bool) -> bool:
        """Whether it would do the same now; those that are closed over are seen by the version."""
        manager = self.manager
        if manager._session is not None:
            return False
        if manager._version == self.version and not replaced:
            if not self.looked_up:
                return True
            return self._attached(boxes[-len(self.looked_up) :], self.looked_up)
        if self._attached(boxes, self.wanted):
            self.version = manager._version
            return True
        return False

    def difference(self, boxes: list[Tensor], name: Callable[[Any], str]) -> str | None:
        """In words, what is not as it was."""
        manager = self.manager
        mine = name(manager)
        if manager._session is not None:
            return f"{mine} is recording"
        for box, callbacks in zip(boxes, self.wanted, strict=True):
            if (id(box) in manager._attached) is (callbacks is None):
                now = "is attached to" if callbacks is None else "is not attached to"
                return f"{name(box)} {now} {mine} now"
            if callbacks is not None and manager.callbacks_of(box) != callbacks:
                return f"{name(box)} has other callbacks in {mine}"
        return None

    def _attached(self, boxes: list[Tensor], wanted: Sequence[Any]) -> bool:
        table = self.manager._attached
        for box, callbacks in zip(boxes, wanted, strict=True):
            if (id(box) in table) is (callbacks is None):
                return False
            if callbacks is not None and self.manager.callbacks_of(box) != callbacks:
                return False
        return True


class _Numbers:
    """The run-time numbers: those that stay, and those that actions give.

    `last` are all numbers of the last call, where the actions gave `given`; one that gives the very
    same list again gives the same numbers.
    """

    def __init__(self, trace: Tracing, entry: Entry) -> None:
        self._floats = [trace.recording.floats[k] for k in entry.floats]
        self._ints = [trace.recording.ints[k] for k in entry.ints]
        self.actions = trace.actions
        self._targets = [
            (_targets(each, "f", entry.floats), _targets(each, "i", entry.ints))
            for each in trace.actions
        ]
        self.given: list[Any] = [None for _ in trace.actions]
        self.last: tuple[list[float], list[int]] = (self._floats, self._ints)

    def of(self, *given: Sequence[float]) -> tuple[list[float], list[int]]:
        """All numbers of a call, after the actions have `given` theirs."""
        floats, ints = self._floats.copy(), self._ints.copy()
        for made, (of_floats, of_ints) in zip(given, self._targets, strict=True):
            for place, k in of_floats:
                floats[place] = made[k]
            for place, k in of_ints:
                ints[place] = made[k]  # type: ignore[call-overload]
        self.given, self.last = [*given], (floats, ints)
        return self.last


def _targets(action: Action, kind: str, slots: tuple[int, ...]) -> list[tuple[int, int]]:
    """Where the numbers of `action` go: pairs of a place in the program and which of them."""
    given = {slot: k for k, (source, slot) in enumerate(action.slots) if source == kind}
    return [(place, given[slot]) for place, slot in enumerate(slots) if slot in given]


class Replay:
    """One traced call, to be made again with other arguments.

    Beside its result it leaves behind all that the call did, or, where it fails or is interrupted,
    nothing. `values` are the results of its program, followed by the buffers that were read. One
    that is `alone` reads nothing but its arguments.
    """

    def __init__(self, outcome: Outcome, arguments: int) -> None:
        trace = outcome.trace
        entry = trace.recording.entry
        assert entry is not None
        boxes = _Boxes(trace, arguments)
        slots = list(dict.fromkeys([*entry.inputs, *(~k for k in entry.places if k < 0)]))
        self.closed = boxes.closed
        self.types = boxes.types
        self.alone = len(boxes.types) == arguments
        self.looks = boxes.looks
        self.varying = len(boxes.types) - len(boxes.closed)
        self.read = [boxes.of_slot(each) for each in slots]
        self.inputs = len(entry.inputs)
        self.program = entry.run
        self.numbers = _Numbers(trace, entry)
        self.managers = [_Manager(each, boxes) for each in trace.managed_.values()]
        self._lay_out(outcome, boxes, [k if k >= 0 else ~slots.index(~k) for k in entry.places])
        owned = {boxes.numbers[each] for each in trace.owners}
        self.adds = any(grad is not None for _, grad in self.grads)
        self.adds |= any(number in owned for number, _, _ in self.writes)
        self.stateful = bool(self.writes or self.grads or trace.actions or trace.attachments)
        self._found = {id(each) for each in self.closed}
        self.replaceable = self._read_only(trace, boxes)

    def _lay_out(self, outcome: Outcome, boxes: _Boxes, places: list[int]) -> None:
        """Say where the results go; buffers that were read follow those that the program makes."""
        trace = outcome.trace
        self.made = len(trace.recording.results)
        values = [k if k >= 0 else self.made + ~k for k in places]
        numbers = boxes.numbers
        fresh = len(outcome.tensors)
        self.fresh = [
            (type(each), _leaf(each._node.type), value, each.name)
            for each, value in zip(outcome.tensors, values[:fresh], strict=True)
        ]
        self.writes = [
            (numbers[place], _leaf(trace.boxes[place]._node.type), value)
            for place, value in zip(trace.before, values[fresh:], strict=True)
        ]

        def renew(number: int) -> int:
            return number if number >= 0 else ~numbers[~number]

        self.form = renumbered(outcome.form, numbers.__getitem__)
        self.grads = [
            (renew(owner), None if grad is None else renew(grad)) for owner, grad in outcome.grads
        ]
        self.attachments = [
            (manager, numbers[trace.places[id(tensor)]], callbacks)
            for manager, tensor, callbacks in trace.attachments
        ]

    def _read_only(self, trace: Tracing, boxes: _Boxes) -> dict[int, int]:
        """The boxes, by identity, that are only read: any other of the same type would do."""
        concerned = {boxes.numbers[each] for each in (*trace.before, *trace.grads)}
        for each in self.managers:
            concerned.update(k for k, wanted in enumerate(each.wanted) if wanted is not None)
        return {
            id(box): number for number, box in enumerate(self.closed) if number not in concerned
        }

    def replaced(self, others: dict[int, Tensor]) -> list[Tensor] | None:
        """The boxes of the function, with `others` in place of some; None where that won't do."""
        closed = self.closed.copy()
        for key, tensor in others.items():
            if key in self.replaceable:
                closed[self.replaceable[key]] = tensor
            elif key in self._found:
                return None
        return closed

    @cached_property
    def run(self) -> Callable[..., Any]:
        """The replay: called with arguments, the boxes that are closed over or None, containers
        among the arguments, and whether the types of these are known to fit; the result, or STALE.
        """
        return replay_code(self)

    def typed(self, boxes: list[Tensor]) -> bool:
        """Whether the boxes have the types of then."""
        return [each._node.type.settled() for each in boxes] == self.types

    def attached(
        self, boxes: list[Tensor]
    ) -> dict[tuple[GradManager, Tensor], tuple[Callback, ...]]:
        """The callbacks that the boxes of attachments, in their order, will have."""
        made: dict[tuple[GradManager, Tensor], tuple[Callback, ...]] = {}
        for box, (manager, _, added) in zip(boxes, self.attachments, strict=True):
            before = made.get((manager, box)) or manager.callbacks_of(box) or ()
            made[manager, box] = (*before, *added)
        return made

    def difference(
        self, arguments: list[Tensor], closed: list[Tensor] | None, name: Callable[[Any], str]
    ) -> str:
        """In words, why this is stale; `name` says what tensors and managers are called."""
        boxes = (closed or self.closed) + arguments
        for owner, kind, number in self.looks:
            grad, mine = boxes[owner].grad, f"{name(boxes[owner])}.grad"
            if kind == ABSENT and grad is not None:
                return f"{mine} is there, and was None"
            if kind == SAME and grad is not boxes[number]:
                return f"{mine} is another tensor"
            if kind == OWN and not isinstance(grad, Tensor):
                return f"{mine} is {'None' if grad is None else type(grad).__name__}"
            if kind == OWN:
                boxes.append(grad)
        for box, old in zip(boxes, self.types, strict=True):
            new = box._node.type.settled()
            if new != old:
                return f"{name(box)} is {new}, not {old}"
        found = [each.difference(boxes, name) for each in self.managers]
        found += [each.difference() for each in self.numbers.actions if not each.check()]
        return next(filter(None, found), "tensors that were different are the same one")


def _leaf(kind: TensorType) -> Node:
    return node(sources.input_, (), (0, kind.dtype, kind.shape, kind.device))
