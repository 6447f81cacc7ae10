import struct

import numpy as np
import pytest
from contract.compute import compute, leaf
from gradc.tracer.dtypes import (
    DType,
    bfloat16,
    bool_,
    float16,
    float32,
    float64,
    int8,
    int32,
    int64,
)
from gradc.tracer.errors import BoundsError
from gradc.tracer.interpret import computing, from_storage, rounded, to_storage
from gradc.tracer.ir import labelled, node
from gradc.tracer.ops import elementwise as e
from gradc.tracer.ops import indexing, movement, sources


def nearest_bfloat16(value: float) -> int:
    """The 16 bits of the nearest bfloat16, by comparing the distances to both neighbours."""
    bits = int.from_bytes(struct.pack("<f", value), "little")
    down, up = bits & 0xFFFF0000, (bits & 0xFFFF0000) + 0x10000
    low, high = (float(struct.unpack("<f", struct.pack("<I", x))[0]) for x in (down, up))
    if abs(value - low) == abs(high - value):
        return (down if (down >> 16) % 2 == 0 else up) >> 16
    return (down if abs(value - low) < abs(high - value) else up) >> 16


@pytest.mark.parametrize(
    "value", [1.0, -1.0, 0.1, 1 + 2**-8, 1 + 3 * 2**-8, 1 + 2**-8 + 2**-20, 3.14159, -2e-39, 1e30]
)
def test_bfloat16_is_the_nearest_ties_to_even(value: float) -> None:
    x = np.array(value, np.float32)
    assert int(to_storage(x, bfloat16)) == nearest_bfloat16(float(x))


@pytest.mark.parametrize(
    ("value", "expected"),
    [(np.inf, 0x7F80), (-np.inf, 0xFF80), (3.4e38, 0x7F80), (-0.0, 0x8000), (0.0, 0)],
)
def test_bfloat16_at_the_ends(value: float, expected: int) -> None:
    assert int(to_storage(np.array(value, np.float32), bfloat16)) == expected


@pytest.mark.parametrize("bits", [0x7F800001, 0xFFFFFFFF, 0x7FC00000, 0x7FFFFFFF])
def test_every_nan_stays_a_nan_in_bfloat16(bits: int) -> None:
    x = np.array(bits, np.uint32).view(np.float32)
    assert np.isnan(from_storage(to_storage(x, bfloat16), bfloat16))


def test_every_bfloat16_survives_storage() -> None:
    bits = np.arange(1 << 16, dtype=np.uint16)
    values = from_storage(bits, bfloat16)
    finite = ~np.isnan(values)
    assert finite.sum() == (1 << 16) - 2 * 127
    np.testing.assert_array_equal(to_storage(values, bfloat16)[finite], bits[finite])


@pytest.mark.parametrize("dtype", [float16, bfloat16], ids=repr)
def test_every_operator_rounds_half_types(dtype: DType) -> None:
    """1 + eps/2 is 1 again before the next operator sees it; a sum in float32 would keep it."""
    eps = {"float16": 2.0**-10, "bfloat16": 2.0**-7}[dtype.name]
    x = leaf(0, (), dtype)
    made = (x + eps / 2) - 1.0
    one = to_storage(np.array(1, np.float32), dtype)
    assert from_storage(compute([made], [one])[0], dtype) == 0


def test_half_types_compute_in_float32() -> None:
    assert [computing(each).name for each in (float16, bfloat16, float32, float64, int8)] == [
        *("float32", "float32", "float32", "float64", "int8")
    ]


@pytest.mark.parametrize(
    ("dtype", "value", "expected"),
    [(float16, 70000.0, np.inf), (float16, 2049.0, 2048.0), (float64, 0.1, 0.1), (int8, 200, -56)],
)
def test_values_are_rounded_to_their_type(dtype: DType, value: float, expected: float) -> None:
    with np.errstate(over="ignore"):
        assert rounded(np.asarray(value), dtype) == expected


def test_scalars_are_cast_where_they_are_used() -> None:
    slots = [
        node(sources.scalar, (), (0, "f", float64)),
        node(sources.scalar, (), (0, "f", float32)),
        node(sources.scalar, (), (1, "i", int64)),
        node(sources.scalar, (), (1, "i", float32)),
        node(sources.scalar, (), (1, "i", bool_)),
    ]
    found = compute(slots, floats=[0.1], ints=[7, 2**53 + 1])
    assert found[0] == 0.1
    assert found[1] == np.float32(0.1)
    assert found[2] == 2**53 + 1
    assert found[3] == np.float32(2**53)
    assert found[4].item() is True


def test_outputs_have_no_gaps_and_keep_their_shape() -> None:
    x = np.arange(6.0).reshape(2, 3)
    turned = movement.transpose(leaf(0, (2, 3)), (1, 0))
    wide = movement.broadcast(leaf(1), (2, 2))
    found = compute([turned, wide, leaf(1)], [x, np.float64(3)])
    assert [each.shape for each in found] == [(3, 2), (2, 2), ()]
    assert all(each.flags.c_contiguous for each in found)
    np.testing.assert_array_equal(found[0], x.T)


def test_inputs_may_be_strided() -> None:
    x = np.arange(12.0).reshape(3, 4)[::-1, ::2]
    np.testing.assert_array_equal(compute([-leaf(0, (3, 2))], [x])[0], -x)


def test_no_warning_for_what_floats_do() -> None:
    """Tests turn warnings into errors."""
    found = compute([1.0 / leaf(0), e.log(leaf(0)), e.exp(1e9 - leaf(0))], [np.float64(0)])
    assert [float(each) for each in found] == [np.inf, -np.inf, np.inf]


@pytest.mark.parametrize("bad", [3, -4, 2**31 - 1])
def test_place_outside_its_range(bad: int) -> None:
    with labelled("embedding"):
        made = indexing.take(leaf(0, (3,)), leaf(1, (2,), int32), 0)
    with pytest.raises(BoundsError) as caught:
        compute([made], [np.zeros(3), np.array([0, bad], np.int32)])
    message = f"expected a place from -3 to 2, found {bad} (first recorded at "
    assert message in str(caught.value)
    assert isinstance(caught.value, IndexError)


def test_place_among_none() -> None:
    made = indexing.take(leaf(0, (0, 2)), leaf(1, (1,), int32), 0)
    with pytest.raises(BoundsError, match="expected none, as there are no elements, found 0"):
        compute([made], [np.zeros((0, 2)), np.zeros(1, np.int32)])


def test_no_places_among_none() -> None:
    made = indexing.take(leaf(0, (0, 2)), leaf(1, (0,), int32), 0)
    assert compute([made], [np.zeros((0, 2)), np.zeros(0, np.int32)])[0].shape == (0, 2)
