"""`Tensor.grad` while functions are traced: the trace of a thread sees who looks at it.

The attribute is a plain slot at all other times, so that code that is not traced pays nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .locks import new_lock, repaired_in_children
from .recording import THREAD
from .value import UNSET, Value

if TYPE_CHECKING:
    from .tensor import Tensor

_SLOT: Any = Value.__dict__["grad"]


def present_grad(tensor: Tensor) -> Any:
    """The gradient of `tensor`, as no trace sees it."""
    try:
        return _SLOT.__get__(tensor)
    except AttributeError:
        return UNSET["grad"]


def _grad(self: Tensor) -> Any:
    grad = present_grad(self)
    trace = THREAD.recording.trace
    if trace is not None:
        trace.grad_read(self, grad)
    return grad


def _set_grad(self: Tensor, grad: Any) -> None:
    trace = THREAD.recording.trace
    if trace is not None:
        trace.grad_written(self, present_grad(self))
    _SLOT.__set__(self, grad)


def _delete_grad(self: Tensor) -> None:
    _set_grad(self, None)


class _WatchedGrads:
    """While entered, by any thread, `Tensor.grad` tells the trace of the thread who looks at it."""

    def __init__(self) -> None:
        self._lock = new_lock()
        self._count = 0

    def __enter__(self) -> None:
        with self._lock:
            self._count += 1
            if self._count == 1:
                type.__setattr__(Value, "grad", property(_grad, _set_grad, _delete_grad))

    def __exit__(self, *error: object) -> None:
        with self._lock:
            self._count -= 1
            if not self._count:
                type.__setattr__(Value, "grad", _SLOT)

    def recount(self) -> None:
        """Count the threads that are left: this one, where it traces."""
        self._count = int(THREAD.recording.trace is not None)
        if not self._count:
            type.__setattr__(Value, "grad", _SLOT)


watched_grads = _WatchedGrads()
repaired_in_children(watched_grads.recount)
