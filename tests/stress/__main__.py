"""Threads that train, read, trace and fork at the same time, for as long as one likes.

Every worker knows what is right: its own training is compared, to the last bit, with what one
thread alone computes, and shared tensors may hold only what somebody has put there. Where nothing
gets on for a while, the stacks of all threads are printed, and the process fails.

    PYTHONPATH=tests python -m stress --seconds 600 --seed 1 [--only training forking]
"""

from __future__ import annotations

import argparse
import faulthandler
import os
import sys
import threading
import time
import traceback
import warnings
from random import Random
from typing import Any

from stress.workers import WORKERS, Shared

STUCK = 270.0
"""Seconds after which a worker that has not got on is stuck; to build a program takes a few, on a
busy machine a minute."""


class Run:
    """Workers on threads of their own, until the time is over or one of them fails."""

    def __init__(self, seconds: float, seed: int, names: list[str]) -> None:
        self.end = time.monotonic() + seconds
        self.shared = Shared()
        self.rounds = dict.fromkeys(names, 0)
        self.failures: list[str] = []
        self.workers = [
            threading.Thread(target=self._work, args=(name, Random(f"{seed} {number} {name}")))
            for number, name in enumerate(names)
        ]

    def _work(self, name: str, chance: Random) -> None:
        try:
            turn = WORKERS[name](self.shared, chance)
            while time.monotonic() < self.end and not self.failures:
                turn()
                self.rounds[name] += 1
        except BaseException:
            self.failures.append(f"{name}:\n{traceback.format_exc()}")

    def finish(self) -> list[str]:
        """Let all work, and give what went wrong."""
        for each in self.workers:
            each.start()
        faulthandler.dump_traceback_later(self.end - time.monotonic() + STUCK, exit=True)
        for each in self.workers:
            each.join()
        faulthandler.cancel_dump_traceback_later()
        return self.failures or self.shared.wrong()


def main() -> int:
    """Run what the command line asks for; gives 1 where anything went wrong."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seconds", type=float, default=30)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", nargs="*", choices=WORKERS, default=list(WORKERS))
    given = parser.parse_args()
    warnings.simplefilter("error")
    warnings.filterwarnings("ignore", message=".*fork.*", category=DeprecationWarning)
    sys.setswitchinterval(1e-5)
    run = Run(given.seconds, given.seed, given.only)
    failures = run.finish()
    print(", ".join(f"{name} {count}" for name, count in run.rounds.items()))
    print("\n".join(failures) or "fine", flush=True)
    return bool(failures)


if __name__ == "__main__":
    code: Any = main()
    os._exit(code) if code else sys.exit(0)
