"""Loops: a body that is run again and again, as nodes for the values that leave it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from ..tracer.graph import Graph
from ..tracer.ir import Attributes, Node, Op, TensorType

Piece = tuple[int, int]
"""A part of one of the loop's inputs: the number of the input, and the element it begins at."""


@dataclass(frozen=True)
class Outside:
    """What a body reads of the loop's inputs: a piece for each step."""

    pieces: tuple[Piece, ...]


@dataclass(frozen=True)
class Carried:
    """What a body reads of the step that was `lag` before; the first steps read `initial`."""

    output: int
    lag: int
    initial: tuple[Piece, ...]


Feed = Outside | Carried


@dataclass(frozen=True)
class LoopOp(Op):
    """A value of each step of a loop, one after another: (slots, *shape).

    The attributes are the loop and the number of the value among the results of its body. It exists
    only between the passes of the compiler, which makes it and takes it apart.
    """

    kind: ClassVar[str] = "loop"

    def infer(self, types: tuple[TensorType, ...], attrs: Attributes) -> TensorType:
        """The type of one step's value, in as many slots as are kept."""
        loop, output = attrs
        of_step: TensorType = loop.body.outputs[output].type
        return of_step._replace(shape=(loop.slots[output], *of_step.shape))


def _no_reference(*arrays: object) -> None:
    raise AssertionError("loops are found behind the interpreter")


loop_op = LoopOp("loop", reference=_no_reference, vjp=None, attributes=("loop", "output"))


class Loop:
    """`count` steps of `body`, whose inputs are `feeds` and whose results go round in `slots`.

    `inputs` are the nodes outside that the steps read. `stacks` are the nodes for the results. In a
    loop that is `descending`, results that are all kept lie in the reverse order of the steps, so
    that those of an adjoint lie as what it goes back through.
    """

    def __init__(
        self,
        body: Graph,
        count: int,
        feeds: Sequence[Feed],
        slots: Sequence[int],
        inputs: Sequence[Node],
        descending: bool = False,
    ) -> None:
        self.body = body
        self.count = count
        self.feeds = tuple(feeds)
        self.slots = tuple(slots)
        self.inputs = tuple(inputs)
        self.descending = descending
        self.stacks = tuple(self._stack(number) for number in range(len(slots)))

    def with_inputs(self, inputs: Sequence[Node]) -> Loop:
        """The same steps, reading other nodes of the same types."""
        return Loop(self.body, self.count, self.feeds, self.slots, inputs, self.descending)

    def slot(self, slots: int, step: int) -> int:
        """In which of so many slots the result of a step lies."""
        descends = self.descending and slots == self.count
        return self.count - 1 - step if descends else step % slots

    def _stack(self, output: int) -> Node:
        attrs = (self, output)
        kind = loop_op.infer((), attrs)
        return Node(loop_op, self.inputs, attrs, kind, self.body.outputs[output].origin)
