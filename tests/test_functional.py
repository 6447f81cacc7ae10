"""The functional face: values against NumPy in float64, derivatives against central differences."""

import math

import numpy as np
import pytest
from gradc.tracer.errors import BoundsError

import gradc
from gradc import functional as F
from gradc import tensor
from gradc.autodiff import GradManager

RANDOM = np.random.default_rng(0)
A, B = RANDOM.uniform(-2, 2, (2, 3)), RANDOM.uniform(-2, 2, (2, 3))
P = RANDOM.uniform(0.3, 2.5, (2, 3))
C = RANDOM.uniform(-1, 1, (2, 3, 4))
LABELS = np.array([2, 0], np.int32)
ERF = np.vectorize(math.erf)


def softmax(x, axis=-1):
    weights = np.exp(x - x.max(axis, keepdims=True))
    return weights / weights.sum(axis, keepdims=True)


def lse(x, axis):
    return np.log(np.exp(x).sum(axis))


def layer_norm(x, w, b):
    distance = x - x.mean(-1, keepdims=True)
    return distance / np.sqrt((distance**2).mean(-1, keepdims=True) + 1e-5) * w + b


def smooth_cross_entropy(x, labels, smooth):
    logs = np.log(softmax(x, 1))
    picked = logs[np.arange(len(labels)), labels]
    return -((1 - smooth) * picked + smooth * logs.mean(1)).mean()


def embedded(w):
    return w[[1, 1, 0]]


