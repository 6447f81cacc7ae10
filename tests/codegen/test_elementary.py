"""The elementary functions of elementary.h: errors, special values, and the same bits everywhere.

The oracle is NumPy in float64, whose own error is far below a unit in the last place of float32.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from gradc.codegen.render import read_template
from gradc.runtime.build import build
from gradc.runtime.cache import open_cache
from gradc.runtime.library import FFI, load_function
from gradc.tracer.ops import OPS
from graphs.compiled import Array, strict_toolchain
from walk import walk

HERE = Path(__file__).parent
TOP = 2.0**128
STRIDE = 2039
"""Of the 2**32 patterns of a float32, one of so many is tried; a prime, so that all bits change."""

ULPS = {
    **{"exp": 1.5, "exp2": 1.5, "expm1": 2, "sigmoid": 2.5, "log": 1.5, "log2": 2, "log10": 1.5},
    **{"log1p": 2, "sinh": 2, "cosh": 2, "tanh": 2.5, "asinh": 2.5, "acosh": 2.5, "atanh": 2.5},
    "erf": 1.5,
}
"""The errors that are allowed, in units in the last place."""

SWITCHES = {
    "exp": (0.0, -87.33655, -103.97208, 88.72284, 0.34657359, -104.0, 89.0),
    "exp2": (0.0, -126.0, -149.0, -150.0, 128.0, 0.5, -0.5),
    "expm1": (0.0, -17.32868, -20.0, 88.72284, 0.34657359, -0.34657359),
    "sigmoid": (0.0, -87.33655, -103.97208, 17.32868, 104.0),
    "log": (0.70710677, 1.0, 1.4142135, 1.1754944e-38, 3.4e38),
    "log2": (0.70710677, 1.0, 1.4142135, 1.1754944e-38, 3.4e38),
    "log10": (0.70710677, 1.0, 1.4142135, 1.1754944e-38, 3.4e38),
    "log1p": (0.0, -0.29289323, 0.41421354, -0.999, 16777216.0, 3.4e38),
    "sinh": (0.0, 1.0, -1.0, 89.41598, 90.0),
    "cosh": (0.0, 89.41598, 90.0),
    "tanh": (0.0, 0.17328680, 9.0109, 10.0),
    "asinh": (0.0, 0.41421354, 1.1529215e18),
    "acosh": (1.0, 1.1529215e18),
    "atanh": (0.0, 0.17157288, 0.99999),
    "erf": (0.0, 0.9, -0.9, 3.9192059, 3.95),
}
"""Where a function changes its way of computing, or its result reaches an end."""

INF, NAN = np.inf, np.nan
SPECIAL = {
    "exp": ((0, 1), (-0.0, 1), (INF, INF), (-INF, 0), (89, INF), (-104, 0), (-88.7, 3.0066e-39)),
    "exp2": ((0, 1), (-0.0, 1), (INF, INF), (-INF, 0), (128, INF), (-149, 1e-45), (-150, 0)),
    "expm1": ((0, 0), (-0.0, -0.0), (INF, INF), (-INF, -1), (89, INF), (1e-45, 1e-45)),
    "sigmoid": ((0, 0.5), (-0.0, 0.5), (INF, 1), (-INF, 0), (-103.5, 1e-45), (200, 1)),
    "log": ((0, -INF), (-0.0, -INF), (1, 0), (INF, INF), (-INF, NAN), (-1, NAN), (-1e-45, NAN)),
    "log2": ((0, -INF), (-0.0, -INF), (1, 0), (INF, INF), (-1, NAN), (1e-45, -149), (1024, 10)),
    "log10": ((0, -INF), (-0.0, -INF), (1, 0), (INF, INF), (-INF, NAN), (-1, NAN), (100, 2)),
    "log1p": ((0, 0), (-0.0, -0.0), (-1, -INF), (-1.1, NAN), (INF, INF), (-INF, NAN)),
    "sinh": ((0, 0), (-0.0, -0.0), (INF, INF), (-INF, -INF), (89.5, INF), (-89.5, -INF)),
    "cosh": ((0, 1), (-0.0, 1), (INF, INF), (-INF, INF), (89.5, INF), (-89.5, INF)),
    "tanh": ((0, 0), (-0.0, -0.0), (INF, 1), (-INF, -1), (9.5, 1), (-30, -1), (1e-45, 1e-45)),
    "asinh": ((0, 0), (-0.0, -0.0), (INF, INF), (-INF, -INF), (-1e-45, -1e-45)),
    "acosh": ((1, 0), (0.99, NAN), (0, NAN), (-1, NAN), (INF, INF), (-INF, NAN)),
    "atanh": ((0, 0), (-0.0, -0.0), (1, INF), (-1, -INF), (1.1, NAN), (-INF, NAN), (INF, NAN)),
    "erf": ((0, 0), (-0.0, -0.0), (INF, 1), (-INF, -1), (4, 1), (-4, -1), (1e-45, 1e-45)),
}
"""Arguments and values, the latter worked out by hand; a NaN gives one in every function."""

Run = Callable[[str, Array], Array]
HEADS = {"written out": "", "called": "#define GRADC_ELEMENTARY_ONCE\n"}


@pytest.fixture(scope="module", params=HEADS)
def library(request: pytest.FixtureRequest) -> Any:
    headers = "".join(read_template(f"c/{name}") for name in ("gradc.h", "lanes.h", "elementary.h"))
    program = (HERE / "programs" / "elementary.c").read_text(encoding="utf-8")
    return build(HEADS[request.param] + headers + program, strict_toolchain(), open_cache())


@pytest.fixture(scope="module")
def run(library: Any) -> Run:
    def call(name: str, x: Array) -> Array:
        found = np.empty_like(x)
        over = load_function(library, f"run_{name}", "void (*)(int64_t, void *, void *)")
        over(x.size, *(FFI.cast("void *", each.ctypes.data) for each in (x, found)))
        return found

    return call


def truth(name: str, x: Array) -> Array:
    """The value in float64."""
    with np.errstate(all="ignore"):
        return np.asarray(OPS[name].reference(x.astype(np.float64)))


def errors(found: Array, expected: Array) -> Array:
    """How far float32 values are from float64 ones, in units in the last place of the latter.

    An infinity counts as the number that follows the largest; a NaN where none is expected, or the
    reverse, is as far off as can be.
    """
    with np.errstate(invalid="ignore"):  # signalling NaN
        a, b = (np.clip(each.astype(np.float64), -TOP, TOP) for each in (found, expected))
    exponent = np.frexp(np.where(np.isnan(b), 1.0, b))[1]
    off = np.abs(a - b) / np.ldexp(1.0, np.clip(exponent, -125, 128) - 24)
    return np.where(np.isnan(a) | np.isnan(b), np.where(np.isnan(a) == np.isnan(b), 0, INF), off)


def patterns(name: str) -> Array:
    spread = np.arange(0, 2**32, STRIDE, dtype=np.uint64).astype(np.uint32)
    centres = np.array(SWITCHES[name], np.float32).view(np.uint32)
    near = (centres[:, None] + np.arange(-3000, 3000).astype(np.uint32)).ravel()
    return np.concatenate([spread, near]).view(np.float32)


@walk("name", ULPS)
def test_errors_are_small(run: Run, name: str) -> None:
    x = patterns(name)
    found, expected = run(name, x), truth(name, x)
    off = errors(found, expected)
    worst = int(np.argmax(off))
    assert off[worst] <= ULPS[name], (x[worst], found[worst], expected[worst])


@pytest.mark.parametrize("name", ["exp", "expm1", "log", "log1p", "sigmoid", "tanh", "erf"])
def test_next_to_switches_values_rise(run: Run, name: str) -> None:
    """From one argument to the next they fall by no more than they are rounded."""
    for centre in SWITCHES[name]:
        x = np.float32(centre) + np.spacing(np.float32(abs(centre))) * np.arange(-500, 500)
        y = run(name, np.unique(x.astype(np.float32)))
        y = np.clip(y[~np.isnan(y)].astype(np.float64), -TOP, TOP)
        unit = np.ldexp(1.0, np.clip(np.frexp(y[1:])[1], -125, 128) - 24)
        falls = np.max(-np.diff(y) / unit)
        assert falls <= 2, (centre, falls)


@walk("name", ULPS)
def test_special_values(run: Run, name: str) -> None:
    x, expected = np.array([*SPECIAL[name], (NAN, NAN), (-NAN, NAN)], np.float32).T.copy()
    found = run(name, x)
    np.testing.assert_allclose(found, expected, rtol=1e-3, atol=0)
    numbers = ~np.isnan(expected)
    np.testing.assert_array_equal(np.signbit(found[numbers]), np.signbit(expected[numbers]))
    whole = numbers & (expected != np.float32(3.0066e-39))
    np.testing.assert_array_equal(found[whole], expected[whole])


@pytest.mark.parametrize("name", ["sigmoid", "tanh", "erf"])
def test_values_stay_within_one(run: Run, name: str) -> None:
    assert np.nanmax(np.abs(run(name, patterns(name)))) == 1


@walk("name", ULPS)
def test_lanes_tails_and_single_values_have_the_same_bits(
    library: Any, run: Run, name: str
) -> None:
    """At every place of arrays of 1 to 67 elements that begin at every place of a vector."""
    one = load_function(library, f"one_{name}", "void (*)(void *, void *)")
    for value in np.float32([0.3721, 1.73205, 11.1, -0.61803, -7.3, 1e-40, 64.0]):
        x, y = np.array([value]), np.zeros(1, np.float32)
        one(*(FFI.cast("void *", each.ctypes.data) for each in (x, y)))
        for length in range(1, 68):
            for start in (0, 1, length % 16):
                found = run(name, np.full(start + length, value, np.float32)[start:])
                assert (found.view(np.uint32) == y.view(np.uint32)).all(), (value, length, start)
