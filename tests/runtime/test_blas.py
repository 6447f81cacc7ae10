"""Finding a BLAS, and products through it against NumPy."""

import ctypes.util
import itertools
import mmap
import os
import platform
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from gradc.runtime import support
from gradc.runtime.blas import BlasError, find_blas
from gradc.runtime.build import build
from gradc.runtime.cache import open_cache
from gradc.runtime.library import FFI, open_library
from gradc.runtime.support import PRODUCTS, SUPPORT, get_num_threads, set_num_threads
from gradc.runtime.toolchain import find_toolchain

Array = npt.NDArray[Any]
NAMES = {np.float32: ("sgemm", "float *"), np.float64: ("dgemm", "double *")}
TOLERANCE = {np.float32: 2e-5, np.float64: 1e-13}
SIZES_IN_TILES = [
    *((257, 513, 70), (1030, 40, 64), (33, 2100, 50), (129, 131, 400), (70000, 3, 5)),
    *((384, 2049, 300), (1030, 700, 513), (2050, 400, 270)),
    *((200, 600, 1030), (61, 47, 2100), (128, 128, 128), (40, 16, 900), (8, 1000, 100)),
]
MAP_NORESERVE = 0x4000  # of Linux; Python 3.11 does not name it
BOTH = [(0, 0), (0, 1), (1, 0), (1, 1)]  # transposed or not
REAL = pytest.mark.parametrize("real", [np.float32, np.float64])

needs_blas = pytest.mark.skipif(find_blas() is None, reason="no BLAS: see gradc.runtime.blas")


@pytest.fixture(autouse=True)
def restore_threads() -> Iterator[None]:
    before = get_num_threads()
    yield
    set_num_threads(before)


def runtime() -> Any:
    """The run time's table, with all products."""
    return support.runtime(PRODUCTS)


def product(a: Array, b: Array, c: Array, ta: int = 0, tb: int = 0) -> Array:
    """c = a b through the run time; the arrays are rows of wider ones."""
    name, kind = NAMES[c.dtype.type]
    m, n = c.shape
    k = a.shape[0] if ta else a.shape[1]

    def argument(array: Array) -> tuple[Any, int]:
        leading = array.strides[0] // array.itemsize if array.shape[0] > 1 else 0
        return FFI.cast(kind, array.ctypes.data), leading

    table = runtime()
    getattr(table, name)(
        *(table, ta, tb, m, n, k),
        *(*argument(a), *argument(b), *argument(c), FFI.NULL, 0),
    )
    return c


def matrix(rows: int, columns: int, real: Any, *, padding: int = 0, seed: int = 0) -> Array:
    """A random matrix whose rows are `padding` elements apart, with NaN in between."""
    values = np.full((rows, columns + padding), np.nan, real)
    values[:, :columns] = np.random.default_rng(seed).standard_normal((rows, columns))
    return values[:, :columns]


def check(
    sizes: tuple[int, int, int],
    real: Any,
    padding: int = 0,
    ta: int = 0,
    tb: int = 0,
) -> None:
    m, n, k = sizes
    a = matrix(*((k, m) if ta else (m, k)), real, padding=padding, seed=1)
    b = matrix(*((n, k) if tb else (k, n)), real, padding=padding, seed=2)
    c = matrix(m, n, real, padding=padding, seed=3)
    exact = (a.T if ta else a).astype(float) @ (b.T if tb else b).astype(float)
    c[:] = np.nan
    whole = c.base if c.base is not None else c
    product(a, b, c, ta, tb)
    scale = TOLERANCE[real] * (np.sqrt(k) + 1)
    np.testing.assert_allclose(c, exact, rtol=scale, atol=scale)
    assert np.isnan(whole[:, n:]).all(), "wrote between the rows"


@REAL
@pytest.mark.parametrize("padding", [0, 5])
@pytest.mark.parametrize(("ta", "tb"), BOTH)
def test_product_of_all_forms(real: Any, padding: int, ta: int, tb: int) -> None:
    check((7, 11, 5), real, padding, ta, tb)


@REAL
@pytest.mark.parametrize("sizes", list(itertools.product([0, 1, 3], repeat=3)))
@pytest.mark.parametrize(("ta", "tb"), BOTH)
def test_product_of_small_sizes(real: Any, sizes: tuple[int, int, int], ta: int, tb: int) -> None:
    check(sizes, real, 0, ta, tb)


@REAL
@pytest.mark.parametrize("sizes", SIZES_IN_TILES)
@pytest.mark.parametrize(("ta", "tb"), BOTH)
def test_product_in_tiles(real: Any, sizes: tuple[int, int, int], ta: int, tb: int) -> None:
    set_num_threads(3)
    check(sizes, real, 3, ta, tb)


