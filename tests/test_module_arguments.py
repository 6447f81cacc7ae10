"""What constructors of modules and optimizers refuse: parameter, expected, found, and the line."""

import numpy as np
import pytest
from walk import walk

import gradc
import gradc.module as M
import gradc.optimizer as optim


def parameter():
    return gradc.Parameter([1.0, 2.0])


X = gradc.tensor(np.zeros((3, 4)))


def sgd():
    return optim.SGD([parameter()], lr=0.1)


MODULES = [
    (lambda: M.Linear(3, "a"), "Linear: expected an integer as out_features, found 'a'"),
    (lambda: M.Linear(2.5, 3), "Linear: expected an integer as in_features, found 2.5"),
    (lambda: M.Linear(3, -1), "Linear: expected out_features to be at least 0, found -1"),
    (lambda: M.Conv2d("a", 4, 3), "Conv2d: expected an integer as in_channels, found 'a'"),
    (lambda: M.Conv2d(3, 4, -1), "Conv2d: expected kernel_size .* at least 1, found -1"),
    (lambda: M.Conv2d(3, 4, "a"), "Conv2d: expected .* as kernel_size, found 'a'"),
    (lambda: M.Conv1d(3, 4, 3, 1, 1.5), "Conv1d: expected .* as padding, found 1.5"),
    (lambda: M.Conv2d(3, 4, 3, groups=2), r"Conv2d: \[3, 4\] .* no multiples of 2 groups"),
    (lambda: M.Conv2d(3, 4, 3, groups=0), "Conv2d: expected groups to be at least 1, found 0"),
    (lambda: M.Conv2d(3, 4, 3, padding_mode="x"), "padding_mode to be one of zeros, .*'x'"),
    (lambda: M.ConvTranspose2d(3, 4, 3, groups="a"), "an integer as groups, found 'a'"),
    (lambda: M.Dropout(1.5), "Dropout: expected a probability from 0 to 1, found 1.5"),
    (lambda: M.Dropout("a"), "Dropout: expected a number as a probability, found 'a'"),
    (lambda: M.BatchNorm2d("a"), "BatchNorm2d: expected an integer as num_features"),
    (lambda: M.BatchNorm2d(3, momentum=1.5), "momentum to be a number from 0 to 1, found 1.5"),
    (lambda: M.BatchNorm2d(3, eps=-1.0), "eps to be a number from 0 on, found -1.0"),
    (lambda: M.BatchNorm2d(3, param_dim="x"), "param_dim to be one of"),
    (lambda: M.LayerNorm((3, "a")), "LayerNorm: expected .* as normalized_shape"),
    (lambda: M.LayerNorm(-1), "LayerNorm: expected normalized_shape to be at least 0"),
    (lambda: M.GroupNorm(2, 3), "GroupNorm: 3 channels are no multiple of 2 groups"),
    (lambda: M.RMSNorm(3, eps="a"), "RMSNorm: expected a number as eps, found 'a'"),
    (lambda: M.InstanceNorm(None), "InstanceNorm: expected an integer as num_channels"),
    (lambda: M.MaxPool2d("a"), "MaxPool2d: expected .* as kernel_size, found 'a'"),
    (lambda: M.MaxPool1d(2, 2, 2), "MaxPool1d: expected a padding below the window"),
    (lambda: M.AvgPool3d(2, mode="x"), "AvgPool3d: expected mode to be one of average"),
    (lambda: M.AdaptiveAvgPool2d(0), "AdaptiveAvgPool2d: expected oshp .* at least 1"),
    (lambda: M.Embedding(-1, 3), "Embedding: expected num_embeddings to be at least 0"),
    (lambda: M.Embedding(3, 4, padding_idx="a"), "an integer as padding_idx, found 'a'"),
    (lambda: M.LSTM(3, "a"), "LSTM: expected an integer as hidden_size, found 'a'"),
    (lambda: M.GRUCell(-3, 4), "GRUCell: expected input_size to be at least 0, found -3"),
    (lambda: M.MultiHeadAttention("a", 2), "an integer as embed_dim, found 'a'"),
    (lambda: M.MultiHeadAttention(4, 0), "num_heads to be at least 1, found 0"),
    (lambda: M.LeakyReLU("a"), "LeakyReLU: expected a number as negative_slope, found 'a'"),
    (lambda: M.PReLU(-1), "PReLU: expected num_parameters to be at least 0, found -1"),
    (lambda: M.Softmax(0.5), "Softmax: expected an integer as axis, found 0.5"),
    (lambda: M.GELU("x"), "GELU: expected approximate to be one of none, tanh, found 'x'"),
    (lambda: M.Hardtanh(1, 0), "Hardtanh: expected max_val to be a number from 1 on, found 0"),
    (lambda: M.Sequential(3), "expected a Module in a Sequential, found 3"),
    (lambda: M.ModuleList([3]), "expected a Module, found 3"),
    (lambda: M.Linear(2, 3).register_forward_hook(3), "expected a function as hook, found 3"),
    (lambda: M.Linear(2, 3).apply(3), "apply: expected a function of a module, found 3"),
    (lambda: M.Linear(2, 3).load_state_dict(3), "load_state_dict: expected a dict or a function"),
    (lambda: M.init.normal_(parameter(), 0, -1), "normal_: expected std .* from 0 on, found -1"),
    (lambda: M.init.zeros_(3), "fill_: expected a tensor, found 3"),
]
CALLS = [
    (lambda: M.Linear(2, 3)(X), r"linear: .* found \[3, 4\]"),
    (lambda: M.LSTM(3, 4)(X), r"LSTM: .* 3 axes and 3 features, found \[3, 4\]"),
    (lambda: M.GRU(3, 4)(X.reshape(1, 3, 4)), r"GRU: .* found \[1, 3, 4\]"),
    (lambda: M.RNN(4, 4)(X.reshape(1, 3, 4)[:0]), r"RNN: .* found an input \[0, 3, 4\]"),
    (lambda: M.LSTMCell(3, 4)(X), r"LSTMCell: .* 2 axes and 3 features, found \[3, 4\]"),
    (lambda: M.MultiHeadAttention(4, 2)(X), r"MultiHeadAttention: .*found \[3, 4\]"),
    (lambda: M.BatchNorm2d(3)(X), "BatchNorm2d: expected an input with 4 axes, found 2"),
]
OPTIMIZERS = [
    (lambda: optim.SGD([parameter()], lr="a"), "expected a number as lr, found 'a'"),
    (lambda: optim.SGD([parameter()], lr=None), "expected a number as lr, found None"),
    (lambda: optim.SGD([parameter()], lr=-1), "expected lr to be at least 0, found -1"),
    (lambda: optim.SGD([parameter()], lr=1, momentum="a"), "a number as momentum, found 'a'"),
    (lambda: optim.SGD([parameter()], lr=1, nesterov=True), "nesterov needs a momentum"),
    (lambda: optim.SGD([{"params": [parameter()], "lr": "a"}], lr=1), "as lr, found 'a'"),
    (lambda: optim.Adam([parameter()], lr=1, betas=0.9), "two numbers as betas, found 0.9"),
    (lambda: optim.Adam([parameter()], lr=1, betas=(0.9,)), "two numbers as betas"),
    (lambda: optim.LAMB([parameter()], lr=1, betas=(0.9, 1.0)), "betas .* below 1.0, found 1.0"),
    (lambda: optim.Adadelta([parameter()], rho="a"), "a number as rho, found 'a'"),
    (lambda: optim.RMSprop([parameter()], alpha=2), "alpha .* below 1.0, found 2"),
    (lambda: optim.StepLR(sgd(), 0), "StepLR: expected step_size to be at least 1, found 0"),
    (lambda: optim.ExponentialLR(sgd(), "a"), "ExponentialLR: expected a number as gamma"),
    (lambda: optim.LambdaLR(sgd(), [abs, abs]), "LambdaLR: expected a function, or one for each"),
    (lambda: optim.MultiStepLR(sgd(), 3), "MultiStepLR: expected epochs as milestones, found 3"),
    (lambda: optim.CosineAnnealingLR(sgd(), "a"), "an integer as T_max, found 'a'"),
    (lambda: optim.SequentialLR(sgd(), [], [1]), "a milestone between each two schedules"),
    (lambda: optim.clip_grad_norm(3, 1), "expected tensors with gradients, found 3"),
    (lambda: optim.clip_grad_norm([parameter()], "a"), "a number as max_norm, found 'a'"),
    (lambda: optim.clip_grad_norm([parameter()], -1), "max_norm .* from 0 on, found -1"),
    (lambda: optim.clip_grad_value([parameter()], 2, 1), "lower <= upper, found 2.0 and 1.0"),
    (lambda: sgd().load_state_dict({}), "expected a dict with param_groups and state"),
]


