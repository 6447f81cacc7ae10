"""Where no program can be had, the interpreter answers, with one warning."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from contract.compute import leaf
from gradc.codegen import pipeline
from gradc.codegen.plan import Plan, plan
from gradc.runtime.compiling import CompilingEvaluator, TranslationWarning
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
