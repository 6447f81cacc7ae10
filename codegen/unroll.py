"""Unrolling: a reduction over a small sliding window becomes a chain of operators on its elements.

As a loop it would run over a handful of strided elements for each result. As a chain it is fused
with its neighbours, and the loop that is left runs along the results, where lanes can be filled.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import product
from math import prod

from ..tracer.dtypes import int32
from ..tracer.ir import Node, Op
from ..tracer.ops import elementwise as e
from ..tracer.ops import movement, reduction, sources, window
from ..tracer.ops.kinds import cast_to

MOST_ELEMENTS = 32
LEAST_RESULTS = 64
DEPTH = 12

JOINS: dict[Op, Callable[[Node, Node], Node]] = {
    reduction.sum: e.add,
    reduction.prod: e.mul,
    reduction.max: e.maximum,
    reduction.min: e.minimum,
}


def unrolled(made: Node) -> Node | None:
    """The chain in place of the reduction `made`, if its lines are windows that are small."""
    (x,), (axes,) = made.inputs, made.attrs
    count = prod(x.shape[axis] for axis in axes)
    if not 1 < count <= MOST_ELEMENTS or made.type.size < LEAST_RESULTS or not _slides(x):
        return None
    elements = list(_elements(x, axes))
    if made.op in JOINS:
        return _joined(elements, JOINS[made.op])
    best = e.maximum if made.op is reduction.argmax else e.minimum
    return cast_to(_position(elements, best), made.dtype)


def _slides(x: Node) -> bool:
    """Whether the elements of `x` are those of windows."""
    front = [x]
    for _ in range(DEPTH):
        if any(each.op in (window.window_op, window.unwindow_op) for each in front):
            return True
        inner = [each for each in front if each.op.kind in ("elementwise", "movement")]
        front = list(dict.fromkeys(below for each in inner for below in each.inputs))
    return False


def _elements(x: Node, axes: tuple[int, ...]) -> Iterator[Node]:
    """For each place in a line: the elements there, of all lines."""
    sizes = tuple(1 if axis in axes else extent for axis, extent in enumerate(x.shape))
    for place in product(*(range(x.shape[axis]) for axis in axes)):
        starts = [0] * x.ndim
        for axis, start in zip(axes, place, strict=True):
            starts[axis] = start
        yield movement.stepped(x, tuple(starts), sizes, (1,) * x.ndim)


def _joined(elements: list[Node], join: Callable[[Node, Node], Node]) -> Node:
    """Pairs are joined, and pairs of these, so that no chain is longer than need be."""
    while len(elements) > 1:
        pairs = zip(elements[::2], elements[1::2], strict=False)
        odd = elements[-1:] if len(elements) % 2 else []
        elements = [join(a, b) for a, b in pairs] + odd
    return elements[0]


def _position(elements: list[Node], join: Callable[[Node, Node], Node]) -> Node:
    """The number of the first element that is the best of all, or of the first NaN.

    Each asks that of itself: a chain that carries the best one along would not be vectorized.
    """
    best = _joined(elements, join)
    place = _place(len(elements) - 1)
    for number, x in reversed(list(enumerate(elements[:-1]))):
        won = e.eq(x, best)
        if x.dtype.is_float:
            won = e.bit_or(won, e.isnan(x))
        place = e.where(won, _place(number), place)
    return place


def _place(number: int) -> Node:
    return sources.constant_of(number, int32)
