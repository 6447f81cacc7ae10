"""One framework with one workload in a process of its own, which does what its input says.

python -m rivals.worker FRAMEWORK VARIANT WORKLOAD THREADS RATE SAVE

A line "run N" takes N steps and answers with their time; every answer is a line of JSON. The first
one tells how long the first step took, and the losses of the first three. SAVE, if it is not empty,
gets the change of the parameters in the first step.
"""

from __future__ import annotations

import importlib
import json
import os
import resource
import sys
import time
import traceback
from pathlib import Path
from typing import Any, TextIO

WARM_UP_SECONDS = 0.3
WARM_UP_STEPS = 1000

Answer = dict[str, Any]


def begin(
    framework: str, variant: str, workload: str, threads: int, rate: float, save: str
) -> tuple[Any, Answer]:
    """Import, build and take the first steps; the step and what is told of it."""
    started = time.perf_counter()
    module = importlib.import_module(f"rivals.steps_{framework}")
    imported = time.perf_counter()
    from rivals.workloads import BY_NAME

    chosen = BY_NAME[workload]
    before, _ = chosen.data()
    begun = time.perf_counter()
    step = module.build(chosen, variant, threads, rate, chosen.dtype)
    loss = step.run()
    step.finish()
    first = time.perf_counter() - begun
    losses = [float(loss)]
    if save:
        import numpy as np

        after = step.parameters().items()
        np.savez(save, **{name: before[name].astype("float64") - each for name, each in after})
    losses += [float(step.run()) for _ in range(2)]
    estimate = warm_up(step)
    return step, {
        "import": imported - started,
        "first": first,
        "losses": losses,
        "estimate": estimate,
        "peak": peak(),
    }


def warm_up(step: Any) -> float:
    """Take steps for a moment; the time of one."""
    begun, number = time.perf_counter(), 0
    while number < 2 or (number < WARM_UP_STEPS and time.perf_counter() - begun < WARM_UP_SECONDS):
        step.run()
        number += 1
    step.finish()
    return (time.perf_counter() - begun) / number


def timed(step: Any, number: int) -> float:
    """The time of a step, of `number` in a row.

    Before that come some that wake the threads of a process that stood still.
    """
    for _ in range(number // 6):
        step.run()
    step.finish()
    begun = time.perf_counter()
    for _ in range(number):
        step.run()
    step.finish()
    return (time.perf_counter() - begun) / number


def peak() -> int:
    """The largest resident memory of this process so far, in bytes."""
    status = Path("/proc/self/status")
    if status.exists():  # what getrusage says began with that of the parent
        lines = status.read_text(encoding="ascii", errors="replace").splitlines()
        return 1024 * int(next(each for each in lines if each.startswith("VmHWM")).split()[1])
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss  # in bytes on macOS


def main(arguments: list[str], answers: TextIO) -> None:
    """Begin, then answer line by line until the input ends."""

    def tell(answer: Answer) -> None:
        print(json.dumps(answer), file=answers, flush=True)

    framework, variant, workload, threads, rate, save = arguments
    try:
        step, told = begin(framework, variant, workload, int(threads), float(rate), save)
        tell(told)
        for line in sys.stdin:
            tell({"time": timed(step, int(line.split()[1])), "peak": peak()})
    except BaseException as error:
        traceback.print_exc()
        tell({"error": f"{type(error).__name__}: {error}"[:300]})


if __name__ == "__main__":
    channel = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # what a framework prints goes to the log, not among the answers
    main(sys.argv[1:], channel)
    channel.flush()
    os._exit(0)  # threads of a framework may not end
