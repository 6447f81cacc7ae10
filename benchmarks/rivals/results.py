"""What was measured, as it is kept in a file of JSON."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from rivals.frameworks import OURS

Times = dict[str, dict[str, dict[str, dict[str, float]]]]
"""By workload, threads and contender: the median time of a step and the spread of its rounds."""


@dataclass
class Results:
    """All results, by workload and contender; a part that is measured anew replaces the old one."""

    date: str = ""
    machine: dict[str, str] = field(default_factory=dict)
    versions: dict[str, str] = field(default_factory=dict)
    left_out: dict[str, str] = field(default_factory=dict)
    checks: dict[str, dict[str, dict[str, Any]]] = field(default_factory=dict)
    starts: dict[str, dict[str, dict[str, float]]] = field(default_factory=dict)
    steps: Times = field(default_factory=dict)
    failures: dict[str, dict[str, str]] = field(default_factory=dict)
    building: list[dict[str, Any]] = field(default_factory=list)

    def forget(self, workload: str, contenders: set[str], threads: Iterable[int]) -> None:
        """Drop what is known of these contenders in a workload, with so many threads."""
        parts: list[dict[str, Any]] = [self.checks, self.starts, self.failures]
        places: list[dict[str, Any]] = [part.get(workload, {}) for part in parts]
        steps = self.steps.get(workload, {})
        places += [steps.get(str(each), {}) for each in threads]
        for place in places:
            for contender in contenders & set(place):
                del place[contender]

    def write(self, path: Path) -> None:
        """Write the file, whole."""
        path.parent.mkdir(parents=True, exist_ok=True)
        staged = path.with_suffix(".part")
        staged.write_text(json.dumps(rounded(asdict(self)), indent=1) + "\n", encoding="utf-8")
        staged.replace(path)


def read_results(path: Path) -> Results:
    """The results in a file; none where there is no file."""
    if not path.exists():
        return Results()
    return Results(**json.loads(path.read_text(encoding="utf-8")))


def rounded(value: Any) -> Any:
    """The same with four digits of each number: more are noise."""
    if isinstance(value, dict):
        return {name: rounded(each) for name, each in value.items()}
    if isinstance(value, list):
        return [rounded(each) for each in value]
    return float(f"{value:.4g}") if isinstance(value, float) else value


def is_ours(contender: str) -> bool:
    """Whether it is gradc."""
    return contender.split()[0] == OURS


@dataclass(frozen=True)
class Ratio:
    """The median step of a contender, in those of the best of the others."""

    workload: str
    contender: str
    value: float
    best: str
    best_time: float


def ratios(results: Results, threads: int) -> list[Ratio]:
    """Of every contender in every workload in which there is another than gradc."""
    found = []
    for workload, by_threads in results.steps.items():
        medians = {name: each["median"] for name, each in by_threads.get(str(threads), {}).items()}
        others = {name: each for name, each in medians.items() if not is_ours(name)}
        if not others:
            continue
        best = min(others, key=others.__getitem__)
        found += [
            Ratio(workload, name, each / others[best], best, others[best])
            for name, each in medians.items()
        ]
    return found


def geometric_mean(values: Iterable[float]) -> float:
    """exp of the mean of logarithms; nan of nothing."""
    logarithms = [math.log(each) for each in values]
    return math.exp(sum(logarithms) / len(logarithms)) if logarithms else math.nan
