"""Values and derivatives over the whole range of every float type, against many digits.

Each row is a function of one number with its formula for mpmath, which differentiates it. What is
compared is relative: a result may not be infinite, NaN or 0 where a number of the type is near.
"""

import mpmath
import numpy as np
import pytest
from mpmath import mp, mpf

import gradc
import gradc.functional as F
from gradc.autodiff import GradManager

TYPES = {
    # name: digits of precision, exponents of the smallest normal and the largest number
    "float16": (11, -14, 16),
    "bfloat16": (8, -126, 128),
    "float32": (24, -126, 128),
    "float64": (53, -1022, 1024),
}

ULPS = {"float16": 2, "bfloat16": 2, "float32": 64, "float64": 256}
"""Half types are computed in float32 and rounded once."""


def points(kind):
    """Numbers of the type: at 0, near it, about 1, at the roots of the ends, and at the ends."""
    bits, least, most = TYPES[kind]
    top = (2.0 - 2.0 ** (1 - bits)) * 2.0 ** (most - 1)
    tiny = [2.0**least, 2.0 ** (least // 2), 2.0 ** -(bits // 2)]
    middle = [
        0.125,
        0.25,
        0.4375,
        0.5,
        0.625,
        0.75,
        1.0,
        1.5,
        2.5,
        3.0,
        4.0,
        6.5,
        12.0,
        40.0,
        100.0,
    ]
    large = [2.0 ** (most // 3), 2.0 ** (most // 2), 2.0 ** (most // 2 + 2), top / 4, top]
    return [0.0, -0.0, *[sign * each for each in tiny + middle + large for sign in (1, -1)]]


def sigmoid(x):
    return 1 / (1 + mp.exp(-x)) if x > 0 else mp.exp(x) / (1 + mp.exp(x))


def softplus(x):
    return x + mp.log1p(mp.exp(-x)) if x > 0 else mp.log1p(mp.exp(x))


def tanh(x):
    if abs(x) > 10**6:
        return mp.sign(x)
    return mp.tanh(x)


def gelu(x):
    return (x if x > 0 else mpf(0)) if abs(x) > 1000 else x * mp.erfc(-x / mp.sqrt(2)) / 2


def gelu_tanh(x):
    return x * sigmoid(2 * mp.sqrt(2 / mp.pi) * (x + mpf(0.044715) * x**3))


def elu(x, scale=1, alpha=1):
    return scale * (x if x > 0 else alpha * mp.expm1(x))


def huber(x, delta=1):
    return x * x / 2 if abs(x) < delta else delta * (abs(x) - mpf(delta) / 2)


def sinc(x):
    return mp.sincpi(x) if abs(x) < 10**6 else mp.sinpi(x - 2 * mp.nint(x / 2)) / mp.pi / x


def near(*kinks):
    """Where no kink is."""
    return lambda x: all(x != each for each in kinks)


def within(low, high):
    return lambda x: low < x < high


ANY = near()
ONE = np.float32(1.0)


def classes(x):
    """The first one everywhere."""
    return np.zeros(x.shape, "int32")


ROWS = {
    # function, formula, where, how far below the largest of (value, slope, curve) errors count
    "gelu": (F.gelu, gelu, ANY, (1, 1, 1)),
    "gelu tanh": (lambda x: F.gelu(x, approximate="tanh"), gelu_tanh, ANY, (0, 1, 1)),
    "silu": (F.silu, lambda x: x * sigmoid(x), ANY, (0, 1, 1)),
    "mish": (F.mish, lambda x: x * tanh(softplus(x)), ANY, (0, 1, 1)),
    "softplus": (F.softplus, softplus, ANY, (0, 0, 1)),
    "softplus 3": (lambda x: F.softplus(x, 3.0), lambda x: softplus(3 * x) / 3, ANY, (0, 0, 1)),
    "logsigmoid": (F.logsigmoid, lambda x: -softplus(-x), ANY, (0, 0, 1)),
    "sigmoid": (F.sigmoid, sigmoid, ANY, (0, 1, 1)),
    "tanh": (F.tanh, tanh, ANY, (0, 1, 1)),
    "hsigmoid": (F.hsigmoid, lambda x: min(max(x + 3, 0), 6) / mpf(6), near(3, -3), (0, 0, 0)),
    "hswish": (F.hswish, lambda x: x * min(max(x + 3, 0), 6) / mpf(6), near(3, -3), (0, 1, 0)),
    "elu": (F.elu, elu, near(0), (0, 0, 0)),
    "celu 2": (lambda x: F.celu(x, 2.0), lambda x: elu(x / 2, 2), near(0), (0, 0, 0)),
    "selu": (
        F.selu,
        lambda x: elu(x, mpf("1.0507009873554805"), mpf("1.6732632423543772")),
        near(0),
        (0, 0, 0),
    ),
    "softsign": (F.softsign, lambda x: x / (1 + abs(x)), near(0), (0, 0, 0)),
    "tanhshrink": (F.tanhshrink, lambda x: x - tanh(x), ANY, (0, 1, 1)),
    "softshrink": (
        F.softshrink,
        lambda x: mp.sign(x) * max(abs(x) - mpf(0.5), 0),
        near(0.5, -0.5),
        (0, 0, 0),
    ),
    "leaky_relu": (
        lambda x: F.leaky_relu(x, 0.25),
        lambda x: x if x > 0 else x / 4,
        near(0),
        (0, 0, 0),
    ),
    "sinc": (F.sinc, sinc, lambda x: abs(x) < 2**10 or abs(x) > 2**60, (1, 1, 1)),
    "logit": (F.logit, lambda x: mp.log(x) - mp.log1p(-x), within(0, 1), (0, 0, 1)),
    "expm1": (F.expm1, mp.expm1, within(-1000, 5), (0, 0, 0)),
    "log1p": (F.log1p, mp.log1p, lambda x: x > -1, (0, 0, 0)),
    "log": (F.log, mp.log, lambda x: x > 0, (0, 0, 0)),
    "sqrt": (F.sqrt, mp.sqrt, lambda x: x > 0, (0, 0, 0)),
    "rsqrt": (F.rsqrt, lambda x: 1 / mp.sqrt(x), lambda x: x > 0, (0, 0, 0)),
    "reciprocal": (F.reciprocal, lambda x: 1 / x, near(0), (0, 0, 0)),
    "asinh": (F.asinh, mp.asinh, ANY, (0, 0, 0)),
    "atan": (F.atan, mp.atan, ANY, (0, 0, 0)),
    "atanh": (F.atanh, mp.atanh, within(-1, 1), (0, 0, 0)),
    "acosh": (F.acosh, mp.acosh, lambda x: x > 1, (0, 0, 0)),
    "asin": (F.asin, mp.asin, within(-1, 1), (0, 0, 0)),
    "logaddexp": (lambda x: F.logaddexp(x, 0.0), softplus, ANY, (0, 0, 1)),
    "hypot": (lambda x: F.hypot(x, 1.0), lambda x: mp.hypot(x, 1), ANY, (0, 0, 1)),
    "atan2": (lambda x: F.atan2(x, 1.0), mp.atan, ANY, (0, 0, 1)),
    "lerp to -x": (lambda x: F.lerp(x, -x, 0.25), lambda x: x / 2, ANY, (0, 0, 0)),
    "lerp to x/2": (lambda x: F.lerp(x, x * 0.5, 0.5), lambda x: x * mpf(0.75), ANY, (0, 0, 0)),
    "deg2rad": (F.deg2rad, lambda x: x * mp.pi / 180, ANY, (0, 0, 0)),
    "square": (F.square, lambda x: x * x, ANY, (0, 0, 0)),
    "smooth l1": (
        lambda x: F.smooth_l1_loss(x, x * 0.0, 2.0, "none"),
        lambda x: huber(x, 2) / 2,
        near(2, -2),
        (0, 0, 0),
    ),
    "huber": (
        lambda x: F.huber_loss(x, x * 0.0, 0.5, "none"),
        lambda x: huber(x, 0.5),
        near(0.5, -0.5),
        (0, 0, 0),
    ),
    "l1": (lambda x: F.l1_loss(x, x * 0.0, "none"), abs, near(0), (0, 0, 0)),
    "soft margin": (
        lambda x: F.soft_margin_loss(x, ONE, "none"),
        lambda x: softplus(-x),
        ANY,
        (0, 0, 1),
    ),
    "bce": (
        lambda x: F.binary_cross_entropy(x, ONE, reduction="none"),
        lambda x: softplus(-x),
        ANY,
        (0, 1, 1),
    ),
    "bce of p": (
        lambda x: F.binary_cross_entropy(x, ONE * 0.0, with_logits=False, reduction="none"),
        lambda x: -mp.log1p(-x),
        within(0, 1),
        (0, 0, 0),
    ),
    "glu": (lambda x: F.glu(F.stack([x, x], 1), 1)[:, 0], lambda x: x * sigmoid(x), ANY, (0, 1, 1)),
    "softmax": (lambda x: F.softmax(F.stack([x, x * 0.0], 1), 1)[:, 0], sigmoid, ANY, (0, 1, 1)),
    "logsoftmax": (
        lambda x: F.logsoftmax(F.stack([x, x * 0.0], 1), 1)[:, 0],
        lambda x: -softplus(-x),
        ANY,
        (1, 1, 1),
    ),
    "logsumexp": (lambda x: F.logsumexp(F.stack([x, x * 0.0], 1), 1), softplus, ANY, (1, 1, 1)),
    "pow 0": (lambda x: F.pow(x, 0), lambda x: mpf(1), ANY, (0, 0, 0)),
    "pow 1": (lambda x: F.pow(x, 1.0), lambda x: x, ANY, (0, 0, 0)),
    "pow 2": (lambda x: F.pow(x, 2), lambda x: x * x, ANY, (0, 0, 0)),
    "pow 3": (lambda x: F.pow(x, 3), lambda x: x**3, ANY, (0, 0, 0)),
    "pow 1/2": (lambda x: F.pow(x, 0.5), mp.sqrt, lambda x: x > 0, (0, 0, 1)),
    "pow -1": (lambda x: F.pow(x, -1), lambda x: 1 / x, near(0), (0, 0, 0)),
    "pow array": (lambda x: F.pow(x, ONE * 2.0), lambda x: x * x, ANY, (0, 0, 0)),
    "prod": (lambda x: F.prod(F.stack([x, x], 1), 1), lambda x: x * x, ANY, (0, 0, 0)),
    "prod beside 0": (
        lambda x: F.prod(F.stack([x, x * 0.0, x * 0.0 + 1.0], 1), 1),
        lambda x: mpf(0),
        ANY,
        (0, 0, 0),
    ),
    "cumprod": (
        lambda x: F.cumprod(F.stack([x, F.full_like(x, 0.5), x], 1), 1)[:, 2],
        lambda x: x * x / 2,
        ANY,
        (0, 0, 0),
    ),
    "cross entropy": (
        lambda x: F.cross_entropy(F.stack([x, x * 0.0], 1), classes(x), reduction="none"),
        lambda x: softplus(-x),
        ANY,
        (1, 1, 1),
    ),
    "smoothed cross entropy": (
        lambda x: F.cross_entropy(
            F.stack([x, x * 0.0], 1), classes(x), label_smooth=0.5, reduction="none"
        ),
        lambda x: softplus(-x) + x / 4,
        ANY,
        (1, 1, 1),
    ),
    "poisson": (
        lambda x: F.poisson_nll_loss(x, ONE * 0.5, reduction="none"),
        lambda x: mp.exp(x) - x / 2,
        within(-1e5, 5),
        (1, 1, 0),
    ),
    "gaussian": (
        lambda x: F.gaussian_nll_loss(x, ONE * 0.0, ONE, reduction="none"),
        lambda x: x * x / 2,
        ANY,
        (0, 0, 0),
    ),
    "kl": (
        lambda x: F.kl_div(x, ONE * 0.5, reduction="none"),
        lambda x: (mp.log(mpf(0.5)) - x) / 2,
        ANY,
        (1, 0, 0),
    ),
    "hinge": (
        lambda x: F.hinge_loss(F.stack([x], 1), ONE, "L1", "none"),
        lambda x: max(1 - x, mpf(0)),
        near(1),
        (1, 0, 0),
    ),
    "hinge embedding": (
        lambda x: F.hinge_embedding_loss(x, -ONE, 1.0, "none"),
        lambda x: max(1 - x, mpf(0)),
        near(1),
        (1, 0, 0),
    ),
    "ranking": (
        lambda x: F.margin_ranking_loss(x, x * 0.0, ONE, 0.0, "none"),
        lambda x: max(-x, mpf(0)),
        near(0),
        (0, 0, 0),
    ),
    "triplet": (
        lambda x: F.triplet_margin_loss(
            F.stack([x, x], 1), F.stack([x, x], 1) * 0.5, F.stack([x, x], 1), 0.0, 2.0, "none"
        ),
        lambda x: abs(x) / mp.sqrt(2),
        near(0),
        (0, 0, None),
    ),
    "norm": (
        lambda x: F.norm(F.stack([x, x], 1), axis=1),
        lambda x: mp.sqrt(2) * abs(x),
        near(0),
        (0, 0, None),
    ),
    "3-norm": (
        lambda x: F.norm(F.stack([x, x], 1), 3.0, 1),
        lambda x: mp.cbrt(2) * abs(x),
        near(0),
        (0, 0, None),
    ),
    "normalize": (
        lambda x: F.normalize(F.stack([x, x * 0.75], 1), axis=1)[:, 0],
        lambda x: mp.sign(x) * mpf(0.8),
        lambda x: abs(x) > 1e-11,
        (0, None, None),
    ),
    "std": (
        lambda x: F.std(F.stack([x, x * -0.5], 1), 1),
        lambda x: abs(x) * mpf(0.75),
        near(0),
        (0, 0, None),
    ),
    "cosine": (
        lambda x: F.cosine_similarity(
            F.stack([x, x * 0.75], 1), gradc.tensor([[1.0, 0.0]]).astype(x.dtype)
        ),
        lambda x: mp.sign(x) * mpf(0.8),
        lambda x: abs(x) > 1e-7,
        (0, None, None),
    ),
}


def computed(function, kind, given):
    """The value, the first and the second derivative at each point, in float64."""
    x = gradc.tensor(given, dtype=kind)
    outer, inner = GradManager().attach(x), GradManager().attach(x)
    with outer:
        with inner:
            y = function(x)
            inner.backward(y.sum())
        slope, x.grad = x.grad, None
        outer.backward(slope.sum())
    parts = (y, slope, gradc.tensor([0.0] * len(given)) if x.grad is None else x.grad)
    return zip(*[each.numpy().astype("float64").tolist() for each in parts], strict=True)


def expected(formula, x):
    """The same with many digits."""
    x = mpf(x)
    step = abs(x) * mpf(2) ** -120 if x else mpf(2) ** -(mp.prec // 6)
    left, middle, right = (formula(x + k * step) for k in (-1, 0, 1))
    return middle, (right - left) / (2 * step), (right - 2 * middle + left) / step**2


def rounded_off(got, want, kind, floor, x):
    """Whether `got` is `want` but for rounding; an overflow of the type is one of the result."""
    bits, least, most = TYPES[kind]
    size = abs(want)
    if size > mpf(2) ** most:
        return not np.isfinite(got)
    if size > mpf(2) ** (most - 1) and not np.isfinite(got):
        return not np.isnan(got)
    if not np.isfinite(got):
        return False
    error = abs(mpf(got) - want)
    return error <= ULPS[kind] * mpf(2) ** -bits * max(size, floor) + mpf(2) ** (
        least - bits + 3
    ) * max(1, abs(x))


@pytest.mark.parametrize("kind", TYPES)
def test_the_whole_range(kind, interpreted):
    wrong = []
    with mp.workprec(700 if kind != "float64" else 4000):
        for name, (function, formula, where, floors) in ROWS.items():
            given = [x for x in points(kind) if where(x)]
            for x, found in zip(given, computed(function, kind, given), strict=True):
                for part, got, want, floor in zip(
                    ("value", "slope", "curve"), found, expected(formula, x), floors, strict=True
                ):
                    if floor is not None and not rounded_off(got, want, kind, floor, x):
                        wrong.append(f"{name} at {x!r}: {part} {got}, not {mpmath.nstr(want, 8)}")
    assert not wrong, f"{len(wrong)}\n" + "\n".join(wrong)


@pytest.mark.parametrize("kind", ["float16", "bfloat16"])
def test_sums_of_more_than_a_half_type_counts(kind, interpreted):
    count = 70_000
    ones = gradc.tensor(np.ones(count), dtype=kind)

    def gradient(function):
        gm = GradManager().attach(ones)
        with gm:
            y = function(ones)
            gm.backward(y)
        grad, ones.grad = ones.grad, None
        return float(y.numpy().astype("float64")), float(grad.numpy().astype("float64").sum())

    wrong = {}
    for name, function, want in (
        ("max", F.max, (1, 1)),
        ("min", F.min, (1, 1)),
        ("max of an axis", lambda x: F.max(x.reshape(1, -1), 1).sum(), (1, 1)),
        ("mean", F.mean, (1, 1)),
        ("square loss", lambda x: F.square_loss(x, x * 0.0), (1, 2)),
        ("l1 loss", lambda x: F.l1_loss(x, x * 0.0), (1, 1)),
        ("huber loss", lambda x: F.huber_loss(x, x * 0.0, 4.0), (0.5, 1)),
        ("logits", lambda x: F.binary_cross_entropy(x * 0.0, x), (np.log(2), 0)),
        ("softmax", lambda x: F.softmax(x, 0).sum(), (1, 0)),
        ("logsumexp", F.logsumexp, (1 + np.log(count), 1)),
        ("norm", F.norm, (np.sqrt(count), np.sqrt(count))),
        ("nanmean", F.nanmean, (1, 1)),
        ("variance", F.var, (0, 0)),
        ("deviation", F.std, (0, 0)),
    ):
        got = gradient(function)
        if not np.allclose(got, want, rtol=0.02, atol=1e-3):
            wrong[name] = (got, want)
    assert not wrong