CASES = {
    "sub": (F.sub, np.subtract, A, B),
    "div": (F.div, np.divide, A, P),
    "mod": (lambda x: F.mod(x, 0.7), lambda x: np.mod(x, 0.7), A),
    "pow": (F.pow, np.power, P, B),
    "pow_number": (lambda x: F.pow(x, 2.5), lambda x: x**2.5, P),
    "abs": (F.abs, np.abs, A),
    "exp": (F.exp, np.exp, A),
    "expm1": (F.expm1, np.expm1, A),
    "log": (F.log, np.log, P),
    "log1p": (F.log1p, np.log1p, P),
    "sqrt": (F.sqrt, np.sqrt, P),
    "rsqrt": (F.rsqrt, lambda x: 1 / np.sqrt(x), P),
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
    "clip": (lambda x: F.clip(x, -0.9, 1), lambda x: np.clip(x, -0.9, 1), A),
    "clip_one_side": (lambda x: F.clip(x, lower=0), lambda x: np.maximum(x, 0), A),
    "clip_by_tensors": (F.clip, np.clip, A, B - 1, B + 1),
    "logaddexp": (F.logaddexp, np.logaddexp, A, B),
    "relu": (F.relu, lambda x: np.maximum(x, 0), A),
    "relu6": (F.relu6, lambda x: np.clip(x, 0, 6), 5 * A),
    "leaky_relu": (F.leaky_relu, lambda x: np.where(x < 0, 0.01 * x, x), A),
    "leaky_relu_slope": (lambda x: F.leaky_relu(x, 0.3), lambda x: np.where(x < 0, 0.3 * x, x), A),
    "prelu": (F.prelu, lambda x, w: np.where(x < 0, w * x, x), A, B[0]),
    "sigmoid": (F.sigmoid, lambda x: 1 / (1 + np.exp(-x)), A),
    "hsigmoid": (F.hsigmoid, lambda x: np.clip(x + 3, 0, 6) / 6, 3 * A),
    "hswish": (F.hswish, lambda x: x * np.clip(x + 3, 0, 6) / 6, 3 * A),
    "softplus": (F.softplus, lambda x: np.log1p(np.exp(x)), A),
    "logsigmoid": (F.logsigmoid, lambda x: -np.log1p(np.exp(-x)), A),
    "silu": (F.silu, lambda x: x / (1 + np.exp(-x)), A),
    "gelu": (F.gelu, lambda x: x * (1 + ERF(x / np.sqrt(2))) / 2, A),
    "softmax": (F.softmax, softmax, A),
    "softmax_axis": (lambda x: F.softmax(x, axis=0), lambda x: softmax(x, 0), A),
    "logsoftmax": (lambda x: F.logsoftmax(x, 1), lambda x: np.log(softmax(x, 1)), A),
    "logsumexp": (lambda x: F.logsumexp(x, 1), lambda x: lse(x, 1), A),
    "logsumexp_all": (F.logsumexp, lambda x: lse(x, None), A),
    "sum": (lambda x: F.sum(x, (0, 2)), lambda x: x.sum((0, 2)), C),
    "mean": (lambda x: F.mean(x, -1, keepdims=True), lambda x: x.mean(-1, keepdims=True), C),
    "prod": (lambda x: F.prod(x, 1), lambda x: x.prod(1), C),
    "max": (lambda x: F.max(x, 1), lambda x: x.max(1), C),
    "min": (F.min, np.min, C),
    "var": (lambda x: F.var(x, 1), lambda x: x.var(1), C),
    "std": (F.std, np.std, C),
    "norm": (lambda x: F.norm(x, axis=1), lambda x: np.sqrt((x * x).sum(1)), C),
    "norm1": (lambda x: F.norm(x, 1), lambda x: np.abs(x).sum(), C),
    "norm3": (lambda x: F.norm(x, 3, axis=0), lambda x: (np.abs(x) ** 3).sum(0) ** (1 / 3), C),
    "norm_inf": (lambda x: F.norm(x, math.inf), lambda x: np.abs(x).max(), C),
    "reshape": (lambda x: F.reshape(x, (4, -1)), lambda x: x.reshape(4, -1), C),
    "transpose": (lambda x: F.transpose(x, (2, 0, 1)), lambda x: x.transpose(2, 0, 1), C),
    "swapaxes": (lambda x: F.swapaxes(x, 0, -1), lambda x: x.swapaxes(0, -1), C),
    "flatten": (lambda x: F.flatten(x, 1), lambda x: x.reshape(2, 12), C),
    "expand_dims": (lambda x: F.expand_dims(x, (0, -1)), lambda x: x[None, ..., None], C),
    "squeeze": (lambda x: F.squeeze(x[:, :1], 1), lambda x: x[:, 0], C),
    "broadcast_to": (
        lambda x: F.broadcast_to(x, (4, 2, 3)) * 1,
        lambda x: np.broadcast_to(x, (4, 2, 3)),
        A,
    ),
    "concat": (
        lambda x, y: F.concat([x, y, x], 1),
        lambda x, y: np.concatenate([x, y, x], 1),
        A,
        B,
    ),
    "stack": (lambda x, y: F.stack((x, y), -1), lambda x, y: np.stack((x, y), -1), A, B),
    "split": (lambda x: F.split(x, 2, 2)[1], lambda x: np.split(x, 2, 2)[1], C),
    "split_at": (lambda x: F.split(x, [1, 3], 2)[1], lambda x: np.split(x, [1, 3], 2)[1], C),
    "tile": (lambda x: F.tile(x, (2, 1, 3)), lambda x: np.tile(x, (2, 1, 3)), A),
    "repeat": (lambda x: F.repeat(x, 3, 1), lambda x: np.repeat(x, 3, 1), A),
    "repeat_flat": (lambda x: F.repeat(x, 2), lambda x: np.repeat(x, 2), A),
    "roll": (lambda x: F.roll(x, (1, -5), (0, 2)), lambda x: np.roll(x, (1, -5), (0, 2)), C),
    "roll_flat": (lambda x: F.roll(x, 4), lambda x: np.roll(x, 4), A),
    "flip": (lambda x: F.flip(x, (0, 1)), lambda x: np.flip(x, (0, 1)), A),
    "pad": (lambda x: F.nn.pad(x, ((1, 0), (0, 2))), lambda x: np.pad(x, ((1, 0), (0, 2))), A),
    "pad_reflect": (
        lambda x: F.pad(x, ((1, 1), (2, 1)), "reflect"),
        lambda x: np.pad(x, ((1, 1), (2, 1)), "reflect"),
        A,
    ),
    "pad_replicate": (
        lambda x: F.pad(x, ((2, 1), (0, 3)), "replicate"),
        lambda x: np.pad(x, ((2, 1), (0, 3)), "edge"),
        A,
    ),
    "matmul": (lambda x, y: F.matmul(x, y, False, True), lambda x, y: x @ y.T, A, B),
    "matmul_transposed": (
        lambda x, y: F.matmul(x, y, transpose_a=True),
        lambda x, y: x.T @ y,
        A,
        B,
    ),
    "matmul_batched": (F.matmul, np.matmul, C, RANDOM.uniform(-1, 1, (4, 2))),
    "dot": (F.dot, np.dot, A[0], B[0]),
    "linear": (F.linear, lambda x, w, b: x @ w.T + b, A, RANDOM.uniform(-1, 1, (4, 3)), B[0, :1]),
    "linear_without_bias": (F.linear, lambda x, w: x @ w.T, A, B),
    "take": (lambda x: F.take(x, 1, [2, 0, 2]), lambda x: np.take(x, [2, 0, 2], 1), C),
    "gather": (
        lambda x: F.gather(x, 1, tensor([[2, 2], [0, -1]])),
        lambda x: np.take_along_axis(x, np.array([[2, 2], [0, -1]]), 1),
        A,
    ),
    "scatter": (
        lambda x, s: F.scatter(x, 1, tensor([[2], [0]]), s),
        lambda x, s: np.concatenate(
            [[[x[0, 0], x[0, 1], s[0, 0]]], [[s[1, 0], x[1, 1], x[1, 2]]]], 0
        ),
        A,
        B[:, :1],
    ),
    "embedding": (lambda w: F.embedding(tensor([1, 1, 0]), w), embedded, A),
    "indexing_one_hot": (
        lambda x: F.indexing_one_hot(x, tensor(LABELS)),
        lambda x: x[[0, 1], LABELS],
        A,
    ),
    "cross_entropy": (
        lambda x: F.cross_entropy(x, tensor(LABELS)),
        lambda x: smooth_cross_entropy(x, LABELS, 0),
        A,
    ),
    "cross_entropy_smooth": (
        lambda x: F.loss.cross_entropy(x, tensor(LABELS), label_smooth=0.2),
        lambda x: smooth_cross_entropy(x, LABELS, 0.2),
        A,
    ),
    "cross_entropy_of_probabilities": (
        lambda x: F.cross_entropy(x, tensor(LABELS), with_logits=False, reduction="sum"),
        lambda x: -np.log(x[[0, 1], LABELS]).sum(),
        P,
    ),
    "cross_entropy_axis": (
        lambda x: F.cross_entropy(x, tensor([[1, 0, 1]]), axis=1, reduction="none"),
        lambda x: lse(x, 1) - x[0, [1, 0, 1], [0, 1, 2]],
        A[None],
    ),
    "cross_entropy_ignore": (
        lambda x: F.cross_entropy(x, tensor([2, 255]), ignore_index=255),
        lambda x: lse(x[0], 0) - x[0, 2],
        A,
    ),
    "nll_loss": (
        lambda x: F.nll_loss(x, tensor(LABELS)),
        lambda x: -x[[0, 1], LABELS].mean(),
        A,
    ),
    "square_loss": (F.square_loss, lambda x, y: ((x - y) ** 2).mean(), A, B),
    "l1_loss": (F.l1_loss, lambda x, y: np.abs(x - y).mean(), A, B),
    "binary_cross_entropy": (
        lambda x, y: F.binary_cross_entropy(x, F.sigmoid(y)),
        lambda x, y: (np.log1p(np.exp(x)) - x / (1 + np.exp(-y))).mean(),
        A,
        B,
    ),
    "binary_cross_entropy_of_probabilities": (
        lambda x: F.binary_cross_entropy(x, 1.0, with_logits=False),
        lambda x: -np.log(x).mean(),
        P / 3,
    ),
    "layer_norm": (
        lambda x, w, b: F.layer_norm(x, (4,), True, w, b),
        layer_norm,
        C,
        RANDOM.uniform(0.5, 2, 4),
        RANDOM.uniform(-1, 1, 4),
    ),
}


