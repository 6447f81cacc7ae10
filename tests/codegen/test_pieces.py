"""Pieces: the values of a loop, and where they lie."""

import pytest
from contract.compute import leaf
from gradc.codegen.loop import Loop, Outside
from gradc.codegen.lower import Lowering, axes_of
from gradc.codegen.pieces import InMemory
from gradc.codegen.value import Load
from gradc.tracer.dtypes import float32
from gradc.tracer.ir import Node
from gradc.tracer.ops import elementwise as e
from gradc.tracer.ops import movement
from graphs.build import graph_of

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
