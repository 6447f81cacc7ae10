"""Adam, and Adam with decoupled weight decay."""

from __future__ import annotations

import math
from typing import Any

from ..tracer.ir import Node
from ..tracer.ops import elementwise as e
from .optimizer import Group, Optimizer, check_betas, check_range
from .update import Nodes, Rule

STATES = ("exp_avg", "exp_avg_sq")


class Adam(Optimizer):
    """Adam (Kingma and Ba, 2014), with weights b, c = `betas` in step t.

    m = b m + (1 - b) g, v = c v + (1 - c) g², p = p - lr m' / (√v' + eps) with the means
    m' = m / (1 - bᵗ) and v' = v / (1 - cᵗ). `weight_decay` adds that share of p to g.
    """

    def __init__(
        self,
        params: Any,
        lr: float,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0.0,
    ) -> None:
        numbers = {"lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay}
        super().__init__(params, numbers)

    def _check(self, group: Group) -> None:
        for name in ("lr", "eps", "weight_decay"):
            check_range(group, name)
        check_betas(group)

    def _rule(self, group: Group) -> Rule:
        return _adam_rule(group, float(group["weight_decay"]), 0.0)


class AdamW(Adam):
    """Adam whose weight decay does not go through the means: p = p - lr weight_decay p first."""

    def __init__(
        self,
        params: Any,
        lr: float,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0.01,
    ) -> None:
        super().__init__(params, lr, betas, eps, weight_decay)

    def _rule(self, group: Group) -> Rule:
        return _adam_rule(group, 0.0, float(group["weight_decay"]))


def _adam_rule(group: Group, decay: float, shrink: float) -> Rule:
    """The rule of both; what depends on t alone is computed here, in double precision."""
    rate, eps = float(group["lr"]), float(group["eps"])
    first, second = (float(each) for each in group["betas"])
    means = (first, 1 - first, second, 1 - second)

    def corrected(t: int) -> tuple[float, ...]:
        return rate / (1 - first**t), 1 / math.sqrt(1 - second**t)

    shrinking = rate * shrink if shrink else None
    return Rule(_adam, STATES, (*means, eps, decay or None, shrinking), corrected)


def _adam(p: Node, g: Node, states: Nodes, numbers: Any, own: Nodes) -> Nodes:
    b, rest_b, c, rest_c, eps, decay, shrink = numbers
    rate, scale = own
    if decay is not None:
        g = g + decay * p
    m, v = states
    m = b * m + rest_b * g
    v = c * v + rest_c * (g * g)
    step = rate * m / (e.sqrt(v) * scale + eps)
    return (p if shrink is None else p - shrink * p) - step, m, v
