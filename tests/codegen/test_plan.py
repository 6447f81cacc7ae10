"""Arenas: what is alive at one time lies apart, aligned, in as little room as need be."""

from math import prod

import pytest
from contract.compute import leaf
from gradc.codegen.kernel import Combine, Memory, Program, memories_of
from gradc.codegen.plan import ALIGNMENT, Plan, aligned, plan
from gradc.codegen.verify import require_apart
from gradc.tracer.dtypes import float32, float64, int8
from gradc.tracer.graph import Graph
from gradc.tracer.ir import Node
from gradc.tracer.ops import contraction, reduction
from gradc.tracer.ops import elementwise as e
from graphs.arbitrary import graphs
from graphs.build import graph_of
from graphs.compiled import written
from graphs.named import EVERY, LARGER, NAMED
from hypothesis import assume, given
from hypothesis import strategies as st

DTYPES = {1: int8, 4: float32, 8: float64}


def chained(memories: list[Memory], pairs: list[tuple[int, int]]) -> Program:
    """A program whose launches read one memory and write another."""
    launches = tuple(
        Combine("copy", reduction.sum, float64, memories[a], memories[b], 1, 1) for a, b in pairs
    )
    return Program(launches, (), (), (), (), 0, 0)


@st.composite
def programs(draw: st.DrawFn) -> Program:
    sizes = draw(st.lists(st.integers(0, 300), min_size=1, max_size=12))
    dtypes = st.sampled_from(sorted(DTYPES))
    memories = [Memory(DTYPES[draw(dtypes)], size, "arena") for size in sizes]
    places = st.integers(0, len(memories) - 1)
    return chained(memories, draw(st.lists(st.tuples(places, places), min_size=1, max_size=30)))


def assert_apart(program: Program, layout: Plan) -> None:
    """Byte by byte: from its first launch to its last, a memory owns what it lies on."""
    launches = [{memory.whole for memory, _ in memories_of(each)} for each in program.launches]
    owners: list[dict[int, Memory]] = [{} for _ in launches]
    for memory, at in layout.offsets.items():
        touching = [number for number, touched in enumerate(launches) if memory in touched]
        for number in range(touching[0], touching[-1] + 1):
            for byte in range(at, at + memory.nbytes):
                assert byte < layout.nbytes
                assert owners[number].setdefault(byte, memory) is memory
        assert at % ALIGNMENT == 0
    arena = {memory for touched in launches for memory in touched if memory.what == "arena"}
    assert arena == set(layout.offsets)


def least(program: Program) -> int:
    """The bytes that are alive at one time, at most: no arena can be smaller."""
    launches = [{memory for memory, _ in memories_of(each)} for each in program.launches]
    lives: dict[Memory, list[int]] = {}
    for number, touched in enumerate(launches):
        for memory in touched:
            if memory.what == "arena":
                lives.setdefault(memory, []).append(number)
    return max(
        (
            sum(aligned(m.nbytes) for m, life in lives.items() if life[0] <= number <= life[-1])
            for number in range(len(launches))
        ),
        default=0,
    )


# ---- apart, and aligned


@given(programs())
def test_memories_that_are_alive_together_lie_apart(program: Program) -> None:
    layout = plan(program)
    assert_apart(program, layout)
    require_apart(program, layout)
    assert layout.nbytes >= least(program)


@given(graphs(most=16))
def test_arenas_of_random_graphs(graph: Graph) -> None:
    assume(len(graph.nodes()) < 300)
    made = written(graph)
    if made.plan.nbytes < 30_000:
        assert_apart(made.program, made.plan)


@pytest.mark.parametrize("name", EVERY)
def test_arenas_of_known_graphs(name: str) -> None:
    made = written(EVERY[name]())
    assert_apart(made.program, made.plan)


def test_the_check_finds_an_overlap() -> None:
    a, b, c = (Memory(float64, 20, "arena") for _ in range(3))
    program = chained([a, b, c], [(0, 1), (1, 2)])
    require_apart(program, Plan({a: 0, b: 192, c: 0}, 384))
    with pytest.raises(AssertionError, match="share bytes"):
        require_apart(program, Plan({a: 0, b: 64, c: 0}, 384))
    with pytest.raises(AssertionError, match="begins at 8"):
        require_apart(program, Plan({a: 0, b: 192, c: 8}, 384))
    with pytest.raises(AssertionError, match="ends behind"):
        require_apart(program, Plan({a: 0, b: 192, c: 0}, 200))


@given(st.integers(0, 10_000))
def test_aligned_sizes(nbytes: int) -> None:
    assert aligned(nbytes) % ALIGNMENT == 0
    assert aligned(nbytes) >= max(nbytes, 1)
    assert aligned(nbytes) - max(nbytes, 1) < ALIGNMENT


# ---- peaks


def arena(*outputs: Node) -> int:
    return written(graph_of(*outputs)).plan.nbytes


def test_an_elementwise_chain_needs_no_arena() -> None:
    x = leaf(0, (100, 100))
    for number in range(50):
        x = e.sin(x) if number % 3 else x * 1.5 + 1.0
    assert arena(x) == 0


def products(count: int, size: int = 16) -> Node:
    x = leaf(0, (size, size))
    for number in range(count):
        x = contraction.matmul(x, leaf(number + 1, (size, size)))
    return x


@pytest.mark.parametrize("count", [3, 4, 9, 20])
def test_a_chain_of_products_needs_two_places(count: int) -> None:
    assert arena(products(count)) == 2 * 16 * 16 * 8


def test_a_single_product_needs_none() -> None:
    assert arena(products(1)) == 0
    assert arena(products(2)) == 16 * 16 * 8


def test_outputs_are_no_part_of_the_arena() -> None:
    first = products(1)
    assert arena(first, contraction.matmul(first, first)) == 0


PEAKS = {"sum_of_squares": 0, "elementwise_chain": 0, "adam": 0, "take_scatter": 0, "concat_pad": 0}


@pytest.mark.parametrize("name", PEAKS)
def test_peak(name: str) -> None:
    assert written(NAMED[name]()).plan.nbytes == PEAKS[name]


def test_the_arena_of_attention_is_what_is_alive_at_one_time() -> None:
    made = written(LARGER["attention"]())
    assert made.plan.nbytes == least(made.program)


def test_the_arena_of_a_deep_perceptron_grows_by_what_its_adjoint_reads() -> None:
    made = written(NAMED["perceptron"]())
    hidden = prod((16, 20)) * 4
    assert made.plan.nbytes <= 8 * aligned(hidden)


def test_without_launches_there_is_no_arena() -> None:
    x = leaf(0, (3,))
    made = written(graph_of(x))
    assert made.program.launches == ()
    assert made.plan == Plan({}, 0) or made.plan.nbytes == 0
