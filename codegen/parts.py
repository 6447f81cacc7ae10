"""Parts side by side: a tensor of many parts is put together from groups of them.

Each element of such a tensor asks which part it belongs to, and so does the code of its kernel,
which grows with the parts faster than compilers can bear. The kernels of groups of one size are
alike, and are written once.
"""

from __future__ import annotations

from ..tracer.graph import Graph
from ..tracer.ir import Node, on_behalf_of, with_inputs
from ..tracer.ops import movement
from .loop import Loop, loop_op

MOST_PARTS = 8
"""Parts that are put side by side at once."""


def grouped(graph: Graph) -> tuple[Graph, dict[Node, Node]]:
    """`graph` with few parts in each concatenation, and what stands in place of its nodes."""
    order = graph.nodes()
    if not any(_is_long(each) for each in order):
        return graph, {}
    image: dict[Node, Node] = {}
    loops: dict[Loop, Loop] = {}
    for each in order:
        inputs = tuple([image[i] for i in each.inputs])
        made = each
        if inputs != each.inputs and each.op is loop_op:
            loop, output = each.attrs
            made = loops.setdefault(loop, loop.with_inputs(inputs)).stacks[output]
        elif inputs != each.inputs:
            made = with_inputs(each, inputs)
        with on_behalf_of(each.origin):
            image[each] = _in_groups(made)
    outputs = tuple(image[each] for each in graph.outputs)
    return Graph(graph.inputs, graph.floats, graph.ints, outputs), image


def _is_long(x: Node) -> bool:
    return x.op is movement.concat_op and len(x.inputs) > MOST_PARTS


def _in_groups(made: Node) -> Node:
    while _is_long(made):
        (axis,), parts = made.attrs, made.inputs
        groups = [parts[at : at + MOST_PARTS] for at in range(0, len(parts), MOST_PARTS)]
        made = movement.concat(tuple(movement.concat(each, axis) for each in groups), axis)
    return made
