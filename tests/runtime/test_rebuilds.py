"""Loops that build ever new programs get one warning, which names the line and what changes."""

import re
import warnings

import numpy as np
import pytest
from gradc.runtime import compiling
from gradc.runtime.compiling import CompilingEvaluator
from gradc.runtime.rebuilds import MANY, Rebuilds, RebuildWarning, difference
from gradc.tracer.evaluation import forget_programs
from gradc.tracer.evaluator import InterpretingEvaluator, current_evaluator, set_evaluator
from gradc.tracer.graph import canonical

import gradc
import gradc.functional as F
from gradc.autodiff import GradManager
from gradc.jit import RetraceWarning, trace


@pytest.fixture(autouse=True)
def interpreted(request, monkeypatch):
    """Nothing is built indeed, but for a test that says so."""
    monkeypatch.setattr(compiling, "REBUILDS", Rebuilds())
    forget_programs()
    if "built" in request.fixturenames:
        yield
        return
    monkeypatch.setattr(compiling, "load_program", InterpretingEvaluator().prepare)
    before = current_evaluator()
    set_evaluator(CompilingEvaluator(first_sight=False))
    yield
    set_evaluator(before)


@pytest.fixture
def built():
    """Programs are built indeed."""


def warned(function, count=3 * MANY):
    """What `function`, called with 1, 2, ..., warns of."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for k in range(1, count + 1):
            function(k)
    return [each for each in caught if each.category is RebuildWarning]


def numbers(*shape):
    return gradc.tensor(np.ones(shape, np.float32))


X = np.linspace(0.1, 2.0, 101).astype(np.float32)


def repeated(k):
    y = gradc.tensor(X)
    for _ in range(k):
        y = F.sin(y)
    return y.numpy()


def recurrent(x):
    """A loop over the first axis: as many steps, and operators, as that is long."""
    state = 0.0
    for each in x:
        state = F.tanh(each + 0.5 * state)
    return state


SEQUENCE = gradc.tensor(np.ones((50, 2, 3), np.float32))

CASES = {
    "slice": (
        lambda k: F.exp(gradc.tensor(X)[:k]).numpy(),
        r"in slice, sizes is \(12,\), not \(11,\)",
    ),
    "shape": (
        lambda k: F.exp(numbers(k, 2)).numpy(),
        r"the first extent of a tensor was 11, is 12: it has the shape \(12, 2\), not \(11, 2\)",
    ),
    "eps": (
        lambda k: F.layer_norm(gradc.tensor(X), 101, eps=k / 1024).numpy(),
        "a number in layer_norm is 0.01171875, not 0.0107421875",
    ),
    "exponent": (
        lambda k: F.norm(gradc.tensor(X), k + 2.5).numpy(),
        "in norm, exponent is 14.5, not 13.5",
    ),
    "axis": (lambda k: numbers(*[1] * k, 2).sum(k - 1).numpy(), "a tensor has the shape"),
    "steps": (repeated, r"sin is recorded 12 times, not 11 \(at .*test_rebuilds.py:\d+\)"),
    "length": (
        lambda k: recurrent(numbers(k, 2, 3)).numpy(),
        r"the first extent of a tensor was 12, is 13: it has the shape \(13, 2, 3\), not \(12,",
    ),
    "part": (
        lambda k: recurrent(SEQUENCE[:k]).numpy(),
        r"in slice, sizes is \(13, 2, 3\), not \(12, 2, 3\)",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_what_changes_is_named_once(name):
    function, expected = CASES[name]
    (warning,) = warned(function)
    assert re.search(expected, str(warning.message))
    line = function.__code__.co_firstlineno
    assert abs(warning.lineno - line) < 6
    assert warning.filename == __file__
    assert f"{__file__}:{warning.lineno} has built 12 programs in a row" in str(warning.message)


def test_a_training_loop_over_growing_batches():
    w = gradc.Parameter(np.ones((3, 2), np.float32))
    gm = GradManager().attach(w)

    def step(k):
        with gm:
            gm.backward(F.matmul(numbers(k, 3), w).sum())
        w.grad = None

    (warning,) = warned(step)
    told = re.search(r"it has the shape \((\d+), 3\), not \((\d+), 3\)", str(warning.message))
    assert told is not None
    assert int(told[1]) == int(told[2]) + 1


def test_what_repeats_is_not_warned_of():
    assert not warned(lambda k: F.exp(numbers(k % (MANY - 1) + 1)).numpy(), 100)


def test_numbers_and_places_are_not_warned_of():
    x = gradc.tensor(X)
    assert not warned(lambda k: (F.exp(x[k : k + 4]) * float(k) ** 0.3 + x[k] ** (k / 7)).numpy())


def test_other_code_at_the_same_line_is_not_warned_of():
    functions = [F.exp, F.sin, F.tanh, F.sqrt]
    assert not warned(lambda k: functions[k % 4](numbers(k)).numpy())


def test_a_prompt_is_not_warned_of():
    """Each program is made by lines of its own, though one line reads them all."""
    source = "made = F.exp(x[:{0}]).sum()" + " + 1.5"

    def show(k):
        names = {"F": F, "x": gradc.tensor(X)}
        exec(compile(source.format(k), f"<cell {k}>", "exec"), names)
        return names["made"].numpy()

    assert not warned(show)


def test_traces_warn_by_themselves():
    traced = trace(lambda x: F.exp(x))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for k in range(1, 30):
            traced(numbers(k)).numpy()
    assert [each.category for each in caught] == [RetraceWarning]


def test_programs_that_are_built(built):
    x = gradc.tensor(X)
    (warning,) = warned(lambda k: F.tanh(x[:k]).numpy(), MANY + 3)
    assert "in slice, sizes is (12,), not (11,)" in str(warning.message)


def graph_of(tensor):
    return canonical([tensor._node], {})[0]


def test_as_many_operators_of_other_leaves():
    """No counts are told that are the same."""
    x = gradc.tensor(X)
    found = difference(graph_of(F.sin(x) * 1.5 + x * 1.5), graph_of(F.sin(x) * 1.5 + x * 2.5))
    assert found == "it reads numbers (2), tensors (1), not numbers (1), tensors (1)"
    found = difference(graph_of(F.sin(x) * 0.25), graph_of(F.sin(x) * x))
    assert found == "it reads tensors (1), not numbers (1), tensors (1)"
    found = difference(graph_of(F.exp(F.sin(x))), graph_of(F.sin(F.exp(x))))
    assert found.startswith("operator exp stands where sin stood (at ")


def test_the_same_program_counts_once():
    """Threads that begin the same step together build its few programs again and again."""
    rebuilds = Rebuilds()
    x = gradc.tensor(X)
    graphs = [lambda k=k: graph_of(F.cos(F.tanh(x[: 50 + k]))) for k in range(MANY)]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for k in [*range(MANY - 1)] * 20 + [MANY - 1]:
            assert not caught
            rebuilds.note(graphs[k]())
    (warning,) = caught
    assert "has built 12 programs in a row" in str(warning.message)
