"""GradManager: attaching, recording, callbacks, accumulation, and several managers at once."""

import gc
import itertools
import weakref

import numpy as np
import pytest
from gradc.tracer.recording import STATISTICS, THREAD

from gradc import Parameter, no_grad, tensor
from gradc import functional as F
from gradc.autodiff import Function, GradManager


def vector(*values):
    return tensor(np.array(values, np.float32))


def gradient(function, *tensors, dy=None):
    manager = GradManager().attach(tensors)
    with manager:
        manager.backward(function(*tensors), dy)
    return [None if each.grad is None else each.grad.tolist() for each in tensors]


class TestAttach:
    def test_one_tensor_or_any_iterable(self):
        a, b = vector(1), vector(2)
        manager = GradManager()
        assert manager.attach(a) is manager
        manager.attach(each for each in (b,)).attach([])
        manager.attach({"a": a}.values())
        assert [id(each) for each in manager.attached_tensors()] == [id(a), id(b)]

    @pytest.mark.parametrize("bad", [3, None, object()])
    def test_what_is_not_iterable_is_a_type_error(self, bad):
        with pytest.raises(TypeError):
            GradManager().attach(bad)

    @pytest.mark.parametrize("bad", ["a", 1.0, None, np.ones(2)])
    def test_a_bad_item_attaches_none(self, bad):
        manager = GradManager()
        with pytest.raises(AssertionError, match="expected a Tensor"):
            manager.attach([vector(1), bad])
        assert manager.attached_tensors() == []

    @pytest.mark.parametrize("dtype", ["int32", "bool", "uint8"])
    def test_other_types_are_refused_by_name(self, dtype):
        for kind in (TypeError, AssertionError):
            with pytest.raises(kind, match=rf"found {dtype}\[2\]"):
                GradManager().attach(tensor([1, 0], dtype=dtype))

    @pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
    def test_floating_types_get_gradients_of_their_type(self, dtype):
        x = tensor([1.0, 2.0], dtype=dtype)
        assert gradient(lambda x: x * x, x) == [[2, 4]]
        assert x.grad.dtype == x.dtype

    def test_callback_and_callbacks_are_one_argument(self):
        x = vector(1)
        manager = GradManager().attach(x, callback=lambda t, g: g * 3)
        with manager:
            manager.backward(x)
        assert x.grad.item() == 3
        with pytest.raises(TypeError):
            manager.attach(x, lambda t, g: g, callback=lambda t, g: g)
        with pytest.raises(TypeError, match="expected callables"):
            manager.attach(x, 3)

    def test_a_dead_tensor_leaves_and_its_id_may_come_back(self):
        manager = GradManager()
        for _ in range(20):
            x = vector(1)
            manager.attach(x)
            del x
            assert manager.attached_tensors() == []

    def test_a_recording_holds_its_tensors_until_it_ends(self):
        manager, x = GradManager(), vector(1)
        seen = weakref.ref(x)
        manager.attach(x)
        with manager:
            y = x * 3.5
            del x
            gc.collect()
            assert seen() is not None
            manager.backward(y)
        gc.collect()
        assert seen() is None

    def test_an_inner_recording_does_not_hold_tensors_for_the_outer_one(self):
        outer, inner = GradManager(), GradManager()
        with outer:
            x = vector(1)
            seen = weakref.ref(x)
            inner.attach(x)
            with inner:
                inner.backward(x * 3.5)
            del x
            gc.collect()
            assert seen() is None

    def test_an_intermediate_gets_its_own_gradient_and_passes_it_on(self):
        x = vector(1, 2)
        manager = GradManager().attach(x)
        with manager:
            y = x * x
            z = 3 * y
            manager.attach(y)
            u = 5 * y
            manager.backward(z + u)
        assert y.grad.tolist() == [5, 5]
        assert x.grad.tolist() == [16, 32]

    def test_attaching_again_takes_no_new_snapshot(self):
        x, calls = vector(2), []
        manager = GradManager().attach(x)
        with manager:
            y = x * x
            manager.attach(x, lambda t, g: calls.append(g.item()) or g)
            manager.backward(y)
        assert x.grad.item() == 4
        assert calls == [4]


