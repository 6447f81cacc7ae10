"""Normalization, dropout, embeddings, containers: against closed forms."""

import copy
import pickle

import numpy as np
import pytest
from parameter_slopes import check_gradients, close, drawn

import gradc
import gradc.module as M
from gradc import jit
from gradc.autodiff import GradManager

# ---- normalization


def normalized(x, axes, eps=1e-5):
    return (x - x.mean(axes, keepdims=True)) / np.sqrt(x.var(axes, keepdims=True) + eps)


@pytest.mark.parametrize(
    ("make", "shape"),
    [(M.BatchNorm1d, (6, 3)), (M.BatchNorm2d, (4, 3, 5, 2)), (M.BatchNorm3d, (2, 3, 2, 3, 2))],
)
def test_batch_norm_follows_the_batches(make, shape):
    layer = make(3, momentum=0.8)
    assert [name for name, _ in layer.named_buffers()] == ["running_mean", "running_var"]
    axes = tuple(i for i in range(len(shape)) if i != 1)
    mean, variance = np.zeros(3), np.ones(3)
    for step in range(3):
        x = drawn(*shape) * (step + 1) + step
        close(layer(gradc.tensor(x)), normalized(x, axes))
        mean = 0.8 * mean + 0.2 * x.mean(axes)
        variance = 0.8 * variance + 0.2 * x.var(axes, ddof=1)
        close(layer.running_mean.flatten(), mean)
        close(layer.running_var.flatten(), variance)
    layer.eval()
    before = layer.state_dict()
    each = (1, 3, *(1,) * (len(shape) - 2))
    expected = (x - mean.reshape(each)) / np.sqrt(variance.reshape(each) + 1e-5)
    close(layer(gradc.tensor(x)), expected)
    for name, value in layer.state_dict().items():
        np.testing.assert_array_equal(value, before[name])
    check_gradients(layer.train() or layer, x)


def test_batch_norm_without_running_statistics_and_without_scale():
    layer = M.BatchNorm1d(2, affine=False, track_running_stats=False)
    layer.eval()
    x = drawn(5, 2, 3)
    close(layer(gradc.tensor(x)), normalized(x, (0, 2)))
    assert layer.state_dict() == {}


def test_frozen_batch_norm_stays_as_it_is():
    layer = M.BatchNorm2d(2, freeze=True)
    M.init.fill_(layer.running_mean, 1.0)
    x = drawn(2, 2, 3, 3)
    with GradManager().attach(layer.parameters()) as gm:
        y = layer(gradc.tensor(x))
        gm.backward(y.sum())
    close(y, (x - 1) / np.sqrt(1 + 1e-5))
    assert layer.running_mean.numpy().ravel().tolist() == [1.0, 1.0]
    assert layer.weight.grad is None
    with pytest.raises(ValueError, match="track_running_stats"):
        M.BatchNorm2d(2, freeze=True, track_running_stats=False)


def test_batch_norm_of_the_wrong_rank():
    with pytest.raises(ValueError, match="expected an input with 4 axes, found 2"):
        M.BatchNorm2d(3)(gradc.tensor(drawn(2, 3)))


def test_batch_norm_with_channels_behind():
    layer = M.BatchNorm2d(3, param_dim="dim_111c")
    x = drawn(2, 4, 5, 3)
    close(layer(gradc.tensor(x)), normalized(x, (0, 1, 2)))
    assert layer.running_mean.shape == (1, 1, 1, 3)


def test_batch_norm_inside_a_traced_function():
    layers = M.BatchNorm1d(3), M.BatchNorm1d(3)
    traced = jit.trace(lambda x: layers[1](x))
    for _ in range(4):
        x = drawn(6, 3)
        close(traced(gradc.tensor(x)), layers[0](gradc.tensor(x)).numpy())
        for name, value in layers[0].state_dict().items():
            close(layers[1].state_dict(keep_var=True)[name], value)
    for layer in layers:
        layer.eval()
    close(traced(gradc.tensor(x)), layers[0](gradc.tensor(x)).numpy())


def test_normalization_of_samples():
    x = drawn(2, 4, 3, 5)
    t = gradc.tensor(x)
    close(M.LayerNorm((3, 5))(t), normalized(x, (2, 3)))
    close(M.LayerNorm(5, affine=False)(t), normalized(x, (3,)))
    close(M.InstanceNorm(4)(t), normalized(x, (2, 3)))
    grouped = normalized(x.reshape(2, 2, 2, 3, 5), (2, 3, 4)).reshape(x.shape)
    close(M.GroupNorm(2, 4)(t), grouped)
    close(M.RMSNorm(5)(t), x / np.sqrt((x**2).mean(-1, keepdims=True)))


