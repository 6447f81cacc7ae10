"""Targets: for what a program is written."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Target:
    """`language` is "c" or "cuda"; `blas` tells whether a BLAS is at hand when the program runs."""

    language: str = "c"
    blas: bool = False


C = Target("c")
C_WITH_BLAS = Target("c", blas=True)
CUDA = Target("cuda")
