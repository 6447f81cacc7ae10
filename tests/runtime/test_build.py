"""Compiling: what a failing, missing, hanging or interrupted compiler leaves behind."""

import errno
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from gradc.runtime.build import CompileError, build
from gradc.runtime.cache import Cache, CacheWarning
from gradc.runtime.library import load_function
from gradc.runtime.toolchain import Toolchain, find_toolchain
from gradc.tracer.errors import GradcError

SOURCE = '__attribute__((visibility("default"))) int answer(void) { return 42; }\n'


@pytest.fixture
def toolchain(cache: Cache) -> Toolchain:
    return find_toolchain(cache)


@pytest.fixture
def script(toolchain: Toolchain, tmp_path: Path) -> Callable[[str], Toolchain]:
    """A toolchain whose compiler is a shell script; in it, $CC is the real one."""

    def make(text: str) -> Toolchain:
        path = tmp_path / "compiler"
        path.write_text(f"#!/bin/sh\nCC='{toolchain.command[0]}'\n{text}\n")
        path.chmod(0o755)
        return toolchain._replace(command=(str(path),))

    return make


def answer(path: Path) -> int:
    return int(load_function(path, "answer", "int (*)(void)")())


def test_builds_and_remembers(toolchain: Toolchain, cache: Cache) -> None:
    path = build(SOURCE, toolchain, cache)
    assert answer(path) == 42
    assert path.with_name("source.c").read_text() == SOURCE
    assert "-ffp-contract=off" in path.with_name("build.log").read_text()
    assert build(SOURCE, toolchain._replace(command=("no-compiler",)), cache) == path


def test_same_source_gives_the_same_bytes(toolchain: Toolchain, tmp_path: Path) -> None:
    one, two = (build(SOURCE, toolchain, Cache(tmp_path / name)) for name in ("one", "two"))
    assert one.read_bytes() == two.read_bytes()
    assert one.parent.name == two.parent.name


@pytest.mark.parametrize(
    "change",
    [
        {"version": "other"},
        {"flags": ("-std=gnu11", "-O1", "-fPIC", "-shared")},
        {"machine": "other"},
        {"target": "other"},
        {"environment": "CPATH=/x"},
        {"libraries": ()},
    ],
)
def test_everything_about_the_toolchain_is_in_the_key(
    toolchain: Toolchain, cache: Cache, change: dict[str, Any]
) -> None:
    assert build(SOURCE, toolchain, cache) != build(SOURCE, toolchain._replace(**change), cache)


@pytest.mark.parametrize("name", ["with space", "Größe—中文"])
def test_builds_in_odd_folders(toolchain: Toolchain, tmp_path: Path, name: str) -> None:
    assert answer(build(SOURCE, toolchain, Cache(tmp_path / name))) == 42


def test_rejected_source_is_kept(toolchain: Toolchain, cache: Cache) -> None:
    with pytest.raises(CompileError, match=r"error: .*undeclared") as caught:
        build("int f(void) { return x; }\n", toolchain, cache)
    error = caught.value
    assert isinstance(error, GradcError | RuntimeError)
    assert error.source_path.read_text() == "int f(void) { return x; }\n"
    assert str(error.source_path) in str(error)
    assert " ".join(error.command) in str(error)
    assert error.source_path.with_name("build.log").exists()
    assert cache.entries() == []
    assert list((cache.root / "building").iterdir()) == []


def test_rejected_again_keeps_one_copy(toolchain: Toolchain, cache: Cache) -> None:
    for _ in range(2):
        with pytest.raises(CompileError):
            build("garbage", toolchain, cache)
    assert len(list((cache.root / "failed").iterdir())) == 1


def test_compiler_that_vanished(toolchain: Toolchain, cache: Cache) -> None:
    gone = toolchain._replace(command=("/nonexistent/compiler",))
    with pytest.raises(CompileError, match=r"compiler cannot be run: No such file"):
        build(SOURCE, gone, cache)


