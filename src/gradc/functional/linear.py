"""Products of vectors and matrices."""

from __future__ import annotations

from ..tracer.composite import composite
from ..tracer.errors import ShapeError, located
from ..tracer.ir import Node
from ..tracer.ops import contraction

__all__ = ["dot", "linear", "matmul"]


def _turned(x: Node, turn: bool) -> Node:
    return contraction.swapped(x) if turn and x.ndim > 1 else x


@composite
def matmul(x: Node, y: Node, transpose_a: bool = False, transpose_b: bool = False) -> Node:
    """The product of matrices; vectors are rows on the left, columns on the right."""
    return contraction.matmul(_turned(x, transpose_a), _turned(y, transpose_b))


@composite
def dot(x: Node, y: Node) -> Node:
    """The sum of the products of two vectors."""
    if x.ndim != 1 or y.ndim != 1:
        shapes = f"{list(x.shape)} and {list(y.shape)}"
        raise ShapeError(located(f"dot: expected two vectors, found the shapes {shapes}"))
    return contraction.matmul(x, y)


@composite
def linear(x: Node, weight: Node, bias: Node | None = None) -> Node:
    """x times the transposed `weight`, of shape (out, in), plus `bias`."""
    product = contraction.matmul(x, contraction.swapped(weight))
    return product if bias is None else product + bias
