"""The box around a value that tensors are: what it is bound to, and how its elements are read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any
from weakref import ref

import numpy as np

from .buffer import Buffer
from .dtypes import DType, bfloat16
from .errors import ShapeError, located
from .evaluation import settle
from .interpret import from_storage
from .ir import ANYWHERE, Node, Shape, TensorType, node
from .locks import WRITING
from .ops import sources
from .recording import THREAD, Recording

if TYPE_CHECKING:
    from .tensor import Tensor

Array = np.ndarray[Any, Any]

UNSET = {"grad": None, "name": ""}


class Value:
    """A mutable box: a node of a recording, the buffer with its elements, or both.

    `_node` always has the type of the value. It stands for the value in `_recording`; where that is
    not the recording of the thread, the value is `_buffer`, and where there is none, it waits.

    Other threads may re-bind the box at any time. CPython switches between threads at calls and at
    jumps back alone, so the three are looked at, and set, without either in between; what they
    held is let go afterwards, since finalizers are calls.
    """

    __slots__ = ("__weakref__", "_buffer", "_node", "_recording", "grad", "name")

    _buffer: Buffer | None
    _node: Node
    _recording: Recording | None
    grad: Any
    name: Any

    def __getattr__(self, name: str) -> Any:
        if name in UNSET:
            return UNSET[name]
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    # ---- what is known without running anything

    @property
    def shape(self) -> Shape:
        """The extents of the axes; () for a single number."""
        return self._node.type.shape

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self._node.type.shape)

    @property
    def size(self) -> int:
        """The number of elements."""
        return self._node.type.size

    @property
    def dtype(self) -> np.dtype[Any] | DType:
        """The element type: NumPy's, or `gradc.bfloat16`."""
        return self._node.type.dtype.public

    @property
    def device(self) -> str:
        """Where the elements live."""
        device = self._node.type.device
        return "cpu" if device == ANYWHERE else device

    # ---- reading, which runs what is recorded so far

    def buffer(self) -> Buffer:
        """The buffer with the elements, for those who read them: a trace ends here."""
        return self.contents()[0]

    def contents(self) -> tuple[Buffer, TensorType]:
        """The buffer with the elements, and their type, for those who read them."""
        trace = THREAD.recording.trace
        if trace is not None:
            trace.abandon("reads the value of a tensor")
        return self.held()

    def settled(self) -> Buffer:
        """The buffer with the elements, for those who compute with it."""
        buffer = self._buffer
        return self.held()[0] if buffer is None else buffer

    def held(self) -> tuple[Buffer, TensorType]:
        """The buffer with the elements, and their type, for those who compute with it."""
        made, home, buffer = self._node, self._recording, self._buffer
        while buffer is None:  # another thread may bind the box to what waits, again and again
            if home is not None:
                trace = home.trace
                before = None if trace is None else trace.seen_from_outside(self)
                if before is not None:
                    return before
                settle(home, "read", (self,))  # type: ignore[arg-type]  # all are tensors
            made, home, buffer = self._node, self._recording, self._buffer
        return buffer, made.type

    def _elements(self) -> Array:
        buffer, kind = self.contents()
        return from_storage_public(buffer.array(kind.dtype, kind.shape), kind.dtype)

    def numpy(self) -> Array:
        """The elements as a read-only array (float32 for bfloat16)."""
        buffer, kind = self.contents()
        if kind.dtype is bfloat16:
            array = from_storage_public(buffer.array(kind.dtype, kind.shape), kind.dtype)
            array.flags.writeable = False
            return array
        return buffer.exported(kind.dtype, kind.shape)

    def item(self) -> Any:
        """The one element, as a Python number."""
        if self._node.type.size != 1:
            raise NotOneElement(located(f"expected one element, found the shape {self.shape}"))
        return self._elements().item()

    def tolist(self) -> Any:
        """The elements as nested lists of Python numbers."""
        return self._elements().tolist()

    def __float__(self) -> float:
        return float(self.item())

    def __int__(self) -> int:
        return int(self.item())

    def __bool__(self) -> bool:
        return bool(self.item())

    def __complex__(self) -> complex:
        return complex(self.item())

    def __index__(self) -> int:
        if self._node.type.dtype.is_float:
            raise TypeError(located(f"expected an integer, found {self._node.type}"))
        return int(self.item())

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        array = self.numpy()
        if dtype is not None and array.dtype != dtype:
            return array.astype(dtype)
        return array.copy() if copy else array

    def __dlpack__(self, **options: Any) -> Any:
        buffer, kind = self.contents()
        buffer.exported(kind.dtype, kind.shape)
        return buffer.array(kind.dtype, kind.shape).__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[int, int]:
        return (1, 0)

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError(located("a tensor without axes has no length"))
        return self.shape[0]

    # ---- binding

    def rebind(self, other: Tensor) -> None:
        """Let this box hold the present value of `other`, with its history.

        What waits in a recording that may end at any moment, that of another thread, is computed.
        """
        recording = THREAD.recording
        trace = recording.trace
        if trace is not None:
            return trace.rebind(self, other)  # type: ignore[arg-type]  # all are tensors
        made, home, buffer = other._node, other._recording, other._buffer
        if buffer is None and home is recording:
            home.rebound += 1
            if self._buffer is not None or self._recording is not home:
                home.pending.append(ref(self))  # type: ignore[arg-type]
        elif buffer is None:
            buffer, kind = other.held()
            made, home = leaf_of(kind), None
        _before = self._node, self._recording, self._buffer
        self._node, self._recording, self._buffer = made, home, buffer


