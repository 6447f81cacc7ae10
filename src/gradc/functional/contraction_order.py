"""In which order a product of several operands is formed, pair by pair.

The cost of a pair is that of its product: all extents that the two have, multiplied. Few operands
get the cheapest of all trees, by dynamic programming over sets of operands (R. N. C. Pfeifer et
al., Phys. Rev. E 90, 2014); more get, again and again, the pair whose product is smallest,
compared with what it is made of (the greedy order of opt_einsum).
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from itertools import combinations
from math import prod

Label = Hashable
Labels = Sequence[Label]
Sizes = Mapping[Label, int]
Tree = int | tuple["Tree", "Tree"]

FEW = 8
"""So many operands have 3025 splits of their sets, which take 10 ms; each one more, three times."""


def contraction_order(
    operands: Sequence[Labels], kept: Labels, sizes: Sizes
) -> list[tuple[int, int]]:
    """The pairs that are multiplied one after another, by their places among what is left.

    The product of a pair goes behind what is left. Axes whose names are neither `kept` nor in what
    is left are summed.
    """
    named = [frozenset(each) for each in operands]
    if len(named) < 3:
        return [(0, 1)] * (len(named) - 1)
    if len(named) > FEW:
        return list(_greedy(named, frozenset(kept), sizes))
    return _pairs(_cheapest(named, frozenset(kept), sizes), len(named))


def product_cost(a: frozenset[Label], b: frozenset[Label], sizes: Sizes) -> int:
    """About how many multiplications the product of two operands takes."""
    return prod(sizes[label] for label in a | b)


def _left_of(
    named: Sequence[frozenset[Label]], chosen: int, kept: frozenset[Label]
) -> frozenset[Label]:
    """The names that the product of the operands in the set of bits `chosen` has."""
    inside = [each for place, each in enumerate(named) if chosen >> place & 1]
    outside = [each for place, each in enumerate(named) if not chosen >> place & 1]
    return frozenset().union(*inside) & kept.union(*outside)


def _cheapest(named: Sequence[frozenset[Label]], kept: frozenset[Label], sizes: Sizes) -> Tree:
    """The tree of least cost, and among equals that of least results in between."""
    every = (1 << len(named)) - 1
    left = {chosen: _left_of(named, chosen, kept) for chosen in range(1, every + 1)}
    best: dict[int, tuple[int, int, Tree]] = {1 << k: (0, 0, k) for k in range(len(named))}
    for chosen in range(1, every + 1):
        found: tuple[int, int, Tree] | None = best.get(chosen)
        part = (chosen - 1) & chosen if found is None else 0
        while part:
            other = chosen ^ part
            if part > other:
                low, high = best[part], best[other]
                cost = low[0] + high[0] + product_cost(left[part], left[other], sizes)
                held = low[1] + high[1] + prod(sizes[label] for label in left[chosen])
                if found is None or (cost, held) < found[:2]:
                    found = cost, held, (high[2], low[2])
            part = (part - 1) & chosen
        assert found is not None
        best[chosen] = found
    return best[every][2]


def _pairs(tree: Tree, count: int) -> list[tuple[int, int]]:
    """A tree of operands as pairs of places among what is left."""
    waiting: list[Tree] = list(range(count))
    pairs = []
    for each in _inner(tree):
        first, second = waiting.index(each[0]), waiting.index(each[1])
        pairs.append((first, second))
        waiting = [w for place, w in enumerate(waiting) if place not in (first, second)] + [each]
    return pairs


def _inner(tree: Tree) -> Iterator[tuple[Tree, Tree]]:
    """The products of a tree, those first that others are made of."""
    if isinstance(tree, tuple):
        for side in tree:
            yield from _inner(side)
        yield tree


def _greedy(
    named: Sequence[frozenset[Label]], kept: frozenset[Label], sizes: Sizes
) -> Iterator[tuple[int, int]]:
    waiting = list(named)

    def made_of(pair: tuple[int, int]) -> frozenset[Label]:
        rest = [each for place, each in enumerate(waiting) if place not in pair]
        return (waiting[pair[0]] | waiting[pair[1]]) & kept.union(*rest)

    def growth(pair: tuple[int, int]) -> tuple[int, int]:
        before = sum(prod(sizes[label] for label in waiting[place]) for place in pair)
        after = prod(sizes[label] for label in made_of(pair))
        a, b = (waiting[place] for place in pair)
        return after - before, product_cost(a, b, sizes)

    while len(waiting) > 1:
        pair = min(combinations(range(len(waiting)), 2), key=growth)
        made = made_of(pair)
        waiting = [each for place, each in enumerate(waiting) if place not in pair] + [made]
        yield pair
