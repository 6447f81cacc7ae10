"""Compares gradc with other frameworks: checks losses and gradients, then measures, taking turns.

PYTHONPATH=benchmarks python -P -m rivals --workloads W5 W7 --frameworks gradc torch --report
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

from rivals.environments import LeftOutError, python_of, version_of
from rivals.frameworks import FRAMEWORKS
from rivals.machine import machine
from rivals.measure import Course, FailedError, checked, raced, restarted
from rivals.process import Contender
from rivals.reference import Reference, WrongError, reference_of
from rivals.report import tables, write_report
from rivals.results import Results, is_ours, read_results
from rivals.workloads import BY_NAME, Workload

TREE = Path(__file__).parents[2]
ENVIRONMENTS = TREE / ".venv-rivals"
FOLDER = TREE / "build" / "rivals"
LENGTHS = (100, 1000, 10_000)


def arguments() -> argparse.Namespace:
    """What the command line says."""
    parser = argparse.ArgumentParser("rivals", description=__doc__.splitlines()[0])
    names = [each.name for each in FRAMEWORKS]
    variants = [f"{each.name}:{variant}" for each in FRAMEWORKS for variant in each.variants]

    def chosen(option: str, choices: list[str], default: list[str]) -> None:
        parser.add_argument(option, nargs="+", metavar="NAME", choices=choices, default=default)

    chosen("--workloads", list(BY_NAME), list(BY_NAME))
    chosen("--frameworks", names + variants, names)
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2], metavar="COUNT")
    parser.add_argument("--rounds", type=int, default=30, help="turns of each (default: 30)")
    parser.add_argument("--starts", type=int, default=3, help="of fresh processes (default: 3)")
    parser.add_argument("--patience", type=float, default=180, help="seconds for the first step")
    parser.add_argument("--no-building", action="store_true", help="build no long chains")
    parser.add_argument(
        "--results",
        type=Path,
        default=FOLDER / "results.json",
        help="a file that keeps the results; parts that are measured anew are replaced in it",
    )
    parser.add_argument("--report", action="store_true", help="write docs/performance.* from it")
    parser.add_argument("--measure-nothing", action="store_true", help="take the file as it is")
    return parser.parse_args()


def contenders(chosen: list[str], results: Results) -> Iterator[Contender]:
    """The frameworks that can be had, in all variants; the others are noted as left out."""
    for framework in FRAMEWORKS:
        all_of_it = framework.name in chosen
        variants = [
            variant
            for variant in framework.variants
            if all_of_it or f"{framework.name}:{variant}" in chosen
        ]
        if not variants:
            continue
        try:
            python = python_of(framework, ENVIRONMENTS)
        except LeftOutError as error:
            print(f"{framework.name} is left out: {error}", flush=True)
            results.left_out[framework.name] = str(error)
            continue
        results.left_out.pop(framework.name, None)
        results.versions[framework.name] = version_of(framework, python)
        yield from (Contender(framework, variant, python) for variant in variants)


def compare(
    workload: Workload, everyone: list[Contender], course: Course, results: Results
) -> bool:
    """Check, then measure one workload; whether all that ran was right."""
    results.forget(workload.name, {each.name for each in everyone}, course.threads)
    faults: dict[str, Exception] = {}
    try:
        reference = reference_of(workload)
        able = list(_check(workload, everyone, course, reference, results, faults))
        for threads in course.threads:
            steps, dropped = raced(able, workload, threads, course, reference)
            results.steps.setdefault(workload.name, {}).setdefault(str(threads), {}).update(steps)
            faults |= dropped
            able = [each for each in able if each.name in steps]
        _restart(workload, able, course, results, faults)
    except WrongError as error:
        faults["gradc"] = error
    for name, fault in faults.items():
        results.failures.setdefault(workload.name, {})[name] = str(fault)
        _say(workload, name, f"{type(fault).__name__}: {fault}")
    return not any(isinstance(each, WrongError) or is_ours(name) for name, each in faults.items())


def _check(
    workload: Workload,
    everyone: list[Contender],
    course: Course,
    reference: Reference,
    results: Results,
    faults: dict[str, Exception],
) -> Iterator[Contender]:
    """Those whose first loss and gradients are right."""
    for each in everyone:
        if not each.framework.runs(each.variant, workload.name):
            continue
        try:
            found, cold = checked(each, workload, course, reference)
        except (FailedError, WrongError) as error:
            faults[each.name] = error
            continue
        results.checks.setdefault(workload.name, {})[each.name] = found
        results.starts.setdefault(workload.name, {})[each.name] = {"cold": cold}
        errors = f"gradient within {found['gradient']:.0e}, loss within {found['loss']:.0e}"
        _say(workload, each.name, f"{errors}, first step {cold:.2f} s")
        yield each


def _restart(
    workload: Workload,
    able: list[Contender],
    course: Course,
    results: Results,
    faults: dict[str, Exception],
) -> None:
    """Measure warm starts and memory."""
    for each in able:
        try:
            found = restarted(each, workload, course)
        except FailedError as error:
            faults[each.name] = error
        else:
            results.starts[workload.name][each.name].update(found)


def _say(workload: Workload, name: str, text: str) -> None:
    print(f"{workload.name:4} {name:15} {text}", flush=True)


def build_chains() -> list[dict[str, float]]:
    """What long chains cost to build, in a process of its own."""
    command = [sys.executable, str(TREE / "benchmarks" / "building.py"), *map(str, LENGTHS)]
    ended = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    found: list[dict[str, float]] = json.loads(ended.stdout)
    return found


def measure(given: argparse.Namespace) -> bool:
    """Measure what the command line names, keeping what is there of other parts."""
    results = read_results(given.results)
    course = Course(
        tuple(sorted(given.threads)), given.rounds, given.starts, given.patience, FOLDER
    )
    everyone = list(contenders(given.frameworks, results))
    right = True
    for name in given.workloads:
        right = compare(BY_NAME[name], everyone, course, results) and right
        results.date, results.machine = f"{datetime.now(UTC):%Y-%m-%d}", machine()
        results.write(given.results)
    if not given.no_building:
        results.building = build_chains()
        results.write(given.results)
    return right


def main() -> int:
    """Measure, print, report; 1 where a loss or a gradient is wrong, or gradc fails."""
    given = arguments()
    right = given.measure_nothing or measure(given)
    results = read_results(given.results)
    print(tables(results))
    if given.report:
        write_report(results, TREE / "docs")
    return 0 if right else 1


if __name__ == "__main__":
    sys.exit(main())