def test_hanging_compiler_is_ended_with_its_children(
    script: Callable[[str], Toolchain], cache: Cache, tmp_path: Path
) -> None:
    pid_file = tmp_path / "pid"
    hanging = script(f'sleep 600 & echo $! > "{pid_file}"; wait')
    before = time.monotonic()
    with pytest.raises(CompileError, match=r"no result within 0\.5 s"):
        build(SOURCE, hanging, cache, timeout=0.5)
    assert time.monotonic() - before < 30
    assert not is_running(int(pid_file.read_text()))


def is_running(pid: int) -> bool:
    deadline = time.monotonic() + 5
    while time.monotonic() < deadline:
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        except FileNotFoundError:
            return False
        if state in "ZX":
            return False
        time.sleep(0.01)
    return True


def test_silent_failure_has_a_status(script: Callable[[str], Toolchain], cache: Cache) -> None:
    with pytest.raises(CompileError, match="failed with status 7"):
        build(SOURCE, script("exit 7"), cache)


def test_full_disk_that_only_the_compiler_sees(
    script: Callable[[str], Toolchain], cache: Cache
) -> None:
    said = f"final link failed: {os.strerror(errno.ENOSPC)}"
    text = f'case "$PWD" in "{cache.root}"*) echo "{said}"; exit 1;; esac; exec "$CC" "$@"'
    with pytest.warns(CacheWarning, match="No space left"):
        path = build(SOURCE, script(text), cache)
    assert answer(path) == 42
    assert not path.is_relative_to(cache.root)


def test_compiler_that_writes_nothing_is_no_success(
    script: Callable[[str], Toolchain], cache: Cache
) -> None:
    with pytest.raises(CompileError, match="no library"):
        build(SOURCE, script("exit 0"), cache)


RACER = """
    import sys
    from pathlib import Path
    from gradc.runtime.build import build
    from gradc.runtime.cache import Cache
    from gradc.runtime.toolchain import find_toolchain

    cache = Cache(Path(sys.argv[1]))
    toolchain = find_toolchain(cache)._replace(command=(sys.argv[2],))
    print("ready", flush=True)
    print(build(sys.argv[3], toolchain, cache))
"""


def test_processes_that_race_compile_once(
    script: Callable[[str], Toolchain],
    cache: Cache,
    tmp_path: Path,
    start: Callable[..., Any],
    finish: Callable[..., str],
) -> None:
    counter = tmp_path / "counter"
    slow = script(f'echo x >> "{counter}"; sleep 0.5; exec "$CC" "$@"')
    racers = [start(RACER, cache.root, slow.command[0], SOURCE) for _ in range(3)]
    assert len({finish(racer) for racer in racers}) == 1
    assert counter.read_text() == "x\n"


def test_killed_compilation_leaves_no_entry(
    script: Callable[[str], Toolchain],
    toolchain: Toolchain,
    cache: Cache,
    start: Callable[..., Any],
) -> None:
    hanging = script('[ "$1" = -v ] && exec "$CC" "$@"; echo half > library.so; sleep 2')
    victim = start(RACER, cache.root, hanging.command[0], SOURCE)
    assert victim.stdout.readline() == "ready\n"
    while not list(cache.root.glob("building/*/library.so")):
        time.sleep(0.01)
    victim.kill()
    victim.communicate()
    assert cache.entries() == []
    assert answer(build(SOURCE, toolchain, cache)) == 42


UNITS = """
#ifndef GRADC_UNIT
#error compiled as a whole
#endif
int part(void);
#if GRADC_UNIT == 0
int part(void) { return 40; }
#elif GRADC_UNIT == 1
__attribute__((visibility("default"))) int answer(void) { return part() + 2; }
#else
#error there is no such unit
#endif
"""


def test_units_are_compiled_apart_and_linked(toolchain: Toolchain, cache: Cache) -> None:
    path = build(UNITS, toolchain, cache, units=2)
    assert answer(path) == 42
    assert sorted(each.suffix for each in path.parent.iterdir() if each.suffix == ".o") == []


def test_the_unit_that_fails_is_shown(toolchain: Toolchain, cache: Cache) -> None:
    with pytest.raises(CompileError, match="there is no such unit") as caught:
        build(UNITS, toolchain, cache, units=3)
    assert "-DGRADC_UNIT=2" in caught.value.command
    assert caught.value.source_path.read_text(encoding="utf-8") == UNITS
