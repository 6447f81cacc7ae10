"""Passes end: what would go on for ever is an error that says so."""

import pytest
from contract.compute import leaf
from gradc.codegen import lower, simplify
from gradc.codegen.budget import Budget
from gradc.codegen.lower import Lowering, axes_of
from gradc.codegen.simplify import simplified
from gradc.tracer.dtypes import float64
from gradc.tracer.ir import Node
from gradc.tracer.ops import elementwise as e
from graphs.build import graph_of
from graphs.loops import LOOPS
from graphs.named import EVERY

X = leaf(0, (6,), float64)


def test_a_budget_is_what_may_be_spent() -> None:
    budget = Budget("counting", 3)
    budget.spend(2)
    budget.spend()
    with pytest.raises(AssertionError, match="counting does not end: more than 3 steps"):
        budget.spend()


def turned(made: Node) -> Node | None:
    """sin for cos and cos for sin: a rule that never stops to fit."""
    return (e.cos if made.op is e.sin else e.sin)(*made.inputs)


def larger(made: Node) -> Node | None:
    """A rule that makes ever more nodes, none of them the same."""
    return e.sin(made) if made.op is e.sin else None


@pytest.mark.parametrize("rule", [turned, larger])
def test_rules_that_go_on_for_ever(monkeypatch: pytest.MonkeyPatch, rule: simplify.Rule) -> None:
    only = {e.sin: (rule,), e.cos: (turned,)}
    monkeypatch.setattr(simplify, "_rules_for", lambda op: only.get(op, ()))
    with pytest.raises(AssertionError, match="simplification does not end"):
        simplified(graph_of(e.sin(X) + 1.0))


def test_rules_that_make_too_much(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(simplify, "MOST_REWRITES", 0)
    with pytest.raises(AssertionError, match="simplification does not end: more than 0 steps"):
        simplified(graph_of(X + 0.0 - 0.0))


def test_elements_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lower, "MOST_ELEMENTS", 3)
    chain = e.sin(e.cos(e.exp(e.sin(X))))
    with pytest.raises(AssertionError, match="lowering does not end"):
        Lowering({X}).element(chain, axes_of(chain.shape)[1])


def test_no_graph_comes_near_the_budgets(monkeypatch: pytest.MonkeyPatch) -> None:
    """A tenth of them is more than any graph of the tests takes."""
    monkeypatch.setattr(simplify, "MOST_REWRITES", simplify.MOST_REWRITES // 10)
    monkeypatch.setattr(simplify, "MOST_IN_TURN", simplify.MOST_IN_TURN // 10)
    for make in (*EVERY.values(), *LOOPS.values()):
        simplified(make())
