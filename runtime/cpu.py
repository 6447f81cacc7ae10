"""The processor as -march=native sees it, so that no library is used on another kind, and how much
of it this process may use."""

import os
import platform
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

CPUINFO = "/proc/cpuinfo"
PROCESS = "/proc/self"
FIRST_BLOCK = 16384  # bytes; the first processor needs less, and the file of a big machine is slow

# What selects instructions and tuning; clock rates and core numbers change from run to run.
SHAPING = (
    "vendor_id",
    "cpu family",
    "model",
    "stepping",
    "cache size",
    "flags",
    "CPU implementer",
    "CPU architecture",
    "CPU variant",
    "CPU part",
    "Features",
)


class Processor(NamedTuple):
    """What is known of the processor; `resolved` says that the text pins down -march=native."""

    text: str
    features: tuple[str, ...]
    resolved: bool


def parse(block: str) -> dict[str, str]:
    """The shaping fields of the first processor in the text of /proc/cpuinfo."""
    first = block.split("\n\n", 1)[0]
    pairs = (line.partition(":") for line in first.splitlines())
    fields = {name.strip(): value.strip() for name, _, value in pairs}
    return {name: fields[name] for name in SHAPING if name in fields}


@cache
def processor() -> Processor:
    """Describe the first processor of this machine."""
    architecture = platform.machine()
    try:
        descriptor = os.open(CPUINFO, os.O_RDONLY)
    except OSError:
        return Processor(architecture, (), resolved=False)
    try:
        block = os.read(descriptor, FIRST_BLOCK).decode("utf-8", "replace")
    finally:
        os.close(descriptor)
    fields = parse(block)
    features = tuple(sorted((fields.get("flags") or fields.get("Features") or "").split()))
    text = "; ".join([architecture, *(f"{name}: {value}" for name, value in fields.items())])
    return Processor(text, features, resolved=bool(features))


def usable_cores() -> int:
    """The cores that this process may run on; a quota of its control group counts as cores.

    A part of one counts as one, as in other runtimes: what is not used is lost.
    """
    affinity = getattr(os, "sched_getaffinity", None)
    cores = len(affinity(0)) if affinity else os.cpu_count() or 1
    return max(min([cores, *(-(-quota // period) for quota, period in _quotas())]), 1)


def _quotas() -> Iterator[tuple[int, int]]:
    """The quotas of the control groups around this process: microseconds of each period."""
    try:
        groups = Path(PROCESS, "cgroup").read_text(encoding="utf-8", errors="replace")
        mounts = Path(PROCESS, "mountinfo").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return
    listed = (line.split(":", 2) for line in groups.splitlines() if line.count(":") >= 2)
    paths = {name: path for _, names, path in listed for name in names.split(",")}
    for line in mounts.splitlines():
        before, _, after = line.partition(" - ")
        kind, options = after.split(" ")[0], after.rpartition(" ")[2].split(",")
        name = "" if kind == "cgroup2" else "cpu"
        if name in paths and (kind == "cgroup2" or (kind == "cgroup" and "cpu" in options)):
            root, point = before.split(" ")[3:5]
            yield from _quotas_along(Path(point), paths[name].removeprefix(root.rstrip("/")))


def _quotas_along(mount: Path, path: str) -> Iterator[tuple[int, int]]:
    """The quotas of a group and of those around it, by the files of versions 2 and 1.

    Seen from within a container a path may lead out of what is mounted; the mount is its own then.
    """
    inner = mount / path.strip("/") if ".." not in path.split("/") else mount
    for folder in [inner, *inner.parents][: len(inner.parts) - len(mount.parts) + 1]:
        text = ""
        for names in (("cpu.max",), ("cpu.cfs_quota_us", "cpu.cfs_period_us")):
            try:
                text = " ".join((folder / name).read_text(encoding="ascii") for name in names)
                break
            except (OSError, ValueError):
                continue
        words = text.split()
        if len(words) == 2 and all(word.isdecimal() for word in words) and int(words[1]):
            yield int(words[0]), int(words[1])
