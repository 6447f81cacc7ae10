"""Checks and measurements of one workload in all contenders."""

from __future__ import annotations

import shutil
import statistics
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from rivals.process import Contender, Worker, told_of
from rivals.reference import Reference, WrongError
from rivals.workloads import Workload

STRICT = 1000
"""How much larger the rate is when gradients are compared: parameters round the change less."""
LOSS_TOLERANCE = 1e-5
BLOCK_SECONDS = 0.02
SLOW, ROUNDS_OF_SLOW = 0.8, 5


@dataclass(frozen=True)
class Course:
    """How to measure: threads to try, rounds of turns, warm starts, seconds to wait, a folder."""

    threads: tuple[int, ...]
    rounds: int
    starts: int
    patience: float
    folder: Path

    def cache(self, contender: Contender, workload: Workload) -> Path:
        """Where a contender keeps what it compiled."""
        return self.folder / "caches" / contender.name.replace(" ", "-") / workload.name


@contextmanager
def running(*arguments: Any, **named: Any) -> Iterator[Worker]:
    """A worker that is ended in any case."""
    worker = Worker(*arguments, **named)
    try:
        yield worker
    finally:
        worker.end()


class FailedError(RuntimeError):
    """A contender cannot run a workload."""


def checked(
    contender: Contender, workload: Workload, course: Course, reference: Reference
) -> tuple[dict[str, Any], float]:
    """Errors of the first loss and gradients; and the first step with an empty cache, in seconds.

    The cache stays, for what follows.

    Raises FailedError where there is no step, WrongError where it is wrong.
    """
    cache = course.cache(contender, workload)
    shutil.rmtree(cache, ignore_errors=True)
    cache.mkdir(parents=True)
    save, rate = cache / "change.npz", STRICT * workload.rate
    settings = contender, workload, max(course.threads), cache, course.patience
    with running(*settings, rate=rate, save=save) as worker:
        if "error" in worker.told:
            raise FailedError(worker.told["error"])
        told = told_of(worker, "import", "first", "losses")
    with np.load(save) as changes:
        errors = {
            name: relative(changes[name] / rate, each) for name, each in reference.gradients.items()
        }
    worst = max(errors, key=errors.__getitem__)
    loss = abs(told["losses"][0] / reference.losses[0] - 1)
    found = {"loss": loss, "gradient": errors[worst], "parameter": worst}
    if not (errors[worst] <= workload.tolerance and loss <= LOSS_TOLERANCE):
        raise WrongError(f"loss off by {loss:.1e}, gradient of {worst} by {errors[worst]:.1e}")
    return found, told["import"] + told["first"]


def relative(found: np.ndarray[Any, Any], right: np.ndarray[Any, Any]) -> float:
    """|found - right| / |right|."""
    return float(np.linalg.norm(found - right) / np.linalg.norm(right))


def raced(
    contenders: Sequence[Contender],
    workload: Workload,
    threads: int,
    course: Course,
    reference: Reference,
) -> tuple[dict[str, dict[str, float]], dict[str, Exception]]:
    """The steps of the contenders, who take turns; and who dropped out, and why.

    One runs at a time. Each is first in some rounds.
    """
    workers, dropped = [], {}
    try:
        for each in contenders:
            cache = course.cache(each, workload)
            worker = Worker(each, workload, threads, cache, course.patience)
            worker.pause()
            workers.append(worker)
        for worker in list(workers):
            if fault := _fault(worker, reference):
                dropped[worker.contender.name] = fault
                workers.remove(worker)
                worker.end()
        for turn in range(course.rounds):
            first = turn % max(len(workers), 1)
            for worker in workers[first:] + workers[:first]:
                _take_turn(worker, turn)
    finally:
        for worker in workers:
            worker.end()
    found = {
        worker.contender.name: _summary(worker.times)
        for worker in workers
        if "error" not in worker.told
    }
    dropped |= {
        worker.contender.name: FailedError(worker.told["error"])
        for worker in workers
        if "error" in worker.told
    }
    return found, dropped


def _fault(worker: Worker, reference: Reference) -> Exception | None:
    """Why the worker is not measured: it failed, or its first two losses are wrong."""
    if "error" in worker.told:
        return FailedError(worker.told["error"])
    for step, (found, right) in enumerate(
        zip(worker.told["losses"], reference.losses, strict=False)
    ):
        if not abs(found / right - 1) <= LOSS_TOLERANCE:
            return WrongError(f"loss {found!r} in step {step + 1}, expected {right!r}")
    return None


def _take_turn(worker: Worker, turn: int) -> None:
    estimate = worker.told.get("estimate", 0)
    if "error" in worker.told or (estimate > SLOW and turn >= ROUNDS_OF_SLOW):
        return
    time = worker.measure(max(1, int(BLOCK_SECONDS / estimate)))
    if time is not None:
        worker.times.append(time)


def _summary(times: list[float]) -> dict[str, float]:
    """The median, and the distance of quartiles in it."""
    median = statistics.median(times)
    spread = 0.0
    if len(times) > 1:
        low, _, high = statistics.quantiles(times, n=4, method="inclusive")
        spread = (high - low) / median
    return {"median": median, "spread": spread, "rounds": len(times)}


def restarted(contender: Contender, workload: Workload, course: Course) -> dict[str, float]:
    """The first step of fresh processes that find what is kept on disk, and their memory."""
    told = []
    cache = course.cache(contender, workload)
    for _ in range(course.starts):
        with running(contender, workload, max(course.threads), cache, course.patience) as worker:
            if "error" in worker.told:
                raise FailedError(worker.told["error"])
            told.append(told_of(worker, "import", "first", "peak"))
    return {
        "warm": statistics.median(each["import"] + each["first"] for each in told),
        "import": statistics.median(each["import"] for each in told),
        "peak": statistics.median(each["peak"] for each in told),
    }
