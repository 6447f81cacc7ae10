"""Optimizers against closed forms, recorded values, and NumPy in double precision."""

import copy
import pickle

import numpy as np
import pytest
from gradc.runtime.program import program_counts
from gradc.tracer.recording import STATISTICS
from walk import walk

import gradc
import gradc.optimizer as optim
from gradc.autodiff import GradManager

# ---- a reference of its own: (p, g, state, t, **hyper-parameters) -> p, in double precision


def sgd(p, g, s, t, lr, momentum=0.0, nesterov=False, weight_decay=0.0):
    g = g + weight_decay * p
    s["v"] = momentum * s.get("v", 0) + g
    return p - lr * (g + momentum * s["v"] if nesterov else s["v"])


def adam(p, g, s, t, lr, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.0, decoupled=0.0):
    g = g + weight_decay * p
    s["m"] = betas[0] * s.get("m", 0) + (1 - betas[0]) * g
    s["v"] = betas[1] * s.get("v", 0) + (1 - betas[1]) * g**2
    mean, square = s["m"] / (1 - betas[0] ** t), s["v"] / (1 - betas[1] ** t)
    return p * (1 - lr * decoupled) - lr * mean / (np.sqrt(square) + eps)


def adamw(p, g, s, t, lr, weight_decay=0.01, **rest):
    return adam(p, g, s, t, lr, decoupled=weight_decay, **rest)


def adagrad(p, g, s, t, lr=1e-2, lr_decay=0.0, eps=1e-10, weight_decay=0.0):
    g = g + weight_decay * p
    s["s"] = s.get("s", 0) + g**2
    return p - lr / (1 + (t - 1) * lr_decay) * g / (np.sqrt(s["s"]) + eps)


def adadelta(p, g, s, t, lr=1.0, rho=0.9, eps=1e-6, weight_decay=0.0):
    g = g + weight_decay * p
    s["s"] = rho * s.get("s", 0) + (1 - rho) * g**2
    change = g * np.sqrt((s.get("u", 0) + eps) / (s["s"] + eps))
    s["u"] = rho * s.get("u", 0) + (1 - rho) * change**2
    return p - lr * change


def rmsprop(
    p, g, s, t, lr=1e-2, alpha=0.99, eps=1e-8, weight_decay=0.0, momentum=0.0, centered=False
):
    g = g + weight_decay * p
    s["s"] = alpha * s.get("s", 0) + (1 - alpha) * g**2
    s["m"] = alpha * s.get("m", 0) + (1 - alpha) * g
    square = s["s"] - s["m"] ** 2 if centered else s["s"]
    s["v"] = momentum * s.get("v", 0) + g / (np.sqrt(square) + eps)
    return p - lr * s["v"]


def lamb(p, g, s, t, lr, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.0, **choices):
    s["m"] = betas[0] * s.get("m", 0) + (1 - betas[0]) * g
    s["v"] = betas[1] * s.get("v", 0) + (1 - betas[1]) * g**2
    t = t if choices.get("bias_correction", True) else np.inf
    mean, square = s["m"] / (1 - betas[0] ** t), s["v"] / (1 - betas[1] ** t)
    change = mean / (np.sqrt(square) + eps) + weight_decay * p
    adapts = weight_decay or choices.get("always_adapt")
    return p - lr * (np.linalg.norm(p) / np.linalg.norm(change) if adapts else 1.0) * change


CASES = [
    (optim.SGD, sgd, {"lr": 0.1}),
    (optim.SGD, sgd, {"lr": 0.1, "weight_decay": 0.3}),
    (optim.SGD, sgd, {"lr": 0.1, "momentum": 0.9}),
    (optim.SGD, sgd, {"lr": 0.1, "momentum": 0.9, "nesterov": True, "weight_decay": 0.01}),
    (optim.Adam, adam, {"lr": 0.05}),
    (optim.Adam, adam, {"lr": 0.05, "betas": (0.5, 0.9), "eps": 1e-3, "weight_decay": 0.1}),
    (optim.AdamW, adamw, {"lr": 0.05}),
    (optim.AdamW, adamw, {"lr": 0.05, "weight_decay": 0.5}),
    (optim.Adagrad, adagrad, {"lr": 0.1, "lr_decay": 0.2, "weight_decay": 0.01}),
    (optim.Adadelta, adadelta, {"rho": 0.8, "weight_decay": 0.01}),
    (optim.RMSprop, rmsprop, {"weight_decay": 0.1}),
    (optim.RMSprop, rmsprop, {"lr": 0.05, "alpha": 0.5, "momentum": 0.9, "eps": 1e-3}),
    (optim.RMSprop, rmsprop, {"lr": 0.05, "alpha": 0.9, "centered": True, "momentum": 0.5}),
    (optim.LAMB, lamb, {"lr": 0.05}),
    (optim.LAMB, lamb, {"lr": 0.05, "weight_decay": 0.1, "betas": (0.5, 0.9)}),
    (optim.LAMB, lamb, {"lr": 0.05, "always_adapt": True, "bias_correction": False}),
]


