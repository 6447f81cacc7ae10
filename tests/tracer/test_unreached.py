"""Mistakes in training that were silent get one warning each, which names the line."""

import gc
import warnings

import numpy as np
import pytest

import gradc
import gradc.functional as F
import gradc.module as M
import gradc.optimizer as optim
from gradc.autodiff import Function, GradManager, TrainingWarning
from gradc.jit import trace


class Double(Function):
    def forward(self, x):
        return x * 2

    def backward(self, g):
        return g * 2


class Problem:
    """A module, its manager, and how its loss is computed."""

    def __init__(self, attached=True):
        self.module = M.Linear(3, 2)
        self.gm = GradManager()
        if attached:
            self.gm.attach(self.module.parameters())
        self.optimizer = optim.SGD(self.module.parameters(), lr=0.1)
        self.x = gradc.tensor(np.ones((4, 3), np.float32))

    def loss(self):
        return F.mean(self.module(self.x) ** 2)


def warned(function, times=3):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for _ in range(times):
            function()
    return [each for each in caught if each.category is TrainingWarning]


def outside(p):
    loss = p.loss()
    with p.gm:
        p.gm.backward(loss)


def outside_and_read(p):
    loss = p.loss()
    loss.item()
    with p.gm:
        p.gm.backward(loss)


def outside_by_record(p):
    loss = p.loss()
    p.gm.record()
    p.gm.backward([loss], [2.0])


def outside_beside_data(p):
    loss = p.loss()
    with p.gm:
        unused = p.x + 1
        p.gm.backward(loss)
    return unused


@pytest.mark.parametrize(
    "case", [outside, outside_and_read, outside_by_record, outside_beside_data]
)
def test_a_loss_from_outside(case):
    problem = Problem()
    (warning,) = warned(lambda: case(problem))
    assert "backward" in str(warning.message) and "inside `with gm:`" in str(warning.message)
    assert warning.filename == __file__
    first = case.__code__.co_firstlineno
    assert first < warning.lineno <= first + 5
    assert f"{__file__}:{warning.lineno}" in str(warning.message)
    assert problem.module.weight.grad is None


def inside(p):
    with p.gm:
        p.gm.backward(p.loss())
    p.optimizer.step().clear_grad()
    p.optimizer.step()  # nothing to do, but its parameters are attached


def constant(p):
    with p.gm:
        p.gm.backward(gradc.tensor(3.0))


def detached(p):
    with p.gm:
        p.gm.backward(F.mean(F.matmul(p.x, p.module.weight.detach().T)))


def detached_loss(p):
    with p.gm:
        p.gm.backward(p.loss().detach())


def quiet(p):
    with p.gm, gradc.no_grad():
        p.gm.backward(p.loss())


def stale(p):
    with p.gm:
        loss = p.loss()
        p.gm.backward(loss)
    with p.gm:
        p.gm.backward(loss)


def read_inside(p):
    with p.gm:
        loss = p.loss()
        loss.item()
        p.gm.backward(loss)


def another_beside(p):
    loss = p.loss()
    with p.gm:
        p.gm.backward([loss, p.loss()])


def of_an_outer_manager(p):
    x = gradc.tensor(2.0)
    with GradManager().attach(p.module.weight) as outer:
        loss = p.loss()
        with GradManager().attach(x) as inner:
            inner.backward(loss)
        outer.backward(loss)


def nothing_attached(p):
    loss = p.loss()
    with GradManager() as gm:
        gm.backward(loss)


def by_a_function(p):
    with p.gm:
        p.gm.backward(F.mean(Double()(p.module.weight)))


def traced(p):
    @trace
    def step():
        with p.gm:
            loss = p.loss()
            p.gm.backward(loss)
        p.optimizer.step().clear_grad()
        return loss

    for _ in range(3):
        step()


def no_targets(p):
    with p.gm:
        p.gm.backward()


RIGHT = (
    *(inside, constant, detached, detached_loss, quiet, stale, read_inside, another_beside),
    *(of_an_outer_manager, nothing_attached, by_a_function, traced, no_targets),
)


def test_what_is_right_or_meant_is_not_warned_of():
    found = {case.__name__: warned(lambda c=case: c(Problem())) for case in RIGHT}
    assert not {name: str(each[0].message) for name, each in found.items() if each}


@pytest.mark.parametrize("kind", [optim.SGD, optim.Adam, optim.RMSprop, optim.Adagrad])
def test_an_optimizer_of_nothing_attached(kind):
    problem = Problem(attached=False)
    problem.gm.attach(problem.x)
    optimizer = kind(problem.module.parameters(), lr=0.1)

    def step():
        with problem.gm:
            problem.gm.backward(problem.loss())
        optimizer.step()

    (warning,) = warned(step)
    text = str(warning.message)
    assert f"{kind.__name__}.step" in text and ".attach(module.parameters())" in text
    assert f"{__file__}:{warning.lineno}" in text


def test_an_optimizer_with_gradients_of_another_origin():
    problem = Problem(attached=False)
    for each in problem.module.parameters():
        each.grad = F.ones_like(each)
    assert not warned(problem.optimizer.step)


def test_a_manager_that_is_gone_attaches_nothing():
    problem = Problem()
    problem.gm = None
    gc.collect()
    assert len(warned(problem.optimizer.step)) == 1
