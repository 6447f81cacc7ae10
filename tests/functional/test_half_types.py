"""What half types could not hold on the way is computed in float32."""

import math

import numpy as np
import pytest

import gradc
from gradc import functional as F
from gradc.autodiff import GradManager

MANY = 100_000
"""More elements than the largest float16, 65504, counts."""

HALF = ("float16", "bfloat16")


def slopes(function, *arrays, dtype="float16"):
    """The value of a function, and the derivatives of its sum by each argument."""
    given = [gradc.Parameter(np.asarray(each), dtype=dtype) for each in arrays]
    with GradManager().attach(given) as gm:
        y = function(*given)
        gm.backward(y.sum())
    assert y.dtype == gradc.tensor(0.0, dtype=dtype).dtype
    return y.astype("float32").numpy(), *(x.grad.astype("float32").numpy() for x in given)


@pytest.mark.parametrize("dtype", HALF)
def test_sums_of_exponentials(dtype):
    x = gradc.tensor(np.ones(MANY), dtype=dtype)
    near = {"rtol": 8e-3 if dtype == "bfloat16" else 1e-3}
    made = {
        "logsumexp": (F.logsumexp(x), 1 + math.log(MANY)),
        "softmax": (F.softmax(x, 0)[0], 1e-5),
        "softmin": (F.softmin(x, 0)[0], 1e-5),
        "logsoftmax": (F.logsoftmax(x, 0)[0], -math.log(MANY)),
        "cross_entropy": (F.cross_entropy(x, gradc.tensor(3)), math.log(MANY)),
    }
    for name, (found, expected) in made.items():
        assert found.dtype == x.dtype
        allowed = {"atol": 6e-8} if name.startswith("softm") else near  # 1e-5 is subnormal
        np.testing.assert_allclose(
            found.astype("float64").item(), expected, **{"rtol": 8e-3} | allowed
        )


def test_derivatives_of_sums_of_exponentials():
    ones = np.ones(MANY)
    _, slope = slopes(F.logsumexp, ones)
    np.testing.assert_allclose(slope, np.full(MANY, 1e-5), atol=6e-8)
    _, slope = slopes(lambda x: F.logsoftmax(x, 0)[7], ones)
    np.testing.assert_allclose(slope, np.where(np.arange(MANY) == 7, 1, -1e-5), atol=6e-8)
    _, slope = slopes(lambda x: F.cross_entropy(x, gradc.tensor(7)), ones)
    np.testing.assert_allclose(slope, np.where(np.arange(MANY) == 7, -1, 1e-5), atol=6e-8)


def test_attention_to_many_keys():
    query, keys = np.ones((1, 2)), np.ones((MANY, 2))
    found, *_ = slopes(F.scaled_dot_product_attention, query, keys, np.full((MANY, 1), 3.0))
    np.testing.assert_allclose(found, [[3.0]], rtol=1e-2)  # weights of 1e-5 are subnormal


def test_labels_that_are_counted():
    pred = gradc.tensor(np.full((MANY, 2), -2.0), dtype="float16")
    labels = gradc.tensor(np.zeros(MANY, np.int32))
    assert F.nll_loss(pred, labels, ignore_index=-1).item() == 2.0
    found = F.cross_entropy(pred, labels, ignore_index=-1).item()
    np.testing.assert_allclose(found, math.log(2), rtol=1e-3)


def test_squares_on_the_way():
    x = [[300.0, 300.0]]
    value, of_x, of_y = slopes(F.cosine_similarity, x, x)
    np.testing.assert_allclose(value, [1.0], rtol=1e-3)
    np.testing.assert_allclose([of_x, of_y], 0, atol=1e-6)
    value, of_x, of_y = slopes(F.cosine_similarity, x, [[300.0, -300.0]])
    np.testing.assert_allclose(
        [of_x[0], of_y[0]], [[1 / 600, -1 / 600], [1 / 600, 1 / 600]], rtol=1e-3
    )
    value, slope, other, spread = slopes(F.gaussian_nll_loss, 300.0, -300.0, 300.0)
    np.testing.assert_allclose(value, (math.log(300) + 600**2 / 300) / 2, rtol=1e-3)
    np.testing.assert_allclose([slope, other], [2.0, -2.0])
    np.testing.assert_allclose(spread, (1 / 300 - (600 / 300) ** 2) / 2, rtol=1e-3)


def test_means_of_large_values():
    x = np.full((1, 1, 3, 3), 30000.0)
    np.testing.assert_array_equal(slopes(lambda x: F.avg_pool2d(x, 3, 1, 1), x)[0], x)
    certain = slopes(
        lambda p, q: F.kl_div(p, q, "batchmean"), np.full((4, 1), -30000.0), np.ones((4, 1))
    )
    np.testing.assert_array_equal(certain[0], 30000.0)


def test_small_constants():
    """1e-8 is 0 in float16."""
    assert (
        F.poisson_nll_loss(*(gradc.tensor([0.0], dtype="float16"),) * 2, log_input=False).item()
        == 0
    )
