"""The pool of threads: every chunk once, whoever calls, after forks, under sanitizers."""

import os
import shutil
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from gradc.runtime import support
from gradc.runtime.library import FFI
from gradc.runtime.support import get_num_threads, runtime, set_num_threads

PROGRAMS = Path(__file__).parent / "programs"
THREADS = (1, 2, 3, 8)


@pytest.fixture(autouse=True)
def restore_threads() -> Iterator[None]:
    before = get_num_threads()
    yield
    set_num_threads(before)


class Visits:
    """Calls the program that counts how often each chunk was run."""

    def __init__(self, function: Any) -> None:
        self.function = function

    def __call__(self, outer: int, inner: int = 1, rounds: int = 1) -> bool:
        counts = np.zeros(outer * inner, np.int64)
        buffers = FFI.new("void *[]", [FFI.from_buffer(counts)])
        error = FFI.new("gradc_error *")
        self.function(
            buffers, FFI.NULL, FFI.new("int64_t[]", [outer, inner, rounds]), runtime(), error
        )
        return bool((counts == rounds).all())


@pytest.fixture
def visits(load: Callable[[str], Any]) -> Visits:
    return Visits(load("visits"))


@pytest.mark.parametrize("threads", THREADS)
@pytest.mark.parametrize("chunks", [0, 1, 2, 3, 7, 100, 10_000])
def test_every_chunk_runs_once(visits: Visits, threads: int, chunks: int) -> None:
    set_num_threads(threads)
    assert visits(chunks, rounds=20)


@pytest.mark.parametrize("threads", THREADS)
def test_bodies_may_call_again(visits: Visits, threads: int) -> None:
    set_num_threads(threads)
    assert visits(13, inner=17, rounds=50)


def test_after_a_rest_the_workers_wake_up(visits: Visits) -> None:
    set_num_threads(2)
    for _ in range(20):
        time.sleep(0.002)
        assert visits(64)


def test_callers_on_several_threads_while_their_number_changes(visits: Visits) -> None:
    wrong = []

    def call() -> None:
        for _ in range(300):
            if not visits(37, inner=3):
                wrong.append(threading.get_ident())

    callers = [threading.Thread(target=call) for _ in range(4)]
    for caller in callers:
        caller.start()
    while any(caller.is_alive() for caller in callers):
        for threads in THREADS:
            set_num_threads(threads)
    assert not wrong


SCRIPT = f"""
    import os, sys, threading, warnings
    sys.path.insert(0, {str(PROGRAMS.parent)!r})
    warnings.simplefilter("ignore")  # Python warns of forks beside threads: that is what is tested
    from test_support import PROGRAMS, Visits
    from gradc.runtime.build import build
    from gradc.runtime.cache import open_cache
    from gradc.runtime.library import load_function
    from gradc.runtime.support import read_source, set_num_threads
    from gradc.runtime.toolchain import find_toolchain

    source = read_source("gradc.h") + (PROGRAMS / "visits.c").read_text()
    visits = Visits(
        load_function(build(source, find_toolchain(), open_cache()), "visits_run")
    )
"""


def test_pool_survives_fork(start: Callable[..., Any], finish: Callable[..., str]) -> None:
    script = """
    set_num_threads(3)
    assert visits(100, 3)
    stop = threading.Event()
    beside = threading.Thread(target=lambda: [visits(50, 2) for _ in iter(stop.is_set, True)])
    beside.start()
    for number in range(20):
        child = os.fork()
        if child == 0:
            good = visits(100, 3, 20)
            set_num_threads(2)
            grandchild = os.fork()
            if grandchild == 0:
                os._exit(not visits(100, 3, 20))
            good = good and os.waitpid(grandchild, 0)[1] == 0
            os._exit(not (good and visits(100, 3, 20)))
        assert os.waitpid(child, 0)[1] == 0
        assert visits(100, 3)
    stop.set()
    beside.join()
    print("fine")
    """
    assert finish(start(SCRIPT + script)) == "fine\n"


@pytest.mark.parametrize("last", ["", "threading.Thread(target=visits, args=(10,)).start()"])
def test_process_ends(start: Callable[..., Any], finish: Callable[..., str], last: str) -> None:
    script = f"""
    set_num_threads(4)
    assert visits(1000)
    {last}
    print("end", flush=True)
    """
    assert finish(start(SCRIPT + script)) == "end\n"


