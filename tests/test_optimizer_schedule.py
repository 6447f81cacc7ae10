"""Schedules, also inside traced functions."""

import pickle

import numpy as np
import pytest

import gradc
import gradc.optimizer as optim
from gradc import jit
from gradc.autodiff import GradManager


def parameter(values, dtype="float32"):
    return gradc.Parameter(np.array(values), dtype=dtype)


def test_multi_step_lr():
    p = [parameter([1.0]), parameter([1.0])]
    groups = [{"params": p[:1]}, {"params": p[1:], "lr": 2.0}]
    optimizer = optim.SGD(groups, lr=1.0)
    schedule = optim.MultiStepLR(optimizer, [1, 3], gamma=0.5)
    rates = []
    for _ in range(5):
        rates.append([group["lr"] for group in optimizer.param_groups])
        schedule.step()
    assert rates == [[1.0, 2.0], [0.5, 1.0], [0.5, 1.0], [0.25, 0.5], [0.25, 0.5]]


def test_multi_step_lr_resumes():
    optimizer = optim.SGD([parameter([1.0])], lr=1.0)
    schedule = optim.MultiStepLR(optimizer, [2], gamma=0.1)
    schedule.step()
    other = optim.SGD([parameter([1.0])], lr=1.0)
    resumed = optim.MultiStepLR(other, [9])
    resumed.load_state_dict(schedule.state_dict())
    resumed.step()
    assert other.param_groups[0]["lr"] == pytest.approx(0.1)
    with pytest.raises(KeyError, match="initial_lr"):
        optim.MultiStepLR(optim.SGD([parameter([1.0])], lr=1.0), [2], current_epoch=3)


def test_milestones_must_be_in_order():
    optimizer = optim.SGD([parameter([1.0])], lr=1.0)
    with pytest.raises(ValueError, match="order"):
        optim.MultiStepLR(optimizer, [3, 1])
    with pytest.raises(TypeError, match="Optimizer"):
        optim.MultiStepLR(3, [1])


def test_cosine_annealing_lr():
    p = [parameter([1.0]), parameter([1.0])]
    groups = [{"params": p[:1]}, {"params": p[1:], "lr": 2.0}]
    optimizer = optim.SGD(groups, lr=1.0)
    schedule = optim.CosineAnnealingLR(optimizer, 4, eta_min=0.5)
    for epoch in range(6):
        share = (1 + np.cos(np.pi * epoch / 4)) / 2
        rates = [group["lr"] for group in optimizer.param_groups]
        assert rates == pytest.approx([0.5 + 0.5 * share, 0.5 + 1.5 * share])
        schedule.step()
    with pytest.raises(ValueError, match="T_max"):
        optim.CosineAnnealingLR(optimizer, 0)


SHAPES = {
    "step": (lambda o: optim.StepLR(o, 2, 0.5), lambda t: 0.5 ** (t // 2)),
    "exponential": (lambda o: optim.ExponentialLR(o, 0.5), lambda t: 0.5**t),
    "linear": (lambda o: optim.LinearLR(o, 0.25, 1.0, 3), lambda t: min(0.25 + 0.25 * t, 1)),
    "polynomial": (lambda o: optim.PolynomialLR(o, 4, 2.0), lambda t: max(1 - t / 4, 0) ** 2),
    "lambda": (lambda o: optim.LambdaLR(o, lambda t: 1 / (1 + t)), lambda t: 1 / (1 + t)),
    "restarts": (
        lambda o: optim.CosineAnnealingWarmRestarts(o, 2, 2),
        lambda t: (1 + np.cos(np.pi * ([0, 1, 0, 1, 2, 3, 0][t] / [2, 2, 4, 4, 4, 4, 8][t]))) / 2,
    ),
    "warm_up": (
        lambda o: optim.SequentialLR(
            o, [optim.LinearLR(o, 0.5, 1.0, 2), optim.ExponentialLR(o, 0.5)], [2]
        ),
        lambda t: [0.5, 0.75, 1, 0.5, 0.25, 0.125, 0.0625][t],
    ),
}


@pytest.mark.parametrize(("make", "factor"), SHAPES.values(), ids=SHAPES)
def test_shapes_of_schedules(make, factor):
    p = [parameter([1.0]), parameter([1.0])]
    groups = [{"params": p[:1]}, {"params": p[1:], "lr": 2.0}]
    optimizer = optim.SGD(groups, lr=1.0)
    schedule = make(optimizer)
    for epoch in range(7):
        rates = [group["lr"] for group in optimizer.param_groups]
        assert rates == pytest.approx([factor(epoch), 2 * factor(epoch)])
        if epoch == 3:
            state = pickle.loads(pickle.dumps(schedule.state_dict()))
            schedule = make(optimizer)
            schedule.load_state_dict(state)
        schedule.step()


# ---- inside a traced function


@pytest.mark.parametrize(
    "make",
    [
        lambda p: optim.RMSprop(p, lr=0.05, momentum=0.5, centered=True),
        lambda p: optim.LAMB(p, lr=0.05, weight_decay=0.1),
    ],
)
def test_a_traced_step_with_a_schedule(make):
    def problem():
        p = [parameter([1.0, -2.0]), parameter(3.0)]
        gm, optimizer = GradManager().attach(p), make(p)
        cosine = optim.CosineAnnealingLR(optimizer, 5, eta_min=0.01)
        schedule = optim.SequentialLR(optimizer, [optim.LinearLR(optimizer), cosine], [2])

        def step():
            with gm:
                loss = sum((each * each).sum() for each in p)
                gm.backward(loss)
            optimizer.step().clear_grad()
            schedule.step()
            return loss

        return p, step, optimizer

    (p, step, optimizer), (q, other, reference) = problem(), problem()
    traced = jit.trace(step)
    for _ in range(6):
        assert traced().item() == pytest.approx(other().item(), rel=1e-5)
        assert optimizer.param_groups[0]["lr"] == reference.param_groups[0]["lr"]
        for each, expected in zip(p, q, strict=True):
            np.testing.assert_allclose(each.numpy(), expected.numpy(), rtol=1e-5)
