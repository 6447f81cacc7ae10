"""Functions along axes."""

import math

import numpy as np
import pytest
from slopes import Checks, gradients, slope

from gradc import functional as F
from gradc import tensor

RANDOM = np.random.default_rng(0)
A = RANDOM.uniform(-2, 2, (2, 3))
C = RANDOM.uniform(-1, 1, (2, 3, 4))


def lse(x, axis):
    return np.log(np.exp(x).sum(axis))


def unit(x, axis):
    return x / np.sqrt((x * x).sum(axis, keepdims=True))


CASES = {
    "sum": (lambda x: F.sum(x, (0, 2)), lambda x: x.sum((0, 2)), C),
    "mean": (lambda x: F.mean(x, -1, keepdims=True), lambda x: x.mean(-1, keepdims=True), C),
    "prod": (lambda x: F.prod(x, 1), lambda x: x.prod(1), C),
    "max": (lambda x: F.max(x, 1), lambda x: x.max(1), C),
    "min": (F.min, np.min, C),
    "var": (lambda x: F.var(x, 1), lambda x: x.var(1), C),
    "var_ddof": (lambda x: F.var(x, (0, 1), ddof=1), lambda x: x.var((0, 1), ddof=1), C),
    "std": (F.std, np.std, C),
    "std_ddof": (lambda x: F.std(x, 2, True, 1), lambda x: x.std(2, ddof=1, keepdims=True), C),
    "norm": (lambda x: F.norm(x, axis=1), lambda x: np.sqrt((x * x).sum(1)), C),
    "norm_of_all": (F.norm, lambda x: np.sqrt((x * x).sum()), C),
    "norm1": (lambda x: F.norm(x, 1), lambda x: np.abs(x).sum(), C),
    "norm3": (lambda x: F.norm(x, 3, axis=0), lambda x: (np.abs(x) ** 3).sum(0) ** (1 / 3), C),
    "norm1.5": (lambda x: F.norm(x, 1.5), lambda x: (np.abs(x) ** 1.5).sum() ** (1 / 1.5), C),
    "norm_inf": (lambda x: F.norm(x, math.inf), lambda x: np.abs(x).max(), C),
    "norm_minus_inf": (lambda x: F.norm(x, -math.inf, 1), lambda x: np.abs(x).min(1), C),
    "normalize": (lambda x: F.normalize(x, axis=1), lambda x: unit(x, 1), C),
    "normalize_below_eps": (lambda x: F.normalize(x, eps=100), lambda x: x / 100, C),
    "logsumexp": (lambda x: F.logsumexp(x, 1), lambda x: lse(x, 1), A),
    "logsumexp_all": (F.logsumexp, lambda x: lse(x, None), A),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
class TestCases(Checks):
    pass


class TestEdges:
    def test_slopes_at_zero(self):
        for function in (F.norm, F.std, lambda x: F.norm(x, 3), F.normalize):
            assert np.isfinite(slope(function, [0.0, 0.0])).all()
        assert slope(F.norm, [0.0, 0.0]).tolist() == [0, 0]
        assert slope(F.std, [2.0, 2.0]).tolist() == [0, 0]

    def test_ties_are_shared(self):
        (g,) = gradients(F.max, [tensor([1.0, 3, 3])])
        assert g.tolist() == [0, 0.5, 0.5]

    def test_norm_of_order_0_counts(self):
        assert F.norm(tensor([0.0, 3, -1]), 0).item() == 2
        assert F.count_nonzero(tensor([[0, 3], [0, 0]]), 1).tolist() == [1, 0]

    def test_large_logits(self):
        assert F.logsumexp(tensor([[-1000.0, 0.0, 1000.0]])).item() == 1000
        assert F.logsumexp(tensor([-math.inf, -math.inf])).item() == -math.inf

    def test_half_types_are_computed_in_float32(self):
        x = tensor(np.ones(70_000), dtype="float16")
        assert x.mean().item() == 1
        assert F.mean(x).dtype == np.float16
        large = tensor([300.0, -300.0], dtype="float16")
        assert F.norm(large).item() == 424.25
        assert F.std(large).item() == 300

    def test_a_large_mean_cancels_nothing(self):
        x = tensor(np.array([1e4, 1e4 + 1, 1e4 + 2]), dtype="float32")
        assert F.var(x).item() == pytest.approx(2 / 3, rel=1e-5)

    def test_empty_and_single(self):
        assert F.sum(F.zeros((0, 3)), 0).tolist() == [0, 0, 0]
        assert F.prod(F.zeros((0,))).item() == 1
        assert math.isnan(F.mean(F.zeros((0,))).item())
        assert F.norm(F.zeros((0,))).item() == 0
        assert F.var(tensor(3.0)).item() == 0
        assert math.isnan(F.var(tensor([3.0]), ddof=1).item())

    def test_integers(self):
        assert F.sum(tensor([True, True])).dtype == np.int32
        assert F.mean(tensor([1, 2])).item() == 1.5
        assert F.var(tensor([1, 3])).item() == 1
        assert F.norm(tensor([3, 4])).item() == 5
        assert F.amax is F.max

    def test_messages(self):
        with pytest.raises(ValueError, match="axis 2"):
            F.sum(tensor(A), 2)
        with pytest.raises(ValueError, match="twice"):
            F.sum(tensor(A), (0, 0))
