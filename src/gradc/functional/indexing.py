"""Elements at places that other tensors name; they are checked when the program runs."""

from __future__ import annotations

from ..tracer.composite import composite, weakly
from ..tracer.dtypes import int32, int64
from ..tracer.errors import DTypeError, ShapeError, located
from ..tracer.ir import Node, node
from ..tracer.ops import elementwise as e
from ..tracer.ops import markers, movement, reduction, sources
from ..tracer.ops.indexing import place, scatter_add_op, scatter_set_op, take_op
from ..tracer.ops.kinds import cast_to, normalized_axis
from ..tracer.ops.sources import constant_like, constant_of

__all__ = [
    "embedding",
    "gather",
    "index_select",
    "indexing_one_hot",
    "one_hot",
    "scatter",
    "scatter_add",
    "take",
    "take_along_axis",
]


def as_places(index: Node, size: int, negative: bool = True) -> Node:
    """`index` as places among `size`; counted from the end where negative, if that is allowed."""
    if index.dtype.is_float:
        raise DTypeError(located(f"expected integers as index or label, found {index.type}"))
    return place(index, size, negative)


def taken_from_flat(flat: Node, places: Node) -> Node:
    """The elements of a vector at `places`, which are known to lie within it."""
    return node(take_op, (flat, places), (0,))


@composite
def take(inp: Node, axis: int, index: Node) -> Node:
    """The lines of `inp` at `index` along `axis`; the axes of `index` stand in its place."""
    axis = normalized_axis("take", axis, inp.ndim)
    return node(take_op, (inp, as_places(index, inp.shape[axis])), (axis,))


index_select = take


@composite
def embedding(
    inp: Node,
    weight: Node,
    padding_idx: int | None = None,
    max_norm: float | None = None,
    norm_type: float | None = None,
) -> Node:
    """The rows of `weight` that `inp` names; no derivative goes to the row `padding_idx`."""
    if max_norm is not None or norm_type is not None:
        raise ValueError(located("embedding: max_norm and norm_type are not supported"))
    size = weight.shape[0] if weight.ndim else 0
    places = as_places(inp, size)
    rows = node(take_op, (weight, places), (0,))
    if padding_idx is None:
        return rows
    if not -size <= padding_idx < size:
        found = f"expected a row from {-size} to {size - 1}, found {padding_idx}"
        raise ShapeError(located(f"embedding: padding_idx: {found}"))
    padded = e.eq(places, constant_of(padding_idx % size, places.dtype))
    mask = movement.reshape(padded, (*padded.shape, *(1,) * (weight.ndim - 1)))
    return e.where(mask, node(markers.stop, (rows,)), rows)


# ---- one place for each element


def _flat_places(name: str, x: Node, axis: int, index: Node) -> Node:
    """Of each element of `index`: the place in the flat x that it names along `axis`."""
    fits = index.ndim == x.ndim and all(
        i == axis or have <= want
        for i, (have, want) in enumerate(zip(index.shape, x.shape, strict=True))
    )
    if not fits:
        shapes = f"{list(index.shape)} for {list(x.shape)}"
        raise ShapeError(located(f"{name}: the index does not fit, found {shapes}"))
    here = as_places(index, x.shape[axis])
    return _flattened(x, axis, here)


def _flattened(x: Node, axis: int, here: Node) -> Node:
    """`here`, places along `axis`, as places in the flat x."""
    kind = int64 if x.type.size >= 1 << 31 or here.dtype is int64 else int32
    total: Node | None = None
    for i, extent in enumerate(x.shape):
        at = node(sources.iota, (), (i, here.shape, kind)) if i != axis else cast_to(here, kind)
        total = at if total is None else total * constant_of(extent, kind) + at
    assert total is not None
    return total


def taken_along(x: Node, axis: int, places: Node) -> Node:
    """out[i, j] = x[places[i, j], j] for axis 0, and so on; the places are not checked."""
    flat = movement.reshape(x, (x.type.size,))
    return taken_from_flat(flat, _flattened(x, axis, places))


def _lines(x: Node, axis: int, index: Node) -> Node | None:
    """The places of whole lines along `axis`, where `index` names the same one for all of a line.

    Such an index is one vector that was broadcast.
    """
    if index.op is not movement.broadcast_op or index.ndim != x.ndim:
        return None
    (vector,) = index.inputs
    others = [i for i in range(x.ndim) if i != axis]
    first = index.ndim - vector.ndim
    same = all(i < first or vector.shape[i - first] == 1 for i in others)
    whole = all(index.shape[i] == x.shape[i] for i in others)
    if not same or not whole or vector.type.size != index.shape[axis]:
        return None
    return as_places(movement.reshape(vector, (index.shape[axis],)), x.shape[axis])


