"""The matrix product: all contractions are made of it."""

from __future__ import annotations

import math

import numpy as np

from ..dtypes import accumulator, promote
from ..errors import ShapeError, located
from ..ir import Node
from .kinds import Contraction, cast_to, operand_type
from .movement import reshape, transpose
from .reduction import sum_to_shape


def swapped(x: Node) -> Node:
    """`x` with its last two axes exchanged."""
    return transpose(x, (*range(x.ndim - 2), x.ndim - 1, x.ndim - 2))


def _matmul_vjp(g: Node, y: Node, a: Node, b: Node) -> tuple[Node, Node]:
    of_a = sum_to_shape(matmul_op(g, swapped(b)), a.shape)
    of_b = sum_to_shape(matmul_op(swapped(a), g), b.shape)
    return of_a, of_b


matmul_op: Contraction = Contraction(
    "matmul",
    reference=np.matmul,
    vjp=_matmul_vjp,
    doc="(..., m, k) times (..., k, n); half types are multiplied and summed in float32, integers "
    "in the type in which they are summed",
)


def matmul(a: Node, b: Node) -> Node:
    """NumPy's matmul: vectors are rows on the left and columns on the right, batches broadcast."""
    if not a.ndim or not b.ndim:
        shapes = f"{list(a.shape)} and {list(b.shape)}"
        raise ShapeError(located(f"matmul: expected at least one axis each, found {shapes}"))
    if a.shape[-1] != b.shape[max(b.ndim - 2, 0)]:
        expected = "expected as many columns on the left as rows on the right"
        found = f"found {a.shape[-1]} and {b.shape[max(b.ndim - 2, 0)]}"
        shapes = f"{list(a.shape)} and {list(b.shape)}"
        raise ShapeError(located(f"matmul: {expected}, {found} in {shapes}"))
    dtype = accumulator(operand_type("matmul", "number", promote(a.dtype, b.dtype)))
    row = reshape(a, (1, *a.shape)) if a.ndim == 1 else a
    column = reshape(b, (*b.shape, 1)) if b.ndim == 1 else b
    result = _product(cast_to(row, dtype), cast_to(column, dtype))
    if a.ndim == 1:
        result = reshape(result, (*result.shape[:-2], result.shape[-1]))
    return reshape(result, result.shape[:-1]) if b.ndim == 1 else result


def _product(a: Node, b: Node) -> Node:
    """The product; many rows against one matrix are one tall matrix."""
    if b.ndim > 2 or a.ndim == 2:
        return matmul_op(a, b)
    tall = reshape(a, (math.prod(a.shape[:-1]), a.shape[-1]))
    return reshape(matmul_op(tall, b), (*a.shape[:-1], b.shape[-1]))
