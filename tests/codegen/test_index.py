"""The algebra of indices, held against the same sums in Python for every value of their axes."""

from collections.abc import Callable
from itertools import permutations
from math import prod

import pytest
from gradc.codegen.index import (
    ZERO,
    Axis,
    Bounded,
    Index,
    Place,
    Quotient,
    Remainder,
    bounded,
    constant,
    of_axis,
    of_place,
    row_major,
    substituted,
    total,
    unravelled,
)
from gradc.codegen.value import Number
from gradc.tracer.dtypes import int32
from graphs.evaluate import Point, evaluated, points
from hypothesis import given
from hypothesis import strategies as st

AXES = tuple(Axis(number, extent) for number, extent in enumerate((4, 6, 5, 1)))
A, B, C, ONE = (of_axis(axis) for axis in AXES)
DIVISORS = st.integers(1, 13)

Expected = tuple[Index, Callable[[Point], int]]
"""An index, and what it must be."""


def _leaves() -> st.SearchStrategy[Expected]:
    axes = st.sampled_from(AXES).map(lambda axis: (of_axis(axis), lambda at, axis=axis: at[axis]))
    numbers = st.integers(-20, 20).map(lambda n: (constant(n), lambda at, n=n: n))
    return axes | numbers


def _grown(inner: st.SearchStrategy[Expected]) -> st.SearchStrategy[Expected]:
    return (
        st.builds(_sum, inner, inner)
        | st.builds(_scaled, inner, st.integers(-7, 7))
        | st.builds(_quotient, inner, DIVISORS)
        | st.builds(_remainder, inner, DIVISORS)
        | st.builds(_moved, inner, st.integers(-9, 9))
    )


def _sum(x: Expected, y: Expected) -> Expected:
    return x[0] + y[0], lambda at: x[1](at) + y[1](at)


def _scaled(x: Expected, factor: int) -> Expected:
    return x[0] * factor, lambda at: x[1](at) * factor


def _quotient(x: Expected, divisor: int) -> Expected:
    return x[0] // divisor, lambda at: x[1](at) // divisor


def _remainder(x: Expected, divisor: int) -> Expected:
    return x[0] % divisor, lambda at: x[1](at) % divisor


def _moved(x: Expected, offset: int) -> Expected:
    return x[0].plus(offset), lambda at: x[1](at) + offset


INDICES = st.recursive(_leaves(), _grown, max_leaves=8)


def same(x: Index, y: Index) -> bool:
    return all(evaluated(x, at) == evaluated(y, at) for at in points(AXES))


# ---- values


@given(INDICES)
def test_every_operation_is_that_of_integers(pair: Expected) -> None:
    index, expected = pair
    for at in points(AXES):
        assert evaluated(index, at) == expected(at)


@given(INDICES)
def test_bounds_hold(pair: Expected) -> None:
    index, expected = pair
    values = [expected(at) for at in points(AXES)]
    low, high = index.bounds()
    assert low <= min(values)
    assert max(values) <= high
    if index.is_affine():
        assert (low, high) == (min(values), max(values))


