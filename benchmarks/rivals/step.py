"""A training step of a workload in a framework, ready to be called."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray


def _nothing() -> None:
    """Where a call returns when its work is done."""


@dataclass(frozen=True)
class Step:
    """`run` takes a step and gives its loss, `finish` waits for all that runs were asked for.

    `parameters` copies their values.
    """

    run: Callable[[], Any]
    parameters: Callable[[], dict[str, NDArray[Any]]]
    finish: Callable[[], None] = _nothing
