"""Some programs drawn from one seed by Hypothesis, which also makes smaller what differs."""

from __future__ import annotations

import time
import warnings
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

import torch
from gradc.runtime.compiling import CompilerWarning, CompilingEvaluator
from gradc.tracer.evaluator import set_evaluator
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis.errors import FlakyFailure
from peers.compare import Agreement, Difference, Undefined, compared
from peers.cut import cut
from peers.generate import models, programs
from peers.program import Program


@dataclass(frozen=True)
class Batch:
    """How many programs to draw from a seed, and of which rows and sizes."""

    seed: int
    programs: int
    least: int
    most: int
    only: tuple[str, ...] = ()
    seconds: float = 60.0  # to look for smaller programs
    models: bool = False  # stacks of layers, instead of rows of all tables


@dataclass
class Report:
    """What was run, and the texts of what differs."""

    programs: int = 0
    operators: int = 0
    compared: int = 0
    ill: int = 0
    undefined: Counter[str] = field(default_factory=Counter)
    rows: Counter[str] = field(default_factory=Counter)
    differences: list[str] = field(default_factory=list)
    crashes: list[str] = field(default_factory=list)  # of PyTorch alone

    def __add__(self, other: Report) -> Report:
        """Both together."""
        pairs = zip(vars(self).values(), vars(other).values(), strict=True)
        return Report(*(mine + more for mine, more in pairs))

    def count(self, program: Program, agreement: Agreement) -> None:
        """Count a program that agrees."""
        self.programs += 1
        self.operators += len(program.steps)
        self.compared += agreement.compared
        self.ill += agreement.ill
        self.rows.update(each.row for each in program.steps)

    def line(self) -> str:
        """The figures."""
        return (
            f"{self.programs} programs of {self.operators} operators: {self.compared} results "
            f"compared, {self.ill} too sensitive to rounding, "
            f"{self.undefined.total()} programs undefined, {len(self.crashes)} crash PyTorch, "
            f"{len(self.differences)} programs differ"
        )

    def done(self) -> int:
        """How many programs are behind it."""
        return self.programs + len(self.crashes) + len(self.differences)


Note = Callable[[Program, Report], None]
"""Is told each program before it is run, and the report so far."""


class Search:
    """Compares drawn programs; after the first that differs, for some time, smaller ones."""

    def __init__(self, report: Report, seconds: float, note: Note) -> None:
        self.report, self.seconds, self.note = report, seconds, note
        self.failing: dict[str, tuple[Program, str]] = {}
        self.until = float("inf")

    def check(self, program: Program) -> None:
        """Raise `Difference` where gradc and PyTorch differ: here alone, as is asked for."""
        known = self.failing.get(repr(program))
        problem = self._problem(program) if known is None else known[1]
        if problem:
            raise Difference(problem)

    def _problem(self, program: Program) -> str:
        """What differs; nothing when the time is over."""
        if time.monotonic() > self.until:
            return ""
        self.note(program, self.report)
        try:
            agreement = compared(program)
        except Undefined as error:
            self.report.undefined[str(error)] += 1
        except Difference as error:
            self.failing[repr(program)] = program, str(error)
            self.until = min(self.until, time.monotonic() + self.seconds)
            return str(error)
        else:
            if not self.failing:
                self.report.count(program, agreement)
        return ""


def prepare_process() -> None:
    """What holds for a process that compares programs."""
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")  # PyTorch's
    warnings.simplefilter("error", CompilerWarning)
    set_evaluator(CompilingEvaluator(first_sight=False))


def run(batch: Batch, note: Note) -> Report:
    """Draw and compare the programs of `batch`, going on behind what differs."""
    prepare_process()
    report = Report()
    for again in range(5):
        left = batch.programs - report.done()
        if left <= 0:
            break
        search = Search(report, batch.seconds, note)
        _draw(search, batch, batch.seed + again * 100_000, left)
        if search.failing:
            report.differences.append(_smallest([*search.failing.values()]))
    return report


def _draw(search: Search, batch: Batch, number: int, count: int) -> None:
    @seed(number)
    @settings(
        max_examples=count, database=None, deadline=None, print_blob=False,
        phases=(Phase.generate, Phase.shrink), suppress_health_check=list(HealthCheck),
    )  # fmt: skip
    @given(
        models(only=batch.only) if batch.models else programs(batch.least, batch.most, batch.only)
    )
    def check(program: Program) -> None:
        search.check(program)

    try:
        check()
    except (Difference, FlakyFailure):
        return


def _smallest(failing: list[tuple[Program, str]]) -> str:
    """The text of the smallest program that differs, cut down further."""
    found = min(failing, key=lambda each: (len(each[0].steps), len(each[0].inputs)))
    program, problem = cut(*found)
    return f"\n# {problem}\n{program.snippet()}\n"
