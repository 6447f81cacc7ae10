"""Sums of products of tensors whose axes are named: what einsum and tensordot are made of.

Each pair of operands becomes one batched matrix product: axes that both have and that stay are the
batch, axes that both have and that go are summed, the others are rows and columns.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import prod

from ..tracer.errors import ShapeError, located
from ..tracer.ir import Node
from ..tracer.methods import without_axes
from ..tracer.ops import contraction, reduction
from ..tracer.ops import elementwise as e
from ..tracer.ops.movement import broadcast, reshape, transpose
from .contraction_order import Label, Labels, contraction_order
from .matrix import diagonal_of

Term = tuple[Node, Labels]
"""An operand, and the name of each of its axes."""


def contracted(terms: Sequence[Term], kept: Labels) -> Node:
    """The product of `terms`, summed over all names that are not `kept`, with its axes as `kept`.

    Axes of one name have the same extent, or 1.
    """
    sizes = _extents(terms)
    waiting = [_with_diagonals(term, sizes) for term in terms]
    for first, second in contraction_order([labels for _, labels in waiting], kept, sizes):
        a, b = waiting[first], waiting[second]
        rest = [each for place, each in enumerate(waiting) if place not in (first, second)]
        needed = {*kept, *(label for _, labels in rest for label in labels)}
        waiting = [*rest, _pair(_summed(a, b, needed), _summed(b, a, needed), needed)]
    x, labels = _without(waiting[0], set(kept))
    order = [label for label in kept if label in labels]
    x = transpose(x, tuple(labels.index(label) for label in order))
    return broadcast(x, tuple(sizes[label] for label in order))


def _extents(terms: Sequence[Term]) -> dict[Label, int]:
    """The extent of each name."""
    sizes: dict[Label, int] = {}
    for x, labels in terms:
        for label, extent in zip(labels, x.shape, strict=True):
            known = sizes.setdefault(label, extent)
            if known == 1:
                sizes[label] = extent
            elif extent not in (1, known):
                found = f"axes of the name {label!r} have the extents {known} and {extent}"
                shapes = ", ".join(str(list(each.shape)) for each, _ in terms)
                raise ShapeError(located(f"einsum: {found}, in the shapes {shapes}"))
    return sizes


def _with_diagonals(term: Term, sizes: dict[Label, int]) -> Term:
    """The term with each name once: of a name that it has twice, the diagonal."""
    x, labels = term
    names = list(labels)
    while len(set(names)) < len(names):
        first = next(i for i, label in enumerate(names) if names.count(label) > 1)
        second = names.index(names[first], first + 1)
        shape = list(x.shape)
        shape[first] = shape[second] = max(shape[first], shape[second], key=lambda n: n != 1)
        x = diagonal_of(broadcast(x, tuple(shape)), first, second)
        label = names.pop(second)
        names.pop(first)
        names.append(label)
    return x, names


def _without(term: Term, needed: set[Label]) -> tuple[Node, list[Label]]:
    """The term summed over the names that nobody needs."""
    x, labels = term
    axes = tuple(axis for axis, label in enumerate(labels) if label not in needed)
    left = [label for label in labels if label in needed]
    return (without_axes(reduction.sum(x, axes), axes) if axes else x), left


def _summed(term: Term, other: Term, needed: set[Label]) -> Term:
    return _without(term, {*needed, *other[1]})


def _pair(a: Term, b: Term, needed: set[Label]) -> Term:
    """The product of two terms, summed over what nobody else needs."""
    both = [label for label in a[1] if label in b[1]]
    batch = [label for label in both if label in needed]
    inner = [label for label in both if label not in needed]
    rows = [label for label in a[1] if label not in both]
    columns = [label for label in b[1] if label not in both]
    order = [*batch, *rows, *columns]
    if not inner or not (rows or columns):
        spread = [*order, *inner]
        made = e.mul(_aligned(a, spread), _aligned(b, spread))
        axes = tuple(range(len(order), len(spread)))
        return (without_axes(reduction.sum(made, axes), axes) if axes else made), order
    sizes = _extents((a, b))
    left = _as_matrices(a, batch, rows, inner, sizes)
    right = _as_matrices(b, batch, inner, columns, sizes)
    product = contraction.matmul(left, right)
    return reshape(product, tuple(sizes[label] for label in order)), order


def _aligned(term: Term, order: Labels) -> Node:
    """The term with its axes as in `order`, with extent 1 where it has none."""
    x, labels = term
    own = [label for label in order if label in labels]
    x = transpose(x, tuple(labels.index(label) for label in own))
    extents = dict(zip(own, x.shape, strict=True))
    return reshape(x, tuple(extents.get(label, 1) for label in order))


def _as_matrices(
    term: Term, batch: Labels, rows: Labels, columns: Labels, sizes: dict[Label, int]
) -> Node:
    """The term as a batch of matrices, without a batch axis where there is no batch."""
    x = _aligned(term, [*batch, *rows, *columns])
    x = broadcast(x, tuple(sizes[label] for label in (*batch, *rows, *columns)))

    def count(labels: Iterable[Label]) -> int:
        return prod(sizes[label] for label in labels)

    lead = (count(batch),) if batch else ()
    return reshape(x, (*lead, count(rows), count(columns)))
