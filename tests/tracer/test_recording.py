"""Recordings: what a repeat costs, how values get into slots, and when things run."""

import gc
import threading
import weakref

import numpy as np
import pytest
from gradc.tracer import evaluation, grad_manager
from gradc.tracer.errors import BoundsError
from gradc.tracer.evaluator import InterpretingEvaluator, current_evaluator, set_evaluator
from gradc.tracer.recording import LIMIT, STATISTICS, THREAD

from gradc import Tensor, from_numpy, no_grad, set_default_dtype, tensor
from gradc import functional as F
from gradc.autodiff import GradManager


@pytest.fixture(autouse=True)
def fresh_recording():
    THREAD.renew()
    evaluation.forget_programs()
    STATISTICS.reset()


def vector(*values):
    return tensor(np.array(values, np.float32))


def training_step(manager, w, x, rate=0.1):
    with manager:
        loss = (F.softmax(x @ w, 1) * rate).sum()
        manager.backward(loss)
    w.grad = None


class TestRepeats:
    def test_a_repeated_step_records_differentiates_and_prepares_nothing(self):
        w, x = tensor(np.ones((3, 3))), tensor(np.ones((2, 3)))
        manager = GradManager().attach(w)
        training_step(manager, w, x)
        STATISTICS.reset()
        for _ in range(5):
            training_step(manager, w, x)
        assert (STATISTICS.evaluations, STATISTICS.identity_hits) == (5, 5)
        assert (STATISTICS.recorded, STATISTICS.adjoints, STATISTICS.prepared) == (0, 0, 0)

    def test_new_data_and_a_changing_number_build_nothing(self):
        w = tensor(np.ones((3, 3)))
        manager = GradManager().attach(w)
        for step in range(4):
            training_step(manager, w, tensor(np.full((2, 3), step)), rate=0.3 + step)
        assert (STATISTICS.prepared, STATISTICS.adjoints, STATISTICS.identity_hits) == (1, 1, 3)

    def test_a_conditional_operator_before_the_step_builds_only_itself(self):
        w, x = tensor(np.ones((3, 3))), tensor(np.ones((2, 3)))
        manager = GradManager().attach(w)
        training_step(manager, w, x)
        spare = tensor([7.0])
        early = spare * 3.5  # takes the first slots
        del early
        training_step(manager, w, x)
        assert (STATISTICS.prepared, STATISTICS.digest_hits) == (1, 1)

    def test_a_chain_that_is_read_each_time_is_prepared_once(self):
        x = vector(1.01)
        manager = GradManager().attach(x)
        with manager:
            y, steps = x, 0
            while y.item() < 100:
                y, steps = y * y, steps + 1
            manager.backward(y)
        assert STATISTICS.prepared == 2  # y * y, and the gradient
        assert steps == 9
        assert x.grad.item() == pytest.approx(2**9 * 1.01 ** (2**9 - 1), rel=1e-3)

    def test_a_larger_program_is_not_taken_where_its_leaves_are_missing(self):
        x, z = vector(1, 2), vector(3, 4)

        def step(hold, meet):
            b = x * 3.5
            c = b + z if meet else None
            if not hold:
                del c
            return b.numpy().tolist()

        expected = [3.5, 7.0]
        assert step(True, True) == step(False, True) == expected
        assert STATISTICS.superset_hits == 1
        assert step(False, False) == step(False, False) == expected

    def test_another_held_tensor_is_served_by_the_larger_program(self):
        x = vector(1, 2)

        def step(hold):
            a = F.exp(x)
            b = a + 3.0
            if not hold:
                del a
            return b.numpy().tolist()

        assert step(True) == step(False)
        assert (STATISTICS.prepared, STATISTICS.superset_hits) == (1, 1)
        assert step(False) == step(True)
        assert (STATISTICS.prepared, STATISTICS.identity_hits) == (1, 2)

    def test_two_shapes_are_two_programs(self):
        for size in (2, 3, 2, 3):
            assert (tensor(np.ones(size)) * 3.5).numpy().tolist() == [3.5] * size
        assert (STATISTICS.prepared, STATISTICS.identity_hits) == (2, 2)


