"""Functions of each element."""

import math

import numpy as np
import pytest
from slopes import Checks, slope

from gradc import functional as F
from gradc import tensor
from gradc.autodiff import hvp

RANDOM = np.random.default_rng(0)
A, B = RANDOM.uniform(-2, 2, (2, 3)), RANDOM.uniform(-2, 2, (2, 3))
P = RANDOM.uniform(0.3, 2.5, (2, 3))
ERF = np.vectorize(math.erf)

CASES = {
    "fmod": (F.fmod, np.fmod, 3 * A, P),
    "fmod_negative": (lambda x: F.fmod(x, -0.7), lambda x: np.fmod(x, -0.7), A),
    "frac": (F.frac, lambda x: x - np.trunc(x), A),
    "sinc": (F.sinc, np.sinc, A),
    "deg2rad": (F.deg2rad, np.deg2rad, A),
    "rad2deg": (F.rad2deg, lambda x: x * 180 / np.pi, A / 60),
    "lerp": (lambda x, y: F.lerp(x, y, 0.3), lambda x, y: x + 0.3 * (y - x), A, B),
    "logit": (F.logit, lambda x: np.log(x / (1 - x)), P / 3),
    "add": (F.add, np.add, A, B[0]),
    "sub": (F.sub, np.subtract, A, B),
    "mul": (F.mul, np.multiply, A, B[:, :1]),
    "div": (F.div, np.divide, A, P),
    "mod": (lambda x: F.mod(x, 0.7), lambda x: np.mod(x, 0.7), A),
    "neg": (F.neg, np.negative, A),
    "pow": (F.pow, np.power, P, B),
    "pow_number": (lambda x: F.pow(x, 2.5), lambda x: x**2.5, P),
    "abs": (F.abs, np.abs, A),
    "exp": (F.exp, np.exp, A),
    "exp2": (F.exp2, np.exp2, A),
    "expm1": (F.expm1, np.expm1, A),
    "log": (F.log, np.log, P),
    "log2": (F.log2, np.log2, P),
    "log10": (F.log10, np.log10, P),
    "log1p": (F.log1p, np.log1p, P),
    "logaddexp": (F.logaddexp, np.logaddexp, A, B),
    "xlogy": (F.xlogy, lambda x, y: x * np.log(y), A, P),
    "sqrt": (F.sqrt, np.sqrt, P),
    "rsqrt": (F.rsqrt, lambda x: 1 / np.sqrt(x), P),
    "cbrt": (F.cbrt, np.cbrt, A),
    "hypot": (F.hypot, np.hypot, A, B),
    "erf": (F.erf, ERF, A),
    "sin": (F.sin, np.sin, A),
    "cos": (F.cos, np.cos, A),
    "tan": (F.tan, np.tan, A / 2),
    "asin": (F.arcsin, np.arcsin, A / 3),
    "acos": (F.arccos, np.arccos, A / 3),
    "atan": (F.arctan, np.arctan, A),
    "sinh": (F.sinh, np.sinh, A),
    "cosh": (F.cosh, np.cosh, A),
    "tanh": (F.tanh, np.tanh, A),
    "asinh": (F.arcsinh, np.arcsinh, A),
    "acosh": (F.arccosh, np.arccosh, P + 1),
    "atanh": (F.arctanh, np.arctanh, A / 3),
    "atan2": (F.arctan2, np.arctan2, A, B),
    "square": (F.square, np.square, A),
    "reciprocal": (F.reciprocal, np.reciprocal, P),
    "maximum": (F.maximum, np.maximum, A, B),
    "minimum": (F.minimum, np.minimum, A, B),
    "where": (
        lambda x, y: F.where(x > y, x * y, 0.5),
        lambda x, y: np.where(x > y, x * y, 0.5),
        A,
        B,
    ),
    "masked_fill": (
        lambda x: F.masked_fill(x, x > 0.5, -1) * x,
        lambda x: np.where(x > 0.5, -1, x) * x,
        A,
    ),
    "clip": (lambda x: F.clip(x, -0.9, 1), lambda x: np.clip(x, -0.9, 1), A),
    "clip_one_side": (lambda x: F.clip(x, lower=0), lambda x: np.maximum(x, 0), A),
    "clip_by_tensors": (F.clip, np.clip, A, B - 1, B + 1),
    "nan_to_num": (lambda x: F.nan_to_num(x * x), lambda x: x * x, A),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
class TestCases(Checks):
    pass


X = np.array([-2.5, -1.5, -0.0, 0.5, 1.0, math.inf, -math.inf, math.nan])
WHOLE = np.array([-7, -2, -1, 0, 1, 3, 8], np.int32)


class TestValues:
    """What has no derivative, or none that differences could show."""

    @pytest.mark.parametrize(
        ("function", "expected"),
        [
            (F.sign, np.sign),
            (F.floor, np.floor),
            (F.ceil, np.ceil),
            (F.round, np.round),
            (F.trunc, np.trunc),
            (F.isnan, np.isnan),
            (F.isinf, np.isinf),
            (F.isfinite, np.isfinite),
            (F.logical_not, np.logical_not),
            (F.nan_to_num, lambda x: np.nan_to_num(x.astype(np.float32))),
            (lambda x: F.nan_to_num(x, 1, 2, -3), lambda x: np.nan_to_num(x, True, 1, 2, -3)),
            (lambda x: F.equal(x, 0.5), lambda x: x == 0.5),
            (lambda x: F.not_equal(x, x), lambda x: x != x),
            (lambda x: F.less(x, 0.5), lambda x: x < 0.5),
            (lambda x: F.less_equal(x, 0.5), lambda x: x <= 0.5),
            (lambda x: F.greater(x, 0), lambda x: x > 0),
            (lambda x: F.greater_equal(x, 0), lambda x: x >= 0),
            (lambda x: F.floor_div(x, 0.75), lambda x: x // 0.75),
        ],
    )
    def test_floats(self, function, expected):
        with np.errstate(all="ignore"):
            want = expected(X)
        assert np.array_equal(function(tensor(X)).numpy(), want, equal_nan=True)

    @pytest.mark.parametrize(
        ("function", "expected"),
        [
            (F.sign, np.sign),
            (F.abs, np.abs),
            (F.trunc, lambda x: x),
            (F.square, np.square),
            (F.isnan, np.isnan),
            (F.nan_to_num, lambda x: x),
            (F.bitwise_not, np.invert),
            (lambda x: F.bitwise_and(x, 5), lambda x: x & 5),
            (lambda x: F.bitwise_or(x, 5), lambda x: x | 5),
            (lambda x: F.bitwise_xor(x, 5), lambda x: x ^ 5),
            (lambda x: F.left_shift(x, 2), lambda x: x << 2),
            (lambda x: F.right_shift(x, 1), lambda x: x >> 1),
            (lambda x: F.floor_div(x, 2), lambda x: x // 2),
            (lambda x: F.mod(x, 3), lambda x: x % 3),
            (lambda x: F.clip(x, -1, 2), lambda x: np.clip(x, -1, 2)),
            (lambda x: F.masked_fill(x, x > 0, 9), lambda x: np.where(x > 0, 9, x)),
        ],
    )
    def test_integers_stay_integers(self, function, expected):
        got = function(tensor(WHOLE))
        assert got.dtype in (np.int32, np.bool_)
        assert np.array_equal(got.numpy(), expected(WHOLE))

    def test_logic(self):
        a, b = tensor([0.0, 2, 0, 3]), tensor([0, 0, 1, 1])
        assert F.logical_and(a, b).tolist() == [False, False, False, True]
        assert F.logical_or(a, b).tolist() == [False, True, True, True]
        assert F.logical_xor(a, b).tolist() == [False, True, True, False]
        assert F.bitwise_not(a > 1).tolist() == [True, False, True, False]

    def test_xlogy_beside_zero(self):
        got = F.xlogy(tensor([0.0, 0, 0, 2]), tensor([0.0, math.inf, math.nan, 0])).numpy()
        assert np.array_equal(got, [0, 0, math.nan, -math.inf], equal_nan=True)

    def test_the_ends_of_bfloat16(self):
        got = F.nan_to_num(tensor([math.inf, -math.inf], dtype="bfloat16")).numpy()
        assert got.tolist() == [3.3895313892515355e38, -3.3895313892515355e38]

    def test_close(self):
        a = tensor([1.0, 1.0, math.inf, math.nan, math.inf])
        b = tensor([1.000001, 1.1, math.inf, math.nan, 1.0])
        assert F.isclose(a, b).tolist() == [True, False, True, False, False]
        assert F.isclose(a, b, equal_nan=True).tolist() == [True, False, True, True, False]
        assert F.allclose(a[:1], b[:1]) is True
        assert F.allclose(a, b) is False

    def test_cube_roots_of_negative_numbers(self):
        assert F.cbrt(tensor([-27.0, 8, 0])).numpy() == pytest.approx([-3, 2, 0])


class TestKinks:
    @pytest.mark.parametrize(
        ("function", "at", "expected"),
        [
            (F.abs, 0, 0),
            (lambda x: F.clip(x, -1, 1), 1, 1),
            (lambda x: F.clip(x, -1, 1), -1, 1),
            (F.sqrt, 0, math.inf),
            (F.cbrt, 0, math.inf),
            (lambda x: x**0, 0, 0),
            (lambda x: x**2, 0, 0),
            (lambda x: F.maximum(x, x), 3, 1),
            (lambda x: F.maximum(x, 3), 3, 0.5),
            (lambda x: F.arctan2(x, tensor(0.0)), 2, 0),
            (lambda x: F.arctan2(tensor(0.0), x), -2, 0),
            (lambda x: F.arctan2(x, tensor(0.0)), 0, 0),
            (lambda x: F.logaddexp(x, x), math.inf, 1),
        ],
    )
    def test_slopes(self, function, at, expected):
        assert slope(function, float(at)) == expected

    def test_nan_goes_through(self):
        x = tensor([math.nan, 1, -1])
        for function in (lambda x: F.clip(x, -9, 9), F.trunc, F.cbrt, F.sign):
            assert math.isnan(function(x).numpy()[0])


class TestPlaces:
    """What depends on values is read at once."""

    def test_non_zero(self):
        x = tensor([[0, 3], [0.5, 0]])
        assert F.non_zero(x).tolist() == [[0, 1], [1, 0]]
        rows, columns = F.non_zero(x, as_tuple=True)
        assert (rows.tolist(), columns.tolist()) == ([0, 1], [1, 0])
        assert F.where(x > 1)[0].tolist() == [0]
        with pytest.raises(TypeError, match="two tensors"):
            F.where(x > 1, x)
        assert F.nonzero(F.zeros((2, 3))).shape == (0, 2)
        assert F.non_zero(tensor(5)).tolist() == [[0]]

    def test_cond_take(self):
        x = tensor([[1.0, 2], [3, 4]])
        values, places = F.cond_take(x > 1.5, x)
        assert (values.tolist(), places.tolist()) == ([2, 3, 4], [1, 2, 3])
        got = slope(lambda y: F.cond_take(x > 1.5, y)[0], [[1.0, 2], [3, 4]])
        assert got.tolist() == [[0, 1], [1, 1]]
        assert F.cond_take(x > 9, x)[0].shape == (0,)
        with pytest.raises(ValueError, match="a mask of the shape"):
            F.cond_take(x[0] > 1, x)


class TestSignsAndRemainders:
    def test_integers_follow_numpy_for_all_signs(self):
        x, y = np.meshgrid(np.arange(-5, 6), [-3, -2, -1, 1, 2, 3])
        for dtype in ("int8", "int32", "int64", "float32", "float16"):
            a, b = x.astype(dtype), y.astype(dtype)
            for function, expected in (
                (F.floor_divide, np.floor_divide),
                (F.remainder, np.remainder),
                (F.fmod, np.fmod),
            ):
                for _ in range(2):  # interpreted, then compiled
                    got = function(tensor(a, dtype=dtype), tensor(b, dtype=dtype))
                    assert got.dtype == np.dtype(dtype)
                    assert np.array_equal(got.numpy(), expected(a, b))

    def test_shifts_are_those_of_integers(self):
        x = tensor([1, -8, 5])
        assert (x << 2).tolist() == [4, -32, 20]
        assert (x >> 1).tolist() == [0, -4, 2]
        assert (1 << tensor([0, 3])).tolist() == [1, 8]
        for use in (lambda: tensor([1.0]) << 1, lambda: x >> 1.5):
            with pytest.raises(TypeError, match="expected bool or integers"):
                use()

    def test_signbit_sees_the_zero_with_a_sign(self):
        x = [0.0, -0.0, 1.0, -1.0, math.inf, -math.inf]
        assert F.signbit(tensor(x)).tolist() == [False, True, False, True, False, True]
        assert F.signbit(tensor([0, -3])).tolist() == [False, True]

    def test_infinities_by_sign(self):
        x = tensor([math.inf, -math.inf, math.nan, 1.0])
        assert F.isposinf(x).tolist() == [True, False, False, False]
        assert F.isneginf(x).tolist() == [False, True, False, False]

    def test_sinc_at_zero_to_second_order(self):
        """sinc(x) = 1 - (pi x)^2 / 6 + ..."""
        assert slope(F.sinc, [0.0]).tolist() == [0]
        x = tensor([0.0], dtype="float64")
        assert F.sinc(x).item() == 1
        (found,) = hvp(lambda t: F.sinc(t).sum(), (x,), (tensor([1.0], dtype="float64"),))
        assert found.item() == pytest.approx(-(math.pi**2) / 3)
