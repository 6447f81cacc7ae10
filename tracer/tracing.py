"""Traces: a whole function as one recording, with all that a replay must read, check and do.

While a function is traced nothing runs. Tensors from outside are told apart by their boxes, not by
their buffers, so that a replay can read what they hold then. What cannot be done again by a replay
abandons the trace: the recording becomes an ordinary one, and the function goes on as if it were
not traced.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from weakref import ref

from .action import Action, undo
from .buffer import Buffer
from .collection import without_collection
from .errors import BoundsError, users_frame
from .evaluation import evaluate
from .ir import Node, TensorType, node
from .ops import sources
from .outcome import Outcome
from .recording import THREAD, Recording
from .tensor import Tensor
from .value import leaf_of
from .watched import watched_grads

if TYPE_CHECKING:
    from .grad_manager import Callback, GradManager


@dataclass(eq=False, slots=True)
class Managed:
    """A manager from outside, and what was attached to it when the function began."""

    manager: GradManager
    version: int
    attached: dict[int, tuple[Callback, ...]]


class TraceRecording(Recording):
    """A recording whose leaves stand for boxes; without its trace it is an ordinary one."""

    __slots__ = ()

    def __init__(self, trace: Tracing, quiet: bool) -> None:
        super().__init__(THREAD.lock, quiet)
        self.trace = trace

    def node_of(self, tensor: Tensor) -> Node:
        """The node that stands for the present value of `tensor` in this recording."""
        if tensor._recording is self:
            return tensor._node
        trace = self.trace
        if trace is None:
            return super().node_of(tensor)
        buffer, kind = tensor.held()
        bound = self.snapshots.get(id(tensor))
        if bound is not None and bound[0] is buffer:
            return bound[1]
        slot = len(self.slots)
        self.slots.append(buffer)
        leaf = node(sources.input_, (), (slot, kind.dtype, kind.shape, kind.device))
        self.leaves[-1 - slot, kind] = leaf
        self.snapshots[id(tensor)] = (buffer, leaf, None)
        place = trace.place_of(tensor)
        if place is not None:
            trace.inputs[slot] = place
        return leaf


class Tracing:
    """What one call of a function did, seen from outside.

    `boxes` are the tensors from outside that it met, those of the arguments first; `types` are
    their types when it began and `inputs` says by slot which of them was read. `grads` are the
    gradients that they had, by place in `boxes`: of those in `asked` it was seen whether there was
    one, and `owners` says which boxes were the gradients of which. `before` is what re-bound boxes
    held.
    """

    def __init__(self, arguments: Sequence[Tensor], containers: Sequence[Any] = ()) -> None:
        self.containers = {id(each): place for place, each in enumerate(containers)}
        self.recording = TraceRecording(self, THREAD.quiet > 0)
        self.reason: str | None = None
        self.boxes: list[Tensor] = []
        self.types: list[TensorType] = []
        self.places: dict[int, int] = {}
        self.inputs: dict[int, int] = {}
        self.grads: dict[int, Any] = {}
        self.asked: set[int] = set()
        self.owners: dict[int, int] = {}
        self.same: list[tuple[int, int]] = []
        self.before: dict[int, tuple[Node, None, Buffer]] = {}
        self.actions: list[Action] = []
        self.managed_: dict[int, Managed] = {}
        self.attachments: list[tuple[GradManager, Tensor, list[Callback]]] = []
        self._created: dict[int, ref[Any]] = {}
        self._attached_inside: list[ref[Tensor]] = []
        self._locks: list[Any] = []
        for each in arguments:
            self.place_of(each)

    # ---- what the function does

    def abandon(self, reason: str) -> None:
        """Let the recording become an ordinary one, because of what the user's line does now."""
        if self.recording.trace is self:
            origin = users_frame()
            self.reason = f"{reason} (at {origin})" if origin else reason
            self.recording.trace = None
            self._release()

    def keep(self, *locks: Any) -> None:
        """Hold `locks` until the call has been recorded: what is read now is written only then."""
        for lock in locks:
            if lock not in self._locks:
                lock.acquire()
                self._locks.append(lock)

    def _release(self) -> None:
        """Let go of what `keep` holds, if this is the thread that traces."""
        for lock in [each for each in reversed(self._locks) if each._is_owned()]:
            self._locks.remove(lock)
            lock.release()

    def created(self, made: Any) -> None:
        """Note that a tensor with elements, or a manager, is made inside the function."""
        key, table = id(made), self._created
        table[key] = ref(made, lambda _: table.pop(key, None))

    def adopt(self, tensor: Tensor) -> None:
        """Note that `tensor`, which was made just now, stays: later calls find it."""
        self._created.pop(id(tensor), None)
        self.place_of(tensor)

    def place_of(self, tensor: Tensor) -> int | None:
        """The place of a tensor from outside in `boxes`; None for those made inside."""
        found = self.places.get(id(tensor))
        if found is None and tensor._recording is not self.recording:
            if id(tensor) in self._created:
                return None
            found = self.places[id(tensor)] = len(self.boxes)
            self.boxes.append(tensor)
            self.types.append(tensor._node.type)
        return found

    def changing(self, tensor: Tensor) -> None:
        """Note that `tensor` is about to be re-bound."""
        place = self.place_of(tensor)
        if place is not None and place not in self.before:
            buffer, kind = tensor.held()
            self.before[place] = (leaf_of(kind), None, buffer)

    def rebind(self, tensor: Tensor, other: Tensor) -> None:
        """Let `tensor` hold the present value of `other`, with its history."""
        self.changing(tensor)
        recording = self.recording
        made = recording.node_of(other)
        if tensor._recording is not recording:
            recording.pending.append(ref(tensor))
        _before = tensor._node, tensor._recording, tensor._buffer
        tensor._node, tensor._recording, tensor._buffer = made, recording, None

    def seen_from_outside(self, tensor: Any) -> tuple[Buffer, TensorType] | None:
        """What another thread sees in a tensor that the function has re-bound: what it held before.

        None for the thread that traces, and for tensors that are new.
        """
        place = self.places.get(id(tensor))
        before = None if place is None else self.before.get(place)
        if before is None or THREAD.recording is self.recording:
            return None
        return before[2], before[0].type

    def grad_read(self, tensor: Tensor, grad: Any) -> None:
        """Note that `tensor.grad` is looked at."""
        place = self.place_of(tensor)
        if place is None or place in self.grads:
            return
        self.grads[place] = grad
        self.asked.add(place)
        if isinstance(grad, Tensor):
            known = len(self.boxes)
            found = self.place_of(grad)
            if found == known:
                self.owners[found] = place
            elif found is not None:
                self.same.append((place, found))
        elif grad is not None:
            self.abandon("uses a gradient that is no tensor")

    def grad_written(self, tensor: Tensor, grad: Any) -> None:
        """Note that `tensor.grad` is set; `grad` is what it was."""
        place = self.place_of(tensor)
        if place is not None:
            self.grads.setdefault(place, grad)

    def managed(self, manager: GradManager) -> None:
        """Note that `manager` records, or that something is about to be attached to it."""
        if id(manager) not in self.managed_ and id(manager) not in self._created:
            tensors = manager.attached_tensors()
            attached = {id(each): manager.callbacks_of(each) or () for each in tensors}
            self.managed_[id(manager)] = Managed(manager, manager._version, attached)

    def attaching(
        self, manager: GradManager, tensors: list[Tensor], callbacks: list[Callback]
    ) -> None:
        """Note that `tensors` are about to be attached to `manager`."""
        self.managed(manager)
        if id(manager) in self.managed_:
            for each in tensors:
                if self.place_of(each) is None:
                    self._attached_inside.append(ref(each))
                else:
                    self.attachments.append((manager, each, callbacks))

    # ---- the call

    def run(self, function: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        """What the function gives; `end` or `finished` must follow."""
        THREAD.recording.closed = True
        THREAD.recording = self.recording
        try:
            with without_collection(), watched_grads:
                return function(*args, **kwargs)
        except BaseException:
            self.abandon("raises an exception")
            self.end()
            self._release()
            raise

    def end(self) -> None:
        """Leave the recording, unless a manager still records there."""
        self.recording.trace = None
        if THREAD.recording is self.recording and not self.recording.recording_managers():
            THREAD.renew()

    def finished(self, result: Any, known: Callable[[Any], bool]) -> Outcome | None:
        """Run what was recorded. None where this cannot be replayed, for the `reason` given.

        Where the program fails, everything is as it was before. `known` says of objects in the
        result whether they are the same at every call.
        """
        try:
            return self._finished(result, known)
        finally:
            self._release()

    def _finished(self, result: Any, known: Callable[[Any], bool]) -> Outcome | None:
        recording = self.recording
        if recording.trace is None or recording.recording_managers():
            self.reason = self.reason or "leaves a manager recording"
            self.end()
            return None
        recording.functions.clear()
        recording.snapshots.clear()
        found = Outcome(self, result, known)
        wanted = [*found.tensors, *self._rebound()]
        kept = self._kept(wanted)
        try:
            with recording.lock:
                evaluate(recording, recording.waiting_of((*wanted, *kept)))
        except BaseException as error:
            self.end()
            self._restore()
            if isinstance(error, BoundsError):
                error.undone = True
            raise
        if recording.entry is None:
            self.reason = self.reason or "computes no tensor"
        if any(each() is not None for each in self._attached_inside):
            self.reason = self.reason or "attaches what it returns"
        self.end()
        return None if self.reason else found

    def _rebound(self) -> list[Tensor]:
        return [self.boxes[place] for place in self.before]

    def _kept(self, wanted: list[Tensor]) -> list[Tensor]:
        """The tensors made inside that somebody holds, other than `wanted`; there must be none."""
        expected = {id(each) for each in wanted}
        if not self._held(expected):
            return []
        gc.collect()
        found = self._held(expected)
        if not found:
            return []
        origin = found[0]._node.origin if isinstance(found[0], Tensor) else None
        kept = "keeps what it makes" + (f" (first recorded at {origin})" if origin else "")
        self.reason = self.reason or kept
        return [each for each in found if isinstance(each, Tensor)]

    def _held(self, expected: set[int]) -> list[Any]:
        made = [each() for key, each in list(self._created.items()) if key not in expected]
        waiting = [each for each, _ in self.recording.live() if id(each) not in expected]
        return [*waiting, *(each for each in made if each is not None)]

    def _restore(self) -> None:
        for place, (made, home, buffer) in self.before.items():
            tensor = self.boxes[place]
            tensor._node, tensor._recording, tensor._buffer = made, home, buffer
        for place, grad in self.grads.items():
            self.boxes[place].grad = grad
        undo(self.actions)

    def forget(self) -> None:
        """Let go of all that only the trace needed, where nothing waits any more."""
        if self.recording.closed and not self.recording.live():
            self.recording.forget()
