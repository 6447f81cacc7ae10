"""Traces of random programs with state: a replay does what the function would have done."""

import gc
import weakref

import numpy as np
import pytest
from gradc.tracer.evaluator import InterpretingEvaluator, current_evaluator, set_evaluator
from gradc.tracer.recording import THREAD
from gradc.tracer.value import Value
from hypothesis import given, settings
from hypothesis import strategies as st

import gradc
import gradc.optimizer as optim
from gradc.autodiff import GradManager
from gradc.jit import RetraceWarning, trace


@pytest.fixture(autouse=True, scope="module")
def interpreted():
    before = current_evaluator()
    set_evaluator(InterpretingEvaluator())
    yield
    set_evaluator(before)


OPERATIONS = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b * 0.5,
    "mul": lambda a, b: a * b * 0.25,
    "max": lambda a, b: gradc.functional.maximum(a, b),
    "sum": lambda a, b: a - b.mean(),
    "number": lambda a, b: a * 0.75 + b,
}

OPTIMIZERS = (
    lambda ps: optim.SGD(ps, lr=0.125),
    lambda ps: optim.SGD(ps, lr=0.125, momentum=0.5, weight_decay=0.25),
    lambda ps: optim.Adam(ps, lr=0.125),
)

names = st.integers(0, 7)
instructions = st.one_of(
    st.tuples(st.sampled_from(["new"]), names, names, st.sampled_from(sorted(OPERATIONS))),
    st.tuples(st.sampled_from(["in place"]), names, names, st.sampled_from(sorted(OPERATIONS))),
    st.tuples(
        st.sampled_from(["assign", "alias", "detach", "take grad", "clear", "backward", "nested"]),
        names,
        names,
    ),
    st.tuples(st.sampled_from(["step", "zero", "quiet", "attach"]), names),
)
actions = st.one_of(
    st.tuples(st.sampled_from(["change", "clear", "rate", "replace", "nothing"]), names)
)


class World:
    """Tensors with state, and a program on them and on two arguments."""

    def __init__(self, program, optimizer, returned):
        self.program, self.returned = program, returned
        first = np.arange(3, dtype=np.float32)
        self.parameters = [gradc.Parameter(first + 1), gradc.Parameter(first * 0.5 - 1)]
        self.kept = [gradc.tensor(first * 0.25), gradc.tensor(first - 2)]
        self.gm = GradManager().attach(self.parameters)
        self.optimizer = OPTIMIZERS[optimizer](self.parameters)

    def run(self, x, y):
        boxes = [*self.parameters, *self.kept, x, y]
        for name, *operands in self.program:
            self.do(name, boxes, *operands)
        made = [boxes[each % len(boxes)] for each in self.returned]
        return made, {"grads": [each.grad for each in made]}

    def do(self, name, boxes, first, second=0, operation="add"):
        a, b = boxes[first % len(boxes)], boxes[second % len(boxes)]
        if name == "new":
            boxes.append(OPERATIONS[operation](a, b))
        elif name == "in place":
            a[...] = OPERATIONS[operation](a, b)
        elif name == "assign":
            a[...] = b
        elif name == "alias":
            boxes.append(gradc.Tensor(a))
        elif name == "detach":
            boxes.append(a.detach())
        elif name == "take grad":
            boxes.append(b if a.grad is None else a.grad)
        elif name == "clear":
            a.grad = None
        elif name == "zero":
            self.optimizer.clear_grad()
        elif name == "step":
            self.optimizer.step()
        elif name == "attach":
            GradManager().attach(a)
        else:
            self.differentiate(name, boxes, a, b)

    def differentiate(self, name, boxes, a, b):
        p, q = self.parameters
        if name == "quiet":
            with gradc.no_grad():
                boxes.append(a * p)
        elif name == "backward":
            with self.gm:
                a += p * q
                self.gm.backward((a * b * p).sum())
        else:
            with self.gm:
                inner = GradManager().attach(q)
                with inner:
                    inner.backward((a * q * q * p).sum())
                self.gm.backward((b * q.grad).sum())

    def change(self, action, which):
        boxes = [*self.parameters, *self.kept]
        if action == "change":
            boxes[which % 4] -= 0.5
        elif action == "clear":
            boxes[which % 4].grad = None
        elif action == "rate":
            self.optimizer.param_groups[0]["lr"] *= 0.5
        elif action == "replace":
            self.kept[which % 2] = gradc.tensor([1.0, float(which), -1.0])

    def state(self):
        tensors = [*self.parameters, *self.kept]
        saved = self.optimizer.state_dict()["state"]
        kept = [(name, value.tobytes()) for each in saved.values() for name, value in each.items()]
        return [seen(each) for each in tensors], [seen(each.grad) for each in tensors], kept


