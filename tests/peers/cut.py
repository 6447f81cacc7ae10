"""Cuts what is not needed from a program that fails: first from its end, then from its begin."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from peers.compare import Difference, Undefined, compared
from peers.program import Program, function


def cut(program: Program, problem: str) -> tuple[Program, str]:
    """A part of `program` that fails too, and how. Each cut is found by bisection."""
    for part in (_begin, _end):
        shorter = _least(program, part)
        program, problem = shorter or (program, problem)
    for name in program.outputs:
        alone = program.with_outputs(name)
        if found := failure(alone):
            return alone, found
    return program, problem


def failure(program: Program) -> str:
    """How the program fails; nothing where it does not."""
    try:
        compared(program)
    except Difference as error:
        return str(error)
    except Undefined:
        return ""
    return ""


def _least(program: Program, part: Callable[[Program, int], Program]) -> tuple[Program, str] | None:
    """The shortest part that fails, if failing parts are those from some length on."""
    passing, failing = 0, len(program.steps)
    best = None
    while failing - passing > 1:
        middle = (passing + failing) // 2
        shorter = part(program, middle)
        if found := failure(shorter):
            best, failing = (shorter, found), middle
        else:
            passing = middle
    return best


def _begin(program: Program, count: int) -> Program:
    """The first `count` steps."""
    steps = program.steps[:count]
    read = {name for each in steps for name in each.reads}
    outputs = [each.name for each in steps if each.name not in read]
    return replace(program, kept=False).with_outputs(*outputs)


def _end(program: Program, count: int) -> Program:
    """The last `count` steps; what they read of earlier ones becomes inputs."""
    every = replace(program, kept=False, outputs=tuple(each.name for each in program.steps))
    arrays = program.arrays()
    values = dict(zip(every.outputs, _values(every, arrays), strict=True))
    early = program.steps[: len(program.steps) - count]
    inputs = {each.name: _text(values[each.name]) for each in early}
    late = program.steps[len(program.steps) - count :]
    outputs = tuple(name for name in program.outputs if name not in inputs)
    whole = replace(
        program, inputs={**program.inputs, **inputs}, steps=late, outputs=outputs, kept=False
    )
    return whole.with_outputs(*outputs)


def _values(program: Program, arrays: list[np.ndarray]) -> list[np.ndarray]:
    import torch

    inputs = [torch.tensor(each, dtype=torch.float64) for each in arrays]
    return [each.numpy() for each in function(program.theirs(), "theirs")(*inputs)]


def _text(array: np.ndarray) -> str:
    return f"np.array({array.ravel().tolist()}).reshape({array.shape})"
