"""Kinks, ties and edges: the sentences of the reference, each at the point that it speaks of.

Expected gradients are worked out by hand from the convention, not from the rule.
"""

import math

import numpy as np
import pytest
from walk import walk

import gradc
import gradc.functional as F
from gradc.autodiff import GradManager

INF, NAN = math.inf, math.nan


def slopes(function, *points):
    """The gradient of each argument of `function`, summed, in float64."""
    boxes = [gradc.tensor(np.array(each, float), dtype="float64") for each in points]
    gm = GradManager().attach(boxes)
    with gm:
        gm.backward(function(*boxes))
    return [None if each.grad is None else each.grad.numpy() for each in boxes]


ONE = {
    "abs": (F.abs, [-2, 0, 3], [-1, 0, 1]),
    "relu": (F.relu, [-1, 0, 1], [0, 0, 1]),
    "relu6": (F.relu6, [0, 3, 6, 7], [0, 1, 0, 0]),
    "hardtanh": (F.hardtanh, [-1, 0, 1], [0, 1, 0]),
    "leaky_relu": (lambda x: F.leaky_relu(x, 0.5), [-1, 0, 1], [0.5, 1, 1]),
    "clip": (lambda x: F.clip(x, -1, 2), [-2, -1, 0, 2, 3], [0, 1, 1, 1, 0]),
    "hardshrink": (F.hardshrink, [-1, -0.5, 0, 0.5, 1], [1, 0, 0, 0, 1]),
    "sqrt": (F.sqrt, [0, 0.25], [INF, 1]),
    "rsqrt": (F.rsqrt, [0, 1], [-INF, -0.5]),
    "cbrt": (F.cbrt, [0, 1, -8], [INF, 1 / 3, 1 / 12]),
    "log": (F.log, [0, -2, 2], [INF, -0.5, 0.5]),
    "log2": (F.log2, [0], [INF]),
    "log10": (F.log10, [0], [INF]),
    "log1p": (F.log1p, [-1, 0], [INF, 1]),
    "asin": (F.asin, [-1, 0, 1], [INF, 1, INF]),
    "acos": (F.acos, [-1, 0, 1], [-INF, -1, -INF]),
    "acosh": (F.acosh, [1], [INF]),
    "atanh": (F.atanh, [-1, 0, 1], [INF, 1, INF]),
    "expm1": (F.expm1, [-800, 0], [0, 1]),
    "x**0": (lambda x: x**0, [0, 2], [0, 0]),
    "x**0.3": (lambda x: x**0.3, [0], [INF]),
    "x**-1.5": (lambda x: x**-1.5, [0], [-INF]),
    "x**1.5": (lambda x: x**1.5, [0], [0]),
    "max": (F.max, [3, 1, 3, 2], [0.5, 0, 0.5, 0]),
    "min": (F.min, [1, 1, 1, 2], [1 / 3, 1 / 3, 1 / 3, 0]),
    "max of NaN": (F.max, [3, NAN, NAN], [0, 0.5, 0.5]),
    "prod, one zero": (F.prod, [2, 0, 3], [0, 6, 0]),
    "prod, two zeros": (F.prod, [0, 5, 0], [0, 0, 0]),
    "cumprod, a zero": (lambda x: F.cumprod(x, 0), [2, 0, 3], [1, 2 + 6, 0]),
    "norm at 0": (F.norm, [0, 0], [0, 0]),
    "norm": (F.norm, [3, 4], [0.6, 0.8]),
    "std of equals": (F.std, [2, 2, 2], [0, 0, 0]),
    "sort ties": (lambda x: F.sort(x)[0] * gradc.tensor([1.0, 2.0, 3.0]), [5, 4, 5], [2, 1, 3]),
    "topk ties": (lambda x: F.topk(x, 1, descending=True)[0], [5, 4, 5], [1, 0, 0]),
    "a line read twice": (lambda x: x[[1, 1, 0]], [7, 8, 9], [1, 2, 0]),
    "where": (lambda x: F.where(x > 0, x * x, 3 * x), [-1, 0, 2], [3, 3, 4]),
    "logsumexp of -inf": (lambda x: F.logsumexp(x), [0, -INF], [1, 0]),
}

TWO = {
    "maximum": (F.maximum, [1, 5, 2], [2, 4, 2], [0, 1, 0.5], [1, 0, 0.5]),
    "minimum": (F.minimum, [1, 5, 2], [2, 4, 2], [1, 0, 0.5], [0, 1, 0.5]),
    "maximum, NaN": (F.maximum, [NAN, 1, NAN], [1, NAN, NAN], [1, 0, 0.5], [0, 1, 0.5]),
    "hypot": (F.hypot, [0, 3], [0, 4], [0, 0.6], [0, 0.8]),
    "atan2": (F.atan2, [0, 1], [0, 1], [0, 0.5], [0, -0.5]),
    "0**y": (F.pow, [0, 0, 2], [0, 3, 1], [0, 0, 1], [0, 0, 2 * math.log(2)]),
    "div by 0": (F.div, [1, 0], [0, 0], [INF, INF], [-INF, NAN]),
    "mod": (F.mod, [7, -7, 6], [3, 3, 3], [1, 1, 1], [-2, 3, -2]),
    "logaddexp": (F.logaddexp, [INF, 0], [INF, 0], [0.5, 0.5], [0.5, 0.5]),
    "xlogy": (F.xlogy, [0], [0], [0], [0]),
}


