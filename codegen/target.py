"""Targets: for what a program is written."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Target:
    """`language` is "c" or "cuda".

    What is written for people is `annotated`: comments name the user's lines. They are no part of
    what is compiled, so that moving a line of a script rebuilds nothing.

    A value of a row that a later stage needs is kept if computing it costs more than
    `worth_caching` additions.
    """

    language: str = "c"
    annotated: bool = False
    worth_caching: int = 8


C = Target("c")
CUDA = Target("cuda", worth_caching=64)
