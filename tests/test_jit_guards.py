"""trace: what a replay depends on is looked at: aliases, overridden attributes, arrays."""

import numpy as np
import pytest
from gradc.tracer.evaluator import InterpretingEvaluator, current_evaluator, set_evaluator

import gradc
import gradc.module as M
import gradc.optimizer as optim
from gradc.autodiff import GradManager
from gradc.jit import trace


@pytest.fixture(autouse=True)
def interpreted():
    """A compiler is not the point here."""
    before = current_evaluator()
    set_evaluator(InterpretingEvaluator())
    yield
    set_evaluator(before)


def numbers(*values):
    return gradc.tensor(np.array(values, np.float32))


# ---- an argument that the function also finds by itself


W = None
V = None


@pytest.mark.parametrize("own_first", [False, True])
def test_a_tensor_closed_over_was_an_argument_too(own_first):
    w = gradc.Parameter([1.0, 2.0])
    times = trace(lambda x: w * x)
    calls = [(numbers(1, 1), [1, 2]), (w, [1, 4]), (numbers(3, 3), [3, 6]), (w, [1, 4])]
    for given, expected in calls[own_first:]:
        assert times(given).tolist() == expected
    assert times(numbers(5, 5)).tolist() == [5, 10]
    assert times.statistics().traced == 2


def test_what_is_written_goes_to_the_tensor_closed_over():
    c, x = numbers(1, 1), numbers(1, 2)

    @trace
    def added(x):
        c.__iadd__(x)
        return c * x

    assert added(x).tolist() == [2, 6]
    assert added(x).tolist() == [3, 10]
    assert added(c).tolist() == [36, 100]  # c is 6 and 10
    assert added(x).tolist() == [7, 24]
    assert c.tolist() == [7, 12]


def test_a_global_was_the_argument():
    global W
    W = first = numbers(1, 2)
    times = trace(lambda x: W * x)
    assert times(first).tolist() == [1, 4]
    W = numbers(5, 6)
    assert times(first).tolist() == [5, 12]
    assert times(W).tolist() == [25, 36]
    W = numbers(7, 8)
    assert times(W).tolist() == [49, 64]  # both are another one, the same: replayed
    assert times.statistics().traced == 2
    assert times(first).tolist() == [7, 16]


def test_a_module_is_given_its_own_weight():
    linear = M.Linear(2, 2, bias=False)
    linear.weight[...] = numbers(1, 2, 3, 4).reshape(2, 2)
    apply = trace(lambda x: linear(x))  # x @ weight.T
    assert apply(linear.weight).tolist() == [[5, 11], [11, 25]]
    assert apply(numbers(1, 0, 0, 1).reshape(2, 2)).tolist() == [[1, 3], [2, 4]]
    assert apply(linear.weight).tolist() == [[5, 11], [11, 25]]


def test_a_method_is_given_what_its_object_holds():
    class Scaled:
        def __init__(self):
            self.w = numbers(2, 3)

        @trace
        def times(self, x):
            return self.w * x

    scaled = Scaled()
    assert scaled.times(scaled.w).tolist() == [4, 9]
    assert scaled.times(numbers(1, 1)).tolist() == [2, 3]
    assert scaled.times(scaled.w).tolist() == [4, 9]


def test_a_list_of_parameters_is_given():
    linear = M.Linear(1, 1, bias=False)
    linear.weight[...] = 3.0
    weighed = trace(lambda many: sum((each * linear.weight).sum() for each in many))
    assert weighed([*linear.parameters()]).item() == 9
    assert weighed([numbers(5).reshape(1, 1)]).item() == 15
    assert weighed([*linear.parameters()]).item() == 9


def test_a_variable_of_what_a_module_holds_is_bound_anew():
    global V
    linear = M.Linear(1, 1, bias=False)
    linear.weight[...] = 3.0
    V = linear.weight
    times = trace(lambda x: linear(x) * V)
    x = numbers(1).reshape(1, 1)
    assert times(x).item() == 9
    V = numbers(5).reshape(1, 1)
    assert times(x).item() == 15  # not 25: the module is as it was


def test_an_argument_is_compared_with_a_variable():
    w = numbers(1)
    told = trace(lambda x: x * 2 if x is w else x * 3)
    assert told(numbers(1)).item() == 3
    assert told(w).item() == 2
    assert told(numbers(1)).item() == 3
    assert "x is a tensor that the function finds by itself, too" in told.explain()


def test_a_step_whose_argument_is_its_parameter():
    w = gradc.Parameter([1.0])
    gm, opt = GradManager().attach(w), optim.SGD([w], lr=0.5)

    @trace
    def step(x):
        with gm:
            loss = (w * x).sum()
            gm.backward(loss)
        opt.step().clear_grad()
        return loss

    assert step(numbers(1)).item() == 1  # w is 0.5
    assert step(w).item() == 0.25  # and its gradient 2 w = 1: w is 0
    assert w.item() == 0
    assert step(numbers(2)).item() == 0
    assert w.item() == -1
    assert step(w).item() == 1
    assert w.item() == 0
