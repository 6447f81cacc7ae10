"""The scaler: gradients in half types, scaled and brought back."""

import math
import pickle

import numpy as np
import pytest

import gradc
import gradc.functional as F
import gradc.optimizer as optim
from gradc.amp import GradScaler
from gradc.autodiff import GradManager


def problem(values=(1.0, -2.0), dtype="float32"):
    p = gradc.Parameter(np.array(values), dtype=dtype)
    return p, GradManager().attach(p)


def test_gradients_are_those_without_a_scale():
    p, gm = problem()
    scaler = GradScaler(init_scale=1024.0)
    for seed in (None, 3.0, gradc.tensor(3.0), [3.0]):
        p.grad = None
        with gm:
            scaler.backward(gm, (p * p).sum(), seed)
        assert p.grad.tolist() == [2.0 * (3 if seed else 1), -4.0 * (3 if seed else 1)]
    p.grad = None
    with gm:
        scaler.backward(gm, [(p * p).sum(), p], [2.0, gradc.tensor([1.0, 0.0])])
    assert p.grad.tolist() == [5, -8]


def test_small_gradients_of_half_types_survive():
    """1e-5 squared is 0 in float16, whose smallest number is 6e-8."""
    p, gm = problem([1e-5], "float16")
    with gm:
        gm.backward((p.astype("float32") * 1e-5).astype("float16").sum() * 1e-3)
    assert p.grad.item() == 0
    p.grad = None
    with gm:
        GradScaler(2.0**14).backward(
            gm, (p.astype("float32") * 1e-5).sum() * 1e-3, unscale_grad=False
        )
    assert p.grad.item() == pytest.approx(1e-8 * 2**14, rel=1e-2)


def test_what_is_not_finite_skips_the_step_and_shrinks_the_scale():
    p, gm = problem()
    scaler, optimizer = GradScaler(init_scale=8.0), optim.SGD([p], lr=0.5)
    with gm:
        scaler.backward(gm, F.sum(p * math.inf))
    assert p.grad is None
    assert scaler.scale_factor == 4
    optimizer.step()
    assert p.tolist() == [1, -2]
    with gm:
        scaler.backward(gm, F.sum(p * p))
    optimizer.step()
    assert p.tolist() == [0, 0]


def test_the_scale_grows_after_an_interval():
    p, gm = problem()
    scaler, fixed = GradScaler(growth_interval=3), GradScaler(growth_interval=0)
    scales = []
    for _ in range(7):
        for each in (scaler, fixed):
            with gm:
                each.backward(gm, F.sum(p * p))
            p.grad = None
        scales.append(scaler.scale_factor)
    assert scales == [16, 16, 32, 32, 32, 64, 64]
    assert fixed.scale_factor == 16
    scaler.update(5)
    assert scaler.scale_factor == 5


def test_the_state_is_taken_over():
    scaler, other = GradScaler(growth_interval=2), GradScaler(init_scale=3)
    scaler.update()
    other.load_state_dict(pickle.loads(pickle.dumps(scaler.state_dict())))
    other.update()
    assert other.scale_factor == 32
    with pytest.raises(ValueError, match="GradScaler: expected"):
        other.load_state_dict({"scale_factor": 1})
    assert other.scale_factor == 32


@pytest.mark.parametrize(
    ("use", "message"),
    [
        (lambda: GradScaler("a"), "a number as init_scale, found 'a'"),
        (lambda: GradScaler(0), "init_scale above 0, found 0"),
        (lambda: GradScaler(backoff_factor=2), "backoff_factor .* from 0 to 1, found 2"),
        (lambda: GradScaler(growth_interval=-1), "growth_interval to be at least 0"),
        (lambda: GradScaler().backward(GradManager(), [], [1.0]), "a dy for each target"),
    ],
)
def test_messages(use, message):
    with pytest.raises((ValueError, TypeError), match=message):
        use()


def test_the_words_for_updating_where_gradients_are_unscaled():
    x = gradc.Parameter([1.0])
    manager = GradManager().attach(x)
    for unscale in (True, False):
        scaler = GradScaler(init_scale=2.0, growth_interval=1)
        with manager:
            scaler.backward(manager, x * x, unscale_grad=unscale, update_scale="if_unscale_grad")
        assert (scaler.scale_factor == 2.0) is not unscale
