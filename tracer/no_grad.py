"""Blocks in which no history is kept."""

from __future__ import annotations

from contextlib import ContextDecorator
from typing import Any

from .recording import THREAD, set_quiet


class no_grad(ContextDecorator):
    """What is computed inside depends on nothing, for every manager. A block and a decorator."""

    def __enter__(self) -> None:
        set_quiet(1)

    def __exit__(self, *error: Any) -> None:
        set_quiet(-1)


class with_history:
    """What is computed inside is recorded, also in a `no_grad` block around it: `quiet` tells
    whether there is one."""

    def __enter__(self) -> with_history:
        self._depth = THREAD.quiet
        self.quiet = self._depth > 0
        set_quiet(-self._depth)
        return self

    def __exit__(self, *error: Any) -> None:
        set_quiet(self._depth)
