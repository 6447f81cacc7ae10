"""Diagonals, triangles and grids."""

from __future__ import annotations

from typing import Any

from ..tracer.composite import Nodes, composite
from ..tracer.dtypes import int32
from ..tracer.errors import ShapeError, located
from ..tracer.ir import Node
from ..tracer.methods import without_axes
from ..tracer.ops import elementwise as e
from ..tracer.ops import reduction
from ..tracer.ops.kinds import broadcast_shapes, normalized_axis
from ..tracer.ops.movement import broadcast, pad, reshape, slice_, transpose
from ..tracer.ops.sources import constant_like, constant_of
from .creation import ramp

__all__ = [
    "broadcast_arrays",
    "broadcast_tensors",
    "diag",
    "diagonal",
    "meshgrid",
    "trace",
    "tril",
    "triu",
]


def diagonal_of(x: Node, first: int, second: int, offset: int = 0) -> Node:
    """The elements x[i, i + offset] of two axes, along a new last axis.

    In the flat order of a matrix of n columns they are n + 1 apart.
    """
    rest = tuple(axis for axis in range(x.ndim) if axis not in (first, second))
    x = transpose(x, (*rest, first, second))
    lead, (rows, columns) = x.shape[:-2], x.shape[-2:]
    begin = offset if offset >= 0 else -offset * columns
    count = max(min(rows, columns - offset) if offset >= 0 else min(rows + offset, columns), 0)
    lines = reshape(x, (*lead, rows * columns))
    end = begin + (count - 1) * (columns + 1) + 1 if count else begin
    return slice_(lines, len(lead), begin, end, columns + 1)


def _two_axes(name: str, x: Node, axis1: int, axis2: int) -> tuple[int, int]:
    first, second = (normalized_axis(name, each, x.ndim) for each in (axis1, axis2))
    if first == second:
        raise ShapeError(located(f"{name}: expected two axes, found {axis1} and {axis2}"))
    return first, second


@composite
def diagonal(x: Node, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Node:
    """The elements x[i, i + offset] of two axes, along a new last axis."""
    return diagonal_of(x, *_two_axes("diagonal", x, axis1, axis2), offset)


@composite
def diag(inp: Node, k: int = 0) -> Node:
    """The diagonal number k of a matrix, or the matrix whose diagonal number k is the vector."""
    if inp.ndim == 2:
        return diagonal_of(inp, 0, 1, k)
    if inp.ndim != 1:
        found = f"expected a vector or a matrix, found the shape {list(inp.shape)}"
        raise ShapeError(located(f"diag: {found}"))
    count = inp.shape[0]
    rows = count + abs(k)
    if not count:
        return broadcast(constant_like(0, inp), (rows, rows))
    begin = k if k >= 0 else -k * rows
    behind = rows * rows - begin - ((count - 1) * (rows + 1) + 1)
    return reshape(pad(inp, (begin,), (behind,), (rows,)), (rows, rows))


@composite
def trace(x: Node, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Node:
    """The sum of the elements x[i, i + offset]."""
    line = diagonal_of(x, *_two_axes("trace", x, axis1, axis2), offset)
    last = (line.ndim - 1,)
    return without_axes(reduction.sum(line, last), last)


def below(x: Node, k: int) -> Node:
    """A mask of the last two axes of x: whether column - row <= k."""
    if x.ndim < 2:
        found = f"expected a matrix, found the shape {list(x.shape)}"
        raise ShapeError(located(f"triangle: {found}"))
    shape = x.shape[-2:]
    rows, columns = (ramp(0, int32, axis, shape) for axis in (0, 1))
    return e.le(columns - rows, constant_of(k, int32))


@composite
def tril(x: Node, k: int = 0) -> Node:
    """x with zeros above the diagonal number k of its last two axes."""
    return e.where(below(x, k), x, constant_like(0, x))


@composite
def triu(x: Node, k: int = 0) -> Node:
    """x with zeros below the diagonal number k of its last two axes."""
    return e.where(below(x, k - 1), constant_like(0, x), x)


@composite
def _meshgrid(inputs: Nodes, indexing: str) -> Nodes:
    if indexing not in ("xy", "ij"):
        raise ValueError(located(f"meshgrid: expected xy or ij, found {indexing!r}"))
    flat = [reshape(each, (each.type.size,)) for each in inputs]
    order = list(range(len(flat)))
    if indexing == "xy":
        order[:2] = reversed(order[:2])
    shape = tuple(flat[which].shape[0] for which in order)
    return tuple(
        broadcast(
            reshape(each, tuple(each.type.size if which == k else 1 for which in order)), shape
        )
        for k, each in enumerate(flat)
    )


def meshgrid(*inputs: Any, indexing: str = "xy") -> Any:
    """The coordinates of a grid: input k, repeated along all other axes.

    With the indexing "xy" the second input runs along the first axis and the first along the
    second, with "ij" each along its own.
    """
    return _meshgrid(inputs, indexing)


@composite
def _broadcast_arrays(inputs: Nodes) -> Nodes:
    shape = broadcast_shapes("broadcast_arrays", tuple(each.shape for each in inputs) or ((),))
    return tuple(broadcast(each, shape) for each in inputs)


def broadcast_arrays(*inputs: Any) -> Any:
    """The inputs, each as large as all of them together."""
    return _broadcast_arrays(inputs)


broadcast_tensors = broadcast_arrays
