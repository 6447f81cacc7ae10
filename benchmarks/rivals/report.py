"""The results as tables and as the page docs/performance.md, by templates."""

from __future__ import annotations

import json
import statistics
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from rivals.chart import chart
from rivals.frameworks import FRAMEWORKS
from rivals.results import Results, geometric_mean, is_ours, ratios, rounded
from rivals.workloads import BY_NAME

PAGE, CHART, DATA = "performance.md", "performance.svg", "performance.json"
NOTHING = "–"


@dataclass(frozen=True)
class Table:
    """A table as text."""

    title: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def contenders(results: Results) -> list[str]:
    """All that ran anything, gradc first."""
    names = [f"{each.name} {variant}" for each in FRAMEWORKS for variant in each.variants]
    ran = {name for part in results.starts.values() for name in part}
    ran |= {name for part in results.steps.values() for each in part.values() for name in each}
    return [name for name in names if name in ran]


def short(value: float) -> str:
    """Three digits at most."""
    return f"{value:.2f}" if value < 10 else f"{value:.1f}" if value < 100 else f"{value:.0f}"


def seconds(value: float) -> str:
    """With a unit that fits."""
    for unit, size in (("s", 1.0), ("ms", 1e-3)):
        if value >= size:
            return f"{value / size:.3g} {unit}"
    return f"{value / 1e-6:.3g} µs"


def step_table(results: Results, threads: int) -> Table:
    """Ratios to the best other framework, and their geometric means."""
    title = f"Training steps, {threads} thread" + ("s" if threads > 1 else "")
    names = contenders(results)
    found = {(each.workload, each.contender): each for each in ratios(results, threads)}
    rows = []
    for workload in _ordered({each for each, _ in found}):
        of_workload = {name: found.get((workload, name)) for name in names}
        one = next(each for each in of_workload.values() if each)
        cells = [short(each.value) if each else NOTHING for each in of_workload.values()]
        rows.append((workload, one.best, seconds(one.best_time), *cells))
    if not rows:
        return Table(title, (), ())
    means = []
    for name in names:
        values = [each.value for each in found.values() if each.contender == name]
        means.append(f"**{short(geometric_mean(values))}**" if values and is_ours(name) else "")
    rows.append(("geometric mean", "", "", *means))
    return Table(title, ("workload", "best other", "its step", *names), tuple(rows))


def start_table(results: Results) -> Table:
    """First steps in fresh processes, from an empty and from a filled cache."""

    def cell(start: dict[str, float]) -> str:
        return f"{short(start['cold'])} / {short(start['warm'])}"

    return _by_contender(
        "First step of a process in seconds, import included: empty / filled cache",
        results,
        cell,
    )


def memory_table(results: Results) -> Table:
    """Resident memory of the processes that started from a filled cache."""
    title = "Largest resident memory in MB, started from a filled cache"
    return _by_contender(title, results, lambda start: f"{start['peak'] / 1e6:.0f}")


def _by_contender(title: str, results: Results, cell: Callable[[dict[str, float]], str]) -> Table:
    names = contenders(results)
    rows = []
    for workload in _ordered(results.starts):
        part = results.starts[workload]
        whole = [part.get(name, {}) for name in names]
        rows.append((workload, *(cell(each) if "warm" in each else NOTHING for each in whole)))
    return Table(title, ("workload", *names), tuple(rows))


def check_table(results: Results) -> Table:
    """The largest relative error of a gradient."""
    names = contenders(results)
    rows = []
    for workload in _ordered(results.checks):
        part = results.checks[workload]
        cells = [f"{part[name]['gradient']:.0e}" if name in part else NOTHING for name in names]
        rows.append((workload, f"{BY_NAME[workload].tolerance:.0e}", *cells))
    title = "Largest relative error of the gradient of a parameter"
    return Table(title, ("workload", "allowed", *names), tuple(rows))


def building_table(results: Results) -> Table:
    """What chains of operators cost before they run."""
    phases = ("record", "differentiate", "generate", "compile")
    rows = [
        (
            str(each["chain"]),
            str(each["operators"]),
            *(seconds(each[phase]) for phase in phases),
            f"{each['source'] / 1000:.0f} kB",
        )
        for each in results.building
    ]
    title = "Chains of elementwise operators with their gradients, before they run"
    return Table(title, ("chain", "operators", *phases, "C text"), tuple(rows))


def all_tables(results: Results) -> list[Table]:
    """Those that have rows."""
    threads = sorted({int(each) for part in results.steps.values() for each in part})
    made = [
        *(step_table(results, each) for each in threads),
        start_table(results),
        memory_table(results),
        check_table(results),
        building_table(results),
    ]
    return [each for each in made if each.rows]


def _ordered(names: Iterable[str]) -> list[str]:
    chosen = set(names)
    return [name for name in BY_NAME if name in chosen]


def _rendered(template: str, **values: object) -> str:
    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent / "templates"),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,
    )
    return environment.get_template(template).render(**values)


def spread(results: Results) -> str:
    """How far apart the quartiles of the rounds are, in the median over all figures."""
    found = [
        each["spread"]
        for by_threads in results.steps.values()
        for part in by_threads.values()
        for each in part.values()
    ]
    return f"{100 * statistics.median(found):.0f} %" if found else NOTHING


def tables(results: Results) -> str:
    """All tables, as Markdown."""
    return _rendered("tables.md.j2", tables=all_tables(results))


def page(results: Results) -> str:
    """docs/performance.md."""
    titles = [(each.name, each.title) for each in BY_NAME.values()]
    left_out = [
        (f"{framework.name} {variant}", workload, reason)
        for framework in FRAMEWORKS
        for (variant, workload), reason in framework.left_out.items()
        if framework.name in results.versions
    ]
    left_out += [
        (contender, workload, reason)
        for workload, part in results.failures.items()
        for contender, reason in part.items()
    ]
    measured = {
        contender
        for by_threads in results.steps.values()
        for part in by_threads.values()
        for contender in part
    }
    left_out += [
        (f"{framework.name} {variant}", "all workloads", "not measured this time")
        for framework in FRAMEWORKS
        for variant in framework.variants
        if framework.name not in results.left_out and f"{framework.name} {variant}" not in measured
    ]
    return _rendered(
        "performance.md.j2",
        results=results,
        tables=all_tables(results),
        titles=titles,
        left_out=left_out,
        chart=CHART,
        spread=spread(results),
    )


def picture(results: Results) -> str:
    """docs/performance.svg."""
    return _rendered("ratios.svg.j2", chart=chart(results))


def write_report(results: Results, docs: Path) -> None:
    """Write the page, its picture and the results that they show."""
    (docs / DATA).write_text(json.dumps(rounded(asdict(results)), indent=1) + "\n", "utf-8")
    (docs / PAGE).write_text(page(results), "utf-8")
    (docs / CHART).write_text(picture(results), "utf-8")
