"""Products that take up what is added to them: no kernel adds it again, and the sums are right."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from contract.compute import leaf
from gradc.codegen.kernel import Kernel, Product, Program, flat
from gradc.codegen.program import program_of
from gradc.codegen.simplify import simplified
from gradc.codegen.target import CUDA, C
from gradc.codegen.verify import require_sound
from gradc.tracer.dtypes import DType, float16, float32, float64, int32
from gradc.tracer.ir import Node
from gradc.tracer.ops import contraction, movement, reduction
from gradc.tracer.ops import elementwise as e
from graphs.build import graph_of
from graphs.compiled import Array, Compiled, sample, written
from graphs.loops import LOOPS

REAL = pytest.mark.parametrize("dtype", [float32, float64], ids=str)


def products(program: Program) -> list[Product]:
    return [each for each, _ in flat(program.launches) if isinstance(each, Product)]


def taken_up(program: Program) -> list[Product]:
    return [each for each in products(program) if each.d is not None]


def kernels(program: Program) -> list[Kernel]:
    return [each for each, _ in flat(program.launches) if isinstance(each, Kernel)]


def wide(arrays: list[Array]) -> list[Array]:
    return [each.astype(np.float64) for each in arrays]


ADDENDS: dict[str, tuple[tuple[int, ...], Callable[[Node], Node], Callable[[Array], Array]]] = {
    "a matrix": ((30, 40), lambda d: d, lambda d: d),
    "a row for all": ((40,), lambda d: d, lambda d: d),
    "a part of wider rows": (
        (33, 70),
        lambda d: movement.stepped(d, (2, 5), (30, 40), (1, 1)),
        lambda d: d[2:32, 5:45],
    ),
    "every other row": (
        (60, 40),
        lambda d: movement.stepped(d, (1, 0), (30, 40), (2, 1)),
        lambda d: d[1::2],
    ),
    "a line of a sequence": (
        (4, 30, 40),
        lambda d: movement.reshape(
            movement.stepped(d, (2, 0, 0), (1, 30, 40), (1, 1, 1)), (30, 40)
        ),
        lambda d: d[2],
    ),
}


@REAL
@pytest.mark.parametrize("name", ADDENDS)
def test_addends(name: str, dtype: DType) -> None:
    shape, of_node, of_array = ADDENDS[name]
    a, b, d = leaf(0, (30, 20), dtype), leaf(1, (20, 40), dtype), leaf(2, shape, dtype)
    made = contraction.matmul(a, b)
    for total in (made + of_node(d), of_node(d) + made):
        graph = graph_of(total)
        program = written(graph).program
        assert len(taken_up(program)) == 1
        assert not kernels(program)
        arrays = sample(graph)
        x, y, z = wide(arrays) if total.inputs[0] is made else wide([*arrays[1:], arrays[0]])
        (found,) = Compiled(graph)(arrays)
        tolerance = 1e-5 if dtype is float32 else 1e-12
        np.testing.assert_allclose(found, x @ y + of_array(z), tolerance, 10 * tolerance)


@pytest.mark.parametrize("shape", [(3, 5, 6), (5, 6), (6,), (3, 1, 6)])
def test_addends_of_batches(shape: tuple[int, ...]) -> None:
    a, b, d = leaf(0, (3, 5, 4), float64), leaf(1, (3, 4, 6), float64), leaf(2, shape, float64)
    graph = graph_of(contraction.matmul(a, b) + d)
    (product,) = products(written(graph).program)
    assert product.d is not None
    x, y, z = arrays = sample(graph)
    (found,) = Compiled(graph)(arrays)
    np.testing.assert_allclose(found, x @ y + z, 1e-12)


def test_rows_that_were_apart() -> None:
    """The product has one axis of rows, the sum has two, and the addend is the same for all."""
    x, w, bias = leaf(0, (6, 5, 7), float64), leaf(1, (7, 8), float64), leaf(2, (8,), float64)
    made = contraction.matmul(movement.reshape(x, (30, 7)), w)
    graph = graph_of(movement.reshape(made, (6, 5, 8)) + bias)
    assert len(taken_up(written(graph).program)) == 1
    a, b, c = arrays = sample(graph)
    (found,) = Compiled(graph)(arrays)
    np.testing.assert_allclose(found, a @ b + c, 1e-12)


def test_rows_at_uneven_distances_are_added_by_a_kernel() -> None:
    """An addend for each of the first axis, which is a part of the product's rows."""
    x, w, d = leaf(0, (6, 5, 7), float64), leaf(1, (7, 8), float64), leaf(2, (6, 1, 8), float64)
    made = contraction.matmul(movement.reshape(x, (30, 7)), w)
    graph = graph_of(movement.reshape(made, (6, 5, 8)) + d)
    assert not taken_up(written(graph).program)
    a, b, c = arrays = sample(graph)
    (found,) = Compiled(graph)(arrays)
    np.testing.assert_allclose(found, a @ b + c, 1e-12)


