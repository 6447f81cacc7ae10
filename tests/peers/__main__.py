"""Compares gradc with PyTorch on random programs and models: values, first and second derivatives.

PYTHONPATH=tests python -P -m peers --programs 2000 --models 3000 --seed 0 --operators 5 60
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from peers.draft import Row

QUICK = """#!/bin/sh
exec {compiler} "$@" {flags}
"""


def arguments() -> argparse.Namespace:
    """What the command line says."""
    parser = argparse.ArgumentParser("peers", description=__doc__)
    parser.add_argument("--programs", type=int, default=2000, help="how many (default: 2000)")
    parser.add_argument("--models", type=int, default=3000, help="stacks of layers (default: 3000)")
    parser.add_argument("--seed", type=int, default=0, help="another one: other programs")
    parser.add_argument(
        "--operators", type=int, nargs=2, default=(5, 60), metavar=("LEAST", "MOST")
    )
    parser.add_argument("--only", nargs="+", default=(), metavar="ROW", help="rows of the tables")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--batch", type=int, default=25, help="programs drawn from one seed")
    parser.add_argument("--seconds", type=float, default=60, help="to look for a smaller failure")
    parser.add_argument("--flags", default="-O1", help="for the compiler, behind gradc's own")
    return parser.parse_args()


def prepare(folder: str, flags: str) -> None:
    """Let gradc build in `folder`, with a compiler that spends less time on optimizing."""
    compiler = Path(folder, "cc")
    compiler.write_text(QUICK.format(compiler=os.environ.get("CC") or "gcc", flags=flags))
    compiler.chmod(0o755)
    os.environ |= {"CC": str(compiler), "GRADC_CACHE_DIR": f"{folder}/cache"}


def main() -> int:
    """Run the batches, print what differs, and what was run; 1 where a program differs."""
    given = arguments()
    from peers.batch import Batch, Report
    from peers.generate import LAYER_ROWS, ROWS
    from peers.supervise import supervised

    begun, total = time.monotonic(), Report()
    batches = [
        Batch(
            given.seed * 1_000_000 + first // given.batch, min(given.batch, count - first),
            *given.operators, tuple(given.only), given.seconds, models,
        )
        for models, count in ((False, given.programs), (True, given.models))
        for first in range(0, count, given.batch)
    ]  # fmt: skip
    with tempfile.TemporaryDirectory(prefix="gradc-peers-") as folder:
        prepare(folder, given.flags)
        with ThreadPoolExecutor(given.processes) as pool:
            for done in as_completed([pool.submit(supervised, batch) for batch in batches]):
                report = done.result()
                total += report
                for text in [*report.differences, *report.crashes]:
                    print(text, flush=True)
                print(f"{time.monotonic() - begun:7.0f} s  {total.line()}", flush=True)
    for reason, count in total.undefined.most_common():
        print(f"{count} programs undefined: {reason}")
    drawn = [*(ROWS if given.programs else ()), *(LAYER_ROWS if given.models else ())]
    print_rows(total.rows, set(given.only), drawn)
    return min(len(total.differences), 1)


def print_rows(rows: Counter[str], only: set[str], table: Sequence[Row]) -> None:
    """How often each row was drawn, and which of the `table` were not."""
    print(", ".join(f"{name} {count}" for name, count in sorted(rows.items())))
    missing = [row.name for row in table if row.name not in rows and (not only or row.name in only)]
    if missing:
        print(f"never drawn: {', '.join(missing)}")


if __name__ == "__main__":
    sys.exit(main())
