"""trace: what callbacks, hooks, Functions and methods change in Python is changed at every call."""

from collections import deque

import numpy as np
import pytest

import gradc
import gradc.functional as F
import gradc.module as M
import gradc.optimizer as optim
from gradc.autodiff import Function, GradManager
from gradc.jit import trace

pytestmark = pytest.mark.usefixtures("interpreted")  # a compiler is not the point here


def numbers(*values):
    return gradc.tensor(np.array(values, np.float32))


def clipped_step(callback):
    """A traced step whose gradient, 5 x, goes through `callback`."""
    w = gradc.Parameter([5.0])
    gm = GradManager().attach(w, callbacks=callback)

    @trace
    def step(x):
        with gm:
            gm.backward(w * x * x)
        made, w.grad = w.grad, None
        return made

    return step


COUNT = 0
HIDDEN = []


def count_global(tensor, grad):
    global COUNT
    COUNT += 1
    return grad * 2


def set_global(tensor, grad):
    global LAST_SHAPE
    LAST_SHAPE = grad.shape
    return grad * 2


class Calls:
    def __init__(self):
        self.count = 0
        self.log = []

    def __call__(self, tensor, grad):
        self.count += 1
        return grad * 2

    def note(self, tensor, grad):
        self.log.append(grad.shape)
        return grad * 2


class SlottedCalls:
    __slots__ = ("count",)

    def __init__(self):
        self.count = 0

    def __call__(self, tensor, grad):
        self.count += 1
        return grad * 2


def nonlocal_count():
    count = 0

    def callback(tensor, grad):
        nonlocal count
        count += 1
        return grad * 2

    return callback, lambda: count


def appending(container, add):
    def callback(tensor, grad):
        add(container)
        return grad * 2

    return callback, lambda: len(container)


def entering():
    table = {}

    def callback(tensor, grad):
        table[len(table)] = True
        return grad * 2

    return callback, lambda: len(table)


def counting_array():
    counts = np.zeros(1)

    def callback(tensor, grad):
        counts[0] += 1
        return grad * 2

    return callback, lambda: int(counts[0])


def through_another():
    seen = []

    def note():
        seen.append(1)

    def callback(tensor, grad):
        note()
        return grad * 2

    return callback, lambda: len(seen)


def an_object():
    calls = Calls()
    return calls, lambda: calls.count


def a_slotted_object():
    calls = SlottedCalls()
    return calls, lambda: calls.count


def a_method():
    calls = Calls()
    return calls.note, lambda: len(calls.log)


CHANGING = {
    "nonlocal": nonlocal_count,
    "list": lambda: appending([], lambda each: each.append(1)),
    "extended list": lambda: appending([], lambda each: each.extend([1])),
    "set": lambda: appending(set(), lambda each: each.add(len(each))),
    "deque": lambda: appending(deque(), lambda each: each.append(1)),
    "dict": entering,
    "array": counting_array,
    "through another function": through_another,
    "object": an_object,
    "slotted object": a_slotted_object,
    "method": a_method,
}


@pytest.mark.parametrize("make", CHANGING.values(), ids=CHANGING)
def test_a_callback_that_changes_python_state_runs_at_every_call(make):
    callback, count = make()
    step = clipped_step(callback)
    for number in range(1, 13):
        assert step(numbers(float(number))).item() == 2.0 * number**2
        assert count() == number
    assert step.statistics().replayed == 0
    assert "cannot be replayed: it changes Python state" in step.explain()
    assert "test_jit_effects.py:" in step.explain()


def test_a_callback_that_counts_in_a_global():
    before = COUNT
    step = clipped_step(count_global)
    for number in range(1, 4):
        step(numbers(1.0))
        assert before + number == COUNT
    assert "changes Python state: COUNT is " in step.explain()


def test_a_callback_that_binds_a_new_global():
    step = clipped_step(set_global)
    step(numbers(1.0))
    assert LAST_SHAPE == (1,)
    assert "changes Python state: LAST_SHAPE is another object" in step.explain()


def test_pure_callbacks_are_replayed():
    low = 3.0
    step = clipped_step([lambda p, g: F.clip(g, -low, low), lambda p, g: g + p])
    assert [step(numbers(each)).item() for each in (1.0, 2.0, 3.0)] == [6.0, 8.0, 8.0]
    assert step.statistics().replayed == 2


