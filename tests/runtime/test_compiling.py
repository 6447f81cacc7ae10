"""Where no program can be had, the interpreter answers, with one warning."""

import errno
import os
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from contract.compute import leaf
from gradc.codegen import pipeline
from gradc.codegen.plan import Plan, plan
from gradc.runtime import compiling
from gradc.runtime.compiling import CompilerWarning, CompilingEvaluator, TranslationWarning
from gradc.runtime.program import program_counts
from gradc.runtime.toolchain import find_toolchain
from gradc.tracer.buffer import Buffer
from gradc.tracer.dtypes import float32
from gradc.tracer.ops import contraction
from gradc.tracer.ops import elementwise as e
from graphs.build import graph_of
from graphs.compiled import sample


def test_a_program_that_may_not_be_run_is_not_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """Here, all temporary values are put at one place."""

    def crowded(program: object) -> Plan:
        made = plan(program)  # type: ignore[arg-type]
        return Plan(dict.fromkeys(made.offsets, 0), made.nbytes)

    monkeypatch.setattr(pipeline, "plan", crowded)
    a, b = leaf(0, (8, 8), float32), leaf(1, (8, 8), float32)
    graph = graph_of(contraction.matmul(e.exp(a), e.sin(b)) + e.cos(a * 3.25))
    x, y = sample(graph)
    evaluator = CompilingEvaluator()
    with pytest.warns(TranslationWarning, match=r"an error in gradc: .* share bytes"):
        run = evaluator.compiled(graph)
    (found,) = run([Buffer.copied(x), Buffer.copied(y)], [], [])
    np.testing.assert_allclose(
        found.array(float32, (8, 8)), np.exp(x) @ np.sin(y) + np.cos(x * 3.25), 1e-5
    )


@pytest.mark.parametrize("failing", ["OWN_GEMM = gemm", "runtime->leave_blas = leave_blas"])
def test_a_support_library_that_cannot_be_built(
    start: Callable[..., Any], finish: Callable[..., str], tmp_path: Path, failing: str
) -> None:
    """What calls it is interpreted, as what cannot be built itself."""
    compiler = find_toolchain().command[0]
    wrapper = tmp_path / "wrapper"
    wrapper.write_text(
        f"#!/bin/sh\nif grep -qs '{failing}' source.c; then echo 'error: no luck' >&2; exit 1; fi\n"
        f'exec {compiler} "$@"\n'
    )
    wrapper.chmod(0o755)
    script = f"""
        import os, warnings
        os.environ["CC"], os.environ["GRADC_CACHE_DIR"] = {str(wrapper)!r}, {str(tmp_path)!r}
        import numpy as np
        import gradc
        import gradc.functional as F

        a = np.random.default_rng(0).random((90, 90)).astype(np.float32)
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            found = F.exp(F.matmul(gradc.tensor(a), gradc.tensor(a)) * 0.01).numpy()
        assert np.allclose(found, np.exp(a @ a * 0.01), 1e-5)
        print(*(each.category.__name__ for each in told), "no luck" in str(told[0].message))
    """
    assert finish(start(script)) == "CompilerWarning True\n"


