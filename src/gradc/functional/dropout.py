"""Dropout."""

from __future__ import annotations

from typing import Any

from ..generator import GENERATOR
from ..random import number, unit
from ..tracer.arguments import NUMBER
from ..tracer.composite import composite, static
from ..tracer.dtypes import bool_, float32, float64
from ..tracer.errors import located
from ..tracer.ir import Node
from ..tracer.ops import elementwise as e
from ..tracer.ops.kinds import cast_to
from ..tracer.ops.sources import constant_like, constant_of
from ..tracer.tensor import Tensor

__all__ = ["dropout"]


def dropped(x: Node, key: Node, stream: Node, probability: Node) -> Node:
    """x / (1 - `probability`) where the random numbers of the stream are not below it, else 0."""
    drawn = unit(key, stream, x.shape, probability.dtype)
    scale = cast_to(1.0 / (1.0 - probability), x.dtype)
    return e.where(drawn >= probability, x * scale, constant_like(0, x))


@composite
def _dropout(inp: Node, key: Node, stream: Node, probability: Node) -> Node:
    return dropped(e.to_float(inp), key, stream, probability)


@composite
def _all_dropped(inp: Node) -> Node:
    x = e.to_float(inp)
    return e.where(constant_of(0, bool_), x, constant_like(0, x))


def probability_of(name: str, value: Any) -> float:
    """`value` as a probability; an error where it is none."""
    chance = static(value, f"{name}: probability: ")
    NUMBER.check(name, "a probability", chance)
    if not 0 <= chance <= 1:
        raise ValueError(located(f"{name}: expected a probability from 0 to 1, found {value}"))
    return float(chance)


def dropout(inp: Any, drop_prob: Any, training: bool = True) -> Tensor:
    """Elements set to 0 with the probability `drop_prob`, the others divided by 1 - `drop_prob`.

    Every call chooses anew; the derivative goes through the elements that were kept. Without
    `training`, `inp` itself.
    """
    chance = probability_of("dropout", drop_prob)
    x = inp if isinstance(inp, Tensor) else Tensor(inp)
    if not training or chance == 0:
        return x
    exact = number(chance, float64 if x._node.dtype is float64 else float32)
    made: Tensor = _all_dropped(x) if chance == 1 else _dropout(x, *GENERATOR.draw(), exact)
    return made
