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
