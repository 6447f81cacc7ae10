"""What tests of modules share: drawn arrays, and gradients of parameters by central differences."""

import numpy as np
import pytest

import gradc
from gradc.autodiff import GradManager

RANDOM = np.random.default_rng(7)


def drawn(*shape):
    return RANDOM.normal(size=shape).astype(np.float32)


def close(found, expected, tolerance=2e-5):
    np.testing.assert_allclose(found.numpy(), expected, rtol=tolerance, atol=tolerance)


def check_gradients(module, *inputs, eps=1e-2):
    """The gradient of every parameter, of a mean of squares, along one direction each."""
    tensors = [gradc.tensor(each) for each in inputs]

    def loss():
        y = module(*tensors)
        y = y[0] if isinstance(y, tuple) else y
        return (y * y).mean()

    with GradManager().attach(module.parameters()) as gm:
        gm.backward(loss())
    for each in module.parameters():
        before, direction = each.numpy().copy(), drawn(*each.shape)
        sides = []
        for step in (eps, -eps):
            each[...] = before + step * direction
            sides.append(loss().item())
        each[...] = before
        slope = float((each.grad.numpy() * direction).sum())
        assert slope == pytest.approx((sides[0] - sides[1]) / (2 * eps), rel=2e-2, abs=1e-3)
        each.grad = None
