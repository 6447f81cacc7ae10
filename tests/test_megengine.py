"""MegEngine 1.13's meaning: defaults, results, layouts of states, types of errors."""

import inspect

import numpy as np
import pytest

import gradc
import gradc.functional as F
import gradc.module as M
from gradc.autodiff import GradManager

RANDOM = np.random.default_rng(5)


def drawn(*shape):
    return RANDOM.standard_normal(shape).astype(np.float32)


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def close(found, wanted):
    np.testing.assert_allclose(found.numpy(), wanted, rtol=2e-5, atol=2e-6)


# ---- functions

DEFAULTS = {
    (F.topk, "descending"): True,
    (F.sort, "descending"): False,
    (F.argsort, "descending"): False,
    (F.cross_entropy, "axis"): 1,
    (F.cross_entropy, "with_logits"): True,
    (F.binary_cross_entropy, "with_logits"): True,
    (F.batch_norm, "momentum"): 0.9,
    (F.batch_norm, "training"): False,
    (F.leaky_relu, "negative_slope"): 0.01,
    (F.softmax, "axis"): None,
    (gradc.random.exponential, "rate"): 1,
    (M.BatchNorm2d, "momentum"): 0.9,
    (M.MultiHeadAttention, "bias"): True,
    (M.PReLU, "init"): 0.25,
}


def test_defaults():
    wrong = [
        (function.__name__, name, found)
        for (function, name), wanted in DEFAULTS.items()
        if (found := inspect.signature(function).parameters[name].default) != wanted
    ]
    assert not wrong


def test_topk():
    x = gradc.tensor([[3.0, 1.0, 2.0], [5.0, 4.0, 6.0]])
    values, places = F.topk(x, 2)
    assert (values.tolist(), places.tolist()) == ([[3, 2], [6, 5]], [[0, 2], [2, 0]])
    value, place = F.topk(x, 2, kth_only=True)
    assert (value.tolist(), place.tolist()) == ([2, 5], [2, 0])
    assert F.topk(x, 7)[0].tolist() == [[3, 2, 1], [6, 5, 4]]


def test_batch_norm_without_running_tensors():
    x = drawn(4, 3, 2, 2)
    axes = (0, 2, 3)
    wanted = (x - x.mean(axes, keepdims=True)) / np.sqrt(x.var(axes, keepdims=True) + 1e-5)
    for inplace in (True, False):
        close(F.batch_norm(gradc.tensor(x), training=True, inplace=inplace), wanted)
    mean = gradc.tensor(np.zeros((1, 3, 1, 1)))
    made, moved, none = F.batch_norm(gradc.tensor(x), mean, training=True, inplace=False)
    close(made, wanted)
    close(moved, 0.1 * x.mean(axes, keepdims=True))
    assert none is None


# ---- types

BROADCASTS = {
    "add": lambda: F.zeros((2, 3)) + F.zeros((2, 4)),
    "where": lambda: F.where(F.zeros((2, 3)) > 0, F.zeros((2, 4)), F.zeros((2, 3))),
    "broadcast_to": lambda: F.broadcast_to(F.zeros((2, 3)), (2, 4)),
    "matmul": lambda: F.matmul(F.zeros((2, 3)), F.zeros((2, 4))),
    "concat": lambda: F.concat([F.zeros((2, 3)), F.zeros((2, 4))]),
    "reshape": lambda: F.zeros((2, 3)).reshape(7),
    "linear": lambda: F.linear(F.zeros((2, 3)), F.zeros((4, 5))),
}

AXES = {
    "sum": lambda: F.sum(F.zeros((2, 3)), (0, 0)),
    "mean": lambda: F.mean(F.zeros((2, 3)), (1, -1)),
    "max": lambda: F.max(F.zeros((2, 3)), (1, 1)),
    "transpose": lambda: F.transpose(F.zeros((2, 3)), (0, 0)),
    "expand_dims": lambda: F.expand_dims(F.zeros((2, 3)), (0, 0)),
    "squeeze": lambda: F.squeeze(F.zeros((1, 3)), (0, 0)),
    "inference": lambda: F.batch_norm(F.zeros((1, 3, 1, 1))),
    "heads": lambda: M.MultiHeadAttention(5, 2),
    "uniform": lambda: gradc.random.uniform(2, 1),
    "attach": lambda: GradManager().attach(gradc.tensor([1, 2])),
    "freeze": lambda: M.BatchNorm2d(3, track_running_stats=False, freeze=True),
}