def test_a_callback_that_is_added_later():
    w = gradc.Parameter([5.0])
    gm = GradManager().attach(w)

    @trace
    def step(x):
        with gm:
            gm.backward(w * x)
        made, w.grad = w.grad, None
        return made

    assert step(numbers(3.0)).item() == 3.0
    gm.attach(w, callbacks=lambda p, g: g * 2)
    assert [step(numbers(3.0)).item() for _ in range(2)] == [6.0, 6.0]
    assert step.statistics().replayed == 1


def test_a_manager_that_no_name_leads_to():
    seen = []
    w = gradc.Parameter([5.0])
    managers = {"gm": GradManager().attach(w, callbacks=lambda p, g: seen.append(1) or g)}
    HIDDEN.append(managers["gm"])

    @trace
    def step(x):
        gm = globals()["NEDDIH"[::-1]][-1]
        with gm:
            gm.backward(w * x)
        made, w.grad = w.grad, None
        return made

    for number in range(1, 4):
        assert step(numbers(2.0)).item() == 2.0
        assert len(seen) == number
    assert "a manager with callbacks that its code does not reach by names" in step.explain()


# ---- functions written in the body


def test_lambdas_in_the_body():
    seen = []
    w = gradc.Parameter([5.0])

    @trace
    def step(x):
        gm = GradManager().attach(w, callbacks=lambda p, g: (seen.append(1), g)[1])
        with gm:
            gm.backward(w * x)
        made, w.grad = w.grad, None
        return made

    for number in range(1, 4):
        assert step(numbers(2.0)).item() == 2.0
        assert len(seen) == number
    assert "changes Python state: seen has 1 elements, not 0" in step.explain()


def test_what_lambdas_in_the_body_gather_is_no_state():
    w = gradc.Parameter([5.0])

    @trace
    def step(x):
        norms = []
        gm = GradManager().attach(w, callbacks=lambda p, g: (norms.append(g * g), g)[1])
        with gm:
            gm.backward(w * x)
        w.grad = None
        return norms

    assert [step(numbers(each))[0].item() for each in (2.0, 3.0)] == [4.0, 9.0]
    assert step.statistics().replayed == 1


# ---- hooks of modules


@pytest.mark.parametrize("register", ["register_forward_hook", "register_forward_pre_hook"])
def test_hooks_of_modules(register):
    shapes = []
    network = M.Sequential(M.Linear(2, 3), M.ReLU())
    getattr(network[0], register)(lambda module, *others: shapes.append(others[-1]) and None)

    @trace
    def step(x):
        return network(x.reshape(1, 2)).detach()

    for number in range(1, 4):
        step(numbers(1.0, 2.0))
        assert len(shapes) == number
        shapes[-1] = None  # no tensor is kept
    assert step.statistics().replayed == 0


def test_a_pure_hook_is_replayed():
    network = M.Sequential(M.ReLU())
    network.register_forward_hook(lambda module, inputs, outputs: outputs * 2)
    step = trace(network)
    assert [step(numbers(each)).item() for each in (1.0, -2.0, 3.0)] == [2.0, 0.0, 6.0]
    assert step.statistics().replayed == 2


# ---- Functions


class Square(Function):
    forwards = 0
    backwards = 0
    log = []

    def forward(self, x):
        Square.forwards += 1
        self.x = x
        return x * x

    def backward(self, grad):
        type(self).log.append("backward")
        Square.backwards += 1
        return 2 * self.x * grad


class Cube(Function):
    """Without effects."""

    def __init__(self, factor):
        self.factor = factor

    def forward(self, x):
        self.x = x
        return self.factor * x * x * x

    def backward(self, grad):
        return 3 * self.factor * self.x * self.x * grad


class Counting(Function):
    def __init__(self):
        self.forwards = self.backwards = 0

    def forward(self, x):
        self.forwards += 1
        return x * 2

    def backward(self, grad):
        self.backwards += 1
        return grad * 2


def gradient_of(function):
    w = gradc.Parameter([5.0])
    gm = GradManager().attach(w)

    @trace
    def step(x):
        with gm:
            gm.backward(function(w) * x)
        made, w.grad = w.grad, None
        return made

    return step