def test_library_is_loaded_once(start: Callable[..., Any], finish: Callable[..., str]) -> None:
    script = """
        import threading
        from gradc.runtime.support import runtime

        tables = []
        threads = [threading.Thread(target=lambda: tables.append(runtime())) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        print(len(set(tables)))
    """
    assert finish(start(script)) == "1\n"


def test_number_of_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    set_num_threads(3)
    assert get_num_threads() == 3
    assert runtime().threads == 3
    set_num_threads(100_000)
    assert get_num_threads() == 256
    for wrong in (0, -1):
        with pytest.raises(ValueError, match="at least 1"):
            set_num_threads(wrong)


@pytest.mark.parametrize(
    ("value", "expected"),
    [("5", 5), ("3,2", 3), ("0", None), ("-1", None), ("x", None), ("", None)],
)
def test_default_number_of_threads(
    monkeypatch: pytest.MonkeyPatch, value: str, expected: int | None
) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", value)
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    assert support.default_num_threads() == (expected or usable)


def test_choice_before_the_library_is_loaded(
    start: Callable[..., Any], finish: Callable[..., str]
) -> None:
    script = """
        from gradc.runtime.support import get_num_threads, runtime, set_num_threads
        set_num_threads(5)
        print(get_num_threads(), runtime().threads)
    """
    assert finish(start(script)) == "5 5\n"


def test_warm_start_loads_little(start: Callable[..., Any], finish: Callable[..., str]) -> None:
    runtime()  # is in the cache now
    script = """
        import sys, numpy
        from gradc.runtime.support import runtime
        runtime()
        print(*{"cffi", "pycparser", "hashlib", "subprocess", "jinja2"} & set(sys.modules))
    """
    assert finish(start(script)) == "\n"


PARTS = ["gradc.h", "pool.h", "blas_threads.h", "blas.h", "gemm.h", "products.h"]
PARTS += ["products.c", "support.c"]
COMPILERS = [name for name in ("gcc", "clang") if shutil.which(name)]


@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize("name", PARTS)
@pytest.mark.parametrize("number", ["FLOAT", "DOUBLE"])
def test_sources_compile_alone_without_a_warning(compiler: str, name: str, number: str) -> None:
    flags = ["-std=gnu11", "-O2", "-Wall", "-Wextra", "-Werror", "-Wno-unused-function"]
    flags += [f"-DGRADC_{number}"]
    line = [compiler, *flags, "-x", "c", "-c", str(support.FOLDER / name), "-o", os.devnull]
    subprocess.run(line, check=True)


@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize("sanitizer", ["thread", "address,undefined"])
def test_pool_under_sanitizers(compiler: str, sanitizer: str, tmp_path: Path) -> None:
    program = tmp_path / "stress"
    flags = ["-std=gnu11", "-O1", "-g", f"-fsanitize={sanitizer}", f"-I{support.FOLDER}"]
    line = [compiler, *flags, str(PROGRAMS / "stress.c"), "-pthread", "-o", str(program)]
    built = subprocess.run(line, capture_output=True, text=True, check=False)
    if built.returncode:
        pytest.skip(f"{compiler} has no -fsanitize={sanitizer} here: {built.stderr[:200]}")
    result = subprocess.run([program], capture_output=True, text=True, timeout=300, check=False)
    assert (result.returncode, result.stdout, result.stderr) == (0, "fine\n", "")


@pytest.mark.parametrize("part", [support.SUPPORT, *support.PRODUCTS.values()])
def test_sources_are_put_in_once(part: Any) -> None:
    assert '#include "' not in part.source
    assert part.source.count("#ifndef GRADC_H") == 1


def test_a_product_is_loaded_when_it_is_asked_for(
    start: Callable[..., Any], finish: Callable[..., str]
) -> None:
    script = """
        from gradc.runtime.library import FFI
        from gradc.runtime.support import runtime

        for asked in ((), ("dgemm",), ("dgemm",), ("sgemm", "dgemm")):
            table = runtime(asked)
            print(*(each for each in ("sgemm", "dgemm") if getattr(table, each) != FFI.NULL))
    """
    assert finish(start(script)) == "\ndgemm\ndgemm\nsgemm dgemm\n"
