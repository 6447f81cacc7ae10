"""Adadelta."""

from __future__ import annotations

from typing import Any

from ..tracer.ir import Node
from ..tracer.ops import elementwise as e
from .optimizer import Group, Optimizer, check_range
from .update import Nodes, Rule


class Adadelta(Optimizer):
    """Adadelta (Zeiler, 2012): p = p - lr d, where d = g √(u + eps) / √(s + eps).

    s and u are running means of g² and d²: s = rho s + (1 - rho) g². `weight_decay` adds that share
    of p to g.
    """

    def __init__(
        self,
        params: Any,
        lr: float = 1.0,
        rho: float = 0.9,
        eps: float = 1e-6,
        weight_decay: float = 0.0,
    ) -> None:
        super().__init__(params, {"lr": lr, "rho": rho, "eps": eps, "weight_decay": weight_decay})

    def _check(self, group: Group) -> None:
        for name in ("lr", "eps", "weight_decay"):
            check_range(group, name)
        check_range(group, "rho", 1.0)

    def _rule(self, group: Group) -> Rule:
        rate, rho, eps = float(group["lr"]), float(group["rho"]), float(group["eps"])
        numbers = (rate, rho, 1 - rho, eps, float(group["weight_decay"]) or None)
        return Rule(_adadelta, ("square_avg", "acc_delta"), numbers)


def _adadelta(p: Node, g: Node, states: Nodes, numbers: Any, own: Nodes) -> Nodes:
    rate, rho, rest, eps, decay = numbers
    s, u = states
    if decay is not None:
        g = g + decay * p
    s = rho * s + rest * (g * g)
    d = g * e.sqrt(u + eps) / e.sqrt(s + eps)
    return p - rate * d, s, rho * u + rest * (d * d)