def test_the_stamp_is_of_contents(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Names, sizes and times of two states of gradc may be equal; places do not matter."""

    def stamp_of(folder: Path, text: str) -> str:
        for name in ("tracer", "codegen", "templates/c"):
            file = folder / name / "file.h"
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
            os.utime(file, ns=(0, 0))

        def find_spec(name: str) -> Any:
            place = folder / name.rpartition(".")[2]
            return SimpleNamespace(submodule_search_locations=[str(place)])

        monkeypatch.setattr(compiling, "find_spec", find_spec)
        return str(compiling.stamp.__wrapped__()["gradc"])

    monkeypatch.setenv("GRADC_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(compiling, "SETTLED", -60.0)  # what was written now may be remembered
    first = stamp_of(tmp_path / "one", "0x1.5")
    assert first == stamp_of(tmp_path / "two", "0x1.5")
    assert first != stamp_of(tmp_path / "three", "0x1.7")
    time.sleep(0.02)  # the clock of files has steps
    assert first != stamp_of(tmp_path / "one", "0x1.7")
    documents = list((tmp_path / "cache").rglob("manifests/stamp/*/*.json"))
    assert len(documents) == 4


PASSING = {
    "no process": OSError(errno.EAGAIN, os.strerror(errno.EAGAIN)),
    "no file": OSError(errno.EMFILE, os.strerror(errno.EMFILE)),
    "no space": OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)),
    "no memory": MemoryError(),
    "no module": ImportError(f"library.so: {os.strerror(errno.EMFILE)}"),
}


@pytest.mark.parametrize("name", PASSING)
def test_what_passes_is_tried_again(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Interpreted meanwhile, with one warning for all programs, and compiled afterwards."""

    def refuse(_: object) -> Any:
        raise PASSING[name]

    x = np.linspace(0.0, 1.0, 40, dtype=np.float32)
    graphs = [graph_of(e.exp(leaf(0, (40,), float32)) * number) for number in (0.1, 0.2)]
    evaluator = CompilingEvaluator()
    with monkeypatch.context() as patch, pytest.warns(CompilerWarning) as told:
        patch.setattr(compiling, "load_program", refuse)
        runs = [evaluator.compiled(graph) for graph in graphs]
        for run in runs * 2:
            run([Buffer.copied(x)], [], [])
    assert len(told) == 1
    before = sum(program_counts().values())
    for _ in range(20):
        for run, number in zip(runs, (0.1, 0.2), strict=True):
            (found,) = run([Buffer.copied(x)], [], [])
            wanted = np.exp(x) * np.float32(number)
            np.testing.assert_allclose(found.array(float32, (40,)), wanted, 1e-6)
    assert sum(program_counts().values()) == before + 2


LIMITED = """
    import os, resource, threading, warnings
    import numpy as np, gradc, gradc.functional as F

    told, held = [], []
    warnings.showwarning = lambda message, *rest: told.append(str(message))

    def limit():
        {limit}

    def run(size):
        x = np.linspace(0, 1, size, dtype=np.float32)
        got = (F.exp(gradc.tensor(x)) * F.sin(gradc.tensor(x))).sum().item()
        assert abs(got / (np.exp(x) * np.sin(x)).sum() - 1) < 1e-5

    if {late}:
        run(7)
    limit()
    for size in (50, 50, 51):
        run(size)
    assert len(told) <= {told}, told
    for each in held:
        os.close(each)
    for _ in range(12):
        run(50)
    run(60)
    assert len(told) <= {told}, told
    root, found = os.environ["GRADC_CACHE_DIR"], gradc.programs()
    print(all(str(each.path).startswith(root) for each in found), len(found) >= 2)
"""
LIMITS = {
    "descriptors": (
        "resource.setrlimit(resource.RLIMIT_NOFILE, (64, 4096))"
        "; held.extend(os.dup(0) for _ in range(65 - len(os.listdir('/proc/self/fd'))))",
        1,
    ),
    "threads": ("threading.Thread.start = lambda self: exec('raise RuntimeError(\"limit\")')", 0),
}


@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="counts open files in /proc")
@pytest.mark.parametrize("late", [False, True])
@pytest.mark.parametrize("name", LIMITS)
def test_limits_of_the_process(
    start: Callable[..., Any],
    finish: Callable[..., str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    name: str,
    late: bool,
) -> None:
    """A right result, at most one warning, and the shared cache again afterwards."""
    monkeypatch.setenv("GRADC_CACHE_DIR", str(tmp_path))
    limit, told = LIMITS[name]
    assert finish(start(LIMITED.format(limit=limit, told=told, late=late))) == "True True\n"
