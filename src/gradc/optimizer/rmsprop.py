"""RMSprop."""

from __future__ import annotations

from typing import Any

from ..tracer.ir import Node
from ..tracer.ops import elementwise as e
from ..tracer.ops.sources import constant_like
from .optimizer import Group, Optimizer, check_range
from .update import Nodes, Rule


class RMSprop(Optimizer):
    """RMSprop (Tieleman and Hinton, 2012): s = alpha s + (1 - alpha) g², p = p - lr d.

    d = g / (√s + eps); `centered` takes the square of a running mean of g from s before the root.
    With a `momentum`, p = p - lr v, where v = momentum v + d. `weight_decay` adds that share of p
    to g.
    """

    def __init__(
        self,
        params: Any,
        lr: float = 1e-2,
        alpha: float = 0.99,
        eps: float = 1e-8,
        weight_decay: float = 0.0,
        momentum: float = 0.0,
        centered: bool = False,
    ) -> None:
        numbers = {"lr": lr, "alpha": alpha, "eps": eps, "weight_decay": weight_decay}
        super().__init__(params, {**numbers, "momentum": momentum, "centered": centered})

    def _check(self, group: Group) -> None:
        for name in ("lr", "eps", "weight_decay", "momentum"):
            check_range(group, name)
        check_range(group, "alpha", 1.0)

    def _rule(self, group: Group) -> Rule:
        rate, alpha, eps = float(group["lr"]), float(group["alpha"]), float(group["eps"])
        decay, momentum = float(group["weight_decay"]), float(group["momentum"])
        centered = bool(group["centered"])
        names = {"square_avg": True, "grad_avg": centered, "momentum_buffer": bool(momentum)}
        states = tuple(name for name, kept in names.items() if kept)
        numbers = (rate, alpha, 1 - alpha, eps, decay or None, momentum or None, centered)
        return Rule(_rmsprop, states, numbers)


def _rmsprop(p: Node, g: Node, states: Nodes, numbers: Any, own: Nodes) -> Nodes:
    rate, alpha, rest, eps, decay, momentum, centered = numbers
    if decay is not None:
        g = g + decay * p
    s = alpha * states[0] + rest * (g * g)
    made: Nodes = (s,)
    square = s
    if centered:
        mean = alpha * states[1] + rest * g
        made, square = (s, mean), e.maximum(s - mean * mean, constant_like(0, s))
    d = g / (e.sqrt(square) + eps)
    if momentum is None:
        return p - rate * d, *made
    v = momentum * states[-1] + d
    return p - rate * v, *made, v
