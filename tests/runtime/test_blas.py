"""Finding a BLAS, and products through it against NumPy."""

import ctypes.util
import itertools
import mmap
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from gradc.runtime.blas import find_blas
from gradc.runtime.build import build
from gradc.runtime.cache import open_cache
from gradc.runtime.library import FFI, LibraryError
from gradc.runtime.support import get_num_threads, runtime, set_num_threads
from gradc.runtime.toolchain import find_toolchain

Array = npt.NDArray[Any]
NAMES = {np.float32: ("sgemm", "float *"), np.float64: ("dgemm", "double *")}
TOLERANCE = {np.float32: 2e-5, np.float64: 1e-13}
SIZES_IN_TILES = [(257, 513, 70), (1030, 40, 64), (33, 2100, 50), (129, 131, 400), (70000, 3, 5)]
MAP_NORESERVE = 0x4000  # of Linux; Python 3.11 does not name it
BOTH = [(0, 0), (0, 1), (1, 0), (1, 1)]  # transposed or not
REAL = pytest.mark.parametrize("real", [np.float32, np.float64])

needs_blas = pytest.mark.skipif(find_blas() is None, reason="no BLAS: see gradc.runtime.blas")


@pytest.fixture(autouse=True)
def restore_threads() -> Iterator[None]:
    before = get_num_threads()
    yield
    set_num_threads(before)


def product(
    a: Array, b: Array, c: Array, ta: int = 0, tb: int = 0, alpha: float = 1, beta: float = 0
) -> Array:
    """c = alpha a b + beta c through the run time; the arrays are rows of wider ones."""
    name, kind = NAMES[c.dtype.type]
    m, n = c.shape
    k = a.shape[0] if ta else a.shape[1]

    def argument(array: Array) -> tuple[Any, int]:
        leading = array.strides[0] // array.itemsize if array.shape[0] > 1 else 0
        return FFI.cast(kind, array.ctypes.data), leading

    getattr(runtime(), name)(
        *(runtime(), ta, tb, m, n, k, alpha),
        *(*argument(a), *argument(b), beta, *argument(c)),
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
    alpha: float = 1,
    beta: float = 0,
) -> None:
    m, n, k = sizes
    a = matrix(*((k, m) if ta else (m, k)), real, padding=padding, seed=1)
    b = matrix(*((n, k) if tb else (k, n)), real, padding=padding, seed=2)
    c = matrix(m, n, real, padding=padding, seed=3)
    exact = (a.T if ta else a).astype(float) @ (b.T if tb else b).astype(float)
    expected = alpha * exact + beta * c.astype(float)
    if beta == 0:
        c[:] = np.nan
    whole = c.base if c.base is not None else c
    product(a, b, c, ta, tb, alpha, beta)
    scale = TOLERANCE[real] * (np.sqrt(k) + 1)
    np.testing.assert_allclose(c, expected, rtol=scale, atol=scale)
    assert np.isnan(whole[:, n:]).all(), "wrote between the rows"


@needs_blas
@REAL
@pytest.mark.parametrize("padding", [0, 5])
@pytest.mark.parametrize(("ta", "tb"), BOTH)
@pytest.mark.parametrize(("alpha", "beta"), [(1, 0), (1, 1), (-0.5, 2), (0, 0.5)])
def test_product_of_all_forms(
    real: Any, padding: int, ta: int, tb: int, alpha: float, beta: float
) -> None:
    check((7, 11, 5), real, padding, ta, tb, alpha, beta)


@needs_blas
@REAL
@pytest.mark.parametrize("sizes", list(itertools.product([0, 1, 3], repeat=3)))
@pytest.mark.parametrize(("ta", "tb"), BOTH)
@pytest.mark.parametrize("beta", [0, 1])
def test_product_of_small_sizes(
    real: Any, sizes: tuple[int, int, int], ta: int, tb: int, beta: float
) -> None:
    check(sizes, real, 0, ta, tb, 1, beta)


@needs_blas
@REAL
@pytest.mark.parametrize("sizes", SIZES_IN_TILES)
@pytest.mark.parametrize(("ta", "tb"), BOTH)
def test_product_in_tiles(real: Any, sizes: tuple[int, int, int], ta: int, tb: int) -> None:
    set_num_threads(3)
    check(sizes, real, 3, ta, tb, 1.5, -0.5)


@needs_blas
@REAL
@pytest.mark.parametrize(
    "sizes", [(512, 512, 256), (100, 3000, 64), (64, 64, 5000), (800, 90, 333)]
)
def test_product_does_not_depend_on_threads(real: Any, sizes: tuple[int, int, int]) -> None:
    m, n, k = sizes
    a, b = matrix(m, k, real, seed=1), matrix(k, n, real, seed=2)
    results = []
    for threads in (1, 2, 3, 7):
        set_num_threads(threads)
        results.append(product(a, b, np.empty((m, n), real)).tobytes())
    assert len(set(results)) == 1


@needs_blas
@REAL
@pytest.mark.parametrize("alpha", [1, np.inf, np.nan])
def test_product_over_nothing_only_scales(real: Any, alpha: float) -> None:
    a, b = np.empty((2, 0), real), np.empty((0, 3), real)
    assert (product(a, b, np.full((2, 3), np.nan, real), alpha=alpha) == 0).all()
    assert (product(a, b, np.full((2, 3), 4, real), alpha=alpha, beta=0.5) == 2).all()


@needs_blas
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
    if "GRADC_BLAS" in os.environ:
        pytest.skip("this is the inner run")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", __file__]
    result = subprocess.run(
        [*command, "-k", "test_product_ or test_long"],
        env={**os.environ, "GRADC_BLAS": str(cblas32)},
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


@needs_blas
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


def test_without_blas_there_are_no_products(
    start: Callable[..., Any], finish: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GRADC_BLAS", "none")
    script = """
        from gradc.runtime.library import FFI
        from gradc.runtime.support import runtime
        print(runtime().sgemm == FFI.NULL, runtime().dgemm == FFI.NULL)
    """
    assert finish(start(script)) == "True True\n"


def test_blas_by_path(monkeypatch: pytest.MonkeyPatch, cblas32: Path) -> None:
    monkeypatch.setenv("GRADC_BLAS", str(cblas32))
    found = find_blas()
    assert found is not None
    assert found.path == str(cblas32)
    assert not found.ilp64
    assert found.set_threads is not None


def test_named_blas_must_be_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GRADC_BLAS", "libnosuchblas.so")
    with pytest.raises(LibraryError, match="libnosuchblas"):
        find_blas()


def test_named_library_must_be_a_blas(monkeypatch: pytest.MonkeyPatch) -> None:
    libm = ctypes.util.find_library("m")
    if libm is None:
        pytest.skip("no libm to name")
    monkeypatch.setenv("GRADC_BLAS", libm)
    with pytest.raises(LibraryError, match="has no cblas_sgemm"):
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
