"""The arguments of a backward: its targets, and what their gradients are weighted with."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from .data import beside
from .errors import ShapeError, located
from .ir import Node, TensorType
from .operand import together
from .ops.kinds import cast_to
from .ops.movement import broadcast
from .ops.sources import full
from .recording import THREAD, Numbers, takes
from .tensor import Tensor


def targets_of(y: Any) -> list[Tensor]:
    """The targets as a list."""
    listed = [] if y is None else list(y) if isinstance(y, (list, tuple)) else [y]
    for each in listed:
        if not isinstance(each, Tensor):
            expected = "backward: expected a Tensor, or a list or tuple of them"
            raise TypeError(located(f"{expected}, found {each!r}"))
    return listed


def seeds_of(targets: list[Tensor], dy: Any) -> tuple[Node, ...]:
    """A cotangent for each target, of its shape and dtype."""
    if dy is None:
        return tuple([_ones(each._node.type) for each in targets])
    single = not isinstance(dy, (list, tuple))
    given = [together(each) for each in ([dy] if single else dy)]
    if len(given) != len(targets):
        found = f"found {len(given)} for {len(targets)}"
        raise RuntimeError(located(f"backward: expected one dy for each target, {found}"))
    return tuple(_seed(each, target) for each, target in zip(given, targets, strict=True))


@lru_cache(1_000)
def _ones(kind: TensorType) -> Node:
    return full(1, kind.shape, kind.dtype)


def _seed(dy: Any, target: Tensor) -> Node:
    recording, kind = THREAD.recording, target._node.type
    if dy is None:
        return _ones(kind)
    if isinstance(dy, Tensor):
        made = recording.node_of(dy)
    elif isinstance(dy, Numbers):
        made = recording.number(dy, kind.dtype)
    elif isinstance(dy, np.ndarray):
        takes(dy)
        made = recording.array(*beside(dy, kind.dtype))
    else:
        expected = "backward: expected a tensor, array or number as dy"
        raise TypeError(located(f"{expected}, found {dy!r}"))
    if not _broadcasts(made.shape, kind.shape):
        shapes = f"{list(made.shape)} for a target of shape {list(kind.shape)}"
        raise ShapeError(located(f"backward: dy does not broadcast, found {shapes}"))
    return broadcast(cast_to(made, kind.dtype), kind.shape)


def _broadcasts(shape: tuple[int, ...], to: tuple[int, ...]) -> bool:
    lead = len(to) - len(shape)
    pairs = zip(shape, to[max(lead, 0) :], strict=False)
    return lead >= 0 and all(have in (1, want) for have, want in pairs)
