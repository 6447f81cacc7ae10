"""Long bodies run in pieces: the same values, with little kept in between."""

from collections.abc import Callable

import numpy as np
import pytest
from contract.compute import leaf
from gradc.codegen.fission import MOST_KEPT, FissionPiece, pieces_of
from gradc.codegen.kernel import Kernel, Let
from gradc.codegen.target import C
from gradc.codegen.value import Apply
from gradc.tracer.dtypes import DType, float32, float64
from gradc.tracer.graph import Graph
from gradc.tracer.interpret import interpret
from gradc.tracer.ir import Node
from gradc.tracer.ops import elementwise as e
from gradc.tracer.ops import reduction
from graphs.build import graph_of, with_gradients
from graphs.compiled import Compiled, body_of, sample, written

LENGTHS = (64, 100, 512, 513, 3000)


def functions(x: Node, a: Node) -> Node:
    """A chain of functions, of which each needs the one before and some earlier ones."""
    t = e.tanh(x * a)
    v = e.exp(-(t * t + 1.0))
    s = 1.0 / (e.exp(-(v * x)) + 1.0)
    r = s * t - a
    y = e.sqrt(e.log(r * r / (t * t + 1.5) + 1.0) + 1e-3)
    return e.tanh(y) * 0.5 + y * x * 0.1


def chosen(x: Node, a: Node) -> Node:
    """Conditions are kept, too."""
    for _ in range(6):
        x = e.where(e.gt(e.sin(x), a), e.exp(-x * x), e.tanh(x) * a)
    return x


def steps(x: Node, a: Node) -> Node:
    for _ in range(20):
        x = e.tanh(x * 1.25 + a)
    return x


def shape_of(length: int, rows: bool) -> tuple[int, ...]:
    return (3, length) if rows else (length,)


def summed(function: object, length: int, dtype: DType, rows: bool) -> Graph:
    shape = shape_of(length, rows)

    def total(x: Node, a: Node) -> Node:
        return reduction.sum(function(x, a), tuple(range(len(shape))))  # type: ignore[operator]

    return with_gradients(total, leaf(0, shape, dtype), leaf(1, shape, dtype))


def stages(graph: Graph) -> list[tuple[Kernel, tuple[FissionPiece, ...]]]:
    made = written(graph, C).program.launches
    kernels = [each for each in made if isinstance(each, Kernel)]
    return [(k, pieces_of(stage.body, k.names)) for k in kernels for stage in k.stages]


@pytest.mark.parametrize("rows", [False, True], ids=["flat", "rows"])
@pytest.mark.parametrize("dtype", [float32, float64], ids=lambda dtype: dtype.name)
@pytest.mark.parametrize("function", [functions, chosen, steps])
def test_values_are_those_of_the_interpreter(function: object, dtype: DType, rows: bool) -> None:
    for length in LENGTHS:
        graph = summed(function, length, dtype, rows)
        arrays = sample(graph)
        expected = interpret(graph, arrays, [], [])
        tolerance = 2e-4 if dtype is float32 else 1e-11
        for x, y in zip(Compiled(graph)(arrays), expected, strict=True):
            np.testing.assert_allclose(x, y, tolerance, tolerance * np.abs(y).max(initial=1.0))


@pytest.mark.parametrize("function", [functions, steps])
def test_a_long_body_is_cut(function: object) -> None:
    ((_, pieces), *_) = stages(summed(function, 3000, float32, rows=False))
    assert len(pieces) > 3
    places = {place for each in pieces for _, place in each.kept}
    assert 0 < len(places) <= MOST_KEPT


def test_a_short_body_stays_whole() -> None:
    x = leaf(0, (3000,), float32)
    ((_, pieces),) = stages(graph_of(e.tanh(e.exp(x) + 1.0)))
    assert len(pieces) == 1


def test_a_short_loop_stays_whole() -> None:
    text = written(summed(functions, 20, float32, rows=True), C).source.text
    assert "between0" not in text
    assert "between0[512]" in written(summed(functions, 3000, float32, rows=False), C).source.text


@pytest.mark.parametrize("function", [functions, chosen, steps])
def test_each_piece_has_what_it_reads(function: object) -> None:
    for kernel, pieces in stages(summed(function, 3000, float32, rows=False)):
        there: dict[int, str] = {}
        for piece in pieces if len(pieces) > 1 else ():
            for let, place in piece.read:
                assert there[place] == let.name
            known = {let.name for let, _ in piece.read}
            for statement in piece.statements:
                if isinstance(statement, Let):
                    inside = {kernel.names.get(each) for each in statement.value.operands}
                    named = {name for name in inside if name and name.startswith("v")}
                    missing = named - known
                    assert not missing & {let.name for each in pieces for let, _ in each.kept}
                    known.add(statement.name)
            there |= {place: let.name for let, place in piece.kept}


def test_functions_are_computed_once() -> None:
    for _, pieces in stages(summed(functions, 3000, float32, rows=False)):
        dear = [
            each.name
            for piece in pieces
            for each in piece.statements
            if isinstance(each, Let)
            and isinstance(each.value, Apply)
            and each.value.op.name == "tanh"
        ]
        assert len(dear) == len(set(dear))


def test_source(golden: Callable[[str, str], None]) -> None:
    golden("pieces.c", body_of(written(summed(functions, 3000, float32, rows=False), C).source))
