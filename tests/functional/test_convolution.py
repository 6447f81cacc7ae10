"""Convolutions, pooling, windows and images in another size, against plain loops."""

from itertools import product

import numpy as np
import pytest
from slopes import Checks, gradients, slope
from walk import walk

from gradc import functional as F
from gradc import tensor

RANDOM = np.random.default_rng(0)


def array(*shape):
    return RANDOM.uniform(-1, 1, shape)


def padded(x, amounts, fill=0.0):
    return np.pad(x, [(0, 0), (0, 0), *((a, a) for a in amounts)], constant_values=fill)


def windows(x, span, strides, dilations):
    """Of each place: its index, and the window that begins there."""
    counts = [
        (n - d * (k - 1) - 1) // s + 1
        for n, k, s, d in zip(x.shape[2:], span, strides, dilations, strict=True)
    ]
    for place in product(*map(range, counts)):
        cut = tuple(
            slice(i * s, i * s + d * (k - 1) + 1, d)
            for i, k, s, d in zip(place, span, strides, dilations, strict=True)
        )
        yield place, (slice(None), slice(None), *cut)


def convolution(x, w, b=None, stride=1, padding=0, dilation=1, groups=1):
    rank = x.ndim - 2
    stride, padding, dilation = (np.broadcast_to(v, rank) for v in (stride, padding, dilation))
    x, span = padded(x, padding), w.shape[2:]
    found = list(windows(x, span, stride, dilation))
    shape = [i + 1 for i in found[-1][0]] if found else [0] * rank
    y = np.zeros((len(x), len(w), *shape))
    inner, outer = w.shape[1], len(w) // groups
    for place, cut in found:
        seen = x[cut]
        for o in range(len(w)):
            begin = o // outer * inner
            part = seen[:, begin : begin + inner]
            y[(slice(None), o, *place)] = (part * w[o]).reshape(len(x), -1).sum(1)
    return y if b is None else y + b.reshape(1, -1, *(1,) * rank)


def transposed(x, w, b=None, stride=1, padding=0, extra=0, dilation=1, groups=1):
    rank = x.ndim - 2
    stride, padding, extra, dilation = (
        np.broadcast_to(v, rank) for v in (stride, padding, extra, dilation)
    )
    span = w.shape[2:]
    shape = [
        (n - 1) * s + d * (k - 1) + 1 + e
        for n, s, d, k, e in zip(x.shape[2:], stride, dilation, span, extra, strict=True)
    ]
    y = np.zeros((len(x), groups * w.shape[1], *shape))
    inner = x.shape[1] // groups
    for place, element in product(np.ndindex(x.shape[2:]), np.ndindex(*span)):
        at = tuple(
            i * s + k * d for i, s, k, d in zip(place, stride, element, dilation, strict=True)
        )
        for c in range(x.shape[1]):
            begin = c // inner * w.shape[1]
            y[(slice(None), slice(begin, begin + w.shape[1]), *at)] += (
                x[(slice(None), c, *place)][:, None] * w[(c, slice(None), *element)]
            )
    cut = tuple(slice(p, n - p) for p, n in zip(padding, shape, strict=True))
    y = y[(slice(None), slice(None), *cut)]
    return y if b is None else y + b.reshape(1, -1, *(1,) * rank)


def pooled(function, x, kernel, stride=None, padding=0, fill=0.0):
    rank = x.ndim - 2
    kernel = np.broadcast_to(kernel, rank)
    stride = kernel if stride is None else np.broadcast_to(stride, rank)
    x = padded(x, np.broadcast_to(padding, rank), fill)
    found = list(windows(x, kernel, stride, (1,) * rank))
    y = np.zeros((*x.shape[:2], *(i + 1 for i in found[-1][0])))
    for place, cut in found:
        y[(slice(None), slice(None), *place)] = function(x[cut].reshape(*x.shape[:2], -1))
    return y


def adaptive(function, x, rows, columns):
    y = np.zeros((*x.shape[:-2], rows, columns))
    height, width = x.shape[-2:]
    for i, j in product(range(rows), range(columns)):
        part = x[
            ...,
            i * height // rows : -(-(i + 1) * height // rows),
            j * width // columns : -(-(j + 1) * width // columns),
        ]
        y[..., i, j] = function(part.reshape(*x.shape[:-2], -1))
    return y


def resized(x, axis, size, align):
    """Linear interpolation along one axis, by real numbers."""
    extent = x.shape[axis]
    lines = []
    for i in range(size):
        at = i * (extent - 1) / max(size - 1, 1) if align else (i + 0.5) * extent / size - 0.5
        at = min(max(at, 0), extent - 1)
        low = min(int(np.floor(at + 1e-9)), extent - 1)
        high = min(low + 1, extent - 1)
        a, b = np.take(x, low, axis), np.take(x, high, axis)
        lines.append(a + (at - low) * (b - a))
    return np.stack(lines, axis)


