"""Modules: what they are made of, calling, saving, first values."""

import copy
import inspect
import pickle
from collections import OrderedDict

import numpy as np
import pytest

import gradc
import gradc.module as M
from gradc.autodiff import GradManager


class Net(M.Module):
    def __init__(self):
        super().__init__()
        self.second = M.Linear(4, 2)
        self.first = M.Linear(3, 4, bias=False)
        self.layers = [M.ReLU(), {"b": M.Tanh(), "a": (gradc.Parameter([1.0]),)}]
        self.mean = gradc.tensor([5.0, 6.0])
        self.again = self.first
        self.size = 3

    def forward(self, x):
        return self.second(self.first(x)) + self.mean


NAMES = ["again.weight", "layers.1.a.0", "second.bias", "second.weight"]


def test_parameters_in_alphabetical_order_each_once():
    net = Net()
    assert [name for name, _ in net.named_parameters()] == NAMES
    assert [id(each) for each in net.parameters()] == [id(e) for _, e in net.named_parameters()]
    assert [name for name, _ in net.named_parameters(prefix="net")] == [f"net.{n}" for n in NAMES]
    assert [name for name, _ in net.named_parameters(recursive=False)] == ["layers.1.a.0"]
    assert isinstance(next(net.parameters()), gradc.Parameter)


def test_buffers_children_and_modules():
    net = Net()
    assert [name for name, _ in net.named_buffers()] == ["mean"]
    assert list(map(id, net.buffers())) == [id(net.mean)]
    children = ["again", "layers.0", "layers.1.b", "second"]
    assert [name for name, _ in net.named_children()] == children
    assert [type(each).__name__ for each in net.children()] == ["Linear", "ReLU", "Tanh", "Linear"]
    assert [name for name, _ in net.named_modules()] == ["", *children]
    assert [name for name, _ in net.named_modules(prefix="n")] == [
        "n",
        *(f"n.{c}" for c in children),
    ]
    assert next(net.modules()) is net


def test_requires_grad_is_ignored_with_a_warning():
    with pytest.warns(UserWarning, match="requires_grad"):
        assert len(list(Net().parameters(requires_grad=True))) == 4
    with pytest.raises(TypeError, match="unexpected keyword"):
        list(Net().parameters(wanted=True))


def test_a_dict_with_other_keys_than_names():
    net = M.Module()
    net.sizes = {3: "no module", 4: 5}
    assert list(net.parameters()) == []
    net.layers = {3: M.ReLU()}
    with pytest.raises(TypeError, match="found 3"):
        list(net.modules())


def test_train_and_eval():
    net = Net()
    assert net.training
    assert net.eval() is None
    assert not any(each.training for each in net.modules())
    assert net.train() is None
    assert all(each.training for each in net.modules())
    net.train(False, recursive=False)
    assert (net.training, net.second.training) == (False, True)


def test_forward_must_be_defined():
    with pytest.raises(NotImplementedError, match="Module"):
        M.Module()(1)


def test_apply_sees_every_module():
    seen = []
    net = Net()
    net.apply(seen.append)
    assert seen == list(net.modules())


def test_zero_grad_is_deprecated():
    net = M.Linear(1, 1)
    net.weight.grad = gradc.tensor([[1.0]])
    with pytest.warns(DeprecationWarning, match="clear_grad"):
        net.zero_grad()
    assert net.weight.grad is None


def test_hooks_change_inputs_and_outputs_until_they_are_removed():
    class Double(M.Module):
        def forward(self, x, y=0):
            return 2 * x + y

    module = Double()
    seen = []
    handles = [
        module.register_forward_pre_hook(lambda module, inputs: seen.append(inputs)),
        module.register_forward_pre_hook(lambda module, inputs: inputs[0] + 1),
        module.register_forward_pre_hook(lambda module, inputs: (inputs[0], 100)),
        module.register_forward_hook(lambda module, inputs, outputs: seen.append(outputs)),
        module.register_forward_hook(lambda module, inputs, outputs: -outputs),
    ]
    assert module(1) == -104
    assert seen == [(1,), 104]
    for each in handles:
        each.remove()
        each.remove()
    assert module(1) == 2


# ---- saving


