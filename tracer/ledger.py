"""What backwards wrote to `.grad` before it was computed, so that it can be taken back.

While other managers record, a backward runs nothing: what it writes are promises. Where a program
then fails, those that cannot be kept are taken back, with all that was written later, as if the
failing operator had stopped the user's program where it stands.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from weakref import ref

if TYPE_CHECKING:
    from .buffer import Buffer
    from .ir import Node
    from .recording import Recording
    from .tensor import Tensor

Computes = Callable[[tuple["Node", ...]], bool]
"""Whether all of these nodes can be computed."""


@dataclass(frozen=True, slots=True)
class Written:
    """One gradient that a backward wrote: whose, as what, and what was there before.

    `grad` is the tensor that `.grad` is since, or `other` is anything else; `node` is what it waits
    for. `held` is what that tensor held, where it was there already; else `.grad` was `before`.
    Nothing here keeps a tensor alive: it would be computed for that alone.
    """

    owner: ref[Tensor]
    grad: ref[Tensor] | None
    other: Any
    node: Node | None
    held: tuple[Node, Recording | None, Buffer | None] | None
    before: Any

    def take_back(self, recording: Recording, computes: Computes) -> None:
        """Put back what was there, unless the user has put something else there since."""
        owner = self.owner()
        grad = self.other if self.grad is None else self.grad()
        if owner is None or owner.grad is not grad:
            return
        if self.grad is not None and grad._node is not self.node:
            if grad._buffer is not None or grad._recording is not recording:
                return
            if computes((grad._node,)):
                return
        if self.held is None:
            owner.grad = self.before
            return
        grad._node, grad._recording, grad._buffer = self.held
        if grad._buffer is None:
            grad._recording.pending.append(self.grad)


def take_back(recording: Recording, computes: Computes) -> None:
    """Undo the first backward whose gradients cannot be computed, and all that came later."""
    ledger, recording.ledger = recording.ledger, []

    def fails(count: int) -> bool:
        return not computes(_waited_for(each for entry in ledger[:count] for each in entry))

    if not ledger or not fails(len(ledger)):
        return
    kept = bisect_left(range(1, len(ledger)), True, key=fails)
    for entry in reversed(ledger[kept:]):
        for each in entry:
            each.take_back(recording, computes)


def _waited_for(notes: Iterable[Written]) -> tuple[Node, ...]:
    return tuple(dict.fromkeys(each.node for each in notes if each.node is not None))
