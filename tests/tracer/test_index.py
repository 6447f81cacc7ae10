"""Indexing against NumPy: reading, writing, and the adjoints of both."""

import numpy as np
import pytest
from gradc.tracer.errors import BoundsError
from gradc.tracer.recording import STATISTICS
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from gradc import tensor
from gradc.autodiff import GradManager

X = np.arange(60.0).reshape(3, 4, 5).astype(np.float32)

INDICES = [
    0,
    -1,
    slice(1, 3),
    slice(None, None, -1),
    slice(-1, 0, -2),
    slice(5, 2),
    ...,
    None,
    (),
    (1, 2),
    (1, 2, 3),
    (slice(None), 1),
    (..., 0),
    (..., None, slice(0, 5, 2)),
    (None, 1, ..., None),
    (slice(2, 0, -1), slice(None, None, 3), -2),
    [0, 2],
    [2, 0, 2],
    np.array([[0, 1], [2, 2]]),
    np.array([-1, 0], np.int8),
    [],
    (slice(None), [0, 3, 3]),
    (slice(None), slice(1, 3), [0, 4]),
    ([0, 1], [2, 3]),
    ([[0], [1]], [2, 3]),
    ([0, 1], slice(None), [2, 3]),
    ([0, 1], 2, [1, 3]),
    (0, slice(None), [1, 3]),
    (0, [1, 3]),
    ([1, 2], ..., 1),
    (slice(0, 2), [1, 2], [3, 4]),
    (slice(0, 2), [1, 2], None, [3, 4]),
    (None, [1, 2], [3, 1]),
    (slice(None, None, -1), [[1], [2]], slice(1, 4, 2)),
    (np.int64(1), np.array(2)),
    X > 30,
    X[:, :, 0] > 20,
    X[:, 0, 0] > 10,
    (slice(None), np.array([True, False, True, False])),
    (np.array([True, False, True]), [0, 1]),
    True,
    False,
    (True, 1),
    (1, True, ..., 0),
    (X[0] > 100, 0)[:0],
    np.zeros((3, 4, 5), bool),
    np.array(True),
    np.array(False),
    (np.array(True), slice(1, 3)),
    (None, [0, 2], [1, 0], ..., [3, 4]),
    (slice(0, 2), [1, 2], ..., [3, 4]),
    (None, [1, 2], [3, 1], [0, 0], ..., True),
    (..., np.array([True, False, True, True, False])),
    (None, X[:, :, 0] > 20, ..., None),
]


def same(got, expected):
    assert got.shape == expected.shape
    assert np.array_equal(got.numpy(), expected)


@pytest.mark.parametrize("index", INDICES, ids=str)
class TestAgainstNumPy:
    def test_read(self, index):
        same(tensor(X)[index], X[index])

    def test_adjoint_of_read(self, index):
        x = tensor(X)
        weights = np.random.default_rng(0).uniform(1, 2, X[index].shape).astype(np.float32)
        manager = GradManager().attach(x)
        with manager:
            manager.backward(x[index], tensor(weights))
        expected = np.zeros_like(X)
        np.add.at(expected, index, weights)
        assert np.allclose(x.grad.numpy(), expected)

    def test_write_a_number(self, index):
        x, expected = tensor(X), X.copy()
        x[index] = 100
        expected[index] = 100
        same(x, expected)

    def test_write_a_tensor(self, index):
        x, expected = tensor(X), X.copy()
        new = -np.arange(expected[index].size, dtype=np.float32).reshape(expected[index].shape)
        x[index] = tensor(new)
        expected[index] = new
        same(x, expected)

    def test_adjoint_of_write(self, index):
        x, start = tensor(X), X[index]
        new = tensor(np.ones_like(start))
        weights = np.random.default_rng(1).uniform(1, 2, X.shape).astype(np.float32)
        manager = GradManager().attach([x, new])
        with manager:
            x[index] = new * 2
            manager.backward(x, tensor(weights))
        owner = np.full(X.shape, -1)
        owner[index] = np.arange(start.size).reshape(start.shape)  # the last writer of each place
        expected = np.zeros(start.size, np.float32)
        np.add.at(expected, owner[owner >= 0], 2 * weights[owner >= 0])
        got = 0 if x.grad is None else x.grad.numpy()  # None: written as a whole
        assert np.allclose(got, np.where(owner < 0, weights, 0))
        if start.size:
            assert np.allclose(new.grad.numpy().ravel(), expected)

    def test_index_arrays_may_be_tensors(self, index):
        items = index if isinstance(index, tuple) else (index,)
        turned = tuple(
            tensor(each) if isinstance(each, (np.ndarray, list)) and np.size(each) else each
            for each in items
        )
        same(tensor(X)[turned], X[index])


@st.composite
def array_and_index(draw):
    shape = draw(arrays.array_shapes(min_dims=1, max_dims=4, max_side=4))
    basic = arrays.basic_indices(shape, allow_newaxis=True, max_dims=6)
    advanced = arrays.integer_array_indices(shape, result_shape=arrays.array_shapes(max_dims=2))
    mixed = st.tuples(*[_item(extent) for extent in shape[: draw(st.integers(1, len(shape)))]])
    return shape, draw(st.one_of(basic, advanced, mixed))


def _item(extent):
    lists = st.lists(st.integers(-extent, extent - 1), min_size=2, max_size=2)
    return st.one_of(st.integers(-extent, extent - 1), st.slices(extent), lists)


