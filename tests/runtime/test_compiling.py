"""Where no program can be had, the interpreter answers, with one warning."""

import numpy as np
import pytest
from contract.compute import leaf
from gradc.codegen import pipeline
from gradc.codegen.plan import Plan, plan
from gradc.runtime.compiling import CompilerWarning, CompilingEvaluator
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
    with pytest.warns(CompilerWarning, match="an error in gradc: .* share bytes"):
        run = evaluator.compiled(graph)
    (found,) = run([Buffer.copied(x), Buffer.copied(y)], [], [])
    np.testing.assert_allclose(
        found.array(float32, (8, 8)), np.exp(x) @ np.sin(y) + np.cos(x * 3.25), 1e-5
    )
