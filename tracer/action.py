"""What a traced function does beside recording, to be done again by each of its replays."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .straight import Straight


class Action:
    """One thing that a traced function does beside recording; see `Recording.action`.

    `slots` are those of the numbers that `act` gives: "f" or "i", and the place there. `acted` says
    whether it is done and can be undone: `act` sets it where it takes effect, so that an interrupt
    before or after is told from that.
    """

    def __init__(self) -> None:
        self.slots: list[tuple[str, int]] = []
        self.acted = True

    def act(self) -> Sequence[float]:
        """Do it, and give the numbers that were recorded with this as their source, in order."""
        raise NotImplementedError

    def take_back(self) -> None:
        """Make all as it was before `act`."""

    def check(self) -> bool:
        """While this is not true, nothing is replayed."""
        return True

    def checks(self, code: Straight) -> Iterator[str]:
        """Expressions in `code` that are all true where the check is, but may be quicker."""
        if type(self).check is not Action.check:
            yield f"{code.constant(self.check)}()"

    def difference(self) -> str:
        """In words, why the check fails."""
        raise NotImplementedError


def undo(actions: Sequence[Action]) -> None:
    """Take back what was done beside recording, the last first."""
    for each in reversed(actions):
        if each.acted:
            each.take_back()
            each.acted = False
