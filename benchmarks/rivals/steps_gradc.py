"""gradc: `loop` is the training loop as it stands, `trace` the whole step under jit.trace."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import gradc
import gradc.functional as F
import gradc.optimizer as optim
from gradc.autodiff import GradManager
from gradc.jit import trace
from rivals.operators import Operators
from rivals.step import Step
from rivals.workloads import Workload


class GradcOperators(Operators):
    """gradc's functions."""

    def __init__(self) -> None:
        super().__init__(F)

    def layer_norm(self, x: Any, scale: Any, shift: Any) -> Any:
        """As F.layer_norm."""
        return F.layer_norm(x, (x.shape[-1],), True, scale, shift, 1e-5)

    def batch_norm(self, x: Any, scale: Any, shift: Any) -> Any:
        """As F.batch_norm with statistics of the batch."""
        weight, bias = scale.reshape(1, -1, 1, 1), shift.reshape(1, -1, 1, 1)
        return F.batch_norm(x, weight=weight, bias=bias, training=True, eps=1e-5)

    def gelu(self, x: Any) -> Any:
        """As F.gelu."""
        return F.gelu(x, approximate="tanh")

    def softmax(self, x: Any) -> Any:
        """Over the last axis."""
        return F.softmax(x, axis=-1)

    def attention(self, query: Any, key: Any, value: Any, width: int) -> Any:
        """As F.scaled_dot_product_attention."""
        return F.scaled_dot_product_attention(query, key, value)

    def cross_entropy(self, logits: Any, label: Any, batch: int) -> Any:
        """The mean over rows."""
        return F.cross_entropy(logits, label)

    def conv(self, x: Any, weight: Any, bias: Any, padding: int) -> Any:
        """As F.conv2d."""
        bias = None if bias is None else bias.reshape(1, -1, 1, 1)
        return F.conv2d(x, weight, bias, 1, padding)

    def max_pool(self, x: Any) -> Any:
        """Of squares of four."""
        return F.max_pool2d(x, 2, 2)

    def derivatives(self, network: Callable[..., Any], points: Any) -> tuple[Any, ...]:
        """u, u_t, u_x, u_xx at points (t, x): managers of their own, within the step's."""
        x = points * 1
        with GradManager().attach(x) as second:
            with GradManager().attach(x) as first:
                u = network(x)
                first.backward(u.sum())
            slope, x.grad = x.grad, None
            second.backward(slope[:, 1].sum())
        curvature, x.grad = x.grad, None
        return u[:, 0], slope[:, 0], slope[:, 1], curvature[:, 1]


def build(workload: Workload, variant: str, threads: int, rate: float, dtype: str) -> Step:
    """A step in one of the variants."""
    gradc.set_num_threads(threads)
    parameters, inputs = workload.data(dtype=dtype)
    p = {name: gradc.Parameter(each, dtype=each.dtype) for name, each in parameters.items()}
    i = {name: gradc.tensor(each, dtype=each.dtype) for name, each in inputs.items()}
    operators = GradcOperators()
    gm = GradManager().attach(list(p.values()))
    optimizer = optim.SGD(list(p.values()), lr=rate)

    def step() -> Any:
        with gm:
            loss = workload.loss(operators, p, i, workload.sizes)
            gm.backward(loss)
        optimizer.step().clear_grad()
        return loss

    run = trace(step) if variant == "trace" else step
    return Step(run, lambda: {name: each.numpy().copy() for name, each in p.items()})
