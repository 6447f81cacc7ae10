"""Adagrad."""

from __future__ import annotations

from typing import Any

from ..tracer.ir import Node
from ..tracer.ops import elementwise as e
from .optimizer import Group, Optimizer, check_range
from .update import Nodes, Rule


class Adagrad(Optimizer):
    """Adagrad (Duchi, Hazan and Singer, 2011): s = s + g², p = p - r g / (√s + eps).

    In step t, r = lr / (1 + (t - 1) lr_decay). `weight_decay` adds that share of p to g.
    """

    def __init__(
        self,
        params: Any,
        lr: float = 1e-2,
        lr_decay: float = 0.0,
        eps: float = 1e-10,
        weight_decay: float = 0.0,
    ) -> None:
        numbers = {"lr": lr, "lr_decay": lr_decay, "eps": eps, "weight_decay": weight_decay}
        super().__init__(params, numbers)

    def _check(self, group: Group) -> None:
        for name in ("lr", "lr_decay", "eps", "weight_decay"):
            check_range(group, name)

    def _rule(self, group: Group) -> Rule:
        rate, slowing = float(group["lr"]), float(group["lr_decay"])
        numbers = (float(group["eps"]), float(group["weight_decay"]) or None)
        own = lambda step: (rate / (1 + (step - 1) * slowing),)  # noqa: E731  # one expression
        return Rule(_adagrad, ("square_avg",), numbers, own)


def _adagrad(p: Node, g: Node, states: Nodes, numbers: Any, own: Nodes) -> Nodes:
    eps, decay = numbers
    (rate,), (s,) = own, states
    if decay is not None:
        g = g + decay * p
    s = s + g * g
    return p - rate * g / (e.sqrt(s) + eps), s
