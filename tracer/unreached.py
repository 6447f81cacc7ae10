"""Mistakes in training that no error would tell: losses and parameters that no manager knows."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from weakref import getweakrefs, ref

from .errors import users_frame
from .ir import Node, topological
from .ops import markers
from .recording import THREAD, Recording
from .tensor import Tensor


class TrainingWarning(UserWarning):
    """A backward or a step that does nothing, since what it is about was never recorded."""


class AttachedRef(ref[Tensor]):
    """What a manager holds of an attached tensor; the tensor is asked for it."""

    __slots__ = ()


def is_attached(tensor: Tensor) -> bool:
    """Whether `tensor` is attached to any manager."""
    return any(isinstance(each, AttachedRef) for each in getweakrefs(tensor))


Waiting = tuple[int, ref[Tensor] | None]
"""How many tensors waited when a manager began to record, and the last of them."""


def waiting_now(recording: Recording) -> Waiting:
    """What waits in `recording` at this moment."""
    pending = recording.pending
    return len(pending), pending[-1] if pending else None


def warn_of_loss(targets: Sequence[Tensor], tracked: Iterable[Node], before: Waiting) -> bool:
    """Warn of a backward that reached nothing, where its targets were computed outside.

    Either no manager has ever recorded where they were computed, or they waited already when this
    one began, and are made of the plain values of attached tensors, not of what a manager wraps
    these in. All else, such as a constant or a detached loss, may be meant. `tracked` are the
    snapshots of this manager. True where there was a warning.
    """
    if not targets or not all(_is_outside(each, before) for each in targets):
        return False
    recording = THREAD.recording
    inside = [each for each in targets if each._recording is recording]
    order = topological(tuple([each._node for each in inside]))
    plain = {each.inputs[0] for each in tracked}
    if inside and (plain.isdisjoint(order) or any(each.op is markers.track for each in order)):
        return False
    _warn(
        "backward: no gradient was written, since the loss was computed outside of the recording: "
        "compute it inside `with gm:`, or behind `gm.record()`"
    )
    return True


def _is_outside(target: Tensor, before: Waiting) -> bool:
    recording, (count, last) = THREAD.recording, before
    home = target._recording
    if home is not recording:
        return home is not None and not home.ordinals and home.trace is None
    pending = recording.pending
    known = 0 < count <= len(pending) and pending[count - 1] is last
    return known and any(each() is target for each in pending[:count])


def warn_of_parameters(name: str, parameters: Iterable[Tensor]) -> None:
    """Warn of a step without any gradient, where none of the parameters is attached."""
    if not any(map(is_attached, parameters)):
        _warn(
            f"{name}.step: no parameter has a gradient, and none is attached to a GradManager, so "
            "nothing was updated: write `gm = GradManager().attach(module.parameters())`"
        )


def _warn(message: str) -> None:
    origin = users_frame()
    if origin is None:
        warnings.warn(message, TrainingWarning, stacklevel=4)
    else:
        warnings.warn_explicit(
            f"{message} (at {origin})", TrainingWarning, origin.file, origin.line
        )
