"""Losses."""

import math

import numpy as np
import pytest
from gradc.tracer.errors import BoundsError
from slopes import Checks, slope

from gradc import functional as F
from gradc import tensor

RANDOM = np.random.default_rng(0)
A, B = RANDOM.uniform(-2, 2, (2, 3)), RANDOM.uniform(-2, 2, (2, 3))
P = RANDOM.uniform(0.1, 0.9, (2, 3))
D = RANDOM.uniform(-2, 2, (2, 3, 4))
W = np.array([0.5, 2, 1.5])
LABELS = np.array([2, 0], np.int32)
MANY = np.array([[0, 1, 2, 1], [2, 2, 0, 1]], np.int32)
SIGNS = np.array([[1.0, -1, 1], [-1, -1, 1]])


def logs(x, axis=1):
    return x - np.log(np.exp(x).sum(axis, keepdims=True))


def distribution(x):
    return np.exp(logs(x))


def of_labels(x, labels, weight=None, smooth=0.0, ignore=None, reduction="mean"):
    """Cross entropy by loops: `labels` over all axes but 1."""
    found, counts = [], []
    every = logs(np.moveaxis(x, 1, -1), -1)
    for place in np.ndindex(labels.shape):
        label = labels[place]
        if label == ignore:
            found.append(0.0)
            continue
        w = np.ones(x.shape[1]) if weight is None else weight
        share = np.full(x.shape[1], smooth / x.shape[1])
        share[label] += 1 - smooth
        found.append(-(share * w * every[place]).sum())
        counts.append(w[label])
    if reduction == "none":
        return np.reshape(found, labels.shape)
    return np.sum(found) / (np.sum(counts) if reduction == "mean" else 1)


def case(options, x=A, labels=LABELS):
    return (
        lambda pred: F.cross_entropy(
            pred,
            tensor(labels),
            weight=None if options.get("weight") is None else tensor(W, dtype="float64"),
            label_smooth=options.get("smooth", 0.0),
            ignore_index=options.get("ignore"),
            reduction=options.get("reduction", "mean"),
        ),
        lambda pred: of_labels(pred, labels, **options),
        x,
    )


def pairwise(x, y, p):
    return (np.abs(x - y) ** p).sum(-1) ** (1 / p)


def cosine(x, y):
    return (x * y).sum(-1) / np.sqrt((x * x).sum(-1) * (y * y).sum(-1))


