"""Replays: what a traced function did, done again by one program and without the function.

All is laid out beforehand: which boxes are read, what must still be as it was, and where results
go. Nothing is written before the program has run.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from .action import Action, undo
from .buffer import Buffer
from .errors import BoundsError
from .evaluation import Entry
from .ir import Node, TensorType, node
from .ops import sources
from .outcome import Outcome
from .structure import renumbered, unpacked
from .tensor import Tensor
from .tracing import Managed, Tracing
from .value import concrete

if TYPE_CHECKING:
    from .grad_manager import Callback, GradManager

STALE = object()
"""What a replay gives where something is not as it was: nothing was done."""

ABSENT, OWN, SAME = range(3)


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
    """The run-time numbers: those that stay, and those that actions give."""

    def __init__(self, trace: Tracing, entry: Entry) -> None:
        self._floats = [trace.recording.floats[k] for k in entry.floats]
        self._ints = [trace.recording.ints[k] for k in entry.ints]
        self._actions = trace.actions
        self.checked = [each for each in trace.actions if type(each).check is not Action.check]
        self.checks = [each.check for each in self.checked]
        self._steps = [
            (each.act, _targets(each, "f", entry.floats), _targets(each, "i", entry.ints))
            for each in trace.actions
        ]

    def __call__(self) -> tuple[list[float], list[int]]:
        """All numbers of a call, after everything that is done beside computing."""
        if not self._steps:
            return self._floats, self._ints
        floats, ints = self._floats.copy(), self._ints.copy()
        for act, of_floats, of_ints in self._steps:
            made = act()
            for place, k in of_floats:
                floats[place] = made[k]
            for place, k in of_ints:
                ints[place] = made[k]  # type: ignore[call-overload]
        return floats, ints

    def begin(self) -> None:
        """Nothing is done yet that could be undone."""
        for each in self._actions:
            each.acted = False

    def undo(self) -> None:
        """Take back what was done."""
        undo(self._actions)


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
        self._closed = boxes.closed
        self._types = boxes.types
        self._alone = len(boxes.types) == arguments
        self._looks = boxes.looks
        self._varying = len(boxes.types) - len(boxes.closed)
        self._read = [boxes.of_slot(each) for each in slots]
        self._inputs = len(entry.inputs)
        self._program = entry.run
        self._numbers = _Numbers(trace, entry)
        self._managers = [_Manager(each, boxes) for each in trace.managed_.values()]
        self._lay_out(outcome, boxes, [k if k >= 0 else ~slots.index(~k) for k in entry.places])
        owned = {boxes.numbers[each] for each in trace.owners}
        self.adds = any(grad is not None for _, grad in self._grads)
        self.adds |= any(number in owned for number, _, _ in self._writes)
        self.stateful = bool(self._writes or self._grads or trace.actions or trace.attachments)
        self._found = {id(each) for each in self._closed}
        self.replaceable = self._read_only(trace, boxes)

    def _lay_out(self, outcome: Outcome, boxes: _Boxes, places: list[int]) -> None:
        """Say where the results go; buffers that were read follow those that the program makes."""
        trace = outcome.trace
        made = len(trace.recording.results)
        values = [k if k >= 0 else made + ~k for k in places]
        numbers = boxes.numbers
        fresh = len(outcome.tensors)
        self._fresh = [
            (type(each), _leaf(each._node.type), value, each.name)
            for each, value in zip(outcome.tensors, values[:fresh], strict=True)
        ]
        self._writes = [
            (numbers[place], _leaf(trace.boxes[place]._node.type), value)
            for place, value in zip(trace.before, values[fresh:], strict=True)
        ]

        def renew(number: int) -> int:
            return number if number >= 0 else ~numbers[~number]

        self._form = renumbered(outcome.form, numbers.__getitem__)
        self._grads = [
            (renew(owner), None if grad is None else renew(grad)) for owner, grad in outcome.grads
        ]
        self._attachments = [
            (manager, numbers[trace.places[id(tensor)]], callbacks)
            for manager, tensor, callbacks in trace.attachments
        ]

    def _read_only(self, trace: Tracing, boxes: _Boxes) -> dict[int, int]:
        """The boxes, by identity, that are only read: any other of the same type would do."""
        concerned = {boxes.numbers[each] for each in (*trace.before, *trace.grads)}
        for each in self._managers:
            concerned.update(k for k, wanted in enumerate(each.wanted) if wanted is not None)
        return {
            id(box): number for number, box in enumerate(self._closed) if number not in concerned
        }

    def replaced(self, others: dict[int, Tensor]) -> list[Tensor] | None:
        """The boxes of the function, with `others` in place of some; None where that won't do."""
        closed = self._closed.copy()
        for key, tensor in others.items():
            if key in self.replaceable:
                closed[self.replaceable[key]] = tensor
            elif key in self._found:
                return None
        return closed

    def __call__(
        self,
        arguments: list[Tensor],
        closed: list[Tensor] | None = None,
        containers: Sequence[Any] = (),
        typed: bool = False,
    ) -> Any:
        """The result, or STALE.

        `containers` are those among the arguments; `typed` says that the types of these are known
        to fit.
        """
        boxes = (closed or self._closed) + arguments
        if self._looks and not self._looked_up(boxes):
            return STALE
        if not (typed and self._alone) and not self._typed(boxes):
            return STALE
        if not self._fits(boxes, closed):
            return STALE
        buffers = [boxes[k]._buffer or boxes[k].settled() for k in self._read]
        try:
            fresh = self._done(boxes, buffers) if self.stateful else self._computed(buffers)
        except BoundsError as error:
            error.undone = True
            raise
        return fresh[0] if self._form == 0 else unpacked(self._form, fresh, boxes, containers, [])

    def _computed(self, buffers: list[Buffer]) -> list[Tensor]:
        """The new tensors of a replay that does nothing beside computing them."""
        return self._fresh_of(self._run(buffers, *self._numbers()))

    def _done(self, boxes: list[Tensor], buffers: list[Buffer]) -> list[Tensor]:
        """The new tensors, after everything was done and written, or nothing."""
        commit = None
        self._numbers.begin()
        try:
            buffers = self._run(buffers, *self._numbers())
            commit = _Commit(self, boxes, buffers)
            commit.write()
        except BaseException:
            if commit is not None:
                commit.write()  # an interrupt in between comes when all is written
            else:
                self._numbers.undo()
            raise
        return commit.fresh

    def _run(self, buffers: list[Buffer], floats: list[float], ints: list[int]) -> list[Buffer]:
        """What the program makes, followed by what it may read."""
        if self._program is None:
            return buffers
        inputs = buffers if len(buffers) == self._inputs else buffers[: self._inputs]
        return self._program(inputs, floats, ints) + buffers

    def _fresh_of(self, values: list[Buffer]) -> list[Tensor]:
        """The new tensors around their buffers."""
        made = []
        for cls, leaf, value, name in self._fresh:
            tensor = cls.__new__(cls)
            tensor._node, tensor._recording, tensor._buffer = leaf, None, values[value]
            if name:
                tensor.name = name
            made.append(tensor)
        return made

    def _looked_up(self, boxes: list[Tensor]) -> bool:
        """Append the gradients that are read to `boxes`; False where they are not as they were."""
        for owner, kind, number in self._looks:
            grad = boxes[owner].grad
            if kind == ABSENT:
                if grad is not None:
                    return False
            elif kind == SAME:
                if grad is not boxes[number]:
                    return False
            elif isinstance(grad, Tensor):
                boxes.append(grad)
            else:
                return False
        return True

    def _typed(self, boxes: list[Tensor]) -> bool:
        if [each._node.type for each in boxes] == self._types:
            return True
        return [each._node.type.settled() for each in boxes] == self._types

    def _fits(self, boxes: list[Tensor], closed: list[Tensor] | None) -> bool:
        if (self._varying or closed) and len({*boxes}) != len(boxes):  # tensors hash by identity
            return False
        for manager in self._managers:
            if not manager.fits(boxes, closed is not None):
                return False
        for check in self._numbers.checks:  # noqa: SIM110  # all(...) is slower
            if not check():
                return False
        return True

    def difference(
        self, arguments: list[Tensor], closed: list[Tensor] | None, name: Callable[[Any], str]
    ) -> str:
        """In words, why this is stale; `name` says what tensors and managers are called."""
        boxes = (closed or self._closed) + arguments
        for owner, kind, number in self._looks:
            grad, mine = boxes[owner].grad, f"{name(boxes[owner])}.grad"
            if kind == ABSENT and grad is not None:
                return f"{mine} is there, and was None"
            if kind == SAME and grad is not boxes[number]:
                return f"{mine} is another tensor"
            if kind == OWN and not isinstance(grad, Tensor):
                return f"{mine} is {'None' if grad is None else type(grad).__name__}"
            if kind == OWN:
                boxes.append(grad)
        for box, old in zip(boxes, self._types, strict=True):
            new = box._node.type.settled()
            if new != old:
                return f"{name(box)} is {new}, not {old}"
        found = [each.difference(boxes, name) for each in self._managers]
        found += [each.difference() for each in self._numbers.checked if not each.check()]
        return next(filter(None, found), "tensors that were different are the same one")


