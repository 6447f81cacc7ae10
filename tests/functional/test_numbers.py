"""Numbers among the arguments are read when a program runs: another one builds nothing."""

import math

import numpy as np
import pytest
from gradc.runtime.compiling import CompilingEvaluator
from gradc.tracer.evaluator import set_evaluator
from gradc.tracer.recording import STATISTICS
from walk import walk

import gradc
import gradc.functional as F
import gradc.optimizer as optim
from gradc.autodiff import GradManager

X = np.array([[-2.0, -0.31, 0.0, 0.25], [0.5, 1.5, -1.0, 3.0], [0.1, -0.2, 0.9, -4.0]])
Y = np.array([[1.0, -1.0, 2.0, 0.5], [0.25, -0.5, 1.0, 2.0], [-1.0, 0.3, 0.7, 0.2]])
SIGNS = np.array([[1.0, -1.0, 1.0, -1.0]] * 3)
LABELS = np.array([0, 3, 1])
NUMBERS = (0.31, 0.37, 0.43, 0.71)


# What is counted are graphs that are handed to the evaluator, whoever it is.
pytestmark = pytest.mark.usefixtures("interpreted")


@pytest.fixture(autouse=True)
def exact():
    gradc.set_default_dtype("float64")
    yield
    gradc.set_default_dtype("float32")


def softmaxed(x, axis):
    weights = np.exp(x - x.max(axis, keepdims=True))
    return weights / weights.sum(axis, keepdims=True)


def smoothed(k):
    """-sum(q log p), where q is 1 - k at the label and k / 4 everywhere."""
    target = np.full((3, 4), k / 4)
    target[range(3), LABELS] += 1 - k
    return -(target * np.log(softmaxed(X, 1))).sum(1).mean()


def huber(distance, k):
    length = abs(distance)
    return np.where(length < k, distance**2 / 2, k * (length - k / 2)).mean()


def cosines(x, y):
    return (x * y).sum(1) / np.sqrt((x * x).sum(1) * (y * y).sum(1))


def clipped(x, low, high):
    return np.minimum(np.maximum(x, low), high)


def t(array):
    return gradc.tensor(np.asarray(array))


def norms(x):
    return np.sqrt((x * x).sum(1))


