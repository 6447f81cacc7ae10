"""Derivatives of plain functions, against closed forms."""

import numpy as np
import pytest

from gradc import autodiff, tensor
from gradc import functional as F
from gradc.autodiff import GradManager

X = np.array([0.5, -1.5, 2.0])


def x64(values=X):
    return tensor(values, dtype="float64")


def test_value_and_grad():
    value, slope = autodiff.value_and_grad(lambda x: (x**3).sum())(x64())
    assert value.item() == pytest.approx((X**3).sum())
    assert np.allclose(slope.numpy(), 3 * X**2)


def test_grad_of_several_arguments_and_keywords():
    def function(x, y, scale=1.0):
        return (x * y).sum() * scale

    a, b = autodiff.grad(function, (0, 1))(x64(), x64(X + 1), scale=2.0)
    assert np.allclose(a.numpy(), 2 * (X + 1))
    assert np.allclose(b.numpy(), 2 * X)
    assert np.allclose(autodiff.grad(function, 1)(x64(), x64()).numpy(), X)


def test_what_the_value_does_not_depend_on_gets_zeros():
    assert autodiff.grad(lambda x, y: x.sum(), 1)(x64(), x64()).tolist() == [0, 0, 0]


def test_the_callers_tensor_is_left_alone():
    x = x64()
    autodiff.grad(lambda x: (x * x).sum())(x)
    assert x.grad is None


def test_grad_of_grad():
    function = F.sin
    for expected in (np.cos, lambda x: -np.sin(x), lambda x: -np.cos(x)):
        function = autodiff.grad(function)
        assert function(tensor(0.7, dtype="float64")).item() == pytest.approx(expected(0.7))


def test_grad_inside_a_manager_is_differentiated_through():
    x = x64()
    manager = GradManager().attach(x)
    with manager:
        slope = autodiff.grad(lambda x: (x**3).sum())(x)
        manager.backward(slope)
    assert np.allclose(x.grad.numpy(), 6 * X)


def test_vjp():
    value, (a, b) = autodiff.vjp(lambda x, y: x * y, (x64(), x64(X + 1)), x64([1, 2, 3]))
    assert np.allclose(value.numpy(), X * (X + 1))
    assert np.allclose(a.numpy(), (X + 1) * [1, 2, 3])
    assert np.allclose(b.numpy(), X * [1, 2, 3])


def test_jvp():
    value, tangent = autodiff.jvp(F.softmax, (x64(),), (x64([1, 0, 2]),))
    p = np.exp(X) / np.exp(X).sum()
    assert np.allclose(value.numpy(), p)
    assert np.allclose(tangent.numpy(), p * ([1, 0, 2] - p @ [1, 0, 2]))
    _, nothing = autodiff.jvp(lambda x: F.floor(x), (x64(),), (x64(),))
    assert nothing.tolist() == [0, 0, 0]


def test_hvp():
    (product,) = autodiff.hvp(lambda x: F.prod(x), (x64(),), (x64([1, 1, 0]),))
    a, b, c = X
    assert np.allclose(product.numpy(), [c, c, b + a])


def test_jacobian():
    matrix = np.arange(6.0).reshape(2, 3)
    found = autodiff.jacobian(lambda x: x64(matrix) @ (x * x), x64())
    assert np.allclose(found.numpy(), matrix * 2 * X)
    assert np.allclose(autodiff.jacobian(lambda x: (x * x).sum(), x64()).numpy(), 2 * X)


def test_a_function_with_several_numbers_is_an_error():
    with pytest.raises(ValueError, match="single number"):
        autodiff.grad(lambda x: x * 2)(x64())
