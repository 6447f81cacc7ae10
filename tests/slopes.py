"""What tests of functions share: values and derivatives against independent ones.

A case is (function of tensors, the same of arrays in NumPy, arrays...). Most of it runs in the
interpreter, in float64; the compiled program is held against it once per case, in float32.
"""

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import pytest
from gradc.tracer.evaluation import forget_programs
from gradc.tracer.evaluator import InterpretingEvaluator, current_evaluator, set_evaluator

from gradc import tensor
from gradc.autodiff import GradManager


def parameter(array, dtype="float64"):
    return tensor(array, dtype=dtype)


@contextmanager
def interpreting() -> Iterator[None]:
    before = current_evaluator()
    set_evaluator(InterpretingEvaluator())
    forget_programs()
    try:
        yield
    finally:
        set_evaluator(before)
        forget_programs()


def gradients(function, tensors, weights=None):
    """The gradient of sum(weights * function) with respect to each of `tensors`."""
    manager = GradManager().attach(tensors)
    with manager:
        y = function(*tensors)
        manager.backward(y, weights)
    found = [each.grad for each in tensors]
    for each in tensors:
        each.grad = None
    return found


def slope(function, *values, dtype="float32"):
    """The gradient of a function of one tensor, as an array."""
    (found,) = gradients(function, [tensor(*values, dtype=dtype)])
    return found.numpy()


def differences(function, arrays, eps=1e-6):
    """The central differences of a scalar function, with respect to each array."""
    found = []
    for which, array in enumerate(arrays):
        made = np.zeros(array.shape)
        for place in np.ndindex(array.shape):
            sides = []
            for step in (eps, -eps):
                moved = [np.array(each, np.float64) for each in arrays]
                moved[which][place] += step
                sides.append(function(*moved))
            made[place] = (sides[0] - sides[1]) / (2 * eps)
        found.append(made)
    return found


def filled(found, like):
    return np.zeros(like.shape) if found is None else found.numpy()


class Checks:
    """The tests of one case; a subclass is parametrized over `case`."""

    @pytest.fixture(autouse=True)
    def evaluator(self, request):
        if "compiled" in request.node.name:
            yield
        else:
            with interpreting():
                yield

    def test_value(self, case):
        function, expected, *arrays = case
        got = function(*map(parameter, arrays))
        want = np.asarray(expected(*arrays))
        assert got.dtype == np.float64
        assert got.shape == want.shape
        assert np.allclose(got.numpy(), want, rtol=1e-9, atol=1e-12)

    def test_derivative(self, case):
        function, expected, *arrays = case
        weights = np.random.default_rng(1).uniform(0.5, 1.5, np.shape(expected(*arrays)))
        got = gradients(function, [parameter(each) for each in arrays], parameter(weights))
        want = differences(lambda *moved: (expected(*moved) * weights).sum(), arrays)
        for one, other in zip(got, want, strict=True):
            assert np.allclose(filled(one, other), other, rtol=1e-5, atol=1e-7)

    def test_second_derivative(self, case):
        """The gradient of <gradient, direction>, against differences of the first gradient."""
        function, _, *arrays = case
        rng = np.random.default_rng(2)
        weights = parameter(rng.uniform(0.5, 1.5, function(*map(parameter, arrays)).shape))
        directions = [rng.uniform(-1, 1, each.shape) for each in arrays]
        tensors = [parameter(each) for each in arrays]
        outer = GradManager().attach(tensors)
        with outer:
            found = gradients(function, tensors, weights)
            pairs = zip(found, directions, strict=True)
            outer.backward(sum((g * parameter(d)).sum() for g, d in pairs if g is not None))
        sides = [
            gradients(
                function,
                [parameter(a + s * d) for a, d in zip(arrays, directions, strict=True)],
                weights,
            )
            for s in (1e-5, -1e-5)
        ]
        for each, high, low in zip(tensors, *sides, strict=True):
            want = (filled(high, each) - filled(low, each)) / 2e-5
            assert np.allclose(filled(each.grad, each), want, rtol=1e-4, atol=1e-6)

    def test_compiled(self, case):
        """Value and gradient of compiled programs in float32 agree with the reference.

        They run twice, as what is exact is compiled only when it is seen again.
        """
        function, expected, *arrays = case
        want = np.asarray(expected(*arrays))
        weights = np.random.default_rng(1).uniform(0.5, 1.5, want.shape)
        tensors = [parameter(each, "float32") for each in arrays]
        for _ in range(2):
            got = gradients(function, tensors, parameter(weights, "float32"))
            value = function(*tensors).numpy()
        assert np.allclose(value, want, rtol=2e-5, atol=2e-5)
        slopes = differences(lambda *moved: (expected(*moved) * weights).sum(), arrays)
        for one, other in zip(got, slopes, strict=True):
            assert np.allclose(filled(one, other), other, rtol=1e-3, atol=1e-3)

    def test_compiled_in_half(self, case):
        """float16 is near the reference, where it can hold the values."""
        function, expected, *arrays = case
        want = np.asarray(expected(*arrays))
        tensors = [parameter(each, "float16") for each in arrays]
        for _ in range(2):
            value = function(*tensors).numpy()
        assert np.allclose(value, want, rtol=0.03, atol=0.03)
