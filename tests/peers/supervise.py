"""Runs each batch in a process of its own, and goes on where one crashes.

The process says which program it is about to run, so that a crash has a name. That program is then
run again, alone: where it crashes PyTorch without gradc, that is counted and printed, but no
failure; everything else is one, also a crash that does not come again.
"""

from __future__ import annotations

import contextlib
import multiprocessing
from collections.abc import Callable
from dataclasses import replace
from multiprocessing.connection import Connection
from typing import Any

from peers.batch import Batch, Report, prepare_process, run
from peers.compare import expected
from peers.program import Program

CONTEXT = multiprocessing.get_context("spawn")
AGAIN = 500_000
"""Behind a crash, the batch goes on with the programs of a seed so much higher."""
MOST_CRASHES = 5


def report_of(batch: Batch, to: Connection) -> None:
    """Run `batch`; send each program before it is run, and the report so far."""
    report = run(batch, lambda program, so_far: to.send((program, so_far)))
    to.send((None, report))


def supervised(batch: Batch, work: Callable[[Batch, Connection], None] = report_of) -> Report:
    """The report of `batch`, whatever its programs do to the process that does the `work`."""
    total = Report()
    for crash in range(MOST_CRASHES):
        left = replace(
            batch, seed=batch.seed + crash * AGAIN, programs=batch.programs - total.done()
        )
        if left.programs <= 0:
            break
        last, code = attempt(work, left)
        program, report = last or (None, Report())
        total += report
        if code == 0:
            break
        named = f"# seed {left.seed}: the process ended with {code}\n"
        if program is None:
            total.differences.append(named)
        elif _crashes(program):
            total.crashes.append(f"\n{named}# PyTorch crashes\n{program.snippet()}\n")
        else:
            total.differences.append(f"\n{named}{program.snippet()}\n")
    return total


def attempt(work: Callable[..., None], *args: Any) -> tuple[Any, int | None]:
    """What `work(*args, send)` sent last, in a process of its own, and how the process ended."""
    ours, theirs = CONTEXT.Pipe(duplex=False)
    process = CONTEXT.Process(target=work, args=(*args, theirs))
    process.start()
    theirs.close()
    last = None
    with contextlib.suppress(EOFError, OSError):  # OSError: within a message
        while True:
            last = ours.recv()
    process.join()
    return last, process.exitcode


def _crashes(program: Program) -> bool:
    """Whether PyTorch crashes on the program without gradc's doing."""
    return attempt(_run_theirs, program)[1] not in (0, 1)  # 1: an exception


def _run_theirs(program: Program, to: Connection) -> None:
    prepare_process()
    expected(program)
