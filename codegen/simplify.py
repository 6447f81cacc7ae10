"""Simplification: rules that replace a node by a cheaper one of the same value.

Only exact rules stand here: none changes a NaN, an infinity, or a rounding. (A sum of equal terms
becomes a product, which rounds once instead of many times.)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache

import numpy as np

from ..tracer.dtypes import DType, bool_
from ..tracer.graph import Graph
from ..tracer.interpret import computing, rounded
from ..tracer.ir import Node, Op, node, on_behalf_of, topological, with_inputs
from ..tracer.ops import elementwise, movement, reduction, sources, window
from ..tracer.ops.kinds import Elementwise, Reduction, cast_to
from .budget import Budget
from .unroll import unrolled
from .windows import (
    disjoint_windows,
    is_worth_a_kernel,
    overlapping_product,
    part_of_product,
    sum_of_products,
)

FILLING = (movement.pad_op, window.unwindow_op)
"""Movements whose result has elements that are none of the input's."""

Rule = Callable[[Node], Node | None]


MOST_REWRITES = 1000
"""Rewrites for each node of a graph, on average: what unrolls a reduction makes hundreds."""

MOST_IN_TURN = 200
"""Rewrites of one node, each of what the one before has made of it."""


def simplified(graph: Graph) -> Graph:
    """`graph` with every rule applied, inputs first, until none fits."""
    return replaced(graph, images(graph))


def images(graph: Graph) -> dict[Node, Node]:
    """What stands in the simplified graph in place of each node."""
    image: dict[Node, Node] = {}
    image_of = image.__getitem__
    order = graph.nodes()
    settling = _Settling(MOST_REWRITES * len(order))
    with on_behalf_of(None) as behalf:
        for each in order:
            behalf.now_of(each.origin)
            made = _on_others(each, tuple(map(image_of, each.inputs)))
            better = _better(made)
            image[each] = made if better is None else settling.settled(better)
            settling.done.add(image[each])
    return image


def replaced(graph: Graph, image: Mapping[Node, Node]) -> Graph:
    """`graph` with its outputs' images as outputs."""
    outputs = tuple(image[each] for each in graph.outputs)
    return Graph(graph.inputs, graph.floats, graph.ints, outputs)


def _on_others(each: Node, inputs: tuple[Node, ...]) -> Node:
    """What `each` is of other operands; those of the same types give it the same type."""
    if inputs == each.inputs:
        return each
    for other, own in zip(inputs, each.inputs, strict=True):
        if other.type is not own.type and other.type != own.type:
            return node(each.op, inputs, each.attrs)
    return with_inputs(each, inputs)


class _Settling:
    """Nodes that no rule fits any more are `done`. The measure is a budget of rewrites."""

    def __init__(self, rewrites: int) -> None:
        self.done: set[Node] = set()
        self.budget = Budget("simplification", rewrites)

    def settled(self, made: Node, turn: int = 1) -> Node:
        """What `made`, and all that a rule makes new below it, becomes when no rule fits."""
        self.budget.spend()
        assert turn <= MOST_IN_TURN, f"simplification does not end: {made!r} is rewritten for ever"
        done = self.done
        if made in done:
            return made
        if all(each in done for each in made.inputs) and _better(made) is None:
            done.add(made)
            return made
        image: dict[Node, Node] = {}
        for each in topological([made], done):
            if each in done:
                image[each] = each
                continue
            found = _on_others(each, tuple([image[i] for i in each.inputs]))
            better = _better(found)
            image[each] = found if better is None else self.settled(better, turn + 1)
            done.add(image[each])
        return image[made]


def _better(made: Node) -> Node | None:
    """What the first rule that fits makes of `made`."""
    for rule in _rules_for(made.op):
        found = rule(made)
        if found is not None:
            assert found.type[:2] == made.type[:2], f"{made!r} became {found!r}"
            return found
    return None


@cache
def _rules_for(op: Op) -> tuple[Rule, ...]:
    """The rules that may fit a node of `op`, in their order."""
    any_op = [rule for rule, kinds in ANY.items() if op.kind in (kinds or (op.kind,))]
    return (*any_op, *RULES.get(op.name, ()))


# ---- what the rules ask


def number(x: Node) -> float | None:
    """The number that `x` is everywhere, if it is a constant shown in some shape."""
    while x.op.kind == "movement" and x.op not in FILLING and len(x.inputs) == 1:
        (x,) = x.inputs
    if x.op is not sources.constant:
        return None
    return float(sources.number_of(*x.attrs))


def is_number(x: Node, value: float) -> bool:
    """Whether `x` is `value` everywhere (and not -0.0 where 0 is asked for)."""
    found = number(x)
    return found == value and (value != 0 or not np.signbit(found))


def as_large(x: Node, like: Node) -> Node:
    """`x`, broadcast to the shape of `like`."""
    return movement.broadcast(x, like.shape)