def test_a_sum_of_products() -> None:
    """The second adds to what the first has made, which is stored between them."""
    pairs = [(leaf(2 * k, (9, 4), float64), leaf(2 * k + 1, (4, 7), float64)) for k in range(2)]
    first, second = (contraction.matmul(a, b) for a, b in pairs)
    graph = graph_of(first + second)
    program = written(graph).program
    assert len(products(program)) == 2 and not kernels(program)
    a, b, c, d = arrays = sample(graph)
    (found,) = Compiled(graph)(arrays)
    np.testing.assert_allclose(found, a @ b + c @ d, 1e-12)


A, B, D = leaf(0, (6, 5), float64), leaf(1, (5, 6), float64), leaf(2, (6, 6), float64)
PRODUCT = contraction.matmul(A, B)
KEPT: dict[str, tuple[Node, ...]] = {
    "read twice": (PRODUCT + D, reduction.sum(e.sin(PRODUCT), (0, 1))),
    "a result itself": (PRODUCT + D, PRODUCT),
    "added to itself": (PRODUCT + PRODUCT,),
    "an addend that is turned": (PRODUCT + movement.transpose(D, (1, 0)),),
    "a product that is turned": (movement.transpose(PRODUCT, (1, 0)) + D,),
    "a column for all": (PRODUCT + movement.stepped(D, (0, 1), (6, 1), (1, 1)),),
    "an addend that is computed": (PRODUCT + e.sin(D),),
    "an addend with a margin": (PRODUCT + movement.pad(leaf(2, (5, 6), float64), (1, 0), (0, 0)),),
    "more than a sum": (e.tanh(PRODUCT + D),),
    "a difference": (PRODUCT - D,),
}


@pytest.mark.parametrize("name", KEPT)
def test_other_sums_stay_as_they_are(name: str) -> None:
    graph = graph_of(*KEPT[name])
    assert not taken_up(written(graph).program)
    arrays = [each * 0.5 for each in sample(graph)]
    p = arrays[0] @ arrays[1]
    d = arrays[2] if len(arrays) > 2 else p
    expected = {
        "read twice": lambda: (p + d, np.sin(p).sum().reshape(1, 1)),
        "a result itself": lambda: (p + d, p),
        "added to itself": lambda: (2 * p,),
        "an addend that is turned": lambda: (p + d.T,),
        "a product that is turned": lambda: (p.T + d,),
        "a column for all": lambda: (p + d[:, 1:2],),
        "an addend that is computed": lambda: (p + np.sin(d),),
        "an addend with a margin": lambda: (p + np.pad(d, ((1, 0), (0, 0))),),
        "more than a sum": lambda: (np.tanh(p + d),),
        "a difference": lambda: (p - d,),
    }[name]()
    for found, wanted in zip(Compiled(graph)(arrays), expected, strict=True):
        np.testing.assert_allclose(found, wanted, 1e-12, 1e-12)


@pytest.mark.parametrize("dtype", [float16, int32], ids=str)
def test_types_that_the_run_time_does_not_multiply(dtype: DType) -> None:
    a, b, d = leaf(0, (6, 5), dtype), leaf(1, (5, 6), dtype), leaf(2, (6, 6), dtype)
    assert not taken_up(written(graph_of(contraction.matmul(a, b) + d)).program)


def test_a_device_adds_by_itself() -> None:
    assert not taken_up(written(graph_of(PRODUCT + D), CUDA).program)


@pytest.mark.parametrize("sizes", [(6, 0, 5), (0, 3, 5), (6, 3, 0)])
def test_nothing_to_multiply(sizes: tuple[int, int, int]) -> None:
    m, k, n = sizes
    a, b, d = leaf(0, (m, k), float64), leaf(1, (k, n), float64), leaf(2, (m, n), float64)
    graph = graph_of(contraction.matmul(a, b) + d)
    x, y, z = arrays = sample(graph)
    (found,) = Compiled(graph)(arrays)
    np.testing.assert_allclose(found, x @ y + z, 1e-12)


def test_products_add_to_what_a_loop_has_left() -> None:
    """The gradient of a recurrent weight: the sum over the steps of the loop, and one more."""
    added = [each.d for each in taken_up(written(LOOPS["backwards"]()).program)]
    assert any(each is not None and each.node.op.kind == "loop" for each in added)


def test_an_addend_of_another_shape_is_found() -> None:
    program = program_of(simplified(graph_of(PRODUCT + D)), C)
    require_sound(program)
    (product,) = products(program)
    assert product.d is not None
    for d, message in (
        (replace(product.d, shape=(6, 5)), "are added to"),
        (replace(product.d, row=7), "a matrix lies from 0 to 40"),
    ):
        with pytest.raises(AssertionError, match=message):
            require_sound(replace(program, launches=(replace(product, d=d),)))
