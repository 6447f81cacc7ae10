"""Fusion: which nodes share a kernel, and what is never stored or computed twice."""

import itertools
from collections import Counter
from collections.abc import Iterator

import pytest
from contract.compute import leaf
from gradc.codegen import fuse as fusion
from gradc.codegen.fuse import cost, fuse, matrix
from gradc.codegen.item import values_below
from gradc.codegen.kernel import Kernel, Let, Memory, Product, Program, memories_of
from gradc.codegen.lower import Lowering, axes_of
from gradc.codegen.stored import seen_from_many_places
from gradc.codegen.target import CUDA, C, Target
from gradc.codegen.value import Apply, Load, Select, Stride
from gradc.codegen.verify import statements
from gradc.codegen.windows import FLAT
from gradc.tracer.dtypes import float32, int32
from gradc.tracer.graph import Graph
from gradc.tracer.ir import Node, node
from gradc.tracer.ops import contraction, indexing, movement, reduction, sources
from gradc.tracer.ops import elementwise as e
from gradc.tracer.ops.kinds import Elementwise, cast_to
from gradc.tracer.ops.transcendental import TRANSCENDENTAL
from graphs.arbitrary import graphs
from graphs.build import composed, graph_of, with_gradients
from graphs.compiled import written
from graphs.named import EVERY, LARGER, NAMED, chain
from hypothesis import assume, given
from walk import walk

from gradc import functional as F


def program(graph: Graph, target: Target = C) -> Program:
    return written(graph, target).program


def passes(made: Program) -> list[Kernel]:
    """The kernels that go over more than one element; what finishes a mean is left out."""
    kernels = [each for each in made.launches if isinstance(each, Kernel)]
    return [each for each in kernels if each.row_count * each.inner_count > 1]


def arena(made: Program) -> list[Memory]:
    """The temporary memories that one kernel leaves to another."""
    touched = Counter(
        memory for launch in made.launches for memory in {each for each, _ in memories_of(launch)}
    )
    return [each for each, count in touched.items() if each.what == "arena" and count > 1]


# ---- one kernel each

LOGITS, LABELS = leaf(0, (512, 1000), float32), leaf(2, (512,), int32)
BIAS = leaf(1, (1000,), float32)
FUSED: dict[str, Graph] = {
    "softmax and its adjoint": with_gradients(lambda x: composed(F.softmax, x, -1), LOGITS),
    "log softmax and its adjoint": with_gradients(lambda x: composed(F.logsoftmax, x, -1), LOGITS),
    "layer norm and its adjoint": with_gradients(
        lambda x, w, b: composed(F.layer_norm, x, 1000, True, w, b),
        *(LOGITS, leaf(1, (1000,), float32), leaf(2, (1000,), float32)),
    ),
    "cross entropy with the gradient of a bias": with_gradients(
        lambda x, b, label: composed(F.cross_entropy, x + b, label), LOGITS, BIAS, LABELS
    ),
    "elementwise chain, its mean, its gradient": with_gradients(chain, leaf(0, (1000, 2000))),
    "variance": graph_of(composed(F.var, LOGITS, 1)),
    "activation and its gradient": with_gradients(lambda x: composed(F.gelu, x), LOGITS),
    "row and column sums": graph_of(reduction.sum(LOGITS, (0,)), reduction.sum(LOGITS, (1,))),
    **{name: make() for name, make in NAMED.items() if name in ("adam", "argmax", "softmax")},
}


@walk("name", FUSED)
@walk("target", [C, CUDA], ids=["c", "cuda"])
def test_one_kernel_does_it_all(name: str, target: Target) -> None:
    kernels = passes(program(FUSED[name], target))
    assert len(kernels) == 1, [each.label for each in kernels]


@pytest.mark.parametrize("name", FUSED)
def test_nothing_as_large_as_the_input_is_kept_between_kernels(name: str) -> None:
    made = program(FUSED[name])
    largest = max(memory.nbytes for memory in made.inputs)
    for memory in arena(made):
        assert memory.nbytes < largest, memory


# ---- nothing is moved

