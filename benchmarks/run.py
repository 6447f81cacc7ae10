"""Measures gradc and prints each figure beside its target.

python benchmarks/run.py [recording] [start] [small] [memory] [building] [tracing]
"""

from __future__ import annotations

import sys
from collections.abc import Callable

import building
import memory
import recording
import small
import start
import tracing
from figure import Figure, table

BENCHMARKS: dict[str, Callable[[], list[Figure]]] = {
    "recording": recording.figures,
    "start": start.figures,
    "small": small.figures,
    "memory": memory.figures,
    "building": building.figures,
    "tracing": tracing.figures,
}


def main(names: list[str]) -> int:
    """Run the named benchmarks, or all; gives how many targets were missed."""
    unknown = sorted(set(names) - set(BENCHMARKS))
    if unknown:
        sys.exit(f"no benchmark {unknown[0]}: there are {', '.join(BENCHMARKS)}")
    found = [figure for name in names or BENCHMARKS for figure in BENCHMARKS[name]()]
    print(table(found))
    return sum(not each.fine for each in found)


if __name__ == "__main__":
    sys.exit(min(main(sys.argv[1:]), 1))
