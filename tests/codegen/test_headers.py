"""The headers of the C templates: each compiles alone, and the prelude computes as NumPy does."""

import shutil
import subprocess
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from contract.values import special_values
from gradc.codegen.render import read_template
from gradc.codegen.spelling import INTEGER_NAMES
from gradc.runtime.build import build
from gradc.runtime.cache import open_cache
from gradc.runtime.library import FFI, load_function
from gradc.runtime.support import FOLDER
from gradc.tracer.dtypes import (
    DTYPES,
    DType,
    bfloat16,
    float16,
    float32,
    float64,
    int32,
    int64,
)
from gradc.tracer.interpret import from_storage, to_storage
from gradc.tracer.ir import TensorType
from gradc.tracer.ops import OPS
from gradc.tracer.ops.kinds import cast
from graphs.compiled import Array, differences, strict_toolchain
from walk import walk

HERE = Path(__file__).parent

# ---- alone

BEFORE = {
    "elementary.h": ("lanes.h",),
    "sort.h": ("lanes.h", "elementary.h"),
    "prelude.h": ("gradc.h", "lanes.h", "elementary.h"),
    "matmul.h": ("gradc.h", "lanes.h", "elementary.h", "prelude.h"),
}
"""What stands before a header in every source, where it needs something."""

PARTS_OF_SUPPORT = ("blas.h", "blas_threads.h", "gemm.h", "pool.h", "products.h")
"""Headers of functions that are not inline, since one source alone has them."""

HEADERS = sorted(path.name for path in FOLDER.glob("*.h"))
MATMULS = tuple(name for name in DTYPES if name not in ("float32", "float64"))
"""The products of matmul.h, by type."""


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
@pytest.mark.parametrize("level", ["-O0", "-O2"])
@pytest.mark.parametrize("name", [*HEADERS, "products.c", "support.c"])
def test_a_header_compiles_alone(tmp_path: Path, name: str, level: str, compiler: str) -> None:
    if shutil.which(compiler) is None:
        pytest.skip(f"no {compiler} on PATH")
    included = (*BEFORE.get(name, ()), name)
    source = tmp_path / "source.c"
    source.write_text("".join(f'#include "{each}"\n' for each in included), encoding="utf-8")
    unused = ["-Wno-unused-function"] if name in PARTS_OF_SUPPORT else []
    command = [
        *(compiler, "-std=gnu11", level, "-Wall", "-Wextra", "-Werror", "-fopenmp-simd", *unused),
        *("-I", str(FOLDER), "-c", "-o", str(tmp_path / "object.o"), str(source)),
    ]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr


def test_every_product_compiles() -> None:
    """Those of all types, though a program has the ones that it needs."""
    text = "".join(read_template(f"c/{name}") for name in (*BEFORE["matmul.h"], "matmul.h"))
    toolchain = strict_toolchain()
    unused = toolchain._replace(flags=(*toolchain.flags, "-Wno-unused-function"))
    build(text + "".join(f"GRADC_MATMUL_{name}\n" for name in MATMULS), unused, open_cache())


# ---- the prelude

INTEGER_KINDS = {"i32": int32, "i64": int64}
FLOAT_KINDS = {"f32": float32, "f64": float64}
HALVES = {"f16": float16, "bf16": bfloat16}
BEFORE_PRELUDE = {"": "", "without _Float16": "#undef __FLT16_MAX__\n"}
Run = Callable[..., Array]


@pytest.fixture(scope="module", params=BEFORE_PRELUDE)
def load(request: pytest.FixtureRequest) -> Callable[[str, str], Any]:
    """The function run_<name> of programs/prelude.c, of a type."""
    program = (HERE / "programs" / "prelude.c").read_text(encoding="utf-8")
    names = (*BEFORE["prelude.h"], "prelude.h")
    headers = "".join(read_template(f"c/{name}") for name in names)
    source = BEFORE_PRELUDE[request.param] + headers + program
    path = build(source, strict_toolchain(), open_cache())
    return lambda name, kind: load_function(path, f"run_{name}", kind)


