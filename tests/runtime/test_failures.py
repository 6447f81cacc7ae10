"""Whatever a pass raises, the user gets results, one warning, and a program that shows it again."""

import itertools
import subprocess
import sys
import warnings
from collections.abc import Callable
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from contract.compute import leaf
from gradc.codegen import pipeline
from gradc.runtime import failures
from gradc.runtime.compiling import CompilerWarning, CompilingEvaluator, TranslationWarning
from gradc.tracer.buffer import Buffer
from gradc.tracer.dtypes import float64
from gradc.tracer.evaluator import current_evaluator, set_evaluator
from gradc.tracer.ops import elementwise as e
from graphs.build import graph_of

import gradc
import gradc.functional as F
from gradc import jit
from gradc.autodiff import GradManager

PASSES = (
    "images", "replaced", "rolled", "grouped", "program_of", "plan", "require_sound",
    "require_apart", "render", "_places",
)  # fmt: skip
"""Every function that `translate` calls."""

ERRORS = (
    KeyError("mul"),
    AssertionError(),
    RecursionError("deep"),
    MemoryError(),
    OSError(2, "no"),
)


@contextmanager
def failing(monkeypatch: pytest.MonkeyPatch, name: str, error: Exception) -> Any:
    """The warnings within, while the pass `name` raises; how often that was is its second."""
    calls: list[str] = []

    def broken(*_: Any, **__: Any) -> Any:
        calls.append(name)
        raise error

    before = current_evaluator()
    set_evaluator(CompilingEvaluator(first_sight=False))
    with monkeypatch.context() as patch, warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("ignore")  # that one line builds many programs
        warnings.simplefilter("always", CompilerWarning)
        patch.setattr(pipeline, name, broken)
        yield told, calls
    set_evaluator(before)


def value_slope_and_curvature(size: int) -> list[float]:
    """Of x^2 e^x at 0.5, for `size` equal elements: each size has graphs of its own."""
    x = gradc.Tensor([0.5] * size, dtype="float64")
    outer, inner = GradManager().attach(x), GradManager().attach(x)
    with outer:
        with inner:
            y = F.sum(x * x * F.exp(x))
            inner.backward(y)
        slope, x.grad = x.grad, None
        outer.backward(F.sum(slope))
    return [y.item() / size, slope.numpy()[0], x.grad.numpy()[-1]]


EXACT = [0.25 * np.exp(0.5), 1.25 * np.exp(0.5), 4.25 * np.exp(0.5)]


def test_every_pass_may_fail(monkeypatch: pytest.MonkeyPatch) -> None:
    for size, (name, error) in enumerate(itertools.product(PASSES, ERRORS), 100):
        case = f"{name} {error!r}"
        with failing(monkeypatch, name, error) as (told, calls):
            np.testing.assert_allclose(value_slope_and_curvature(size), EXACT, 1e-12)
        assert calls, case
        assert [each.category for each in told] == [TranslationWarning], case
        message = str(told[0].message)
        assert f"an error in gradc: {type(error).__name__}" in message, case
        assert Path(message.rpartition(": ")[2]).is_file(), case


def test_under_a_trace(monkeypatch: pytest.MonkeyPatch) -> None:
    for size, name in enumerate(PASSES, 2):
        x = gradc.Parameter([0.5] * size)
        gm = GradManager().attach(x)

        @jit.trace
        def step(y: Any, x: Any = x, gm: Any = gm) -> Any:
            with gm:
                loss = F.sum(F.exp(x) * y)
                gm.backward(loss)
            slope, x.grad = x.grad, None
            return loss, slope

        with failing(monkeypatch, name, KeyError("mul")) as (told, calls):
            for factor in (1.0, 2.0, 3.0):
                loss, slope = step(gradc.tensor([factor] * size))
                expected = np.full(size, np.exp(0.5) * factor)
                np.testing.assert_allclose(slope.numpy(), expected, 1e-6)
                np.testing.assert_allclose(loss.item(), expected.sum(), 1e-6)
        assert [each.category for each in told] == [TranslationWarning], name
        assert len(calls) <= 2, name


def test_what_has_failed_is_not_tried_at_every_call(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = graph_of(e.exp(leaf(0, (3,), float64)) * 1.75)
    with failing(monkeypatch, "plan", KeyError("mul")) as (told, calls):
        evaluator = CompilingEvaluator(first_sight=False)
        for _ in range(4):
            (found,) = evaluator.prepare(graph)([Buffer.copied(np.zeros(3))], [], [])
            assert found.array(float64, (3,)).tolist() == [1.75] * 3
    assert (len(told), len(calls)) == (1, 1)


def test_two_kinds_of_failure_are_two_warnings(monkeypatch: pytest.MonkeyPatch) -> None:
    graphs = [graph_of(e.exp(leaf(0, (3,), float64)) * factor) for factor in (1.25, 2.25, 3.25)]
    evaluator = CompilingEvaluator(first_sight=False)
    kinds = []
    for graph, error in zip(graphs, (KeyError("a"), KeyError("b"), IndexError("c")), strict=True):
        with failing(monkeypatch, "plan", error) as (told, _):
            evaluator.compiled(graph)
        kinds.append(len(told))
    assert kinds == [1, 0, 1]


def test_memory_that_ran_out_is_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = graph_of(e.exp(leaf(0, (3,), float64)) * 0.125)
    evaluator = CompilingEvaluator(first_sight=False)
    with failing(monkeypatch, "plan", MemoryError()) as (told, _):
        evaluator.compiled(graph)
    assert len(told) == 1
    made = evaluator.compiled(graph)
    assert type(made).__name__ == "Program"


def test_the_kept_program_fails_in_the_same_way(monkeypatch: pytest.MonkeyPatch) -> None:
    """It has the whole graph; here it is compiled, since the pass is whole again."""
    graph = graph_of(e.exp(leaf(0, (3,), float64)) * 0.375)
    error = KeyError('"""\\" of {braces}')
    with failing(monkeypatch, "rolled", error) as (told, _):
        CompilingEvaluator(first_sight=False).compiled(graph)
    path = Path(str(told[0].message).rpartition(": ")[2])
    assert path.parts[-3] == "failed"
    run: Callable[..., Any] = subprocess.run
    done = run([sys.executable, "-P", str(path)], capture_output=True, text=True, check=True)
    assert "0.375" in done.stdout
    assert "exp(" in done.stdout
    path.write_text(f"import gradc.codegen.pipeline as p\ndel p.rolled\n{path.read_text()}")
    done = run([sys.executable, "-P", str(path)], capture_output=True, text=True, check=False)
    assert done.returncode == 1 and "NameError" in done.stderr


def test_a_cache_that_takes_nothing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The file lies in a folder of its own, which stays; where there is none, it is not named."""
    graph = graph_of(e.exp(leaf(0, (3,), float64)) * 0.625)
    error = failures.TranslationError(graph, KeyError("mul"))
    blocked = tmp_path / "file"
    blocked.write_text("")
    monkeypatch.setenv("GRADC_CACHE_DIR", str(blocked))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    path = error.keep()
    assert path is not None and path.parent.parent == tmp_path
    assert "parse(GRAPH" in path.read_text()
    monkeypatch.setattr("tempfile.tempdir", str(blocked))
    assert error.keep() is None