# what is called, with a number k, and its value
FUNCTIONS = {
    "elu": (F.elu, lambda k: np.where(X > 0, X, k * np.expm1(np.minimum(X, 0)))),
    "celu": (F.celu, lambda k: np.where(X > 0, X, k * np.expm1(np.minimum(X, 0) / k))),
    "leaky_relu": (F.leaky_relu, lambda k: np.where(X < 0, k * X, X)),
    "softplus": (F.softplus, lambda k: np.log1p(np.exp(k * X)) / k),
    "hardtanh": (lambda x, k: F.hardtanh(x, -k, k), lambda k: clipped(X, -k, k)),
    "clip": (lambda x, k: F.clip(x, -k, k), lambda k: clipped(X, -k, k)),
    "threshold": (lambda x, k: F.threshold(x, k, k + 1), lambda k: np.where(k < X, X, k + 1)),
    "softshrink": (F.softshrink, lambda k: np.sign(X) * np.maximum(abs(X) - k, 0)),
    "hardshrink": (F.hardshrink, lambda k: np.where(abs(X) <= k, 0, X)),
    "attention": (
        lambda x, k: F.scaled_dot_product_attention(x, t(Y), t(Y), scale=k),
        lambda k: softmaxed(X @ Y.T * k, 1) @ Y,
    ),
    "cross_entropy": (lambda x, k: F.cross_entropy(x, t(LABELS), label_smooth=k), smoothed),
    "cross_entropy, weighted": (
        lambda x, k: F.cross_entropy(x, t(LABELS), label_smooth=k, weight=t(np.ones(4))),
        smoothed,
    ),
    "cross_entropy of probabilities": (
        lambda x, k: F.cross_entropy(x, t(np.eye(4)[LABELS]), label_smooth=k),
        smoothed,
    ),
    "smooth_l1_loss": (lambda x, k: F.smooth_l1_loss(x, t(Y), k), lambda k: huber(X - Y, k) / k),
    "huber_loss": (lambda x, k: F.huber_loss(x, t(Y), k), lambda k: huber(X - Y, k)),
    "triplet_margin_loss": (
        lambda x, k: F.triplet_margin_loss(x, t(Y), t(2 * Y), margin=k),
        lambda k: np.maximum(norms(X - Y) - norms(X - 2 * Y) + k, 0).mean(),
    ),
    "cosine_embedding_loss": (
        lambda x, k: F.cosine_embedding_loss(x, t(Y), t([-1.0, -1.0, -1.0]), margin=k - 1),
        lambda k: np.maximum(cosines(X, Y) - (k - 1), 0).mean(),
    ),
    "margin_ranking_loss": (
        lambda x, k: F.margin_ranking_loss(x, t(Y), t(SIGNS), margin=k),
        lambda k: np.maximum(k - SIGNS * (X - Y), 0).mean(),
    ),
    "hinge_embedding_loss": (
        lambda x, k: F.hinge_embedding_loss(x, t(SIGNS), margin=k),
        lambda k: np.where(SIGNS > 0, X, np.maximum(k - X, 0)).mean(),
    ),
    "local_response_norm": (
        lambda x, k: F.local_response_norm(x, 1, k, k + 1, 0.5),
        lambda k: X / np.sqrt(k + (k + 1) * X * X),
    ),
    "nan_to_num": (
        lambda x, k: F.nan_to_num(x / t([[0.0, 1, 0, 1]]), k, k + 1, k + 2),
        lambda k: np.array(
            [
                [k + 2, X[0, 1], k, X[0, 3]],
                [k + 1, X[1, 1], k + 2, X[1, 3]],
                [k + 1, X[2, 1], k + 1, X[2, 3]],
            ]
        ),
    ),
    "isclose": (
        lambda x, k: F.isclose(x, t(Y), k, k),
        lambda k: abs(X - Y) <= k + k * abs(Y),
    ),
    "lerp": (lambda x, k: F.lerp(x, t(Y), k), lambda k: X + k * (Y - X)),
    "full": (lambda x, k: F.full((3, 4), k) * x, lambda k: k * X),
    "maximum": (F.maximum, lambda k: np.maximum(X, k)),
    "where": (lambda x, k: F.where(x > 0, x, k), lambda k: np.where(X > 0, X, k)),
    "power": (lambda x, k: (x * x + 1) ** k, lambda k: (X * X + 1) ** k),
    "pow": (lambda x, k: F.pow(x * x + 1, k), lambda k: (X * X + 1) ** k),
    "batch_norm": (
        lambda x, k: F.batch_norm(
            x, t(np.ones(4)), t(np.ones(4)), training=True, momentum=k, inplace=False
        )[1],
        lambda k: k + (1 - k) * X.mean(0),
    ),
}


@walk("name", FUNCTIONS)
def test_another_number_builds_nothing(name):
    function, expected = FUNCTIONS[name]
    x = gradc.tensor(X)
    for turn, k in enumerate(NUMBERS):
        STATISTICS.reset()
        with np.errstate(all="ignore"):
            found = function(x, k).numpy()
        np.testing.assert_allclose(found, expected(k), rtol=1e-12, atol=1e-14)
        assert STATISTICS.prepared == 0 or turn == 0


@walk("name", [each for each in FUNCTIONS if each != "isclose"])
def test_its_gradient_builds_nothing_either(name):
    function, _expected = FUNCTIONS[name]
    built = []
    for k in NUMBERS:
        x = gradc.Parameter(X)
        STATISTICS.reset()
        with np.errstate(all="ignore"), GradManager().attach(x) as gm:
            gm.backward(function(x, k).sum())
        built.append(STATISTICS.prepared)
        if x.grad is not None:
            x.grad.numpy()
    assert built[1:] == [0, 0, 0]


@pytest.mark.parametrize("function", [F.dropout, lambda x, p: gradc.random.normal(p, p, (3, 4))])
def test_probabilities_and_deviations(function):
    x = gradc.tensor(X)
    built = []
    for k in NUMBERS:
        STATISTICS.reset()
        function(x, k).numpy()
        built.append(STATISTICS.prepared)
    assert built[1:] == [0, 0, 0]