@pytest.fixture(scope="module")
def run(load: Callable[[str, str], Any]) -> Run:
    """Call a function on arrays: those that are given, and one of a type that it fills."""

    def call(name: str, storage: Any, *arrays: Array) -> Array:
        given = [np.ascontiguousarray(each) for each in arrays]
        result = np.zeros(given[0].shape, storage)
        pointers = [FFI.cast("void *", each.ctypes.data) for each in (*given, result)]
        function = load(name, f"void (*)(int64_t{', void *' * len(pointers)})")
        function(given[0].size, *pointers)
        return result

    return call


def pairs(dtype: DType) -> tuple[Array, Array]:
    """All pairs of special values and of some ordinary ones."""
    rng = np.random.default_rng(3)
    drawn = rng.uniform(-60, 60, 40).astype(dtype.storage)
    listed = list(product(np.concatenate([special_values(dtype), drawn]), repeat=2))
    first, second = np.array(listed, dtype.storage).T
    return np.ascontiguousarray(first), np.ascontiguousarray(second)


def assert_like(found: Array, expected: Array, dtype: DType, rtol: float = 0.0) -> None:
    wrong = differences(found, expected, TensorType(dtype, found.shape), rtol, 0.0)
    assert not wrong, "\n".join(wrong)
    if dtype.is_float and not rtol:
        finite = ~np.isnan(expected)
        np.testing.assert_array_equal(np.signbit(found[finite]), np.signbit(expected[finite]))


@walk("kind", INTEGER_KINDS)
@walk(
    ("name", "op"),
    [
        *(("floordiv", "floordiv"), ("mod", "mod"), ("pow", "pow"), ("max", "maximum")),
        *(("min", "minimum"), ("shift_left", "shift_left"), ("shift_right", "shift_right")),
    ],
)
def test_integers(run: Run, name: str, op: str, kind: str) -> None:
    dtype = INTEGER_KINDS[kind]
    a, b = pairs(dtype)
    with np.errstate(all="ignore"):
        expected = np.asarray(OPS[op].reference(a, b)).astype(dtype.storage)
    assert_like(run(f"{name}_{kind}", dtype.storage, a, b), expected, dtype)


@walk("kind", FLOAT_KINDS)
@walk(
    ("name", "op", "ulps"),
    [
        *(("floordiv", "floordiv", 0), ("mod", "mod", 0), ("max", "maximum", 0)),
        *(("min", "minimum", 0), ("logaddexp", "logaddexp", 4)),
    ],
)
def test_floats(run: Run, name: str, op: str, ulps: int, kind: str) -> None:
    dtype = FLOAT_KINDS[kind]
    a, b = pairs(dtype)
    with np.errstate(all="ignore"):
        expected = np.asarray(OPS[op].reference(a, b)).astype(dtype.storage)
    found = run(f"{name}_{kind}", dtype.storage, a, b)
    if name in ("max", "min"):  # of two zeros either may be taken
        zeros = (a == 0) & (b == 0)
        found, expected = np.where(zeros, 0, found), np.where(zeros, 0, expected)
    assert_like(found, expected, dtype, ulps * float(np.finfo(dtype.storage).eps))


@walk("kind", FLOAT_KINDS)
@walk("short", ["u8", "i8", "i16", "i32", "i64"])
def test_floats_become_integers(run: Run, short: str, kind: str) -> None:
    dtype = next(each for each, name in INTEGER_NAMES.items() if name == short)
    ends = np.iinfo(dtype.storage)
    near = [float(end) + step for end in (ends.min, ends.max) for step in (-2, -1, -0.5, 0, 0.5, 1)]
    numbers = [*special_values(FLOAT_KINDS[kind]), *near, *np.linspace(-300, 300, 77)]
    with np.errstate(over="ignore"):
        x = np.array(numbers).astype(FLOAT_KINDS[kind].storage)
        around = np.concatenate([x, np.nextafter(x, -np.inf), np.nextafter(x, np.inf)])
    with np.errstate(all="ignore"):
        expected = np.asarray(cast.reference(around, dtype))
    assert_like(run(f"to_{short}_{kind}", dtype.storage, around), expected, dtype)


# ---- half types: all patterns


def all_patterns() -> Array:
    return np.arange(1 << 16, dtype=np.uint16)