@walk("name", ONE)
def test_one_operand(name):
    function, points, expected = ONE[name]
    np.testing.assert_allclose(slopes(function, points)[0], expected, rtol=1e-12)


@pytest.mark.parametrize("name", TWO)
def test_two_operands(name):
    function, left, right, of_left, of_right = TWO[name]
    for found, expected in zip(slopes(function, left, right), (of_left, of_right), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-12)


@pytest.mark.parametrize("name", ["sign", "floor", "ceil", "round", "trunc"])
def test_steps_end_the_path(name):
    function = getattr(F, name)
    assert slopes(lambda x: function(x), [0.5, 1.0]) == [None]
    assert slopes(lambda x: function(x) + 0 * x, [0.5, 1.0])[0].tolist() == [0, 0]


def test_floor_division_and_order_end_the_path():
    assert slopes(lambda x: x // 2, [5.0]) == [None]
    assert slopes(lambda x: (x > 1) * 2.0, [5.0]) == [None]
    assert slopes(lambda x: F.argsort(x) * 2.0, [5.0, 1.0]) == [None]
    assert slopes(lambda x: x.astype("int32") * 2.0, [5.0]) == [None]


def test_values_at_the_edges():
    x = gradc.tensor([NAN, 0.0, -3.0])
    assert str(F.sign(x).numpy().tolist()) == "[nan, 0.0, -1.0]"
    assert F.round(gradc.tensor([0.5, 1.5, 2.5, -0.5])).numpy().tolist() == [0, 2, 2, 0]
    seven = gradc.tensor([7, -7])
    assert (seven // 3).numpy().tolist() == [2, -3]
    assert (seven % 3).numpy().tolist() == [1, 2]
    assert (seven // 0).numpy().tolist() == (seven % 0).numpy().tolist() == [0, 0]
    assert (gradc.tensor([2, 0]) ** gradc.tensor([-1, -1])).numpy().tolist() == [0, 0]


def test_max_pooling_takes_the_first_winner():
    image = [[[[1.0, 1.0], [1.0, 0.0]]]]
    assert slopes(lambda x: F.max_pool2d(x, 2), image)[0].tolist() == [[[[1, 0], [0, 0]]]]


ONES = gradc.tensor([1.0, 1.0], dtype="float64")
INFINITE = {
    "huber_loss": (lambda x: F.huber_loss(x, ONES, INF, "none"), [3, -2], [2, 4.5], [2, -3]),
    "smooth_l1_loss": (lambda x: F.smooth_l1_loss(x, ONES, INF, "none"), [3, -2], [0, 0], [0, 0]),
    "leaky_relu": (lambda x: F.leaky_relu(x, INF), [3, -2], [3, -INF], [1, INF]),
    "leaky_relu of NaN": (lambda x: F.leaky_relu(x, NAN), [3, 0], [3, 0], [1, 1]),
    "prelu": (lambda x: F.prelu(x, gradc.tensor([INF])), [3, -2], [3, -INF], [1, INF]),
    "elu": (lambda x: F.elu(x, INF), [3, -2], [3, -INF], [1, INF]),
    "celu": (lambda x: F.celu(x, INF), [3, 1], [3, 1], [1, 1]),
    "clip by NaN": (lambda x: F.clip(x, None, NAN), [3, -2], [NAN, NAN], [0, 0]),
    "clip from NaN": (lambda x: F.clip(x, NAN, 2), [3, -2], [NAN, NAN], [0, 0]),
    "clip between inverted bounds": (lambda x: F.clip(x, 5, 3), [1, 6], [3, 3], [0, 0]),
}


@pytest.mark.parametrize("name", INFINITE)
def test_numbers_that_are_not_reached_do_no_harm(name):
    function, x, value, slope = INFINITE[name]
    with np.errstate(all="ignore"):
        assert np.array_equal(function(gradc.tensor(x, dtype="float64")).numpy(), value, True)
        assert slopes(function, x)[0].tolist() == slope


def test_of_several_writers_the_last_stays():
    places = gradc.tensor([1, 1])
    found = slopes(lambda x, u: F.scatter(x, 0, places, u), [5.0, 6.0, 7.0], [1.0, 2.0])
    assert [each.tolist() for each in found] == [[1, 0, 1], [0, 1]]