class TestLeaves:
    def test_one_buffer_is_one_slot(self):
        x = vector(1, 2)
        y = x.detach()
        assert (x * y)._node.inputs[0] is (x * y)._node.inputs[1]
        assert len(THREAD.recording.slots) == 1

    def test_numbers_are_merged_by_type_and_value(self):
        x = vector(1, 2)
        held = [x * 3.7, x + 3.7, x * 3, x - 3]
        assert THREAD.recording.floats == [3.7]
        assert THREAD.recording.ints == [3]
        assert [each.numpy().tolist() for each in held][1] == pytest.approx([4.7, 5.7])

    def test_a_few_numbers_are_part_of_the_program(self):
        x = vector(1, 2)
        held = [x * each for each in (-1, 0, 0.5, 1, 2, -1.0, 0.0, 1.0, 2.0, True)]
        assert THREAD.recording.floats == THREAD.recording.ints == []
        assert len(held) == 10

    def test_signed_zeros_and_nan(self):
        x = vector(1)
        for first, second in ((0.0, -0.0), (-0.0, 0.0)):
            a, b = x * first, x * second
            assert np.signbit(a.numpy()[0]) == np.signbit(first)
            assert np.signbit(b.numpy()[0]) == np.signbit(second)
        nan = float("nan")
        held = [x * nan, x + nan, x * float("inf")]
        assert len(THREAD.recording.floats) == 2
        assert [str(each.item()) for each in held] == ["nan", "nan", "inf"]

    @pytest.mark.parametrize(
        ("dtype", "number", "expected"),
        [
            ("float16", 1.5, "float16"),
            ("float64", np.float32(1.5), "float64"),
            ("float32", np.float64(1.5), "float32"),
            ("float32", 3, "float32"),
            ("float32", 2**70, "float32"),
            ("int8", 3, "int8"),
            ("int8", 1.5, "float32"),
            ("bool", 3, "int32"),
            ("bool", True, "int32"),
            ("bool", 1.5, "float32"),
        ],
    )
    def test_numbers_are_weak(self, dtype, number, expected):
        made = tensor([1, 0], dtype=dtype) + number
        assert made.dtype == np.dtype(expected)
        with np.errstate(over="ignore"):
            assert made.numpy()[1] == np.dtype(expected).type(number)

    def test_an_integer_that_does_not_fit_is_an_error(self):
        with pytest.raises(OverflowError, match="300 does not fit int8"):
            tensor([1], dtype="int8") + 300

    def test_the_default_type_can_be_float64(self):
        count = tensor([1, 2], dtype="int32")
        assert count.mean().dtype == np.float32
        set_default_dtype("float64")
        try:
            assert tensor(1.5).dtype == np.float64
            assert tensor([1]).dtype == np.int64
            assert count.mean().dtype == np.float64
            assert (count + 0.25).dtype == np.float64
        finally:
            set_default_dtype("float32")
        assert count.mean().dtype == np.float32


class TestWhenThingsRun:
    def test_operators_only_record(self):
        y = vector(1) * 3.5
        assert (STATISTICS.evaluations, y._buffer) == (0, None)
        assert y.shape == (1,)

    def test_reading_runs_everything_that_is_held_at_once(self):
        x = vector(1, 2)
        y, z = x * 3.5, x + 4.5
        dropped = x - 5.5
        del dropped
        y.numpy()
        assert z._buffer is not None
        assert STATISTICS.evaluations == 1
        assert THREAD.recording.slots == []

    def test_the_outermost_backward_runs_once_with_all_that_is_held(self):
        x = vector(1, 2)
        outer, inner = GradManager().attach(x), GradManager().attach(x)
        with outer:
            with inner:
                y = x * x
                inner.backward(y)
            assert STATISTICS.evaluations == 0
            g, x.grad = x.grad, None
            outer.backward(g * x)
            assert STATISTICS.evaluations == 1
        assert y._buffer is not None
        assert x.grad.numpy().tolist() == [4, 8]

    def test_reading_while_a_manager_records_goes_on_from_there(self):
        x = vector(3)
        manager = GradManager().attach(x)
        with manager:
            y = x * x
            assert y.item() == 9
            z = y * 5.5
            manager.backward(z)
        assert x.grad.item() == 33
        assert z.item() == 49.5

    def test_an_endless_sum_that_nobody_reads_is_bounded(self):
        total, x = vector(0), vector(1)
        for _ in range(5 * LIMIT):
            total += x
            assert len(THREAD.recording.pending) <= LIMIT + 1
        assert STATISTICS.evaluations >= 4
        assert STATISTICS.prepared <= 3
        assert total.item() == 5 * LIMIT

    def test_an_endless_chain_that_nobody_reads_is_bounded(self):
        y = vector(0)
        for _ in range(3 * LIMIT):
            y = y + 1
        assert STATISTICS.evaluations >= 2
        assert y.item() == 3 * LIMIT

    def test_released_without_backward_what_waits_is_still_computed(self):
        x = vector(1, 2)
        manager = GradManager().attach(x)
        with manager:
            y = x * x
        z = y + x
        assert z.numpy().tolist() == [2, 6]
        assert y.numpy().tolist() == [1, 4]

    def test_ended_recordings_hold_no_buffers(self):
        x = from_numpy(np.ones(3, np.float32))
        buffer = weakref.ref(x._buffer)
        recording = THREAD.recording
        y = x * 3.5
        y.numpy()
        del x
        gc.collect()
        assert buffer() is None
        assert recording.slots == recording.results == []

    def test_dropped_tensors_are_not_computed(self):
        x = vector(1)
        y = x * 3.5
        seen = weakref.ref(y)
        del y
        assert seen() is None
        assert (x + 4.5).item() == 5.5


