"""Windows as columns, columns as images, pools of equal parts, and images in another size."""

import math

import numpy as np
import pytest
from slopes import Checks

from gradc import Parameter, tensor
from gradc import functional as F
from gradc.autodiff import GradManager

RANDOM = np.random.default_rng(0)


def array(*shape):
    return RANDOM.uniform(-1, 1, shape)


def unfolded(x, span, dilation=1, padding=0, stride=1):
    x = np.pad(x, ((0, 0), (0, 0), (padding, padding), (padding, padding)))
    rows, columns = (
        range(0, extent - dilation * (size - 1), stride)
        for extent, size in zip(x.shape[2:], span, strict=True)
    )
    reach = [dilation * (size - 1) + 1 for size in span]
    taken = [
        x[:, :, i : i + reach[0] : dilation, j : j + reach[1] : dilation].reshape(x.shape[0], -1)
        for i in rows
        for j in columns
    ]
    return np.stack(taken, -1)


def folded(x, shape, span, **options):
    """The adjoint of `unfolded`, row by row of its matrix."""
    made = np.zeros((x.shape[0], *shape))
    for place in np.ndindex(shape):
        unit = np.zeros((1, *shape))
        unit[(0, *place)] = 1
        made[(slice(None), *place)] = (unfolded(unit, span, **options) * x).sum((1, 2))
    return made


def in_parts(function, x, *counts):
    for axis, count in enumerate(counts, x.ndim - len(counts)):
        extent = x.shape[axis]
        edges = [(i * extent // count, -(-(i + 1) * extent // count)) for i in range(count)]
        lines = [function(np.take(x, range(*edge), axis), axis) for edge in edges]
        x = np.stack(lines, axis)
    return x


def cubic(x, axis, size, align):
    """Keys' cubic convolution with a = -0.75, point by point."""
    a, extent = -0.75, x.shape[axis]
    made = []
    for i in range(size):
        at = i * (extent - 1) / max(size - 1, 1) if align else (i + 0.5) * extent / size - 0.5
        low = int(np.floor(at))
        total = 0.0
        for tap in range(low - 1, low + 3):
            d = abs(at - tap)
            near = (a + 2) * d**3 - (a + 3) * d**2 + 1
            weight = near if d <= 1 else a * (d**3 - 5 * d**2 + 8 * d - 4)
            total = total + weight * np.take(x, min(max(tap, 0), extent - 1), axis)
        made.append(total)
    return np.stack(made, axis)


X, L, V = array(2, 2, 5, 4), array(2, 3, 7), array(1, 2, 4, 3, 5)
CASES = {
    "unfold": (lambda x: F.unfold(x, (3, 2)), lambda x: unfolded(x, (3, 2)), X),
    "unfold_all": (
        lambda x: F.unfold(x, 2, 2, 1, 2),
        lambda x: unfolded(x, (2, 2), 2, 1, 2),
        X,
    ),
    "fold": (
        lambda x: F.fold(x, (3, 4), 2),
        lambda x: folded(x, (1, 3, 4), (2, 2)),
        array(2, 4, 6),
    ),
    "fold_all": (
        lambda x: F.fold(x, (4, 3), (2, 2), padding=1, stride=2),
        lambda x: folded(x, (1, 4, 3), (2, 2), padding=1, stride=2),
        array(1, 4, 6),
    ),
    "adaptive_avg_pool1d": (
        lambda x: F.adaptive_avg_pool1d(x, 3),
        lambda x: in_parts(np.mean, x, 3),
        L,
    ),
    "adaptive_max_pool1d": (
        lambda x: F.adaptive_max_pool1d(x, 4),
        lambda x: in_parts(np.max, x, 4),
        L,
    ),
    "adaptive_avg_pool3d": (
        lambda x: F.adaptive_avg_pool3d(x, (2, 3, 4)),
        lambda x: in_parts(np.mean, x, 2, 3, 4),
        V,
    ),
    "adaptive_max_pool3d": (
        lambda x: F.adaptive_max_pool3d(x, (3, 2, 2)),
        lambda x: in_parts(np.max, x, 3, 2, 2),
        V,
    ),
    "bicubic": (
        lambda x: F.interpolate(x, (7, 3), mode="bicubic"),
        lambda x: cubic(cubic(x, 2, 7, False), 3, 3, False),
        X,
    ),
    "bicubic_aligned": (
        lambda x: F.interpolate(x, (3, 9), mode="bicubic", align_corners=True),
        lambda x: cubic(cubic(x, 2, 3, True), 3, 9, True),
        X,
    ),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
class TestCases(Checks):
    pass


@pytest.mark.parametrize(
    ("use", "message"),
    [
        (lambda: F.unfold(tensor(L), 2), "unfold: expected four axes"),
        (lambda: F.unfold(tensor(X), 6), "does not fit 5"),
        (lambda: F.fold(tensor(L), (3, 3), 2), r"fold: expected \(batch, channels \* 4, 4\)"),
        (lambda: F.adaptive_avg_pool3d(tensor(L[0]), 2), "elements along 3 axes"),
        (lambda: F.adaptive_max_pool1d(tensor(L), 0), "adaptive_max_pool1d: .* at least 1"),
        (lambda: F.interpolate(tensor(L), 3, mode="bicubic"), "for bicubic"),
    ],
)
def test_messages(use, message):
    with pytest.raises(ValueError, match=message):
        use()


@pytest.mark.parametrize(
    ("given", "places", "expected"),
    [
        ([[1, 3, 3, 0], [3, 2, 3, 3]], (1, 1), [[0, 1, 0, 0], [0, 0, 0, 0]]),
        ([[1, 3, 3, 0], [3, 2, 3, 3]], (1, 3), [[0, 2, 1, 0], [0, 0, 0, 0]]),
        ([[1, 3, 3, 0], [3, 2, 3, 3]], (2, 1), [[0, 1, 0, 0], [1, 0, 0, 0]]),
        ([[0, 1], [2, math.nan], [math.nan, 3]], (1, 1), [[0, 0], [0, 1], [0, 0]]),
        ([[[1, 2], [0, 2]], [[2, 0], [0, 0]]], (1, 1, 1), [[[0, 1], [0, 0]], [[0, 0], [0, 0]]]),
    ],
)
def test_ties_of_parts_go_to_the_first(given, places, expected):
    x = Parameter([given], dtype="float32")
    pool = F.adaptive_max_pool2d if len(places) == 2 else F.adaptive_max_pool3d
    with GradManager().attach(x) as gm:
        gm.backward(pool(x, places).sum())
    assert x.grad.tolist() == [expected]