@pytest.mark.parametrize(
    ("make", "names"),
    [
        (lambda p: optim.SGD(p, 0.1, momentum=0.9, weight_decay=0.1), ("lr", "momentum")),
        (lambda p: optim.Adam(p, 0.1, weight_decay=0.1), ("lr", "eps", "weight_decay")),
        (lambda p: optim.AdamW(p, 0.1), ("lr", "eps", "weight_decay")),
        (lambda p: optim.RMSprop(p, 0.1, momentum=0.9), ("lr", "alpha", "eps", "momentum")),
        (lambda p: optim.Adagrad(p, 0.1), ("lr", "eps")),
        (lambda p: optim.Adadelta(p), ("lr", "rho", "eps")),
        (lambda p: optim.LAMB(p, 0.1), ("lr", "eps")),
    ],
)
def test_hyper_parameters(make, names):
    p = gradc.Parameter([1.0, 2.0])
    optimizer = make([p])
    for turn, name in enumerate(names):
        for k in NUMBERS:
            optimizer.param_groups[0][name] = k
            p.grad = gradc.tensor([1.0, -1.0])
            STATISTICS.reset()
            optimizer.step()
            p.numpy()
            assert STATISTICS.prepared == 0 or (turn == 0 and k == NUMBERS[0])


@pytest.mark.parametrize(
    "clip", [optim.clip_grad_norm, lambda p, k: optim.clip_grad_value(p, -k, k)]
)
def test_clipping(clip):
    built = []
    for k in NUMBERS:
        p = gradc.Parameter([1.0, 2.0])
        p.grad = gradc.tensor([3.0, 4.0])
        STATISTICS.reset()
        clip([p], k)
        p.grad.numpy()
        built.append(STATISTICS.prepared)
    assert built[1:] == [0, 0, 0]


@pytest.mark.parametrize(("dtype", "tolerance"), [("float16", 4e-3), ("float32", 1e-6)])
def test_compiled(dtype, tolerance):
    set_evaluator(CompilingEvaluator(first_sight=False))
    x = gradc.tensor(X, dtype=dtype)
    for k in (0.3, 3, 1.7):
        found = F.elu(x, k) + F.softplus(x, k) + F.hardtanh(x, -k, k)
        expected = sum(FUNCTIONS[each][1](k) for each in ("elu", "softplus", "hardtanh"))
        np.testing.assert_allclose(found.numpy(), expected, rtol=tolerance, atol=tolerance)


# ---- tensors in place of numbers


OPERANDS = [each for each in FUNCTIONS if each not in ("clip", "leaky_relu", "batch_norm")]


@walk("name", OPERANDS)
def test_tensors_are_operands(name):
    """The derivative by the number is that of the value, by central differences."""
    function, value = FUNCTIONS[name]
    k, step = 0.37, 1e-6
    number = gradc.Parameter(k)
    with np.errstate(all="ignore"), GradManager().attach(number) as gm:
        found = function(gradc.tensor(X), number)
        gm.backward(found.sum() if found.dtype != bool else [])
    if found.dtype == bool:
        return
    np.testing.assert_allclose(found.numpy(), value(k), rtol=1e-12)
    slope = (np.sum(value(k + step)) - np.sum(value(k - step))) / (2 * step)
    got = 0.0 if number.grad is None else number.grad.item()  # what is only compared has none
    np.testing.assert_allclose(got, slope, rtol=1e-6, atol=1e-8)


def test_second_derivatives_by_a_tensor():
    """d2/da2 of a (exp(x/a) - 1) is exp(x/a) x^2 / a^3."""
    a = gradc.Parameter(0.5)
    with GradManager().attach(a) as outer:
        with GradManager().attach(a) as inner:
            inner.backward(F.celu(gradc.tensor(-1.5), a))
        first, a.grad = a.grad, None
        outer.backward(first)
    np.testing.assert_allclose(first.item(), math.exp(-3) * (1 + 3) - 1, rtol=1e-12)
    np.testing.assert_allclose(a.grad.item(), math.exp(-3) * 2.25 / 0.125, rtol=1e-12)


