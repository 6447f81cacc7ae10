"""Derivatives of plain functions, against closed forms."""

import numpy as np
import pytest
from walk import walk

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


# ---- checks of derivatives


class Cube(autodiff.Function):
    """x ** 3, with a factor in the derivative that should be 3."""

    def __init__(self, factor=3.0):
        self.factor = factor

    def forward(self, x):
        self.x = x
        return x**3

    def backward(self, g):
        return g * self.factor * self.x**2


def test_hessian():
    x = x64()
    matrix = np.array([[2.0, 1, 0], [0, 3, 1], [4, 0, 5]])
    found = autodiff.hessian(lambda x: F.dot(x, F.matmul(x64(matrix), x)) + (x**3).sum(), x)
    assert np.allclose(found.numpy(), matrix + matrix.T + np.diag(6 * X))


def test_right_derivatives_are_found_right():
    a, b = x64(np.ones((2, 3)) * 0.5), X.astype("float32")
    function = lambda a, n, b: [F.tanh(a * b) ** n, F.softmax(a, -1), F.exp(b)]  # noqa: E731
    assert autodiff.check_grad(function, (a, 2, b), order=2) < 1e-8
    assert autodiff.check_grad(lambda x: Cube()(x), (x64(),), order=2) < 1e-8


def test_wrong_derivatives_are_found_wrong():
    with pytest.raises(autodiff.WrongDerivativeError, match=r"argument 1 differs most \(at "):
        autodiff.check_grad(lambda a, b: a * Cube(3.001)(b), (x64(), x64()))


def test_wrong_second_derivatives_are_found_wrong():
    class Once(autodiff.Function):
        """exp, whose derivative is right, and a constant to all further ones."""

        def forward(self, x):
            self.y = F.exp(x)
            return self.y

        def backward(self, g):
            return g * self.y.detach()

    assert autodiff.check_grad(lambda x: Once()(x), (x64(),)) < 1e-8
    with pytest.raises(autodiff.WrongDerivativeError, match="second derivative"):
        autodiff.check_grad(lambda x: Once()(x), (x64(),), order=2)


@pytest.mark.parametrize("scale", [1e-12, 1e-8, 1.0, 1e8])
def test_checks_know_no_scale(scale):
    at = x64(np.array([1.0, 0.5, 3.0]) * scale)
    assert autodiff.check_grad(lambda x: x * x, (at,), order=2) < 1e-6
    assert autodiff.check_grad(lambda x: F.log(x) + 1 / x, (at,), order=2) < 1e-6
    with pytest.raises(autodiff.WrongDerivativeError):
        autodiff.check_grad(lambda x: Cube(3.001)(x), (at,))
    with pytest.raises(autodiff.WrongDerivativeError):
        autodiff.check_grad(lambda x: Cube(30.0)(x64()) * 0 + Cube(30.0)(x) * 1e-8, (at,))


def test_derivatives_are_those_outside_of_no_grad_and_constants():
    x = x64()
    manager = GradManager().attach(x)
    with manager:
        with autodiff.no_grad():
            value, slope = autodiff.value_and_grad(lambda x: (x**3).sum())(x)
            curvature = autodiff.hvp(lambda x: (x**3).sum(), (x,), (x64(np.ones(3)),))[0]
            outside = x * 2
        manager.backward((slope * x).sum() + value + outside.sum())
    assert np.allclose(slope.numpy(), 3 * X**2)
    assert np.allclose(curvature.numpy(), 6 * X)
    assert np.allclose(x.grad.numpy(), 3 * X**2)


def test_what_is_no_number_does_not_pass():
    with pytest.raises(autodiff.WrongDerivativeError, match="nan"):
        autodiff.check_grad(lambda x: F.log(x), (x64(),))


@pytest.mark.parametrize("wrong", [{"order": 3}, {"directions": 0}])
def test_checks_refuse_what_they_cannot_do(wrong):
    with pytest.raises(ValueError, match="order 1 or 2"):
        autodiff.check_grad(lambda x: x, (x64(),), **wrong)
    with pytest.raises(TypeError, match="at least one floating-point"):
        autodiff.check_grad(lambda n: n, (3,))


# ---- what is given, and what a function gives


def product(x, y):
    return (x * y).sum()