CASES = {
    "bce_with_logits": (
        lambda x, y: F.binary_cross_entropy_with_logits(x, y, reduction="sum"),
        lambda x, y: (np.log(1 + np.exp(-x)) * y + np.log(1 + np.exp(x)) * (1 - y)).sum(),
        A,
        P,
    ),
    "cosine_embedding": (
        lambda x, y: F.cosine_embedding_loss(x, y, tensor([1, -1]), 0.1, "none"),
        lambda x, y: np.where([1, 0], 1 - cosine(x, y), np.maximum(0, cosine(x, y) - 0.1)),
        A,
        B,
    ),
    "margin_ranking": (
        lambda x, y: F.margin_ranking_loss(x, y, tensor(SIGNS, dtype="float64"), 0.3),
        lambda x, y: np.maximum(0, 0.3 - SIGNS * (x - y)).mean(),
        A,
        B,
    ),
    "hinge_embedding": (
        lambda x: F.hinge_embedding_loss(x, tensor(SIGNS), 0.7, "none"),
        lambda x: np.where(SIGNS > 0, x, np.maximum(0, 0.7 - x)),
        A,
    ),
    "soft_margin": (
        lambda x: F.soft_margin_loss(x, tensor(SIGNS, dtype="float64"), "sum"),
        lambda x: np.log(1 + np.exp(-SIGNS * x)).sum(),
        A,
    ),
    "gaussian_nll": (
        lambda x, y, v: F.gaussian_nll_loss(x, y, v, full=True),
        lambda x, y, v: 0.5 * (np.log(2 * np.pi * v) + (x - y) ** 2 / v).mean(),
        A,
        B,
        P,
    ),
    "poisson_nll": (F.poisson_nll_loss, lambda x, y: (np.exp(x) - y * x).mean(), A, P),
    "poisson_nll_of_rates": (
        lambda x, y: F.poisson_nll_loss(x, y, False, 0.0, "none"),
        lambda x, y: x - y * np.log(x),
        P,
        A,
    ),
    "cross_entropy": case({}),
    "cross_entropy_sum": case({"reduction": "sum"}),
    "cross_entropy_none": case({"reduction": "none"}, D, MANY),
    "cross_entropy_smooth": case({"smooth": 0.2}),
    "cross_entropy_weight": case({"weight": W}, D, MANY),
    "cross_entropy_weight_smooth": case({"weight": W, "smooth": 0.3}, D, MANY),
    "cross_entropy_ignore": case({"ignore": 1}, D, MANY),
    "cross_entropy_ignore_weight_smooth": case(
        {"ignore": 2, "weight": W, "smooth": 0.1, "reduction": "mean"}, D, MANY
    ),
    "cross_entropy_of_probabilities": (
        lambda x: F.cross_entropy(x, tensor(LABELS), with_logits=False, reduction="sum"),
        lambda x: -np.log(x[[0, 1], LABELS]).sum(),
        P,
    ),
    "cross_entropy_axis": (
        lambda x: F.cross_entropy(x, tensor([[1, 0, 1]]), axis=1, reduction="none"),
        lambda x: np.log(np.exp(x).sum(1)) - x[0, [1, 0, 1], [0, 1, 2]],
        A[None],
    ),
    "cross_entropy_single_line": (
        lambda x: F.cross_entropy(x, tensor(2)),
        lambda x: -logs(x, 0)[2],
        A[0],
    ),
    "cross_entropy_soft": (
        lambda x, y: F.cross_entropy(x, F.softmax(y, 1)),
        lambda x, y: -(distribution(y) * logs(x)).sum(1).mean(),
        A,
        B,
    ),
    "cross_entropy_soft_weight_smooth": (
        lambda x: F.cross_entropy(
            x, tensor(P, dtype="float64"), label_smooth=0.1, weight=tensor(W, dtype="float64")
        ),
        lambda x: -((0.9 * P + 0.1 / 3) * W * logs(x)).sum(1).mean(),
        A,
    ),
    "nll_loss": (
        lambda x: F.nll_loss(x, tensor(LABELS)),
        lambda x: -x[[0, 1], LABELS].mean(),
        A,
    ),
    "nll_loss_weight": (
        lambda x: F.nll_loss(
            F.logsoftmax(x, 1),
            tensor(MANY),
            weight=tensor(W, dtype="float64"),
            ignore_index=0,
        ),
        lambda x: of_labels(x, MANY, W, ignore=0),
        D,
    ),
    "square_loss": (F.square_loss, lambda x, y: ((x - y) ** 2).mean(), A, B),
    "l1_loss": (F.l1_loss, lambda x, y: np.abs(x - y).mean(), A, B),
    "smooth_l1_loss": (
        lambda x, y: F.smooth_l1_loss(x, y, beta=0.7, reduction="none"),
        lambda x, y: np.where(np.abs(x - y) < 0.7, (x - y) ** 2 / 1.4, np.abs(x - y) - 0.35),
        A,
        B,
    ),
    "smooth_l1_loss_0": (
        lambda x, y: F.smooth_l1_loss(x, y, 0),
        lambda x, y: np.abs(x - y).mean(),
        A,
        B,
    ),
    "huber_loss": (
        lambda x, y: F.huber_loss(x, y, 0.7),
        lambda x, y: np.where(
            np.abs(x - y) < 0.7, (x - y) ** 2 / 2, 0.7 * (np.abs(x - y) - 0.35)
        ).mean(),
        A,
        B,
    ),
    "hinge_loss": (
        lambda x: F.hinge_loss(x, tensor(SIGNS)),
        lambda x: np.maximum(1 - x * SIGNS, 0).sum(1).mean(),
        A,
    ),
    "hinge_loss_squared": (
        lambda x: F.hinge_loss(x, tensor(SIGNS, dtype="float64"), "L2"),
        lambda x: (np.maximum(1 - x * SIGNS, 0) ** 2).sum(1).mean(),
        A,
    ),
    "binary_cross_entropy": (
        lambda x, y: F.binary_cross_entropy(x, F.sigmoid(y)),
        lambda x, y: (np.log1p(np.exp(x)) - x / (1 + np.exp(-y))).mean(),
        A,
        B,
    ),
    "binary_cross_entropy_weights": (
        lambda x, y, w, p: F.binary_cross_entropy(x, y, weight=w, pos_weight=p),
        lambda x, y, w, p: (
            w * (p * y * np.log1p(np.exp(-x)) + (1 - y) * np.log1p(np.exp(x)))
        ).mean(),
        A,
        P,
        P[0],
        W,
    ),
    "binary_cross_entropy_of_probabilities": (
        lambda x, y: F.binary_cross_entropy(x, y, with_logits=False),
        lambda x, y: -(y * np.log(x) + (1 - y) * np.log(1 - x)).mean(),
        P,
        P[:, ::-1],
    ),
    "kl_div": (
        lambda x, y: F.kl_div(x, y, "batchmean"),
        lambda x, y: (y * (np.log(y) - x)).sum() / 2,
        A,
        P,
    ),
    "kl_div_log_target": (
        lambda x, y: F.kl_div(x, y, "sum", log_target=True),
        lambda x, y: (np.exp(y) * (y - x)).sum(),
        A,
        B,
    ),
    "triplet_margin_loss": (
        lambda x, y, z: F.triplet_margin_loss(x, y, z, margin=2.0),
        lambda x, y, z: np.maximum(pairwise(x, y, 2) - pairwise(x, z, 2) + 2, 0).mean(),
        A,
        B,
        P,
    ),
    "cosine_similarity": (
        F.cosine_similarity,
        lambda x, y: (x * y).sum(1) / np.sqrt((x * x).sum(1) * (y * y).sum(1)),
        A,
        B,
    ),
    "cosine_similarity_broadcast": (
        lambda x, y: F.cosine_similarity(x, y, axis=-1),
        lambda x, y: (x * y).sum(-1) / np.sqrt((x * x).sum(-1) * (y * y).sum(-1)),
        A,
        B[0],
    ),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
class TestCases(Checks):
    pass


class TestStability:
    def test_large_logits(self):
        x = [[-1000.0, 0.0, 1000.0]]
        assert F.cross_entropy(tensor(x), tensor([0])).item() == 2000
        assert slope(lambda t: F.cross_entropy(t, tensor([0])), x).tolist() == [[-1, 0, 1]]

    def test_logits_in_the_tails(self):
        x, y = [-100.0, 100.0], tensor([0.0, 1.0])
        loss = F.binary_cross_entropy(tensor(x), y, reduction="none")
        assert loss.numpy() == pytest.approx([math.exp(-100)] * 2, rel=1e-5)
        assert np.isfinite(slope(lambda t: F.binary_cross_entropy(t, y), x)).all()
        weighted = F.binary_cross_entropy(tensor(x), y, pos_weight=2.0, reduction="none")
        assert weighted.numpy() == pytest.approx([0, 0], abs=1e-30)

    def test_certain_probabilities(self):
        p, y = [0.0, 1.0], tensor([0.0, 1.0])

        def loss(t):
            return F.binary_cross_entropy(t, y, with_logits=False)

        assert loss(tensor(p)).item() == 0
        assert np.isfinite(slope(loss, p)).all()

    def test_soft_labels_of_excluded_classes(self):
        x = [[0.0, -math.inf, 0.0]]
        label = tensor([[0.5, 0.0, 0.5]])
        loss = F.cross_entropy(tensor(x), label)
        assert loss.item() == pytest.approx(math.log(2))

    def test_kl_div_of_empty_classes(self):
        assert F.kl_div(tensor([0.0, -1.0]), tensor([1.0, 0.0]), "sum").item() == 0

    def test_nothing_counts(self):
        labels = tensor([7, 7])
        assert F.cross_entropy(tensor(A), labels, ignore_index=7).item() == 0
        assert not slope(lambda x: F.cross_entropy(x, labels, ignore_index=7), A).any()
        zero = F.cross_entropy(tensor(A), tensor(LABELS), weight=tensor([0.0, 1, 0]))
        assert zero.item() == 0

    def test_norms_of_nothing(self):
        zeros = F.zeros((2, 3))
        assert F.cosine_similarity(zeros, tensor(A)).tolist() == [0, 0]
        assert np.isfinite(slope(lambda x: F.cosine_similarity(x, tensor(A)), zeros)).all()
        assert not slope(lambda x: F.triplet_margin_loss(x, x, x), zeros).any()

    def test_half_types(self):
        for dtype in ("float16", "bfloat16"):
            loss = F.cross_entropy(tensor(A, dtype=dtype), tensor(LABELS))
            assert str(loss.dtype).endswith(dtype)
            assert loss.item() == pytest.approx(of_labels(A, LABELS), rel=2e-2)

    def test_empty(self):
        x = F.zeros((0, 3))
        assert math.isnan(F.cross_entropy(x, F.zeros((0,), dtype="int32")).item())
        assert F.square_loss(x, x, reduction="sum").item() == 0
        assert F.l1_loss(x, x, reduction="none").shape == (0, 3)

    def test_labels_of_bool(self):
        loss = F.binary_cross_entropy(tensor([0.0, 0.0]), tensor([True, False]))
        assert loss.item() == pytest.approx(math.log(2))


class TestErrors:
    @pytest.mark.parametrize("label", [3, -1])
    def test_labels_out_of_range(self, label):
        loss = F.cross_entropy(tensor(A), tensor([0, label]))
        with pytest.raises(BoundsError, match="cross_entropy"):
            loss.numpy()

    @pytest.mark.parametrize(
        ("use", "message"),
        [
            (lambda: F.cross_entropy(tensor(A), tensor([1])), r"labels of shape \[2\]"),
            (lambda: F.cross_entropy(tensor(A), tensor([1.0, 0.0])), "expected integers"),
            (lambda: F.cross_entropy(tensor(A), F.zeros((2, 2))), r"probabilities of shape \[2, 3"),
            (
                lambda: F.cross_entropy(tensor(A), tensor(LABELS), weight=tensor([1.0])),
                "each of 3 classes",
            ),
            (lambda: F.square_loss(tensor(A), 1.0, reduction="avg"), "mean, sum or none"),
            (lambda: F.hinge_loss(tensor(A), 1.0, "L3"), "L1 or L2"),
            (lambda: F.huber_loss(tensor(A), 1.0, 0), "above 0"),
            (lambda: F.smooth_l1_loss(tensor(A), 1.0, -1), "from 0 on"),
            (lambda: F.kl_div(tensor(1.0), tensor(1.0), "batchmean"), "at least one axis"),
        ],
    )
    def test_messages(self, use, message):
        with pytest.raises((ValueError, TypeError), match=message):
            use()


class TestTypes:
    def test_losses_of_integers_are_floats_and_do_not_wrap(self):
        pred, label = tensor([1, 0, 7], dtype="uint8"), tensor([3, 0, 5], dtype="uint8")
        assert F.l1_loss(pred, label).item() == pytest.approx(4 / 3)
        assert F.square_loss(pred, label, "none").tolist() == [4, 0, 4]
        assert F.huber_loss(pred, label, reduction="sum").item() == 3
        assert F.smooth_l1_loss(pred, label, reduction="sum").item() == 3

    @pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
    def test_half_types_stay(self, dtype):
        x, y = tensor(A, dtype=dtype), tensor(B, dtype=dtype)
        for got in (
            F.cosine_similarity(x, y),
            F.triplet_margin_loss(x, y, x),
            F.cross_entropy(x, tensor(LABELS)),
            F.huber_loss(x, y),
            F.binary_cross_entropy(x, y),
        ):
            assert got.dtype == x.dtype

    def test_cosine_of_long_half_vectors_does_not_overflow(self):
        x = tensor(np.full((1, 1000), 100.0), dtype="float16")
        assert F.cosine_similarity(x, x).item() == pytest.approx(1, abs=1e-3)