def test_a_function_that_counts_in_its_class():
    before = (Square.forwards, Square.backwards, len(Square.log))
    step = gradient_of(lambda w: Square()(w))
    for number in range(1, 4):
        assert step(numbers(2.0)).item() == 20.0
        found = (Square.forwards, Square.backwards, len(Square.log))
        assert found == tuple(each + number for each in before)
    assert "Square.forwards is " in step.explain() or "Square.log has " in step.explain()


def test_a_function_that_counts_in_itself():
    counting = Counting()
    step = gradient_of(counting)
    for number in range(1, 4):
        assert step(numbers(3.0)).item() == 6.0
        assert (counting.forwards, counting.backwards) == (number, number)


def test_functions_without_effects_are_replayed():
    step = gradient_of(lambda w: Cube(2.0)(w))
    assert [step(numbers(each)).item() for each in (1.0, 3.0)] == [150.0, 450.0]
    assert step.statistics().replayed == 1


# ---- other state


def test_optimizers_and_managers_of_the_user():
    class Counting(optim.SGD):
        steps = 0

        def step(self):
            self.steps += 1
            return super().step()

    class Noting(GradManager):
        def backward(self, y=None, dy=None):
            noted.append(1)
            super().backward(y, dy)

    noted = []
    w = gradc.Parameter([5.0])
    gm, optimizer = Noting().attach(w), Counting([w], lr=0.5)

    @trace
    def step(x):
        with gm:
            gm.backward(w * x)
        optimizer.step().clear_grad()

    for number in range(1, 4):
        step(numbers(1.0))
        assert (optimizer.steps, len(noted)) == (number, number)
        assert w.item() == 5.0 - 0.5 * number


class Kept:
    pass


def test_an_attribute_that_is_only_set():
    kept = Kept()

    @trace
    def step(x):
        kept.last = x.shape
        return x * 2

    for size in (1, 2, 1):
        step(numbers(*[1.0] * size))
        assert kept.last == (size,)
    kept.last = None
    step(numbers(1.0))
    assert kept.last == (1,)


def test_an_argument_that_is_kept():
    kept = Kept()

    @trace
    def step(x):
        kept.x = x
        return x * 2

    for number in (1.0, 2.0, 3.0):
        x = numbers(number)
        step(x)
        assert kept.x is x


def test_slots_are_looked_at():
    calls = SlottedCalls()
    calls.count = 3.0

    @trace
    def step(x):
        return x * calls.count

    assert step(numbers(2.0)).item() == 6.0
    calls.count = 4.0
    assert step(numbers(2.0)).item() == 8.0
    assert "calls.count is 4.0, not 3.0 (at " in step.explain()


def test_containers_in_modules_are_looked_into():
    class Scaled(M.Module):
        def __init__(self):
            super().__init__()
            self.table = {"factor": 2.0}

        def forward(self, x):
            return x * self.table["factor"]

    network = Scaled()
    step = trace(lambda x: network(x))
    assert [step(numbers(1.0)).item() for _ in range(2)] == [2.0, 2.0]
    network.table["factor"] = 3.0
    assert step(numbers(1.0)).item() == 3.0


def test_containers_that_a_module_changes():
    class Counted(M.Module):
        def __init__(self):
            super().__init__()
            self.table = {"calls": 0}

        def forward(self, x):
            self.table["calls"] += 1
            return x * 2

    network = Counted()
    step = trace(lambda x: network(x))
    for number in range(1, 4):
        step(numbers(1.0))
        assert network.table["calls"] == number


def test_functions_of_other_modules_of_the_user(tmp_path, monkeypatch):
    (tmp_path / "layers_of_mine.py").write_text("FACTOR = 2.0\ndef f(x):\n    return x * FACTOR\n")
    monkeypatch.syspath_prepend(tmp_path)
    import layers_of_mine

    step = trace(lambda x: layers_of_mine.f(x))
    assert [step(numbers(1.0)).item() for _ in range(2)] == [2.0, 2.0]
    layers_of_mine.FACTOR = 3.0
    assert step(numbers(1.0)).item() == 3.0
    assert step.statistics().replayed == 1


def test_an_append_in_the_body_itself_is_not_seen():
    runs = []

    @trace
    def step(x):
        runs.append(1)
        return x * 2

    for _ in range(3):
        step(numbers(1.0))
    assert len(runs) == 1