@REAL
@pytest.mark.parametrize(
    "sizes", [(512, 512, 256), (700, 2300, 600), (100, 3000, 64), (64, 64, 5000), (800, 90, 333)]
)
def test_product_does_not_depend_on_threads(real: Any, sizes: tuple[int, int, int]) -> None:
    m, n, k = sizes
    a, b = matrix(m, k, real, seed=1), matrix(k, n, real, seed=2)
    results = []
    for threads in (1, 2, 3, 7):
        set_num_threads(threads)
        results.append(product(a, b, np.empty((m, n), real)).tobytes())
    assert len(set(results)) == 1


@REAL
def test_product_over_nothing_is_zero(real: Any) -> None:
    a, b = np.empty((2, 0), real), np.empty((0, 3), real)
    assert (product(a, b, np.full((2, 3), np.nan, real)) == 0).all()


def test_product_from_several_python_threads() -> None:
    set_num_threads(2)
    a, b = matrix(300, 200, np.float32, seed=1), matrix(200, 310, np.float32, seed=2)
    expected = product(a, b, np.empty((300, 310), np.float32)).copy()
    wrong = []

    def multiply() -> None:
        for _ in range(50):
            if not np.array_equal(product(a, b, np.empty((300, 310), np.float32)), expected):
                wrong.append(1)

    callers = [threading.Thread(target=multiply) for _ in range(4)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join()
    assert not wrong


@needs_blas
def test_product_leaves_the_threads_of_the_blas_alone() -> None:
    table = runtime()
    if not table.blas_set_threads:
        pytest.skip("this BLAS has no threads to set")
    before = table.blas_get_threads()
    try:
        for threads in (3, 1):
            table.blas_set_threads(threads)
            check((300, 300, 100), np.float32)
            assert table.blas_get_threads() == threads
    finally:
        table.blas_set_threads(before)


@pytest.fixture(scope="module")
def cblas32() -> Path:
    """A CBLAS with 32-bit integers that checks its arguments."""
    source = (Path(__file__).parent / "programs" / "cblas32.c").read_text(encoding="utf-8")
    return build(source, find_toolchain(), open_cache())


def test_products_by_a_blas_with_32_bits(cblas32: Path) -> None:
    """All tests of products again, by a BLAS that is named and takes int."""
    run_again(str(cblas32))


def run_again(blas: str) -> None:
    """Run the tests of products in a process with another BLAS."""
    if "GRADC_BLAS" in os.environ:
        pytest.skip("this is the inner run")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", __file__]
    without = " and not leaves" if blas == "none" else ""
    result = subprocess.run(
        [*command, "-k", f"(test_product_ or test_long){without}"],
        env={**os.environ, "GRADC_BLAS": blas},
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, result.stdout
    assert "skipped" not in result.stdout


FORK = """
    import os, sys, threading, time, warnings
    import numpy as np
    sys.path.insert(0, sys.argv[1])
    warnings.simplefilter("ignore")  # Python warns of forks beside threads: that is what is tested
    from test_blas import matrix, product
    from gradc.runtime.support import runtime, set_num_threads

    set_num_threads(2)
    a, b = matrix(150, 120, np.float32), matrix(120, 130, np.float32)
    first = product(a, b, np.empty((150, 130), np.float32))

    def check_in_child():
        child = os.fork()
        if child == 0:
            same = np.array_equal(product(a, b, np.empty((150, 130), np.float32)), first)
            os._exit(not (same and runtime().blas_get_threads() == threads))
        assert os.waitpid(child, 0)[1] == 0

    threads = runtime().blas_get_threads()
"""


@needs_blas
def test_products_after_fork(start: Callable[..., Any], finish: Callable[..., str]) -> None:
    script = """
    if runtime().blas_set_threads:
        check_in_child()
    """
    finish(start(FORK + script, Path(__file__).parent))


def test_fork_during_a_product_keeps_the_threads_of_the_blas(
    start: Callable[..., Any],
    finish: Callable[..., str],
    monkeypatch: pytest.MonkeyPatch,
    cblas32: Path,
) -> None:
    monkeypatch.setenv("GRADC_BLAS", str(cblas32))
    script = """
    large = matrix(700, 700, np.float64)
    beside = threading.Thread(target=product, args=(large, large, np.empty((700, 700))))
    beside.start()
    while runtime().blas_get_threads() != 1:
        time.sleep(0.0001)
    check_in_child()
    beside.join()
    assert runtime().blas_get_threads() == threads == 5
    """
    finish(start(FORK + script, Path(__file__).parent))


@pytest.mark.skipif(sys.platform != "linux", reason="needs sparse memory")
def test_long_rows_beyond_32_bits() -> None:
    """A leading dimension of 2^31 must not be cut off by a BLAS that takes int."""
    row = 2**31
    flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | MAP_NORESERVE
    memory = mmap.mmap(-1, 4 * row + 4096, flags=flags)
    wide = np.frombuffer(memory, np.float32)
    wide[0], wide[row] = 2, 3
    a = np.lib.stride_tricks.as_strided(wide, (2, 1), (4 * row, 4))
    c = product(a, np.array([[5.0, 7.0]], np.float32), np.empty((2, 2), np.float32))
    assert c.tolist() == [[10, 14], [15, 21]]


def test_blas_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GRADC_BLAS", "none")
    assert find_blas() is None


def test_products_without_a_blas() -> None:
    """All tests of products again, by our own kernels alone."""
    run_again("none")


def of_sources(flags: tuple[str, ...], change: tuple[str, str] = ("", "")) -> Any:
    """The table of support libraries of its own, whose products were changed."""
    toolchain = find_toolchain()._replace(flags=flags)

    def library(text: str) -> Any:
        return FFI.dlopen(open_library(build(text, toolchain, open_cache())))

    table = FFI.new("gradc_runtime *")
    library(SUPPORT.source).gradc_complete(table, 2)
    for each in PRODUCTS.values():
        assert change[0] in each.source
        library(each.source.replace(*change)).gradc_complete_products(table)
    return table


@REAL
@pytest.mark.parametrize("failing", ["*const many = scratch()", "*const room = scratch()"])
def test_products_without_room_to_pack(
    real: Any, failing: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    lacking = failing.replace("scratch()", "NULL")
    table = of_sources(find_toolchain().flags, (failing, lacking))
    monkeypatch.setattr(sys.modules[__name__], "runtime", lambda: table)
    for sizes in ((600, 700, 600), (40, 50, 60)):
        check(sizes, real, 3)


@REAL
def test_large_products_at_once(real: Any) -> None:
    """One of them has the room in which all threads share; the bits are those of one alone."""
    set_num_threads(2)
    a, b = matrix(512, 500, real, seed=1), matrix(500, 1000, real, seed=2)
    expected = product(a, b, np.empty((512, 1000), real)).tobytes()
    np.testing.assert_allclose(
        np.frombuffer(expected, real).reshape(512, 1000), a.astype(float) @ b.astype(float), 0, 1e-3
    )
    wrong = []

    def multiply() -> None:
        for _ in range(10):
            if product(a, b, np.empty((512, 1000), real)).tobytes() != expected:
                wrong.append(1)

    callers = [threading.Thread(target=multiply) for _ in range(4)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join()
    assert not wrong


def test_fork_during_a_large_product(
    start: Callable[..., Any], finish: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GRADC_BLAS", "none")
    script = """
    large = matrix(900, 900, np.float32)
    product(large, large, np.empty((900, 900), np.float32))
    first = product(large, large, np.empty((900, 900), np.float32))
    stop = False

    def multiply():
        while not stop:
            product(large, large, np.empty((900, 900), np.float32))

    beside = threading.Thread(target=multiply)
    beside.start()
    for _ in range(20):
        child = os.fork()
        if child == 0:
            found = product(large, large, np.empty((900, 900), np.float32))
            os._exit(not np.array_equal(found, first))
        assert os.waitpid(child, 0)[1] == 0
    stop = True
    beside.join()
    """
    finish(start(FORK.partition("def check_in_child")[0] + script, Path(__file__).parent))


NARROWER = {"SSE": ["-march=x86-64"], "AVX2": ["-march=x86-64-v3"]}


@pytest.mark.skipif(platform.machine() != "x86_64", reason="flags of x86-64")
@pytest.mark.parametrize("vectors", NARROWER)
def test_products_in_narrower_vectors(vectors: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The tiles of processors with shorter vectors and fewer registers."""
    toolchain = find_toolchain()
    kept = [each for each in toolchain.flags if not each.startswith(("-march", "-mprefer"))]
    flags = (*kept, *NARROWER[vectors])
    if vectors == "AVX2" and not {"avx2", "fma"} <= set(toolchain.features):
        pytest.skip("this processor has no AVX2")
    table = of_sources(flags)
    monkeypatch.setattr(sys.modules[__name__], "runtime", lambda: table)
    for real, sizes, (ta, tb) in itertools.product(TOLERANCE, SIZES_IN_TILES, BOTH):
        check(sizes, real, 3, ta, tb)


def test_blas_by_path(monkeypatch: pytest.MonkeyPatch, cblas32: Path) -> None:
    monkeypatch.setenv("GRADC_BLAS", str(cblas32))
    found = find_blas()
    assert found is not None
    assert found.path == str(cblas32)
    assert not found.ilp64
    assert found.set_threads is not None


def test_named_blas_must_be_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GRADC_BLAS", "libnosuchblas.so")
    with pytest.raises(BlasError, match="GRADC_BLAS=libnosuchblas"):
        find_blas()


def test_named_library_must_be_a_blas(monkeypatch: pytest.MonkeyPatch) -> None:
    libm = ctypes.util.find_library("m")
    if libm is None:
        pytest.skip("no libm to name")
    monkeypatch.setenv("GRADC_BLAS", libm)
    with pytest.raises(BlasError, match="has no cblas_sgemm"):
        find_blas()


def test_blas_of_numpys_wheel(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GRADC_BLAS", raising=False)
    bundled = Path(np.__file__).parents[1] / "numpy.libs"
    if not list(bundled.glob("libscipy_openblas64*")):
        pytest.skip("this NumPy does not bring one")
    found = find_blas()
    assert found is not None
    assert found.ilp64
    assert found.set_threads is not None
