"""Products of vectors, matrices and tensors."""

from __future__ import annotations

from ..tracer.composite import composite
from ..tracer.errors import ShapeError, located
from ..tracer.ir import Node, Shape
from ..tracer.ops import contraction
from ..tracer.ops import elementwise as e
from ..tracer.ops.kinds import broadcast_shapes, cast_to, normalized_axis
from ..tracer.ops.movement import broadcast, concat, reshape, slice_
from .contract import contracted
from .reduction import norm_of

__all__ = [
    "bmm",
    "cdist",
    "cross",
    "dot",
    "inner",
    "kron",
    "linear",
    "matmul",
    "mm",
    "outer",
    "tensordot",
    "vdot",
]


def _turned(x: Node, turn: bool) -> Node:
    return contraction.swapped(x) if turn and x.ndim > 1 else x


@composite
def matmul(inp1: Node, inp2: Node, transpose_a: bool = False, transpose_b: bool = False) -> Node:
    """The product of matrices; vectors are rows on the left, columns on the right."""
    return contraction.matmul(_turned(inp1, transpose_a), _turned(inp2, transpose_b))


def _ranked(name: str, rank: int, x: Node, y: Node) -> None:
    if x.ndim != rank or y.ndim != rank:
        what = {1: "vectors", 2: "matrices", 3: "batches of matrices"}[rank]
        shapes = f"{list(x.shape)} and {list(y.shape)}"
        raise ShapeError(located(f"{name}: expected two {what}, found the shapes {shapes}"))


@composite
def mm(inp1: Node, inp2: Node) -> Node:
    """The product of two matrices."""
    _ranked("mm", 2, inp1, inp2)
    return contraction.matmul(inp1, inp2)


@composite
def bmm(inp1: Node, inp2: Node) -> Node:
    """The products of two batches of matrices."""
    _ranked("bmm", 3, inp1, inp2)
    return contraction.matmul(inp1, inp2)


@composite
def dot(inp1: Node, inp2: Node) -> Node:
    """The sum of the products of two vectors."""
    _ranked("dot", 1, inp1, inp2)
    return contraction.matmul(inp1, inp2)


@composite
def vdot(inp1: Node, inp2: Node) -> Node:
    """The sum of the products of all elements, in their flat order."""
    return contraction.matmul(*(reshape(each, (each.type.size,)) for each in (inp1, inp2)))


@composite
def linear(inp: Node, weight: Node, bias: Node | None = None) -> Node:
    """`inp` times the transposed `weight`, of shape (out, in), plus `bias`."""
    if weight.ndim == 2 and (not inp.ndim or inp.shape[-1] != weight.shape[1]):
        expected = f"expected {weight.shape[1]} features in the last axis"
        expected += f" for the weight {list(weight.shape)}"
        raise ShapeError(located(f"linear: {expected}, found {list(inp.shape)}"))
    product = contraction.matmul(inp, contraction.swapped(weight))
    return product if bias is None else product + bias


@composite
def outer(x: Node, y: Node) -> Node:
    """out[i, j] = x[i] y[j], of the elements in their flat order."""
    return e.mul(reshape(x, (x.type.size, 1)), reshape(y, (1, y.type.size)))


@composite
def inner(x: Node, y: Node) -> Node:
    """The products of all lines along the last axes of both, summed."""
    if not x.ndim or not y.ndim:
        return e.mul(x, y)
    return _tensordot(x, y, (x.ndim - 1,), (y.ndim - 1,))


@composite
def kron(x: Node, y: Node) -> Node:
    """The product of each element of x with the whole of y, as blocks of one tensor."""
    rank = max(x.ndim, y.ndim)
    left, right = ((1,) * (rank - each.ndim) + each.shape for each in (x, y))
    apart = reshape(x, tuple(n for extent in left for n in (extent, 1)))
    blocks = reshape(y, tuple(n for extent in right for n in (1, extent)))
    extents = tuple(a * b for a, b in zip(left, right, strict=True))
    return reshape(e.mul(apart, blocks), extents)


@composite
def tensordot(x: Node, y: Node, axes: int | tuple[int | tuple[int, ...], ...] = 2) -> Node:
    """The products of x and y summed over axes: the last so many of x with the first of y.

    Or over the pairs of `axes`, the axes of x and those of y.
    """
    if isinstance(axes, int):
        if not 0 <= axes <= min(x.ndim, y.ndim):
            found = f"found {axes} for {list(x.shape)} and {list(y.shape)}"
            raise ShapeError(located(f"tensordot: expected no more axes than there are, {found}"))
        return _tensordot(x, y, tuple(range(x.ndim - axes, x.ndim)), tuple(range(axes)))
    first, second = (
        tuple(normalized_axis("tensordot", each, rank) for each in _listed(given))
        for given, rank in zip(axes, (x.ndim, y.ndim), strict=True)
    )
    return _tensordot(x, y, first, second)


def _listed(given: int | tuple[int, ...]) -> tuple[int, ...]:
    return (given,) if isinstance(given, int) else given


def _tensordot(x: Node, y: Node, of_x: Shape, of_y: Shape) -> Node:
    extents = [x.shape[axis] for axis in of_x], [y.shape[axis] for axis in of_y]
    if extents[0] != extents[1]:
        found = f"found {extents[0]} and {extents[1]}"
        raise ShapeError(located(f"tensordot: expected axes of the same extents, {found}"))
    labels_x: list[int] = list(range(x.ndim))
    labels_y: list[int] = list(range(x.ndim, x.ndim + y.ndim))
    for axis, other in zip(of_x, of_y, strict=True):
        labels_y[other] = labels_x[axis]
    kept = [each for each in labels_x if each not in labels_y]
    kept += [each for each in labels_y if each not in labels_x]
    return contracted([(x, labels_x), (y, labels_y)], kept)


@composite
def cross(x: Node, y: Node, axis: int = -1) -> Node:
    """The vector product of three components along `axis`."""
    shape = broadcast_shapes("cross", (x.shape, y.shape))
    x, y = broadcast(x, shape), broadcast(y, shape)
    axis = normalized_axis("cross", axis, len(shape))
    if shape[axis] != 3:
        found = f"expected three components along axis {axis}, found {list(shape)}"
        raise ShapeError(located(f"cross: {found}"))
    a, b = ([slice_(each, axis, k, k + 1) for k in range(3)] for each in (x, y))
    parts = [e.sub(a[i] * b[j], a[j] * b[i]) for i, j in ((1, 2), (2, 0), (0, 1))]
    return concat(tuple(parts), axis)


@composite
def cdist(x: Node, y: Node, p: float = 2.0) -> Node:
    """The p-norms of all differences of a row of x and a row of y; the derivative at 0 is 0."""
    if min(x.ndim, y.ndim) < 2 or x.shape[-1] != y.shape[-1]:
        shapes = f"{list(x.shape)} and {list(y.shape)}"
        expected = "expected (..., rows, width) and (..., rows, width)"
        raise ShapeError(located(f"cdist: {expected}, found {shapes}"))
    rows = reshape(x, (*x.shape[:-1], 1, x.shape[-1]))
    others = reshape(y, (*y.shape[:-2], 1, *y.shape[-2:]))
    distance = e.sub(e.to_float(rows), e.to_float(others))
    return cast_to(norm_of(distance, p, -1, False), distance.dtype)
