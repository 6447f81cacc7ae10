"""GradManager: which tensors gradients are wanted for, and since when.

Recording and attaching wrap the present value of a tensor in an identity node `track`, so that only
what is computed from it afterwards counts. The backward adds the adjoint to the same graph;
managers that record below go through it like through anything else, and those above and beside see
its results as constants.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any
from weakref import ref

import numpy as np

from .accumulation import add
from .adjoint import adjoint
from .data import unmasked
from .errors import DTypeError, located
from .function import Calls
from .ir import InternTable, Node, node, topological
from .ops import markers
from .recording import STATISTICS, THREAD, Numbers, Recording, is_left_behind, stopped
from .seeds import seeds_of, targets_of
from .tensor import Tensor
from .unreached import AttachedRef, Waiting, waiting_now, warn_of_loss
from .value import waiting

Callback = Callable[[Tensor, Any], Any]


@dataclass(slots=True)
class _Attachment:
    """An attached tensor, weakly, and what is called with its gradient."""

    tensor: ref[Tensor]
    callbacks: list[Callback]


@dataclass(slots=True, eq=False)
class _Session:
    """One recording of one manager: its number, its peers, and the snapshots by tensor."""

    recording: Recording
    number: int
    before: Waiting
    tracked: dict[int, tuple[Tensor, Node]] = field(default_factory=dict)
    peers: tuple[GradManager, ...] = ()


class GradManager:
    """Records what is computed from attached tensors, and gives them their gradients.

    ::

        gm = GradManager().attach(parameters)
        with gm:
            loss = network(data)
            gm.backward(loss)       # adds to the `.grad` of each parameter
    """

    def __init__(self) -> None:
        self._attached: dict[int, _Attachment] = {}
        self._version = 0  # counts what was attached
        self._session: _Session | None = None
        self._busy = False
        self._warned = False
        trace = THREAD.recording.trace
        if trace is not None:
            trace.created(self)

    def __getstate__(self) -> tuple[dict[str, Any], list[tuple[Tensor, list[Callback]]]]:
        """What is attached: a copy attaches the same tensors or, copied with them, their copies."""
        if self._session is not None:
            found = "a GradManager that records cannot be copied or pickled"
            raise RuntimeError(located(f"{found}: call backward or release before"))
        others = {name: value for name, value in vars(self).items() if name not in _OWN}
        attached = [(each.tensor(), each.callbacks) for each in list(self._attached.values())]
        return others, [(tensor, each) for tensor, each in attached if tensor is not None]

    def __setstate__(self, state: tuple[dict[str, Any], list[tuple[Tensor, Any]]]) -> None:
        GradManager.__init__(self)
        others, attached = state
        vars(self).update(others)
        for tensor, callbacks in attached:
            self.attach(tensor, callbacks)

    # ---- attaching

    def attach(
        self,
        tensors: Tensor | Iterable[Tensor],
        callbacks: Callback | Iterable[Callback] | None = None,
        *,
        callback: Callback | Iterable[Callback] | None = None,
    ) -> GradManager:
        """Want gradients for `tensors`, from now on where this manager records already.

        Each callback is called as `callback(tensor, gradient)` and returns what the next one gets,
        in the end what is added to `tensor.grad`; None adds nothing. Tensors are held weakly. A
        list with an item that cannot be attached attaches none.
        """
        if self._busy and self._session is not None:
            raise RuntimeError(located("attach: called from a callback of this manager's backward"))
        if callbacks is not None and callback is not None:
            raise TypeError(located("attach: `callback` and `callbacks` are one argument"))
        added = _listed_callbacks(callbacks if callback is None else callback)
        listed = [tensors] if isinstance(tensors, Tensor) else _listed(tensors)
        for each in listed:
            _check_attachable(each)
        trace = THREAD.recording.trace
        if trace is not None:
            trace.attaching(self, listed, added)
        for each in listed:
            self._attach(each, added)
        return self

    def _attach(self, tensor: Tensor, callbacks: list[Callback]) -> None:
        self._version += 1
        table, key = self._attached, id(tensor)
        found = table.get(key)
        if found is None:
            watched = AttachedRef(tensor, lambda _: table.pop(key, None))
            table[key] = _Attachment(watched, list(callbacks))
            if self._session is not None:
                _track(self._session, tensor)
        else:
            found.callbacks.extend(callbacks)

    def attach_with(self, tensor: Tensor, callbacks: Iterable[Callback]) -> None:
        """Attach `tensor` if it is not, with these callbacks and no others; so twice is as once."""
        found = self._attached.get(id(tensor))
        if found is None:
            self._attach(tensor, list(callbacks))
        else:
            found.callbacks[:] = callbacks
            self._version += 1

    def attached_tensors(self) -> list[Tensor]:
        """The attached tensors that still exist, in the order in which they were attached."""
        attached = list(self._attached.values())
        return [found for each in attached if (found := each.tensor()) is not None]

    def callbacks_of(self, tensor: Tensor) -> tuple[Callback, ...] | None:
        """What is called with the gradient of `tensor`; None where it is not attached."""
        found = self._attached.get(id(tensor))
        return None if found is None else tuple(found.callbacks)

    # ---- recording

    def record(self) -> None:
        """Begin to record: what is computed from the attached tensors' present values counts."""
        if self._session is not None:
            if not is_left_behind(self._session.recording):
                raise RuntimeError(located("record: this manager is already recording"))
            self._leave(self._session)
        recording = THREAD.recording
        if recording.trace is not None:
            recording.trace.managed(self)
        session = _Session(recording, recording.ordinal(), waiting_now(recording))
        self._busy = False
        try:
            recording.managers.append(ref(self))
            self._session = session
            for tensor in self.attached_tensors():
                _track(session, tensor)
        except BaseException:  # a value that fails when it is computed
            self._leave(session)
            raise

    def release(self) -> None:
        """Stop recording and forget what was recorded; does nothing where nothing is recorded."""
        session = self._session
        if session is None:
            return
        self._leave(session)
        recording = session.recording
        if recording is THREAD.recording and not recording.recording_managers():
            THREAD.renew()

    def _leave(self, session: _Session) -> None:
        recording = session.recording
        recording.managers = [each for each in recording.managers if each() is not self]
        if recording.managers and recording.recording_managers():
            for tensor, tracked in session.tracked.values():
                _untrack(recording, tensor, tracked)
        session.tracked.clear()
        self._session = None

    def __enter__(self) -> GradManager:
        try:
            self.record()
            return self
        except KeyboardInterrupt:
            self.release()
            raise

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.release()

    def __or__(self, other: Any) -> GradManagerGroup:
        if not isinstance(other, (GradManager, GradManagerGroup)):
            return NotImplemented
        return GradManagerGroup([self]) | other

    # ---- backward

    def backward(self, y: Any = None, dy: Any = None) -> None:
        """Add the gradients of `y`, weighted by `dy`, to the `.grad` of the attached tensors.

        `y` is a tensor, or a list or tuple of them; a target that is listed twice counts twice.
        `dy` has a tensor, array or number for each, which broadcasts to its shape (None: ones).
        Tensors that were not reached keep their `.grad`. Nothing is written when anything fails; in
        any case this manager does not record afterwards.
        """
        session = self._session
        if session is None:
            raise RuntimeError(located("backward: this manager is not recording, or no longer"))
        if self._busy:
            raise RuntimeError(located("backward: called from a callback of this backward"))
        try:
            self._busy = True
            results = self._gradients(session, y, dy)
            self._leave(session)
            add(session.recording, results)
        finally:
            self._busy = False
            self.release()

    def _gradients(self, session: _Session, y: Any, dy: Any) -> list[tuple[Tensor, Any]]:
        """Each attached tensor that was reached, and what its callbacks made of its gradient."""
        recording = session.recording
        if recording is not THREAD.recording:
            raise RuntimeError(located("backward: this manager began to record in another thread"))
        targets = targets_of(y)
        seeds = seeds_of(targets, dy)
        recording = THREAD.recording
        nodes = tuple(recording.node_of(each) for each in targets)
        tracked = {made: tensor for tensor, made in session.tracked.values()}
        found = cotangents(session, nodes, seeds, tuple(tracked), self._hidden(session))
        if not found and tracked and not self._warned:
            self._warned = warn_of_loss(targets, tracked, session.before)
        results = [(tracked[made], waiting(g, recording)) for made, g in found]
        called = [(tensor, self._called_back(tensor, result)) for tensor, result in results]
        return [(tensor, _resolved(result)) for tensor, result in called]

    def _hidden(self, session: _Session) -> tuple[int, ...]:
        """The numbers of those who must not see this backward: managers above, and peers."""
        if len(session.recording.managers) == 1:
            return ()
        managers = session.recording.recording_managers()
        above = managers[managers.index(self) + 1 :]
        blind = [*above, *(each for each in session.peers if each in managers)]
        numbers = {each._session.number for each in blind if each._session is not None}
        return tuple(sorted(numbers))

    def _called_back(self, tensor: Tensor, result: Any) -> Any:
        attachment = self._attached.get(id(tensor))
        for each in list(attachment.callbacks) if attachment else ():
            result = _checked(tensor, each(tensor, result), result)
        return result


