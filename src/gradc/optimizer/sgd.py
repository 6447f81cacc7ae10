"""Gradient descent with momentum."""

from __future__ import annotations

from typing import Any

from ..tracer.errors import located
from ..tracer.ir import Node
from .optimizer import Group, Optimizer, check_range
from .update import Nodes, Rule


class SGD(Optimizer):
    """Stochastic gradient descent: v = momentum v + g, p = p - lr v.

    With `nesterov` the step is lr (g + momentum v). `weight_decay` adds that share of p to g.
    """

    def __init__(
        self,
        params: Any,
        lr: float,
        momentum: float = 0.0,
        nesterov: bool = False,
        weight_decay: float = 0.0,
    ) -> None:
        numbers = {"lr": lr, "momentum": momentum, "weight_decay": weight_decay}
        super().__init__(params, {**numbers, "nesterov": nesterov})

    def _check(self, group: Group) -> None:
        for name in ("lr", "momentum", "weight_decay"):
            check_range(group, name)
        if group["nesterov"] and not group["momentum"]:
            raise ValueError(located("nesterov needs a momentum, found momentum=0"))

    def _rule(self, group: Group) -> Rule:
        rate, momentum = float(group["lr"]), float(group["momentum"])
        decay = float(group["weight_decay"])
        numbers = (rate, momentum or None, decay or None, bool(group["nesterov"]))
        return Rule(_sgd, ("momentum_buffer",) if momentum else (), numbers)


def _sgd(p: Node, g: Node, states: Nodes, numbers: Any, own: Nodes) -> Nodes:
    rate, momentum, decay, nesterov = numbers
    if decay is not None:
        g = g + decay * p
    if momentum is None:
        return (p - rate * g,)
    (v,) = states
    v = momentum * v + g
    return p - rate * (g + momentum * v if nesterov else v), v
