"""Clusters: common spaces of loops, and what an item is to a space."""

from itertools import pairwise
from math import prod

import numpy as np
import pytest
from contract.compute import leaf
from gradc.codegen.cluster import Clustering, Role, images, position, refined
from gradc.codegen.index import Axis, of_axis
from gradc.codegen.item import item_of
from gradc.codegen.lower import Lowering
from gradc.tracer.dtypes import float32
from gradc.tracer.interpret import interpret
from gradc.tracer.ir import Node, topological
from gradc.tracer.ops import contraction, movement, reduction
from gradc.tracer.ops import elementwise as e
from graphs.build import graph_of
from graphs.compiled import Compiled, sample
from graphs.evaluate import evaluated, points
from hypothesis import given
from hypothesis import strategies as st

Extents = tuple[int, ...]
FACTORS = st.lists(st.integers(2, 4), min_size=1, max_size=5)


@st.composite
def groupings(draw: st.DrawFn) -> tuple[Extents, Extents, Extents]:
    """Factors, and two ways to join neighbours of them."""
    factors = draw(FACTORS)
    ways = []
    for _ in range(2):
        cuts = sorted({0, len(factors), *draw(st.sets(st.integers(0, len(factors))))})
        ways.append(tuple(prod(factors[a:b]) for a, b in pairwise(cuts)))
    return tuple(factors), ways[0], ways[1]


# ---- spaces


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        ((12,), (12,), (12,)),
        ((12,), (3, 4), (3, 4)),
        ((6, 4), (3, 8), (3, 2, 4)),
        ((2, 12), (6, 4), (2, 3, 4)),
        ((6, 4), (4, 6), None),
        ((6,), (7,), None),
        ((0, 3), (3, 0), None),
        ((), (), ()),
    ],
)
def test_refined(a: Extents, b: Extents, expected: Extents | None) -> None:
    assert refined(a, b) == expected
    assert refined(b, a) == expected


@given(groupings())
def test_two_groupings_of_factors_have_a_common_space(drawn: tuple[Extents, ...]) -> None:
    factors, a, b = drawn
    space = refined(a, b)
    assert space is not None
    assert prod(space) == prod(factors)
    axes = [Axis(number, extent) for number, extent in enumerate(space)]
    for extents in (a, b):
        own = images(extents, axes)
        assert own is not None
        for count, at in enumerate(points(axes)):
            place = 0
            for index, extent in zip(own, extents, strict=True):
                place = place * extent + evaluated(index, at)
            assert place == count


def test_extents_that_do_not_fall_on_axes_have_no_images() -> None:
    space = [Axis(0, 4), Axis(1, 6)]
    assert images((6, 4), space) is None
    assert images((4,), space) is None
    assert images((4, 6), space) == [of_axis(axis) for axis in space]
    assert images((24,), space) == [position(space)]


# ---- roles

SMALL, LARGE = leaf(0, (8, 9)), leaf(0, (800, 90))
DEEP = leaf(0, (4, 5, 6))
ROLES: dict[str, tuple[Node, Role, frozenset[int] | None]] = {
    "element": (e.sin(SMALL), Role.ELEMENT, None),
    "rows": (reduction.sum(SMALL, (1,)), Role.IN_ROW, frozenset({0})),
    "columns": (reduction.sum(SMALL, (0,)), Role.COLUMNS, frozenset({0})),
    "all of few": (reduction.sum(SMALL, (0, 1)), Role.IN_ROW, frozenset()),
    "all of many": (reduction.sum(LARGE, (0, 1)), Role.OVER_ALL, None),
    "last two": (reduction.max(DEEP, (1, 2)), Role.IN_ROW, frozenset({0})),
    "first two": (reduction.sum(DEEP, (0, 1)), Role.COLUMNS, frozenset({0, 1})),
    "middle": (reduction.sum(DEEP, (1,)), Role.COLUMNS, frozenset({1})),
    "first and last": (reduction.sum(DEEP, (0, 2)), Role.IN_ROW, frozenset({1})),
    "position": (reduction.argmax(SMALL, (0,)), Role.IN_ROW, frozenset({1})),
    "position in all of many": (reduction.argmax(LARGE, (0, 1)), Role.IN_ROW, frozenset()),
}
"""A node alone in its cluster, what it is to it, and the rows that it chooses."""


def clustered(*nodes: Node) -> Clustering:
    """The clusters of `nodes`, all in memory; those that are read come first."""
    lowering = Lowering(set(nodes))
    made = Clustering()
    for node in topological(nodes):
        if node in nodes:
            made.add(item_of(node, lowering))
    return made


@pytest.mark.parametrize("name", ROLES)
def test_role(name: str) -> None:
    node, role, rows = ROLES[name]
    (cluster,) = clustered(node).clusters
    assert (cluster.fits[node].role, cluster.rows) == (role, rows)


def homes(*nodes: Node) -> list[int]:
    made = clustered(*nodes)
    return [made.home[node] for node in nodes]