def parameter(values, dtype="float32"):
    return gradc.Parameter(np.array(values), dtype=dtype)


def with_gradient(p, gradient):
    p.grad = gradc.tensor(np.array(gradient), dtype=p.dtype)
    return p


@walk("dtype", ["float32", "float64"])
@walk(("make", "reference", "options"), CASES)
def test_steps_follow_the_formula(make, reference, options, dtype):
    random = np.random.default_rng(5)
    values = [random.normal(size=(3, 4)), random.normal(size=5), random.normal(size=())]
    parameters = [parameter(each, dtype) for each in values]
    values = [each.numpy().astype(np.float64) for each in parameters]
    states = [{} for _ in values]
    optimizer = make(parameters, **options)
    for t in range(1, 6):
        for place, p in enumerate(parameters):
            with_gradient(p, random.normal(size=p.shape))
            g = p.grad.numpy().astype(np.float64)
            values[place] = reference(values[place], g, states[place], t, **options)
        optimizer.step()
    tolerance = 2e-6 if dtype == "float32" else 1e-13
    for p, value in zip(parameters, values, strict=True):
        np.testing.assert_allclose(p.numpy(), value, rtol=tolerance, atol=tolerance)


# Three steps on the sum of p², from (1, -2): what MegEngine 1.13 gives for the first element.
@pytest.mark.parametrize(
    ("make", "expected"),
    [
        (lambda p: optim.SGD(p, lr=0.1), 0.512),
        (lambda p: optim.SGD(p, lr=0.1, momentum=0.9), 0.062),
        (lambda p: optim.SGD(p, lr=0.1, momentum=0.9, nesterov=True), -0.10835),
        (lambda p: optim.SGD(p, lr=0.1, weight_decay=0.5), 0.421875),
        (lambda p: optim.Adam(p, lr=0.1), 0.70159),
        (lambda p: optim.AdamW(p, lr=0.1), 0.69891),
        (lambda p: optim.Adagrad(p, lr=0.1), 0.78046),
        (lambda p: optim.Adadelta(p, lr=0.1), 0.99903),
    ],
)
def test_three_steps_as_megengine_takes_them(make, expected):
    p = parameter([1.0, -2.0])
    optimizer, gm = make([p]), GradManager().attach(p)
    for _ in range(3):
        with gm:
            gm.backward((p * p).sum())
        optimizer.step().clear_grad()
    assert p.numpy()[0] == pytest.approx(expected, abs=6e-6)


def test_step_gives_the_optimizer_and_clear_grad_nothing():
    p = with_gradient(parameter([1.0]), [1.0])
    optimizer = optim.SGD([p], lr=0.5)
    assert optimizer.step() is optimizer
    assert optimizer.clear_grad() is None
    assert p.grad is None
    assert p.tolist() == [0.5]


def test_the_parameter_stays_the_same_object_and_aliases_keep_their_values():
    p = with_gradient(parameter([1.0]), [1.0])
    before, view = gradc.tensor(p), p.numpy()
    optim.SGD([p], lr=0.5).step()
    assert isinstance(p, gradc.Parameter)
    assert (p.tolist(), before.tolist(), view.tolist()) == ([0.5], [1.0], [1.0])


def test_parameters_without_gradient_are_skipped():
    reached, other = parameter([1.0]), parameter([1.0])
    optimizer = optim.Adam([reached, other], lr=0.1)
    for gradient in (None, [2.0]):
        with_gradient(reached, [2.0])
        other.grad = None if gradient is None else gradc.tensor(gradient)
        optimizer.step()
    alone = parameter([1.0])  # the first update of `other` is corrected as a first one
    optim.Adam([with_gradient(alone, [2.0])], lr=0.1).step()
    assert other.tolist() == alone.tolist()
    assert reached.item() < other.item()


