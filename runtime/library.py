"""Shared libraries and their functions, opened by hand: names are known only at run time.

A library that gradc has built is opened once: what is loaded is the file whose content was checked,
through its descriptor. Where that cannot be done (no /proc, or a file system from which nothing may
be executed), it is a private copy of that content.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any

from ._interface import ffi
from .store import sound

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


def open_built(path: Path, *, keep: bool = False) -> Any:
    """The handle of a library that was built, checked against what was made; `keep`: for ever.

    Raises LibraryError where it is damaged, or no way leads to it.
    """
    reasons: list[Exception] = []
    try:
        with sound(path) as (descriptor, content):
            for place in (_by_descriptor(descriptor), _in_memory(content), _copied(content)):
                try:
                    with place as name:
                        return open_library(name, keep=keep)
                except (OSError, AttributeError) as error:  # not every system has all of them
                    reasons.append(error)
    except OSError as error:
        raise LibraryError(f"{path} cannot be loaded: {error}") from error
    raise LibraryError(
        f"{path} cannot be loaded: {reasons[0]}. Where it lies on a file system that is mounted"
        " with noexec, set GRADC_CACHE_DIR to a folder on another one"
    ) from reasons[0]


_opened = count(1)


@contextmanager
def _by_descriptor(descriptor: int) -> Iterator[str]:
    """A path by which a descriptor is opened. Each is spelled in a way of its own: glibc knows what
    is loaded by its name too, and numbers of descriptors come again."""
    spelling = "".join("/." if digit == "1" else "/" for digit in f"{next(_opened):b}")
    yield f"/proc/self/fd{spelling}/{descriptor}"


@contextmanager
def _in_memory(content: bytes) -> Iterator[str]:
    """A file that has no place in any file system."""
    descriptor = os.memfd_create("gradc", os.MFD_CLOEXEC)
    try:
        with open(descriptor, "wb", closefd=False) as file:
            file.write(content)
        with _by_descriptor(descriptor) as name:
            yield name
    finally:
        os.close(descriptor)


@contextmanager
def _copied(content: bytes) -> Iterator[str]:
    """A copy in a private folder, removed as soon as it is loaded."""
    from tempfile import TemporaryDirectory

    with TemporaryDirectory(prefix="gradc-", ignore_cleanup_errors=True) as folder:
        copy = Path(folder, "library.so")
        copy.write_bytes(content)
        copy.chmod(0o700)
        yield str(copy)


def find_symbol(library: Any, symbol: str) -> Any:
    """The address of a function as `void *`, or None."""
    address = _dlsym(library, symbol.encode())
    return None if address == FFI.NULL else address


def load_function(path: Path, symbol: str, kind: str = "gradc_run *") -> Any:
    """A function of a built library, called as f(buffers, floats, ints, runtime, error).

    The library stays loaded as long as the function lives, also while it runs in another thread: a
    call holds its function. Calls let other Python threads run.
    """
    library = open_built(path)
    address = find_symbol(library, symbol)
    if address is None:
        _dlclose(library)
        raise LibraryError(f"{path} has no function {symbol}")
    return FFI.gc(FFI.cast(kind, address), lambda _, close=_dlclose: close(library))
