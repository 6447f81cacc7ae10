"""Which BLAS multiplies matrices. Its functions are called through pointers, never linked.

GRADC_BLAS names one, by path or by a name that the system's loader knows, or says `none`. Else it
is the OpenBLAS of the package scipy-openblas64, else the one that NumPy's wheels bring. Other
builds of NumPy bring none. The support library has products of its own and takes those of a BLAS
where they are faster; with a BLAS that was named, it takes no others.
"""

import os
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from .library import LibraryError, find_symbol, open_library

# How builds spell their names: before, after, and whether integers have 64 bits.
SPELLINGS = (
    ("scipy_", "64_", True),
    ("", "64_", True),
    ("scipy_", "", False),
    ("", "", False),
)
WHEEL = "scipy_openblas64"
# Where NumPy's wheels keep theirs, from the folder of the package: Linux and macOS.
BUNDLED = ("../numpy.libs/lib*openblas*.so*", ".dylibs/lib*openblas*.dylib")


class BlasError(LibraryError):
    """What GRADC_BLAS names is no BLAS."""


class Blas(NamedTuple):
    """Pointers into a CBLAS, for gradc_runtime; None where it has no threads to set.

    One that was `named` by the user multiplies everything.
    """

    path: str
    sgemm: Any
    dgemm: Any
    get_threads: Any
    set_threads: Any
    ilp64: bool
    named: bool


def find_blas() -> Blas | None:
    """The BLAS by the rule above; None where there is none, BlasError if the named one fails."""
    return _find(os.environ.get("GRADC_BLAS", ""))


@lru_cache(maxsize=4)
def _find(named: str) -> Blas | None:
    if named.lower() == "none":
        return None
    if named:
        try:
            blas = _load(named, named=True)
        except LibraryError as error:
            raise BlasError(f"GRADC_BLAS={named} cannot be loaded: {error}") from error
        if blas:
            return blas
        raise BlasError(f"GRADC_BLAS={named} has no cblas_sgemm and cblas_dgemm")
    for path in _known_paths():
        try:
            blas = _load(str(path))
        except LibraryError:
            continue
        if blas:
            return blas
    return None


def _known_paths() -> Iterator[Path]:
    from importlib.util import find_spec

    wheel = find_spec(WHEEL)
    for folder in (wheel and wheel.submodule_search_locations) or ():
        yield from sorted(Path(folder, "lib").glob("lib*openblas*"))
    package = Path(np.__file__).parent
    for pattern in BUNDLED:
        folder, _, name = pattern.rpartition("/")
        yield from sorted((package / folder).glob(name))


def _load(name: str, named: bool = False) -> Blas | None:
    library = open_library(name, keep=True)
    for before, after, ilp64 in SPELLINGS:
        sgemm, dgemm, get_threads, set_threads = (
            find_symbol(library, f"{before}{function}{after}")
            for function in (
                "cblas_sgemm",
                "cblas_dgemm",
                "openblas_get_num_threads",
                "openblas_set_num_threads",
            )
        )
        if sgemm and dgemm:
            return Blas(name, sgemm, dgemm, get_threads, set_threads, ilp64, named)
    return None
