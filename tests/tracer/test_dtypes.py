import copy
import pickle
from collections.abc import Iterator

import numpy as np
import pytest
from gradc.tracer.dtypes import (
    DTYPES,
    DType,
    accumulator,
    as_dtype,
    bfloat16,
    bool_,
    default_float,
    default_int,
    float16,
    float32,
    float64,
    int8,
    int16,
    int32,
    int64,
    promote,
    set_default_dtype,
    uint8,
)
from gradc.tracer.errors import DTypeError
from walk import walk


@pytest.fixture
def _restored_default() -> Iterator[None]:
    before = default_float()
    yield
    set_default_dtype(before)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("float32", float32),
        ("bfloat16", bfloat16),
        (np.float16, float16),
        (np.dtype("<i8"), int64),
        (np.dtype(bool), bool_),
        (bool, bool_),
        (float, float64),
        (uint8, uint8),
    ],
)
def test_what_stands_for_a_dtype(given: object, expected: DType) -> None:
    assert as_dtype(given) is expected


@pytest.mark.parametrize(
    "given", [None, "float8", np.uint16, np.complex64, "U3", object(), np.dtype(">f4")]
)
def test_what_stands_for_no_dtype(given: object) -> None:
    with pytest.raises(DTypeError, match="expected one of the dtypes bool, uint8"):
        as_dtype(given)


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        (int64, float16, float16),
        (float32, int64, float32),
        (bool_, bfloat16, bfloat16),
        (float16, bfloat16, float32),
        (float16, float32, float32),
        (bfloat16, float64, float64),
        (uint8, int8, int16),
        (uint8, int16, int16),
        (int32, int64, int64),
        (bool_, uint8, uint8),
        (bool_, int32, int32),
    ],
)
def test_promotion(a: DType, b: DType, expected: DType) -> None:
    assert promote(a, b) is expected
    assert promote(b, a) is expected


@walk("a", DTYPES.values(), ids=repr)
@walk("b", DTYPES.values(), ids=repr)
def test_promotion_of_a_promotion_is_itself(a: DType, b: DType) -> None:
    common = promote(a, b)
    assert promote(common, a) is common
    assert promote(common, b) is common


@pytest.mark.parametrize("dtype", DTYPES.values(), ids=repr)
def test_dtypes_survive_copying_and_pickling(dtype: DType) -> None:
    assert copy.deepcopy(dtype) is dtype
    assert pickle.loads(pickle.dumps(dtype)) is dtype


def test_widths() -> None:
    found = {name: (dtype.bits, dtype.itemsize) for name, dtype in DTYPES.items()}
    assert found == {
        **{"bool": (1, 1), "uint8": (8, 1), "int8": (8, 1), "int16": (16, 2)},
        **{"int32": (32, 4), "int64": (64, 8), "float16": (16, 2), "bfloat16": (16, 2)},
        **{"float32": (32, 4), "float64": (64, 8)},
    }


def test_what_users_see() -> None:
    assert float32.public == np.dtype("float32")
    assert bfloat16.public is bfloat16
    assert repr(bfloat16) == "gradc.bfloat16"


def test_sums_of_small_integers_are_wide() -> None:
    wide = {dtype.name: accumulator(dtype).name for dtype in DTYPES.values()}
    small = ("bool", "uint8", "int8", "int16", "int32")
    assert {name for name, result in wide.items() if result == "int32"} == set(small)
    assert all(wide[name] == name for name in wide if name not in small)


@pytest.mark.usefixtures("_restored_default")
def test_default_dtype() -> None:
    assert (default_float(), default_int()) == (float32, int32)
    set_default_dtype("float64")
    assert (default_float(), default_int()) == (float64, int64)
    with pytest.raises(DTypeError, match="the default dtype is float32 or float64, not int32"):
        set_default_dtype(int32)
    assert default_float() is float64
