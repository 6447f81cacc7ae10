"""Functions along axes."""

import math
from typing import ClassVar

import numpy as np
import pytest
from slopes import Checks, gradients, slope
from walk import walk

from gradc import functional as F
from gradc import tensor
from gradc.autodiff import hvp

RANDOM = np.random.default_rng(0)
A = RANDOM.uniform(-2, 2, (2, 3))
C = RANDOM.uniform(-1, 1, (2, 3, 4))
HOLE = tensor(math.nan, dtype="float64")


def lse(x, axis):
    return np.log(np.exp(x).sum(axis))


def unit(x, axis):
    return x / np.sqrt((x * x).sum(axis, keepdims=True))


CASES = {
    "nansum": (lambda x: F.nansum(F.where(x > 0, x, HOLE), 1), lambda x: (x * (x > 0)).sum(1), C),
    "nanmean": (
        lambda x: F.nanmean(F.where(x > -0.5, x, HOLE), (0, 2), True),
        lambda x: np.nanmean(np.where(x > -0.5, x, np.nan), (0, 2), keepdims=True),
        C,
    ),
    "median": (F.median, np.median, C),
    "median_axis": (lambda x: F.median(x, 1), lambda x: np.median(x, 1), C),
    "median_keepdims": (
        lambda x: F.median(x, -1, True),
        lambda x: np.median(x, -1, keepdims=True),
        C,
    ),
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
        assert math.isnan(F.nanmean(tensor([math.nan])).item())
        assert math.isnan(F.median(tensor([1.0, math.nan, 2.0])).item())
        assert F.softmax(F.zeros((3, 0)), 1).shape == (3, 0)
        assert F.logsumexp(F.zeros((2, 0)), 1).tolist() == [-math.inf, -math.inf]
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

    @pytest.mark.parametrize(
        ("use", "name"),
        [
            (lambda: F.any(tensor(A), 5), "any"),
            (lambda: F.std(tensor(A), 5), "std"),
            (lambda: F.norm(tensor(A), axis=5), "norm"),
            (lambda: F.logsumexp(tensor(A), 5), "logsumexp"),
            (lambda: F.max(F.zeros((0, 2)), 0), "max"),
            (lambda: F.median(F.zeros((0,))), "median"),
        ],
    )
    def test_messages_begin_with_the_function_that_was_called(self, use, name):
        with pytest.raises(ValueError, match=rf"^{name}: .*test_reduction.py:\d+\)$"):
            use()


class TestLongSums:
    """10^6 float32 values: the error is below 1e-6 of the sum of magnitudes."""

    SIZE = 1_000_000
    POSITIVE = np.random.default_rng(5).uniform(0.5, 1.5, SIZE).astype(np.float32)
    MIXED = np.random.default_rng(6).normal(size=SIZE).astype(np.float32)

    SUMS: ClassVar = {
        "sum": (F.sum, lambda x: x.sum()),
        "mean": (F.mean, lambda x: x.mean()),
        "columns": (
            lambda x: F.sum(F.reshape(x, (1000, 1000)), 0),
            lambda x: x.reshape(1000, -1).sum(0),
        ),
        "rows": (
            lambda x: F.sum(F.reshape(x, (1000, 1000)), 1),
            lambda x: x.reshape(1000, -1).sum(1),
        ),
        "long_rows": (
            lambda x: F.sum(F.reshape(x, (10, -1)), 1),
            lambda x: x.reshape(10, -1).sum(1),
        ),
        "long_columns": (
            lambda x: F.sum(F.reshape(x, (-1, 10)), 0),
            lambda x: x.reshape(-1, 10).sum(0),
        ),
        "strided": (lambda x: F.sum(x[::3]), lambda x: x[::3].sum()),
        "turned": (
            lambda x: F.mean(F.reshape(x, (1000, 1000)).T, 1),
            lambda x: x.reshape(1000, -1).mean(0),
        ),
        "fused": (lambda x: F.sum(x * x * 0.5), lambda x: (x * x * 0.5).sum()),
        "cumsum": (lambda x: F.cumsum(x, 0)[-1], lambda x: x.sum()),
    }

    @walk("values", [POSITIVE, MIXED], ids=["positive", "mixed"])
    @walk("case", SUMS.values(), ids=SUMS)
    def test_relative_error(self, values, case):
        function, expected = case
        exact = expected(values.astype(np.float64))
        scale = expected(np.abs(values).astype(np.float64))
        for _ in range(2):
            got = function(tensor(values)).numpy()
            assert np.abs((got - exact) / scale).max() < 1e-6

    def test_the_gradient_sums_likewise(self):
        x, w = tensor(self.POSITIVE), tensor(2.0)
        _, found = gradients(lambda x, w: F.sum(x * w), [x, w])
        assert found.item() == pytest.approx(self.POSITIVE.sum(dtype=np.float64), rel=1e-6)


class TestProductsBesideZeros:
    """Against closed forms: the derivative of a product is the product of the other factors."""

    VALUES = ([2.0, 3.0, 5.0], [2.0, 0.0, 5.0], [0.0, 0.0, 5.0], [0.0, 0.0, 0.0], [4.0, -0.5, 0.0])

    @staticmethod
    def without(x, *places):
        return float(np.prod([each for i, each in enumerate(x) if i not in places]))

    @pytest.mark.parametrize("values", VALUES)
    def test_prod_to_second_order(self, values):
        x = tensor(values, dtype="float64")
        first = [self.without(values, i) for i in range(3)]
        second = [[0 if i == j else self.without(values, i, j) for j in range(3)] for i in range(3)]
        assert slope(F.prod, values, dtype="float64").tolist() == first
        assert slope(F.prod, values).tolist() == first
        for j, row in enumerate(np.eye(3)):
            (found,) = hvp(F.prod, (x,), (tensor(row, dtype="float64"),))
            assert found.tolist() == [second[i][j] for i in range(3)]

    @pytest.mark.parametrize("values", VALUES)
    def test_cumprod_to_second_order(self, values):
        """The sum of the running products x0 + x0 x1 + x0 x1 x2."""
        a, b, c = values
        total = lambda t: F.sum(F.cumprod(t, 0))  # noqa: E731  # one expression
        assert slope(total, values).tolist() == [1 + b + b * c, a + a * c, a * b]
        hessian = np.array([[0, 1 + c, b], [1 + c, 0, a], [b, a, 0]])
        x = tensor(values, dtype="float64")
        for j, row in enumerate(np.eye(3)):
            (found,) = hvp(total, (x,), (tensor(row, dtype="float64"),))
            assert found.tolist() == hessian[j].tolist()

    def test_many_factors_along_an_axis(self):
        x = np.full((3, 40), 1.0)
        x[1, 7], x[2, 3], x[2, 30] = 0, 0, 0
        got = slope(lambda t: F.sum(F.prod(t, 1)), x)
        want = np.zeros((3, 40))
        want[0], want[1, 7] = 1, 1
        assert np.array_equal(got, want)
