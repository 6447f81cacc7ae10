"""Sums of products: what a loop would add up step by step is one product, as deep as all of them.

Such are the gradients of the weights of recurrent nets. With A_k and B_k side by side,
A_1 B_1 + ... + A_n B_n = [A_1 ... A_n] [B_1; ...; B_n].
"""

from __future__ import annotations

from collections.abc import Sequence

from ..tracer.ir import Node
from ..tracer.ops import elementwise, movement
from .loop_body import Surroundings
from .segments import Repeated

PRODUCT = (None, None)


def sum_of_products(around: Surroundings, repeated: Repeated) -> Node | None:
    """The value of the last segment, if each adds a product to what the one before has made."""
    run, links = repeated.run, repeated.links
    first = around.line.nodes[run.start : run.start + run.period]
    if run.period != 2 or links[0] != PRODUCT or set(links[1]) != {(1, 1), (0, 0)}:
        return None
    if first[0].op.kind != "contraction" or first[1].op is not elementwise.add:
        return None
    if first[0].ndim != 2 or around.uses.outside(run).keys() - {1}:
        return None
    if around.uses.outside(run).get(1, 0) < run.count - 1:
        return None
    nodes = around.line.nodes[run.start : run.stop : 2]
    a, b = ([around.operand(each.inputs[side]) for each in nodes] for side in (0, 1))
    start = around.operand(first[1].inputs[links[1].index((1, 1))])
    return _summed(around, start, list(zip(a, b, strict=True)), nodes[0], first[1])


def _summed(
    around: Surroundings,
    total: Node,
    pairs: Sequence[tuple[Node, Node]],
    product: Node,
    addition: Node,
) -> Node | None:
    """`total` and the products of all `pairs`, most of which must lie side by side."""
    made = around.memory.made
    together = _together(around, pairs)
    if len(together) < len(pairs) // 2:
        return None
    first = together.start
    for a, b in (*pairs[:first], *pairs[together.stop :]):
        part = made(product.op, (a, b), (), product)
        total = made(addition.op, (total, part), (), addition)
    chosen = _ascending(around, pairs[first : together.stop])
    wide = _side_by_side(around, [a for a, _ in chosen], product, 1)
    deep = _side_by_side(around, [b for _, b in chosen], product, 0)
    if wide is None or deep is None:
        return None
    return made(addition.op, (total, made(product.op, (wide, deep), (), product)), (), addition)


def _together(around: Surroundings, pairs: Sequence[tuple[Node, Node]]) -> range:
    """The longest stretch of `pairs` whose both sides lie one after another in memory."""
    stretches = [
        _longest(around, [_untransposed(pair[side])[0] for pair in pairs]) for side in (0, 1)
    ]
    return range(max(each.start for each in stretches), min(each.stop for each in stretches))


def _ascending(
    around: Surroundings, pairs: Sequence[tuple[Node, Node]]
) -> Sequence[tuple[Node, Node]]:
    """`pairs`, from the last to the first where both sides lie so: then nothing is copied."""
    for side in (0, 1):
        one, next_one = (around.memory.slot_of(_untransposed(each[side])[0]) for each in pairs[:2])
        if one is None or next_one is None or one[1] < next_one[1]:
            return pairs
    return pairs[::-1]


def _longest(around: Surroundings, parts: Sequence[Node]) -> range:
    place, found = 0, range(0)
    for group, _ in around.memory.in_turn(parts):
        if len(group) > len(found):
            found = range(place, place + len(group))
        place += len(group)
    return found


def _untransposed(matrix: Node) -> tuple[Node, bool]:
    swapped = matrix.op is movement.transpose_op and matrix.attrs[0] == (1, 0)
    return (matrix.inputs[0], True) if swapped else (matrix, False)


def _side_by_side(
    around: Surroundings, parts: Sequence[Node], like: Node, axis: int
) -> Node | None:
    """`parts`, which are matrices, one after another along `axis`."""
    made = around.memory.made
    swapped = _untransposed(parts[0])[1]
    joined = around.memory.joined([_untransposed(each)[0] for each in parts], axis ^ swapped, like)
    if joined.op is movement.concat_op:
        return None
    return made(movement.transpose_op, (joined,), ((1, 0),), like) if swapped else joined