# ---- who shares a kernel


def test_values_of_the_same_elements_share() -> None:
    assert homes(e.sin(SMALL), e.cos(SMALL)) == [0, 0]


def test_a_reduction_shares_with_what_it_reduces() -> None:
    y = e.sin(SMALL)
    assert homes(y, reduction.sum(y, (1,))) == [0, 0]
    assert homes(y, reduction.sum(y, (0,))) == [0, 0]


def test_rows_share_with_what_needs_their_reduction() -> None:
    top = reduction.max(SMALL, (1,))
    total = reduction.sum(e.exp(SMALL - top), (1,))
    share = e.exp(SMALL - top) / total
    made = clustered(top, total, share)
    assert set(made.home.values()) == {0}
    (cluster,) = made.clusters
    assert [cluster.fits[node].level for node in (top, total, share)] == [0, 1, 2]


def test_one_value_per_row_shares_with_the_row() -> None:
    total = reduction.sum(SMALL, (1,))
    root = e.sqrt(total)
    made = clustered(total, root)
    (cluster,) = made.clusters
    assert cluster.fits[root].role is Role.ROW
    assert cluster.fits[root].level == 1


def test_columns_and_rows_share_one_pass() -> None:
    rows, columns = reduction.sum(LARGE, (1,)), reduction.sum(LARGE, (0,))
    made = clustered(rows, columns)
    (cluster,) = made.clusters
    assert cluster.fits[rows].role is Role.IN_ROW
    assert cluster.fits[columns].role is Role.COLUMNS


def test_a_sum_over_rows_of_row_values_shares() -> None:
    total = reduction.sum(LARGE, (1,))
    whole = reduction.sum(e.log(total), (0, 1))
    made = clustered(total, whole)
    (cluster,) = made.clusters
    assert cluster.fits[whole].role is Role.OVER_ROWS


def test_what_needs_a_column_total_waits_for_the_kernel_to_end() -> None:
    total = reduction.sum(LARGE, (0,))
    assert homes(total, LARGE - total) == [0, 1]


def test_what_needs_another_row_waits_for_the_kernel_to_end() -> None:
    total = reduction.sum(SMALL, (1,))
    assert homes(total, SMALL + movement.flip(total, 0)) == [0, 1]


def test_what_reads_elements_in_another_order_waits() -> None:
    square = leaf(0, (8, 8))
    y = e.sin(square)
    assert homes(y, y + movement.transpose(y, (1, 0))) == [0, 1]


def test_other_elements_do_not_share() -> None:
    assert homes(e.sin(LARGE), e.sin(leaf(1, (700, 30)))) == [0, 1]


def test_reshaped_elements_share() -> None:
    y = e.sin(LARGE)
    flat = movement.reshape(LARGE, (72000,))
    assert homes(y, e.cos(flat)) == [0, 0]
    (cluster,) = clustered(y, e.cos(flat)).clusters
    assert cluster.extents == (800, 90)


def test_no_cluster_needs_itself() -> None:
    """a joins the first cluster only if nothing between needs that cluster's end."""
    first = reduction.sum(LARGE, (0,))
    second = LARGE - first
    third = e.sin(LARGE)
    made = clustered(first, second, third + second)
    order = [number for number, _ in made.ordered()]
    assert order.index(made.home[first]) < order.index(made.home[second])
    for number, cluster in enumerate(made.clusters):
        assert not cluster.ancestors >> number & 1


def test_no_merged_cluster_needs_itself() -> None:
    """What a product reads and what reads it could share a pass over the same elements."""
    a, b, c = (leaf(slot, (64, 64), float32) for slot in range(3))
    before = e.sin(c) * 2.0
    product = contraction.matmul(before, b)
    graph = graph_of(e.exp(a), a * product + c)
    arrays = sample(graph)
    for x, y in zip(Compiled(graph)(arrays), interpret(graph, arrays, [], []), strict=True):
        np.testing.assert_allclose(x, y, 1e-5, 1e-4)


def test_clusters_are_not_merged_into_one_that_waits_for_them() -> None:
    """An item joins the first cluster late, and needs the second one by then."""
    other = leaf(1, (800, 90), float32)
    first = e.sin(other)
    second = reduction.max(LARGE, (0,))
    third = e.exp(second)
    made = clustered(first, second, third, other * (LARGE - third))
    made.merge()
    order = [number for number, _ in made.ordered()]
    assert order.index(made.home[second]) < order.index(made.home[third])
    for number, cluster in enumerate(made.clusters):
        assert not cluster.ancestors >> number & 1


def test_a_kernel_has_a_limited_number_of_arguments() -> None:
    outputs = [e.sin(leaf(slot, (100,), float32)) for slot in range(150)]
    shared = [node + leaf(200, (100,), float32) for node in outputs]
    made = clustered(*shared)
    for cluster in made.clusters:
        assert len(cluster.reads) + len(cluster.items) <= 61
    assert len(made.clusters) > 1
