"""Attention."""

import math

import numpy as np
import pytest
from slopes import Checks, gradients

import gradc
from gradc import functional as F
from gradc import tensor

RANDOM = np.random.default_rng(0)
Q, K = RANDOM.uniform(-1, 1, (2, 3, 4)), RANDOM.uniform(-1, 1, (2, 5, 4))
V = RANDOM.uniform(-1, 1, (2, 5, 2))
SEEN = np.array([[1, 1, 0, 0, 1], [0, 1, 0, 0, 0], [1, 1, 1, 1, 1]], bool)


def attention(q, k, v, seen=True, scale=None, bias=0.0):
    scores = q @ np.swapaxes(k, -1, -2) * (1 / math.sqrt(q.shape[-1]) if scale is None else scale)
    scores = np.where(seen, scores + bias, -np.inf)
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    return weights / weights.sum(-1, keepdims=True) @ v


CASES = {
    "plain": (F.scaled_dot_product_attention, attention, Q, K, V),
    "scale": (
        lambda q, k, v: F.scaled_dot_product_attention(q, k, v, scale=0.7),
        lambda q, k, v: attention(q, k, v, scale=0.7),
        Q,
        K,
        V,
    ),
    "causal": (
        lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True),
        lambda q, k, v: attention(q, k, v, np.tri(3, 5, dtype=bool)),
        Q,
        K,
        V,
    ),
    "mask": (
        lambda q, k, v: F.scaled_dot_product_attention(q, k, v, tensor(SEEN)),
        lambda q, k, v: attention(q, k, v, SEEN),
        Q,
        K,
        V,
    ),
    "bias": (
        lambda q, k, v, b: F.scaled_dot_product_attention(q, k, v, b),
        lambda q, k, v, b: attention(q, k, v, bias=b),
        Q,
        K,
        V,
        RANDOM.uniform(-1, 1, (3, 5)),
    ),
    "heads": (
        F.scaled_dot_product_attention,
        attention,
        RANDOM.uniform(-1, 1, (2, 2, 2, 3)),
        RANDOM.uniform(-1, 1, (2, 1, 2, 3)),
        RANDOM.uniform(-1, 1, (2, 1, 2, 2)),
    ),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
class TestCases(Checks):
    pass


def test_a_query_that_may_look_at_nothing_gets_zero():
    mask = tensor([[False, False], [True, False]])
    q, k, v = (tensor(RANDOM.uniform(-1, 1, (2, 2))) for _ in range(3))
    made = F.scaled_dot_product_attention(q, k, v, mask)
    assert made.numpy()[0].tolist() == [0, 0]
    assert np.allclose(made.numpy()[1], v.numpy()[0])
    found = gradients(lambda *x: F.scaled_dot_product_attention(*x, mask), [q, k, v])
    assert all(np.isfinite(each.numpy()).all() for each in found)


def test_a_mask_of_infinities():
    mask = tensor(np.where(SEEN, 0.0, -np.inf))
    q, k, v = tensor(Q), tensor(K), tensor(V)
    got = F.scaled_dot_product_attention(q, k, v, mask).numpy()
    assert np.allclose(got, attention(Q, K, V, SEEN), atol=1e-5)


def test_dropout_drops_weights():
    gradc.manual_seed(0)
    q, k, v = (tensor(np.zeros((1, 200, 4))), tensor(np.zeros((1, 50, 4))), F.ones((1, 50, 1)))
    made = F.scaled_dot_product_attention(q, k, v, dropout_p=0.5).numpy()
    assert made.mean() == pytest.approx(1, abs=0.05)
    assert made.std() == pytest.approx(math.sqrt(1 / 50), rel=0.3)
    other = F.scaled_dot_product_attention(q, k, v, dropout_p=0.5).numpy()
    assert not np.array_equal(made, other)


def test_large_scores_and_half_types():
    q = tensor(np.full((2, 4), 100.0), dtype="float16")
    made = F.scaled_dot_product_attention(q, q, q)
    assert made.dtype == np.float16
    assert made.numpy().tolist() == [[100] * 4] * 2


def test_empty():
    q, k = F.zeros((0, 3, 4)), F.zeros((0, 5, 4))
    assert F.scaled_dot_product_attention(q, k, k).shape == (0, 3, 4)


def test_messages():
    with pytest.raises(ValueError, match=r"found \[2, 3, 4\], \[2, 5, 4\], \[2, 3, 4\]"):
        F.scaled_dot_product_attention(tensor(Q), tensor(K), tensor(Q))
    with pytest.raises(ValueError, match="a probability"):
        F.scaled_dot_product_attention(tensor(Q), tensor(K), tensor(V), dropout_p=2)