class TestFailures:
    def test_what_fails_does_not_take_others_with_it(self):
        x = vector(1, 2)
        bad = F.take(x, 0, tensor([5]))
        good = x * 3.5
        assert good.numpy().tolist() == [3.5, 7]  # they were to run together
        for _ in range(2):
            with pytest.raises(BoundsError, match="from -2 to 1, found 5"):
                bad.numpy()
        assert (good + x).numpy().tolist() == [4.5, 9]

    def test_what_fails_while_recording_leaves_the_manager_usable(self):
        x = vector(1, 2)
        manager = GradManager().attach(x)
        with manager:
            bad = F.take(x, 0, tensor([5]))
            with pytest.raises(BoundsError):
                bad.numpy()
            manager.backward(x * 3.5)
        assert x.grad.numpy().tolist() == [3.5, 3.5]

    def test_a_failing_backward_writes_nothing(self):
        x, w = vector(1, 2), vector(3, 4)
        manager = GradManager().attach([x, w])
        with pytest.raises(BoundsError), manager:
            manager.backward([F.take(x, 0, tensor([5])), w * x])
        assert x.grad is None
        assert w.grad is None
        with manager:
            manager.backward(w * x)
        assert x.grad.numpy().tolist() == [3, 4]


class TestThreads:
    def run(self, *functions):
        failures = []

        def guarded(function):
            try:
                function()
            except BaseException as error:
                failures.append(error)

        threads = [threading.Thread(target=guarded, args=(each,)) for each in functions]
        for each in threads:
            each.start()
        for each in threads:
            each.join()
        if failures:
            raise failures[0]

    def test_each_thread_trains_shared_parameters_on_its_own(self):
        w = vector(1, 2)
        results = {}

        def train(factor):
            copy = GradManager().attach(w)
            for _ in range(50):
                with copy:
                    y = (w * w * factor).sum()
                    g = []
                    probe = GradManager().attach(w)
                    with probe:
                        probe.attach(w, lambda t, x, g=g: g.append(x.numpy()))
                        probe.backward((w * factor).sum())
                assert y.item() == 5 * factor
                assert g[0].tolist() == [factor, factor]
            results[factor] = True

        self.run(*(lambda factor=factor: train(factor) for factor in (3.0, 5.0, 7.0, 9.0)))
        assert len(results) == 4

    def test_a_tensor_that_waits_elsewhere_is_computed_there_first(self):
        x = vector(1, 2)
        y = x * 3.5
        seen = []
        self.run(lambda: seen.append((y + 1.5).numpy().tolist()))
        assert seen == [[5, 8.5]]
        assert y.numpy().tolist() == [3.5, 7]

    def test_many_threads_may_read_one_waiting_tensor(self):
        for _ in range(20):
            y = vector(1, 2) * 3.5 + 1.25
            seen = []
            self.run(*[lambda y=y, seen=seen: seen.append(y.numpy().tolist())] * 4)
            assert seen == [[4.75, 8.25]] * 4

    def test_no_grad_is_of_one_thread(self):
        x = vector(2)

        def other():
            manager = GradManager().attach(x)
            with manager:
                manager.attach(x, callbacks=lambda t, g: seen.append(g.item()))
                manager.backward(x * x)

        seen = []
        with no_grad():
            self.run(other)
        assert seen == [4]


def test_equal_tables_in_a_second_recording_are_the_same_nodes():
    def build():
        x = vector(1, 2)
        return F.layer_norm(x * 3.5, 2)

    first = build()
    node = first._node
    first.numpy()
    assert build()._node is node


def test_tensor_is_the_class_of_results():
    assert type(Tensor([1.0]) + 1) is Tensor


def test_what_is_kept_of_programs_is_bounded_by_their_size(monkeypatch):
    """A process that makes ever new programs of many nodes does not keep them all."""
    before = current_evaluator()
    set_evaluator(InterpretingEvaluator())
    tables = evaluation.ENTRIES, evaluation.EXECUTABLES, grad_manager.ADJOINTS
    for table in tables:
        table.clear()
        monkeypatch.setattr(table, "limit", 1_500)
    try:
        for extent in range(1, 16):
            x = tensor(np.full(extent, 0.5))
            manager = GradManager().attach(x)
            with manager:
                y = x
                for _ in range(20):
                    y = y * y + x
                manager.backward(y.sum())
            assert x.grad.shape == (extent,)
            x.grad.numpy()
    finally:
        set_evaluator(before)
    assert all(0 < len(table) <= 10 for table in tables), [len(table) for table in tables]