def parameter(array):
    return tensor(array, dtype="float64")


def gradients(function, tensors, weights):
    manager = GradManager().attach(tensors)
    with manager:
        y = function(*tensors)
        manager.backward(y, weights)
    found = [each.grad for each in tensors]
    for each in tensors:
        each.grad = None
    return found


def differences(function, arrays, eps=1e-6):
    """The central differences of a scalar function, with respect to each array."""
    found = []
    for which, array in enumerate(arrays):
        slope = np.zeros(array.shape)
        for place in np.ndindex(array.shape):
            sides = []
            for step in (eps, -eps):
                moved = [np.array(each, np.float64) for each in arrays]
                moved[which][place] += step
                sides.append(function(*moved))
            slope[place] = (sides[0] - sides[1]) / (2 * eps)
        found.append(slope)
    return found


@pytest.mark.parametrize("name", CASES)
class TestCases:
    def test_value(self, name):
        function, expected, *arrays = CASES[name]
        got = function(*map(parameter, arrays))
        assert got.dtype == np.float64
        assert got.shape == np.shape(expected(*arrays))
        assert np.allclose(got.numpy(), expected(*arrays), rtol=1e-9, atol=1e-12)

    def test_derivative(self, name):
        function, expected, *arrays = CASES[name]
        weights = np.random.default_rng(1).uniform(0.5, 1.5, np.shape(expected(*arrays)))
        got = gradients(function, [parameter(each) for each in arrays], parameter(weights))
        want = differences(lambda *moved: (expected(*moved) * weights).sum(), arrays)
        for one, other in zip(got, want, strict=True):
            assert np.allclose(one.numpy(), other, rtol=1e-5, atol=1e-7)

    def test_second_derivative(self, name):
        """The gradient of <gradient, direction>, against differences of the first gradient."""
        function, _, *arrays = CASES[name]
        rng = np.random.default_rng(2)
        shape = function(*map(parameter, arrays)).shape
        weights = parameter(rng.uniform(0.5, 1.5, shape))
        directions = [rng.uniform(-1, 1, each.shape) for each in arrays]
        tensors = [parameter(each) for each in arrays]
        outer = GradManager().attach(tensors)
        with outer:
            found = gradients(function, tensors, weights)
            pairs = zip(found, directions, strict=True)
            outer.backward(sum((g * parameter(d)).sum() for g, d in pairs))
        eps = 1e-5
        sides = [
            gradients(
                function,
                [parameter(a + s * d) for a, d in zip(arrays, directions, strict=True)],
                weights,
            )
            for s in (eps, -eps)
        ]
        for each, high, low in zip(tensors, *sides, strict=True):
            got = np.zeros(each.shape) if each.grad is None else each.grad.numpy()
            want = (high.numpy() - low.numpy()) / (2 * eps)
            assert np.allclose(got, want, rtol=1e-4, atol=1e-6)