def around_halves(name: str) -> Array:
    """Every half as a float, the middle between neighbours, and what lies next to these."""
    loaded = from_storage(stored(name, all_patterns()), HALVES[name])
    x = loaded[np.isfinite(loaded)]
    wide = np.sort(x.astype(np.float64))
    middles = ((wide[1:] + wide[:-1]) / 2).astype(np.float32)
    exact = np.concatenate([x, middles])
    with np.errstate(all="ignore"):
        near = [
            exact,
            np.nextafter(exact, np.float32(np.inf)),
            np.nextafter(exact, -np.float32(np.inf)),
        ]
    beyond = np.array([65504, 65519.99, 65520, 65536, 3.4e38, np.inf, -np.inf, np.nan], np.float32)
    return np.concatenate([*near, beyond, -beyond, special_values(float32)])


def stored(name: str, patterns: Array) -> Array:
    return patterns.view(HALVES[name].storage)


@pytest.mark.parametrize("name", HALVES)
def test_halves_are_loaded(run: Run, name: str) -> None:
    found = run(f"load_{name}", np.float32, all_patterns())
    with np.errstate(all="ignore"):
        expected = from_storage(stored(name, all_patterns()), HALVES[name])
    assert_like(found, np.asarray(expected), float32)


@pytest.mark.parametrize("name", HALVES)
def test_halves_are_stored_and_loaded_without_change(run: Run, name: str) -> None:
    loaded = run(f"load_{name}", np.float32, all_patterns())
    found = run(f"store_{name}", np.uint16, loaded)
    whole = ~np.isnan(loaded)
    np.testing.assert_array_equal(found[whole], all_patterns()[whole])
    assert np.isnan(run(f"load_{name}", np.float32, found[~whole])).all()


@pytest.mark.parametrize("name", HALVES)
def test_floats_are_rounded_to_halves(run: Run, name: str) -> None:
    x = around_halves(name)
    with np.errstate(all="ignore"):
        expected = to_storage(x, HALVES[name]).view(np.uint16)
    found = run(f"store_{name}", np.uint16, x)
    numbers = ~np.isnan(x)
    np.testing.assert_array_equal(found[numbers], expected[numbers])
    rounded = run(f"round_{name}", np.float32, x)
    assert_like(rounded, run(f"load_{name}", np.float32, found), float32)
    assert np.isnan(rounded[~numbers]).all()


# ---- places and chunks


Place = Callable[[int, int, list[int]], tuple[list[int], Any]]


@pytest.fixture
def place(load: Callable[[str, str], Any]) -> Place:
    """Run gradc_place on several places: the results, and the error."""
    kind = "void (*)(int64_t, const int64_t *, int64_t, int64_t, int64_t *, gradc_error *)"

    def call(least: int, size: int, found: list[int]) -> tuple[list[int], Any]:
        result, error = FFI.new("int64_t[]", len(found)), FFI.new("gradc_error *")
        given = FFI.new("int64_t[]", found)
        load("place", kind)(len(found), given, least, size, result, error)
        return list(result), error

    return call


def test_places_count_from_both_ends(place: Place) -> None:
    result, error = place(-5, 5, list(range(-5, 5)))
    assert result == [*range(5), *range(5)]
    assert error.code == 0


@pytest.mark.parametrize(
    ("size", "wrong"), [(5, 5), (5, -6), (0, 0), (0, -1), (1, 2**62), (3, -(2**63))]
)
def test_places_outside_are_reported_and_not_followed(place: Place, size: int, wrong: int) -> None:
    result, error = place(-size, size, [wrong])
    assert result == [0]
    assert (error.code, error.node, error.position) == (1, 7, 0)
    assert (error.found, error.bound) == (wrong, size)


def test_where_no_place_counts_from_the_end_a_negative_one_is_wrong(place: Place) -> None:
    result, error = place(0, 5, [4, -1])
    assert result == [4, 0]
    assert (error.found, error.position) == (-1, 1)


def test_the_position_of_a_wrong_place_is_reported(place: Place) -> None:
    _, error = place(-5, 5, [1, 2, 9, 3])
    assert error.position == 2


def test_chunks_run_once_each(load: Callable[[str, str], Any]) -> None:
    counted = FFI.new("int64_t[]", 9)
    load("serial", "void (*)(int64_t, int64_t *)")(9, counted)
    assert list(counted) == list(range(1, 10))
