"""Rolling: what is repeated in a graph becomes a loop, so that it is compiled once.

Compilers take time that grows with the length of a program, and a training step that unrolls a
recurrent net or a solver is long. Segments that are equal (`repetition`) are looked at closely
here: each of them must read the same, or the result of the segment before, or one piece after
another of something that lies in memory.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..tracer.graph import Graph
from ..tracer.ir import Node
from ..tracer.ops import movement
from .loop_body import LoopMaking, Surroundings
from .pieces import IrregularError
from .product_sum import sum_of_products
from .repetition import Line, runs
from .segments import Repeated, repeated_segments

LEAST_NODES = 300
"""Nodes of a graph below which nothing is looked for."""


def rolled(graph: Graph) -> tuple[Graph, Mapping[Node, Node]]:
    """`graph` with loops for what it repeats, and what became of the nodes that are still there."""
    order = graph.nodes()
    if len(order) < LEAST_NODES:
        return graph, {}
    rolling = _Rolling(graph, order, Line(order))
    return rolling.graph, rolling.image


class _Rolling:
    """A graph on its way: its operators in their order, with loops in place of segments."""

    def __init__(self, graph: Graph, order: Sequence[Node], line: Line) -> None:
        self.around = Surroundings(graph, line)
        self.line, self.image, self.memory = line, self.around.image, self.around.memory
        found = (repeated_segments(line, run) for run in runs(line))
        starts = {each.run.start: each for each in found if each is not None}
        inside = 0
        for each in order if starts else ():
            place = line.places.get(each, -1)
            if place in starts and self._loop(starts[place]):
                inside = starts[place].run.stop
            if not 0 <= place < inside and all(source in self.image for source in each.inputs):
                self._keep(each)
        outputs = tuple(self.image.get(each, each) for each in graph.outputs)
        self.graph = Graph(graph.inputs, graph.floats, graph.ints, outputs)

    def _keep(self, each: Node) -> None:
        """What is in no loop stays, with other operands."""
        inputs = tuple(self.image[source] for source in each.inputs)
        if inputs == each.inputs:
            self.image[each] = each
        elif each.op is movement.concat_op:
            self.image[each] = self.memory.joined(inputs, each.attrs[0], each)
        else:
            self.image[each] = self.memory.made(each.op, inputs, each.attrs, each)

    def _loop(self, repeated: Repeated) -> bool:
        """Put a loop in the place of its segments, if what they read lies in some order."""
        run = repeated.run
        total = sum_of_products(self.around, repeated)
        if total is not None:
            self.image[self.line.nodes[run.stop - 1]] = total
            return True
        try:
            making = LoopMaking(self.around, repeated)
        except IrregularError:
            return False
        for at, stack in zip(making.exported, making.loop.stacks, strict=True):
            for step in range(run.count) if stack.shape[0] == run.count else (run.count - 1,):
                here = self.line.nodes[run.start + step * run.period + at]
                slot = making.loop.slot(stack.shape[0], step)
                self.image[here] = self.memory.slot(stack, slot, here)
        return True
