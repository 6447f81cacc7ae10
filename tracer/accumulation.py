"""Adding gradients to `.grad`, by one thread at a time, and all else that is read to be written."""

from __future__ import annotations

from typing import Any
from weakref import ref

import numpy as np

from .errors import ShapeError, located
from .evaluation import settle
from .ledger import Written
from .locks import WRITING, new_lock, repaired_in_children
from .recording import THREAD, Numbers, Recording
from .tensor import Tensor

Results = list[tuple[Tensor, Any]]
"""Attached tensors, and what is to be added to their `.grad` (None: nothing)."""

ADDING = new_lock()
"""Held from reading `.grad` to writing it, and from reading what is trained to writing that. Who
holds it may wait for the lock of a recording; so nobody who holds one of those may ask for it."""

FOLLOWING = new_lock()
"""Held from reading running statistics to writing them. Who holds ADDING may ask for it."""


def keep_while_tracing() -> None:
    """Let nobody else add, step or follow until the call that this thread traces, if it does, ends.

    A trace binds what it computes when the function has returned, long after it has looked at it.
    """
    trace = THREAD.recording.trace
    if trace is not None:
        trace.keep(ADDING, FOLLOWING)


def add(recording: Recording, results: Results) -> None:
    """Add `results`, which the thread has recorded; all or none. Empties `results`.

    Where no manager records any more the sums are computed first, together with all that waits. If
    another thread adds at that moment, what is to be added is computed beside it.
    """
    keep_while_tracing()
    if recording.managers and recording.recording_managers():
        with ADDING:
            sums = _sums(results)
            recording.ledger.append([_written(recording, *each) for each in sums])
            _write(sums)
    else:
        if _Busy.adding:
            settle(recording, "backward", [new for _, new in results if isinstance(new, Tensor)])
            recording = THREAD.recording
        with ADDING, busy:  # by `acquire` an interrupt could keep it for ever
            sums = _sums(results)
            settle(recording, "backward", [new for _, new in sums if isinstance(new, Tensor)])
            _write(sums)


class _Busy:
    """While entered, others that have something to add compute it before they wait."""

    adding = False

    def __enter__(self) -> None:
        _Busy.adding = True

    def __exit__(self, *error: object) -> None:
        _Busy.adding = False


busy = _Busy()


@repaired_in_children
def _nobody_adds() -> None:
    _Busy.adding = ADDING._is_owned()


def _sums(results: Results) -> Results:
    """What `.grad` becomes; empties `results`, so that parts of sums are not held."""
    sums: Results = []
    while results:
        tensor, result = results.pop()
        before = tensor.grad
        if result is not None:
            _check_addable(tensor, before)
            sums.append((tensor, result if before is None else before + result))
    sums.reverse()
    return sums


def _check_addable(tensor: Tensor, before: Any) -> None:
    """Raise unless a gradient of `tensor` can be added to `before`, what `.grad` holds."""
    if before is None or isinstance(before, Numbers):
        return
    if not isinstance(before, (Tensor, np.ndarray)):
        if hasattr(before, "__add__") and not isinstance(before, (str, bytes, list, tuple)):
            return
        expected = "backward: expected a tensor or None as .grad, to which gradients are added"
        raise TypeError(located(f"{expected}, found {before!r:.60}"))
    if before.shape != tensor.shape:
        found = f"found {list(before.shape)} for a tensor of {list(tensor.shape)}"
        raise ShapeError(located(f"backward: .grad does not have its tensor's shape, {found}"))


def _write(sums: Results) -> None:
    """Set all `.grad`; an interrupt in between comes when all are set."""
    with WRITING:
        try:
            for tensor, new in sums:
                _set(tensor, new)
        except BaseException:
            for tensor, new in sums:
                _set(tensor, new)
            raise


def _set(tensor: Tensor, new: Any) -> None:
    """Set `.grad`; a gradient that is there already keeps its identity."""
    before = tensor.grad
    if isinstance(before, Tensor) and isinstance(new, Tensor) and before is not new:
        before.rebind(new)
    else:
        tensor.grad = new


def _written(recording: Recording, tensor: Tensor, new: Any) -> Written:
    """What is to be noted when the gradient of `tensor`, as it is now, becomes `new`."""
    before = tensor.grad
    node = None
    if not isinstance(new, Tensor):
        return Written(ref(tensor), None, new, None, None, before)
    if new._recording is recording and new._buffer is None:
        node = new._node
    if not isinstance(before, Tensor):
        return Written(ref(tensor), ref(new), None, node, None, before)
    held = (before._node, before._recording, before._buffer)
    return Written(ref(tensor), ref(before), None, node, held, None)