_OWN = frozenset(vars(GradManager()))
"""The attributes that every manager has, and a copy has of its own."""


class GradManagerGroup:
    """Managers that record together as peers: none sees the backward of another."""

    def __init__(self, members: list[GradManager]) -> None:
        self._members = members

    def __or__(self, other: Any) -> GradManagerGroup:
        if isinstance(other, GradManager):
            return GradManagerGroup([*self._members, other])
        if isinstance(other, GradManagerGroup):
            return GradManagerGroup([*self._members, *other._members])
        return NotImplemented

    def __enter__(self) -> None:
        if len({id(each) for each in self._members}) < len(self._members):
            raise RuntimeError(located("expected different managers in a group, found one twice"))
        entered: list[GradManager] = []
        try:
            for each in self._members:
                each.record()
                entered.append(each)
            for each in self._members:
                assert each._session is not None
                each._session.peers = tuple(peer for peer in self._members if peer is not each)
        except BaseException:
            for each in reversed(entered):
                each.release()
            raise

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        for each in reversed(self._members):
            each.release()


ADJOINTS = InternTable(500_000, lambda found: 250 + found[1])
"""The cotangents, and about how many nodes they are made of."""

GROWTH = 3
"""An adjoint and what it goes back through are about so many times the nodes of the latter."""