@walk(("use", "message"), MODULES + CALLS + OPTIMIZERS)
def test_one_clear_error(use, message):
    with pytest.raises((ValueError, TypeError), match=message) as caught:
        use()
    assert len(str(caught.value).splitlines()) == 1
    assert "test_module_arguments.py:" in str(caught.value)


def test_sizes_may_be_numpy_integers_and_tensors():
    assert M.Linear(np.int64(3), gradc.tensor(2)).weight.shape == (2, 3)
    assert M.LayerNorm([np.int32(3), 2]).weight.shape == (3, 2)
    assert optim.SGD([parameter()], lr=np.float32(0.5)).param_groups[0]["lr"] == 0.5


@pytest.mark.parametrize("change", [{"lr": "a"}, {"lr": None}, {"momentum": "a"}])
def test_a_step_with_a_wrong_hyperparameter_changes_nothing(change):
    p = parameter()
    optimizer = optim.SGD([p], lr=0.1, momentum=0.5)
    p.grad = gradc.tensor([1.0, 1.0])
    optimizer.param_groups[0].update(change)
    with pytest.raises(TypeError, match=f"expected a number as {next(iter(change))}"):
        optimizer.step()
    assert p.tolist() == [1, 2]
    optimizer.param_groups[0].update({"lr": 0.1, "momentum": 0.5})
    optimizer.step()
    assert p.numpy() == pytest.approx([0.9, 1.9])


def test_a_saved_state_with_a_wrong_hyperparameter_changes_nothing():
    optimizer = optim.Adam([parameter()], lr=0.1)
    state = optimizer.state_dict()
    state["param_groups"][0].update(betas=(0.5, 0.5), lr="a")
    with pytest.raises(TypeError, match="expected a number as lr, found 'a'"):
        optimizer.load_state_dict(state)
    assert optimizer.param_groups[0]["lr"] == 0.1
    assert optimizer.param_groups[0]["betas"] == (0.9, 0.999)