class NotOneElement(ShapeError):
    """A single number was asked of a tensor with more or fewer."""


def from_storage_public(array: Array, dtype: DType) -> Array:
    """The stored elements as users see them: bfloat16 as float32, all else as it is."""
    return from_storage(array, dtype) if dtype is bfloat16 else array


# ---- making tensors

_tensor_class: list[type[Tensor]] = []


def set_tensor_class(made: type[Tensor]) -> None:
    """Say of which class the results of operators are."""
    _tensor_class[:] = [made]


def waiting(made: Node, recording: Recording) -> Tensor:
    """A new tensor for the node `made` of `recording`, to be computed later."""
    (cls,) = _tensor_class
    tensor = cls.__new__(cls)
    tensor._node = made
    tensor._recording = recording
    tensor._buffer = None
    pending = recording.pending
    pending.append(ref(tensor))
    if len(pending) + recording.rebound > recording.limit:
        settle(recording, "limit")
    return tensor


def box_of(made: Node, recording: Recording) -> Tensor:
    """A new tensor for the node `made`, which is computed when the caller wants it."""
    (cls,) = _tensor_class
    tensor = cls.__new__(cls)
    tensor._node, tensor._recording, tensor._buffer = made, recording, None
    recording.pending.append(ref(tensor))
    return tensor


def waiting_together(made: tuple[Node, ...], recording: Recording) -> tuple[Tensor, ...]:
    """New tensors for the results of one function: nothing runs before all of them exist."""
    limit, recording.limit = recording.limit, recording.limit + len(made)
    try:
        first = tuple([waiting(each, recording) for each in made[:-1]])
    finally:
        recording.limit = limit
    return (*first, waiting(made[-1], recording)) if made else ()


def concrete(buffer: Buffer, kind: TensorType, cls: type[Tensor] | None = None) -> Tensor:
    """A new tensor around `buffer`."""
    cls = cls or _tensor_class[0]
    tensor = cls.__new__(cls)
    fill(tensor, buffer, kind)
    return tensor


def fill(tensor: Value, buffer: Buffer, kind: TensorType) -> None:
    """Let `tensor`, which is new, hold the elements of `buffer`."""
    trace = THREAD.recording.trace
    if trace is not None:
        trace.created(tensor)
    tensor._node = leaf_of(kind)
    tensor._recording = None
    tensor._buffer = buffer


def leaf_of(kind: TensorType) -> Node:
    """The node of a box that holds elements and no history."""
    return node(sources.input_, (), (0, kind.dtype, kind.shape, kind.device))


def at_one_moment(tensors: Sequence[Value]) -> list[tuple[Buffer, TensorType]]:
    """The buffers of several tensors, with their types: what a thread binds together, as the
    parameters that it trains, is new in all of them or in none."""
    for each in tensors:
        each.contents()  # is computed, where it waits
    with WRITING:
        found = [(each._buffer, each._node.type) for each in tensors]
    return [
        each.contents() if buffer is None else (buffer, kind)
        for each, (buffer, kind) in zip(tensors, found, strict=True)
    ]