class TestStates:
    def test_recording_twice_is_an_error_that_leaves_it_usable(self):
        manager = GradManager()
        with pytest.raises(RuntimeError, match="already recording"), manager, manager:
            pass
        manager.record()
        manager.release()
        manager.release()

    def test_backward_needs_a_recording(self):
        x = vector(1)
        manager = GradManager().attach(x)
        with pytest.raises(RuntimeError, match="not recording"):
            manager.backward(x)
        with manager:
            manager.release()
            with pytest.raises(RuntimeError):
                manager.backward(x)
        assert x.grad is None

    def test_an_exception_releases_and_passes(self):
        x = vector(1)
        manager = GradManager().attach(x)
        with pytest.raises(KeyError), manager:
            raise KeyError
        assert gradient(lambda x: x * 3, x) == [[3]]

    def test_backward_without_targets(self):
        x = vector(1)
        manager = GradManager().attach(x)
        for targets in (None, [], ()):
            with manager:
                manager.backward(targets)
        assert x.grad is None

    def test_a_dropped_manager_stops_to_record(self):
        manager = GradManager().attach(vector(1))
        manager.record()
        del manager
        gc.collect()
        y = vector(2) * 3.5
        assert y.item() == 7
        assert THREAD.recording.recording_managers() == []
        assert THREAD.recording.slots == []

    def test_a_manager_of_another_thread_is_an_error(self):
        import threading

        x, errors = vector(1), []
        manager = GradManager().attach(x)

        def other():
            try:
                manager.backward(x)
            except RuntimeError as error:
                errors.append(str(error))

        manager.record()
        thread = threading.Thread(target=other)
        thread.start()
        thread.join()
        assert "another thread" in errors[0]


class TestTargetsAndSeeds:
    def test_ones_are_the_default(self):
        assert gradient(lambda x: x * x, vector(1, 2)) == [[2, 4]]

    @pytest.mark.parametrize("dy", [3, 3.0, np.float32(3), np.full(2, 3.0), np.array(3)])
    def test_numbers_and_arrays(self, dy):
        assert gradient(lambda x: x * x, vector(1, 2), dy=dy) == [[6, 12]]

    @pytest.mark.parametrize("shape", [(), (1,), (2,), (1, 2), (3, 1), (3, 2)])
    def test_seeds_broadcast(self, shape):
        x = tensor(np.ones((3, 2)))
        assert gradient(lambda x: 5 * x, x, dy=tensor(np.full(shape, 2.0))) == [[[10, 10]] * 3]

    @pytest.mark.parametrize("shape", [(3,), (2, 2), (1, 2)])
    def test_seeds_that_do_not_fit(self, shape):
        x = vector(1, 2)
        with pytest.raises(ValueError, match=r"for a target of shape \[2\]"):
            gradient(lambda x: x * x, x, dy=tensor(np.ones(shape)))
        assert x.grad is None

    def test_counts_must_agree(self):
        x = vector(1)
        for y, dy in (([x, x], [x]), (None, x), (x, [x, x])):
            manager = GradManager().attach(x)
            manager.record()
            with pytest.raises(RuntimeError, match="one dy for each target"):
                manager.backward(y, dy)
            manager.record()
            manager.release()

    def test_wrong_kinds(self):
        x = vector(1)
        for y, dy in ((3.0, None), ([x, 1], None), (x, "a"), (np.ones(1), None)):
            manager = GradManager().attach(x)
            with pytest.raises(TypeError, match="expected"), manager:
                manager.backward(y, dy)

    def test_a_target_twice_counts_twice(self):
        x = vector(1, 2)
        assert gradient(lambda x: [y := x * x, y], x) == [[4, 8]]

    def test_the_attached_tensor_itself(self):
        assert gradient(lambda x: x, vector(1, 2), dy=vector(3, 4)) == [[3, 4]]
        assert gradient(lambda x: [x, 2 * x], vector(1)) == [[3]]

    def test_a_target_below_another(self):
        assert gradient(lambda x: [y := x * x, 3 * y], vector(1)) == [[8]]

    def test_tuples(self):
        seeds = (vector(1, 10), vector(100, 1000))
        assert gradient(lambda x: (x * x, 3 * x), vector(1, 2), dy=seeds) == [[302, 3040]]

    def test_targets_without_a_derivative(self):
        x = vector(1.5, 2.5)
        assert gradient(lambda x: [F.floor(x), x > 2, x.argmax(), x.astype("int32")], x) == [None]

    def test_zero_derivatives_are_zeros(self):
        a, b = vector(1), vector(2)
        assert gradient(lambda a, b: F.where(a > 0, a, b) + 0 * b, a, b) == [[1], [0]]


