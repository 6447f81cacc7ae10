"""What a repeat of a training loop costs besides running programs: it walks no graph."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from figure import Figure, microseconds
from gradc.runtime.program import program_counts
from gradc.tracer.buffer import Buffer
from gradc.tracer.evaluation import forget_programs
from gradc.tracer.evaluator import Executable, current_evaluator, set_evaluator
from gradc.tracer.graph import Graph
from gradc.tracer.recording import STATISTICS

import gradc
import gradc.functional as F
import gradc.module as M
import gradc.optimizer as optim
from gradc.autodiff import GradManager


class IdleEvaluator:
    """Gives outputs without computing them, so that all else can be measured."""

    def prepare(self, graph: Graph) -> Executable:
        """What gives the same buffers at every call."""
        outputs = [Buffer(each.type.nbytes) for each in graph.outputs]

        def run(
            inputs: Sequence[Buffer], floats: Sequence[float], ints: Sequence[int]
        ) -> list[Buffer]:
            return list(outputs)

        return run


def training_step() -> Callable[[], None]:
    """A step of the loop in examples/digits.py, on random images."""
    random = np.random.default_rng(0)
    x = gradc.tensor(random.random((32, 64), np.float32))
    y = gradc.tensor(random.integers(0, 10, 32))
    network = M.Sequential(M.Linear(64, 64), M.ReLU(), M.Linear(64, 10))
    gm = GradManager().attach(network.parameters())
    optimizer = optim.Adam(network.parameters(), lr=1e-3)

    def step() -> None:
        with gm:
            gm.backward(F.cross_entropy(network(x), y))
        optimizer.step().clear_grad()

    return step


def repeats() -> list[Figure]:
    """What iterations 3 to 100 add to the counters."""
    step = training_step()
    step()
    step()
    STATISTICS.reset()
    before = program_counts()
    for _ in range(98):
        step()
    walked = STATISTICS.recorded + STATISTICS.adjoints + STATISTICS.prepared
    walked += STATISTICS.evaluations - STATISTICS.identity_hits
    built = sum(program_counts().values()) - sum(before.values())
    return [
        Figure("steps 3 to 100: graphs recorded, derived, prepared, searched", walked, "", 0),
        Figure("steps 3 to 100: programs built or loaded", built, "", 0),
        Figure("steps 3 to 100: programs run per step", STATISTICS.evaluations / 98, "", 2),
    ]


def chain(length: int) -> Callable[[], None]:
    """A step with `length` operators, and its backward."""
    x = gradc.Parameter([1.0, 2.0])
    gm = GradManager().attach(x)

    def step() -> None:
        with gm:
            y = x
            for _ in range(length):
                y = y * x
            gm.backward(y)
        x.grad = None

    return step


def costs() -> list[Figure]:
    """Time per operator and per step, with an evaluator that costs nothing."""
    evaluator = current_evaluator()
    set_evaluator(IdleEvaluator())
    forget_programs()
    try:
        few, many, whole = chain(10), chain(210), training_step()
        for step in (few, many, whole):
            step()
        short, long = microseconds(few, 500), microseconds(many, 100)
        digits = microseconds(whole, 300)
    finally:
        set_evaluator(evaluator)
        forget_programs()
    operator = (long - short) / 200
    return [
        Figure("recording an operator", operator, "us", 1.0),
        Figure(
            "recording a step with its backward, without operators", short - 10 * operator, "us", 15
        ),
        Figure("a whole digits step with Adam, without running programs", digits, "us"),
    ]


def figures() -> list[Figure]:
    """All figures of this file."""
    return [
        *repeats(),
        *costs(),
        Figure("a whole digits step", microseconds(training_step(), 300), "us"),
    ]