@pytest.mark.parametrize(
    "layer", [M.LayerNorm((3, 5)), M.InstanceNorm(4), M.GroupNorm(2, 4), M.RMSNorm((5,))]
)
def test_normalization_scales_and_learns(layer):
    x = drawn(2, 4, 3, 5)
    before = layer(gradc.tensor(x)).numpy()
    for each in layer.parameters():
        M.init.fill_(each, 2.0)
    shift = 0 if isinstance(layer, M.RMSNorm) else 2
    close(layer(gradc.tensor(x)), 2 * before + shift)
    check_gradients(layer, x)


# ---- dropout and embeddings


def test_dropout_only_while_training():
    gradc.manual_seed(5)
    layer, x = M.Dropout(0.25), gradc.tensor(np.ones((100, 100), np.float32))
    made = layer(x).numpy()
    assert set(np.unique(made)) == {0.0, np.float32(1 / 0.75)}
    assert (made == 0).mean() == pytest.approx(0.25, abs=0.02)
    assert (layer(x).numpy() != made).any()
    layer.eval()
    close(layer(x), np.ones((100, 100)))
    with pytest.raises(ValueError, match="probability"):
        M.Dropout(1.5)


def test_embedding():
    layer = M.Embedding(5, 3, padding_idx=-1)
    weight = layer.weight.numpy()
    assert weight[-1].tolist() == [0.0, 0.0, 0.0]
    names = np.array([[1, 4, 1], [0, 2, 4]], np.int32)
    with GradManager().attach(layer.parameters()) as gm:
        y = layer(gradc.tensor(names))
        gm.backward(y.sum())
    close(y, weight[names])
    close(layer.weight.grad, np.outer([1, 2, 1, 0, 0], np.ones(3)))


def test_embedding_of_given_values():
    values = drawn(4, 2)
    layer = M.Embedding.from_pretrained(values)
    names = gradc.tensor(np.array([3, 0], np.int32))
    with GradManager().attach(layer.parameters()) as gm:
        y = layer(names)
        gm.backward(y.sum())
    close(y, values[[3, 0]])
    assert layer.weight.grad is None
    for make, message in [
        (lambda: M.Embedding(3, 2, initial_weight=values), "initial weights"),
        (lambda: M.Embedding(3, 2, padding_idx=3), "padding_idx"),
        (lambda: M.Embedding(3, 2, max_norm=1.0), "max_norm"),
    ]:
        with pytest.raises(ValueError, match=message):
            make()


# ---- activations and containers


def test_more_activations():
    x = np.array([[-4.0, -0.5], [0.25, 7.0]], np.float32)
    sigmoid = 1 / (1 + np.exp(-x))
    bent = np.where(x > 0, x, np.exp(np.minimum(x, 0)) - 1)
    alpha, scale = 1.6732632423543772, 1.0507009873554805
    shares = np.exp(x) / np.exp(x).sum(1, keepdims=True)
    for module, expected in [
        (M.LeakyReLU(0.2), np.where(x > 0, x, 0.2 * x)),
        (M.PReLU(), np.where(x > 0, x, 0.25 * x)),
        (M.PReLU(2, init=0.5), np.where(x > 0, x, 0.5 * x)),
        (M.ELU(), bent),
        (M.ELU(2.0), np.where(x > 0, x, 2 * bent)),
        (M.SELU(), scale * np.where(x > 0, x, alpha * bent)),
        (M.SiLU(), x * sigmoid),
        (M.ReLU6(), np.clip(x, 0, 6)),
        (M.HSwish(), x * np.clip(x + 3, 0, 6) / 6),
        (M.Mish(), x * np.tanh(np.log1p(np.exp(x)))),
        (M.Softplus(), np.log1p(np.exp(x))),
        (M.LogSoftmax(1), np.log(shares)),
    ]:
        close(module(gradc.tensor(x)), expected)


def test_prelu_learns():
    check_gradients(M.PReLU(3), drawn(4, 3, 2))


def test_module_list():
    layers = M.ModuleList([M.Linear(2, 2), M.ReLU()])
    assert layers.append(M.Tanh()) is layers
    layers.insert(0, M.Identity())
    assert [type(each).__name__ for each in layers] == ["Identity", "Linear", "ReLU", "Tanh"]
    assert [name for name, _ in layers.named_parameters()] == ["1.bias", "1.weight"]
    layers[-1] = M.Sigmoid()
    del layers[0]
    assert (len(layers), type(layers[-1]).__name__) == (3, "Sigmoid")
    assert list(layers[1:]) == list(layers)[1:]
    for make in (lambda: layers.append(3), lambda: layers.insert(0, len)):
        with pytest.raises(TypeError, match="Module"):
            make()
    with pytest.raises(IndexError):
        layers[3] = M.ReLU()