class TestCallbacks:
    def test_order_is_that_of_completion(self):
        a, b, c = vector(1), vector(2), vector(3)
        names, order = {id(a): "a", id(b): "b", id(c): "c"}, []
        manager = GradManager().attach([a, b, c], lambda t, g: order.append(names[id(t)]) or g)
        with manager:
            manager.backward(((a * 2) * b) * c)
        assert order == ["c", "b", "a"]

    @pytest.mark.parametrize("earlier", [None, 5.0])
    def test_none_adds_nothing(self, earlier):
        x = vector(1)
        x.grad = earlier and vector(earlier)
        manager = GradManager().attach(x, lambda t, g: None)
        with manager:
            manager.backward(x * 3)
        assert (x.grad and x.grad.item()) == earlier

    def test_each_gets_what_the_one_before_returned(self):
        x, seen = vector(1), []
        manager = GradManager().attach(x, [lambda t, g: None, lambda t, g: seen.append(g)])
        with manager:
            manager.backward(x * 3)
        assert seen == [None]

    def test_a_future_is_waited_for_after_all_callbacks(self):
        log = []

        class Future:
            def __init__(self, value):
                self.value = value

            def get(self):
                log.append("get")
                return self.value

        a, b = vector(1), vector(2)
        manager = GradManager()
        manager.attach([a, b], lambda t, g: log.append("call") or Future(g * 10))
        with manager:
            manager.backward(a * b)
        assert log == ["call", "call", "get", "get"]
        assert (a.grad.item(), b.grad.item()) == (20, 10)

    def test_the_manager_cannot_be_used_from_its_callbacks(self):
        x, messages = vector(1), []
        manager = GradManager()

        def callback(t, g):
            for use in (lambda: manager.backward(t), lambda: manager.attach(t), manager.record):
                with pytest.raises(RuntimeError) as caught:
                    use()
                messages.append(str(caught.value))
            return g

        manager.attach(x, callback)
        with manager:
            manager.backward(x * 3)
        assert len(messages) == 3
        assert x.grad.item() == 3

    def test_nothing_is_written_where_one_fails(self):
        a, b = vector(1), vector(2)
        manager = GradManager().attach(a)

        def fails(t, g):
            raise KeyError

        manager.attach(b, fails)
        a.grad = vector(7)
        with pytest.raises(KeyError), manager:
            manager.backward(a * b)
        assert a.grad.item() == 7
        assert b.grad is None
        manager.record()
        manager.release()

    def test_callbacks_that_read_cost_one_evaluation(self):
        tensors, seen = [vector(each) for each in range(1, 9)], []
        manager = GradManager().attach(tensors, lambda t, g: seen.append(g.item()) or g)
        with manager:
            product = tensors[0]
            for each in tensors[1:]:
                product = product * each
            STATISTICS.reset()
            manager.backward(product)
        assert sorted(seen) == pytest.approx(sorted(40320 / each for each in range(1, 9)))
        assert STATISTICS.evaluations == 1

    def test_an_outer_manager_sees_what_callbacks_compute(self):
        x = vector(3)
        outer, inner = GradManager().attach(x), GradManager()
        inner.attach(x, lambda t, g: g * t)
        with outer:
            with inner:
                inner.backward(x * x)
            g, x.grad = x.grad, None
            outer.backward(g)
        assert (g.item(), x.grad.item()) == (18, 12)