def test_a_step_without_any_gradient_does_nothing():
    before = STATISTICS.evaluations
    attached = parameter([1.0])
    manager = GradManager().attach(attached)
    optim.SGD([attached], lr=1.0).step()
    assert STATISTICS.evaluations == before
    assert manager.attached_tensors() == [attached]


def test_groups_have_hyperparameters_of_their_own():
    first, second, third = (with_gradient(parameter([1.0]), [1.0]) for _ in range(3))
    groups = [{"params": [first]}, {"params": [second], "lr": 0.25, "momentum": 0.5}]
    optimizer = optim.SGD(groups, lr=0.5)
    optimizer.add_param_group({"params": third, "lr": 0.125})
    optimizer.step().step()
    assert [each.item() for each in (first, second, third)] == [0.0, 0.375, 0.75]
    assert [each["lr"] for each in optimizer.param_groups] == [0.5, 0.25, 0.125]


def test_half_precision_parameters_keep_their_state_in_single_precision():
    p = parameter([1.0], "float16")
    optimizer = optim.Adam([p], lr=0.125)
    for _ in range(3):
        with_gradient(p, [1e-4])
        optimizer.step()
    assert p.dtype == np.float16
    assert p.item() == pytest.approx(1 - 3 * 0.125, abs=2e-3)
    assert optimizer.state_dict()["state"][0]["exp_avg_sq"].dtype == np.float32


# ---- what a step costs


def loop(optimizer, p, steps, rates=()):
    gm = GradManager().attach(p)
    for step in range(steps):
        for name, values in dict(rates).items():
            optimizer.param_groups[0][name] = values[step % len(values)]
        with gm:
            gm.backward(sum((each * each).sum() for each in p))
        optimizer.step().clear_grad()


@pytest.mark.parametrize("make", [each[0] for each in CASES])
def test_a_step_is_one_program_and_a_repeat_prepares_nothing(make):
    p = [parameter(np.ones((2, k))) for k in range(1, 7)]
    optimizer = make(p, lr=0.1)
    loop(optimizer, p, 2)
    STATISTICS.reset()
    loop(optimizer, p, 5)
    assert STATISTICS.evaluations == 10  # the gradients and the update, five times
    assert STATISTICS.identity_hits == 10
    assert (STATISTICS.recorded, STATISTICS.prepared, STATISTICS.adjoints) == (0, 0, 0)


def test_numbers_that_are_equal_for_a_while_build_nothing():
    p = [parameter([1.0]), parameter([2.0])]
    optimizer = optim.SGD(p, lr=0.25, momentum=0.25, weight_decay=0.25)
    loop(optimizer, p, 3)
    STATISTICS.reset()
    built = program_counts()
    changes = {"lr": (0.25, 0.5, 1, 0.1), "momentum": (0.5, 0.25), "weight_decay": (0.25, 2, 0.3)}
    loop(optimizer, p, 12, changes)
    assert (STATISTICS.recorded, STATISTICS.prepared) == (0, 0)
    assert program_counts() == built


def test_many_parameters_are_updated_by_one_program():
    p = [with_gradient(parameter([float(k)]), [1.0]) for k in range(600)]
    optimizer = optim.Adam(p, lr=1.0)
    STATISTICS.reset()
    optimizer.step()
    assert STATISTICS.evaluations == 1
    np.testing.assert_allclose([each.item() for each in p], np.arange(600) - 1.0, atol=1e-4)


# ---- beside managers


def test_a_step_within_the_block_after_backward():
    p = parameter([1.0])
    optimizer, gm = optim.SGD([p], lr=0.25), GradManager().attach(p)
    for _ in range(2):
        with gm:
            gm.backward((p * p).sum())
            optimizer.step().clear_grad()
    assert p.tolist() == [0.25]


def test_a_step_before_backward_leaves_the_gradient_at_the_old_value():
    p = parameter([3.0])
    optimizer, gm = optim.SGD([with_gradient(p, [1.0])], lr=0.5), GradManager().attach(p)
    with gm:
        loss = (p * p).sum()
        optimizer.step().clear_grad()
        gm.backward(loss)
    assert (p.tolist(), p.grad.tolist()) == ([2.5], [6.0])


