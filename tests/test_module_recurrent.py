"""Recurrent networks and attention against NumPy in double precision."""

import copy

import numpy as np
import pytest
from parameter_slopes import check_gradients, close, drawn

import gradc
import gradc.functional as F
import gradc.module as M
import gradc.optimizer as optim
from gradc import jit
from gradc.autodiff import GradManager


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def inner_and_outer(cell, x, h):
    names = ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
    held = [getattr(cell, name) for name in names]
    w, u, b, c = (0.0 if each is None else each.numpy().astype(np.float64) for each in held)
    return x @ w.T + b, h @ u.T + c


def rnn(cell, x, h):
    total = sum(inner_and_outer(cell, x, h))
    return (np.tanh(total) if cell.kind == "tanh" else np.maximum(total, 0),)


def lstm(cell, x, h, memory):
    i, f, g, o = np.split(sum(inner_and_outer(cell, x, h)), 4, axis=1)
    memory = sigmoid(f) * memory + sigmoid(i) * np.tanh(g)
    return sigmoid(o) * np.tanh(memory), memory


def gru(cell, x, h):
    parts = [np.split(each, 3, axis=1) for each in inner_and_outer(cell, x, h)]
    (r, z, n), (of_r, of_z, of_n) = parts
    new = np.tanh(n + sigmoid(r + of_r) * of_n)
    return ((1 - sigmoid(z + of_z)) * new + sigmoid(z + of_z) * h,)


CELLS = [
    (M.RNNCell, M.RNN, rnn, {}),
    (M.RNNCell, M.RNN, rnn, {"nonlinearity": "relu"}),
    (M.LSTMCell, M.LSTM, lstm, {}),
    (M.GRUCell, M.GRU, gru, {}),
]
cells = pytest.mark.parametrize(("cell", "layers", "reference", "options"), CELLS)


def listed(states):
    return list(states) if isinstance(states, tuple) else [states]


def given(arrays):
    tensors = tuple(gradc.tensor(each) for each in arrays)
    return tensors if len(tensors) > 1 else tensors[0]


@cells
@pytest.mark.parametrize("bias", [True, False])
def test_cells(cell, layers, reference, options, bias):
    made = cell(3, 4, bias, **options)
    x, states = drawn(2, 3), [drawn(2, 4) for _ in range(made.states)]
    nothing = [np.zeros((2, 4))] * made.states
    found = listed(made(gradc.tensor(x), given(states)))
    for each, expected in zip(found, reference(made, x, *states), strict=True):
        close(each, expected)
    found = listed(made(gradc.tensor(x)))
    for each, expected in zip(found, reference(made, x, *nothing), strict=True):
        close(each, expected)
    assert len(list(made.parameters())) == (4 if bias else 2)
    assert max(np.abs(each.numpy()).max() for each in made.parameters()) <= 0.5


def run(module, reference, x, states):
    """The outputs and last states of all layers, cell by cell."""
    last = []
    for layer in module.cells:
        sides = []
        for back, cell in enumerate(layer):
            now = tuple(each[len(last)] for each in states)
            outputs = []
            for here in x[::-1] if back else x:
                now = reference(cell, here, *now)
                outputs.append(now[0])
            sides.append(np.stack(outputs[::-1] if back else outputs))
            last.append(now)
        x = np.concatenate(sides, axis=2)
    return x, [np.stack(each) for each in zip(*last, strict=True)]


@cells
@pytest.mark.parametrize("bidirectional", [False, True])
def test_sequences(cell, layers, reference, options, bidirectional):
    count = 4 if bidirectional else 2
    module = layers(3, 4, num_layers=2, bidirectional=bidirectional, **options)
    x, states = drawn(5, 2, 3), [drawn(count, 2, 4) for _ in range(module.states)]
    outputs, ends = module(gradc.tensor(x), given(states))
    expected, last = run(module, reference, x, states)
    close(outputs, expected)
    for each, value in zip(listed(ends), last, strict=True):
        close(each, value)
    names = [name for name, _ in module.named_parameters()]
    assert len(names) == 4 * count
    assert names[0] == "cells.0.0.bias_hh"


def test_batch_first_and_no_state():
    module = M.LSTM(3, 4, batch_first=True)
    x = drawn(2, 5, 3)
    outputs, (h, c) = module(gradc.tensor(x))
    expected, (last, memory) = run(module, lstm, x.transpose(1, 0, 2), [np.zeros((1, 2, 4))] * 2)
    close(outputs, expected.transpose(1, 0, 2))
    close(h, last)
    close(c, memory)


def test_dropout_between_layers_only_while_training():
    gradc.manual_seed(1)
    module, x = M.GRU(3, 4, num_layers=2, dropout=0.5), gradc.tensor(drawn(3, 2, 3))
    assert (module(x)[0].numpy() != module(x)[0].numpy()).any()
    module.eval()
    np.testing.assert_array_equal(module(x)[0].numpy(), module(x)[0].numpy())


@pytest.mark.parametrize("layers", [M.RNN, M.LSTM, M.GRU])
def test_gradients_through_time(layers):
    module, x = layers(2, 3, num_layers=2), drawn(4, 2, 2)
    check_gradients(module, x)


