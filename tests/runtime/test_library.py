"""Loading libraries and calling their functions."""

import gc
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from gradc.runtime import interface
from gradc.runtime import library as library_module
from gradc.runtime.build import build
from gradc.runtime.cache import Cache, open_cache
from gradc.runtime.library import FFI, LibraryError, find_symbol, load_function, open_library
from gradc.runtime.toolchain import find_toolchain

EXPORT = '__attribute__((visibility("default")))'


def compiled(source: str) -> Path:
    return build(source, find_toolchain(), open_cache())


def test_parsed_interface_is_that_of_the_header() -> None:
    assert interface.PARSED.read_text(encoding="utf-8") == interface.parsed(), (
        "run python -m gradc.runtime.interface"
    )


def test_layout_agrees_with_the_compiler(load: Callable[[str], Any]) -> None:
    sizes = FFI.new("int64_t[]", 4)
    buffers = FFI.new("void *[]", [FFI.cast("void *", sizes)])
    load("layout")(buffers, FFI.NULL, FFI.NULL, FFI.NULL, FFI.NULL)
    assert list(sizes) == [
        FFI.sizeof("gradc_error"),
        FFI.offsetof("gradc_error", "bound"),
        FFI.sizeof("gradc_runtime"),
        FFI.offsetof("gradc_runtime", "blas_ilp64"),
    ]


def test_missing_library() -> None:
    with pytest.raises(LibraryError, match=r"nowhere\.so"):
        open_library(Path("/nowhere.so"))


def test_missing_function() -> None:
    path = compiled(f"{EXPORT} int present(void) {{ return 1; }}\n")
    with pytest.raises(LibraryError, match="has no function absent"):
        load_function(path, "absent")


def test_what_is_no_library(tmp_path: Path) -> None:
    (tmp_path / "text.so").write_text("text")
    with pytest.raises(LibraryError, match="text"):
        load_function(tmp_path / "text.so", "f")


def test_hidden_functions_stay_inside() -> None:
    path = compiled(
        f"int step(void) {{ return 1; }}\n{EXPORT} int seen(void) {{ return step(); }}\n"
    )
    library = open_library(path)
    assert find_symbol(library, "seen") is not None
    assert find_symbol(library, "step") is None


def is_loaded(path: Path) -> bool:
    return str(path) in Path("/proc/self/maps").read_text()


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_library_goes_with_its_last_function() -> None:
    path = compiled(
        f"{EXPORT} int one(void) {{ return 1; }} {EXPORT} int two(void) {{ return 2; }}"
    )
    one, two = (load_function(path, name, "int (*)(void)") for name in ("one", "two"))
    assert (one(), two()) == (1, 2)
    del one
    gc.collect()
    assert is_loaded(path)
    assert two() == 2
    del two
    gc.collect()
    assert not is_loaded(path)


def test_calls_let_other_threads_run() -> None:
    path = compiled(f"#include <unistd.h>\n{EXPORT} int rest(void) {{ return usleep(300000); }}\n")
    rest = load_function(path, "rest", "int (*)(void)")
    threads = [threading.Thread(target=rest) for _ in range(3)]
    before = time.monotonic()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert time.monotonic() - before < 0.8


WAYS = ["_by_descriptor", "_in_memory", "_copied"]


@pytest.mark.parametrize("first", range(len(WAYS) + 1))
def test_every_way_to_load_gives_the_library(first: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the ways before fail, as they do without /proc, or where nothing may be executed; each
    library is its own, though the numbers of descriptors come again."""

    @contextmanager
    def closed(_: object) -> Iterator[str]:
        yield "/nowhere"

    paths = [compiled(f"{EXPORT} int number(void) {{ return {k}; }}\n") for k in range(3)]
    for name in WAYS[:first]:
        monkeypatch.setattr(library_module, name, closed)
    if first == len(WAYS):
        with pytest.raises(LibraryError, match=r"library\.so cannot be .* set GRADC_CACHE_DIR"):
            load_function(paths[0], "number")
        return
    if first == 1:  # the file in memory is opened by a descriptor too
        monkeypatch.undo()
        monkeypatch.setattr(library_module, "sound", partial(unopened, library_module.sound))
    functions = [load_function(path, "number", "int (*)(void)") for path in paths]
    assert [each() for each in functions] == [0, 1, 2]


@contextmanager
def unopened(opened: Any, path: Path) -> Iterator[tuple[int, bytes]]:
    with opened(path) as (_, content):
        yield 1 << 20, content


@pytest.mark.parametrize("number", [0, 64, -1])
def test_what_is_damaged_is_not_loaded(number: int, tmp_path: Path) -> None:
    source = f"{EXPORT} int other(void) {{ return 1; }}\n"
    path = build(source, find_toolchain(), Cache(tmp_path))
    content = bytearray(path.read_bytes())
    content[number] ^= 1
    path.write_bytes(content)
    with pytest.raises(LibraryError, match="is not as it was made"):
        load_function(path, "other")
