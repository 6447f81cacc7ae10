"""Powers by numbers, and their derivatives."""

import contextlib
import math

import numpy as np
import pytest
from walk import walk

import gradc
from gradc.autodiff import GradManager


@pytest.fixture(autouse=True)
def exact():
    gradc.set_default_dtype("float64")
    yield
    gradc.set_default_dtype("float32")


POWERS = [(2.5, 5.0), (-1.5, -1.5), (0.3, 0.3), (9, 9.0), (-7, -7.0), (1e-3, 1e-3)]


@pytest.mark.parametrize(("first", "second"), POWERS)
def test_powers_and_their_derivatives(first, second):
    for k in (first, second, first + 0.25):
        x = gradc.Parameter([0.5, 1.0, 3.0])
        with GradManager().attach(x) as outer:
            with GradManager().attach(x) as inner:
                y = x**k
                inner.backward(y)
            slope, x.grad = x.grad, None
            outer.backward(slope)
        base = np.array([0.5, 1.0, 3.0])
        np.testing.assert_allclose(y.numpy(), base**k, rtol=1e-13)
        np.testing.assert_allclose(slope.numpy(), k * base ** (k - 1.0), rtol=1e-13)
        expected = k * (k - 1) * base ** (k - 2.0)
        np.testing.assert_allclose(x.grad.numpy(), expected, rtol=1e-12)


@pytest.mark.parametrize(
    ("k", "value", "slope", "second"),
    [
        (2.5, 0.0, 0.0, 0.0),
        (1.5, 0.0, 0.0, math.inf),
        (0.25, 0.0, math.inf, -math.inf),
        (-1.5, math.inf, -math.inf, math.inf),
        (9.0, 0.0, 0.0, 0.0),
    ],
)
def test_powers_of_zero(k, value, slope, second):
    x = gradc.Parameter([0.0])
    with np.errstate(all="ignore"), GradManager().attach(x) as outer:
        with GradManager().attach(x) as inner:
            y = x**k
            inner.backward(y)
        found, x.grad = x.grad, None
        outer.backward(found)
        assert (y.item(), found.item(), x.grad.item()) == (value, slope, second)


@walk("dtype", ["float32", "float64"])
@walk("zero", [0.0, -0.0])
@walk("k", [-1, -2, -2.0, -3, -3.0, -4, -5, -6])
def test_negative_powers_of_zero(k, zero, dtype):
    """The derivatives number 0 to 3 are inf, with the sign of IEEE's pow and of their factor."""
    x = gradc.Parameter(np.array([zero], dtype))
    found = []
    with np.errstate(all="ignore"), contextlib.ExitStack() as stack:
        managers = [stack.enter_context(GradManager().attach(x)) for _ in range(3)]
        y = x**k
        for gm in [*reversed(managers), None]:
            found.append(y.item())
            if gm is not None:
                x.grad = None
                gm.backward(y)
                y = x.grad
    sign = -1.0 if math.copysign(1, zero) < 0 and k % 2 else 1.0
    other = -1.0 if math.copysign(1, zero) < 0 and not k % 2 else 1.0
    expected = [sign, -other, sign, -other]
    assert found == [math.copysign(math.inf, each) for each in expected]


def test_negative_powers_far_from_one():
    x = gradc.tensor(np.array([1e13, 1e-13, 3.0], "float32"))
    np.testing.assert_allclose((x**-3).numpy(), np.array([1e-39, np.inf, 1 / 27]), rtol=1e-6)


def test_powers_of_negative_numbers():
    x = gradc.tensor([-2.0, -1.0])
    assert (x**9).tolist() == [-512.0, -1.0]
    assert (x**-5).tolist() == [-1 / 32, -1.0]
    with np.errstate(all="ignore"):
        assert np.isnan((x**2.5).numpy()).all()


def test_numbers_of_half_types_are_not_rounded_first():
    x = gradc.tensor(np.array([100.0, 3.0]), dtype="float16")
    expected = np.array([100.0, 3.0]) ** 1.0003
    np.testing.assert_allclose((x**1.0003).numpy(), expected, rtol=1e-3)
