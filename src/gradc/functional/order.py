"""Running sums and products, and what depends on the order of elements."""

from __future__ import annotations

from typing import Any

from ..tracer.composite import Nodes, composite, static
from ..tracer.dtypes import float32
from ..tracer.errors import ShapeError, located
from ..tracer.ir import Node, node
from ..tracer.methods import mean_of
from ..tracer.ops import elementwise as e
from ..tracer.ops import reduction, scan
from ..tracer.ops import sort as sorting
from ..tracer.ops.kinds import cast_to, normalized_axis
from ..tracer.ops.movement import reshape, slice_, transpose
from .indexing import as_places, taken_along

__all__ = [
    "argsort",
    "cumprod",
    "cumsum",
    "diff",
    "median",
    "sort",
    "topk",
    "topk_accuracy",
]


@composite
def cumsum(inp: Node, axis: int) -> Node:
    """The sums of the elements so far along `axis`; bool and small integers are summed in int32."""
    return scan.cumsum(inp, normalized_axis("cumsum", axis, inp.ndim))


@composite
def cumprod(inp: Node, axis: int) -> Node:
    """The products of the elements so far along `axis`; the derivative is exact beside zeros."""
    return scan.cumprod(inp, normalized_axis("cumprod", axis, inp.ndim))


@composite
def diff(inp: Node, n: int = 1, axis: int = -1) -> Node:
    """The differences of neighbours along `axis`, taken `n` times."""
    axis = normalized_axis("diff", axis, inp.ndim)
    for _ in range(n):
        inp = slice_(inp, axis, 1, None) - slice_(inp, axis, None, -1)
    return inp


# ---- order


def _last(x: Node, axis: int) -> Node:
    """`x` with `axis` brought to the end; `_back` is the way back."""
    order = (*(i for i in range(x.ndim) if i != axis), axis)
    return transpose(x, order)


def _back(x: Node, axis: int) -> Node:
    order = list(range(x.ndim - 1))
    order.insert(axis, x.ndim - 1)
    return transpose(x, tuple(order))


def _order(x: Node, descending: bool, count: int) -> Node:
    return node(sorting.argsort, (x,), (bool(descending), count))


def _chosen(name: str, x: Node, axis: int, descending: bool, low: int, high: int) -> Nodes:
    """The values and places number `low` to `high` of each line in order, along `axis`."""
    axis = normalized_axis(name, axis, x.ndim)
    lines = _last(x, axis)
    places = slice_(_order(lines, descending, high), x.ndim - 1, low, high)
    return _back(taken_along(lines, x.ndim - 1, places), axis), _back(places, axis)


@composite
def argsort(inp: Node, descending: bool = False, axis: int = -1) -> Node:
    """The places (int32) of the elements along `axis` in their order; equal ones keep theirs.

    NaN counts as larger than all numbers.
    """
    axis = normalized_axis("argsort", axis, inp.ndim)
    return _back(_order(_last(inp, axis), descending, inp.shape[axis]), axis)


@composite
def sort(inp: Node, descending: bool = False, axis: int = -1) -> Nodes:
    """The elements along `axis` in their order, and where each comes from; see argsort."""
    extent = inp.shape[normalized_axis("sort", axis, inp.ndim)]
    return _chosen("sort", inp, axis, descending, 0, extent)


def _check_count(name: str, k: int, extent: int, least: int) -> None:
    if extent < least:
        raise ShapeError(located(f"{name}: no elements in a line, found {k} asked for"))
    if not least <= k <= extent:
        expected = f"expected a number from {least} to {extent}"
        raise ShapeError(located(f"{name}: {expected}, the elements of a line, found {k}"))


@composite
def _topk(inp: Node, k: int, descending: bool, axis: int) -> Nodes:
    return _chosen("topk", inp, axis, descending, 0, _cut(inp, k, axis, 0))


@composite
def _kth(inp: Node, k: int, descending: bool, axis: int) -> Nodes:
    k = _cut(inp, k, axis, 1)
    axis = normalized_axis("topk", axis, inp.ndim)
    shape = (*inp.shape[:axis], *inp.shape[axis + 1 :])
    values, places = _chosen("topk", inp, axis, descending, k - 1, k)
    return reshape(values, shape), reshape(places, shape)


def _cut(inp: Node, k: int, axis: int, least: int) -> int:
    """`k`, or the number of elements of a line where that is less."""
    extent = inp.shape[normalized_axis("topk", axis, inp.ndim)]
    _check_count("topk", min(k, extent), extent, least)
    return min(k, extent)


def topk(
    inp: Any,
    k: int,
    descending: bool = True,
    kth_only: bool = False,
    no_sort: bool = False,
    axis: int = -1,
) -> Any:
    """The `k` largest (without `descending`: smallest) elements along `axis`, and their places.

    All of them where there are fewer. They are in order, whether that is asked for or not. With
    `kth_only`, the k-th value and its place.
    """
    return _kth(inp, k, descending, axis) if kth_only else _topk(inp, k, descending, axis)


@composite
def median(inp: Node, axis: int | None = None, keepdims: bool = False) -> Node:
    """The middle element in order along `axis` (None: of all), or the mean of the two middle ones.

    NaN where one is, as NaN counts as largest.
    """
    x = e.to_float(inp)
    if axis is None:
        shape = (1,) * x.ndim if keepdims else ()
        x, axis = reshape(x, (x.type.size,)), 0
    else:
        axis = normalized_axis("median", axis, x.ndim)
        shape = (*x.shape[:axis], *((1,) if keepdims else ()), *x.shape[axis + 1 :])
    extent = x.shape[axis]
    if not extent:
        raise ShapeError(located(f"median: no elements along axis {axis} of {list(inp.shape)}"))
    values, _ = _chosen("median", x, axis, False, 0, extent)
    middle = slice_(values, axis, (extent - 1) // 2, extent // 2 + 1)
    largest = slice_(values, axis, extent - 1, extent)
    made = mean_of(middle, axis)
    return reshape(e.where(e.isnan(largest), largest, made), shape)


@composite
def _accuracy(logits: Node, target: Node, k: int) -> Node:
    if logits.ndim != 2 or target.shape != logits.shape[:1]:
        shapes = f"{list(logits.shape)} and {list(target.shape)}"
        raise ShapeError(
            located(f"topk_accuracy: expected (lines, classes) and (lines,), found {shapes}")
        )
    _check_count("topk_accuracy", k, logits.shape[1], 1)
    label = reshape(as_places(target, logits.shape[1], negative=False), (target.shape[0], 1))
    hits = reduction.max(e.eq(_order(logits, True, k), label), (1,))
    return mean_of(cast_to(hits, float32), None, keepdims=False)


def topk_accuracy(logits: Any, target: Any, topk: Any = 1) -> Any:
    """The share of lines whose target is among the `topk` largest; a list for several numbers."""
    counts = static(topk)
    if isinstance(counts, int):
        return _accuracy(logits, target, counts)
    made = [_accuracy(logits, target, each) for each in counts]
    return made[0] if len(made) == 1 else made
