"""The support libraries: the table of functions that programs are called with, and its threads.

One has the threads. The products of matrices are in libraries of their own, one for each type,
since a compiler takes half a second for them, and most programs need one or none.
"""

import os
import re
from collections.abc import Iterable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

from ..tracer.errors import located
from ..tracer.locks import new_lock
from .blas import find_blas
from .build import CompileError, build
from .cache import open_cache
from .command import run_beside
from .cpu import usable_cores
from .library import FFI, open_built
from .toolchain import Toolchain, find_toolchain

FOLDER = Path(__file__).parents[1] / "templates" / "c"
INCLUDE = re.compile(r'#include "(\w+\.h)"\n')


class _Part:
    """One of the libraries, for the life of the process."""

    def __init__(self, file: str, before: str = "") -> None:
        self.lock = new_lock()
        self._file, self._before = file, before
        self._loaded: Any = None
        self._failed: tuple[Toolchain, CompileError] | None = None

    @property
    def loaded(self) -> Any:
        """The library, built and loaded at first use.

        A compiler that failed on it is not tried again in this process.
        """
        with self.lock:
            if self._loaded is None:
                self._loaded = FFI.dlopen(open_built(self._build(), keep=True))
            return self._loaded

    @property
    def source(self) -> str:
        """The whole C text of the library."""
        return self._before + read_source(self._file)

    def _build(self) -> Path:
        toolchain = find_toolchain()
        if self._failed and self._failed[0] == toolchain:
            raise self._failed[1].with_traceback(None)
        try:
            return build(self.source, toolchain, open_cache())
        except CompileError as error:
            self._failed = toolchain, error
            raise


SUPPORT = _Part("support.c")
PRODUCTS = {
    "sgemm": _Part("products.c"),
    "dgemm": _Part("products.c", "#define GRADC_DOUBLE\n"),
}
"""The libraries of products, by the function of the table that each has."""


class _State:
    lock = new_lock()
    table: Any = None
    products: frozenset[str] = frozenset()  # that the table has
    threads: int | None = None


def runtime(products: Iterable[str] = ()) -> Any:
    """The `gradc_runtime *` of this process, with at least the functions for `products`.

    Libraries are built and loaded when something of them is first asked for.
    """
    if _State.table is None:
        library = SUPPORT.loaded
        with _State.lock:
            _State.table = _State.table or _table(library, _threads())
    if missing := [each for each in products if each not in _State.products]:
        for each in missing:
            PRODUCTS[each].loaded.gradc_complete_products(_State.table)
        with _State.lock:
            _State.products = _State.products.union(missing)
    return _State.table


def _table(library: Any, threads: int) -> Any:
    table = FFI.new("gradc_runtime *")
    if blas := find_blas():
        table.blas_sgemm = blas.sgemm
        table.blas_dgemm = blas.dgemm
        table.blas_ilp64 = blas.ilp64
        table.blas_always = blas.named
        if blas.get_threads and blas.set_threads:
            table.blas_get_threads = FFI.cast("int (*)(void)", blas.get_threads)
            table.blas_set_threads = FFI.cast("void (*)(int)", blas.set_threads)
    library.gradc_complete(table, threads)
    return table


def prepare() -> None:
    """Build and load the library of threads beside what the caller does next.

    Whether that failed is told by `runtime`.
    """
    if _State.table is None:
        run_beside(lambda: _prepare(SUPPORT), "gradc support")


def prepare_products(products: Iterable[str]) -> None:
    """The same for the libraries that have `products`."""
    for each in products:
        if each not in _State.products:
            run_beside(partial(_prepare, PRODUCTS[each]), f"gradc {each}")


def _prepare(part: _Part) -> None:
    with suppress(Exception):  # the same is raised again by whoever needs it
        _ = part.loaded


def get_num_threads() -> int:
    """How many threads run a program: OMP_NUM_THREADS, else the processors this process may use."""
    return int(_State.table.threads) if _State.table else _threads()


def set_num_threads(threads: int) -> None:
    """Choose how many threads run a program; results don't depend on it."""
    if not hasattr(threads, "__index__"):
        raise TypeError(located(f"expected a whole number of threads, found {threads!r}"))
    if threads < 1:
        raise ValueError(located(f"the number of threads must be at least 1, not {threads}"))
    threads = int(threads)
    with _State.lock:
        _State.threads = threads
        if _State.table:
            SUPPORT.loaded.gradc_resize(_State.table, threads)


def _threads() -> int:
    return _State.threads or default_num_threads()


def default_num_threads() -> int:
    """OMP_NUM_THREADS where it starts with a positive number, else the cores we may use."""
    wanted = os.environ.get("OMP_NUM_THREADS", "").split(",")[0].strip()
    if wanted.isdecimal() and int(wanted) > 0:
        return int(wanted)
    return usable_cores()


def read_source(name: str) -> str:
    """A C file of the templates with its own headers put in, each once."""
    seen: set[str] = set()

    def expand(match: re.Match[str]) -> str:
        header = match[1]
        if header in seen:
            return ""
        seen.add(header)
        return read(header)

    def read(file: str) -> str:
        return INCLUDE.sub(expand, (FOLDER / file).read_text(encoding="utf-8"))

    return read(name)
