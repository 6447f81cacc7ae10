"""JAX: value, gradient and update in one jax.jit, which may reuse the parameters' memory."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from rivals.operators import Operators
from rivals.step import Step
from rivals.workloads import Workload

WINDOW = (1, 1, 2, 2)


class JaxOperators(Operators):
    """JAX's functions; loops are lax.scan."""

    def __init__(self) -> None:
        super().__init__(jnp)

    def relu(self, x: Any) -> Any:
        """Its own."""
        return jax.nn.relu(x)

    def sigmoid(self, x: Any) -> Any:
        """Its own."""
        return jax.nn.sigmoid(x)

    def gelu(self, x: Any) -> Any:
        """Its own, by tanh."""
        return jax.nn.gelu(x)

    def softmax(self, x: Any) -> Any:
        """Over the last axis."""
        return jax.nn.softmax(x, -1)

    def parts(self, x: Any, count: int, size: int) -> Sequence[Any]:
        """One operator."""
        parts: Sequence[Any] = jnp.split(x, count, 1)
        return parts

    def cross_entropy(self, logits: Any, label: Any, batch: int) -> Any:
        """The mean over rows."""
        chosen = jnp.take_along_axis(jax.nn.log_softmax(logits, 1), label[:, None], 1)
        return -chosen.mean()

    def conv(self, x: Any, weight: Any, bias: Any, padding: int) -> Any:
        """With channels second."""
        around = [(padding, padding)] * 2
        layout = ("NCHW", "OIHW", "NCHW")
        made = lax.conv_general_dilated(x, weight, (1, 1), around, dimension_numbers=layout)
        return made if bias is None else made + bias[:, None, None]

    def max_pool(self, x: Any) -> Any:
        """Of squares of four."""
        return lax.reduce_window(x, -jnp.inf, lax.max, WINDOW, WINDOW, "VALID")

    def folded(
        self,
        cell: Callable[..., tuple[Any, ...]],
        sequence: Any,
        states: tuple[Any, ...],
        constant: Any,
        steps: int,
    ) -> tuple[Any, ...]:
        """A scan over the sequence."""

        def body(states: Any, element: Any) -> tuple[Any, None]:
            return cell(element, *states, constant), None

        made: tuple[Any, ...] = lax.scan(body, states, sequence)[0]
        return made

    def repeated(
        self,
        step: Callable[[Sequence[Any], Sequence[Any]], Sequence[Any]],
        state: Sequence[Any],
        constants: Sequence[Any],
        steps: int,
    ) -> Sequence[Any]:
        """A scan over nothing."""

        def body(state: Any, _: None) -> tuple[Any, None]:
            return step(state, constants), None

        made: Sequence[Any] = lax.scan(body, tuple(state), None, length=steps)[0]
        return made

    def derivatives(self, network: Callable[..., Any], points: Any) -> tuple[Any, ...]:
        """For one point, mapped over all."""

        def u(t: Any, x: Any) -> Any:
            return network(jnp.stack([t, x]))[0]

        def at(point: Any) -> tuple[Any, ...]:
            t, x = point
            slope, curvature = jax.value_and_grad(jax.grad(u, 1), 1)(t, x)
            return u(t, x), jax.grad(u, 0)(t, x), slope, curvature

        made: tuple[Any, ...] = jax.vmap(at)(points)
        return made


def build(workload: Workload, variant: str, threads: int, rate: float, dtype: str) -> Step:
    """A step; threads are told by the environment."""
    if dtype == "float64":
        jax.config.update("jax_enable_x64", True)
    parameters, inputs = workload.data(dtype=dtype)
    i = {name: jnp.asarray(each) for name, each in inputs.items()}
    operators = JaxOperators()
    now: dict[str, Any] = {"p": {name: jnp.array(each) for name, each in parameters.items()}}

    def whole(p: dict[str, Any], i: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
        def loss_of(p: dict[str, Any]) -> Any:
            return workload.loss(operators, p, i, workload.sizes)

        loss, gradients = jax.value_and_grad(loss_of)(p)
        return loss, {name: each - rate * gradients[name] for name, each in p.items()}

    compiled = jax.jit(whole, donate_argnums=0)

    def step() -> Any:
        now["loss"], now["p"] = compiled(now["p"], i)
        return now["loss"]

    def finish() -> None:
        jax.block_until_ready(now)

    return Step(step, lambda: {name: np.array(each) for name, each in now["p"].items()}, finish)
