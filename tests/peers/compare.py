"""Whether gradc and PyTorch agree on a program but for rounding.

PyTorch computes in float64. What rounding may do to a program is measured: PyTorch runs it again,
in the type of the program, with every value of it changed by about `noise`, many times the rounding
of the type, six times at random, once all upwards and once all downwards. As far as that moves a
result, gradc's may lie from the exact one. A value so near a jump that rounding may take it across
is across in one of these runs: the results that depend on it move far, and say nothing. Equal
values are changed equally, so that ties stay ties; and what was computed without rounding, in
numbers of few binary digits, stays what it is.
"""

from __future__ import annotations

import signal
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from peers import derivatives
from peers.program import Program, function

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Precision:
    """How much values are changed, and the bounds of what is compared, relative to its size."""

    noise: float
    digits: int  # a number that has no more binary digits may be exact
    floor: float
    rest: float  # what may be left where terms cancel, relative to the largest result
    ill: float  # what moves farther says nothing


PRECISION = {
    "float64": Precision(noise=1e-12, digits=27, floor=1e-10, rest=1e-12, ill=1e-6),
    # The rest is 8 units in the last place; of float64, far more.
    "float32": Precision(noise=2e-6, digits=11, floor=1e-5, rest=1e-6, ill=1e-2),
}
CHANGES = (1, -1, 2, 3, 4, 5, 6, 7)
"""1 and -1 change all values by `noise` upwards and downwards, the others at random."""
MULTIPLIER = 0x9E3779B97F4A7C15 - (1 << 64)


class Difference(AssertionError):
    """Of a program: gradc gives something else than PyTorch, or fails."""


class Undefined(Exception):
    """PyTorch has no derivative of the program, or an infinite one: there is nothing to compare."""


@dataclass(frozen=True)
class Agreement:
    """How many results were compared, and how many were too sensitive to rounding."""

    compared: int
    ill: int


def shaken(value: torch.Tensor, unrounded: bool, number: int, precision: Precision) -> torch.Tensor:
    """`value` with a factor near 1 for each element, which depends on the element alone."""
    bits = value.detach().double().abs().contiguous().view(torch.int64)
    mixed = (bits ^ number) * MULTIPLIER
    mixed = (mixed ^ (mixed >> 29)) * MULTIPLIER
    part = ((mixed >> 40) & 0xFFFF).double() / 0x8000 - 1.0
    if abs(number) == 1:
        part = torch.full_like(part, number)
    exact = unrounded & (bits & ((1 << (53 - precision.digits)) - 1) == 0)
    return value * (1 + part.masked_fill(exact, 0.0) * precision.noise).to(value.dtype)


def expected(program: Program) -> tuple[list[Array], list[float]]:
    """What PyTorch gives, and how far rounding may move each result."""
    precision = PRECISION[program.dtype]
    arrays = program.arrays()
    try:
        exact = derivatives.by_torch(function(program.theirs(), "theirs"), arrays)
    except RuntimeError as error:
        raise Undefined(f"PyTorch: {error}") from error
    if not all(np.isfinite(each).all() for each in exact):
        raise Undefined("PyTorch gives infinities or NaN")
    moved = [0.0] * len(exact)
    for number in CHANGES:
        names = {"shaken": lambda x, exact, n=number: shaken(x, exact, n, precision)}
        other = function(program.theirs("{name} = shaken({name}, {exact})"), "theirs", **names)
        changed = derivatives.by_torch(other, arrays, getattr(torch, program.dtype))
        if not all(np.isfinite(each).all() for each in changed):
            raise Undefined("PyTorch gives infinities or NaN beside these values")
        moved = [
            max(most, float(np.abs(x - y).max(initial=0)))
            for most, x, y in zip(moved, exact, changed, strict=True)
        ]
    return exact, moved


MOST_SECONDS = 60
"""What no program may take to be built and run."""


def found(program: Program) -> list[Array]:
    """What gradc gives, and soon."""
    way = getattr(derivatives, program.way)
    before = signal.signal(signal.SIGALRM, _too_late)
    signal.alarm(MOST_SECONDS)
    try:
        made: list[Array] = way(function(program.ours(), "ours"), program.arrays())
    except Exception as error:
        raise Difference(f"{type(error).__name__}: {error}") from error
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)
    return made


def _too_late(*_: object) -> None:
    raise Difference(f"is not built after {MOST_SECONDS} s")


def compared(program: Program) -> Agreement:
    """Raise `Difference` unless both agree."""
    theirs, moved = expected(program)
    ours = found(program)
    precision = PRECISION[program.dtype]
    ill = 0
    largest = max((float(np.abs(each).max(initial=0)) for each in theirs), default=0.0)
    for place, (x, y, by) in enumerate(zip(ours, theirs, moved, strict=True)):
        size = float(np.abs(y).max(initial=0))
        if by > precision.ill * size + precision.floor:
            ill += 1
            continue
        allowed = 2 * by + precision.floor * size + precision.rest * largest
        for problem in _problems(x, y, allowed, program.dtype):
            raise Difference(f"result {place} of {len(theirs)}: {problem}")
    return Agreement(len(theirs) - ill, ill)


def _problems(x: Array, y: Array, allowed: float, dtype: str) -> Iterator[str]:
    if x.shape != y.shape:
        yield f"shape {x.shape} instead of {y.shape}"
    elif x.dtype != dtype:
        yield f"{x.dtype} instead of {dtype}"
    elif not bool((np.abs(x - y) <= allowed).all()):
        with np.errstate(invalid="ignore"):
            distance = float(np.abs(x - y).max(initial=0))
        yield f"differs by {distance:.3g} where rounding explains {allowed:.3g}"