def seen(tensor):
    return None if tensor is None else (tensor.dtype, tensor.shape, tensor.numpy().tobytes())


def places(tensors, world, arguments):
    """Which of the known tensors each of `tensors` is."""
    known = [*world.parameters, *world.kept, *arguments]
    known += [each.grad for each in known]
    return [next((k for k, one in enumerate(known) if one is each), None) for each in tensors]


@settings(max_examples=300)
@given(
    st.lists(instructions, min_size=1, max_size=8),
    st.integers(0, 2),
    st.lists(names, max_size=3),
    st.lists(actions, min_size=3, max_size=6),
)
def test_random_programs_with_state(program, optimizer, returned, between):
    plain, other = (World(program, optimizer, returned) for _ in range(2))
    traced = trace(other.run)
    for turn, action in enumerate(between):
        arguments = [
            [gradc.tensor([turn, 1.0, -2.0]), gradc.tensor([0.5, turn, 1.0])] for _ in range(2)
        ]
        expected, found = plain.run(*arguments[0]), traced(*arguments[1])
        pairs = [(expected[0], found[0]), (expected[1]["grads"], found[1]["grads"])]
        for one, two in pairs:
            assert list(map(seen, one)) == list(map(seen, two))
            assert places(one, plain, arguments[0]) == places(two, other, arguments[1])
        assert plain.state() == other.state()
        for one, two in zip(*arguments, strict=True):
            assert (seen(one), seen(one.grad)) == (seen(two), seen(two.grad))
        plain.change(*action)
        other.change(*action)
    counts = traced.statistics()
    assert counts.traced + counts.replayed + counts.plain == len(between)


# ---- what a trace leaves behind


def test_nothing_is_watched_outside_traces():
    slot = Value.__dict__["grad"]

    @trace
    def function(x):
        assert Value.__dict__["grad"] is not slot
        return x + 1

    function(gradc.tensor([1.0]))
    assert Value.__dict__["grad"] is slot
    assert THREAD.recording.trace is None


def test_a_replay_holds_no_elements_of_its_arguments():
    traced = trace(lambda x: x * 2)
    x = gradc.tensor(np.ones(3))
    traced(x)
    buffer = weakref.ref(x.buffer())
    del x
    gc.collect()
    assert buffer() is None


def test_a_step_holds_no_old_elements():
    p = gradc.Parameter([1.0])
    gm, optimizer = GradManager().attach(p), optim.SGD([p], lr=0.5)

    @trace
    def step():
        with gm:
            gm.backward((p * p).sum())
        optimizer.step().clear_grad()

    for _ in range(3):
        old = weakref.ref(p.buffer())
        step()
        gc.collect()
        assert old() is None


def test_waiting_tensors_around_a_trace():
    a = gradc.tensor([1.0])
    waiting, unused = a + 1, a * 5
    traced = trace(lambda x: x * a)
    assert traced(waiting).item() == 2.0
    a += 1
    assert traced(waiting).item() == 4.0
    assert unused.item() == 5.0


def test_results_can_be_used_in_what_is_recorded():
    p = gradc.Parameter([3.0])
    traced = trace(lambda: p * 2)
    gm = GradManager().attach(p)
    for _ in range(3):
        p.grad = None
        made = traced()
        with gm:
            gm.backward((made * p).sum())
        assert p.grad.item() == 6.0


def test_large_constants_and_loops_stay_one_program():
    @trace
    def function(x):
        total = gradc.tensor([0.0, 0.0])
        for k in range(3000):
            total = total + x * float(k)
        return total

    x = gradc.tensor([1.0, 2.0])
    assert function(x).tolist() == function(x).tolist()
    assert function.statistics().replayed == 1


def test_a_loop_over_places_does_not_build_a_program_each():
    data = gradc.tensor(np.arange(40.0))
    traced = trace(lambda k: data[k : k + 4].sum())
    with pytest.warns(RetraceWarning, match="now because k is 8, not 7"):
        assert [traced(k).item() for k in range(30)] == [4.0 * k + 6 for k in range(30)]
