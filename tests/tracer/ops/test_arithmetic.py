import math

import numpy as np
import pytest
from contract.compute import compute, leaf
from gradc.tracer.dtypes import DType, bool_, float32, float64, int8, int32, int64
from gradc.tracer.graph import canonical
from gradc.tracer.ops import arithmetic, elementwise, transcendental


def names(exponent: float, dtype: DType = float64) -> list[str]:
    """The operators that a power is made of."""
    graph, _ = canonical([arithmetic.to_power(leaf(0, (), dtype), exponent)])
    return [each.op.name for each in graph.nodes()]


@pytest.mark.parametrize("exponent", [0, 1, 2, 3, 5, 8, 9, 20, -1, -4, -5, 0.5, -0.5, 1.7, 0.25])
def test_powers_of_positive_numbers(exponent: float) -> None:
    x = np.array([0.3, 1.0, 2.5])
    found = compute([arithmetic.to_power(leaf(0, (3,)), exponent)], [x])[0]
    np.testing.assert_allclose(found, [math.pow(each, exponent) for each in x], rtol=1e-14)


@pytest.mark.parametrize("exponent", [2, 3, 7, 9, -1, -2, -7])
def test_powers_of_negative_numbers_and_zeros(exponent: int) -> None:
    x = np.array([-2.0, 0.0, -0.0, -math.inf])
    found = compute([arithmetic.to_power(leaf(0, (4,)), exponent)], [x])[0]
    even, inverse = exponent % 2 == 0, exponent < 0
    size = [math.inf, 0.0]
    at_zero, at_end = size if inverse else size[::-1]
    sign = 1 if even else -1
    expected = [(-2.0) ** exponent, at_zero, math.copysign(at_zero, sign), sign * at_end]
    np.testing.assert_array_equal(found, expected)
    assert (np.signbit(found) == np.signbit(expected)).all()


@pytest.mark.parametrize("exponent", [math.inf, -math.inf, math.nan])
def test_powers_that_are_no_numbers(exponent: float) -> None:
    x = np.array([0.5, 1.0, 2.0])
    found = compute([arithmetic.to_power(leaf(0, (3,)), exponent)], [x])[0]
    np.testing.assert_array_equal(found, [math.pow(each, exponent) for each in x])


def test_small_powers_call_no_function() -> None:
    assert names(1) == ["input"]
    assert names(2) == ["input", "mul"]
    assert names(8) == ["input", "mul", "mul", "mul"]
    assert names(-2) == ["constant", "input", "div", "mul"]
    assert names(0.5) == ["input", "sqrt"]
    assert names(-0.5) == ["input", "rsqrt"]
    assert names(9) == ["input", "power"]


@pytest.mark.parametrize("exponent", [0, 1, 2, 9, 33])
@pytest.mark.parametrize("dtype", [int8, int32], ids=repr)
def test_integers_stay_integers(exponent: int, dtype: DType) -> None:
    x = np.array([-3, 0, 2], dtype.storage)
    made = arithmetic.to_power(leaf(0, (3,), dtype), exponent)
    assert made.dtype is dtype
    wide = [int(each) ** exponent % (1 << dtype.bits) for each in x]
    expected = [each - (1 << dtype.bits) if each >> (dtype.bits - 1) else each for each in wide]
    assert compute([made], [x])[0].tolist() == expected


def test_integers_become_floats_where_the_exponent_asks_for_it() -> None:
    for exponent in (-1, 0.5, 2.5, -9):
        assert arithmetic.to_power(leaf(0, (), int32), exponent).dtype is float32
    assert compute([arithmetic.to_power(leaf(0, (), int32), -1)], [np.int32(4)])[0] == 0.25


@pytest.mark.parametrize("exponent", [0, 1, 2])
def test_powers_of_bool_are_integers(exponent: int) -> None:
    made = arithmetic.to_power(leaf(0, (2,), bool_), exponent)
    assert made.dtype is int32
    found = compute([made], [np.array([False, True])])[0]
    assert found.tolist() == [0**exponent, 1]


def test_power_zero_of_nothing_has_its_shape() -> None:
    assert arithmetic.to_power(leaf(0, (0, 3)), 0).shape == (0, 3)


def test_to_float() -> None:
    x = leaf(0, (), float64)
    assert arithmetic.to_float(x) is x
    assert arithmetic.to_float(leaf(0, (), bool_)).dtype is float32


def test_rounding_of_wide_integers_is_exact() -> None:
    """Through float64 the last digit of 2**53 + 1 would be lost."""
    value = np.int64(2**53 + 1)
    rounds = [elementwise.round, elementwise.floor, elementwise.ceil]
    found = compute([each(leaf(0, (), int64)) for each in rounds], [value])
    assert [int(each) for each in found] == [2**53 + 1] * 3


def test_large_arguments_do_not_overflow() -> None:
    x = np.float64(1e200)
    found = compute([transcendental.hypot(leaf(0), leaf(0))], [x])[0]
    assert found == pytest.approx(math.sqrt(2) * 1e200)