class TestAccumulation:
    def test_the_gradient_tensor_keeps_its_identity(self):
        x = vector(1, 2)
        gradient(lambda x: x * x, x)
        first = x.grad
        gradient(lambda x: x * x, x)
        assert x.grad is first
        assert first.tolist() == [4, 8]

    def test_an_array_of_the_first_gradient_is_not_overwritten(self):
        x = vector(1, 2)
        gradient(lambda x: x * x, x)
        array = x.grad.numpy()
        gradient(lambda x: x * x, x)
        assert array.tolist() == [2, 4]

    def test_earlier_gradients_of_other_types(self):
        x = vector(1.5)
        x.grad = tensor([1], dtype="int32")
        gradient(lambda x: x * x, x)
        assert (x.grad.item(), x.grad.dtype) == (4, np.float32)
        x.grad = np.array([1.0], np.float32)
        gradient(lambda x: x * x, x)
        assert x.grad.item() == 4

    def test_it_is_one_program_after_the_first_steps(self):
        x = vector(1, 2)
        manager = GradManager().attach(x)
        for _ in range(2):
            with manager:
                manager.backward(F.sin(x))
        STATISTICS.reset()
        for _ in range(5):
            with manager:
                manager.backward(F.sin(x))
        assert (STATISTICS.evaluations, STATISTICS.identity_hits) == (5, 5)

    def test_levels_add_up(self):
        x = vector(2)
        outer, inner = GradManager().attach(x), GradManager().attach(x)
        with outer:
            with inner:
                inner.backward(x * x * x)
            outer.backward(x.grad)
        assert x.grad.item() == 3 * 4 + 6 * 2


class TestMutation:
    def test_partial_writes(self):
        x = vector(1, 2)
        manager = GradManager().attach(x)
        with manager:
            y = x * x
            x[0] = 10.0
            manager.backward(y + 3 * x)
        assert x.grad.tolist() == [2, 7]

    def test_writing_itself_into_a_part(self):
        x, b = vector(1, 2), vector(1, 1, 1, 1)
        manager = GradManager().attach([x, b])
        with manager:
            c = b * 2
            c[1:3] = x
            manager.backward(c, vector(1, 2, 3, 4))
        assert x.grad.tolist() == [2, 3]
        assert b.grad.tolist() == [2, 0, 0, 8]

    def test_operands_are_snapshots(self):
        x, w = vector(1, 2), vector(3, 4)
        manager = GradManager().attach(x)
        with manager:
            y = x * w
            w[...] = 100.0
            manager.backward(y)
        assert x.grad.tolist() == [3, 4]

    def test_a_parameter_changed_in_place_is_recorded_anew(self):
        p = Parameter([2.0])
        manager = GradManager().attach(p)
        for expected in (4.0, 2 * 1.6, 2 * 1.28):
            with manager:
                manager.backward(p * p)
            assert p.grad.item() == pytest.approx(expected)
            p -= 0.1 * p.grad
            p.grad = None