def test_errors_are_of_the_types_that_megengine_raises_too():
    wrong = []
    for cases, kind in ((BROADCASTS, RuntimeError), (AXES, AssertionError)):
        for name, case in cases.items():
            try:
                case()
                wrong.append((name, "nothing"))
            except Exception as error:
                if not (isinstance(error, kind) and isinstance(error, (ValueError, TypeError))):
                    wrong.append((name, error))
    assert not wrong


def test_tensor_is_the_class():
    x = gradc.tensor([1.0, 2.0], dtype="float64", device="cpu", name="x")
    assert isinstance(x, gradc.tensor) and isinstance(gradc.Parameter([1.0]), gradc.tensor)
    assert not isinstance(np.ones(2), gradc.tensor)
    assert (x.name, x.dtype, x.tolist()) == ("x", np.float64, [1, 2])


# ---- modules


def test_attention_gives_a_pair():
    module, x = M.MultiHeadAttention(4, 2), gradc.tensor(drawn(2, 3, 4))
    made, none = module(x, x, x)
    assert made.shape == (2, 3, 4) and none is None
    _, each = module(x, x, x, need_weights=True)
    assert each.shape == (4, 3, 3)
    close(each.sum(-1), np.ones((4, 3)))
    _, mean = module(x, x, x, need_weights=True, average_attn_weights=True)
    close(mean, each.numpy().reshape(2, 2, 3, 3).mean(1))


def test_masks_of_attention():
    """True is where nobody looks; a fourth argument is about keys; numbers are added."""
    module, x = M.MultiHeadAttention(4, 2), gradc.tensor(drawn(2, 3, 4))
    padding = np.array([[False, False, True], [False, False, False]])
    _, seen = module(x, x, x, gradc.tensor(padding), need_weights=True)
    hidden = np.repeat(padding[:, None, :], 2, 0).repeat(3, 1)
    assert ((seen.numpy() == 0) == hidden).all()
    minus = np.where(padding, -np.inf, 0.0).astype(np.float32)
    above = np.triu(np.ones((3, 3), bool), 1)
    both = module(x, x, x, gradc.tensor(minus), gradc.tensor(above), need_weights=True)[1]
    assert ((both.numpy() == 0) == hidden | above).all()
    every = gradc.tensor(np.stack([above] * 4))
    same = module(x, x, x, gradc.tensor(padding), every)[0]
    close(module(x, x, x, gradc.tensor(padding), is_causal=True)[0], same.numpy())
    with pytest.raises(AssertionError, match="bool or a floating type"):
        module(x, x, x, gradc.tensor(padding.astype(np.int32)))
    with pytest.raises(ValueError, match=r"a key_padding_mask \[2, 3\], found \[3, 3\]"):
        module(x, x, x, gradc.tensor(above))
    with pytest.raises(AssertionError, match="add_bias_kv"):
        M.MultiHeadAttention(4, 2, add_bias_kv=True)


def test_track_running_stats_that_is_set_later():
    x = gradc.tensor(drawn(4, 3, 2, 2) + 2)
    module = M.BatchNorm2d(3)
    module(x)
    before = module.running_mean.numpy().copy()
    module.track_running_stats = False
    close(module(x), F.batch_norm(x, training=True).numpy())
    module.eval()
    close(module(x), F.batch_norm(x, training=True).numpy())
    np.testing.assert_array_equal(module.running_mean.numpy(), before)
    module.track_running_stats = True
    assert abs(module(x).numpy().mean()) > 0.5
    late = M.BatchNorm2d(3, track_running_stats=False)
    late.track_running_stats = True
    with pytest.raises(AssertionError, match="track_running_stats was False at first"):
        late(x)


# ---- states


def flat_of(cells):
    """The tensors of cells one after the other, with as many rows as a weight."""
    rows = cells[0][0].shape[0]
    return np.concatenate([each.ravel() for cell in cells for each in cell]).reshape(rows, -1)


def cells_of(gates, hidden, widths, directions, bias):
    made = []
    for width in widths:
        for _ in range(directions):
            rows = gates * hidden
            made.append([drawn(rows, width), drawn(rows, hidden)])
            made[-1] += [drawn(rows), drawn(rows)] if bias else []
    return made


