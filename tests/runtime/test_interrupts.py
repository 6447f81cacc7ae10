"""Processes that end while they build: no compiler goes on, nobody waits, the next call works."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks processes up in /proc")

# Sleeps as a compiler does: in a child of its own.
SLOW = """#!/bin/sh
case "$*" in *{what}*) sleep 600 & echo $! >> "{pids}"; wait;; esac
exec gcc "$@"
"""
PROGRAM = """
    import sys
    import gradc, gradc.functional as F
    x = gradc.tensor([1.0, 2.0])
    for _ in range(2):
        try:
            print(round(F.sum(F.exp(x)).item(), 3), flush=True)
        except KeyboardInterrupt:
            if "ends" in sys.argv: raise
            open(sys.argv[1], "w").write("#!/bin/sh\\nexec gcc \\"$@\\"\\n")
"""
UNITS = """
    import sys
    from pathlib import Path
    from gradc.runtime.build import build
    from gradc.runtime.cache import Cache
    from gradc.runtime.toolchain import find_toolchain
    cache = Cache(Path(sys.argv[2]))
    build("int gradc_x;", find_toolchain(cache), cache, units=3)
"""
WHAT = {"a program and its library": (PROGRAM, "source.c"), "units": (UNITS, "GRADC_UNIT")}


def is_running(pid: int) -> bool:
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="ascii", errors="replace")
    except OSError:
        return False
    return text.rpartition(")")[2].split()[0] not in "ZX"


def pids_in(path: Path, count: int) -> list[int]:
    """The processes noted in a file, once there are as many."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        text = path.read_text(encoding="ascii") if path.exists() else ""
        if len(text.splitlines()) >= count and text.endswith("\n"):
            return [*map(int, text.split())]
        time.sleep(0.02)
    pytest.fail("no compiler was started")


def all_end(pids: list[int]) -> bool:
    deadline = time.monotonic() + 20
    while any(map(is_running, pids)) and time.monotonic() < deadline:
        time.sleep(0.02)
    return not any(map(is_running, pids))


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
@pytest.mark.parametrize("what", WHAT)
def test_no_compiler_outlives_the_process(
    start: Callable[..., Any],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    what: str,
    number: signal.Signals,
) -> None:
    script, part = WHAT[what]
    compiler, pids = tmp_path / "cc", tmp_path / "pids"
    compiler.write_text(SLOW.format(what=part, pids=pids))
    compiler.chmod(0o755)
    monkeypatch.setenv("CC", str(compiler))
    monkeypatch.setenv("GRADC_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("OMP_NUM_THREADS", "2")
    process = start(script, compiler, tmp_path / "cache", "ends")
    found = pids_in(pids, 1 if what == "units" and (os.cpu_count() or 1) < 2 else 2)
    process.send_signal(number)
    process.communicate(timeout=60)
    assert process.returncode != 0
    assert all_end(found)


def test_after_an_interrupt_the_next_call_works(
    start: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    compiler, pids = tmp_path / "cc", tmp_path / "pids"
    compiler.write_text(SLOW.format(what="source.c", pids=pids))
    compiler.chmod(0o755)
    monkeypatch.setenv("CC", str(compiler))
    monkeypatch.setenv("GRADC_CACHE_DIR", str(tmp_path / "cache"))
    process = start(PROGRAM, compiler)
    found = pids_in(pids, 2)
    process.send_signal(signal.SIGINT)
    os.kill(found[0], signal.SIGKILL)  # the library of threads goes on beside: it is let go
    os.kill(found[1], signal.SIGKILL)
    said, errors = process.communicate(timeout=120)
    assert (process.returncode, said.splitlines()[-1]) == (0, "10.107"), errors


def test_a_forked_child_keeps_no_guard_waiting(start: Callable[..., Any], tmp_path: Path) -> None:
    """A child that lives longer than its parent has none of the parent's pipes."""
    script = f"""
        import os, sys, threading, time, warnings
        from gradc.runtime.command import run_command
        warnings.simplefilter("ignore")
        line = ["sh", "-c", "sleep 600 & echo $! > {tmp_path}/pid; wait"]
        threading.Thread(target=run_command, args=(line, ".", 600.0), daemon=True).start()
        while not os.path.exists("{tmp_path}/pid"):
            time.sleep(0.01)
        child = os.fork()
        if child == 0:
            time.sleep(60)
            os._exit(0)
        print(child, flush=True)
        os.kill(os.getpid(), 9)
    """
    process = start(script)
    child = int(process.stdout.readline())
    try:
        assert all_end(pids_in(tmp_path / "pid", 1))
        assert is_running(child)
    finally:
        os.kill(child, signal.SIGKILL)
        process.communicate()


def test_a_stopped_builder_blocks_nobody(
    start: Callable[..., Any], finish: Callable[..., str], tmp_path: Path
) -> None:
    script = """
        import sys, time
        from pathlib import Path
        from gradc.runtime.cache import Cache

        def make(stage):
            print("making", flush=True)
            time.sleep(float(sys.argv[2]))
            (stage / "library.so").write_bytes(b"a library")
            return stage / "library.so"

        print(Cache(Path(sys.argv[1])).fetch({"source": "42"}, make).read_text())
    """
    first: subprocess.Popen[str] = start(script, tmp_path / "cache", 1)
    assert first.stdout is not None
    assert first.stdout.readline() == "making\n"
    first.send_signal(signal.SIGSTOP)
    try:
        assert finish(start(script, tmp_path / "cache", 0)) == "making\na library\n"
    finally:
        first.send_signal(signal.SIGCONT)
    assert finish(first) == "a library\n"


def test_a_slow_builder_is_waited_for(
    start: Callable[..., Any], finish: Callable[..., str], tmp_path: Path
) -> None:
    """Longer than a holder of the lock may be silent: it gives signs."""
    script = """
        import sys, time
        from pathlib import Path
        from gradc.runtime import locks
        from gradc.runtime.cache import Cache

        locks.SILENCE, locks.SIGN = 1.0, 0.1

        def make(stage):
            print("making", flush=True)
            time.sleep(3)
            (stage / "library.so").write_bytes(b"a library")
            return stage / "library.so"

        print(Cache(Path(sys.argv[1])).fetch({"source": "42"}, make).read_text())
    """
    first = start(script, tmp_path / "cache")
    assert first.stdout.readline() == "making\n"
    assert finish(start(script, tmp_path / "cache")) == "a library\n"
    assert finish(first) == "a library\n"