X, W = leaf(0, (40, 50), float32), leaf(1, (50, 30), float32)
INDICES = leaf(1, (40,), int32)
ONE_HOT = e.eq(movement.reshape(INDICES, (40, 1)), node(sources.iota, (), (1, (40, 50), int32)))
UNMOVED: dict[str, Graph] = {
    "broadcast": graph_of(
        reduction.sum(X * movement.broadcast(leaf(1, (50,), float32), (40, 50)), (1,))
    ),
    "transpose": graph_of(e.sin(movement.transpose(X, (1, 0))) + leaf(1, (50, 40), float32)),
    "transposed product": graph_of(contraction.matmul(movement.transpose(X, (1, 0)), X)),
    "reshaped product": graph_of(
        contraction.matmul(movement.reshape(leaf(0, (2, 20, 50), float32), (40, 50)), W)
    ),
    "product of a part": graph_of(contraction.matmul(movement.slice_(X, 0, 10, 30), W)),
    "product with columns of a part": graph_of(
        contraction.matmul(X, movement.slice_(leaf(1, (50, 90), float32), 1, 30, 60))
    ),
    "batched product": graph_of(
        contraction.matmul(leaf(0, (4, 9, 50), float32), leaf(1, (4, 50, 30), float32))
    ),
    "one-hot": graph_of(reduction.sum(e.where(ONE_HOT, X, sources.constant_like(0, X)), (1,))),
    "one-hot as numbers": graph_of(reduction.sum(cast_to(ONE_HOT, float32) * X, (1,))),
    "pad": graph_of(reduction.sum(movement.pad(X, (1, 1), (1, 1)), (1,))),
    "concat": graph_of(reduction.sum(movement.concat((X, X * 2.0), 1), (1,))),
    "rows of a table": graph_of(e.tanh(indexing.take(leaf(0, (50, 8), float32), INDICES, 0))),
}
"""Graphs that need no memory besides inputs and outputs."""


@pytest.mark.parametrize("name", UNMOVED)
def test_movements_are_not_stored(name: str) -> None:
    made = program(UNMOVED[name])
    assert arena(made) == []
    assert len(made.launches) == len(made.outputs)


def test_a_transposed_operand_is_read_where_it_lies() -> None:
    (product,) = program(UNMOVED["transposed product"]).launches
    assert isinstance(product, Product)
    assert (product.a.row, product.a.column) == (1, 50)
    assert (product.b.row, product.b.column) == (50, 1)


def test_an_operand_that_no_matrix_holds_is_stored() -> None:
    every_second = movement.slice_(leaf(0, (40, 100), float32), 1, None, None, 2)
    made = program(graph_of(contraction.matmul(every_second, W)))
    assert [memory.size for memory in arena(made)] == [2000]


def test_an_operand_is_computed_before_it_is_repeated() -> None:
    small = e.sin(leaf(0, (1, 50), float32))
    made = program(graph_of(contraction.matmul(movement.broadcast(small, (40, 50)), W)))
    ((number, by),) = costly(made)
    kernel = made.launches[number]
    assert isinstance(kernel, Kernel)
    assert (by.op, kernel.row_count * kernel.inner_count) == (e.sin, 50)


MATRICES: dict[str, tuple[Node, tuple[int, int] | None]] = {
    "plain": (X, (50, 1)),
    "transposed": (movement.transpose(X, (1, 0)), (1, 50)),
    "part": (movement.slice_(X, 1, 10, 20), (50, 1)),
    "every second row": (movement.slice_(X, 0, None, None, 2), (100, 1)),
    "every second column": (movement.slice_(X, 1, None, None, 2), None),
    "backwards": (movement.flip(X, 0), None),
    "repeated row": (movement.broadcast(leaf(0, (1, 50), float32), (40, 50)), None),
    "computed": (e.sin(X), None),
    "padded": (movement.pad(X, (1, 1), (1, 1)), None),
    "one row": (movement.slice_(X, 0, 3, 4), (50, 1)),
    "one column": (movement.slice_(X, 1, 3, 4), (50, 1)),
}


@pytest.mark.parametrize("name", MATRICES)
def test_what_a_product_can_read(name: str) -> None:
    node, expected = MATRICES[name]
    found = matrix(node, Lowering({node} if node.op.kind == "source" else set()))
    assert (found and (found.row, found.column)) == expected


# ---- nothing costly is computed twice


def costly(made: Program) -> Iterator[tuple[int, Node]]:
    """For each time that a function of the math library is computed: the launch, and the node."""
    for number, launch in enumerate(made.launches):
        if not isinstance(launch, Kernel):
            continue
        for statement, _, _ in statements(launch):
            value = statement.value
            if isinstance(statement, Let) and isinstance(value, Apply):
                assert isinstance(value.op, Elementwise)
                if value.op.weight >= TRANSCENDENTAL and value.axes:
                    yield number, value.made_by


def assert_computed_once(made: Program) -> None:
    listed = list(costly(made))
    kernels: dict[Node, set[int]] = {}
    for number, by in listed:
        kernels.setdefault(by, set()).add(number)
    assert not [by for by, numbers in kernels.items() if len(numbers) > 1]


@pytest.mark.parametrize("name", EVERY)
def test_library_functions_are_computed_in_one_kernel(name: str) -> None:
    assert_computed_once(program(EVERY[name]()))


@given(graphs())
def test_library_functions_of_random_graphs_are_computed_in_one_kernel(graph: Graph) -> None:
    assume(len(graph.nodes()) < 400)
    assert_computed_once(program(graph))


def test_within_a_kernel_a_costly_value_is_kept_for_later_stages() -> None:
    made = program(FUSED["softmax and its adjoint"])
    assert len(list(costly(made))) == 1