def cotangents(
    session: _Session,
    targets: tuple[Node, ...],
    seeds: tuple[Node, ...],
    tracked: tuple[Node, ...],
    hidden: tuple[int, ...],
) -> tuple[tuple[Node, Node], ...]:
    """Pairs of tracked nodes and their cotangents; found by identity where they were asked before.

    Functions run Python code in their backward, so a graph with some is gone through every time.
    """
    recording = session.recording
    key = (targets, seeds, tracked, hidden, session.number, recording.quiet)
    found: tuple[tuple[tuple[Node, Node], ...], int] | None = ADJOINTS.get(key)
    if found is not None:
        return found[0]
    STATISTICS.adjoints += 1
    calls = Calls(recording)
    order = topological(targets)
    grads = adjoint(targets, seeds, tracked, session.number, calls, order)
    marked = tuple((each, _marked(g, hidden, recording)) for each, g in grads.items())
    if not calls.called:
        ADJOINTS.put(key, (marked, GROWTH * len(order)))
    return marked


def _marked(g: Node, hidden: tuple[int, ...], recording: Recording) -> Node:
    if recording.quiet:
        return stopped(g)
    return node(markers.opaque, (g,), (hidden,)) if hidden else g


def _track(session: _Session, tensor: Tensor) -> None:
    recording = session.recording
    made = node(markers.track, (recording.node_of(tensor),), (recording.ordinal(),))
    recording.bind(tensor, made)
    session.tracked[id(tensor)] = (tensor, made)


def _untrack(recording: Recording, tensor: Tensor, tracked: Node) -> None:
    """Let `tensor` stand for what it was a snapshot of, where it still does."""
    bound = recording.snapshots.get(id(tensor))
    if tensor._recording is recording:
        present = tensor._node
    elif bound is not None and bound[0] is tensor._buffer:
        present = bound[1]
    else:
        return
    if present is tracked:
        recording.bind(tensor, tracked.inputs[0])


def _resolved(result: Any) -> Any:
    """The result of a callback; a future (as all-reduce gives) is waited for."""
    get = None if isinstance(result, Tensor) else getattr(result, "get", None)
    if not callable(get):
        return result
    trace = THREAD.recording.trace
    if trace is not None:
        trace.abandon("waits for the result of a callback")
    return get()


def _checked(tensor: Tensor, result: Any, before: Any) -> Any:
    """What a callback has made of `before`, where that can be a gradient of `tensor`.

    What has another shape is not taken: a warning, and the gradient stays what it was.
    """
    if result is None or isinstance(result, Numbers) or not hasattr(result, "shape"):
        return _future(result)
    if isinstance(result, np.ndarray):
        result = unmasked(result)
    if tuple(result.shape) != tensor.shape:
        expected = "backward: a callback gave a gradient of another shape, which is not taken"
        found = f"expected {list(tensor.shape)}, found {list(result.shape)}"
        warnings.warn(located(f"{expected}: {found}"), stacklevel=6)
        return before
    kind = result._node.dtype.kind if isinstance(result, Tensor) else np.dtype(result.dtype).kind
    if kind != "f":
        found = f"found {result.dtype} from a callback"
        raise DTypeError(located(f"backward: expected a gradient of floats, {found}"))
    return result


def _future(result: Any) -> Any:
    """What a callback gave, unless it is nothing that can be added to a gradient."""
    future = not isinstance(result, dict) and callable(getattr(result, "get", None))
    if result is None or isinstance(result, Numbers) or future:
        return result
    expected = "backward: expected a tensor, a number or None from a callback"
    raise TypeError(located(f"{expected}, found {result!r:.60}"))


def _listed(tensors: Any) -> list[Any]:
    try:
        return list(tensors)
    except TypeError:
        expected = "attach: expected a Tensor or several of them"
        raise TypeError(located(f"{expected}, found {tensors!r:.60}")) from None


def _listed_callbacks(given: Any) -> list[Callback]:
    if given is None:
        return []
    if callable(given):
        return [given]
    try:
        return list(given)
    except TypeError:
        found = f"expected callables as callbacks, found {given!r}"
        raise TypeError(located(f"attach: {found}")) from None


def _check_attachable(tensor: Any) -> None:
    if not isinstance(tensor, Tensor):
        raise DTypeError(located(f"attach: expected a Tensor, found {tensor!r}"))
    if not tensor._node.dtype.is_float:
        expected = "attach: expected float16, bfloat16, float32 or float64"
        raise DTypeError(located(f"{expected}, found {tensor._node.type}"))