class TestAnyIndex:
    @given(array_and_index())
    def test_read_and_its_adjoint(self, case):
        shape, index = case
        array = np.arange(float(np.prod(shape))).reshape(shape).astype(np.float32)
        x = tensor(array)
        manager = GradManager().attach(x)
        with manager:
            y = x[index]
            same(y, np.asarray(array[index]))
            manager.backward(y * y)
        expected = np.zeros_like(array)
        np.add.at(expected, index, 2 * array[index])
        assert np.allclose(x.grad.numpy(), expected)

    @given(array_and_index())
    def test_write(self, case):
        shape, index = case
        expected = np.zeros(shape, np.float32)
        new = 1 + np.arange(float(np.size(expected[index]))).reshape(np.shape(expected[index]))
        x = tensor(expected)
        x[index] = tensor(new)
        expected[index] = new
        same(x, expected)


class TestWriting:
    def test_values_broadcast_and_are_cast(self):
        x = tensor(np.zeros((2, 3)), dtype="int32")
        x[0] = 1.9
        x[:, 1] = tensor([[[5.5, 6.5]]])
        assert x.tolist() == [[1, 5, 1], [0, 6, 0]]
        assert x.dtype == np.int32

    def test_a_whole_tensor_is_replaced(self):
        x, v = tensor([1.0, 2.0]), tensor([5.0, 6.0])
        x[...] = v
        v += 1
        assert x.tolist() == [5, 6]
        x[:] = 3
        assert x.tolist() == [3, 3]

    def test_others_keep_what_they_hold(self):
        x = tensor([1.0, 2.0, 3.0])
        before, part = x.detach(), x[1:]
        x[1:] = 0
        assert before.tolist() == [1, 2, 3]
        assert part.tolist() == [2, 3]

    def test_of_equal_places_the_last_stays(self):
        x = tensor(np.zeros(3))
        x[[1, 1, 0]] = tensor([5.0, 6.0, 7.0])
        assert x.tolist() == [7, 6, 0]

    def test_a_number_under_a_mask_asks_for_no_value(self):
        x = tensor([1.0, -2.0, 3.0])
        STATISTICS.reset()
        x[x < 0] = 0
        assert STATISTICS.evaluations == 0
        assert x.tolist() == [1, 0, 3]

    def test_shapes_that_do_not_fit(self):
        x = tensor(np.zeros((2, 3)))
        with pytest.raises(ValueError, match="broadcast"):
            x[0] = tensor([1.0, 2.0])

    def test_second_order_through_a_write(self):
        x = tensor([2.0, 3.0])
        outer, inner = GradManager().attach(x), GradManager().attach(x)
        with outer:
            with inner:
                y = x * 1
                y[0] = x[1] ** 3
                inner.backward((y * y).sum())
            g, x.grad = x.grad, None
            outer.backward(g)
        assert g.tolist() == [0, 2 * 3 + 6 * 3**5]
        assert x.grad.tolist() == [0, 2 + 30 * 3**4]


class TestErrors:
    @pytest.mark.parametrize("index", [3, -4, (0, 4), (slice(None), 0, -6)])
    def test_numbers_out_of_range_are_seen_at_once(self, index):
        with pytest.raises(IndexError, match="out of range"):
            tensor(X)[index]

    def test_index_arrays_are_checked_when_they_run(self):
        picked = tensor(X)[[0, 3]]
        with pytest.raises(BoundsError, match="found 3"):
            picked.numpy()

    @pytest.mark.parametrize("index", [1.0, "a", [0.5], (0, 0, 0, 0), (..., ...)])
    def test_what_is_no_index(self, index):
        with pytest.raises((IndexError, TypeError)):
            tensor(X)[index]

    @pytest.mark.parametrize(
        ("index", "axis"),
        [
            (np.array([True, False]), 0),
            (X[0] > 1, 0),
            ((..., np.array([True, False])), 2),
            ((0, None, np.array([True, False])), 1),
            ((True, np.zeros((3, 5), bool)), 0),
        ],
    )
    def test_masks_must_be_as_large_as_what_they_index(self, index, axis):
        with pytest.raises(IndexError, match=rf"for axis {axis} of \[3, 4, 5\]"):
            tensor(X)[index]
        with pytest.raises(IndexError, match=rf"for axis {axis} of \[3, 4, 5\]"):
            tensor(X)[index] = 1.0

    def test_iteration_ends(self):
        assert [each.item() for each in tensor([1.0, 2.0])] == [1, 2]


class TestMovingWindows:
    def test_batches_of_data_build_few_programs(self):
        data, w = tensor(np.arange(4000.0).reshape(1000, 4)), tensor(np.ones(4))
        manager = GradManager().attach(w)
        STATISTICS.reset()
        for start in range(0, 1000, 50):
            with manager:
                manager.backward((data[start : start + 50] @ w).mean())
            assert np.allclose(w.grad.numpy(), data.numpy()[start : start + 50].mean(0))
            w.grad = None
        assert STATISTICS.prepared <= 3
        assert STATISTICS.adjoints <= 3

    def test_single_lines_likewise(self):
        data = tensor(np.arange(77.0))
        STATISTICS.reset()
        assert [(data[i] * 3.5).item() for i in range(-77, 0)] == [3.5 * i for i in range(77)]
        assert STATISTICS.prepared <= 3

    def test_a_loop_inside_one_step_stays_part_of_the_program(self):
        data, w = tensor(np.arange(36.0).reshape(12, 3)), tensor(np.ones(3))
        manager = GradManager().attach(w)
        for _ in range(6):
            STATISTICS.reset()
            with manager:
                manager.backward(sum((data[i] * w).sum() for i in range(12)))
        assert STATISTICS.identity_hits == 1
        assert STATISTICS.recorded == 0

    def test_tracked_data_keeps_its_history(self):
        x = tensor(np.arange(36.0).reshape(12, 3))
        manager = GradManager().attach(x)
        for i in range(12):
            with manager:
                manager.backward(x[i] * 2)
        assert x.grad.tolist() == [[2, 2, 2]] * 12
