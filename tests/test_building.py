"""What chains of operators cost to build: the benchmark measures phases, and leaves no traces."""

import os

import building
from gradc.tracer.evaluator import current_evaluator

import gradc


def test_phases_are_measured_and_nothing_stays():
    evaluator, cache = current_evaluator(), os.environ["GRADC_CACHE_DIR"]
    alike, longer, mixed, twice = building.measured([40, 80])
    assert (alike.chain, alike.operators, mixed.chain, twice.operators) == (
        "alike",
        40,
        "mixed",
        80,
    )
    for each in (alike, longer, mixed, twice):
        assert min(each.record, each.differentiate, each.generate, each.compile) > 0
        assert each.compile > each.record
    assert twice.source > mixed.source > 10_000  # the prelude is a part of it
    assert current_evaluator() is evaluator
    assert os.environ["GRADC_CACHE_DIR"] == cache
    assert float(gradc.tensor([2.0]).sum()) == 2


def test_figures_name_all_phases(monkeypatch):
    costs = building.Costs("alike", 100, 0.001, 0.002, 0.25, 0.5, 4000)
    monkeypatch.setattr(building, "measured", lambda lengths: [costs] if lengths == [100] else [])
    found = building.figures()
    assert [each.measured for each in found] == [1, 2, 250, 500, 4]
    assert [each.name.rpartition(" ")[2] for each in found] == [
        *("record", "differentiate", "generate", "compile", "source")
    ]
