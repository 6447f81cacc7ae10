import numpy as np
import pytest
from contract.compute import compute, leaf
from gradc.tracer.dtypes import bool_, float32, float64, int32, uint8
from gradc.tracer.errors import DTypeError, ShapeError
from gradc.tracer.ir import node
from gradc.tracer.ops import movement
from walk import walk

X = np.arange(24.0).reshape(2, 3, 4)


@pytest.mark.parametrize(
    ("shape", "asked", "expected"),
    [
        ((2, 3), (-1,), (6,)),
        ((2, 3), (3, -1), (3, 2)),
        ((0, 3), (-1, 3), (0, 3)),
        ((0, 3), (5, -1), (5, 0)),
        ((), (-1,), (1,)),
        ((1,), (), ()),
    ],
)
def test_reshape_finds_the_missing_extent(
    shape: tuple[int, ...], asked: tuple[int, ...], expected: tuple[int, ...]
) -> None:
    assert movement.reshape(leaf(0, shape), asked).shape == expected


@pytest.mark.parametrize(
    ("shape", "asked"),
    [((2, 3), (4,)), ((2, 3), (-1, 4)), ((0,), (0, -1)), ((2, 3), (-1, -1)), ((2,), (-2, -1))],
)
def test_reshape_to_what_does_not_fit(shape: tuple[int, ...], asked: tuple[int, ...]) -> None:
    with pytest.raises(ShapeError, match="reshape: "):
        movement.reshape(leaf(0, shape), asked)


def test_movements_that_move_nothing_are_no_nodes() -> None:
    x = leaf(0, (2, 3, 4))
    assert movement.reshape(x, (2, 3, 4)) is x
    assert movement.reshape(movement.reshape(x, (6, 4)), (2, 3, 4)) is x
    assert movement.transpose(x, (0, 1, 2)) is x
    assert movement.transpose(movement.transpose(x, (2, 0, 1)), (1, 2, 0)) is x
    assert movement.broadcast(x, (2, 3, 4)) is x
    assert movement.slice_(x, 1, None, None) is x
    assert movement.slice_(x, 1, -3, 99) is x
    assert movement.pad(x, (0, 0, 0), (0, 0, 0)) is x
    assert movement.concat((x,), 1) is x
    one = leaf(0, (1, 2))
    assert movement.flip(one, 0) is one


def test_two_transposes_are_one() -> None:
    x = leaf(0, (2, 3, 4))
    made = movement.transpose(movement.transpose(x, (1, 2, 0)), (0, 2, 1))
    assert made.inputs == (x,)
    np.testing.assert_array_equal(compute([made], [X])[0], X.transpose(1, 2, 0).transpose(0, 2, 1))


@pytest.mark.parametrize("order", [(0, 1), (0, 1, 1), (0, 1, 3), (-1, 0, 1)])
def test_transpose_by_what_is_no_order(order: tuple[int, ...]) -> None:
    with pytest.raises(ShapeError, match="is no order of 3 axes"):
        movement.transpose(leaf(0, (2, 3, 4)), order)


@pytest.mark.parametrize(
    ("shape", "target"),
    [((2, 3), (3,)), ((2,), (3,)), ((3, 2), (3, 1)), ((0,), (2,)), ((2,), (0,))],
)
def test_broadcast_to_what_does_not_fit(shape: tuple[int, ...], target: tuple[int, ...]) -> None:
    with pytest.raises(ShapeError, match="does not broadcast to"):
        movement.broadcast(leaf(0, shape), target)


@walk("start", [None, 0, 1, 4, 5, 9, -1, -5, -9])
@walk("stop", [None, 0, 2, 5, 9, -1, -9])
@walk("step", [1, 2, 4, 9, -1, -2, -9])
def test_slices_are_pythons(start: int | None, stop: int | None, step: int) -> None:
    x = np.arange(10.0).reshape(2, 5)
    made = movement.slice_(leaf(0, (2, 5)), 1, start, stop, step)
    np.testing.assert_array_equal(compute([made], [x])[0], x[:, start:stop:step])


@pytest.mark.parametrize(
    ("starts", "sizes", "steps"),
    [
        ((4,), (2,), (1,)),
        ((0,), (3,), (3,)),
        ((1,), (3,), (-1,)),
        ((-1,), (1,), (1,)),
        ((0,), (-1,), (1,)),
    ],
)
def test_box_outside_its_tensor(
    starts: tuple[int, ...], sizes: tuple[int, ...], steps: tuple[int, ...]
) -> None:
    with pytest.raises(ShapeError, match=r"slice: .* are not within \[5\]"):
        movement.stepped(leaf(0, (5,)), starts, sizes, steps)


def test_flip() -> None:
    found = compute([movement.flip(leaf(0, (2, 3, 4)), 1)], [X])[0]
    np.testing.assert_array_equal(found, X[:, ::-1])


def test_pad_with_a_value() -> None:
    x = np.array([[1.0, 2]])
    made = movement.pad(leaf(0, (1, 2)), (1, 0), (0, 2), fill=-1.5)
    assert compute([made], [x])[0].tolist() == [[-1.5] * 4, [1, 2, -1.5, -1.5]]


def test_pad_with_a_value_outside_the_type_wraps() -> None:
    made = movement.pad(leaf(0, (1,), uint8), (1,), (0,), fill=-1)
    assert compute([made], [np.array([7], np.uint8)])[0].tolist() == [255, 7]
    made = movement.pad(leaf(0, (1,), bool_), (1,), (0,), fill=2)
    assert compute([made], [np.array([False])])[0].tolist() == [True, False]


def test_pad_by_less_than_nothing() -> None:
    with pytest.raises(ShapeError, match="pad: expected numbers from 0 on"):
        movement.pad(leaf(0, (3,)), (-1,), (0,))


def test_concat_brings_its_parts_to_one_type() -> None:
    made = movement.concat((leaf(0, (1,), int32), leaf(1, (2,), float32)), -1)
    found = compute([made], [np.array([3], np.int32), np.array([0.5, 1], np.float32)])[0]
    assert made.dtype is float32
    assert found.tolist() == [3, 0.5, 1]


@pytest.mark.parametrize(
    ("shapes", "axis", "message"),
    [
        (((2, 3), (3, 3)), 1, r"\[2, 3\] and \[3, 3\] do not fit along axis 1"),
        (((2, 3), (2, 3, 1)), 0, "do not fit along axis 0"),
        (((2,), (2,)), 1, "axis 1 of a tensor with 1 axes"),
        (((), ()), 0, "axis 0 of a single number, which has no axes"),
        ((), 0, "expected at least one tensor"),
    ],
)
def test_concat_of_what_does_not_fit(
    shapes: tuple[tuple[int, ...], ...], axis: int, message: str
) -> None:
    parts = tuple(leaf(k, shape) for k, shape in enumerate(shapes))
    with pytest.raises(ShapeError, match=f"concat: .*{message}"):
        movement.concat(parts, axis)


def test_concat_node_of_two_types_is_refused() -> None:
    with pytest.raises(DTypeError):
        node(movement.concat_op, (leaf(0, (1,), float32), leaf(1, (1,), float64)), (0,))
