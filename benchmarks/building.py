"""What a chain of operators and its adjoint cost before they run.

python benchmarks/building.py [LENGTH ...]    prints what was measured as JSON
"""

from __future__ import annotations

import json
import os
import random
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from figure import Figure
from gradc.codegen.pipeline import translate
from gradc.codegen.target import C
from gradc.runtime.build import build
from gradc.runtime.cache import open_cache
from gradc.runtime.toolchain import find_toolchain
from gradc.tracer.buffer import Buffer
from gradc.tracer.evaluation import forget_programs
from gradc.tracer.evaluator import Executable, current_evaluator, set_evaluator
from gradc.tracer.graph import Graph

import gradc
import gradc.functional as F
from gradc.autodiff import GradManager

ELEMENTS = 1000
LENGTH = 100
PATIENCE = 3600.0  # seconds: it is the time of compiling that is asked for


@dataclass
class Costs:
    """Seconds by phase, for a chain of so many operators, and the bytes of its C text."""

    chain: str
    operators: int
    record: float = 0.0
    differentiate: float = 0.0
    generate: float = 0.0
    compile: float = 0.0
    source: int = 0


class BuildingEvaluator:
    """Translates and builds the graph that it is handed, and notes when; it computes nothing."""

    def __init__(self) -> None:
        self.translated = self.built = 0.0
        self.source = 0

    def prepare(self, graph: Graph) -> Executable:
        """What gives outputs with arbitrary contents."""
        store = open_cache()
        toolchain = find_toolchain(store)
        made = translate(graph, C, verify=True)
        self.source = len(made.source.text)
        self.translated = time.perf_counter()
        build(made.source.text, toolchain, store, timeout=PATIENCE)
        self.built = time.perf_counter()
        outputs = [Buffer(each.type.nbytes) for each in graph.outputs]

        def run(
            inputs: Sequence[Buffer], floats: Sequence[float], ints: Sequence[int]
        ) -> list[Buffer]:
            return outputs

        return run


Chain = Callable[[Any, Any, int], Any]


def alike(x: Any, w: Any, operators: int) -> Any:
    """Four operators again and again: found as a loop."""
    for _ in range(operators // 4):
        x = F.tanh(x * 1.001 + 0.01) * w
    return x


def mixed(x: Any, w: Any, operators: int) -> Any:
    """Operators in an order that does not repeat itself."""
    choose = random.Random(0)
    steps: list[Callable[[Any], Any]] = [
        F.tanh,
        F.sin,
        F.sigmoid,
        lambda x: x * w,
        lambda x: x + w,
        lambda x: w - x,
    ]
    for _ in range(operators):
        x = choose.choice(steps)(x)
    return x


CHAINS: dict[str, Chain] = {"alike": alike, "mixed": mixed}


def costs(name: str, operators: int) -> Costs:
    """What the chain and its gradient cost, with an empty cache."""
    made = Costs(name, operators)
    x = gradc.Parameter(np.linspace(-1, 1, ELEMENTS, dtype="float32"))
    w = gradc.tensor(np.linspace(0.9, 1.1, ELEMENTS, dtype="float32"))
    before, evaluator = current_evaluator(), BuildingEvaluator()
    set_evaluator(evaluator)
    forget_programs()
    find_toolchain(open_cache())  # it asks the compiler once
    try:
        with GradManager(), GradManager().attach(x) as gm:  # the outer one keeps all from running
            begun = time.perf_counter()
            y = F.mean(CHAINS[name](x, w, operators))
            recorded = time.perf_counter()
            gm.backward(y)
            derived = time.perf_counter()
            x.grad.numpy()
    finally:
        set_evaluator(before)
        forget_programs()
    made.record, made.differentiate = recorded - begun, derived - recorded
    made.generate = evaluator.translated - derived
    made.compile = evaluator.built - evaluator.translated
    made.source = evaluator.source
    return made


def measured(lengths: Sequence[int]) -> list[Costs]:
    """The costs of both chains at these lengths."""
    before = os.environ.get("GRADC_CACHE_DIR")
    try:
        with TemporaryDirectory() as folder:
            os.environ["GRADC_CACHE_DIR"] = folder
            costs("mixed", 8)  # the modules are loaded
            return [costs(name, length) for name in CHAINS for length in lengths]
    finally:
        os.environ.pop("GRADC_CACHE_DIR")
        os.environ |= {} if before is None else {"GRADC_CACHE_DIR": before}


def figures() -> list[Figure]:
    """All figures of this file."""
    made = []
    for each in measured([LENGTH]):
        title = f"a chain of {each.operators} operators ({each.chain}) with its gradient"
        made += [
            Figure(f"{title}: record", 1000 * each.record, "ms"),
            Figure(f"{title}: differentiate", 1000 * each.differentiate, "ms"),
            Figure(f"{title}: generate", 1000 * each.generate, "ms"),
            Figure(f"{title}: compile", 1000 * each.compile, "ms"),
            Figure(f"{title}: source", each.source / 1000, "kB"),
        ]
    return made


if __name__ == "__main__":
    print(json.dumps([asdict(each) for each in measured([int(each) for each in sys.argv[1:]])]))