def test_steps_while_an_outer_manager_records():
    p, x = parameter([1.0]), gradc.tensor([2.0])
    optimizer, inner = optim.SGD([p], lr=0.125), GradManager().attach(p)
    with GradManager().attach(x) as outer:
        for _ in range(3):
            with inner:
                inner.backward((x * p * p).sum())
            optimizer.step().clear_grad()
        outer.backward((p * x).sum())
    assert p.tolist() == [0.125]  # p - 0.125 * 2 * 2 * p = p / 2
    assert x.grad.tolist() == [0.125]  # an update depends on nothing


def test_an_update_that_fails_leaves_all_untouched():
    p = with_gradient(parameter([1.0]), [1.0])
    optimizer = optim.SGD([p], lr=0.5, momentum=0.9)
    p.grad = gradc.tensor([1.0, 2.0])[gradc.tensor([5])]  # is looked at only when it runs
    with pytest.raises(IndexError):
        optimizer.step()
    assert p.tolist() == [1.0]
    with_gradient(p, [1.0])
    optimizer.step()
    assert p.tolist() == [0.5]


# ---- mistakes


def test_what_cannot_be_optimized():
    p = parameter([1.0])
    with pytest.raises(ValueError, match="empty"):
        optim.SGD([], lr=0.1)
    with pytest.raises(TypeError, match="Parameter"):
        optim.SGD([gradc.tensor([1.0])], lr=0.1)
    with pytest.raises(TypeError, match="fixed order"):
        optim.SGD({p}, lr=0.1)
    with pytest.raises(TypeError):
        optim.SGD(3, lr=0.1)
    for expected in (AssertionError, ValueError):
        with pytest.raises(expected, match="another group"):
            optim.SGD([{"params": [p]}, {"params": [p]}], lr=0.1)


@pytest.mark.parametrize(
    ("make", "options"),
    [
        (optim.SGD, {"lr": -0.1}),
        (optim.SGD, {"lr": float("nan")}),
        (optim.SGD, {"lr": 0.1, "momentum": -1}),
        (optim.SGD, {"lr": 0.1, "weight_decay": -1}),
        (optim.Adam, {"lr": 0.1, "betas": (1.0, 0.9)}),
        (optim.Adam, {"lr": 0.1, "eps": -1e-8}),
        (optim.RMSprop, {"alpha": 1.0}),
        (optim.RMSprop, {"momentum": -0.5}),
        (optim.LAMB, {"lr": 0.1, "betas": (0.9, 1.0)}),
        (optim.LAMB, {"lr": -0.1}),
    ],
)
def test_hyperparameters_out_of_range(make, options):
    for expected in (AssertionError, ValueError):
        with pytest.raises(expected):
            make([parameter([1.0])], **options)


def test_a_gradient_of_another_shape():
    p = parameter([1.0, 2.0])
    p.grad = gradc.tensor([1.0])
    with pytest.raises(ValueError, match=r"shape \[2\].*found \[1\]"):
        optim.SGD([p], lr=0.1).step()


# ---- saving


@walk("make", [each[0] for each in CASES])
@walk("saved", ["state_dict", "deepcopy", "pickle"])
def test_training_goes_on_where_it_was_saved(make, saved):
    p = [parameter([1.0, -2.0]), parameter(3.0)]
    optimizer = make(p, lr=0.1)
    loop(optimizer, p, 3)
    if saved == "state_dict":
        q = [gradc.Parameter(each.numpy()) for each in p]
        other = make(q, lr=0.7)
        other.load_state_dict(optimizer.state_dict())
    elif saved == "deepcopy":
        q, other = copy.deepcopy((p, optimizer))
    else:
        q, other = pickle.loads(pickle.dumps((p, optimizer)))
    loop(optimizer, p, 2)
    loop(other, q, 2)
    assert [each.tolist() for each in p] == [each.tolist() for each in q]


def test_state_dict_holds_arrays_and_numbers():
    p = with_gradient(parameter([1.0]), [2.0])
    optimizer = optim.SGD([parameter([5.0]), p], lr=0.1, momentum=0.9)
    optimizer.step()
    state = optimizer.state_dict()
    (group,) = state["param_groups"]
    assert (group["lr"], group["momentum"], group["params"]) == (0.1, 0.9, [0, 1])
    assert list(state["state"]) == [1]
    assert state["state"][1]["momentum_buffer"].tolist() == [2.0]
    assert isinstance(state["state"][1]["momentum_buffer"], np.ndarray)
    kept = optimizer.state_dict(keep_var=True)
    assert isinstance(kept["state"][1]["momentum_buffer"], gradc.Tensor)


