"""Shared libraries and their functions, opened by hand: names are known only at run time."""

import os
from pathlib import Path
from typing import Any

from ._interface import ffi

FFI: Any = ffi  # its attributes come from gradc.h, which a type checker does not read
_process = FFI.dlopen(None)
# Looked up now: cffi's own look-up at first use would clear what dlerror is to tell.
_dlopen, _dlsym = _process.dlopen, _process.dlsym
_dlclose, _dlerror = _process.dlclose, _process.dlerror
NOW, KEEP = FFI.RTLD_NOW | FFI.RTLD_LOCAL, FFI.RTLD_NODELETE


class LibraryError(OSError):
    """The system's loader refused a library, or a library lacks a function."""


def open_library(name: str | Path, *, keep: bool = False) -> Any:
    """The handle of a library, by path or by a name that the loader finds; `keep`: for ever."""
    handle = _dlopen(os.fsencode(name), NOW | KEEP if keep else NOW)
    if handle == FFI.NULL:
        reason = FFI.string(_dlerror())
        raise LibraryError(reason.decode("utf-8", "replace"))
    return handle


def find_symbol(library: Any, symbol: str) -> Any:
    """The address of a function as `void *`, or None."""
    address = _dlsym(library, symbol.encode())
    return None if address == FFI.NULL else address


def load_function(path: Path, symbol: str, kind: str = "gradc_run *") -> Any:
    """A function of a built library, called as f(buffers, floats, ints, runtime, error).

    The library stays loaded as long as the function lives, also while it runs in another thread: a
    call holds its function. Calls let other Python threads run.
    """
    library = open_library(path)
    address = find_symbol(library, symbol)
    if address is None:
        _dlclose(library)
        raise LibraryError(f"{path} has no function {symbol}")
    return FFI.gc(FFI.cast(kind, address), lambda _, close=_dlclose: close(library))