def test_state_dict_holds_arrays_of_parameters_and_buffers():
    net = Net()
    state = net.state_dict()
    assert list(state) == ["again.weight", "layers.1.a.0", "mean", "second.bias", "second.weight"]
    assert all(type(each) is np.ndarray for each in state.values())
    state["mean"][:] = 0.0
    assert net.mean.tolist() == [5.0, 6.0]
    assert net.state_dict(keep_var=True)["mean"] is net.mean
    into = {"old": 1}
    assert net.state_dict(into, prefix="net.") is into
    assert list(into)[:2] == ["old", "net.again.weight"]


def test_load_state_dict_keeps_the_parameters_identities_and_types():
    net, other = Net(), Net()
    kept = dict(other.named_parameters())
    state = net.state_dict()
    state["second.bias"] = np.array([1.5, 2.5], np.float64)
    state["mean"] = gradc.tensor([7.0, 8.0])
    assert other.load_state_dict(state) is None
    assert all(each is kept[name] for name, each in other.named_parameters())
    assert other.second.bias.dtype == np.float32
    assert (other.second.bias.tolist(), other.mean.tolist()) == ([1.5, 2.5], [7.0, 8.0])
    np.testing.assert_array_equal(other.first.weight.numpy(), net.first.weight.numpy())


def test_load_state_dict_names_what_does_not_fit_and_loads_nothing():
    net = Net()
    before = net.state_dict()
    good = {name: np.zeros_like(value) for name, value in before.items()}
    missing = {name: value for name, value in good.items() if name != "mean"}
    for wrong, expected, message in [
        (missing, KeyError, "missing mean"),
        ({**good, "more": np.zeros(1)}, KeyError, "unexpected more"),
        ({**missing, "more": np.zeros(1)}, KeyError, "missing mean; unexpected more"),
        ({**good, "second.bias": np.zeros(3)}, ValueError, r"second.bias is \[3\] and not \[2\]"),
    ]:
        with pytest.raises(expected, match=message):
            net.load_state_dict(wrong)
    for name, value in net.state_dict().items():
        np.testing.assert_array_equal(value, before[name])


def test_load_state_dict_that_is_not_strict():
    net = Net()
    net.load_state_dict({"mean": np.array([1.0, 2.0]), "more": 3}, strict=False)
    assert net.mean.tolist() == [1.0, 2.0]
    with pytest.raises(ValueError, match="mean"):
        net.load_state_dict({"mean": np.zeros(3)}, strict=False)


def test_load_state_dict_by_a_function():
    net = Net()
    before = net.second.weight.numpy()
    net.load_state_dict(lambda name, tensor: tensor.numpy() * 0 + 3 if name == "mean" else None)
    assert net.mean.tolist() == [3.0, 3.0]
    np.testing.assert_array_equal(net.second.weight.numpy(), before)


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda net: pickle.loads(pickle.dumps(net))])
def test_copies_are_independent_and_keep_what_is_shared(copied):
    net = Net()
    other = copied(net)
    assert other.again is other.first
    assert isinstance(other.first.weight, gradc.Parameter)
    x = gradc.tensor(np.ones((2, 3)))
    np.testing.assert_array_equal(other(x).numpy(), net(x).numpy())
    M.init.zeros_(other.first.weight)
    assert net.first.weight.numpy().any()


# ---- the modules that there are


def test_linear():
    layer = M.Linear(3, 2)
    assert (layer.weight.shape, layer.bias.shape) == ((2, 3), (2,))
    assert layer.bias.tolist() == [0.0, 0.0]
    M.init.fill_(layer.bias, 0.5)
    x = np.array([[1.0, 2.0, 3.0], [-1.0, 0.0, 1.0]], np.float32)
    expected = x @ layer.weight.numpy().T + 0.5
    np.testing.assert_allclose(layer(gradc.tensor(x)).numpy(), expected, rtol=1e-6)
    assert M.Linear(3, 2, bias=False).bias is None


def test_linear_begins_with_the_variance_of_its_inputs():
    gradc.manual_seed(3)
    weight = M.Linear(400, 300).weight.numpy()
    assert weight.mean() == pytest.approx(0.0, abs=1e-3)
    assert weight.std() == pytest.approx(1 / 20, rel=0.01)