# ---- rules for every operator


def fold(made: Node) -> Node | None:
    """An elementwise operator on constants is a constant."""
    if not isinstance(made.op, Elementwise) or made.op is elementwise.checked_index:
        return None
    arrays = []
    for each in made.inputs:
        below = _constant_below(each)
        if below is None:
            return None
        arrays.append(rounded(np.asarray(sources.number_of(*below.attrs)), below.dtype))
    attrs = [computing(a) if isinstance(a, DType) else a for a in made.attrs]
    with np.errstate(all="ignore"):
        value = rounded(np.asarray(made.op.reference(*arrays, *attrs)), made.dtype)
    return as_large(sources.constant_of(value.item(), made.dtype), made)


def _constant_below(x: Node) -> Node | None:
    while x.op is movement.broadcast_op or x.op is movement.reshape_op:
        (x,) = x.inputs
    return x if x.op is sources.constant else None


def still(made: Node) -> Node | None:
    """A movement of a constant is that constant in the new shape."""
    mixing = (*FILLING, movement.concat_op, movement.broadcast_op)
    if made.op.kind != "movement" or made.op in mixing:
        return None
    found = _constant_below(made.inputs[0])
    return as_large(found, made) if found is not None else None


def empty(made: Node) -> Node | None:
    """What has no elements need not be computed."""
    if 0 not in made.type.shape or made.op.kind == "source" or _constant_below(made) is not None:
        return None
    checks = (each for each in topological([made]) if each.op is elementwise.checked_index)
    if any(each.type.size for each in checks):
        return None
    return sources.full(0, made.shape, made.dtype)


def of_one(made: Node) -> Node | None:
    """A reduction or a scan along extents of 1 is its operand."""
    if made.op.kind == "scan":
        return made.inputs[0] if made.shape[made.attrs[0]] == 1 else None
    if made.op.kind != "reduction" or made.inputs[0].shape != made.shape:
        return None
    if made.op in (reduction.argmax, reduction.argmin):
        return sources.full(0, made.shape, made.dtype)
    return made.inputs[0]


ANY: dict[Rule, tuple[str, ...]] = {
    empty: (),
    fold: ("elementwise",),
    still: ("movement",),
    of_one: ("reduction", "scan"),
}
"""Rules for operators of some kinds, or of all."""


# ---- rules by operator


def mul_one(made: Node) -> Node | None:
    """X * 1 is x."""
    x, y = made.inputs
    if is_number(y, 1):
        return as_large(x, made)
    return as_large(y, made) if is_number(x, 1) else None


def sub_zero(made: Node) -> Node | None:
    """X - 0 is x."""
    x, y = made.inputs
    return as_large(x, made) if is_number(y, 0) else None


def div_by_power_of_two(made: Node) -> Node | None:
    """X / c is x * (1 / c) where 1 / c is exact."""
    x, y = made.inputs
    found = number(y)
    if found is None or found == 0 or not np.isfinite(found):
        return None
    if abs(np.frexp(found)[0]) != 0.5 or not 2.0**-10 <= abs(found) <= 2.0**10:
        return None
    return elementwise.mul(as_large(x, made), sources.constant_of(1 / found, made.dtype))


def neg_neg(made: Node) -> Node | None:
    """-(-x) is x."""
    (x,) = made.inputs
    return x.inputs[0] if x.op is elementwise.neg else None


MIRRORED: dict[Op, Reduction] = {
    reduction.min: reduction.max,
    reduction.max: reduction.min,
}


def neg_extremum_neg(made: Node) -> Node | None:
    """-min(-x) is max(x), and -max(-x) is min(x), for floats."""
    (y,) = made.inputs
    mirror = MIRRORED.get(y.op)
    if mirror is None or y.inputs[0].op is not elementwise.neg or not made.dtype.is_float:
        return None
    return mirror(y.inputs[0].inputs[0], y.attrs[0])


def without_first(made: Node) -> Node | None:
    """Which of several largest elements it is matters to derivatives only."""
    return reduction.max(made.inputs[0], made.attrs[0])


def where_known(made: Node) -> Node | None:
    """A choice whose condition is known is the side that is taken."""
    condition, a, b = made.inputs
    if a is b:
        return as_large(a, made)
    found = number(condition)
    return None if found is None else as_large(a if found else b, made)


def nan_of_choice(made: Node) -> Node | None:
    """A choice between a number and x is NaN where x is chosen and NaN.

    gcc finds that out too, but then has no vectors for it.
    """
    (x,) = made.inputs
    if x.op is not elementwise.where:
        return None
    condition, a, b = x.inputs
    for chosen, other, taken in ((a, b, elementwise.logical_not(condition)), (b, a, condition)):
        found = number(chosen)
        if found is not None and not np.isnan(found):
            return as_large(elementwise.bit_and(taken, elementwise.isnan(other)), made)
    return None


