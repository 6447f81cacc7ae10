"""Blocks in which no history is kept."""

from __future__ import annotations

from contextlib import ContextDecorator
from typing import Any

from .recording import set_quiet


class no_grad(ContextDecorator):
    """What is computed inside depends on nothing, for every manager. A block and a decorator."""

    def __enter__(self) -> None:
        set_quiet(1)

    def __exit__(self, *error: Any) -> None:
        set_quiet(-1)