def bilinear(x, rows, columns, align=False):
    return resized(resized(x, 2, rows, align), 3, columns, align)


def mean(x):
    return x.mean(-1)


def largest(x):
    return x.max(-1)


def inside_mean(x):
    return np.nanmean(x, -1)


I4, I5 = array(2, 3, 4, 5), array(1, 4, 4, 4)
CASES = {
    "conv1d": (
        lambda x, w, b: F.conv1d(x, w, b, 2, 1, 2),
        lambda x, w, b: convolution(x, w, b, 2, 1, 2),
        array(2, 3, 7),
        array(2, 3, 3),
        array(2),
    ),
    "conv2d": (F.conv2d, convolution, I4, array(2, 3, 2, 3), array(2)),
    "conv2d_strides": (
        lambda x, w, b: F.conv2d(x, w, b, (2, 1), (1, 2), (1, 2)),
        lambda x, w, b: convolution(x, w, b, (2, 1), (1, 2), (1, 2)),
        I4,
        array(2, 3, 3, 2),
        array(1, 2, 1, 1),
    ),
    "conv2d_groups": (
        lambda x, w: F.conv2d(x, w, padding=1, groups=2),
        lambda x, w: convolution(x, w, None, 1, 1, 1, 2),
        I5,
        array(6, 2, 3, 3),
    ),
    "conv2d_grouped_weight": (
        lambda x, w: F.conv2d(x, w, groups=2),
        lambda x, w: convolution(x, w.reshape(4, 2, 2, 2), groups=2),
        I5,
        array(2, 2, 2, 2, 2),
    ),
    "conv2d_depthwise": (
        lambda x, w: F.conv2d(x, w, stride=2, groups=4),
        lambda x, w: convolution(x, w, None, 2, groups=4),
        I5,
        array(4, 1, 2, 2),
    ),
    "conv2d_pointwise": (F.conv2d, convolution, I4, array(2, 3, 1, 1)),
    "conv3d": (
        lambda x, w, b: F.conv3d(x, w, b, padding=1, stride=(1, 2, 1)),
        lambda x, w, b: convolution(x, w, b, (1, 2, 1), 1),
        array(1, 2, 3, 3, 2),
        array(2, 2, 2, 2, 2),
        array(2),
    ),
    "conv_transpose1d": (
        lambda x, w, b: F.conv_transpose1d(x, w, b, 2, 1, 1),
        lambda x, w, b: transposed(x, w, b, 2, 1, 1),
        array(2, 3, 4),
        array(3, 2, 3),
        array(2),
    ),
    "conv_transpose2d": (F.conv_transpose2d, transposed, array(2, 3, 2, 3), array(3, 2, 2, 3)),
    "conv_transpose2d_strides": (
        lambda x, w, b: F.conv_transpose2d(x, w, b, (2, 3), (1, 0), (1, 0), (1, 2)),
        lambda x, w, b: transposed(x, w, b, (2, 3), (1, 0), (1, 0), (1, 2)),
        array(1, 2, 3, 2),
        array(2, 3, 3, 2),
        array(3),
    ),
    "conv_transpose2d_room_for_more_places": (
        lambda x, w: F.conv_transpose2d(x, w, None, 1, 0, 1, 2),
        lambda x, w: transposed(x, w, None, 1, 0, 1, 2),
        array(2, 3, 2, 3),
        array(3, 2, 2, 1),
    ),
    "conv_transpose2d_groups": (
        lambda x, w: F.conv_transpose2d(x, w, stride=2, groups=2),
        lambda x, w: transposed(x, w, stride=2, groups=2),
        array(1, 4, 2, 2),
        array(4, 3, 2, 2),
    ),
    "conv_transpose3d": (
        lambda x, w: F.conv_transpose3d(x, w, None, 2, 1),
        lambda x, w: transposed(x, w, None, 2, 1),
        array(1, 2, 2, 2, 2),
        array(2, 1, 3, 3, 3),
    ),
    "sliding_window": (
        lambda x: F.sliding_window(x, (2, 3), stride=(2, 1)) * 1.0,
        lambda x: np.lib.stride_tricks.sliding_window_view(x, (2, 3), (2, 3))[:, :, ::2],
        I4,
    ),
    "max_pool1d": (
        lambda x: F.max_pool1d(x, 3, 2, 1),
        lambda x: pooled(largest, x, 3, 2, 1, -np.inf),
        array(2, 3, 7),
    ),
    "max_pool2d": (lambda x: F.max_pool2d(x, 2), lambda x: pooled(largest, x, 2), I4),
    "max_pool2d_overlap": (
        lambda x: F.max_pool2d(x, (3, 2), (1, 2), (1, 1)),
        lambda x: pooled(largest, x, (3, 2), (1, 2), (1, 1), -np.inf),
        I4,
    ),
    "max_pool3d": (
        lambda x: F.max_pool3d(x, 2, 1),
        lambda x: pooled(largest, x, 2, 1),
        array(1, 2, 3, 3, 2),
    ),
    "avg_pool1d": (
        lambda x: F.avg_pool1d(x, 2, 1),
        lambda x: pooled(mean, x, 2, 1),
        array(2, 3, 5),
    ),
    "avg_pool2d": (lambda x: F.avg_pool2d(x, 2), lambda x: pooled(mean, x, 2), I4),
    "avg_pool2d_padding": (
        lambda x: F.avg_pool2d(x, 3, 2, 1),
        lambda x: pooled(inside_mean, x, 3, 2, 1, np.nan),
        I4,
    ),
    "avg_pool2d_counting_padding": (
        lambda x: F.avg_pool2d(x, 3, 2, 1, mode="AVERAGE"),
        lambda x: pooled(mean, x, 3, 2, 1),
        I4,
    ),
    "avg_pool3d": (
        lambda x: F.avg_pool3d(x, (2, 1, 2)),
        lambda x: pooled(mean, x, (2, 1, 2)),
        array(1, 2, 3, 2, 4),
    ),
    "adaptive_avg_pool2d": (
        lambda x: F.adaptive_avg_pool2d(x, (3, 2)),
        lambda x: adaptive(mean, x, 3, 2),
        I4,
    ),
    "adaptive_avg_pool2d_larger": (
        lambda x: F.adaptive_avg_pool2d(x, 7),
        lambda x: adaptive(mean, x, 7, 7),
        I4,
    ),
    "adaptive_max_pool2d": (
        lambda x: F.adaptive_max_pool2d(x, (3, 2)),
        lambda x: adaptive(largest, x, 3, 2),
        I4,
    ),
    "interpolate": (
        lambda x: F.interpolate(x, (7, 3)),
        lambda x: bilinear(x, 7, 3),
        I4,
    ),
    "interpolate_aligned": (
        lambda x: F.vision.interpolate(x, (7, 3), align_corners=True),
        lambda x: bilinear(x, 7, 3, True),
        I4,
    ),
    "interpolate_to_one": (
        lambda x: F.interpolate(x, 1, align_corners=True),
        lambda x: bilinear(x, 1, 1, True),
        I4,
    ),
    "interpolate_scale": (
        lambda x: F.interpolate(x, scale_factor=(1.5, 2)),
        lambda x: bilinear(x, 6, 10),
        I4,
    ),
    "interpolate_linear": (
        lambda x: F.interpolate(x, 9, mode="linear"),
        lambda x: resized(x, 2, 9, False),
        array(2, 3, 4),
    ),
    "interpolate_trilinear": (
        lambda x: F.interpolate(x, 3, mode="trilinear"),
        lambda x: resized(resized(resized(x, 2, 3, False), 3, 3, False), 4, 3, False),
        array(1, 2, 2, 2, 2),
    ),
    "interpolate_nearest": (
        lambda x: F.interpolate(x, (6, 3), mode="nearest"),
        lambda x: x[:, :, [0, 0, 1, 2, 2, 3]][..., [0, 1, 3]],
        I4,
    ),
    "pixel_shuffle": (
        lambda x: F.pixel_shuffle(x, 2) * 1.0,
        lambda x: x.reshape(1, 2, 2, 2, 2, 3).transpose(0, 1, 4, 2, 5, 3).reshape(1, 2, 4, 6),
        array(1, 8, 2, 3),
    ),
    "pixel_unshuffle": (
        lambda x: F.pixel_unshuffle(x, 2) * 1.0,
        lambda x: x.reshape(1, 2, 2, 2, 3, 2).transpose(0, 1, 3, 5, 2, 4).reshape(1, 8, 2, 3),
        array(1, 2, 4, 6),
    ),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
class TestCases(Checks):
    pass


class TestEdges:
    def test_the_first_of_tied_elements_gets_the_derivative(self):
        x = [[[[1.0, 1.0], [1.0, 1.0]]]]
        assert slope(lambda t: F.max_pool2d(t, 2), x).tolist() == [[[[1, 0], [0, 0]]]]
        got = slope(lambda t: F.adaptive_max_pool2d(t, 1), x)
        assert got.tolist() == [[[[1, 0], [0, 0]]]]

    def test_nan_and_infinities(self):
        x = tensor([[[[-np.inf, -np.inf, 1, np.nan]]]])
        got = F.max_pool2d(x, (1, 2)).numpy()
        assert got[0, 0, 0, 0] == -np.inf
        assert np.isnan(got[0, 0, 0, 1])

    @pytest.mark.parametrize("dtype", ["uint8", "int8", "int32", "bool"])
    def test_integers_are_pooled_in_their_type(self, dtype):
        x = tensor([[[[0, 1], [0, 0]]]], dtype=dtype)
        got = F.max_pool2d(x, 2, 1, 1)
        assert got.dtype == x.dtype
        assert got.tolist() == [[[[0, 1, 1], [0, 1, 1], [0, 0, 0]]]]
        assert F.adaptive_max_pool2d(x, 1).dtype == x.dtype

    def test_an_empty_batch(self):
        x = F.zeros((0, 3, 4, 5))
        assert F.conv2d(x, F.zeros((2, 3, 2, 2))).shape == (0, 2, 3, 4)
        assert F.conv_transpose2d(x, F.zeros((3, 2, 2, 2))).shape == (0, 2, 5, 6)
        assert F.max_pool2d(x, 2).shape == (0, 3, 2, 2)
        assert F.adaptive_avg_pool2d(x, 2).shape == (0, 3, 2, 2)
        assert F.interpolate(x, 2).shape == (0, 3, 2, 2)
        (g,) = gradients(lambda w: F.conv2d(x, w), [F.zeros((2, 3, 2, 2))])
        assert not g.numpy().any()

    @pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float64"])
    def test_types_are_kept(self, dtype):
        x, w = tensor(I4, dtype=dtype), tensor(array(2, 3, 2, 2), dtype=dtype)
        for made in (
            F.conv2d(x, w),
            F.avg_pool2d(x, 3, 2, 1),
            F.max_pool2d(x, 2),
            F.adaptive_avg_pool2d(x, 3),
            F.interpolate(x, 3),
        ):
            assert str(made.dtype).endswith(dtype)

    def test_shares_of_parts_are_exact(self):
        """Where a part begins is decided by whole numbers, not by rounded quotients."""
        for extent, places in ((6, 9), (49, 7), (30, 90), (1000, 7)):
            x = np.zeros((1, 1, 1, extent))
            x[..., ::3] = 1
            got = F.adaptive_avg_pool2d(tensor(x), (1, places)).numpy()
            assert np.allclose(got, adaptive(mean, x, 1, places), atol=1e-6)

    @pytest.mark.parametrize("align", [True, False])
    def test_the_same_size_changes_nothing(self, align):
        for size in (3, 7, 10):
            x = tensor(array(1, 1, size, size))
            got = F.interpolate(x, size, align_corners=align)
            assert np.array_equal(got.numpy(), x.numpy())


A = tensor(I4)


@walk(
    ("use", "message"),
    [
        (lambda: F.conv2d(A, F.zeros((2, 4, 2, 2))), "4 channels"),
        (lambda: F.conv2d(A[0], F.zeros((2, 3, 2, 2))), "with 4 axes"),
        (lambda: F.conv2d(A, F.zeros((2, 3, 2))), "a weight with 4 axes"),
        (lambda: F.conv2d(A, F.zeros((2, 3, 5, 2))), "conv2d: a window of 5 elements"),
        (lambda: F.conv2d(A, F.zeros((3, 3, 2, 2)), groups=2), "for 2 groups"),
        (lambda: F.conv2d(A, F.zeros((2, 3, 2, 2)), F.zeros((3,))), "one bias for each"),
        (lambda: F.conv2d(A, F.zeros((2, 3, 2, 2)), stride=0), "stride"),
        (lambda: F.conv2d(A, F.zeros((2, 3, 2, 2)), padding=(1, 1, 1)), "padding"),
        (lambda: F.conv_transpose2d(A, F.zeros((2, 2, 2, 2))), "2 channels"),
        (lambda: F.max_pool2d(A, 6), "max_pool2d: a window of 6 elements"),
        (lambda: F.max_pool2d(A, 2, 2, 2), "a padding below the window"),
        (lambda: F.max_pool2d(A[0], 2), "with 4 axes"),
        (lambda: F.avg_pool2d(A, 2, mode="sum"), "average"),
        (lambda: F.adaptive_avg_pool2d(F.zeros((1, 1, 0, 2)), 1), "with elements"),
        (lambda: F.interpolate(A), "either a size or"),
        (lambda: F.interpolate(A, 2, 2.0), "either a size or"),
        (lambda: F.interpolate(A, 2, mode="cubic"), "expected nearest"),
        (lambda: F.interpolate(A, 2, mode="linear"), "for linear"),
        (lambda: F.interpolate(A, (2, 3, 4)), "2 extents"),
        (lambda: F.interpolate(A, 0), "at least one element"),
        (lambda: F.pixel_shuffle(A, 2), "does not fit the factor 2"),
        (lambda: F.pixel_unshuffle(A, 2), "does not fit the factor 2"),
    ],
)
def test_messages(use, message):
    with pytest.raises(ValueError, match=message):
        use()
