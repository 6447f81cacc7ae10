"""Pieces: the values of a loop, and where they lie."""

import itertools

import pytest
from contract.compute import leaf
from gradc.codegen.index import constant
from gradc.codegen.loop import Loop, Outside
from gradc.codegen.lower import Lowering, axes_of
from gradc.codegen.pieces import InMemory
from gradc.codegen.value import Load
from gradc.tracer.dtypes import float32
from gradc.tracer.ir import Node
from gradc.tracer.ops import elementwise as e
from gradc.tracer.ops import movement
from graphs.build import graph_of
from walk import walk

SLOTS = 7


def stack_of(shape: tuple[int, ...]) -> Node:
    """The values of a loop that keeps all of them."""
    body = graph_of(e.tanh(leaf(0, shape, float32)))
    source = leaf(0, (SLOTS, *shape), float32)
    size = source.type.size // SLOTS
    feed = Outside(tuple((0, step * size) for step in range(SLOTS)))
    return Loop(body, SLOTS, [feed], [SLOTS], [source]).stacks[0]


@pytest.mark.parametrize("shape", [(), (1,), (5,), (4, 1, 3)])
@pytest.mark.parametrize("moved", [False, True])
def test_a_slot_lies_where_lowering_would_read_it(shape: tuple[int, ...], moved: bool) -> None:
    memory, stack = InMemory(), stack_of(shape)
    for slot in range(SLOTS):
        part = memory.slot(stack, slot, stack.attrs[0].body.outputs[0])
        assert part.type == stack.attrs[0].body.outputs[0].type
        assert part is memory.slot(stack, slot, part)
        if moved:
            order = tuple(reversed(range(part.ndim)))
            part = memory.made(movement.transpose_op, (part,), (order,), part)
        load = Lowering({stack}).element(part, axes_of(part.shape)[1])
        assert isinstance(load, Load)
        base, start, rest = memory.piece(part)
        assert base is load.node is stack
        assert rest.plus(start) == load.offset


def stacks_of(count: int, shape: tuple[int, ...]) -> list[Node]:
    """The values of a loop whose body has several results."""
    x = leaf(0, shape, float32)
    results = (e.tanh(x), e.sin(x), e.cos(x), e.exp(x))[:count]
    feed = Outside(tuple((0, step * x.type.size) for step in range(SLOTS)))
    sources = [leaf(0, (SLOTS, *shape), float32)]
    return list(Loop(graph_of(*results), SLOTS, [feed], [SLOTS] * count, sources).stacks)


@walk("axis", [0, 1, 2])
@walk("backwards", [False, True])
@walk("count", [1, 2, 3, 4])
def test_parts_of_several_stacks_in_turn_are_one_value(
    count: int, backwards: bool, axis: int
) -> None:
    """Every element is read where its part has it, and what is put together has few parts."""
    memory, shape = InMemory(), (2, 1, 3)
    stacks = stacks_of(count, shape)
    lone = leaf(1, shape, float32)
    slots = [memory.slot(each, k, lone) for k in range(SLOTS) for each in stacks]
    parts = [lone, *(reversed(slots) if backwards else slots), lone]
    joined = memory.joined(parts, axis, lone)
    assert joined.shape == tuple(n * (len(parts) if a == axis else 1) for a, n in enumerate(shape))
    assert [each.op for each in joined.inputs].count(movement.reshape_op) == 1
    assert len(joined.inputs) == 3
    lowering = Lowering({*stacks, lone})
    for at in itertools.product(*map(range, joined.shape)):
        inside = [place % shape[axis] if a == axis else place for a, place in enumerate(at)]
        part = parts[at[axis] // shape[axis]]
        found, right = (
            lowering.element(x, tuple(map(constant, place)))
            for x, place in ((joined, at), (part, inside))
        )
        assert isinstance(found, Load)
        assert isinstance(right, Load)
        assert (found.node, found.offset) == (right.node, right.offset)


def test_parts_that_are_not_in_turn_stay_parts() -> None:
    memory, shape = InMemory(), (2, 3)
    one, other = stacks_of(2, shape)
    lone = leaf(1, shape, float32)
    slots = [(one, 0), (other, 0), (one, 2), (other, 1), (one, 4), (other, 2), (one, 6), (other, 3)]
    parts = [memory.slot(stack, k, lone) for stack, k in slots]
    assert memory.joined(parts, 0, lone).inputs == tuple(parts)