class TestSeveralManagers:
    def test_two_managers_backward_in_either_order(self):
        for first, second in ((0, 1), (1, 0)):
            a, b = vector(2), vector(3)
            managers = GradManager().attach(a), GradManager().attach(b)
            with managers[0], managers[1]:
                y = a * a * b
                managers[first].backward(y)
                managers[second].backward(y)
            assert (a.grad.item(), b.grad.item()) == (12, 4)

    def test_all_orders_of_three_give_the_right_derivatives(self):
        for order in itertools.permutations(range(3)):
            x = vector(2)
            managers = [GradManager().attach(x) for _ in range(3)]
            for each in managers:
                each.record()
            y, depth = x**5, 0
            for which in order:
                # a manager goes through the results of those that were recorded after it
                managers[which].backward(y)
                y, x.grad = x.grad, None
                if y is None:
                    break
                depth += 1
            falling = [a > b for a, b in itertools.pairwise(order)]
            longest = next((i for i, falls in enumerate(falling) if not falls), 2) + 1
            assert depth == longest
            for each in managers:
                each.release()

    def test_hessian_by_rows(self):
        x = tensor(np.array([1.0, 2.0, 3.0]), dtype="float64")
        rows = []
        for row in range(3):
            outer, inner = GradManager().attach(x), GradManager().attach(x)
            with outer:
                with inner:
                    inner.backward((x * x).sum() * F.prod(x))
                g, x.grad = x.grad, None
                outer.backward(g[row])
            rows.append(x.grad.tolist())
            x.grad = None
        a, b, c = 1.0, 2.0, 3.0
        p, s = a * b * c, a * a + b * b + c * c
        assert rows[0][0] == pytest.approx(2 * p + 4 * a * b * c)
        assert rows[0][1] == pytest.approx(c * s + 2 * b * b * c + 2 * a * a * c)
        assert np.allclose(rows, np.transpose(rows))

    def test_double_backward_gives_a_tangent(self):
        """J v by two reverse passes: the gradient is linear in the seed."""
        x, seed, v = vector(0.5, 2), vector(0, 0), vector(3, 4)
        outer, inner = GradManager().attach(seed), GradManager().attach(x)
        with outer:
            with inner:
                inner.backward(F.sin(x), seed)
            outer.backward(x.grad, v)
        assert np.allclose(seed.grad.numpy(), np.cos([0.5, 2]) * [3, 4], atol=1e-6)

    def test_a_group_of_peers(self):
        x = vector(1, 2)
        a, b, c = (GradManager().attach(x) for _ in range(3))
        with a | b | c as entered:
            assert entered is None
            y = x * x
            for each in (b, a, c):
                each.backward(y)
        assert x.grad.tolist() == [6, 12]

    @pytest.mark.parametrize("first", [0, 1])
    def test_peers_are_blind_for_each_other(self, first):
        x = vector(1, 2)
        managers = [GradManager().attach(x) for _ in range(2)]
        with managers[0] | managers[1]:
            managers[first].backward(x * x)
            g, x.grad = x.grad, None
            managers[1 - first].backward(g * x)
        assert x.grad.tolist() == [2, 4]

    def test_groups_with_an_outer_manager(self):
        x = vector(2)
        outer, a, b = (GradManager().attach(x) for _ in range(3))
        with outer:
            with a | b:
                y = x * x * x
                a.backward(y)
                b.backward(y)
            g, x.grad = x.grad, None
            outer.backward(g)
        assert (g.item(), x.grad.item()) == (24, 24)

    def test_a_group_takes_managers_only(self):
        with pytest.raises(TypeError):
            GradManager() | 3
        with pytest.raises(TypeError):
            3 | (GradManager() | GradManager())

    def test_a_gradient_penalty_trains_like_its_closed_form(self):
        w, x = Parameter(np.array([[0.5], [-1.0]])), tensor(np.array([[1.0, 2.0], [3.0, 4.0]]))
        outer = GradManager().attach(w)
        with outer:
            inner = GradManager().attach(x)
            with inner:
                inner.backward(F.tanh(x @ w).sum())
            norm = F.norm(x.grad, axis=1)
            outer.backward(((norm - 1) ** 2).mean())
        eps, numeric = 1e-6, np.zeros((2, 1))
        arrays = x.numpy().astype(np.float64), w.numpy().astype(np.float64)

        def penalty(weights):
            slope = (1 - np.tanh(arrays[0] @ weights) ** 2) @ weights.T
            return ((np.sqrt((slope**2).sum(1)) - 1) ** 2).mean()

        for i in range(2):
            step = np.zeros((2, 1))
            step[i] = eps
            numeric[i] = (penalty(arrays[1] + step) - penalty(arrays[1] - step)) / (2 * eps)
        assert np.allclose(w.grad.numpy(), numeric, rtol=1e-3, atol=1e-5)


class TestWithoutHistory:
    def test_no_grad_as_block_and_decorator(self):
        x = vector(3)

        @no_grad()
        def square(x):
            return x * x

        def loss(x):
            with no_grad():
                y = x * 2
            return x * y + square(x)

        assert gradient(loss, x) == [[6]]

    def test_nested_blocks(self):
        x = vector(3)

        def loss(x):
            with no_grad():
                with no_grad():
                    pass
                y = x * 2
            return x * y + x

        assert gradient(loss, x) == [[7]]

    def test_a_read_inside_keeps_the_block(self):
        x = vector(3)
        with no_grad():
            (x * 2).item()
            manager = GradManager().attach(x)
            manager.record()
            y = x * 5
        manager.backward(y)
        assert x.grad is None

    def test_detach(self):
        assert gradient(lambda x: x * x.detach() + (x * x).detach(), vector(3)) == [[3]]