class TestKinks:
    @pytest.mark.parametrize(
        ("function", "at", "slope"),
        [
            (F.relu, 0, 0),
            (F.relu6, 0, 0),
            (F.relu6, 6, 0),
            (F.leaky_relu, 0, 1),
            (F.abs, 0, 0),
            (lambda x: F.clip(x, -1, 1), 1, 1),
            (lambda x: F.clip(x, -1, 1), -1, 1),
            (F.softplus, 0, 0.5),
            (F.sqrt, 0, math.inf),
            (lambda x: x**0, 0, 0),
            (lambda x: x**2, 0, 0),
            (lambda x: F.norm(x), 0, 0),
            (lambda x: F.maximum(x, x), 3, 1),
            (lambda x: F.maximum(x, 3), 3, 0.5),
            (lambda x: F.arctan2(x, tensor(0.0)), 2, 0),
            (lambda x: F.arctan2(tensor(0.0), x), -2, 0),
        ],
    )
    def test_slopes(self, function, at, slope):
        x = tensor(float(at))
        (g,) = gradients(function, [x], None)
        assert g.item() == slope

    def test_ties_are_shared(self):
        (g,) = gradients(F.max, [tensor([1.0, 3, 3])], None)
        assert g.tolist() == [0, 0.5, 0.5]

    def test_nan_goes_through(self):
        x = tensor([math.nan, 1, -1])
        for function in (F.relu, F.relu6, F.leaky_relu, lambda x: F.clip(x, -9, 9)):
            assert math.isnan(function(x).numpy()[0])


