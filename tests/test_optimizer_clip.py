"""Clipping of gradients."""

import numpy as np
import pytest
from gradc.tracer.recording import STATISTICS

import gradc
import gradc.optimizer as optim
from gradc.autodiff import GradManager


def parameter(values, dtype="float32"):
    return gradc.Parameter(np.array(values), dtype=dtype)


def with_gradient(p, gradient):
    p.grad = gradc.tensor(np.array(gradient), dtype=p.dtype)
    return p


def test_clip_grad_norm_scales_all_gradients_together():
    p, q, without = parameter([0.0, 0.0]), parameter(0.0), parameter([0.0])
    with_gradient(p, [3.0, 0.0])
    with_gradient(q, -4.0)
    gradient = p.grad
    assert optim.clip_grad_norm([p, q, without], 1.0).item() == pytest.approx(5.0)
    np.testing.assert_allclose(p.grad.numpy(), [0.6, 0.0], rtol=1e-5)
    assert q.grad.item() == pytest.approx(-0.8, rel=1e-5)
    assert p.grad is gradient
    assert without.grad is None


@pytest.mark.parametrize("order", [1, 3, 0.5, float("inf")])
def test_clip_grad_norm_of_other_orders(order):
    gradient = np.array([[1.0, -2.0], [3.0, 0.5]])
    p = with_gradient(parameter(np.zeros((2, 2))), gradient)
    expected = np.linalg.norm(gradient.ravel(), order)
    assert optim.clip_grad_norm(p, 100.0, ord=order).item() == pytest.approx(expected, rel=1e-5)
    np.testing.assert_allclose(p.grad.numpy(), gradient, rtol=1e-6)  # below the limit


def test_clip_grad_norm_of_nothing_and_of_zeros():
    assert optim.clip_grad_norm([parameter([1.0])], 1.0).item() == 0.0
    p = with_gradient(parameter([1.0]), [0.0])
    assert optim.clip_grad_norm([p], 1.0).item() == 0.0
    assert p.grad.tolist() == [0.0]
    with pytest.raises(ValueError, match="ord"):
        optim.clip_grad_norm([p], 1.0, ord=0)


def test_clip_grad_value():
    p = with_gradient(parameter([0.0] * 4), [-3.0, -0.5, 0.5, np.nan])
    optim.clip_grad_value([p, parameter([1.0])], -1.0, 0.25)
    np.testing.assert_array_equal(p.grad.numpy(), [-1.0, -0.5, 0.25, np.nan])


def test_clipping_and_the_step_are_one_program():
    p = [parameter([1.0]), parameter([2.0, 3.0])]
    optimizer, gm = optim.Adam(p, lr=0.1), GradManager().attach(p)
    for _ in range(4):
        STATISTICS.reset()
        with gm:
            gm.backward(sum((each * each).sum() for each in p))
        optim.clip_grad_norm(p, 0.1)
        optimizer.step().clear_grad()
    assert (STATISTICS.evaluations, STATISTICS.identity_hits) == (2, 2)
