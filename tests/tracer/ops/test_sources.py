import math

import numpy as np
import pytest
from contract.compute import compute
from gradc.tracer.dtypes import DTYPES, DType, bool_, float32, float64, int8, int64, uint8
from gradc.tracer.errors import ShapeError
from gradc.tracer.ir import node
from gradc.tracer.ops import sources


@pytest.mark.parametrize(
    ("value", "dtype", "text"),
    [
        (0.1, float64, "0.1"),
        (-0.0, float32, "-0.0"),
        (1, float32, "1.0"),
        (math.inf, float32, "inf"),
        (math.nan, float64, "nan"),
        (0.5, bool_, "1"),
        (0, bool_, "0"),
        (-1, uint8, "255"),
        (300, int8, "44"),
        (200, int8, "-56"),
        (2**63, int64, str(-(2**63))),
        (2.9, int64, "2"),
    ],
)
def test_text_of_a_constant(value: float, dtype: DType, text: str) -> None:
    assert sources.text_of(value, dtype) == text


@pytest.mark.parametrize("value", [0.1, -0.0, 1e-310, 1.7976931348623157e308, 3.0])
def test_no_digit_of_a_constant_is_lost(value: float) -> None:
    found = compute([sources.constant_of(value, float64)])[0]
    assert float(found).hex() == value.hex()


@pytest.mark.parametrize("dtype", DTYPES.values(), ids=repr)
def test_constants_of_every_type_are_in_its_range(dtype: DType) -> None:
    one = compute([sources.constant_of(1, dtype), sources.constant_of(-1, dtype)])
    assert [each.dtype for each in one] == [dtype.storage] * 2


def test_full() -> None:
    found = compute([sources.full(2.5, (2, 0), float32), sources.full(2.5, (2, 1), float32)])
    assert found[0].shape == (2, 0)
    assert found[1].tolist() == [[2.5], [2.5]]


def test_ramp_wraps_where_its_type_ends() -> None:
    made = node(sources.iota, (), (0, (300,), uint8))
    expected = [i % 256 for i in range(300)]
    assert compute([made])[0].tolist() == expected


@pytest.mark.parametrize(("axis", "shape"), [(0, ()), (1, (3,)), (-1, (3,))])
def test_ramp_along_an_axis_that_is_not_there(axis: int, shape: tuple[int, ...]) -> None:
    with pytest.raises(ShapeError, match="iota: axis"):
        node(sources.iota, (), (axis, shape, float32))


def test_constants_are_merged_by_value() -> None:
    assert sources.constant_of(float(np.float32(0.5)), float32) is sources.constant_of(0.5, float32)
