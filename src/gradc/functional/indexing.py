"""Elements at places that other tensors name; they are checked when the program runs."""

from __future__ import annotations

from ..tracer.composite import composite
from ..tracer.dtypes import int32
from ..tracer.errors import DTypeError, ShapeError, located
from ..tracer.ir import Node, node
from ..tracer.ops import elementwise as e
from ..tracer.ops import movement, reduction, sources
from ..tracer.ops.indexing import place, scatter_set_op, take_op
from ..tracer.ops.kinds import cast_to, normalized_axis
from ..tracer.ops.sources import constant_like, constant_of

__all__ = ["embedding", "gather", "indexing_one_hot", "one_hot", "scatter", "take"]


def as_places(index: Node, size: int, negative: bool = True) -> Node:
    """`index` as places among `size`; counted from the end where negative, if that is allowed."""
    if index.dtype.is_float:
        raise DTypeError(located(f"expected integers as index or label, found {index.type}"))
    return place(index, size, negative)


@composite
def take(x: Node, axis: int, index: Node) -> Node:
    """The lines of x at `index` along `axis`; the axes of `index` stand in its place."""
    axis = normalized_axis("take", axis, x.ndim)
    return node(take_op, (x, as_places(index, x.shape[axis])), (axis,))


@composite
def embedding(inp: Node, weight: Node) -> Node:
    """The rows of `weight` that `inp` names."""
    return node(take_op, (weight, as_places(inp, weight.shape[0])), (0,))


def _flat_places(x: Node, axis: int, index: Node) -> Node:
    """Of each element of `index`: the place in the flat x that it names along `axis`."""
    fits = index.ndim == x.ndim and all(
        i == axis or have <= want
        for i, (have, want) in enumerate(zip(index.shape, x.shape, strict=True))
    )
    if not fits:
        shapes = f"{list(index.shape)} for {list(x.shape)}"
        raise ShapeError(located(f"gather: the index does not fit, found {shapes}"))
    here = as_places(index, x.shape[axis])
    total: Node | None = None
    for i, extent in enumerate(x.shape):
        at = here if i == axis else node(sources.iota, (), (i, index.shape, here.dtype))
        total = at if total is None else total * constant_of(extent, here.dtype) + at
    assert total is not None
    return total


@composite
def gather(x: Node, axis: int, index: Node) -> Node:
    """out[i, j] = x[index[i, j], j] for axis 0, and so on; `index` has as many axes as x."""
    axis = normalized_axis("gather", axis, x.ndim)
    flat = movement.reshape(x, (x.type.size,))
    return node(take_op, (flat, _flat_places(x, axis, index)), (0,))


@composite
def scatter(x: Node, axis: int, index: Node, source: Node) -> Node:
    """x after x[index[i, j], j] = source[i, j] for axis 0, and so on; the last writer stays."""
    axis = normalized_axis("scatter", axis, x.ndim)
    flat = movement.reshape(x, (x.type.size,))
    places = _flat_places(x, axis, index)
    made = node(scatter_set_op, (flat, places, cast_to(source, x.dtype)), (0,))
    return movement.reshape(made, x.shape)


def is_at(index: Node, shape: tuple[int, ...], axis: int, negative: bool = True) -> Node:
    """A mask of `shape`: whether the position along `axis` is the one that `index` names.

    `index` has the other axes of `shape`, or all with extent 1 at `axis`.
    """
    places = as_places(index, shape[axis], negative)
    kept = (*shape[:axis], 1, *shape[axis + 1 :])
    ramp = node(sources.iota, (), (axis, shape, places.dtype))
    return e.eq(ramp, movement.reshape(places, kept))


@composite
def one_hot(x: Node, num_classes: int) -> Node:
    """A new last axis (int32) with 1 at the place that x names, else 0."""
    shape = (*x.shape, num_classes)
    return cast_to(is_at(x, shape, x.ndim, negative=False), int32)


@composite
def indexing_one_hot(x: Node, index: Node, axis: int = 1, keepdims: bool = False) -> Node:
    """The element of each line of x along `axis` that `index` names."""
    axis = normalized_axis("indexing_one_hot", axis, x.ndim)
    picked = e.where(is_at(index, x.shape, axis), x, constant_like(0, x))
    made = reduction.sum(picked, (axis,))
    return made if keepdims else movement.reshape(made, (*x.shape[:axis], *x.shape[axis + 1 :]))
