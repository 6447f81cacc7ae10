"""CasADi, in float64: `vm` is its virtual machine, `jit` its generated C, both called in place."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any

import casadi
import numpy as np

from rivals.operators import Operators
from rivals.step import Step
from rivals.workloads import Workload

SCALAR = ("W1",)
"""Workloads that are best written in scalars throughout (SX); the others are in matrices (MX)."""
JIT = {
    "jit": True,
    "compiler": "shell",
    "jit_options": {"flags": ["-O3", "-march=native"], "verbose": False},
}


class CasadiOperators(Operators):
    """CasADi's functions."""

    def __init__(self) -> None:
        super().__init__(casadi)

    def sum(self, x: Any) -> Any:
        """Of a column."""
        return casadi.sum1(x)

    def mean(self, x: Any) -> Any:
        """Of a column."""
        return casadi.sum1(x) / x.shape[0]

    def repeated(
        self,
        step: Callable[[Sequence[Any], Sequence[Any]], Sequence[Any]],
        state: Sequence[Any],
        constants: Sequence[Any],
        steps: int,
    ) -> Sequence[Any]:
        """A function of scalars, mapped with an accumulator."""
        many, few = len(state), len(constants)
        x, c = casadi.SX.sym("x", many), casadi.SX.sym("c", few)
        after = step(self.components(x, many), self.components(c, few))
        function = casadi.Function("step", [x, c], [casadi.vertcat(*after)])
        along = casadi.repmat(casadi.vertcat(*constants), 1, steps)
        last = function.mapaccum(steps)(casadi.vertcat(*state), along)[:, -1]
        return self.components(last, many)


def build(workload: Workload, variant: str, threads: int, rate: float, dtype: str) -> Step:
    """A step in one of the variants; the numbers are float64 whatever `dtype` is."""
    os.chdir(os.environ["RIVALS_FOLDER"])  # where its compiler leaves files
    arrays, _ = workload.data(dtype="float64")
    symbol = casadi.SX if workload.name in SCALAR else casadi.MX
    p = {name: symbol.sym(name, len(each)) for name, each in arrays.items()}
    loss = workload.loss(CasadiOperators(), p, {}, workload.sizes)
    after = [each - rate * casadi.gradient(loss, each) for each in p.values()]
    options = JIT if variant == "jit" else {}
    function = casadi.Function("whole", list(p.values()), [loss, *after], options)
    buffer, call = function.buffer()
    results = [np.zeros(1), *(np.zeros_like(each) for each in arrays.values())]
    for number, each in enumerate(arrays.values()):
        buffer.set_arg(number, each.data)
    for number, each in enumerate(results):
        buffer.set_res(number, each.data)
    pairs = list(zip(arrays.values(), results[1:], strict=True))
    kept = function, buffer  # `call` refers to them by address

    def step() -> Any:
        assert kept
        call()
        for each, result in pairs:
            each[:] = result
        return results[0][0]

    return Step(step, lambda: {name: each.copy() for name, each in arrays.items()})