class _Commit:
    """What a replay leaves behind, `fresh` tensors among it; `write` may be done twice."""

    def __init__(self, replay: Replay, boxes: list[Tensor], values: list[Buffer]) -> None:
        fresh = self.fresh = replay._fresh_of(values)
        self._writes = [(boxes[k], leaf, values[value]) for k, leaf, value in replay._writes]
        self._grads = [
            (
                fresh[owner] if owner >= 0 else boxes[~owner],
                None if grad is None else fresh[grad] if grad >= 0 else boxes[~grad],
            )
            for owner, grad in replay._grads
        ]
        self._callbacks: dict[tuple[GradManager, Tensor], tuple[Callback, ...]] = {}
        for manager, number, added in replay._attachments:
            box = boxes[number]
            before = self._callbacks.get((manager, box)) or manager.callbacks_of(box) or ()
            self._callbacks[manager, box] = (*before, *added)

    def write(self) -> None:
        """Write what is changed, gradients among it, and attach what is attached."""
        for box, leaf, buffer in self._writes:
            box._node, box._recording, box._buffer = leaf, None, buffer
        for holder, grad in self._grads:
            holder.grad = grad
        for (manager, box), callbacks in self._callbacks.items():
            manager.attach_with(box, callbacks)


def _leaf(kind: TensorType) -> Node:
    return node(sources.input_, (), (0, kind.dtype, kind.shape, kind.device))
