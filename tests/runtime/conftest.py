"""What the tests of the runtime share: caches of their own, programs in C, other processes."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest
from gradc.runtime.build import build
from gradc.runtime.cache import Cache, open_cache
from gradc.runtime.library import load_function
from gradc.runtime.support import read_source
from gradc.runtime.toolchain import find_toolchain

PROGRAMS = Path(__file__).parent / "programs"
SECONDS = 120


@pytest.fixture
def cache(tmp_path: Path) -> Cache:
    return Cache(tmp_path / "cache")


@pytest.fixture
def load() -> Callable[[str], Any]:
    """Build programs/<name>.c and return its function <name>_run."""

    def build_and_load(name: str) -> Any:
        source = read_source("gradc.h") + (PROGRAMS / f"{name}.c").read_text(encoding="utf-8")
        return load_function(build(source, find_toolchain(), open_cache()), f"{name}_run")

    return build_and_load


@pytest.fixture
def start() -> Callable[..., "subprocess.Popen[str]"]:
    """Start another Python with a script."""

    def start_script(script: str, *arguments: object) -> "subprocess.Popen[str]":
        return subprocess.Popen(
            [sys.executable, "-c", dedent(script), *map(str, arguments)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    return start_script


@pytest.fixture
def finish() -> Callable[["subprocess.Popen[str]"], str]:
    """Wait for a script that must succeed, and return what it printed."""

    def finish_script(process: "subprocess.Popen[str]") -> str:
        try:
            printed, errors = process.communicate(timeout=SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            pytest.fail(f"the script hangs: {process.communicate()}")
        assert process.returncode == 0, errors
        return printed

    return finish_script