def test_a_width_of_zero_that_is_a_tensor():
    x = gradc.Parameter([1.0, -2.0])
    with GradManager().attach(x) as gm:
        loss = F.smooth_l1_loss(x, gradc.tensor([0.5, 0.5]), gradc.tensor(0.0), "sum")
        gm.backward(loss)
    assert loss.item() == 3.0
    assert x.grad.tolist() == [1.0, -1.0]


def test_tensors_of_one_element():
    x = gradc.tensor(X)
    expected = F.elu(x, 0.3).numpy()
    for alpha in (gradc.tensor([[0.3]]), gradc.tensor([0.3], dtype="float32")):
        made = F.elu(x, alpha)
        assert made.shape == (3, 4)
        np.testing.assert_allclose(made.numpy(), expected, rtol=1e-7)
    message = r"elu: expected a number as alpha, found a tensor of the shape \[2\]"
    with pytest.raises(TypeError, match=message):
        F.elu(x, gradc.tensor([0.3, 0.4]))


def test_traces_read_no_tensor():
    @gradc.jit.trace
    def function(x, alpha):
        return F.elu(x, alpha).sum()

    x = gradc.tensor([-1.0, 2.0])
    for alpha in (0.5, 0.25, 0.75):
        STATISTICS.reset()
        found = function(x, gradc.tensor(alpha)).item()
        np.testing.assert_allclose(found, 2 + alpha * math.expm1(-1), rtol=1e-12)
    assert STATISTICS.prepared == 0


@pytest.mark.parametrize(
    ("function", "name"),
    [
        (lambda x, k: F.norm(x, k), "norm: ord"),
        (lambda x, k: F.linspace(0, k, 3), "linspace: stop"),
        (lambda x, k: F.pad(x, ((1, 1),), constant_value=k), "pad: constant_value"),
        (lambda x, k: F.local_response_norm(x, 1, beta=k), "local_response_norm: beta"),
        (lambda x, k: F.dropout(x, k), "dropout: probability"),
    ],
)
def test_no_gradient_is_lost(function, name):
    """What shapes the program is a number: a tensor with a gradient is refused."""
    x, k = gradc.tensor(X), gradc.Parameter(0.75)
    with GradManager().attach(k):
        doubled = k * 1.0
        for given in (k, doubled):
            with pytest.raises(TypeError, match=f"{name}.*a tensor with a gradient"):
                function(x, given)
        for given in (k.item(), k.detach(), doubled.detach(), gradc.tensor(0.75)):
            function(x, given)
    function(x, k)


# ---- what they may be


def test_ranges():
    x, y = gradc.tensor(X), gradc.tensor(Y)
    with pytest.raises(ValueError, match="cross_entropy: expected label_smooth from 0 to 1"):
        F.cross_entropy(x, gradc.tensor(LABELS), label_smooth=1.5)
    F.cross_entropy(x, gradc.tensor(LABELS), label_smooth=0.5)
    with pytest.raises(ValueError, match="from 0 to 1, found 2"):
        F.cross_entropy(x, gradc.tensor(LABELS), label_smooth=2)
    with pytest.raises(ValueError, match="huber_loss: expected delta above 0, found 0"):
        F.huber_loss(x, y, 0)
    with pytest.raises(ValueError, match="smooth_l1_loss: expected beta from 0 on, found -1"):
        F.smooth_l1_loss(x, y, -1.0)
    with pytest.raises(TypeError, match="elu: expected a number as alpha, found 'a'"):
        F.elu(x, "a")
    np.testing.assert_allclose(F.smooth_l1_loss(x, y, 0.0).item(), abs(X - Y).mean())


def test_numpy_numbers_and_tensors():
    x = gradc.tensor(X)
    expected = np.where(X > 0, X, 0.3 * np.expm1(np.minimum(X, 0)))
    for alpha in (0.3, np.float64(0.3), np.array(0.3), gradc.tensor(0.3)):
        np.testing.assert_allclose(F.elu(x, alpha).numpy(), expected, rtol=1e-12)


def test_signs_of_zeros():
    x = gradc.tensor([-1.0, 1.0])
    low = F.hardtanh(x, -0.0, 5.0).numpy()
    assert np.signbit(low[0])
    assert not np.signbit(F.hardtanh(x, 0.0, 5.0).numpy()[0])