class Scale(Function):
    """x * 10, with 20 for a derivative."""

    calls = 0

    def forward(self, x):
        return x * 10

    def backward(self, g):
        type(self).calls += 1
        return g * 20


class TestFunction:
    def test_the_derivative_is_the_users(self):
        assert gradient(lambda x: Scale()(x) * 3, vector(1, 2)) == [[60, 60]]

    def test_several_outputs_are_a_tuple_and_unused_ones_are_none(self):
        seen = []

        class Split(Function):
            def forward(self, x):
                return [x * 2, x * 3, x * 4]

            def backward(self, *grads):
                seen.append([each if each is None else each.tolist() for each in grads])
                return sum(each for each in grads if each is not None)

        def loss(x):
            a, b, c = Split()(x)
            return a * 1 + c * (b.detach() + 7)

        assert gradient(loss, vector(1)) == [[11]]
        assert seen == [[[1], None, [10]]]

    def test_outputs_that_feed_each_other(self):
        class Both(Function):
            def forward(self, x):
                return x * 2, x * 3

            def backward(self, a, b):
                return a * 2 + b * 3

        def loss(x):
            a, b = Both()(x)
            return b * F.sin(a * 0) + a * b

        assert gradient(loss, vector(2)) == [[4 * 3 + 6 * 2]]

    def test_backward_is_skipped_where_no_output_was_reached(self):
        Scale.calls = 0

        def loss(x):
            _unused = Scale()(x)
            return x * 3

        assert gradient(loss, vector(1)) == [[3]]
        assert Scale.calls == 0

    def test_backward_runs_every_time_and_nothing_is_prepared_twice(self):
        x = vector(1)
        gradient(lambda x: Scale()(x), x)
        Scale.calls, x.grad = 0, None
        STATISTICS.reset()
        for _ in range(3):
            gradient(lambda x: Scale()(x), x)
            x.grad = None
        assert Scale.calls == 3
        assert (STATISTICS.prepared, STATISTICS.identity_hits) == (0, 3)

    def test_closed_over_tensors_get_nothing(self):
        w = vector(5)

        class Closed(Function):
            def forward(self, x):
                return x * w

            def backward(self, g):
                return g * w

        x = vector(2)
        manager = GradManager().attach([x, w])
        with manager:
            manager.backward(Closed()(x))
        assert x.grad.item() == 5
        assert w.grad is None

    def test_second_order_through_saved_values(self):
        class Exp(Function):
            def forward(self, x):
                self.y = F.exp(x)
                return self.y

            def backward(self, g):
                return g * self.y

        x = vector(0.5)
        outer, inner = GradManager().attach(x), GradManager().attach(x)
        with outer:
            with inner:
                inner.backward(Exp()(x))
            g, x.grad = x.grad, None
            outer.backward(g)
        assert g.item() == pytest.approx(np.exp(0.5))
        assert x.grad.item() == pytest.approx(np.exp(0.5))

    def test_none_and_too_few_gradients(self):
        class First(Function):
            def forward(self, x, y, z):
                return x * y * z

            def backward(self, g):
                return g, None

        x, y, z = vector(1), vector(2), vector(3)
        assert gradient(lambda *tensors: First()(*tensors), x, y, z) == [[1], None, None]

    def test_what_backward_must_return(self):
        class Wrong(Function):
            def __init__(self, value):
                self.value = value

            def forward(self, x):
                return x * 2

            def backward(self, g):
                return self.value

        with pytest.raises(TypeError, match=r"Wrong.backward: expected a Tensor"):
            gradient(lambda x: Wrong(2.0)(x), vector(1))
        with pytest.raises(ValueError, match=r"Wrong.backward: the shapes do not fit"):
            gradient(lambda x: Wrong(vector(1, 2, 3))(x), vector(1, 2))

    def test_an_exception_in_forward_leaves_the_recording_usable(self):
        class Fails(Function):
            def forward(self, x):
                raise KeyError

        def loss(x):
            with pytest.raises(KeyError):
                Fails()(x)
            return x * 3

        assert gradient(loss, vector(1)) == [[3]]