@given(INDICES, DIVISORS)
def test_quotient_and_remainder_recombine(pair: Expected, divisor: int) -> None:
    index, _ = pair
    assert same((index // divisor) * divisor + index % divisor, index)


@given(INDICES)
def test_axes_are_those_that_the_value_depends_on(pair: Expected) -> None:
    index, expected = pair
    values = {tuple(at[axis] for axis in AXES): expected(at) for at in points(AXES)}
    for number, axis in enumerate(AXES):
        if axis in index.axes():
            continue
        for at, value in values.items():
            assert values[(*at[:number], 0, *at[number + 1 :])] == value


@given(INDICES, INDICES)
def test_sums_are_equal_in_either_order(x: Expected, y: Expected) -> None:
    assert x[0] + y[0] == y[0] + x[0]


@given(INDICES, st.lists(INDICES, min_size=len(AXES), max_size=len(AXES)))
def test_substitution_is_composition(pair: Expected, given_: list[Expected]) -> None:
    """Images must lie within the axes that they stand for."""
    index, expected = pair
    inside = [(image % axis.extent, f) for (image, f), axis in zip(given_, AXES, strict=True)]
    image = {axis: each for axis, (each, _) in zip(AXES, inside, strict=True)}
    made = substituted(index, image, {})
    for at in points(AXES):
        moved = {axis: f(at) % axis.extent for axis, (_, f) in zip(AXES, inside, strict=True)}
        assert evaluated(made, at) == expected(moved)


def test_substitution_leaves_other_axes_alone() -> None:
    assert substituted(A * 6 + B, {AXES[0]: C}, {}) == C * 6 + B


# ---- shapes

SHAPES = st.lists(st.integers(1, 5), max_size=4).map(tuple)


@given(SHAPES)
def test_row_major_counts_the_elements(shape: tuple[int, ...]) -> None:
    axes = [Axis(number, extent) for number, extent in enumerate(shape)]
    place = row_major(tuple(of_axis(axis) for axis in axes), shape)
    assert [evaluated(place, at) for at in points(axes)] == list(range(prod(shape)))
    assert place.bounds() == (0, prod(shape) - 1)


@given(SHAPES)
def test_reshaping_forth_and_back_needs_no_division(shape: tuple[int, ...]) -> None:
    position = of_axis(Axis(0, prod(shape)))
    assert row_major(unravelled(position, shape), shape) == position


@given(SHAPES)
def test_unravelled_inverts_row_major(shape: tuple[int, ...]) -> None:
    coordinates = tuple(of_axis(Axis(number, extent)) for number, extent in enumerate(shape))
    assert unravelled(row_major(coordinates, shape), shape) == coordinates


@pytest.mark.parametrize("shape", sorted(set(permutations((2, 3, 4)))))
def test_reshaping_to_any_shape_gives_the_coordinates_of_the_place(shape: tuple[int, ...]) -> None:
    axes = [Axis(number, extent) for number, extent in enumerate((4, 3, 2))]
    place = row_major(tuple(of_axis(axis) for axis in axes), (4, 3, 2))
    found = unravelled(place, shape)
    for count, at in enumerate(points(axes)):
        coordinates = [evaluated(each, at) for each in found]
        assert coordinates == [count // prod(shape[k + 1 :]) % shape[k] for k in range(3)]


def test_shapes_without_elements() -> None:
    """No element is asked for, so that any coordinate will do; none may fail."""
    assert len(unravelled(of_axis(Axis(0, 0)), (2, 0, 3))) == 3
    assert row_major((ZERO, ZERO), (0, 2)) == ZERO


# ---- normal forms


@pytest.mark.parametrize(
    ("made", "expected"),
    [
        (A + A, A * 2),
        (A + A * -1, ZERO),
        (A * 0, ZERO),
        (ONE, ZERO),
        ((A * 6 + B) // 6, A),
        ((A * 6 + B) % 6, B),
        ((A * 12 + B * 2) // 12, A),
        (A % 4, A),
        (A // 4, ZERO),
        (A.plus(8) // 4, constant(2)),
        (A.plus(8) % 4, A),
        ((B // 2) // 3, B // 6),
        ((B % 4) % 2, B % 2),
        ((B // 2) * 2 + B % 2, B),
        ((B // 2) * 6 + (B % 2) * 3 + A, A + B * 3),
        ((A * 5 + C) // 1, A * 5 + C),
        ((A * 5 + C) % 1, ZERO),
        (A + B, B + A),
    ],
)
def test_equal_places_compare_equal(made: Index, expected: Index) -> None:
    assert made == expected


def test_a_sum_joins_equal_atoms() -> None:
    assert total(3, [(AXES[0], 2), (AXES[1], 1), (AXES[0], -2)]) == B.plus(3)


def test_the_order_of_terms_is_that_of_the_axes() -> None:
    assert [atom for atom, _ in (C + B + A).terms] == list(AXES[:3])


def test_what_cannot_be_divided_stays_a_quotient_and_a_remainder() -> None:
    assert (B // 4).terms == ((Quotient(B, 4), 1),)
    assert (B % 4).terms == ((Remainder(B, 4), 1),)
    assert not (B // 4).is_affine()
    assert (A * 3 + B).is_affine()


def test_negative_places_round_down() -> None:
    index = A.plus(-3)
    assert [evaluated(index // 2, {AXES[0]: k}) for k in range(4)] == [-2, -1, -1, 0]
    assert [evaluated(index % 2, {AXES[0]: k}) for k in range(4)] == [1, 0, 1, 0]


# ---- what is known only at run time

PLACE = Place(Number(int32, "0", axes=frozenset()), 7, 0)
OTHER = Place(Number(int32, "1", axes=frozenset()), 7, 1)


def test_run_time_places_are_atoms() -> None:
    index = of_place(PLACE) * 3 + A
    assert index.bounds() == (0, 6 * 3 + 3)
    assert index.places() == [PLACE]
    assert index.axes() == {AXES[0]}
    assert not index.is_affine()
    assert ((index // 2) % 5).places()[:1] == [PLACE]


def test_run_time_places_are_substituted() -> None:
    index = of_place(PLACE) // 2 + A
    assert substituted(index, {}, {PLACE: OTHER}) == of_place(OTHER) // 2 + A


# ---- what a condition keeps in bounds


def test_what_is_in_bounds_needs_no_promise() -> None:
    assert bounded(A, 4) == A
    assert bounded(A.plus(-1), 4).terms == ((Bounded(A.plus(-1), 4), 1),)


def test_a_promise_gives_the_bounds_and_keeps_the_value() -> None:
    index = bounded(A.plus(-1), 3)
    assert index.bounds() == (0, 2)
    assert [evaluated(index, {AXES[0]: k}) for k in (1, 2, 3)] == [0, 1, 2]
    assert (index * 5 + C) // 5 == index


def test_a_promise_is_kept_through_substitution_until_it_is_plain() -> None:
    index = bounded(A.plus(-1), 3)
    assert substituted(index, {AXES[0]: constant(2)}, {}) == constant(1)
    assert substituted(index, {AXES[0]: B}, {}) == bounded(B.plus(-1), 3)


@given(st.integers(-6, 6), st.integers(1, 6), DIVISORS)
def test_division_of_promised_places(offset: int, extent: int, divisor: int) -> None:
    """Right wherever the promise holds."""
    index = bounded(A.plus(offset), extent)
    for k in range(4):
        if 0 <= k + offset < extent:
            at = {AXES[0]: k}
            assert evaluated(index // divisor, at) == (k + offset) // divisor
            assert evaluated(index % divisor, at) == (k + offset) % divisor