@composite
def gather(inp: Node, axis: int, index: Node) -> Node:
    """out[i, j] = inp[index[i, j], j] for axis 0, and so on; `index` has as many axes as `inp`."""
    axis = normalized_axis("gather", axis, inp.ndim)
    if (lines := _lines(inp, axis, index)) is not None:
        return node(take_op, (inp, lines), (axis,))
    flat = movement.reshape(inp, (inp.type.size,))
    return taken_from_flat(flat, _flat_places("gather", inp, axis, index))


@composite
def take_along_axis(inp: Node, indices: Node, axis: int) -> Node:
    """`gather` in NumPy's order of arguments."""
    axis = normalized_axis("take_along_axis", axis, inp.ndim)
    if (lines := _lines(inp, axis, indices)) is not None:
        return node(take_op, (inp, lines), (axis,))
    flat = movement.reshape(inp, (inp.type.size,))
    return taken_from_flat(flat, _flat_places("take_along_axis", inp, axis, indices))


@composite
@weakly(index=None)
def scatter(inp: Node, axis: int, index: Node, source: Node) -> Node:
    """`inp` after inp[index[i, j], j] = source[i, j] for axis 0, and so on; the last one stays."""
    axis = normalized_axis("scatter", axis, inp.ndim)
    if (lines := _lines(inp, axis, index)) is not None:
        return node(scatter_set_op, (inp, lines, _updates("scatter", source, inp, index)), (axis,))
    flat = movement.reshape(inp, (inp.type.size,))
    places = _flat_places("scatter", inp, axis, index)
    updates = _updates("scatter", source, inp, index)
    return movement.reshape(node(scatter_set_op, (flat, places, updates), (0,)), inp.shape)


@composite
@weakly(index=None)
def scatter_add(inp: Node, axis: int, index: Node, source: Node) -> Node:
    """`inp` after inp[index[i, j], j] += source[i, j] for axis 0, and so on."""
    axis = normalized_axis("scatter_add", axis, inp.ndim)
    if (lines := _lines(inp, axis, index)) is not None:
        updates = _updates("scatter_add", source, inp, index)
        return node(scatter_add_op, (inp, lines, updates), (axis,))
    flat = movement.reshape(inp, (inp.type.size,))
    places = _flat_places("scatter_add", inp, axis, index)
    updates = _updates("scatter_add", source, inp, index)
    return movement.reshape(node(scatter_add_op, (flat, places, updates), (0,)), inp.shape)


def _updates(name: str, source: Node, x: Node, index: Node) -> Node:
    """`source` as large as `index`: the elements beyond it are left out."""
    fits = source.ndim == x.ndim and all(
        have >= want for have, want in zip(source.shape, index.shape, strict=True)
    )
    if not source.ndim:
        return movement.broadcast(cast_to(source, x.dtype), index.shape)
    if not fits:
        found = f"expected a source of the shape {list(index.shape)}, found {list(source.shape)}"
        raise ShapeError(located(f"{name}: {found}"))
    for axis, extent in enumerate(index.shape):
        source = movement.slice_(source, axis, 0, extent)
    return cast_to(source, x.dtype)


# ---- places as masks


def is_at(index: Node, shape: tuple[int, ...], axis: int, negative: bool = True) -> Node:
    """A mask of `shape`: whether the position along `axis` is the one that `index` names.

    `index` has the other axes of `shape`, or all with extent 1 at `axis`.
    """
    places = as_places(index, shape[axis], negative)
    kept = (*shape[:axis], 1, *shape[axis + 1 :])
    ramp = node(sources.iota, (), (axis, shape, places.dtype))
    return e.eq(ramp, movement.reshape(places, kept))


@composite
def one_hot(inp: Node, num_classes: int) -> Node:
    """A new last axis (int32) with 1 at the place that `inp` names, else 0."""
    shape = (*inp.shape, num_classes)
    return cast_to(is_at(inp, shape, inp.ndim, negative=False), int32)


@composite
def indexing_one_hot(src: Node, index: Node, axis: int = 1, keepdims: bool = False) -> Node:
    """The element of each line of `src` along `axis` that `index` names."""
    axis = normalized_axis("indexing_one_hot", axis, src.ndim)
    expected = (*src.shape[:axis], *src.shape[axis + 1 :])
    if index.shape not in (expected, (*src.shape[:axis], 1, *src.shape[axis + 1 :])):
        found = f"expected an index of shape {list(expected)}, found {list(index.shape)}"
        raise ShapeError(located(f"indexing_one_hot: {found}"))
    picked = e.where(is_at(index, src.shape, axis), src, constant_like(0, src))
    made = cast_to(reduction.sum(picked, (axis,)), src.dtype)
    return made if keepdims else movement.reshape(made, (*src.shape[:axis], *src.shape[axis + 1 :]))
