"""LAMB: Adam whose steps are as long as the parameters are."""

from __future__ import annotations

from typing import Any

from ..tracer.ir import Node
from ..tracer.ops import elementwise as e
from ..tracer.ops import reduction
from ..tracer.ops.movement import reshape
from ..tracer.ops.sources import constant_like
from .optimizer import Group, Optimizer, check_betas, check_range
from .update import Nodes, Rule


class LAMB(Optimizer):
    """LAMB (You et al., 2019), with weights b, c = `betas` in step t.

    m = b m + (1 - b) g, v = c v + (1 - c) g², d = m' / (√v' + eps) + weight_decay p with the means
    m' = m / (1 - bᵗ) and v' = v / (1 - cᵗ), or m and v themselves without `bias_correction`. Then
    p = p - lr d |p| / |d|. The ratio of the norms is 1 where one of them is 0, and, unless
    `always_adapt`, without a weight decay.
    """

    def __init__(
        self,
        params: Any,
        lr: float,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        bias_correction: bool = True,
        weight_decay: float = 0.0,
        always_adapt: bool = False,
    ) -> None:
        numbers = {"lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay}
        choices = {"bias_correction": bias_correction, "always_adapt": always_adapt}
        super().__init__(params, {**numbers, **choices})

    def _check(self, group: Group) -> None:
        for name in ("lr", "eps", "weight_decay"):
            check_range(group, name)
        check_betas(group)

    def _rule(self, group: Group) -> Rule:
        decay = float(group["weight_decay"])
        first, second = (float(each) for each in group["betas"])
        means = (first, 1 - first, second, 1 - second)
        correct = bool(group["bias_correction"])

        def corrected(t: int) -> tuple[float, ...]:
            return (1 / (1 - first**t), 1 / (1 - second**t)) if correct else (1.0, 1.0)

        adapt = bool(group["always_adapt"]) or decay != 0
        numbers = (float(group["lr"]), *means, float(group["eps"]), decay or None, adapt)
        return Rule(_lamb, ("exp_avg", "exp_avg_sq"), numbers, corrected)


def _lamb(p: Node, g: Node, states: Nodes, numbers: Any, own: Nodes) -> Nodes:
    rate, b, rest_b, c, rest_c, eps, decay, adapt = numbers
    m, v = states
    m = b * m + rest_b * g
    v = c * v + rest_c * (g * g)
    d = own[0] * m / (e.sqrt(own[1] * v) + eps)
    if decay is not None:
        d = d + decay * p
    return p - rate * (_ratio(p, d) * d if adapt else d), m, v


def _ratio(p: Node, d: Node) -> Node:
    """|p| / |d|, and 1 where one of them is 0."""
    of_p, of_d = _norm(p), _norm(d)
    zero, one = constant_like(0, of_p), constant_like(1, of_p)
    both = e.bit_and(e.gt(of_p, zero), e.gt(of_d, zero))
    return e.where(both, of_p / e.where(both, of_d, one), one)


def _norm(x: Node) -> Node:
    total = reduction.sum(x * x, tuple(range(x.ndim))) if x.ndim else x * x
    return e.sqrt(reshape(total, (1,) * x.ndim))