def test_activations():
    values = np.array([[-2.0, 0.0, 1.0], [3.0, -0.5, 2.0]], np.float32)
    x = gradc.tensor(values)
    shares = np.exp(values) / np.exp(values).sum(1, keepdims=True)
    normal = [[-0.04550026, 0.0, 0.8413447], [2.9959502, -0.1542688, 1.9544997]]
    for module, expected in [
        (M.Identity(), values),
        (M.ReLU(), np.maximum(values, 0)),
        (M.Sigmoid(), 1 / (1 + np.exp(-values))),
        (M.Tanh(), np.tanh(values)),
        (M.GELU(), normal),
        (M.Softmax(), shares),
        (M.Softmax(axis=-1), shares),
        (M.Softmax(axis=0), np.exp(values) / np.exp(values).sum(0)),
    ]:
        np.testing.assert_allclose(module(x).numpy(), expected, rtol=2e-6, atol=1e-7)


@pytest.mark.parametrize(("rank", "axis"), [(1, 0), (2, 1), (3, 0), (4, 1)])
def test_softmax_without_an_axis(rank, axis):
    x = gradc.tensor(np.arange(2.0**rank).reshape((2,) * rank))
    np.testing.assert_allclose(M.Softmax()(x).numpy().sum(axis), 1.0, rtol=1e-6)


def test_sequential_of_modules_and_of_a_dict():
    first, second = M.Linear(3, 4), M.Linear(4, 2)
    net = M.Sequential(first, M.ReLU(), second)
    assert [name for name, _ in net.named_parameters()] == [
        *("0.bias", "0.weight", "2.bias", "2.weight"),
    ]
    x = gradc.tensor(np.ones((1, 3)))
    expected = second(M.ReLU()(first(x))).numpy()
    np.testing.assert_array_equal(net(x).numpy(), expected)
    named = M.Sequential(OrderedDict(z=first, relu=M.ReLU(), a=second))
    np.testing.assert_array_equal(named(x).numpy(), expected)
    assert named.z is first


def test_sequential_is_a_sequence():
    net = M.Sequential(*[M.Identity() for _ in range(12)])
    assert len(net) == 12
    assert net[-1] is list(net)[11]
    assert list(net[9:]) == list(net)[9:]
    net[0] = M.ReLU()
    assert isinstance(net[0], M.ReLU)
    del net[1:]
    assert [type(each).__name__ for each in net] == ["ReLU"]
    with pytest.raises(TypeError, match="expected a Module"):
        M.Sequential(len)


def test_repr_shows_the_tree_as_it_was_built():
    net = M.Sequential(M.Linear(2, 3), M.Sequential(M.ReLU(), M.Softmax(axis=1)))
    assert repr(net) == (
        "Sequential(\n"
        "  (0): Linear(in_features=2, out_features=3, bias=True)\n"
        "  (1): Sequential(\n"
        "    (0): ReLU()\n"
        "    (1): Softmax(axis=1)\n"
        "  )\n"
        ")"
    )


def test_gradients_reach_the_parameters():
    net = M.Sequential(M.Linear(2, 3), M.Tanh(), M.Linear(3, 1))
    x = np.array([[0.5, -1.0]], np.float32)
    with GradManager().attach(net.parameters()) as gm:
        gm.backward(net(gradc.tensor(x)).sum())
    hidden = np.tanh(x @ net[0].weight.numpy().T)
    back = net[2].weight.numpy() * (1 - hidden**2)
    np.testing.assert_allclose(net[2].weight.grad.numpy(), hidden, rtol=1e-5)
    np.testing.assert_allclose(net[0].bias.grad.numpy(), back[0], rtol=1e-5)
    np.testing.assert_allclose(net[0].weight.grad.numpy(), back.T @ x, rtol=1e-5)


# ---- first values


def drawn(function, *args, shape=(200, 300), **options):
    tensor = gradc.Parameter(np.zeros(shape, np.float32))
    assert function(tensor, *args, **options) is None
    return tensor.numpy()


