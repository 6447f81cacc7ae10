"""What lies in memory whatever computing it again would cost: else kernels grow without bound."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from ..tracer.dtypes import bool_
from ..tracer.ir import Node
from ..tracer.ops import movement, sources, window
from .cluster import MOST_ARGUMENTS

ALONE = ("contraction", "scatter", "scan", "sort", "loop")
"""Kinds of operators that have kernels of their own."""

COMPUTED = ("elementwise", "gather")
"""Kinds of operators that are computed where they are read, unless they are stored."""

MOST_PLACES = 16
"""Places at which an operator may be computed for one element of what needs it."""

MOST_READ = MOST_ARGUMENTS // 2
"""Memories that one value may be computed from: others share its kernel."""

STRETCH = 1000
"""Operators of a program that is too long for one kernel, between two places where it is cut."""


def groups_of_parts(order: Sequence[Node]) -> set[Node]:
    """What is itself put side by side, and then beside more: else each element asks for all."""
    beside = (each for each in order if each.op is movement.concat_op)
    return {part for each in beside for part in each.inputs if part.op is movement.concat_op}


def between_stretches(order: Sequence[Node]) -> set[Node]:
    """Where a long program is cut: the nodes that a later stretch of it needs.

    Compilers take time that grows faster than the length of straight-line code.
    """
    computed = [node for node in order if node.op.kind in ("elementwise", "gather")]
    if len(computed) <= 2 * STRETCH:
        return set()
    stretch = {node: place // STRETCH for place, node in enumerate(computed)}
    found: set[Node] = set()
    here = 0
    for node in order:
        here = stretch.get(node, here)
        found |= {_compared(each) for each in node.inputs if stretch.get(each, here) != here}
    return found


def _compared(node: Node) -> Node:
    """What to store instead of `node`, a comparison of one value with numbers: that value.

    Loops over bytes and floats are written out four times as long; a value often is stored anyway.
    """
    if node.dtype is not bool_:
        return node
    found: set[Node] = set()
    stack = [node]
    while stack and len(found) < 2:
        each = stack.pop()
        if each.dtype is bool_ and each.op.kind == "elementwise":
            stack.extend(each.inputs)
        elif not _is_number(each):
            found.add(each)
    (only, *more) = found or {node}
    same = only.op.kind in COMPUTED and only.type.size == node.type.size
    return only if same and not more else node


def _is_number(node: Node) -> bool:
    while node.op is movement.broadcast_op or node.op is movement.reshape_op:
        (node,) = node.inputs
    return node.op in (sources.constant, sources.scalar)


def spread_apart(order: Sequence[Node]) -> set[Node]:
    """What is made of nothing but windows that lie some elements apart, put back in their places.

    Its kernel takes the places in turn by their distance. What reads the result in order, and
    perhaps reduces it, should not.
    """
    made: set[Node] = set()
    constants: set[Node] = set()
    found: set[Node] = set()
    for node in order:
        inputs = [each for each in node.inputs if each not in constants]
        if node.op is window.unwindow_op and max(node.attrs[1]) > 1:
            made.add(node)
        elif not inputs and (node.inputs or node.op is sources.constant):
            constants.add(node)
        elif node.op.kind in ("movement", "elementwise") and made.issuperset(inputs):
            made.add(node)
        else:
            found |= made.intersection(inputs)
    return found


def seen_from_many_places(order: Sequence[Node], stored: Collection[Node]) -> set[Node]:
    """Operators that would be computed at many places for each element of what needs them.

    A step of a stencil reads its predecessor at several places, and that its own at several of
    each: written out, the places multiply with every step.
    """
    found: set[Node] = set()
    places: dict[Node, set[int]] = {}
    numbers: dict[tuple[int, Node], int] = {}
    elements: dict[int, int] = {}
    for node in reversed(order):
        size = node.type.size
        own = places.pop(node, set()) or {0}
        times = sum(min(elements.get(place, size), size) for place in own)
        if node in stored or node.op.kind in ("reduction", *ALONE):
            own = {0}
        elif times > MOST_PLACES * size and (node.op.kind == "elementwise" or len(node.inputs) > 1):
            found.add(node)
            own = {0}
        if node.op.kind == "movement":
            moved = {place: numbers.setdefault((place, node), len(numbers) + 1) for place in own}
            elements |= {new: min(elements.get(old, size), size) for old, new in moved.items()}
            own = set(moved.values())
        for each in node.inputs:
            places.setdefault(each, set()).update(own)
    return found


def read_too_much(order: Sequence[Node], stored: Collection[Node]) -> set[Node]:
    """Operators of which what needs them would read more memories than one kernel may.

    Of the operands of such a one, those that read most are stored.
    """
    found: set[Node] = set()
    reads: dict[Node, frozenset[Node]] = {}
    for node in order:
        if node.op.kind in ALONE or node.op is sources.input_:
            reads[node] = frozenset((node,))
            continue
        operands = sorted(set(node.inputs), key=lambda each: -len(reads[each]))
        own = frozenset[Node]().union(*(reads[each] for each in operands))
        for each in operands:
            if len(own) < MOST_READ:
                break
            if each.op.kind in COMPUTED and len(reads[each]) > 1:
                found.add(each)
                reads[each] = frozenset((each,))
                own = frozenset[Node]().union(*(reads[other] for other in operands))
        reads[node] = frozenset((node,)) if node in stored else own
    return found - set(stored)
