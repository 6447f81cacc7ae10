"""Running sums and products along an axis."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..ir import Node, Shape
from . import movement
from .kinds import Scan


def _cumsum(x: Any, axis: int) -> Any:
    wide = np.float64 if x.dtype == np.float32 else x.dtype
    return np.cumsum(x, axis=axis, dtype=wide).astype(x.dtype)


def _cumprod(x: Any, axis: int) -> Any:
    return np.cumprod(x, axis=axis, dtype=x.dtype)


def _cumsum_vjp(g: Node, y: Node, x: Node, axis: int) -> tuple[Node]:
    """The cotangents of all that follow, added up."""
    return (movement.flip(cumsum(movement.flip(g, axis), axis), axis),)


def _shifted(x: Node, axis: int, distance: int) -> Node:
    """`x` moved by `distance` along `axis`, with ones in front."""
    nothing: Shape = (0,) * x.ndim
    front = (*nothing[:axis], distance, *nothing[axis + 1 :])
    kept = movement.slice_(x, axis, 0, x.shape[axis] - distance)
    return movement.pad(kept, front, nothing, fill=1)


def _cumprod_vjp(g: Node, y: Node, x: Node, axis: int) -> tuple[Node]:
    """The adjoint of the running products by doubling: products only, so exact beside zeros.

    After step s each element holds the product of the last 2^s factors (W. D. Hillis and
    G. L. Steele, Data parallel algorithms, CACM 29 (1986)).
    """
    levels, distance = [x], 1
    while distance < x.shape[axis]:
        levels.append(levels[-1] * _shifted(levels[-1], axis, distance))
        distance *= 2
    for level in reversed(levels[:-1]):
        distance //= 2
        g = g * _shifted(level, axis, distance) + _moved_back(g * level, axis, distance)
    return (g,)


def _moved_back(g: Node, axis: int, distance: int) -> Node:
    """The adjoint of `_shifted`, but for the ones."""
    nothing: Shape = (0,) * g.ndim
    behind = (*nothing[:axis], distance, *nothing[axis + 1 :])
    return movement.pad(movement.slice_(g, axis, distance, None), nothing, behind)


cumsum: Scan = Scan(
    "cumsum",
    combine="{a} + {x}",
    identity="0",
    reference=_cumsum,
    vjp=_cumsum_vjp,
    attributes=("axis",),
    doc="the sum of the elements so far; float32 is summed in float64",
)
cumprod: Scan = Scan(
    "cumprod",
    combine="{a} * {x}",
    identity="1",
    reference=_cumprod,
    vjp=_cumprod_vjp,
    attributes=("axis",),
    doc="the product of the elements so far; the derivative is exact beside zeros, to every order",
)