def test_one_argument_may_be_given_alone():
    value, (slope,) = autodiff.vjp(lambda x: x * x, x64())
    assert (value.tolist(), slope.tolist()) == ((X * X).tolist(), (2 * X).tolist())
    value, tangent = autodiff.jvp(lambda x: x * x, x64(), x64([1, 0, 2]))
    assert tangent.tolist() == (2 * X * [1, 0, 2]).tolist()
    (second,) = autodiff.hvp(lambda x: (x**3).sum(), x64(), x64([1, 0, 2]))
    assert np.allclose(second.numpy(), 6 * X * [1, 0, 2])
    assert autodiff.check_grad(lambda x: x * x, x64()) < 1e-6
    assert autodiff.check_grad(lambda x: x * x, X) < 1e-6


def test_functions_with_several_values():
    def several(x):
        return x * x, x.sum(), 3 * x[:2]

    square, total, part = autodiff.jacobian(several, x64())
    assert np.allclose(square.numpy(), np.diag(2 * X))
    assert total.tolist() == [1, 1, 1]
    assert part.tolist() == [[3, 0, 0], [0, 3, 0]]
    assert isinstance(autodiff.jacobian(lambda x: [x], x64()), list)
    value, tangent = autodiff.jvp(several, x64(), x64([1, 2, 3]))
    assert np.allclose(value[0].numpy(), X * X)
    assert np.allclose(tangent[0].numpy(), 2 * X * [1, 2, 3])
    assert (tangent[1].item(), tangent[2].tolist()) == (6, [3, 6])
    _, (slope,) = autodiff.vjp(several, x64(), (x64([1, 2, 3]), None, 2.0))
    assert np.allclose(slope.numpy(), 2 * X * [1, 2, 3] + 1 + np.array([6, 6, 0]))


def test_weights_that_are_numbers_keep_their_precision():
    _, tangent = autodiff.jvp(lambda x: x, x64(), ([0.1, 0.2, 0.3],))
    assert tangent.tolist() == [0.1, 0.2, 0.3]
    _, (slope,) = autodiff.vjp(lambda x: x, x64(), [0.1, 0.2, 0.3])
    assert slope.tolist() == [0.1, 0.2, 0.3]


@walk(
    ("call", "kind", "message"),
    [
        (lambda x: autodiff.grad(3), TypeError, "grad: expected a function, found 3"),
        (lambda x: autodiff.vjp(3, x), TypeError, "vjp: expected a function, found 3"),
        (lambda x: autodiff.grad(product, "x"), TypeError, "grad: .* as argnums, found 'x'"),
        (lambda x: autodiff.grad(product, 5)(x, x), ValueError, "among 2 .*, found 5"),
        (lambda x: autodiff.grad(product, (0, -3))(x, x), ValueError, "among 2 .*, found -3"),
        (lambda x: autodiff.grad(product)(), ValueError, "among 0 .*, found 0"),
        (lambda x: autodiff.grad(lambda x: None)(x), TypeError, "gives Tensors, found None"),
        (lambda x: autodiff.grad(product)(tensor([1]), x), TypeError, r"grad: .* found int32\[1\]"),
        (lambda x: autodiff.hessian(lambda x: (x, x), x), ValueError, "hessian: .* single number"),
        (lambda x: autodiff.jacobian(lambda x: None, x), TypeError, "jacobian: .* found None"),
        (
            lambda x: autodiff.jvp(product, (x, x), (x,)),
            ValueError,
            "tangent for each of 2, found 1",
        ),
        (lambda x: autodiff.jvp(product, (x, x), x), ValueError, "tangent for each of 2, found 1"),
        (lambda x: autodiff.hvp(product, (x, x), (x,) * 3), ValueError, "vector .* found 3"),
        (lambda x: autodiff.vjp(lambda x: (x, x), x, [x]), ValueError, "dy for each of 2, found 1"),
        (
            lambda x: autodiff.jvp(product, (x, x), (x, x[:2])),
            ValueError,
            "tangent 1 does not broad",
        ),
        (
            lambda x: autodiff.vjp(lambda x: x, x, x[:2]),
            ValueError,
            r"dy 0 .* found \[2\] for \[3\]",
        ),
        (lambda x: autodiff.vjp(lambda x: None, x), TypeError, "vjp: .* found None"),
        (
            lambda x: autodiff.check_grad(3, x),
            TypeError,
            "check_grad: expected a function, found 3",
        ),
        (lambda x: autodiff.check_grad(lambda x: None, x), TypeError, "check_grad: .* found None"),
        (lambda x: autodiff.check_grad(lambda x: [x, 3.0], x), TypeError, "found float"),
        (lambda x: autodiff.check_grad(lambda x: [None], x), TypeError, "found none"),
    ],
)
def test_errors_say_what_was_expected_and_where(call, kind, message):
    with pytest.raises(kind, match=message) as caught:
        call(x64())
    assert f"(at {__file__}:" in str(caught.value)
