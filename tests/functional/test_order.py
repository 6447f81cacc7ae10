"""Orders of long lines, which are found by digits, and of the first few of many, against NumPy."""

import numpy as np
import pytest
from walk import walk

import gradc
import gradc.functional as F

TYPES = ["bool", "uint8", "int8", "int16", "int32", "int64", "float16", "float32", "float64"]
THOROUGH = ["bool", "float16", "float32", "float64"]
LENGTHS = [17, 255, 256, 70_000]


def lines(dtype: str, length: int, ties: bool) -> np.ndarray:
    """Two lines, with all that is special of floats; with `ties` of few different values."""
    rng = np.random.default_rng(length)
    if dtype == "bool":
        return rng.random((2, length)) < 0.5
    if not dtype.startswith("float"):
        limits = np.iinfo(dtype)
        low, high = (-3, 4) if ties and limits.min else (0, 4) if ties else (limits.min, limits.max)
        return rng.integers(low, high, (2, length), dtype, endpoint=not ties)
    x = rng.integers(-3, 4, (2, length)) if ties else rng.standard_normal((2, length)) * 100
    x = x.astype(dtype)
    special = [np.nan, -np.nan, np.inf, -np.inf, 0.0, -0.0, np.finfo(dtype).max]
    special += [np.finfo(dtype).smallest_subnormal, -np.finfo(dtype).smallest_subnormal]
    x[:, rng.integers(0, length, len(special))] = special
    return x


def stable(x: np.ndarray, descending: bool) -> np.ndarray:
    """The order of each line; NumPy puts NaN last, and keeps the places of equal elements."""
    if not descending:
        return np.argsort(x, axis=-1, kind="stable")
    backwards = np.argsort(x[:, ::-1], axis=-1, kind="stable")
    return x.shape[1] - 1 - backwards[:, ::-1]


@walk("descending", [False, True])
@walk("ties", [False, True])
@walk("dtype", TYPES)
def test_argsort(dtype: str, ties: bool, descending: bool) -> None:
    for length in LENGTHS if dtype in THOROUGH else [17, 300]:
        x = lines(dtype, length, ties)
        found = F.argsort(gradc.tensor(x, dtype=dtype), descending).numpy()
        np.testing.assert_array_equal(found, stable(x, descending), str(length))


@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("dtype", ["uint8", "float32", "float64"])
def test_the_first_of_many(dtype: str, descending: bool) -> None:
    """By looking at each once, or by sorting all, on either side of the limits between these."""
    for length, count in [(17, 2), (17, 3), (600, 1), (600, 63), (600, 64), (600, 65), (600, 600)]:
        for ties in (False, True) if descending else (True,):
            x = lines(dtype, length, ties)
            values, places = F.topk(gradc.tensor(x, dtype=dtype), count, descending)
            expected = stable(x, descending)[:, :count]
            np.testing.assert_array_equal(places.numpy(), expected, str((length, count)))
            wanted = np.take_along_axis(x, expected, -1)
            np.testing.assert_array_equal(values.numpy(), wanted, str((length, count)))


def test_the_first_none() -> None:
    values, places = F.topk(gradc.tensor(np.ones((2, 5), np.float32)), 0)
    assert values.shape == places.shape == (2, 0)


def test_topk_gradient() -> None:
    """Each of the chosen elements takes its part, also where a place is chosen late."""
    x = np.random.default_rng(0).standard_normal((3, 500)).astype(np.float32)
    weights = np.arange(1, 9, dtype=np.float32)
    tensor = gradc.Parameter(x)
    with gradc.autodiff.GradManager().attach(tensor) as manager:
        values, _ = F.topk(tensor, 8, descending=True)
        manager.backward((values * gradc.tensor(weights)).sum())
    expected = np.zeros_like(x)
    order = np.argsort(-x, axis=-1, kind="stable")[:, :8]
    np.put_along_axis(expected, order, np.broadcast_to(weights, (3, 8)), -1)
    np.testing.assert_array_equal(tensor.grad.numpy(), expected)