class TestStability:
    def test_large_logits(self):
        x = tensor([[-1000.0, 0.0, 1000.0]])
        assert F.softmax(x).tolist() == [[0, 0, 1]]
        assert F.logsoftmax(x).tolist() == [[-2000, -1000, 0]]
        assert F.logsumexp(x).item() == 1000
        assert F.cross_entropy(x, tensor([0])).item() == 2000
        (g,) = gradients(F.logsoftmax, [x], None)
        assert g.tolist() == [[1, 1, -2]]

    def test_infinite_logits(self):
        x = tensor([0.0, -math.inf, 0.0])
        assert F.softmax(x).tolist() == [0.5, 0, 0.5]
        assert F.logsumexp(tensor([-math.inf, -math.inf])).item() == -math.inf

    def test_tails(self):
        x = tensor([-100.0, 100.0])
        assert F.softplus(x).numpy() == pytest.approx([math.exp(-100), 100], rel=1e-5)
        assert F.silu(x).numpy()[1] == 100
        loss = F.binary_cross_entropy(x, tensor([0.0, 1.0]), reduction="none")
        assert loss.numpy() == pytest.approx([math.exp(-100)] * 2, rel=1e-5)

    def test_half_types_are_averaged_in_float32(self):
        x = tensor(np.ones(70_000), dtype="float16")
        assert x.mean().item() == 1
        assert F.mean(x).dtype == np.float16


