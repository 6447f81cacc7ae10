"""Activations and softmax."""

import math

import numpy as np
import pytest
from slopes import Checks, gradients, slope

from gradc import functional as F
from gradc import tensor

RANDOM = np.random.default_rng(0)
A = RANDOM.uniform(-2, 2, (2, 3))
W = RANDOM.uniform(-2, 2, 3)
C = RANDOM.uniform(-2, 2, (2, 3, 4))
ERF = np.vectorize(math.erf)


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def softmax(x, axis=-1):
    weights = np.exp(x - x.max(axis, keepdims=True))
    return weights / weights.sum(axis, keepdims=True)


def elu(x, alpha=1.0, scale=1.0):
    return np.where(x > 0, x, alpha * (np.exp(x / scale) - 1))


def gelu_tanh(x):
    return 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))


CASES = {
    "softplus_beta": (lambda x: F.softplus(x, 3.0), lambda x: np.log(1 + np.exp(3 * x)) / 3, A),
    "threshold": (lambda x: F.threshold(x, 0.3, -1), lambda x: np.where(x > 0.3, x, -1), A),
    "relu": (F.relu, lambda x: np.maximum(x, 0), A),
    "relu6": (F.relu6, lambda x: np.clip(x, 0, 6), 5 * A),
    "hardtanh": (F.hardtanh, lambda x: np.clip(x, -1, 1), A),
    "hardtanh_bounds": (lambda x: F.hardtanh(x, -0.5, 2), lambda x: np.clip(x, -0.5, 2), 2 * A),
    "leaky_relu": (F.leaky_relu, lambda x: np.where(x < 0, 0.01 * x, x), A),
    "leaky_relu_slope": (lambda x: F.leaky_relu(x, 0.3), lambda x: np.where(x < 0, 0.3 * x, x), A),
    "prelu": (F.prelu, lambda x, w: np.where(x < 0, w * x, x), A, W),
    "prelu_one": (F.prelu, lambda x, w: np.where(x < 0, w * x, x), C, W[:1]),
    "prelu_channels": (F.prelu, lambda x, w: np.where(x < 0, w[:, None] * x, x), C, W),
    "elu": (F.elu, elu, A),
    "elu_alpha": (lambda x: F.elu(x, 0.3), lambda x: elu(x, 0.3), A),
    "celu": (lambda x: F.celu(x, 1.7), lambda x: elu(x, 1.7, 1.7), A),
    "selu": (F.selu, lambda x: 1.0507009873554805 * elu(x, 1.6732632423543772), A),
    "sigmoid": (F.sigmoid, sigmoid, A),
    "hsigmoid": (F.hsigmoid, lambda x: np.clip(x + 3, 0, 6) / 6, 3 * A),
    "hswish": (F.hswish, lambda x: x * np.clip(x + 3, 0, 6) / 6, 3 * A),
    "softplus": (F.softplus, lambda x: np.log1p(np.exp(x)), A),
    "logsigmoid": (F.logsigmoid, lambda x: -np.log1p(np.exp(-x)), A),
    "silu": (F.silu, lambda x: x * sigmoid(x), A),
    "mish": (F.mish, lambda x: x * np.tanh(np.log1p(np.exp(x))), A),
    "gelu": (F.gelu, lambda x: x * (1 + ERF(x / np.sqrt(2))) / 2, A),
    "gelu_tanh": (lambda x: F.gelu(x, approximate="tanh"), gelu_tanh, A),
    "softsign": (F.softsign, lambda x: x / (1 + np.abs(x)), A),
    "tanhshrink": (F.tanhshrink, lambda x: x - np.tanh(x), A),
    "softshrink": (F.softshrink, lambda x: np.sign(x) * np.maximum(np.abs(x) - 0.5, 0), A),
    "hardshrink": (F.hardshrink, lambda x: np.where(np.abs(x) > 0.5, x, 0), A),
    "glu": (F.glu, lambda x: x[..., :2] * sigmoid(x[..., 2:]), C),
    "glu_axis": (lambda x: F.glu(x, 0), lambda x: x[:1] * sigmoid(x[1:]), C),
    "softmax": (F.softmax, softmax, A),
    "softmax_axis": (lambda x: F.softmax(x, axis=0), lambda x: softmax(x, 0), A),
    "softmax_axes": (
        lambda x: F.softmax(x, axis=(0, 2)),
        lambda x: np.exp(x) / np.exp(x).sum((0, 2), keepdims=True),
        C,
    ),
    "softmin": (lambda x: F.softmin(x, 1), lambda x: softmax(-x, 1), C),
    "logsoftmax": (lambda x: F.logsoftmax(x, 1), lambda x: np.log(softmax(x, 1)), A),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
class TestCases(Checks):
    pass


class TestKinks:
    @pytest.mark.parametrize(
        ("function", "at", "expected"),
        [
            (F.relu, 0, 0),
            (F.relu6, 0, 0),
            (F.relu6, 6, 0),
            (F.hardtanh, 1, 0),
            (F.hardtanh, -1, 0),
            (F.leaky_relu, 0, 1),
            (F.elu, 0, 1),
            (F.softplus, 0, 0.5),
            (F.softsign, 0, 1),
            (F.softshrink, 0.5, 0),
            (F.hardshrink, 0.5, 0),
        ],
    )
    def test_slopes(self, function, at, expected):
        assert slope(function, float(at)) == expected

    @pytest.mark.parametrize("function", [F.relu, F.relu6, F.leaky_relu, F.hardtanh, F.elu, F.selu])
    def test_nan_goes_through(self, function):
        assert math.isnan(function(tensor([math.nan, 1, -1])).numpy()[0])

    @pytest.mark.parametrize("function", [F.elu, F.celu, F.selu, F.mish, F.softplus, F.gelu])
    def test_tails(self, function):
        """What is large grows no faster than x, and its derivative is finite."""
        x = [-200.0, 200.0]
        assert np.isfinite(function(tensor(x)).numpy()).all()
        assert np.isfinite(slope(function, x)).all()


class TestSoftmax:
    @pytest.mark.parametrize(("shape", "axis"), [((4,), 0), ((2, 4), 1), ((2, 3, 4), 0)])
    def test_the_axis_of_the_classes(self, shape, axis):
        x = RANDOM.uniform(-1, 1, shape)
        assert np.allclose(F.softmax(tensor(x)).numpy(), softmax(x, axis), rtol=1e-5)
        x = RANDOM.uniform(-1, 1, (2, 3, 2, 2))
        assert np.allclose(F.log_softmax(tensor(x)).numpy(), np.log(softmax(x, 1)), rtol=1e-4)

    def test_large_logits(self):
        x = tensor([[-1000.0, 0.0, 1000.0]])
        assert F.softmax(x).tolist() == [[0, 0, 1]]
        assert F.logsoftmax(x).tolist() == [[-2000, -1000, 0]]
        (g,) = gradients(F.logsoftmax, [x])
        assert g.tolist() == [[1, 1, -2]]

    def test_infinite_logits(self):
        assert F.softmax(tensor([0.0, -math.inf, 0.0])).tolist() == [0.5, 0, 0.5]

    def test_empty(self):
        assert F.softmax(F.zeros((0, 3))).shape == (0, 3)
        assert F.softmax(tensor(2.0), axis=()).item() == 1
        assert F.softmax(F.zeros((3, 0))).shape == (3, 0)

    @pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float64"])
    def test_types_are_kept(self, dtype):
        x = tensor(A, dtype=dtype)
        for function in (F.softmax, F.gelu, F.mish, F.elu, F.hswish, F.softplus, F.glu):
            y = function(x[:, :2]) if function is F.glu else function(x)
            assert str(y.dtype).endswith(dtype)

    def test_integers_become_floats(self):
        for function in (F.softmax, F.gelu, F.elu, F.sigmoid, F.softsign, F.selu):
            assert function(tensor([[1, 2]])).dtype == np.float32


@pytest.mark.parametrize(
    ("use", "message"),
    [
        (lambda: F.gelu(tensor(A), "sigmoid"), "none or tanh"),
        (lambda: F.glu(tensor(A)), "an even number"),
        (lambda: F.prelu(tensor(C), tensor([1.0, 2])), "each of 3 channels"),
        (lambda: F.softmax(tensor(A), 2), "axis 2"),
    ],
)
def test_messages(use, message):
    with pytest.raises(ValueError, match=message):
        use()
