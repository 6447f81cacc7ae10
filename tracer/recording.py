"""What a thread records: outside buffers and numbers in slots, and the tensors that still wait.

Leaves are numbered slots, not arrays: the second iteration of a loop numbers its buffers as the
first did, and so meets the very same interned nodes. Recording an operator is then one look-up in
the memo, and whatever was derived from the nodes is found by their identity.
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from . import dtypes
from .buffer import Buffer
from .dtypes import DType, bool_, default_float, default_int, int64
from .errors import DTypeError, Place, located, users_place
from .ir import Check, InternTable, Node, TensorType, node, with_checks
from .locks import new_lock, repaired_in_children
from .ops import markers, sources
from .weak import fits, require_fit

if TYPE_CHECKING:
    from weakref import ref

    from .action import Action
    from .evaluation import Entry
    from .ledger import Written
    from .tensor import Tensor
    from .tracing import Tracing


@dataclass
class Statistics:
    """How often something was done since the process began; repeats add to few of them."""

    recorded: int = 0
    """Operators that no recording had met before."""
    adjoints: int = 0
    """Graphs that were differentiated."""
    evaluations: int = 0
    """Programs that were run."""
    identity_hits: int = 0
    """Evaluations whose program was found by the identity of its outputs."""
    digest_hits: int = 0
    """Evaluations whose program was found by the text of its graph."""
    superset_hits: int = 0
    """Evaluations that use a program which computes more than was asked for."""
    prepared: int = 0
    """Graphs that were handed to the evaluator."""

    def reset(self) -> None:
        """Count from zero again."""
        for each in fields(self):
            setattr(self, each.name, 0)


STATISTICS = Statistics()

MEMO = InternTable(100_000)
"""The nodes that an operator or a composed function gave for nodes and static arguments."""

QUIET_MEMO = InternTable(100_000)
"""The same under `no_grad`, where results depend on nothing."""

LIMIT = 1024
"""So many operators wait at most where no manager records."""

BAKED = (-1, 0, 0.5, 1, 2)
"""Numbers that become part of the program; all others are read when it runs."""

Numbers = (bool, int, float, np.generic)


Places = dict[Node, tuple[str, Place | None]]

_serials = itertools.count()


class Fallible(NamedTuple):
    """What a function of nodes gave, and the checks among it, in a memo.

    Programs find what fails long after it was recorded, and nodes know only who first made an equal
    one. So the present line is noted where something with checks is recorded, and only there.
    """

    made: Any
    checks: list[Check]


class Recording:
    """What one thread has recorded and not yet forgotten.

    `slots` are the outside buffers and `floats` and `ints` the numbers, in the order of their first
    use; `pending` are weak references to the tensors made here; `results` is what evaluations gave
    and `entry` the last of them. `managers` are weak references to the managers that record, in the
    order in which they began; `ledger` is what their backwards have written and what is not yet
    computed; `places` say where nodes that may fail were asked for, and by which function. `trace`
    is there while a whole function is recorded, to be replayed. All recordings of a thread have
    one `lock`, which whoever runs one of them holds: any thread, where it reads what waits there.
    """

    __slots__ = (
        *("closed", "entries", "entry", "failed", "floats", "functions", "ints", "known", "leaves"),
        *(
            "ledger",
            "limit",
            "lock",
            "managers",
            "memo",
            "number_slots",
            "numbers",
            "ordinals",
            "pending",
            "quiet",
        ),
        *("places", "rebound", "results", "serial", "slots", "snapshots", "trace"),
    )

    def __init__(self, lock: Any, quiet: bool = False) -> None:
        self.serial = next(_serials)
        self.lock = lock
        self.trace: Tracing | None = None
        self.quiet = quiet
        self.memo = QUIET_MEMO if quiet else MEMO
        self.slots: list[Buffer] = []
        self.leaves: dict[tuple[int, TensorType], Node] = {}
        self.snapshots: dict[int, tuple[Buffer, Node, Tensor | None]] = {}
        self.numbers: dict[Any, Node] = {}
        self.number_slots: dict[Any, int] = {}
        self.floats: list[float] = []
        self.ints: list[int] = []
        self.pending: list[ref[Tensor]] = []
        self.rebound = 0
        self.limit = LIMIT
        self.results: list[Buffer] = []
        self.entry: Entry | None = None
        self.entries: list[Entry] = []
        self.known: dict[Node, int] = {}
        self.managers: list[ref[Any]] = []
        self.functions: list[Any] = []
        self.ledger: list[list[Written]] = []
        self.places: Places = {}
        self.ordinals = 0
        self.closed = False
        self.failed = False

    # ---- leaves

    def node_of(self, tensor: Tensor) -> Node:
        """The node that stands for the present value of `tensor` in this recording."""
        if tensor._recording is self:
            return tensor._node
        made, buffer = tensor._node, tensor._buffer
        kind = made.type
        if buffer is None:
            buffer, kind = tensor.held()
        bound = self.snapshots.get(id(tensor))
        if bound is not None and bound[0] is buffer:
            return bound[1]
        leaf = self.leaf(buffer, kind)
        self.snapshots[id(tensor)] = (buffer, leaf, None)
        return leaf

    def leaf(self, buffer: Buffer, kind: TensorType) -> Node:
        """The leaf that stands for `buffer`."""
        key = (id(buffer), kind)
        found = self.leaves.get(key)
        if found is None:
            slot = len(self.slots)
            self.slots.append(buffer)
            found = node(sources.input_, (), (slot, kind.dtype, kind.shape, kind.device))
            self.leaves[key] = found
        return found

    def bind(self, tensor: Tensor, made: Node) -> None:
        """Let `made`, an identity of what `node_of` gave for `tensor`, stand for it from now on."""
        if tensor._recording is self:
            tensor._node = made
        elif (bound := self.snapshots.get(id(tensor))) is not None:
            held = tensor if made.op.kind == "marker" else None
            self.snapshots[id(tensor)] = (bound[0], made, held)

    def array(self, array: np.ndarray[Any, Any], dtype: DType) -> Node:
        """A leaf with a copy of `array`."""
        stored = np.ascontiguousarray(array, dtype.storage).reshape(array.shape)
        return self.leaf(Buffer.copied(stored), TensorType(dtype, array.shape, "cpu"))

    # ---- numbers

    def number(self, value: Any, dtype: DType) -> Node:
        """The leaf of a weak number beside tensors of `dtype`: a slot, or a constant."""
        key = (value.__class__, value, dtype)
        found = self.numbers.get(key)
        if found is None:
            plain = value.item() if isinstance(value, np.generic) else value
            found = self._number(plain, weak_dtype(plain, dtype))
            if plain != 0:  # 0.0 and -0.0 are equal keys
                self.numbers[key] = found
        return found

    def _number(self, value: Any, dtype: DType) -> Node:
        negative_zero = value == 0 and str(value).startswith("-")
        if isinstance(value, int) and not dtype.is_float:
            require_fit(value, dtype)
        if value in BAKED and not negative_zero:
            return sources.constant_of(value, dtype)
        if isinstance(value, int) and dtype.is_float and not fits(value, int64):
            value = float(value)
        if isinstance(value, float):
            return self._slotted(value, "f", self.floats, dtype)
        return self._slotted(value, "i", self.ints, dtype)

    def _slotted(self, value: Any, source: str, values: list[Any], dtype: DType) -> Node:
        key = (source, value if value == value and value != 0 else str(value))
        slot = self.number_slots.get(key)
        if slot is None:
            self.number_slots[key] = slot = len(values)
            values.append(value)
        return node(sources.scalar, (), (slot, source, dtype))

    def own_number(self, value: float, dtype: DType, source: Action | None = None) -> Node:
        """A slot for `value` alone, for what may change apart from numbers that equal it now.

        `source` (see `action`) gives the number anew when a traced function is replayed; without
        one it stays what it is.
        """
        if source is not None:
            source.slots.append(("f", len(self.floats)))
        self.floats.append(value)
        return node(sources.scalar, (), (len(self.floats) - 1, "f", dtype))

    def own_integer(self, value: int, source: Action | None = None) -> Node:
        """A slot (int64) for `value` alone; see own_number."""
        if source is not None:
            source.slots.append(("i", len(self.ints)))
        self.ints.append(value)
        return node(sources.scalar, (), (len(self.ints) - 1, "i", int64))

    def action(self, action: Action) -> Action | None:
        """Say what is done now beside recording; a replay of a traced function does it again.

        It is undone where the program of the function fails. None where nothing is traced.
        """
        trace = self.trace
        if trace is None:
            return None
        trace.actions.append(action)
        return action

    # ---- what was recorded before

    def first(self, key: Any, function: Callable[..., Any], arguments: Any) -> Any:
        """The result under `key`, which the young generation of the memo lacks."""
        made = self.memo.get(key)
        if made is None:
            made, checks = with_checks(function, arguments)
            if self.quiet:
                made = tuple(map(stopped, made)) if isinstance(made, tuple) else stopped(made)
            made = self.memo.put(key, Fallible(made, checks) if checks else made)
            STATISTICS.recorded += 1
        return made

    def met(self, result: Fallible) -> Any:
        """What was made, noting the line of the user at which its checks are asked for now."""
        place = users_place()
        for each in result.checks:
            self.places.setdefault(each.node, (each.label, place))
        return result.made

    # ---- life

    def ordinal(self) -> int:
        """A number that no snapshot, session or function call of this recording has yet."""
        self.ordinals += 1
        return self.ordinals - 1

    def recording_managers(self) -> list[Any]:
        """The managers that record here, in the order in which they began."""
        if not self.managers:
            return []
        alive = [each() for each in self.managers]
        if None in alive:
            self.managers = [each for each in self.managers if each() is not None]
        return [each for each in alive if each is not None]

    def live(self) -> list[tuple[Tensor, Node]]:
        """The tensors that wait here and that somebody still holds, with the nodes of them."""
        return self.waiting_of(found for each in self.pending if (found := each()) is not None)

    def waiting_of(self, tensors: Iterable[Tensor]) -> list[tuple[Tensor, Node]]:
        """Those of `tensors` that wait here, with the nodes of them."""
        found = []
        for tensor in tensors:
            made, home, buffer = tensor._node, tensor._recording, tensor._buffer
            if buffer is None and home is self:
                found.append((tensor, made))
        return found

    def forget(self) -> None:
        """Drop everything: no tensor waits here any more."""
        self.slots, self.pending, self.results = [], [], []
        self.entries, self.functions, self.ledger = [], [], []
        self.leaves, self.snapshots, self.known = {}, {}, {}
        self.numbers, self.number_slots, self.places = {}, {}, {}


def stopped(x: Node) -> Node:
    """`x`, as a value that depends on nothing."""
    return node(markers.stop, (x,)) if x.dtype.is_float and x.op is not markers.stop else x


def weak_dtype(value: Any, dtype: DType) -> DType:
    """The type that a Python number takes beside tensors of `dtype`."""
    if isinstance(value, bool):
        return dtype
    if isinstance(value, int):
        return default_int() if dtype is bool_ else dtype
    if isinstance(value, float):
        return dtype if dtype.is_float else default_float()
    raise DTypeError(located(f"expected a real number, found {value!r}"))


class _Thread(threading.local):
    """The recording of a thread, and whether it is under `no_grad`."""

    def __init__(self) -> None:
        self.quiet = 0
        self.lock = new_lock()
        self.recording = Recording(self.lock)

    def renew(self) -> None:
        """Begin a fresh recording; tensors that wait stay with the old one. Not within a trace."""
        if self.recording.trace is not None:
            return
        self.recording.closed = True
        self.recording = Recording(self.lock, self.quiet > 0)


THREAD = _Thread()


class _Fork:
    """What the last fork that led to this process found."""

    serial = 0
    recording: Recording | None = None


@repaired_in_children
def _leave_others_behind() -> None:
    _Fork.serial, _Fork.recording = next(_serials), THREAD.recording


def is_left_behind(recording: Recording) -> bool:
    """Whether the thread that recorded stayed in the parent of a fork, and will not go on."""
    return recording.serial < _Fork.serial and recording is not _Fork.recording


def takes(data: Any) -> None:
    """Note that `data` of the host is used now; a replay would not see an array change."""
    trace = THREAD.recording.trace
    if trace is not None and not _made_of_numbers(data):
        trace.abandon("uses an array: make it a tensor before the call, or an argument")


def _made_of_numbers(data: Any) -> bool:
    if isinstance(data, (list, tuple)):
        return all(map(_made_of_numbers, data))
    return isinstance(data, Numbers)


def set_quiet(change: int) -> None:
    """Enter (+1) or leave (-1) a `no_grad` block of this thread."""
    THREAD.quiet += change
    recording = THREAD.recording
    recording.quiet = THREAD.quiet > 0
    recording.memo = QUIET_MEMO if recording.quiet else MEMO


def set_default_dtype(dtype: Any) -> None:
    """Set the floating type of new tensors and numbers: "float32" (at the start) or "float64"."""
    dtypes.set_default_dtype(dtype)
    THREAD.recording.numbers.clear()
    MEMO.clear()
    QUIET_MEMO.clear()
