"""Normalization."""

import math

import numpy as np
import pytest
from slopes import Checks, gradients

from gradc import functional as F
from gradc import tensor

RANDOM = np.random.default_rng(0)
C = RANDOM.uniform(-1, 1, (2, 3, 4))
X = RANDOM.uniform(-1, 1, (3, 4, 2, 2))
W, B = RANDOM.uniform(0.5, 2, 4), RANDOM.uniform(-1, 1, 4)
EPS = 1e-5


def whitened(x, axes, eps=EPS):
    distance = x - x.mean(axes, keepdims=True)
    return distance / np.sqrt((distance**2).mean(axes, keepdims=True) + eps)


def column(w, rank=4):
    return w.reshape(1, -1, *(1,) * (rank - 2))


def grouped(x, groups):
    lines = x.reshape(len(x), groups, -1)
    return whitened(lines, -1).reshape(x.shape)


def response(x, size, k, alpha, beta):
    made = np.empty_like(x)
    for c in range(x.shape[1]):
        low, high = max(c - size // 2, 0), c + size // 2 + 1
        made[:, c] = x[:, c] / (k + alpha * (x[:, low:high] ** 2).sum(1)) ** beta
    return made


def running(x, w, b):
    mean, var = tensor(W, dtype="float64"), tensor(W * W, dtype="float64")
    return F.batch_norm(x, mean, var, w, b)


CASES = {
    "layer_norm": (
        lambda x, w, b: F.layer_norm(x, (4,), True, w, b),
        lambda x, w, b: whitened(x, -1) * w + b,
        C,
        W,
        B,
    ),
    "layer_norm_plain": (
        lambda x: F.layer_norm(x, [3, 4], False, eps=0.1),
        lambda x: whitened(x, (1, 2), 0.1),
        C,
    ),
    "rms_norm": (
        lambda x, w: F.rms_norm(x, 4, w, eps=0.01),
        lambda x, w: x / np.sqrt((x * x).mean(-1, keepdims=True) + 0.01) * w,
        C,
        W,
    ),
    "rms_norm_plain": (
        lambda x: F.rms_norm(x, (3, 4)),
        lambda x: x / np.sqrt((x * x).mean((1, 2), keepdims=True)),
        C,
    ),
    "group_norm": (
        lambda x, w, b: F.group_norm(x, 2, True, w, b),
        lambda x, w, b: grouped(x, 2) * column(w) + column(b),
        X,
        W,
        B,
    ),
    "group_norm_plain": (lambda x: F.group_norm(x, 3), lambda x: grouped(x, 3), C),
    "instance_norm": (
        lambda x, w, b: F.instance_norm(x, True, w, b),
        lambda x, w, b: whitened(x, (2, 3)) * column(w) + column(b),
        X,
        W,
        B,
    ),
    "local_response_norm": (
        lambda x: F.local_response_norm(x, 3, 1.5, 0.3, 0.75),
        lambda x: response(x, 3, 1.5, 0.3, 0.75),
        X,
    ),
    "batch_norm_training": (
        lambda x, w, b: F.batch_norm(x, None, None, w, b, training=True),
        lambda x, w, b: whitened(x, (0, 2, 3)) * column(w) + column(b),
        X,
        W,
        B,
    ),
    "batch_norm_column": (
        lambda x, w, b: F.batch_norm(x, weight=w, bias=b, training=True, eps=0.1),
        lambda x, w, b: whitened(x, (0, 2, 3), 0.1) * w + b,
        X,
        column(W),
        column(B),
    ),
    "batch_norm_2d": (
        lambda x: F.batch_norm(x, training=True),
        lambda x: whitened(x, 0),
        C[0],
    ),
    "batch_norm_last": (
        lambda x, w: F.batch_norm(x, weight=w, training=True, param_dim="dim_111c"),
        lambda x, w: whitened(x, (0, 1)) * w,
        C,
        W,
    ),
    "batch_norm_running": (
        running,
        lambda x, w, b: (x - column(W)) / np.sqrt(column(W * W) + EPS) * column(w) + column(b),
        X,
        W,
        B,
    ),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
class TestCases(Checks):
    pass


class TestRunningStatistics:
    @pytest.mark.parametrize("shape", [(4,), (1, 4, 1, 1)])
    def test_they_follow_the_batch(self, shape):
        mean, var = tensor(np.zeros(shape)), tensor(np.ones(shape))
        for count in range(1, 3):
            F.batch_norm(tensor(X), mean, var, training=True, momentum=0.8)
            kept = 0.8**count
            assert mean.shape == var.shape == shape
            expected = (1 - kept) * X.mean((0, 2, 3))
            assert mean.numpy().ravel() == pytest.approx(expected, rel=1e-4, abs=1e-6)
            expected = kept + (1 - kept) * X.var((0, 2, 3), ddof=1)
            assert var.numpy().ravel() == pytest.approx(expected, rel=1e-4)

    def test_they_stay_while_not_training(self):
        mean, var = tensor(W), tensor(W)
        F.batch_norm(tensor(X), mean, var)
        assert mean.numpy() == pytest.approx(W) and var.numpy() == pytest.approx(W)

    def test_they_are_no_part_of_the_derivative(self):
        mean, var = tensor(W, dtype="float64"), tensor(W, dtype="float64")

        def loss(x):
            y = F.batch_norm(x, mean, var, training=True)
            return y * y.detach() + mean.sum() + var.sum()

        weights = tensor(RANDOM.uniform(0.5, 1.5, X.shape), dtype="float64")
        (got,) = gradients(loss, [tensor(X, dtype="float64")], weights)
        (want,) = gradients(
            lambda x: (y := F.batch_norm(x, training=True)) * y.detach(),
            [tensor(X, dtype="float64")],
            weights,
        )
        assert np.allclose(got.numpy(), want.numpy())
        assert not np.allclose(mean.numpy(), W)

    def test_outside_copies_are_left_alone(self):
        mean, var = tensor(np.zeros(4)), tensor(np.ones(4))
        alias = mean.detach()
        F.batch_norm(tensor(X), mean, var, training=True)
        assert alias.tolist() == [0, 0, 0, 0]
        made, new_mean, new_var = F.batch_norm(
            tensor(X), mean, var, training=True, momentum=0.5, inplace=False
        )
        assert made.shape == X.shape
        assert not np.allclose(new_mean.numpy(), mean.numpy())
        assert new_var.shape == (4,)

    def test_a_loop_builds_one_program(self):
        from gradc.tracer.recording import STATISTICS

        mean, var = tensor(np.zeros(4)), tensor(np.ones(4))
        for step in range(6):
            if step == 2:
                before = STATISTICS.prepared
            (g,) = gradients(lambda x: F.batch_norm(x, mean, var, training=True) ** 3, [tensor(X)])
            g.numpy()
        assert STATISTICS.prepared == before

    def test_one_element_for_each_channel(self):
        mean, var = tensor(np.zeros(3)), tensor(np.ones(3))
        y = F.batch_norm(tensor(C[:1, :, 0]), mean, var, training=True)
        assert y.tolist() == [[0, 0, 0]]
        assert np.isfinite(var.numpy()).all()

    def test_an_empty_batch_changes_nothing(self):
        mean, var = tensor(W), tensor(W)
        assert F.batch_norm(F.zeros((0, 4, 2)), mean, var, training=True).shape == (0, 4, 2)
        assert mean.numpy() == pytest.approx(W)


class TestTypes:
    @pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
    def test_half_types_are_computed_in_float32(self, dtype):
        """Squares of these would overflow float16, and sums lose all digits."""
        x = np.array([[300.0, -300.0, 301.0, -299.0]] * 40)
        for function in (
            lambda t: F.layer_norm(t, 4),
            lambda t: F.rms_norm(t, 4),
            lambda t: F.group_norm(t, 1),
            lambda t: F.batch_norm(t.T, training=True),
        ):
            y = function(tensor(x, dtype=dtype))
            assert str(y.dtype).endswith(dtype)
            assert np.abs(np.abs(y.numpy()) - 1).max() < 0.02

    def test_statistics_keep_their_type(self):
        mean, var = tensor(np.zeros(4)), tensor(np.ones(4))
        F.batch_norm(tensor(X, dtype="float16"), mean, var, training=True)
        assert mean.dtype == var.dtype == np.float32

    def test_a_large_mean_cancels_nothing(self):
        x = np.array([[1e4, 1e4 + 1, 1e4 + 2]])
        expected = whitened(x, -1)
        assert F.layer_norm(tensor(x), 3).numpy() == pytest.approx(expected, rel=1e-4)
        got = F.batch_norm(tensor(x.T), training=True).numpy()
        assert got == pytest.approx(expected.T, rel=1e-4)

    def test_constant_lines(self):
        assert F.layer_norm(tensor([[2.0, 2.0]]), 2).tolist() == [[0, 0]]
        assert F.layer_norm(F.zeros((0, 2)), 2).shape == (0, 2)
        assert math.isnan(F.layer_norm(tensor([[math.nan, 1.0]]), 2).numpy()[0, 1])


@pytest.mark.parametrize(
    ("use", "message"),
    [
        (lambda: F.layer_norm(tensor(C), 3), "does not end with"),
        (lambda: F.layer_norm(tensor(C), ()), "does not end with"),
        (lambda: F.group_norm(tensor(C), 2), "no multiple"),
        (lambda: F.group_norm(tensor(C), 3, True, tensor([1.0])), "a weight with 3"),
        (lambda: F.instance_norm(tensor([1.0])), "two axes"),
        (lambda: F.batch_norm(tensor(C)), "running mean and variance"),
        (lambda: F.batch_norm(tensor([1.0]), training=True), "two axes"),
        (lambda: F.batch_norm(tensor(C), bias=tensor(W), training=True), "a bias with 3"),
        (
            lambda: F.batch_norm(tensor(C), tensor(W), tensor(W), training=True),
            "statistics of 3 channels",
        ),
        (lambda: F.local_response_norm(tensor(C), 4), "an odd number"),
    ],
)
def test_messages(use, message):
    with pytest.raises(ValueError, match=message):
        use()