def test_a_cheap_value_is_computed_again_rather_than_stored() -> None:
    shifted = X + 1.0
    made = program(
        graph_of(reduction.sum(shifted, (0,)), e.sin(movement.transpose(shifted, (1, 0))))
    )
    assert not [memory for memory in arena(made) if memory.size == X.type.size]


def test_cost_counts_shared_values_once() -> None:
    y = e.sin(X)
    axes, coordinates = axes_of(X.shape)
    once = Lowering(set()).element(y, coordinates)
    twice = Lowering(set()).element(y + y, coordinates)
    assert cost(twice) == cost(once) + 1
    assert len([v for v in values_below([twice]) if isinstance(v, Load)]) == 1
    assert len(axes) == 2


# ---- order


def test_steps_follow_what_they_read() -> None:
    graph = LARGER["attention"]()
    fused = fuse(graph.outputs, graph.nodes())
    done: set[Node] = set(graph.inputs)
    for step in fused.steps:
        if step.cluster is not None:
            made = set(step.cluster.fits)
            read = {load.node for item in step.cluster.items for load in item.loads}
            assert read <= done | made
            done |= made
        else:
            assert step.alone is not None
            done.add(step.alone)
    assert set(graph.outputs) <= done


def test_the_choice_does_not_depend_on_the_order_of_outputs() -> None:
    graph = NAMED["layer_norm"]()
    outputs = graph.outputs[::-1]
    turned = Graph(graph.inputs, graph.floats, graph.ints, outputs)
    assert len(passes(program(turned))) == len(passes(program(graph))) == 1


def test_steps_of_a_stencil_do_not_multiply() -> None:
    """Each of them reads the one before at two places; some are stored, so that it ends."""

    def smoothed(x: Node) -> Node:
        for _ in range(40):
            end = (1, x.shape[0] - 1)
            low, high = (movement.stepped(x, (at,), (end[1],), (1,)) for at in (0, 1))
            x = e.sin(low + high)
        return reduction.sum(x, (0,))

    graph = with_gradients(smoothed, leaf(0, (60,), float32))
    stored = seen_from_many_places(graph.nodes(), set())
    assert 0 < len(stored) < 40 * 4
    assert sum(len(each.names) for each in passes(program(graph))) < 40_000


@pytest.mark.parametrize("size, padding", [(1, 0), (3, 1), (4, 1)])
def test_reductions_take_the_places_in_order(size: int, padding: int) -> None:
    """The adjoint of a convolution by steps of two takes them in turn, in a kernel of its own."""
    x, scale = leaf(0, (4, 6, 32, 32), float32), leaf(1, (1, 6, 1, 1), float32)
    w = leaf(2, (FLAT + 1, 6, size, size), float32)

    def function(x: Node, scale: Node, w: Node) -> Node:
        shifted = x - reduction.sum(x, (0, 2, 3)) * (1 / 4096)
        return composed(F.conv2d, composed(F.relu, shifted * scale), w, None, 2, padding)

    graph = with_gradients(function, x, scale, w)
    kernels = [each for each in written(graph).program.launches if isinstance(each, Kernel)]
    spread = [each for each in kernels if any(asks_by_steps(value) for value in each.names)]
    assert spread or size == 1
    for each in spread:
        assert {reduced.scope for reduced in each.accumulators} <= {"chunk"}


def asks_by_steps(value: object) -> bool:
    conditions = value.conditions if isinstance(value, Load | Select) else ()
    return any(isinstance(each, Stride) for each in conditions)


def patches(rank: int, out: int, size: int, places: int, batch: int) -> Graph:
    """Patches of an image, their channels last, as in a vision transformer."""
    image = leaf(0, (batch, 3, *(places * size,) * rank), float32)
    weight = leaf(1, (out, 3, *(size,) * rank), float32)
    convolution = (F.conv1d, F.conv2d, F.conv3d)[rank - 1]

    def function(x: Node, w: Node) -> Node:
        made = composed(convolution, x, w, None, size)
        lines = movement.reshape(made, (batch, out, places**rank))
        return reduction.sum(e.tanh(movement.transpose(lines, (0, 2, 1))), (0, 1, 2))

    return with_gradients(function, image, weight)


def test_products_that_read_one_value_in_several_orders_have_their_operands() -> None:
    """Two of them ask for it in two orders; the second lies below the first, and is not seen."""
    for rank, out, size, batch in itertools.product((1, 2, 3), (2, 5, 17), (1, 2, 3), (1, 2)):
        for places in (2, 16 if rank == 1 else 4):
            assert program(patches(rank, out, size, places, batch)).launches


def test_what_is_stored_is_not_asked_for_again(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = graph_of(e.exp(e.sin(leaf(0, (64,), float32))))
    monkeypatch.setattr(fusion, "operands_to_store", lambda *_: set(graph.outputs))
    with pytest.raises(AssertionError, match=r"is asked for again: .*exp"):
        fuse(graph.outputs, graph.nodes())
