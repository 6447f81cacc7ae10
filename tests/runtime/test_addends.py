"""Products of the run time that are added to something, against NumPy in float64."""

import itertools
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from gradc.runtime.library import FFI
from gradc.runtime.support import get_num_threads, runtime, set_num_threads
from walk import walk

Array = npt.NDArray[Any]
KIND = {np.float32: ("sgemm", "float *"), np.float64: ("dgemm", "double *")}
REAL = pytest.mark.parametrize("real", [np.float32, np.float64])
SIZES = [
    *((1, 1, 1), (3, 5, 7), (8, 32, 16), (9, 33, 1), (40, 70, 50), (130, 515, 40)),
    *((257, 70, 1200), (1030, 700, 513), (300, 3, 900), (7, 2, 600)),
]


@pytest.fixture(params=["a BLAS for small ones", "none"])
def table(request: pytest.FixtureRequest) -> Any:
    """The run time's table, with its BLAS or without."""
    own = FFI.new("gradc_runtime *", runtime(("sgemm", "dgemm"))[0])
    if request.param == "none":
        own.blas_sgemm = own.blas_dgemm = FFI.NULL
    return own


def padded(rows: int, columns: int, real: Any, padding: int, seed: int) -> Array:
    values = np.full((rows, columns + padding), np.nan, real)
    values[:, :columns] = np.random.default_rng(seed).standard_normal((rows, columns))
    return values[:, :columns]


def check(table: Any, real: Any, sizes: tuple[int, int, int], forms: tuple[int, int, int]) -> None:
    """c = d + a b; a and b transposed or not, d with one row for all or with all rows."""
    (m, n, k), (ta, tb, one_row) = sizes, forms
    a = padded(*((k, m) if ta else (m, k)), real, 3, 1)
    b = padded(*((n, k) if tb else (k, n)), real, 2, 2)
    d = padded(1 if one_row else m, n, real, 5, 3)
    c = np.full((m, n + 1), np.nan, real)[:, :n]
    name, kind = KIND[real]
    steps = [each.strides[0] // each.itemsize for each in (a, b, c, d)]
    steps[3] = 0 if one_row else steps[3]
    pairs = (
        (FFI.cast(kind, x.ctypes.data), step) for x, step in zip((a, b, c, d), steps, strict=True)
    )
    getattr(table, name)(table, ta, tb, m, n, k, *itertools.chain(*pairs))
    left, right = (a.T if ta else a).astype(float), (b.T if tb else b).astype(float)
    scale = (2e-5 if real is np.float32 else 1e-13) * (np.sqrt(k) + 1)
    np.testing.assert_allclose(c, d.astype(float) + left @ right, scale, scale)
    whole = c.base
    assert whole is not None
    assert np.isnan(whole[:, n:]).all(), "wrote between the rows"


@REAL
@walk("forms", list(itertools.product((0, 1), repeat=3)))
@walk("sizes", SIZES, ids=str)
def test_products_are_added(table: Any, real: Any, sizes: Any, forms: Any) -> None:
    check(table, real, sizes, forms)


@REAL
@pytest.mark.parametrize("one_row", [0, 1])
def test_a_product_over_nothing_is_the_addend(table: Any, real: Any, one_row: int) -> None:
    check(table, real, (4, 6, 0), (0, 0, one_row))
    check(table, real, (0, 6, 3), (0, 0, one_row))


@REAL
@pytest.mark.parametrize("sizes", [(640, 700, 513), (100, 900, 600)], ids=str)
def test_sums_do_not_depend_on_threads(table: Any, real: Any, sizes: Any) -> None:
    m, n, k = sizes
    name, kind = KIND[real]
    a, b, d = padded(m, k, real, 0, 1), padded(k, n, real, 0, 2), padded(m, n, real, 0, 3)
    before, results = get_num_threads(), set()
    try:
        for threads in (1, 2, 5):
            set_num_threads(threads)
            table.threads = threads
            c = np.empty((m, n), real)
            pairs = ((FFI.cast(kind, x.ctypes.data), x.shape[1]) for x in (a, b, c, d))
            getattr(table, name)(table, 0, 0, m, n, k, *itertools.chain(*pairs))
            results.add(c.tobytes())
    finally:
        set_num_threads(before)
    assert len(results) == 1
