"""Programs of many steps: kernels are bounded, and the text grows no faster than the steps."""

import growth
import numpy as np
import pytest
from gradc.codegen.cluster import MOST_ARGUMENTS
from gradc.codegen.kernel import Kernel, flat
from gradc.codegen.pipeline import translate
from gradc.codegen.target import C
from gradc.tracer.evaluation import forget_programs
from gradc.tracer.evaluator import InterpretingEvaluator, current_evaluator, set_evaluator

FEW = 60
SMALL = ("rnn", "lstm", "stored recursion", "maximum of parts", "many results", "split and stacked")
MOST_GROWTH = 12
"""Times the text of four times as many steps: 4 where it grows evenly, more where a single kernel
becomes several, 16 where it grows with the square."""

SLACK = 4
"""Arguments beside what items read and write: what is kept of a row, and shares of sums."""


class Translating(InterpretingEvaluator):
    """Interprets graphs, and notes the kernels and the length of the text that they would be."""

    def __init__(self):
        self.kernels, self.text = [], 0

    def prepare(self, graph):
        made = translate(graph, C, verify=True)
        self.text += len(made.source.text)
        self.kernels += [k for k, _ in flat(made.program.launches) if isinstance(k, Kernel)]
        return super().prepare(graph)


def run(shape, steps, evaluator):
    """The values of a shape of `growth`, computed by `evaluator`."""
    before = current_evaluator()
    forget_programs()
    set_evaluator(evaluator)
    try:
        return growth.SHAPES[shape](steps)
    finally:
        set_evaluator(before)
        forget_programs()


def run_text(shape, steps):
    """The length of the text, and the most arguments of one kernel."""
    noted = Translating()
    run(shape, steps, noted)
    return noted.text, max((len(each.arguments) for each in noted.kernels), default=0)


def test_kernels_are_bounded_and_text_grows_with_steps():
    head, _ = run_text("stored recursion", 1)
    wrong = []
    for shape in growth.SHAPES:
        few, _ = run_text(shape, FEW)
        many, arguments = run_text(shape, 4 * FEW)
        if arguments > MOST_ARGUMENTS + SLACK:
            wrong.append(f"{shape}: {arguments} arguments")
        if many - head > MOST_GROWTH * max(few - head, head / 4):
            wrong.append(f"{shape}: {few} bytes of text became {many}")
    assert not wrong


@pytest.mark.parametrize("shape, steps", [("masked chain", 220), ("sum of broadcasts", 100)])
def test_values_of_programs_that_are_cut_are_right(shape, steps):
    interpreted = run(shape, steps, InterpretingEvaluator())
    compiled = growth.SHAPES[shape](steps)
    for found, right in zip(compiled, interpreted, strict=True):
        np.testing.assert_allclose(found, right, rtol=2e-3, atol=1e-5)


def test_many_small_values_are_right():
    for shape in (
        "rnn",
        "stored recursion",
        "maximum of parts",
        "many results",
        "split and stacked",
    ):
        interpreted = run(shape, 70, InterpretingEvaluator())
        compiled = growth.SHAPES[shape](70)
        for found, right in zip(compiled, interpreted, strict=True):
            np.testing.assert_allclose(found, right, rtol=1e-4, atol=1e-5, err_msg=shape)
