import pytest
from contract.compute import leaf
from gradc.tracer.dtypes import float32, float64, int32
from gradc.tracer.errors import ShapeError
from gradc.tracer.ir import ANYWHERE, DeviceError, node
from gradc.tracer.ops import elementwise as e
from gradc.tracer.ops import reduction, sources
from gradc.tracer.ops.kinds import broadcast_shapes, normalized_axes, normalized_axis


@pytest.mark.parametrize(
    ("shapes", "expected"),
    [
        (((2, 3), (3,)), (2, 3)),
        (((2, 1), (1, 3)), (2, 3)),
        (((), (4,)), (4,)),
        (((0,), (1,)), (0,)),
        (((1, 1), (5, 0, 1)), (5, 0, 1)),
        (((2, 1, 1), (3, 1), (4,)), (2, 3, 4)),
    ],
)
def test_common_shape(shapes: tuple[tuple[int, ...], ...], expected: tuple[int, ...]) -> None:
    assert broadcast_shapes("add", shapes) == expected
    assert broadcast_shapes("add", shapes[::-1]) == expected


@pytest.mark.parametrize("shapes", [((2,), (3,)), ((0,), (2,)), ((2, 3), (2,))])
def test_shapes_without_a_common_one(shapes: tuple[tuple[int, ...], ...]) -> None:
    with pytest.raises(ShapeError, match=r"add: the shapes .* do not broadcast"):
        broadcast_shapes("add", shapes)


@pytest.mark.parametrize(
    ("given", "expected"),
    [(None, (0, 1, 2)), (-1, (2,)), ((-1, 0), (0, 2)), ((), ()), ([1, 0], (0, 1))],
)
def test_axes_from_the_front(
    given: tuple[int, ...] | int | None, expected: tuple[int, ...]
) -> None:
    assert normalized_axes("sum", given, 3) == expected


@pytest.mark.parametrize(
    ("given", "message"),
    [(3, "axis 3 of a tensor with 3 axes"), (-4, "axis -4"), ((0, -3), "names an axis twice")],
)
def test_axes_that_are_not_there(given: tuple[int, ...] | int, message: str) -> None:
    with pytest.raises(ShapeError, match=f"sum: .*{message}"):
        normalized_axes("sum", given, 3)


def test_no_axis_of_a_number() -> None:
    with pytest.raises(ShapeError, match="axis 0 of a single number, which has no axes"):
        normalized_axis("sum", 0, 0)


def test_result_lives_where_its_operands_do() -> None:
    x = node(sources.input_, (), (0, float32, (2,), "cuda:0"))
    assert (x * 2.0).type.device == "cuda:0"
    assert reduction.sum(x * 2.0, (0,)).type.device == "cuda:0"
    assert sources.full(1, (2,), float32).type.device == ANYWHERE
    with pytest.raises(DeviceError, match="found cpu and cuda:0"):
        e.add(x, leaf(1, (2,), float32))


def test_sum_over_no_axes_is_the_value_itself() -> None:
    x = leaf(0, (2,), float64)
    assert reduction.sum(x, ()) is x
    assert reduction.argmax(x, ()).dtype is int32


def test_operators_brought_together_once() -> None:
    x = leaf(0, (2,), float64)
    assert e.cast_to(x, float64) is x
    assert e.add(x, x).inputs == (x, x)
