"""Worker processes: started, stopped while others are measured, asked for times."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from rivals.frameworks import Framework
from rivals.worker import Answer
from rivals.workloads import Workload

ROOT = Path(__file__).parents[1]
SETTINGS = (
    *("OMP_", "MKL_", "OPENBLAS_", "NUMBA_", "XLA_", "JAX_", "TORCH", "PYTENSOR_", "GRADC_"),
    "PYTHON",  # such as a wish to keep no compiled modules
)
"""How variables begin that would change what is measured; those of the shell are not handed on."""


@dataclass(frozen=True)
class Contender:
    """A framework in one of its variants, and the interpreter that has it."""

    framework: Framework
    variant: str
    python: Path

    @property
    def name(self) -> str:
        """As tables name it."""
        return f"{self.framework.name} {self.variant}"


def processors(threads: int) -> set[int]:
    """The processors that a process with so many threads may use: the last ones."""
    return set(sorted(os.sched_getaffinity(0))[-threads:])


class Worker:
    """A process that takes the steps of one contender and workload.

    `told` is its first answer; one with "error" says why there are no steps.
    """

    def __init__(
        self,
        contender: Contender,
        workload: Workload,
        threads: int,
        cache: Path,
        patience: float,
        rate: float | None = None,
        save: Path | None = None,
    ) -> None:
        self.contender, self.patience = contender, patience
        self.times: list[float] = []
        cache.mkdir(parents=True, exist_ok=True)
        framework = contender.framework
        command = [str(contender.python), "-P", "-m", "rivals.worker", framework.name]
        command += [contender.variant, workload.name, str(threads)]
        command += [repr(workload.rate if rate is None else rate), str(save or "")]
        self._log = (cache / "log.txt").open("w", encoding="utf-8")
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            env=_environment(framework.environment(threads, cache)),
            text=True,
            bufsize=1,
            start_new_session=True,
            preexec_fn=partial(_bind, threads),
        )
        try:
            self.told = self._answer()
        except BaseException:  # the command is interrupted
            self._signal(signal.SIGKILL)
            raise

    def measure(self, steps: int) -> float | None:
        """The time of a step; the process goes on for as long as that takes."""
        self.resume()
        assert self._process.stdin is not None
        with suppress(BrokenPipeError):
            self._process.stdin.write(f"run {steps}\n")
            self._process.stdin.flush()
        answer = self._answer()
        if "error" in answer:
            self.told = answer
            return None
        self.told["peak"] = answer["peak"]
        self.pause()
        return float(answer["time"])

    def pause(self) -> None:
        """Let the process stand still, so that its threads cannot spin beside the others."""
        self._signal(signal.SIGSTOP)

    def resume(self) -> None:
        """Let it go on."""
        self._signal(signal.SIGCONT)

    def end(self) -> Answer:
        """End the process; what it told."""
        self._signal(signal.SIGKILL)
        self._process.wait()
        for each in (self._process.stdin, self._process.stdout, self._log):
            assert each is not None
            with suppress(BrokenPipeError):
                each.close()
        return self.told

    def _answer(self) -> Answer:
        out = self._process.stdout
        assert out is not None
        began = time.monotonic()
        ready, _, _ = select.select([out], [], [], self.patience)
        if not ready:
            self._signal(signal.SIGKILL)
            return {"error": f"no answer within {time.monotonic() - began:.0f} s"}
        line = out.readline()
        if not line:
            return {"error": f"the process ended with status {self._process.wait()}"}
        answer: Answer = json.loads(line)
        return answer

    def _signal(self, number: int) -> None:
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, number)  # the session is its own


def _environment(variables: Mapping[str, str]) -> dict[str, str]:
    kept = {name: each for name, each in os.environ.items() if not name.startswith(SETTINGS)}
    return {**kept, **variables, "PYTHONPATH": str(ROOT)}


def _bind(threads: int) -> None:
    if hasattr(os, "sched_setaffinity"):  # of Linux
        os.sched_setaffinity(0, processors(threads))


def told_of(worker: Worker, *names: str) -> dict[str, Any]:
    """Some of what a worker told."""
    return {name: worker.told[name] for name in names}
