"""Concatenations whose parts are computed where they belong: nothing is copied, all is right."""

from collections.abc import Sequence

import numpy as np
import pytest
from contract.compute import leaf
from gradc.codegen.kernel import Launch, Memory, Product, flat, memories_of
from gradc.tracer.dtypes import DType, float32, float64
from gradc.tracer.ir import Node
from gradc.tracer.ops import contraction, movement, reduction
from gradc.tracer.ops import elementwise as e
from graphs.build import graph_of
from graphs.compiled import Array, Compiled, sample, written
from graphs.loops import LOOPS


def product(slot: int, rows: int, columns: int = 8, dtype: DType = float64) -> Node:
    """Something that is stored: a product of two inputs."""
    a, b = leaf(slot, (rows, 5), dtype), leaf(slot + 1, (5, columns), dtype)
    return contraction.matmul(a, b)


def swapped(x: Node) -> Node:
    return movement.transpose(x, (1, 0))


def products(arrays: Sequence[Array]) -> list[Array]:
    """By the definition, in float64."""
    wide = [each.astype(np.float64) for each in arrays]
    return [a @ b for a, b in zip(wide[::2], wide[1::2], strict=True)]


def of_squares(parts: Sequence[Array], axis: int = 0) -> Array:
    total: Array = (np.concatenate(parts) ** 2).sum(axis, keepdims=True)
    return total


def touched(launches: Sequence[Launch]) -> dict[Memory, list[bool]]:
    """Each memory, and whether it is written by those that touch it."""
    found: dict[Memory, list[bool]] = {}
    for launch in launches:
        for memory, writes in memories_of(launch):
            found.setdefault(memory, []).append(writes)
    return found


def parts_of(launches: Sequence[Launch]) -> list[Memory]:
    return [memory for memory in touched(launches) if memory.within is not None]


@pytest.mark.parametrize("dtype", [float32, float64], ids=str)
def test_products_one_after_another_are_written_where_they_belong(dtype: DType) -> None:
    parts = tuple(product(slot, rows, dtype=dtype) for slot, rows in ((0, 3), (2, 16), (4, 8)))
    whole = movement.concat(parts, 0)
    graph = graph_of(reduction.sum(whole * whole, (0,)))
    program = written(graph).program
    places = {memory.within[1] for memory in parts_of(program.launches) if memory.within}
    assert places == {0, 24, 152}
    assert sum(isinstance(each, Product) for each in program.launches) == 3
    assert not [each for each in program.launches if "concat" in each.label]
    arrays = sample(graph)
    (found,) = Compiled(graph)(arrays)
    expected = of_squares(products(arrays))
    np.testing.assert_allclose(found, expected, 1e-5 if dtype is float32 else 1e-13)


def test_parts_that_are_read_alone_too() -> None:
    """A later part is made of an earlier one, and the sum of another is asked for."""
    first = product(0, 8, 8)
    second = contraction.matmul(e.sin(first), leaf(2, (8, 8), float64))
    whole = movement.concat((first, second), 0)
    total = reduction.sum(whole * whole, (0,))
    graph = graph_of(contraction.matmul(whole, leaf(2, (8, 8), float64)), total, swapped(first) * 2)
    assert len(parts_of(written(graph).program.launches)) == 2
    a, b, c = arrays = sample(graph)
    one = a @ b
    both = np.concatenate([one, np.sin(one) @ c])
    for found, expected in zip(
        Compiled(graph)(arrays), (both @ c, (both**2).sum(0, keepdims=True), one.T * 2), strict=True
    ):
        np.testing.assert_allclose(found, expected, 1e-12)


def test_parts_of_parts() -> None:
    inner = movement.concat((product(0, 8), product(2, 8)), 0)
    whole = movement.concat((inner, product(4, 8)), 0)
    graph = graph_of(reduction.sum(whole * whole, (1,)), reduction.sum(e.exp(inner), (1,)))
    launches = written(graph).program.launches
    assert not [each for each in launches if "concat" in each.label]
    arrays = sample(graph)
    one, two, three = products(arrays)
    first, second = Compiled(graph)(arrays)
    np.testing.assert_allclose(first, of_squares([one, two, three], 1), 1e-12)
    np.testing.assert_allclose(second, np.exp([*one, *two]).sum(1, keepdims=True), 1e-12)


def test_a_whole_that_is_a_result() -> None:
    graph = graph_of(movement.concat((product(0, 8), product(2, 4)), 0))
    arrays = sample(graph)
    assert len(parts_of(written(graph).program.launches)) == 2
    (found,) = Compiled(graph)(arrays)
    np.testing.assert_allclose(found, np.concatenate(products(arrays)), 1e-13)


def twice(x: Node, y: Node) -> Node:
    return movement.concat((x, x, y), 0)


def in_two(x: Node, y: Node) -> Node:
    one, other = movement.concat((x, y), 0), movement.concat((y, x), 0)
    return contraction.matmul(one, swapped(other))


def turned(x: Node, y: Node) -> Node:
    return movement.concat((swapped(x), y), 0)


def across(x: Node, y: Node) -> Node:
    return movement.concat((x, y), 1)


KEPT = {"twice": twice, "turned": turned, "across": across}


@pytest.mark.parametrize("name", KEPT)
def test_other_concatenations_are_copied(name: str) -> None:
    """A part in two places, one in another order, and parts that do not lie one after another."""
    x, y = product(0, 8), product(2, 8)
    whole = KEPT[name](x, y)
    graph = graph_of(reduction.sum(contraction.matmul(whole, swapped(whole)), (0,)))
    assert not parts_of(written(graph).program.launches)
    arrays = sample(graph)
    one, two = products(arrays)
    joined = {
        "twice": np.concatenate([one, one, two]),
        "turned": np.concatenate([one.T, two]),
        "across": np.concatenate([one, two], 1),
    }[name]
    (found,) = Compiled(graph)(arrays)
    np.testing.assert_allclose(found, (joined @ joined.T).sum(0, keepdims=True), 1e-12)


def test_a_part_belongs_to_one_whole() -> None:
    x, y = product(0, 8), product(2, 8)
    graph = graph_of(in_two(x, y))
    assert len(parts_of(written(graph).program.launches)) == 2
    arrays = sample(graph)
    one, two = products(arrays)
    (found,) = Compiled(graph)(arrays)
    expected = np.concatenate([one, two]) @ np.concatenate([two, one]).T
    np.testing.assert_allclose(found, expected, 1e-12)


def test_a_part_that_is_a_result_has_memory_of_its_own() -> None:
    x, y = product(0, 8), product(2, 8)
    whole = movement.concat((x, y), 0)
    graph = graph_of(x, reduction.sum(whole * whole, (0,)))
    assert not parts_of(written(graph).program.launches)
    arrays = sample(graph)
    one, two = products(arrays)
    for found, expected in zip(Compiled(graph)(arrays), (one, of_squares([one, two])), strict=True):
        np.testing.assert_allclose(found, expected, 1e-12)


def test_what_a_loop_has_kept_is_a_part() -> None:
    graph = LOOPS["recurrent"]()
    launches = [each for each, _ in flat(written(graph).program.launches)]
    assert not [each.label for each in launches if "concat" in each.label]


def test_a_part_without_elements() -> None:
    whole = movement.concat((product(0, 0), product(2, 8)), 0)
    graph = graph_of(reduction.sum(whole * whole, (0,)))
    arrays = sample(graph)
    (found,) = Compiled(graph)(arrays)
    np.testing.assert_allclose(found, of_squares(products(arrays)), 1e-12)
