"""Clipping of gradients, recorded together with the step that follows."""

from __future__ import annotations

import math
from collections.abc import Iterable
from functools import reduce
from typing import Any

import numpy as np

from ..arguments import number
from ..tracer.dtypes import float32, promote
from ..tracer.errors import located
from ..tracer.ir import Node, labelled
from ..tracer.no_grad import no_grad
from ..tracer.ops import elementwise as e
from ..tracer.ops import movement, reduction
from ..tracer.ops.kinds import cast_to
from ..tracer.ops.sources import constant_like
from ..tracer.recording import THREAD
from ..tracer.tensor import Tensor
from ..tracer.value import waiting
from .update import Nodes, gradient_of, recorded, wait

TINY = 1e-6
"""Added to the norm, so that a gradient of zeros can be divided by it."""


def clip_grad_norm(tensors: Tensor | Iterable[Tensor], max_norm: float, ord: float = 2.0) -> Tensor:
    """Scale the gradients of `tensors` so that the norm of all together is at most `max_norm`.

    Gives the norm that they had. `ord` is a positive number, or infinity for the largest element.
    """
    order, limit = (
        number("clip_grad_norm", "ord", ord),
        number("clip_grad_norm", "max_norm", max_norm, 0),
    )
    if not order > 0:
        raise ValueError(located(f"clip_grad_norm: expected a positive ord, found {order}"))
    reached = _with_gradient(tensors)
    if not reached:
        return Tensor(np.float32(0.0))
    recording = THREAD.recording
    with no_grad():
        gradients = tuple([gradient_of(recording, each) for each in reached])
        wide = reduce(promote, [each.dtype for each in gradients], float32)
        bound = recording.own_number(limit, wide)
        norm, *made = recorded(recording, _norm_clipped, gradients, bound, order)
        for each, node in zip(reached, made, strict=True):
            wait(each.grad, node, recording)
        return waiting(norm, recording)


def clip_grad_value(tensors: Tensor | Iterable[Tensor], lower: float, upper: float) -> None:
    """Bring each element of the gradients of `tensors` between `lower` and `upper`."""
    low, high = (
        number("clip_grad_value", name, each) for name, each in (("lower", lower), ("upper", upper))
    )
    if low > high:
        expected = f"expected lower <= upper, found {low} and {high}"
        raise ValueError(located(f"clip_grad_value: {expected}"))
    reached = _with_gradient(tensors)
    recording = THREAD.recording
    with no_grad():
        for each in reached:
            gradient = gradient_of(recording, each)
            bounds = (recording.own_number(x, gradient.dtype) for x in (low, high))
            (made,) = recorded(recording, _value_clipped, gradient, *bounds)
            wait(each.grad, made, recording)


def _with_gradient(tensors: Tensor | Iterable[Tensor]) -> list[Tensor]:
    if not isinstance(tensors, Iterable):
        raise TypeError(located(f"expected tensors with gradients, found {tensors!r}"))
    listed = [tensors] if isinstance(tensors, Tensor) else list(tensors)
    for each in listed:
        if not isinstance(each, Tensor):
            raise TypeError(located(f"expected tensors with gradients, found {each!r}"))
    reached = [each for each in dict.fromkeys(listed) if each.grad is not None]
    for each in reached:
        if not isinstance(each.grad, Tensor):
            each.grad = Tensor(each.grad, each._node.dtype)
    return reached


def _norm_clipped(gradients: Nodes, limit: Node, order: float) -> Nodes:
    """The norm of all gradients, then each of them, scaled."""
    with labelled("clip_grad_norm"):
        wide = limit.dtype
        norm = _norm([cast_to(each, wide) for each in gradients], order)
        factor = e.minimum(limit / (norm + TINY), constant_like(1, norm))
        return norm, *(cast_to(cast_to(each, wide) * factor, each.dtype) for each in gradients)


def _norm(gradients: list[Node], order: float) -> Node:
    """(sum |g|^order)^(1/order) over all elements of all gradients."""
    if order == math.inf:
        return reduce(e.maximum, [_reduced(reduction.max, e.abs(each)) for each in gradients])
    if order == 2:
        total = reduce(e.add, [_reduced(reduction.sum, each * each) for each in gradients])
        return e.sqrt(total)
    powers = [e.to_power(e.abs(each), order) for each in gradients]
    total = reduce(e.add, [_reduced(reduction.sum, each) for each in powers])
    return e.to_power(total, 1 / order)


def _reduced(function: Any, x: Node) -> Node:
    """A reduction over all axes, to a scalar."""
    made: Node = function(x, tuple(range(x.ndim))) if x.ndim else x
    return movement.reshape(made, ()) if x.ndim else made


def _value_clipped(g: Node, lower: Node, upper: Node) -> Nodes:
    with labelled("clip_grad_value"):
        return (e.where(g < lower, lower, e.where(g > upper, upper, g)),)
