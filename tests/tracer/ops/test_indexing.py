import numpy as np
import pytest
from contract.compute import compute, leaf
from gradc.tracer.dtypes import DType, bool_, float32, float64, int8, int16, int32, int64, uint8
from gradc.tracer.errors import BoundsError, DTypeError, ShapeError
from gradc.tracer.ir import node
from gradc.tracer.ops import indexing

X = np.arange(12.0).reshape(3, 4)


@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize("places", [[0, 2, 2], [-1, 1], [[0, 1], [2, -3]], 1, []])
def test_take_is_numpys(axis: int, places: object) -> None:
    at = np.array(places, np.int32)
    made = indexing.take(leaf(0, (3, 4)), leaf(1, at.shape, int32), axis)
    np.testing.assert_array_equal(compute([made], [X, at])[0], np.take(X, at, axis))


@pytest.mark.parametrize("dtype", [int8, uint8, int16, int32, int64], ids=repr)
def test_small_index_types_reach_every_line(dtype: DType) -> None:
    """300 is no int8: a negative place must be brought to the front in a wider type."""
    x = np.arange(300.0)
    last = -1 if dtype.kind == "i" else 255
    made = indexing.take(leaf(0, (300,)), leaf(1, (1,), dtype), 0)
    assert compute([made], [x, np.array([last], dtype.storage)])[0] == [x[last]]


def test_places_beyond_32_bits_are_found_out() -> None:
    made = indexing.take(leaf(0, (3,)), leaf(1, (1,), int64), 0)
    with pytest.raises(BoundsError, match=f"found {2**32}"):
        compute([made], [np.zeros(3), np.array([2**32])])


@pytest.mark.parametrize("dtype", [float32, float64], ids=repr)
def test_floats_are_no_places(dtype: DType) -> None:
    with pytest.raises(DTypeError, match="expected bool or integers"):
        indexing.take(leaf(0, (3,)), leaf(1, (1,), dtype), 0)
    with pytest.raises(DTypeError, match="take: expected integers as indices"):
        node(indexing.take_op, (leaf(0, (3,)), leaf(1, (1,), dtype)), (0,))
    with pytest.raises(DTypeError, match="take: expected integers as indices, found bool"):
        node(indexing.take_op, (leaf(0, (3,)), leaf(1, (1,), bool_)), (0,))


@pytest.mark.parametrize("axis", [2, -3])
def test_axis_that_is_not_there(axis: int) -> None:
    with pytest.raises(ShapeError, match=f"take: axis {axis} of a tensor with 2 axes"):
        indexing.take(leaf(0, (3, 4)), leaf(1, (1,), int32), axis)
    with pytest.raises(ShapeError, match="axis -1 of"):
        node(indexing.take_op, (leaf(0, (3, 4)), leaf(1, (1,), int32)), (-1,))


def test_lines_are_added_as_often_as_they_are_named() -> None:
    at = np.array([1, 1, -1], np.int32)
    updates = np.array([[1.0] * 4, [10] * 4, [100] * 4])
    made = indexing.scatter_add(leaf(0, (3, 4)), leaf(1, (3,), int32), leaf(2, (3, 4)), 0)
    expected = X + np.array([[0.0], [11], [100]])
    np.testing.assert_array_equal(compute([made], [X, at, updates])[0], expected)


def test_last_line_that_is_written_stays() -> None:
    at = np.array([[2, 0], [2, 2]], np.int32)
    updates = np.array([[[1.0, 2], [3, 4]]] * 3)
    made = indexing.scatter_set(leaf(0, (3, 4)), leaf(1, (2, 2), int32), leaf(2, (3, 2, 2)), 1)
    expected = X.copy()
    expected[:, 0], expected[:, 2] = 2, 4
    np.testing.assert_array_equal(compute([made], [X, at, updates])[0], expected)


def test_writing_leaves_the_base_as_it_was() -> None:
    base = X.copy()
    made = indexing.scatter_set(leaf(0, (3, 4)), leaf(1, (), int32), leaf(2, (4,)), 0)
    compute([made], [base, np.int32(1), np.zeros(4)])
    np.testing.assert_array_equal(base, X)


def test_updates_take_the_type_of_the_base() -> None:
    made = indexing.scatter_add(
        leaf(0, (3,), int32), leaf(1, (2,), int32), leaf(2, (2,), float64), 0
    )
    arrays = [np.zeros(3, np.int32), np.array([0, 0], np.int32), np.array([1.75, 2.75])]
    assert made.dtype is int32
    assert compute([made], arrays)[0].tolist() == [3, 0, 0]


@pytest.mark.parametrize("shape", [(2,), (3, 4), (2, 3)])
def test_updates_of_another_shape(shape: tuple[int, ...]) -> None:
    with pytest.raises(ShapeError, match=r"scatter_add: expected updates of shape \[2, 4\]"):
        indexing.scatter_add(leaf(0, (3, 4)), leaf(1, (2,), int32), leaf(2, shape), 0)