def run_lstm(x, wi, wh, bi, bh):
    h = c = np.zeros((x.shape[1], wh.shape[1]), np.float32)
    found = []
    for each in x:
        i, f, g, o = np.split(each @ wi.T + bi + h @ wh.T + bh, 4, axis=1)
        c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
        h = sigmoid(o) * np.tanh(c)
        found.append(h)
    return np.stack(found)


def run_rnn(x, wi, wh, bi, bh):
    h = np.zeros((x.shape[1], wh.shape[1]), np.float32)
    found = []
    for each in x:
        h = np.tanh(each @ wi.T + bi + h @ wh.T + bh)
        found.append(h)
    return np.stack(found)


@pytest.mark.parametrize(("kind", "gates", "run"), [(M.LSTM, 4, run_lstm), (M.RNN, 1, run_rnn)])
def test_states_of_recurrent_layers(kind, gates, run):
    x = drawn(5, 2, 3)
    for bias in (True, False):
        for directions in (1, 2):
            cells = cells_of(gates, 4, (3, 4 * directions), directions, bias)
            wanted = x
            for layer in (cells[:directions], cells[directions:]):
                ways = [slice(None), slice(None, None, -1)]
                filled = [each if bias else [*each, 0, 0] for each in layer]
                sides = [
                    run(wanted[way], *each)[way] for way, each in zip(ways, filled, strict=False)
                ]
                wanted = np.concatenate(sides, axis=2)
            module = M.Sequential(
                kind(3, 4, num_layers=2, bias=bias, bidirectional=directions == 2)
            )
            # MegEngine's state has the unused cells as well.
            state = {"0._flatten_weights": flat_of(cells), "0.cells.0.0.weight_ih": drawn(1)}
            module.load_state_dict(state)
            close(module(gradc.tensor(x))[0], wanted)
            again = kind(3, 4, num_layers=2, bias=bias, bidirectional=directions == 2)
            again.load_state_dict(module[0].state_dict())
            close(again(gradc.tensor(x))[0], wanted)
    with pytest.raises(ValueError, match="_flatten_weights with"):
        module.load_state_dict({"0._flatten_weights": drawn(4, 5)})


def test_states_of_attention():
    x, source = drawn(2, 3, 4), drawn(2, 5, 6)
    for bias in (True, False):
        weights = [drawn(4, 4), drawn(6, 4), drawn(4, 4), drawn(4, 4)]
        biases = [drawn(4) if bias else np.zeros(4, np.float32) for _ in range(4)]
        listed = weights + (biases if bias else [])
        flat = np.concatenate([each.ravel() for each in listed]).reshape(1, -1)
        module = M.MultiHeadAttention(4, 2, bias=bias, kdim=6)
        module.load_state_dict({"io_weight_bias": flat})
        value = source[..., :4]
        q, k, v = (
            (each @ w + b).reshape(2, -1, 2, 2).transpose(0, 2, 1, 3)
            for each, w, b in zip((x, source, value), weights, biases, strict=False)
        )
        scores = np.exp(q @ k.transpose(0, 1, 3, 2) / np.sqrt(2))
        seen = scores / scores.sum(-1, keepdims=True) @ v
        wanted = seen.transpose(0, 2, 1, 3).reshape(2, 3, 4) @ weights[3] + biases[3]
        close(module(*map(gradc.tensor, (x, source, value)))[0], wanted)


def test_states_of_prelu_and_of_cells_without_biases():
    x = gradc.tensor(drawn(2, 4, 3, 3))
    slopes = drawn(4)
    wanted = np.where(x.numpy() > 0, x.numpy(), slopes[:, None, None] * x.numpy())
    module = M.PReLU(4)
    assert module.weight.shape == (1, 4, 1, 1) and M.PReLU().weight.shape == (1,)
    for shape in ((1, 4, 1, 1), (4,)):
        module.load_state_dict({"weight": slopes.reshape(shape)})
        close(module(x), wanted)
    close(module(gradc.tensor(x.numpy()[:, :, 0])), wanted[:, :, 0])
    with pytest.raises(ValueError, match="wrong shapes"):
        module.load_state_dict({"weight": drawn(2, 2)})
    cell = M.LSTMCell(2, 3, bias=False)
    state = {**cell.state_dict(), "bias_ih": np.zeros(12), "bias_hh": np.zeros(12)}
    cell.load_state_dict(state)
    with pytest.raises(KeyError, match="unexpected bias_ih"):
        cell.load_state_dict({**state, "bias_ih": np.ones(12)})