def test_copies_and_states():
    module, x = M.LSTM(2, 3, bidirectional=True), gradc.tensor(drawn(4, 2, 2))
    other = M.LSTM(2, 3, bidirectional=True)
    other.load_state_dict(module.state_dict())
    for each in (copy.deepcopy(module), other):
        np.testing.assert_array_equal(each(x)[0].numpy(), module(x)[0].numpy())
    module.reset_parameters()
    assert (other(x)[0].numpy() != module(x)[0].numpy()).any()
    assert repr(module) == "LSTM(2, 3, num_layers=1, bidirectional=True)"
    assert repr(M.LSTMCell(2, 3, bias=False)) == "LSTMCell(2, 3, bias=False)"


def test_mistakes():
    x = gradc.tensor(drawn(2, 3))
    for make, message in [
        (lambda: M.LSTMCell(3, 4)(x, gradc.tensor(drawn(2, 4))), "2 tensors, found 1"),
        (lambda: M.GRUCell(3, 4)(x, gradc.tensor(drawn(2, 5))), r"\[2, 4\], found \[2, 5\]"),
        (lambda: M.GRU(3, 4)(x), "3 axes"),
        (lambda: M.RNN(3, 4, nonlinearity="sin"), "tanh, relu"),
        (lambda: M.LSTM(3, 4, num_layers=0), "num_layers to be at least 1"),
        (lambda: M.LSTMCell(2, 4)(x), r"LSTMCell: .* 2 axes and 2 features, found \[2, 3\]"),
        (lambda: M.LSTMCell(3, 4)(x[0]), r"2 axes and 3 features, found \[3\]"),
        (lambda: M.LSTM(2, 4)(x.reshape(1, 2, 3)), r"LSTM: .* 2 features, found \[1, 2, 3\]"),
        (lambda: M.LSTM(3, 4)(x.reshape(1, 2, 3)[:0]), r"at least one step, found .*\[0, 2, 3\]"),
    ]:
        with pytest.raises(ValueError, match=message):
            make()


@pytest.mark.parametrize("shape", [(2, 2, 4), (2, 4), (1, 1, 4), (1, 2, 5)])
def test_a_state_of_another_shape(shape):
    state = (F.zeros(shape), F.zeros(shape))
    with pytest.raises(ValueError, match=r"LSTM: expected a state \[1, 2, 4\], found \["):
        M.LSTM(3, 4)(F.zeros((5, 2, 3)), state)


# ---- attention


def attended(module, query, key, value, allowed):
    """Attention by loops over batch and heads."""

    def through(layer, x):
        bias = 0.0 if layer.bias is None else layer.bias.numpy()
        return x @ layer.weight.numpy().T + bias

    made = [through(getattr(module, name), x) for name, x in (("query", query), ("key", key))]
    made.append(through(module.value, value))
    width = module.embed_dim // module.num_heads
    joined = np.zeros((*query.shape[:2], module.embed_dim))
    for sample, head in np.ndindex(query.shape[0], module.num_heads):
        q, k, v = (each[sample, :, head * width : (head + 1) * width] for each in made)
        scores = np.where(allowed, np.exp(q @ k.T / np.sqrt(width)), 0)
        joined[sample, :, head * width : (head + 1) * width] = (
            scores / scores.sum(1, keepdims=True) @ v
        )
    return through(module.out, joined)


def test_attention_to_itself():
    module, x = M.MultiHeadAttention(8, 2), drawn(2, 5, 8)
    close(module(gradc.tensor(x))[0], attended(module, x, x, x, True))
    causal = np.tril(np.ones((5, 5), bool))
    expected = attended(module, x, x, x, causal)
    close(module(gradc.tensor(x), is_causal=True)[0], expected)
    close(module(gradc.tensor(x), attn_mask=gradc.tensor(~causal))[0], expected)


def test_attention_to_another_sequence():
    module = M.MultiHeadAttention(6, 3, kdim=4, vdim=5, bias=False)
    query, key, value = drawn(2, 3, 6), drawn(2, 7, 4), drawn(2, 7, 5)
    made, _ = module(*map(gradc.tensor, (query, key, value)))
    close(made, attended(module, query, key, value, True))


def test_attention_learns_and_drops_only_while_training():
    module, x = M.MultiHeadAttention(4, 2), gradc.tensor(drawn(2, 3, 4))
    check_gradients(module, x)
    gradc.manual_seed(2)
    for options in ({"attn_dropout": 0.5}, {"out_dropout": 0.5}):
        module = M.MultiHeadAttention(4, 2, **options)
        assert (module(x)[0].numpy() != module(x)[0].numpy()).any()
        module.eval()
        np.testing.assert_array_equal(module(x)[0].numpy(), module(x)[0].numpy())
    with pytest.raises(ValueError, match="3 heads"):
        M.MultiHeadAttention(4, 3)
    with pytest.raises(ValueError, match=r"\(batch, length, width\), found \[3, 4\]"):
        M.MultiHeadAttention(4, 2)(F.zeros((3, 4)))


def test_a_traced_training_step():
    def problem():
        gradc.manual_seed(4)
        module = M.GRU(2, 3, num_layers=2, dropout=0.25)
        gm = GradManager().attach(module.parameters())
        optimizer = optim.RMSprop(module.parameters(), lr=0.01)

        def step(x):
            with gm:
                loss = (module(x)[0] ** 2).mean()
                gm.backward(loss)
            optimizer.step().clear_grad()
            return loss

        return step

    inputs = [gradc.tensor(drawn(4, 2, 2)) for _ in range(4)]
    plain = problem()
    expected = [plain(x).item() for x in inputs]
    traced = jit.trace(problem())
    assert [traced(x).item() for x in inputs] == pytest.approx(expected, rel=1e-5)
