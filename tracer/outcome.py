"""What a call of a traced function left behind: results, gradients, and what must not be."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from .structure import NotPacked, Packed, packed
from .tensor import Tensor
from .watched import present_grad

if TYPE_CHECKING:
    from .tracing import Tracing


class Outcome:
    """What a call of a traced function left behind.

    `form` is the result; its numbers name `tensors`, which were made inside, and places of boxes.
    `grads` are pairs of an owner and its gradient, both numbered in the same way (None: no
    gradient).
    """

    def __init__(self, trace: Tracing, result: Any, known: Callable[[Any], bool]) -> None:
        self.trace = trace
        self.tensors: list[Tensor] = []
        self._numbers: dict[int, int] = {}
        self.form: Packed = 0
        try:
            self.form = packed(result, self._number, known, trace.containers)
        except NotPacked as error:
            trace.reason = f"returns {error}"
        self.grads: list[tuple[int, int | None]] = []
        for place, before in trace.grads.items():
            self._add_grad(~place, trace.boxes[place], before)
        for number, each in enumerate(self.tensors):  # grows meanwhile
            self._add_grad(number, each, None)

    def _number(self, tensor: Tensor) -> int:
        place = self.trace.place_of(tensor)
        if place is not None:
            return ~place
        if id(tensor) not in self._numbers:
            self._numbers[id(tensor)] = len(self.tensors)
            self.tensors.append(tensor)
            if tensor._recording is not self.trace.recording:  # made of numbers
                tensor._node = self.trace.recording.node_of(tensor)
                tensor._recording, tensor._buffer = self.trace.recording, None
        return self._numbers[id(tensor)]

    def _add_grad(self, owner: int, tensor: Tensor, before: Any) -> None:
        grad = present_grad(tensor)
        if isinstance(grad, Tensor):
            if grad is not before:
                self.grads.append((owner, self._number(grad)))
        elif grad is not None:
            self.trace.reason = "sets a gradient that is no tensor"
        elif owner < 0 and not (before is None and ~owner in self.trace.asked):
            self.grads.append((owner, None))