def known_of_integers(made: Node) -> Node | None:
    """Every integer is finite."""
    if made.inputs[0].dtype.is_float:
        return None
    return sources.full(made.op is elementwise.isfinite, made.shape, bool_)


def cast_bool(made: Node) -> Node | None:
    """A cast of a cast that loses nothing is one cast."""
    (x,) = made.inputs
    if x.op is elementwise.cast and x.inputs[0].dtype is bool_ and x.dtype is not bool_:
        return cast_to(x.inputs[0], made.dtype)
    return None


def broadcast_twice(made: Node) -> Node | None:
    """A broadcast of a broadcast is one broadcast."""
    (x,) = made.inputs
    if x.op is movement.broadcast_op and x.ndim == made.ndim:
        return movement.broadcast(x.inputs[0], made.shape)
    return None


def sum_of_equals(made: Node) -> Node | None:
    """The sum along axes that only repeat a value is the value times their extent."""
    (x,), (axes,) = made.inputs, made.attrs
    if x.op is not movement.broadcast_op:
        return None
    (source,) = x.inputs
    lead = x.ndim - source.ndim
    padded = (1,) * lead + source.shape
    if any(padded[axis] != 1 for axis in axes):
        return None
    count = 1
    for axis in axes:
        count *= x.shape[axis]
    small = movement.broadcast(movement.reshape(source, padded), made.shape)
    return elementwise.mul(small, sources.constant_of(count, made.dtype))


def outer_product(made: Node) -> Node | None:
    """A product of a column and a row has one term per element."""
    a, b = made.inputs
    return elementwise.mul(a, b) if a.shape[-1] == 1 and a.dtype == made.dtype else None


def product_with_vector(made: Node) -> Node | None:
    """A product with a single row or column is a sum of products: no BLAS call pays for it.

    The sum runs over the matrix as it is stored, also where it is transposed.
    """
    a, b = made.inputs
    if not made.dtype.is_float or 1 not in made.shape[-2:] or is_worth_a_kernel(made):
        return None
    axis = made.ndim - 1
    stored = _transposed(a) if made.shape[-1] == 1 else _transposed(b)
    if stored is None:
        left = movement.reshape(a, (*a.shape, 1))
        right = movement.reshape(b, (*b.shape[:-2], 1, *b.shape[-2:]))
    elif made.shape[-1] == 1:
        left, right, axis = stored, b, made.ndim - 2
    else:
        left, right = stored, a
    total = reduction.sum(elementwise.mul(left, right), (axis,))
    return movement.reshape(total, made.shape)


def _transposed(x: Node) -> Node | None:
    """What `x` is with its last two axes exchanged."""
    if x.op is not movement.transpose_op:
        return None
    *batch, row, column = x.attrs[0]
    exchanged = batch == [*range(len(batch))] and row > column
    return x.inputs[0] if exchanged else None


def neighbours(made: Node) -> Node | None:
    """The sum of two values that are 0 outside of neighbouring boxes is one value beside the other.

    So the cotangents of the slices of a tensor come together. (A zero may change its sign.)
    """
    x, y = made.inputs
    if x.op is not movement.pad_op or y.op is not movement.pad_op or x.shape != y.shape:
        return None
    first, second = sorted((x, y), key=lambda each: sum(each.attrs[0]))
    (low, above, *rest), (below, high, *other) = first.attrs, second.attrs
    apart = [
        axis for axis in range(made.ndim) if (low[axis], above[axis]) != (below[axis], high[axis])
    ]
    if len(apart) != 1 or rest != other or any(rest[0]) or float(rest[1]) != 0:
        return None
    (axis,) = apart
    if low[axis] + first.inputs[0].shape[axis] != below[axis]:
        return None
    parts = (part for each in (first, second) for part in _parts(each.inputs[0], axis))
    return movement.pad(movement.concat(tuple(parts), axis), low, high)


def _parts(x: Node, axis: int) -> tuple[Node, ...]:
    return x.inputs if x.op is movement.concat_op and x.attrs == (axis,) else (x,)


RULES: dict[str, tuple[Rule, ...]] = {
    "mul": (mul_one,),
    "add": (neighbours,),
    "sub": (sub_zero,),
    "div": (div_by_power_of_two,),
    "neg": (neg_neg, neg_extremum_neg),
    "where": (where_known,),
    "isnan": (known_of_integers, nan_of_choice),
    **dict.fromkeys(("isinf", "isfinite"), (known_of_integers,)),
    "cast": (cast_bool,),
    "broadcast": (broadcast_twice,),
    "sum": (sum_of_equals, disjoint_windows, overlapping_product, sum_of_products, unrolled),
    "first_max": (without_first,),
    **dict.fromkeys(("prod", "max", "min", "argmax", "argmin"), (unrolled,)),
    "matmul": (outer_product, product_with_vector),
    "slice": (part_of_product,),
}
