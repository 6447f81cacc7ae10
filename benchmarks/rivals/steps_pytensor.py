"""PyTensor: one function whose updates are the step, by Numba or by its own C."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytensor
import pytensor.tensor as pt
import scipy_openblas32
from pytensor.tensor import special

from rivals.operators import Operators
from rivals.step import Step
from rivals.workloads import Workload

MODES = {"numba": "NUMBA", "c": "CVM"}
ROUTINES = ("gemm", "gemv", "ger", "axpy", "dot", "scal", "copy", "swap", "symv", "syrk", "trsm")


class PytensorOperators(Operators):
    """PyTensor's functions; loops are scans."""

    def __init__(self, dtype: str) -> None:
        super().__init__(pt)
        self.dtype = dtype

    def relu(self, x: Any) -> Any:
        """max(x, 0), without a wider type."""
        return pt.maximum(x, np.dtype(self.dtype).type(0))

    def affine(self, x: Any, weight: Any, bias: Any) -> Any:
        """As one product of matrices, whatever the axes in front are."""
        if x.ndim == 2:
            return pt.dot(x, weight) + bias
        *front, width = x.type.shape
        rows = int(np.prod(front))
        flat = pt.dot(x.reshape((rows, width)), weight) + bias
        return flat.reshape((*front, weight.type.shape[1]))

    def softmax(self, x: Any) -> Any:
        """Over the last axis."""
        return special.softmax(x, axis=-1)

    def cross_entropy(self, logits: Any, label: Any, batch: int) -> Any:
        """The mean over rows."""
        return -pt.mean(special.log_softmax(logits, axis=1)[pt.arange(batch), label])

    def zeros(self, shape: tuple[int, ...]) -> Any:
        """Of the workload's type."""
        return pt.zeros(shape, dtype=self.dtype)

    def folded(
        self,
        cell: Callable[..., tuple[Any, ...]],
        sequence: Any,
        states: tuple[Any, ...],
        constant: Any,
        steps: int,
    ) -> tuple[Any, ...]:
        """A scan over the sequence."""
        made = pytensor.scan(
            cell,
            sequences=sequence,
            outputs_info=list(states),
            non_sequences=[constant],
            strict=True,
            return_updates=False,
        )
        return tuple(each[-1] for each in made)

    def repeated(
        self,
        step: Callable[[Sequence[Any], Sequence[Any]], Sequence[Any]],
        state: Sequence[Any],
        constants: Sequence[Any],
        steps: int,
    ) -> Sequence[Any]:
        """A scan over nothing."""

        def body(state: Any, constants: Any) -> Any:
            return pt.stack(step(self.components(state, many), self.components(constants, few)))

        many, few = len(state), len(constants)
        made = pytensor.scan(
            body,
            outputs_info=[pt.stack(state)],
            non_sequences=[pt.stack(constants)],
            n_steps=steps,
            strict=True,
            return_updates=False,
        )
        return self.components(made[-1], many)

    def derivatives(self, network: Callable[..., Any], points: Any) -> tuple[Any, ...]:
        """Gradients of gradients."""
        u = network(points)
        slope = pt.grad(u.sum(), points)
        curvature = pt.grad(slope[:, 1].sum(), points)
        return u[:, 0], slope[:, 0], slope[:, 1], curvature[:, 1]


def link_blas() -> None:
    """Let generated C call OpenBLAS: pip's PyTensor finds no BLAS by itself.

    The names in the wheel have a prefix, so the compiler is told to put it in front.
    """
    names = [f"{kind}{routine}_" for kind in "sd" for routine in ROUTINES]
    folder = scipy_openblas32.get_lib_dir()
    pytensor.config.blas__ldflags = f"-L{folder} -lscipy_openblas -Wl,-rpath,{folder}"
    pytensor.config.gcc__cxxflags = " ".join(f"-D{name}=scipy_{name}" for name in names)


def build(workload: Workload, variant: str, threads: int, rate: float, dtype: str) -> Step:
    """A step in one of the variants; threads are told by the environment."""
    sys.setrecursionlimit(50_000)
    link_blas()
    pytensor.config.floatX = dtype
    parameters, inputs = workload.data(dtype=dtype)
    p = {name: pytensor.shared(each, name, shape=each.shape) for name, each in parameters.items()}
    i = {name: pytensor.shared(each, name, shape=each.shape) for name, each in inputs.items()}
    loss = workload.loss(PytensorOperators(dtype), p, i, workload.sizes)
    gradients = pt.grad(loss, list(p.values()))
    slope = np.dtype(dtype).type(rate)
    updates = [
        (each, (each - slope * gradient).astype(dtype))
        for each, gradient in zip(p.values(), gradients, strict=True)
    ]
    function = pytensor.function(
        [], pytensor.Out(loss, borrow=True), updates=updates, mode=MODES[variant]
    )
    function.trust_input = True
    return Step(function, lambda: {name: each.get_value() for name, each in p.items()})
