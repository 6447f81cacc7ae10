"""What `.grad` holds after failures and interrupts within nested managers, and beside threads."""

import sys
import threading

import numpy as np
import pytest
from gradc.tracer.errors import BoundsError
from gradc.tracer.recording import THREAD
from walk import walk
from with_exits import is_at_exit

import gradc.functional as F
import gradc.optimizer as optim
from gradc import Parameter, tensor
from gradc.autodiff import Function, GradManager
from gradc.jit import trace

INNER = ([6, 20], [1, 4])
"""The gradients of sum(x * x * w) at x = (1, 2) and w = (3, 5): 2 x w and x^2."""


class Failing(Function):
    """An identity whose backward fails."""

    def forward(self, x):
        return x * 1

    def backward(self, g):
        raise ZeroDivisionError("backward")


def loss(x, w):
    return F.sum(x * x * w)


def out_of_range(x):
    return F.sum(F.take(x, 0, tensor([5])))


def fail(*_):
    raise ZeroDivisionError("callback")


class Nested:
    """Two parameters, an inner manager of both and an outer one of x."""

    def __init__(self, before):
        self.x, self.w = Parameter([1.0, 2.0]), Parameter([3.0, 5.0])
        self.before = before
        if before:
            self.x.grad, self.w.grad = tensor([10.0, 20.0]), tensor([30.0, 40.0])
        self.boxes = [self.x.grad, self.w.grad]
        self.outer = GradManager().attach(self.x)
        self.inner = GradManager().attach([self.x, self.w])

    def inner_backward(self, more=lambda x, w: 0):
        with self.inner:
            self.inner.backward(loss(self.x, self.w) + more(self.x, self.w))

    def expected(self, times):
        """The gradients after so many inner backwards."""
        if not (times or self.before):
            return [None, None]
        base = ((10, 20), (30, 40)) if self.before else ((0, 0), (0, 0))
        pairs = zip(base, INNER, strict=True)
        return [[b + times * g for b, g in zip(*each, strict=True)] for each in pairs]

    def check(self, times):
        """All is as after so many inner backwards, and everything can be used again."""
        found = [self.x.grad, self.w.grad]
        assert [None if each is None else each.tolist() for each in found] == self.expected(times)
        for box, grad in zip(self.boxes, found, strict=True):
            assert box is None or box is grad
        assert THREAD.recording.recording_managers() == []
        self.x.grad = self.w.grad = None
        with self.outer:
            self.inner_backward()
            g, self.x.grad = self.x.grad, None
            self.outer.backward(F.sum(g))
        assert (self.x.grad.tolist(), self.w.grad.tolist()) == ([6, 10], [1, 4])


def in_the_forward(n):
    n.inner_backward()
    raise ZeroDivisionError


def interrupted(n):
    n.inner_backward()
    raise KeyboardInterrupt


def in_an_inner_backward(n):
    n.inner_backward()
    n.inner_backward(lambda x, w: F.sum(Failing()(x)))


def in_a_callback_of_the_inner_manager(n):
    n.inner_backward()
    n.inner.attach(n.w, fail)
    try:
        n.inner_backward()
    finally:
        n.inner = GradManager().attach([n.x, n.w])


def in_a_callback_of_the_outer_manager(n):
    n.inner_backward()
    n.outer.attach(n.x, fail)
    try:
        n.outer.backward(F.sum(n.x.grad))
    finally:
        n.outer = GradManager().attach(n.x)


def in_a_backward_of_a_function(n):
    n.inner_backward()
    n.outer.backward(F.sum(Failing()(n.x) * n.x.grad))


def in_the_program_of_the_outer_backward(n):
    n.inner_backward()
    n.outer.backward(F.sum(n.x.grad) + out_of_range(n.x))


def in_what_the_second_inner_gradient_needs(n):
    n.inner_backward()
    n.inner_backward(lambda x, w: out_of_range(x * x))
    n.outer.backward(F.sum(n.x.grad))


def in_what_many_inner_gradients_need(n):
    n.inner_backward()
    for _ in range(5):
        n.inner_backward(lambda x, w: out_of_range(x * w))
    n.outer.backward(F.sum(n.x.grad))


def in_a_gradient_that_is_read(n):
    n.inner_backward()
    n.inner_backward(lambda x, w: out_of_range(x * w))
    n.w.grad.numpy()


def in_a_gradient_that_was_changed_in_place(n):
    n.inner_backward()
    n.inner_backward(lambda x, w: out_of_range(x * w))
    n.x.grad *= 2
    n.outer.backward(F.sum(n.x.grad))


