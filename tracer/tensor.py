"""Tensors and parameters."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any
from weakref import ref

import numpy as np

from . import index, methods
from .buffer import Buffer
from .data import as_stored
from .dtypes import DType, as_dtype
from .errors import located
from .ir import Node, TensorType
from .operand import together
from .operators import Operators
from .recording import THREAD, stopped, takes
from .value import concrete, fill, set_tensor_class, waiting


class Tensor(Operators):
    """A mutable box around a value: what was recorded for it, or its elements.

    `data` is copied. Python numbers and NumPy's float64 and int64 become the default types unless
    `dtype` says otherwise. A tensor as `data` gives a second box with the same history. `grad` is
    where a `GradManager` leaves gradients; `name` is yours.
    """

    __slots__ = ()

    def __init__(
        self,
        data: Any,
        dtype: Any = None,
        device: str | None = None,
        is_const: bool = False,
        no_cache: bool = False,
        name: str | None = None,
        format: str = "default",
    ) -> None:
        if device not in (None, "cpu", "cpux", "xpux"):
            raise ValueError(located(f"expected the device 'cpu', found {device!r}"))
        data = together(data)
        if isinstance(data, Tensor):
            _alias(self, data if dtype is None else data.astype(dtype))
        else:
            takes(data)
            array, kind = as_stored(data, dtype)
            fill(self, Buffer.copied(array), TensorType(kind, array.shape, "cpu"))
        if name is not None:
            self.name = name

    # ---- other boxes

    def detach(self) -> Tensor:
        """A new tensor with this value, as one that depends on nothing."""
        recording = THREAD.recording
        made, buffer = self._node, self._buffer
        if buffer is not None and recording.trace is None:
            return concrete(buffer, made.type)
        return waiting(stopped(recording.node_of(self)), recording)

    def to(self, device: str) -> Tensor:
        """This tensor, where it lives on `device`."""
        if device not in ("cpu", "cpux", "xpux"):
            raise ValueError(located(f"expected the device 'cpu', found {device!r}"))
        return self

    def __copy__(self) -> Tensor:
        return self.__deepcopy__({})

    def __deepcopy__(self, memo: dict[int, Any]) -> Tensor:
        made = concrete(*self.contents(), type(self))
        made.name = self.name
        memo[id(self)] = made
        vars_of = getattr(self, "__dict__", None)
        if vars_of:
            made.__dict__.update(copy.deepcopy(vars_of, memo))
        return made

    def __reduce__(self) -> tuple[Any, ...]:
        buffer, kind = self.contents()
        array = buffer.array(kind.dtype, kind.shape).copy()
        arguments = (type(self), array, kind.dtype.name, self.name)
        return _unpickled, arguments, getattr(self, "__dict__", None) or None

    # ---- shapes and types

    @property
    def T(self) -> Tensor:
        """The tensor with its axes reversed."""
        return self.transpose()

    def reshape(self, *shape: Any) -> Tensor:
        """The elements under another shape, of which one extent may be -1."""
        return _tensor(methods.reshape(self, _spread(shape)))

    def transpose(self, *axes: Any) -> Tensor:
        """The tensor with its axes in another order; without arguments, reversed."""
        order = _spread(axes)
        return _tensor(methods.transpose(self, order if order and order != (None,) else None))

    def flatten(self, start_axis: int = 0, end_axis: int = -1) -> Tensor:
        """The tensor with the axes from `start_axis` to `end_axis` made one."""
        return _tensor(methods.flatten(self, start_axis, end_axis))

    def astype(self, dtype: Any) -> Tensor:
        """The tensor in another element type."""
        return _tensor(methods.astype(self, as_dtype(dtype)))

    def squeeze(self, axis: Any = None) -> Tensor:
        """The tensor without axes of extent 1."""
        return _tensor(methods.squeeze(self, axis))

    # ---- reductions

    sum = methods.sum
    mean = methods.mean
    prod = methods.prod
    max = methods.max
    min = methods.min
    argmax = methods.argmax
    argmin = methods.argmin
    any = methods.any
    all = methods.all

    # ---- elements

    def __getitem__(self, index_: Any) -> Tensor:
        return index.read(self, index_)

    def __setitem__(self, index_: Any, value: Any) -> None:
        self.rebind(index.written(self, index_, value))

    def __iter__(self) -> Iterator[Tensor]:
        for place in range(len(self)):
            yield self[place]

    def __repr__(self) -> str:
        text = np.array2string(self._elements(), separator=", ", threshold=100, prefix="Tensor(")
        kind = self._node.type.dtype.name
        return f"{type(self).__name__}({text}, dtype={kind}, device={self.device})"

    def __format__(self, form: str) -> str:
        return format(self.item(), form) if form else repr(self)


class Parameter(Tensor):
    """A tensor that modules and optimizers take for one that is trained. Results are Tensors."""


set_tensor_class(Tensor)


tensor = Tensor
"""The class by its lower-case name, as MegEngine has it: makes tensors, and works in isinstance."""


def from_numpy(array: np.ndarray[Any, Any], copy: bool = True) -> Tensor:
    """A tensor with the elements and the dtype of `array`.

    With `copy=False` it lies on the memory of `array`, where that has no gaps, is aligned to its
    elements and in the byte order of the machine: what is written there is seen by all that runs
    later. Else it is a copy.
    """
    if not isinstance(array, np.ndarray):
        raise TypeError(located(f"from_numpy: expected an array, found {array!r:.60}"))
    takes(array)
    stored, kind = as_stored(array, array.dtype.newbyteorder("="))
    whole = np.require(stored, requirements=("C", "A")).reshape(array.shape)
    buffer = Buffer.copied(whole) if copy else Buffer.around(whole)
    return concrete(buffer, TensorType(kind, array.shape, "cpu"))


def _tensor(made: Any) -> Tensor:
    assert isinstance(made, Tensor)
    return made


def _alias(made: Tensor, of: Tensor) -> None:
    """Let `made` hold the present value of `of`, with its history in this thread's recording."""
    recording = THREAD.recording
    known: Node = recording.node_of(of)
    present, buffer = of._node, of._buffer
    if buffer is not None and known.op.kind == "source" and recording.trace is None:
        fill(made, buffer, present.type)
    else:
        made._node, made._recording, made._buffer = known, recording, None
        recording.pending.append(ref(made))


def _spread(given: tuple[Any, ...]) -> tuple[Any, ...]:
    """The extents that were given one by one, or as one tuple, list or number."""
    one = given[0] if len(given) == 1 else given
    return tuple(one) if isinstance(one, (tuple, list, Tensor)) else given


def _unpickled(cls: type[Tensor], array: np.ndarray[Any, Any], dtype: str, name: Any) -> Tensor:
    kind: DType = as_dtype(dtype)
    made = concrete(Buffer.copied(array), TensorType(kind, array.shape, "cpu"), cls)
    made.name = name
    return made
