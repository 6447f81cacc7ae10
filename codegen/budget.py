"""Budgets: what a loop of a pass may do before it is taken for one that never ends.

Most loops have a measure that falls by their form: they go down from a node to what it is made of,
or take something from a list that only gets shorter. Where a loop goes on until nothing changes any
more, its measure is a budget, and an error in the pass is an AssertionError instead of a process
that does not answer or fills all memory.
"""

from __future__ import annotations


class Budget:
    """How many steps are left; `what` says in words who takes them."""

    __slots__ = ("amount", "left", "what")

    def __init__(self, what: str, amount: int) -> None:
        self.what = what
        self.amount = self.left = amount

    def spend(self, steps: int = 1) -> None:
        """Take `steps`, which must be there."""
        self.left -= steps
        assert self.left >= 0, f"{self.what} does not end: more than {self.amount} steps"