def in_the_step_of_an_optimizer(n):
    n.inner_backward()
    n.inner_backward(lambda x, w: out_of_range(x * w))
    n.outer.release()
    optim.SGD([n.x, n.w], lr=0.5).step()


FAILURES = [
    in_the_forward,
    interrupted,
    in_an_inner_backward,
    in_a_callback_of_the_inner_manager,
    in_a_callback_of_the_outer_manager,
    in_a_backward_of_a_function,
    in_the_program_of_the_outer_backward,
    in_what_the_second_inner_gradient_needs,
    in_what_many_inner_gradients_need,
    in_a_gradient_that_is_read,
    in_a_gradient_that_was_changed_in_place,
    in_the_step_of_an_optimizer,
]


class TestFailures:
    @walk("before", [False, True])
    @walk("failure", FAILURES)
    def test_gradients_are_as_before_what_failed(self, failure, before):
        nested = Nested(before)
        with pytest.raises((ZeroDivisionError, KeyboardInterrupt, BoundsError)), nested.outer:
            failure(nested)
        nested.check(1)

    @pytest.mark.parametrize("before", [False, True])
    def test_a_first_gradient_that_fails_leaves_what_was_there(self, before):
        nested = Nested(before)
        with pytest.raises(BoundsError), nested.outer:
            nested.inner_backward(lambda x, w: out_of_range(x * w))
            nested.outer.backward(F.sum(nested.x.grad))
        nested.check(0)

    def test_what_the_user_puts_there_since_stays(self):
        nested = Nested(True)
        mine = nested.boxes[0] = tensor([7.0, 8.0])
        with pytest.raises(BoundsError), nested.outer:
            nested.inner_backward(lambda x, w: out_of_range(x * w))
            nested.x.grad = mine
            nested.w.grad[...] = tensor([1.0, 2.0])
            nested.outer.backward(out_of_range(nested.x))
        assert nested.x.grad is mine
        assert mine.tolist() == [7, 8]
        assert nested.w.grad.tolist() == [1, 2]

    def test_a_gradient_of_numbers_is_put_back(self):
        nested = Nested(False)
        nested.w.grad = 2.5
        nested.inner.attach(nested.w, lambda _, g: 1.5)
        with pytest.raises(BoundsError), nested.outer:
            nested.inner_backward(lambda x, w: out_of_range(x * w))
            assert nested.w.grad == 4.0
            nested.outer.backward(F.sum(nested.x.grad))
        assert nested.w.grad == 2.5
        assert nested.x.grad is None

    def test_a_manager_whose_tensor_cannot_be_computed_does_not_record(self):
        bad, x = F.take(tensor([1.0]), 0, tensor([5])), Parameter([2.0])
        THREAD.renew()
        manager = GradManager().attach([x, bad])
        for _ in range(2):
            with pytest.raises(BoundsError):
                manager.record()
        with GradManager().attach(x) as other:
            other.backward(x * x)
        assert x.grad.tolist() == [4]


class Interrupt:
    """Raises KeyboardInterrupt at the line number `at` that the tracer goes through."""

    def __init__(self, at):
        self.at = at
        self.count = 0

    def __call__(self, frame, event, argument):
        name = frame.f_globals.get("__name__", "")
        finalizer = name == "gradc.tracer.buffer" or frame.f_code.co_name == "<lambda>"
        locking = frame.f_code.co_name == "add"  # signals do not come before a lock is given back
        spared = finalizer or locking
        return self.line if name.startswith("gradc.tracer") and not spared else None

    def line(self, frame, event, argument):
        if event == "line" and not is_at_exit(frame):
            self.count += 1
            if self.count == self.at:
                raise KeyboardInterrupt
        return self.line


def interrupted_at(at, nested):
    interrupt = Interrupt(at)
    traced = sys.gettrace()
    sys.settrace(interrupt)
    try:
        with nested.outer:
            nested.inner_backward()
            nested.outer.backward(F.sum(nested.x.grad))
    except KeyboardInterrupt:
        pass
    finally:
        sys.settrace(traced)
    return interrupt.count


class TestInterrupts:
    def test_an_interrupt_anywhere_leaves_all_or_nothing(self):
        for _ in range(3):  # until nothing is new
            lines = interrupted_at(0, Nested(True))
        assert lines > 200
        # after the outer one: 2 w more
        allowed = [([10, 20], [30, 40]), ([16, 40], [31, 44]), ([22, 50], [31, 44])]
        for at in range(1, lines, 5):
            nested = Nested(True)
            interrupted_at(at, nested)
            assert (nested.x.grad.tolist(), nested.w.grad.tolist()) in allowed
            times, nested.before = 0, False
            nested.boxes, nested.x.grad, nested.w.grad = [None, None], None, None
            nested.check(times)