class TestCreation:
    @pytest.mark.parametrize(
        ("made", "expected"),
        [
            (lambda: F.zeros((2, 3)), np.zeros((2, 3))),
            (lambda: F.ones(3), np.ones(3)),
            (lambda: F.full((2,), 7), np.full(2, 7.0)),
            (lambda: F.full([2], 0.3), np.full(2, 0.3, np.float32)),
            (lambda: F.eye(2), np.eye(2)),
            (lambda: F.eye(2, 3), np.eye(2, 3)),
            (lambda: F.arange(4), np.arange(4)),
            (lambda: F.arange(1, 8, 3), np.arange(1, 8, 3)),
            (lambda: F.arange(5, 0, -2), np.arange(5, 0, -2)),
            (lambda: F.arange(0.5, 2, 0.5), np.arange(0.5, 2, 0.5)),
            (lambda: F.arange(3, 1), np.arange(3, 1)),
            (lambda: F.linspace(0, 1, 5), np.linspace(0, 1, 5)),
            (lambda: F.linspace(2, 1, 1), np.linspace(2, 1, 1)),
            (lambda: F.zeros_like(tensor([1.5])), np.zeros(1)),
            (lambda: F.ones_like(tensor([1.5])), np.ones(1)),
            (lambda: F.full_like(tensor([1.5, 2]), 0.25), np.full(2, 0.25)),
        ],
    )
    def test_float32_is_the_default(self, made, expected):
        assert made().dtype == np.float32
        assert made().numpy() == pytest.approx(expected)

    def test_other_types(self):
        assert F.arange(3, dtype="int32").dtype == np.int32
        assert F.zeros((1,), dtype=np.bool_).dtype == np.bool_
        assert F.zeros_like(tensor([1])).dtype == np.int32
        assert F.one_hot(tensor([0, 2]), 3).tolist() == [[1, 0, 0], [0, 0, 1]]

    def test_a_changing_value_is_no_part_of_the_program(self):
        first = F.full((2,), 3.25)
        node = first._node
        first.numpy()
        assert F.full((2,), 4.75)._node is node


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
            (lambda: F.square_loss(tensor(A), 1.0, reduction="avg"), "mean, sum or none"),
            (lambda: F.concat([]), "at least one"),
            (lambda: F.stack([tensor([1]), tensor([1, 2])]), "one shape"),
            (lambda: F.split(tensor(A), 2, 1), "no multiple"),
            (lambda: F.squeeze(tensor(A), 0), "is not 1"),
            (lambda: F.layer_norm(tensor(A), 4), "does not end with"),
            (lambda: F.exp("a"), "exp: expected a tensor"),
            (lambda: F.dot(tensor(A), tensor(A)), "two vectors"),
            (lambda: F.sum(tensor(A), 2), "axis 2"),
        ],
    )
    def test_messages_are_one_line(self, use, message):
        with pytest.raises((ValueError, TypeError), match=message) as caught:
            use()
        assert len(str(caught.value).splitlines()) == 1
        assert "test_functional.py" in str(caught.value)

    def test_wrong_arguments(self):
        for use in (
            lambda: F.softmax(),
            lambda: F.softmax(tensor(A), 1, 2),
            lambda: F.softmax(tensor(A), axes=1),
            lambda: F.softmax(tensor(A), x=1),
        ):
            with pytest.raises(TypeError):
                use()


class TestArguments:
    def test_numbers_arrays_and_lists_are_operands(self):
        assert F.maximum(tensor([1, -1]), 0).tolist() == [1, 0]
        assert F.maximum(1.5, 2.5).item() == 2.5
        assert F.exp(0).item() == 1
        assert F.add([1.0, 2.0], np.array([3.0, 4.0])).tolist() == [4, 6]
        assert F.where(tensor([True, False]), 1.0, 0).dtype == np.float32

    def test_static_arguments_may_be_lists_or_tensors(self):
        x = tensor(A)
        assert F.reshape(x, [3, 2]).shape == (3, 2)
        assert F.reshape(x, tensor([3, 2])).shape == (3, 2)
        assert F.sum(x, np.int64(1)).shape == (2,)
        assert F.sum(x, [0, 1]).shape == ()
        assert F.sum(x, tensor(0)).shape == (3,)

    def test_a_float_and_an_integer_are_told_apart(self):
        x = tensor([1.0, 2.0])
        for value in (2, 2.0, True):
            F.pad(x, ((1, 1),), "constant", value)
        assert np.signbit(F.pad(x, ((1, 0),), constant_value=-0.0).numpy()[0])
        assert not np.signbit(F.pad(x, ((1, 0),), constant_value=0.0).numpy()[0])

    def test_namespaces_hold_the_same_functions(self):
        for name in ("relu", "softmax", "pad", "linear", "layer_norm", "cross_entropy"):
            assert getattr(F.nn, name) is getattr(F, name)
        assert F.loss.cross_entropy is F.cross_entropy

    def test_everything_public_is_documented(self):
        functions = [each for each in vars(F).values() if hasattr(each, "__wrapped__")]
        assert len(functions) > 80
        assert all(each.__doc__ and each.__name__ for each in functions)

    def test_nodes_carry_the_name_of_the_function(self):
        y = F.softmax(tensor(A + 0.125))
        assert y._node.origin.label == "softmax"
        assert y._node.origin.file.endswith("test_functional.py")


def test_import_is_light():
    import subprocess
    import sys

    code = "import sys, gradc; assert not {'jinja2', 'cffi', 'scipy'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)
    assert gradc.__version__
