"""Shapes and numbers that no tensor can have are refused before anything is recorded."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from gradc.tracer.errors import ShapeError

import gradc
import gradc.functional as F

NEGATIVE: dict[str, Callable[[], gradc.Tensor]] = {
    "ones": lambda: F.ones(-3),
    "zeros": lambda: F.zeros((-1, 2)),
    "full": lambda: F.full((2, -2), 1.0),
    "broadcast_to": lambda: F.broadcast_to(gradc.Tensor([1.0]), (-1,)),
}


@pytest.mark.parametrize("name", NEGATIVE)
def test_negative_extents(name: str) -> None:
    with pytest.raises(ShapeError, match=r"found \[.*-.*test_refusals\.py"):
        NEGATIVE[name]()


@pytest.mark.parametrize(
    ("data", "dtype"), [(2**40, None), ([300], "uint8"), (-1, "uint8"), ([0, 128], "int8")]
)
def test_integers_out_of_range(data: object, dtype: str | None) -> None:
    with pytest.raises(OverflowError, match=r"expected integers of .*test_refusals\.py"):
        gradc.Tensor(data, dtype=dtype)


@pytest.mark.parametrize("dtype", ["uint8", "int8", "int16", "int32"])
def test_extreme_integers(dtype: str) -> None:
    limits = np.iinfo(dtype)
    held = gradc.Tensor(np.array([limits.min, limits.max], np.int64), dtype=dtype)
    assert held.numpy().tolist() == [limits.min, limits.max]


WRONG: dict[str, Callable[[gradc.Tensor], object]] = {
    "axis of a fraction": lambda x: F.sum(x, axis=1.5),
    "axis of a word": lambda x: F.max(x, axis="rows"),
    "shape of a word": lambda x: F.reshape(x, "wide"),
    "shape of a fraction": lambda x: F.ones(2.5),
    "no operand": lambda x: F.exp(None),
    "no second operand": lambda x: F.maximum(x, None),
    "widths of one number": lambda x: F.pad(x, 3),
    "range of a word": lambda x: F.arange("a"),
    "unknown type": lambda x: x.astype("float31"),
}


@pytest.mark.parametrize("name", WRONG)
def test_arguments_of_a_wrong_kind(name: str) -> None:
    x = gradc.Tensor([[1.0, 2.0], [3.0, 4.0]])
    with pytest.raises(TypeError, match=r"\(at .*test_refusals\.py:\d+\)"):
        WRONG[name](x)
    np.testing.assert_array_equal((x + x).numpy(), [[2, 4], [6, 8]])  # nothing is left half-done
