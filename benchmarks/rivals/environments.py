"""A virtual environment for each framework, made when it is asked for."""

from __future__ import annotations

import re
import subprocess
import sys
import venv
from pathlib import Path

from rivals.frameworks import OURS, Framework

STAMP = "requirements.txt"


class LeftOutError(RuntimeError):
    """A framework that cannot be installed here, and why."""


def python_of(framework: Framework, folder: Path) -> Path:
    """The interpreter that has the framework, installed now where it is not; gradc's is this one.

    Raises LeftOutError where pip cannot install it.
    """
    if framework.name == OURS:
        return Path(sys.executable)
    home = folder / framework.name
    python = home / "bin" / "python"
    wanted = "\n".join(framework.requirements)
    stamp = home / STAMP
    if stamp.exists() and stamp.read_text(encoding="utf-8") == wanted:
        return python
    print(f"installing {framework.name} into {home}", flush=True)
    venv.create(home, clear=True, with_pip=True)
    first, *others = framework.requirements
    command = [str(python), "-m", "pip", "install", "--quiet"]
    command += [_build_of(framework, python) or first, *others]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    if ended.returncode:
        said = ended.stderr.strip().splitlines() or [f"pip ended with {ended.returncode}"]
        raise LeftOutError(said[-1])
    stamp.write_text(wanted, encoding="utf-8")
    return python


def _build_of(framework: Framework, python: Path) -> str:
    """The newest release as the preferred build, if an index has one."""
    if not framework.build:
        return ""
    command = [str(python), "-m", "pip", "index", "versions", framework.name]
    offered = subprocess.run(command, capture_output=True, text=True, check=False).stdout
    found = re.search(rf"[\d.]+\+{framework.build}\b", offered)
    return f"{framework.name}=={found[0]}" if found else ""


def version_of(framework: Framework, python: Path) -> str:
    """The version that is installed."""
    code = f"import importlib.metadata as m; print(m.version({framework.name!r}))"
    ended = subprocess.run([str(python), "-c", code], capture_output=True, text=True, check=True)
    return ended.stdout.strip()