def test_module_dict():
    layers = M.ModuleDict({"b": M.Linear(2, 2), "a": M.ReLU()})
    layers["c"] = M.Tanh()
    assert layers.keys() == list(layers) == ["b", "a", "c"]
    del layers["a"]
    assert ("a" in layers, "c" in layers, len(layers)) == (False, True, 2)
    assert [name for name, _ in layers.named_parameters()] == ["b.bias", "b.weight"]
    assert [type(each).__name__ for each in layers.values()] == ["Linear", "Tanh"]
    with pytest.raises(TypeError, match="key"):
        layers[3] = M.ReLU()
    with pytest.raises(KeyError):
        del layers["a"]
    with pytest.raises(KeyError, match="attribute of every"):
        layers["training"] = M.ReLU()


def network():
    return M.Sequential(
        M.Conv2d(1, 2, 3, padding=1),
        M.BatchNorm2d(2),
        M.PReLU(2),
        M.MaxPool2d(2),
        M.ConvTranspose2d(2, 2, 2, stride=2),
        M.GroupNorm(1, 2),
        M.Dropout(0.5),
    )


def reloaded(net):
    other = network()
    other.load_state_dict(net.state_dict())
    return other


@pytest.mark.parametrize(
    "copied", [copy.deepcopy, lambda net: pickle.loads(pickle.dumps(net)), reloaded]
)
def test_copies_compute_the_same(copied):
    net, x = network(), gradc.tensor(drawn(2, 1, 4, 4))
    net(x)
    other = copied(net)
    net.eval()
    other.eval()
    expected = net(x).numpy()
    close(other(x), expected)
    other.train()
    other(3 * x)
    close(net(x), expected)


def test_repr_tells_the_sizes():
    told = repr(network())
    assert "(0): Conv2d(1, 2, kernel_size=(3, 3), padding=(1, 1))" in told
    assert "(1): BatchNorm2d(2, eps=1e-05, momentum=0.9" in told
    assert "(3): MaxPool2d(kernel_size=2, stride=2, padding=0)" in told


def test_activations_that_are_functions_of_their_own():
    x = drawn(3, 4)
    half, gate = x[:, :2], x[:, 2:]
    for layer, expected in [
        (M.CELU(0.5), np.where(x > 0, x, 0.5 * np.expm1(x / 0.5))),
        (M.GLU(), half / (1 + np.exp(-gate))),
        (M.Hardtanh(-0.5, 0.25), np.clip(x, -0.5, 0.25)),
        (M.HSigmoid(), np.clip(x + 3, 0, 6) / 6),
        (M.LogSigmoid(), -np.log1p(np.exp(-x))),
        (M.Softsign(), x / (1 + np.abs(x))),
        (
            M.GELU("tanh"),
            0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3))),
        ),
    ]:
        close(layer(gradc.tensor(x)), expected)
        close(pickle.loads(pickle.dumps(layer))(gradc.tensor(x)), expected)


def test_lists_and_sequences_grow_and_shrink():
    first, second = M.ReLU(), M.Tanh()
    listed = M.ModuleList([first]) + M.ModuleList([second])
    listed += [M.Sigmoid()]
    assert [type(each).__name__ for each in listed] == ["ReLU", "Tanh", "Sigmoid"]
    assert listed.pop(0) is first
    assert [name for name, _ in listed.named_children()] == ["0", "1"]
    named = M.ModuleDict({"a": first, "b": second})
    assert named.pop("a") is first
    named.clear()
    assert len(named) == 0
    sequence = M.Sequential(M.Linear(2, 3)).append(first)
    del sequence[0]
    sequence.append(second)
    assert list(sequence) == [first, second]


def test_a_module_that_was_not_initialized():
    class Careless(M.Module):
        def __init__(self):
            self.layer = M.Linear(2, 2)

    with pytest.raises(AttributeError, match=r"Careless: call super\(\).__init__\(\) before"):
        Careless()(gradc.tensor([[1.0, 2.0]]))
    with pytest.raises(AttributeError, match="'Linear' object has no attribute 'nothing'"):
        M.Linear(2, 2).nothing  # noqa: B018  # the look-up is what is tested
