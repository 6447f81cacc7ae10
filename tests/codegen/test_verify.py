"""The verifier: sound programs pass, and each kind of fault is found and named."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from contract.cases import Case, cases
from contract.compute import leaf
from gradc.codegen.index import Axis, Index, constant, of_axis
from gradc.codegen.kernel import (
    Argument,
    Combine,
    Kernel,
    Let,
    Memory,
    Product,
    Program,
    Put,
    Stage,
)
from gradc.codegen.pipeline import translate
from gradc.codegen.plan import Plan
from gradc.codegen.program import program_of
from gradc.codegen.target import CUDA, C, Target
from gradc.codegen.verify import covers, require_sound, within
from gradc.tracer.dtypes import float64
from gradc.tracer.graph import Graph
from gradc.tracer.ops import OPS, contraction, movement, reduction
from gradc.tracer.ops import elementwise as e
from graphs.build import composed, graph_of
from graphs.named import EVERY, LARGER
from walk import walk

from gradc import functional as F

A, B, C_AXIS = Axis(0, 4), Axis(1, 5), Axis(2, 3)
i, j = of_axis(A), of_axis(B)


# ---- sound programs


@walk("target", [C, CUDA], ids=["c", "cuda"])
@walk("name", EVERY)
def test_known_graphs_are_sound(name: str, target: Target) -> None:
    translate(EVERY[name](), target, verify=True)


@walk("name", sorted(OPS))
def test_every_operator_is_sound(name: str) -> None:
    listed: list[Case] = [case for case in cases() if case.op == name]
    for case in listed:
        translate(case.graph(), C, verify=True)


# ---- faults

X = leaf(0, (40, 50))
ROWS = graph_of(e.sin(X - reduction.max(X, (1,))))
COLUMNS = graph_of(reduction.sum(leaf(0, (4000, 50)), (0,)))
CONVOLUTION = graph_of(
    composed(F.conv2d, leaf(0, (2, 3, 9, 16), float64), leaf(1, (4, 3, 3, 3), float64))
)
PRODUCT = graph_of(contraction.matmul(X, leaf(1, (50, 30))))

BESIDE = graph_of(
    reduction.sum(
        movement.concat(
            tuple(contraction.matmul(leaf(slot, (20, 5)), leaf(2, (5, 30))) for slot in range(2)), 0
        ),
        (0,),
    )
)

Change = Callable[[Program], Program]


def kernel_with(change: Callable[[Kernel], Kernel]) -> Change:
    """The first launch, a kernel, changed."""

    def changed(program: Program) -> Program:
        first, *others = program.launches
        assert isinstance(first, Kernel)
        return replace(program, launches=(change(first), *others))

    return changed


def part_moved(start: int) -> Change:
    """The second of two parts, at another place."""

    def changed(program: Program) -> Program:
        second = program.launches[1]
        assert isinstance(second, Product)
        part = second.memories[2]
        assert part.within is not None
        moved = replace(part, within=(part.within[0], start))
        memories = (*second.memories[:2], moved)
        launches = (program.launches[0], replace(second, memories=memories), *program.launches[2:])
        return replace(program, launches=launches)

    return changed


def stages_with(change: Callable[[Stage], Stage], at: int = -1) -> Change:
    """One stage of the first kernel, changed."""

    def changed(kernel: Kernel) -> Kernel:
        stages = list(kernel.stages)
        stages[at] = change(stages[at])
        return replace(kernel, stages=tuple(stages))

    return kernel_with(changed)


def puts_with(**changes: Any) -> Change:
    """The last statement of the body of the last stage, which is a Put, changed."""

    def changed(stage: Stage) -> Stage:
        *rest, put = stage.body
        assert isinstance(put, Put)
        return replace(stage, body=(*rest, replace(put, **changes)))

    return stages_with(changed)


def with_argument(written: bool, memory: Memory) -> Change:
    return kernel_with(
        lambda kernel: replace(
            kernel, arguments=(*kernel.arguments, Argument("z", memory, written))
        )
    )


def launch_with(number: int, **changes: Any) -> Change:
    def changed(program: Program) -> Program:
        launches = list(program.launches)
        launches[number] = replace(launches[number], **changes)
        return replace(program, launches=tuple(launches))

    return changed


def without_first_let(stage: Stage) -> Stage:
    assert isinstance(stage.body[0], Let)
    return replace(stage, body=stage.body[1:])


def first_let_twice(stage: Stage) -> Stage:
    return replace(stage, body=(stage.body[0], *stage.body))


SMALL = Memory(float64, 3, "arena")
FAULTS: dict[str, tuple[Graph, Change, str]] = {
    "an output that nobody writes": (
        ROWS,
        lambda program: replace(program, launches=()),
        "output 0 is not written",
    ),
    "reading what was not written": (ROWS, with_argument(False, SMALL), "before it is written"),
    "writing an input": (
        ROWS,
        lambda program: with_argument(True, program.inputs[0])(program),
        "writes the input",
    ),
    "reading and writing at once": (
        ROWS,
        lambda program: with_argument(False, program.outputs[0])(program),
        "reads and writes",
    ),
    "writing twice": (
        ROWS,
        lambda program: replace(program, launches=program.launches * 2),
        "was written before",
    ),
    "a value that is not defined": (ROWS, stages_with(without_first_let), "is not defined yet"),
    "a value that is defined twice": (ROWS, stages_with(first_let_twice), "defined twice"),
    "a place behind the end": (ROWS, puts_with(offset=constant(2000)), "outside of its 2000"),
    "a place before the start": (ROWS, puts_with(offset=constant(-1)), "outside of its 2000"),
    "one place for all": (ROWS, puts_with(offset=constant(0)), "not one place for each element"),
    "an axis of nowhere": (
        ROWS,
        puts_with(offset=Index(0, ((Axis(77, 3), 1),))),
        "outside of its loops",
    ),
    "a row without its loop": (
        ROWS,
        stages_with(lambda stage: replace(stage, row=stage.body, body=()), 0),
        "outside of its loop",
    ),
    "an accumulator that nobody declares": (
        ROWS,
        stages_with(lambda stage: replace(stage, accumulators=()), 0),
        "other accumulators",
    ),
    "shares that do not fit": (COLUMNS, launch_with(1, chunks=10**6), "shares do not fit"),
    "results that do not fit": (COLUMNS, launch_with(1, result=SMALL), "50 results for"),
    "a chunk that does not fit": (
        COLUMNS,
        kernel_with(lambda kernel: replace(kernel, chunk=1)),
        "chunks",
    ),
    "a matrix behind its memory": (
        PRODUCT,
        lambda program: launch_with(0, memories=(*program.inputs, SMALL))(program),
        "a matrix lies from 0 to 1199",
    ),
    "a window behind its memory": (
        CONVOLUTION,
        launch_with(1, b=constant(10**6)),
        "an operand lies from 1000000 to 1000000",
    ),
    "a window of another loop": (
        CONVOLUTION,
        launch_with(1, b=of_axis(Axis(77, 3))),
        "is no sum over its axes",
    ),
    "a convolution whose results do not fit": (
        CONVOLUTION,
        lambda program: launch_with(
            1,
            memories=(*program.launches[1].memories[:2], SMALL),  # type: ignore[union-attr]
        )(program),
        "1 x 2 results of 4 x 98 for",
    ),
    "parts of which one lacks": (
        BESIDE,
        lambda program: replace(program, launches=program.launches[1:]),
        "is put together from",
    ),
    "parts that lie on one another": (BESIDE, part_moved(0), "is put together from"),
    "parts between which something lacks": (BESIDE, part_moved(700), "is put together from"),
    "a result that is none": (
        ROWS,
        lambda program: replace(program, results=(("output", 1),)),
        "the output 1 of 1",
    ),
}


@walk("name", FAULTS)
def test_a_fault_is_found(name: str) -> None:
    graph, change, message = FAULTS[name]
    program = program_of(graph, C)
    require_sound(program)
    with pytest.raises(AssertionError, match=message):
        require_sound(change(program))


def test_products_are_recognised() -> None:
    first, second = program_of(PRODUCT, C).launches[0], program_of(COLUMNS, C).launches[1]
    assert isinstance(first, Product)
    assert isinstance(second, Combine)


# ---- places


@pytest.mark.parametrize(
    ("index", "size", "expected"),
    [
        (i * 5 + j, 20, True),
        (i * 5 + j, 19, False),
        (i.plus(-1), 4, False),
        (j * -1, 5, False),
        ((j * -1).plus(4), 5, True),
        (i // 3, 1, True),
    ],
)
def test_within(index: Index, size: int, expected: bool) -> None:
    assert within(index, size) is expected


@pytest.mark.parametrize(
    ("index", "axes", "size", "expected"),
    [
        (i * 5 + j, (A, B), 20, True),
        (j * 4 + i, (A, B), 20, True),
        (i * 5 + j, (A, B), 40, False),
        (i * 6 + j, (A, B), 24, False),
        (i * 4 + j, (A, B), 20, False),
        (i, (A, B), 4, False),
        ((i * 5 + j).plus(1), (A, B), 20, False),
        (constant(0), (), 1, True),
    ],
)
def test_covers(index: Index, axes: tuple[Axis, ...], size: int, expected: bool) -> None:
    assert covers([(index, axes)], size, per_chunk=False) is expected


def test_what_a_chunk_keeps_is_written_row_after_row() -> None:
    assert covers([(j, (A, B))], 5, per_chunk=True)


def test_the_pipeline_verifies_on_request(monkeypatch: pytest.MonkeyPatch) -> None:
    """The plan, here: everything in one place."""
    monkeypatch.setattr(
        "gradc.codegen.pipeline.plan",
        lambda program: Plan(dict.fromkeys(plan_of(program), 0), 1 << 20),
    )
    graph = LARGER["attention"]()
    translate(graph, C)
    with pytest.raises(AssertionError, match="share bytes"):
        translate(graph, C, verify=True)


def plan_of(program: Program) -> list[Memory]:
    from gradc.codegen.plan import plan

    return list(plan(program).offsets)