@pytest.mark.parametrize(
    ("function", "args", "deviation", "bound"),
    [
        (M.init.uniform_, (-2.0, 2.0), 4 / np.sqrt(12), 2.0),
        (M.init.normal_, (0.0, 0.5), 0.5, np.inf),
        (M.init.xavier_uniform_, (2.0,), 2 * np.sqrt(2 / 500), 2 * np.sqrt(6 / 500)),
        (M.init.xavier_normal_, (), np.sqrt(2 / 500), np.inf),
        (M.init.msra_uniform_, (), np.sqrt(2 / 300), np.sqrt(6 / 300)),
        (M.init.msra_normal_, (1.0, "fan_out"), np.sqrt(1 / 200), np.inf),
        (M.init.msra_normal_, (0, "fan_in", "tanh"), 5 / 3 * np.sqrt(1 / 300), np.inf),
    ],
)
def test_distributions(function, args, deviation, bound):
    gradc.manual_seed(11)
    values = drawn(function, *args)
    assert values.mean() == pytest.approx(0.0, abs=0.02 * deviation)
    assert values.std() == pytest.approx(deviation, rel=0.01)
    assert np.abs(values).max() <= bound * 1.000001


def test_equal_seeds_give_equal_numbers():
    values = []
    for seed in (1, 1, 2):
        gradc.manual_seed(seed)
        values.append(M.Linear(3, 4).weight.numpy())
    np.testing.assert_array_equal(values[0], values[1])
    assert (values[0] != values[2]).all()


def test_constants_keep_type_and_identity():
    assert drawn(M.init.ones_, shape=(2,)).tolist() == [1.0, 1.0]
    assert drawn(M.init.fill_, 2.5, shape=()).tolist() == 2.5
    assert drawn(M.init.zeros_, shape=(1,)).dtype == np.float32


def test_fans():
    def weights(*shape):
        return gradc.tensor(np.zeros(shape, np.float32))

    assert M.init.calculate_fan_in_and_fan_out(weights(5, 7)) == (7, 5)
    assert M.init.calculate_fan_in_and_fan_out(weights(5, 7, 3, 3)) == (63, 45)
    assert M.init.calculate_fan_in_and_fan_out(weights(2, 5, 7, 3, 3)) == (63, 45)
    with pytest.raises(ValueError, match="two axes"):
        M.init.calculate_fan_in_and_fan_out(weights(5))
    with pytest.raises(ValueError, match="fan_in or fan_out"):
        M.init.calculate_correct_fan(weights(5, 7), "fan")


def test_gains():
    assert M.init.calculate_gain("linear") == 1.0
    assert M.init.calculate_gain("relu") == pytest.approx(np.sqrt(2))
    assert M.init.calculate_gain("leaky_relu", 1.0) == pytest.approx(1.0)
    with pytest.raises(ValueError, match="swish"):
        M.init.calculate_gain("swish")


def test_what_no_module_takes_is_told_by_its_own_name():
    needed = {"input_size": 2, "hidden_size": 2, "embed_dim": 4, "num_heads": 2}
    wrong = []
    for name in M.__all__:
        kind = getattr(M, name)
        if not (inspect.isclass(kind) and issubclass(kind, M.Module)):
            continue
        parameters = list(inspect.signature(kind.__init__).parameters.values())[1:]
        given = [
            needed.get(each.name, 1)
            for each in parameters
            if each.default is each.empty and each.kind is each.POSITIONAL_OR_KEYWORD
        ]
        try:
            kind(*given, bad=1)
            wrong.append((name, "taken"))
        except TypeError as error:
            told = str(error)
            if not (told.startswith(f"{name}: ") and "bad" in told and __file__ in told):
                wrong.append((name, told))
    assert not wrong


def test_modules_that_hold_one_another_are_shown():
    class Child(M.Module):
        def __init__(self, parent):
            super().__init__()
            self.parent = parent

    class Parent(M.Module):
        def __init__(self):
            super().__init__()
            self.child = Child(self)
            self.listed = [self, self.child]

    parent = Parent()
    shown = repr(parent)
    assert shown.startswith("Parent(\n  (child): Child(\n    (parent): ...")
    sequence = M.Sequential(M.ReLU())
    sequence.own = sequence
    assert "(own): ..." in repr(sequence)
    assert repr(parent) == shown
