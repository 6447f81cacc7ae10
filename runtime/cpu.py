"""The processor as -march=native sees it, so that no library is used on another kind."""

import os
import platform
from functools import cache
from typing import NamedTuple

CPUINFO = "/proc/cpuinfo"
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