class TestThreads:
    """Each with a recording and a manager of its own, all with the same parameter."""

    @pytest.fixture(autouse=True)
    def _switch_often(self):
        before = sys.getswitchinterval()
        sys.setswitchinterval(1e-5)
        yield
        sys.setswitchinterval(before)

    @pytest.mark.parametrize("before", [False, True])
    @pytest.mark.parametrize("nested", [False, True])
    def test_no_contribution_is_lost(self, nested, before):
        w = Parameter(np.ones(50, np.float32))
        if before:
            w.grad = tensor(np.zeros(50, np.float32))
        box, start, errors = w.grad, threading.Barrier(6), []

        def work(number):
            outer, inner = GradManager().attach(w), GradManager().attach(w)
            x = tensor(np.full(50, number + 1, np.float32))
            try:
                start.wait()
                for _ in range(30):
                    if nested:
                        with outer, inner:
                            inner.backward(F.sum(w * x))
                    else:
                        with inner:
                            inner.backward(F.sum(w * x))
            except BaseException as error:
                errors.append(error)

        threads = [threading.Thread(target=work, args=(number,)) for number in range(6)]
        for each in threads:
            each.start()
        for each in threads:
            each.join()
        assert errors == []
        assert set(w.grad.tolist()) == {30 * (1 + 2 + 3 + 4 + 5 + 6)}
        assert box is None or w.grad is box

    def test_nothing_is_lost_while_functions_are_traced_for_the_first_time(self):
        """A trace binds gradients and parameters when the function has returned."""
        w, p = Parameter(np.ones(5, np.float32)), Parameter(np.zeros(5, np.float32))
        optimizer, start, errors = optim.SGD([p], lr=1.0), threading.Barrier(4), []
        p.grad = tensor(np.ones(5, np.float32))

        def work():
            manager = GradManager().attach(w)

            def once():
                with manager:
                    manager.backward(F.sum(w))
                optimizer.step()

            try:
                start.wait()
                for turn in range(12):
                    (once if turn % 3 == 0 else trace(once))()
            except BaseException as error:
                errors.append(error)

        threads = [threading.Thread(target=work) for _ in range(4)]
        for each in threads:
            each.start()
        for each in threads:
            each.join()
        assert errors == []
        assert (set(w.grad.tolist()), set(p.tolist())) == ({48}, {-48})

    def test_what_another_thread_adds_is_computed_beside_and_added_after(self):
        w = Parameter([1.0, 2.0])
        entered, go, second = threading.Event(), threading.Event(), GradManager().attach(w)

        class Slow:
            """A prior gradient whose sum takes a while: the first thread is within its addition."""

            def __add__(self, other):
                entered.set()
                go.wait(10)
                return other

        w.grad = Slow()

        def first():
            with GradManager().attach(w) as manager:
                manager.backward(w * 3)

        def other():
            with second:
                second.backward(w * 5)

        threads = [threading.Thread(target=first), threading.Thread(target=other)]
        threads[0].start()
        assert entered.wait(10)
        threads[1].start()
        threads[1].join(0.2)
        assert threads[1].is_alive()  # it waits for the first
        go.set()
        for each in threads:
            each.join()
        assert w.grad.tolist() == [8, 8]

    @pytest.mark.parametrize("before", [False, True])
    def test_no_contribution_of_a_replay_is_lost(self, before):
        w = Parameter(np.ones(50, np.float32))
        x = tensor(np.full(50, 2, np.float32))

        def adding():
            manager = GradManager().attach(w)

            def add():
                with manager:
                    manager.backward(F.sum(w * x))

            return add, trace(add)

        made = [adding() for _ in range(4)]
        for _, traced in made:
            for _ in range(3):  # with no gradient there, and with one
                w.grad = None
                traced()
                traced()
        if before:
            w.grad = tensor(np.zeros(50, np.float32))
        else:
            w.grad = None

        def work(add, traced):
            for _ in range(20):
                add()
                traced()

        threads = [threading.Thread(target=work, args=each) for each in made]
        for each in threads:
            each.start()
        for each in threads:
            each.join()
        assert set(w.grad.tolist()) == {4 * 20 * 2 * 2}
        assert all(traced.statistics().replayed >= 20 for _, traced in made)
