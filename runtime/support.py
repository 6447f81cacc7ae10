"""The support library: the table of functions that programs are called with, and its threads."""

import os
import re
import threading
from contextlib import suppress
from pathlib import Path
from typing import Any

from ..tracer.errors import located
from .blas import find_blas
from .build import CompileError, build
from .cache import open_cache
from .library import FFI, open_library
from .toolchain import Toolchain, find_toolchain

FOLDER = Path(__file__).parents[1] / "templates" / "c"
INCLUDE = re.compile(r'#include "(\w+\.(?:h|inc))"\n')


class _Support:
    """The loaded library and its one table, for the life of the process."""

    def __init__(self, threads: int) -> None:
        path = _build()
        self.library = FFI.dlopen(open_library(path, keep=True))
        self.table = FFI.new("gradc_runtime *")
        if blas := find_blas():
            self.table.blas_sgemm = blas.sgemm
            self.table.blas_dgemm = blas.dgemm
            self.table.blas_ilp64 = blas.ilp64
            self.table.blas_always = blas.named
            if blas.get_threads and blas.set_threads:
                self.table.blas_get_threads = FFI.cast("int (*)(void)", blas.get_threads)
                self.table.blas_set_threads = FFI.cast("void (*)(int)", blas.set_threads)
        self.library.gradc_complete(self.table, threads)


def _build() -> Path:
    """The support library; a compiler that failed on it is not tried again in this process."""
    toolchain = find_toolchain()
    if _State.failed and _State.failed[0] == toolchain:
        raise _State.failed[1].with_traceback(None)
    try:
        return build(read_source("support.c"), toolchain, open_cache())
    except CompileError as error:
        _State.failed = toolchain, error
        raise


class _State:
    lock = threading.Lock()
    failed: tuple[Toolchain, CompileError] | None = None
    support: _Support | None = None
    threads: int | None = None


def _renew_lock() -> None:
    _State.lock = threading.Lock()  # whoever held it is not in the child of a fork


os.register_at_fork(after_in_child=_renew_lock)


def runtime() -> Any:
    """The `gradc_runtime *` of this process; builds and loads the support library at first use."""
    support = _State.support
    if support is None:
        with _State.lock:
            support = _State.support = _State.support or _Support(_threads())
    return support.table


def prepare() -> None:
    """Build and load the support library beside what the caller does next.

    Whether that failed is told by `runtime`.
    """
    if _State.support is None:
        threading.Thread(target=_prepare, name="gradc support").start()


def _prepare() -> None:
    with suppress(Exception):  # the same is raised again by whoever needs it
        runtime()


def get_num_threads() -> int:
    """How many threads run a program: OMP_NUM_THREADS, else the processors this process may use."""
    return int(_State.support.table.threads) if _State.support else _threads()


def set_num_threads(threads: int) -> None:
    """Choose how many threads run a program; results don't depend on it."""
    if not hasattr(threads, "__index__"):
        raise TypeError(located(f"expected a whole number of threads, found {threads!r}"))
    if threads < 1:
        raise ValueError(located(f"the number of threads must be at least 1, not {threads}"))
    threads = int(threads)
    with _State.lock:
        _State.threads = threads
        if _State.support:
            _State.support.library.gradc_resize(_State.support.table, threads)


def _threads() -> int:
    return _State.threads or default_num_threads()


def default_num_threads() -> int:
    """OMP_NUM_THREADS where it starts with a positive number, else the processors we may use."""
    wanted = os.environ.get("OMP_NUM_THREADS", "").split(",")[0].strip()
    if wanted.isdecimal() and int(wanted) > 0:
        return int(wanted)
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def read_source(name: str) -> str:
    """A C file of the templates with its own headers put in: .h once, .inc wherever it stands."""
    seen: set[str] = set()

    def expand(match: re.Match[str]) -> str:
        header = match[1]
        if header in seen:
            return ""
        if header.endswith(".h"):
            seen.add(header)
        return read(header)

    def read(file: str) -> str:
        return INCLUDE.sub(expand, (FOLDER / file).read_text(encoding="utf-8"))

    return read(name)
