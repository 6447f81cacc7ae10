"""The machine on which was measured, in words."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
from importlib.metadata import version
from pathlib import Path

WIDEST = ("avx512f", "avx2", "avx", "sse4_2")


def machine() -> dict[str, str]:
    """What matters of it."""
    return {
        "processor": processor(),
        "cores": str(os.cpu_count()),
        "compiler": compiler(),
        "system": f"{platform.system()} {platform.machine()}",
        "Python": platform.python_version(),
        "NumPy": version("numpy"),
    }


def processor() -> str:
    """The model, with the widest vectors that it has."""
    listing = Path("/proc/cpuinfo")
    if not listing.exists():
        return platform.processor() or "unknown"
    entries = {}
    for line in listing.read_text(encoding="utf-8").splitlines():
        name, _, value = line.partition(":")
        entries[name.strip()] = value.strip()
    flags = entries.get("flags", "").split()
    vectors = [each.upper() for each in WIDEST if each in flags][:1]
    return ", ".join([entries.get("model name", "unknown"), *vectors])


def compiler() -> str:
    """The first line of what the compiler says of itself."""
    named = os.environ.get("CC", "").split()
    found = next((each for each in ("gcc", "clang", "cc") if shutil.which(each)), "cc")
    command = [*(named or [found]), "--version"]
    try:
        said = subprocess.run(command, capture_output=True, text=True, check=False).stdout
    except OSError:
        return "none"
    return said.splitlines()[0] if said else "unknown"