def test_a_state_that_does_not_fit_changes_nothing():
    p = with_gradient(parameter([1.0]), [2.0])
    optimizer = optim.SGD([p], lr=0.1, momentum=0.9)
    optimizer.step()
    state = optimizer.state_dict()
    larger = optim.SGD([parameter([1.0, 2.0])], lr=0.5, momentum=0.9)
    for wrong, message in [
        (state, "momentum_buffer"),
        ({**state, "param_groups": []}, "1 groups, found 0"),
        ({**state, "state": {7: {}}}, r"unknown parameters \[7\]"),
        ({**state, "param_groups": [{"params": [0]}]}, "lacks"),
        ({**state, "param_groups": [{"params": [0, 1]}]}, "1 parameters, found 2"),
    ]:
        with pytest.raises(ValueError, match=message):
            larger.load_state_dict(wrong)
    assert larger.param_groups[0]["lr"] == 0.5


def test_lamb_moves_parameters_of_zeros():
    p = with_gradient(parameter([0.0, 0.0]), [1.0, -2.0])
    optim.LAMB([p], lr=0.125, always_adapt=True).step()
    np.testing.assert_allclose(p.numpy(), [-0.125, 0.125], rtol=1e-5)


@pytest.mark.parametrize("cls", [optim.SGD, optim.Adam, optim.AdamW, optim.LAMB])
def test_errors_of_calls_name_the_line(cls):
    p = gradc.Parameter([1.0])
    name = cls.__name__
    for call, message in [
        (lambda: cls([p]), rf"{name}: missing a required argument: 'lr'; it is {name}\(params, lr"),
        (lambda: cls([]), f"{name}: missing a required argument: 'lr'"),
        (lambda: cls([p], lr=0.1, speed=2), f"{name}: got an unexpected keyword argument 'speed'"),
    ]:
        with pytest.raises(TypeError, match=message) as caught:
            call()
        assert f"(at {__file__}:" in str(caught.value)
    with pytest.raises(
        ValueError, match=f"{name}: expected parameters to optimize, found an empty"
    ):
        cls([], lr=0.1)
    again = copy.deepcopy(cls([p], lr=0.1))
    assert again.param_groups[0]["lr"] == 0.1


def test_a_state_goes_through_a_file_of_numpy(tmp_path):
    """Either by its parts, or as one of several entries; then it goes on as the other does."""
    for kind in (optim.SGD, optim.Adam, optim.AdamW, optim.Adagrad, optim.Adadelta, optim.LAMB):
        options = {"momentum": 0.5} if kind is optim.SGD else {}
        weights = [parameter([1.0, -2.0]), parameter([[3.0]])]
        groups = [{"params": weights[0]}, {"params": weights[1], "lr": 0.25}]
        first = kind(groups, lr=0.125, **options)
        for each in weights:
            with_gradient(each, np.ones(each.shape))
        first.step().step()
        np.savez(tmp_path / "parts.npz", **first.state_dict())
        np.savez(tmp_path / "whole.npz", optimizer=first.state_dict(), other=np.ones(2))
        for file, entry in (("parts.npz", None), ("whole.npz", "optimizer")):
            own = [gradc.Parameter(each.numpy()) for each in weights]
            second = kind([{"params": own[0]}, {"params": own[1]}], lr=1.0, **options)
            with np.load(tmp_path / file, allow_pickle=True) as found:
                second.load_state_dict(found if entry is None else found[entry])
            third = kind([{"params": [gradc.Parameter(each.numpy())]} for each in weights], lr=1.0)
            third.load_state_dict(first.state_dict())
            for mine, theirs in (
                (second, own),
                (third, [g["params"][0] for g in third.param_groups]),
            ):
                for each in theirs:
                    with_gradient(each, np.ones(each.shape))
                mine.step()
            for a, b in zip(own, third.param_groups, strict=True):
                np.testing.assert_array_equal(a.numpy(), b["params"][0].numpy(), kind.__name__)
            assert [group["lr"] for group in second.param_groups] == [0.125, 0.25]
