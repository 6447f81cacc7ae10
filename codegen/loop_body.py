"""Loop bodies: a loop, made from the first of its segments."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from ..tracer.graph import Graph
from ..tracer.ir import Node, TensorType, node, on_behalf_of
from ..tracer.ops import sources
from .fuse import unswapped
from .index import row_major
from .loop import Carried, Feed, Loop, Outside, Piece
from .lower import axes_of
from .pieces import InMemory, IrregularError, moved
from .repetition import Line, Run, is_moved
from .segments import Repeated
from .simplify import FILLING

MOST_KEPT = 1 << 26
"""Bytes that a loop of elementwise operators may keep of its steps."""


MANY_ROWS = 8
"""Rows of a product from which on its right matrix is packed."""


class Uses:
    """Which operators are read by which."""

    def __init__(self, line: Line, outputs: Iterable[Node]) -> None:
        results = np.array([line.base_place(each) for each in outputs], dtype=np.int64)
        counts = np.diff(line.firsts, append=len(line.bases))
        self.read = np.concatenate((line.bases, results))
        self.readers = np.repeat(np.arange(len(counts) + 1), (*counts, len(results)))

    def outside(self, run: Run) -> dict[int, int]:
        """The places in a segment that are read from outside of `run`, each with the first step
        whose value is."""
        inside = (self.read >= run.start) & (self.read < run.stop)
        inside &= (self.readers < run.start) | (self.readers >= run.stop)
        found: dict[int, int] = {}
        for place in np.unique(self.read[inside] - run.start).tolist():
            step, at = divmod(place, run.period)
            found[at] = min(found.get(at, step), step)
        return found


class Surroundings:
    """The graph that a loop is made for: as it was `given`, and what has become of it so far."""

    def __init__(self, given: Graph, line: Line) -> None:
        self.given = given
        self.line = line
        self.uses = Uses(line, given.outputs)
        self.memory = InMemory()
        self.image = {each: each for each in given.nodes() if each.op.kind == "source"}

    def operand(self, operand: Node) -> Node:
        """What stands in place of `operand`, moved as it is."""
        if not is_moved(operand):
            return self.image[operand]
        reference = self.line.reference(operand)
        image = self.image[reference.base]
        for each in reversed(reference.moves):
            image = self.memory.made(each.op, (image,), each.attrs, each)
        return image


class LoopMaking:
    """One loop: the body is made from the first segment."""

    def __init__(self, around: Surroundings, repeated: Repeated) -> None:
        self.around = around
        self.line = around.line
        self.run, self.links = repeated.run, repeated.links
        self.inputs: dict[Node, int] = {}
        self.leaves: list[Node] = []
        self.numbers: dict[object, int] = {}
        self.feeds: list[Feed] = []
        outside = around.uses.outside(self.run)
        lags = self._lags()
        self.exported = sorted({*outside, *lags})
        self.body: list[Node] = []
        for at in range(self.run.period):
            self.body.append(self._operator(at))
        outputs = tuple(self.body[at] for at in self.exported)
        if len(set(outputs)) < len(outputs):
            raise IrregularError
        last = self.run.count - 1
        slots = [
            self.run.count if outside.get(at, last) < last else lags.get(at, 0) + 1
            for at in self.exported
        ]
        self._require_room(outputs, slots)
        body = Graph(tuple(self.leaves), around.given.floats, around.given.ints, outputs)
        self.loop = Loop(
            body, self.run.count, self.feeds, slots, tuple(self.inputs), self._descends()
        )

    def _require_room(self, outputs: Sequence[Node], slots: Sequence[int]) -> None:
        """Operators that could be one kernel over large values are not torn into steps for a loop
        if that has to keep what they could compute again."""
        kept = sum(each.type.nbytes * many for each, many in zip(outputs, slots, strict=True))
        kept += sum(each.type.nbytes for each in self.inputs if each.op.kind == "elementwise")
        if kept > MOST_KEPT and all(each.op.kind == "elementwise" for each in self.body):
            raise IrregularError

    def _descends(self) -> bool:
        """Whether more of what is read lies in descending order than in ascending."""
        steps = [
            feed.pieces[-1][1] - feed.pieces[0][1]
            for feed in self.feeds
            if isinstance(feed, Outside) and feed.pieces[0][0] == feed.pieces[-1][0]
        ]
        return sum(step < 0 for step in steps) > sum(step > 0 for step in steps)

    def _lags(self) -> dict[int, int]:
        """The places that later segments read, with the greatest distance."""
        found: dict[int, int] = {}
        for own in self.links:
            for link in own:
                if link is not None and link[0]:
                    found[link[1]] = max(found.get(link[1], 0), link[0])
        return found

    def _segments(self, at: int) -> list[Node]:
        run = self.run
        return self.line.nodes[run.start + at : run.stop : run.period]

    def _operator(self, at: int) -> Node:
        first = self.line.nodes[self.run.start + at]
        with on_behalf_of(first.origin):
            inputs = tuple(
                self._operand(at, operand, link) for operand, link in enumerate(self.links[at])
            )
            made = node(first.op, inputs, first.attrs)
        if made.type != first.type:
            raise IrregularError
        return made

    def _operand(self, at: int, operand: int, link: tuple[int, int] | None) -> Node:
        nodes = self._segments(at)
        if link is None:
            given = [each.inputs[operand] for each in nodes]
            if operand == 1 and nodes[0].op.kind == "contraction":
                return self._right_factor(given, nodes[0].shape[-2])
            return self._outside(given)
        lag, source = link
        moves = self.line.reference(nodes[-1].inputs[operand]).moves
        if lag == 0:
            return moved(self.body[source], moves)
        return moved(self._carried(link, [each.inputs[operand] for each in nodes[:lag]]), moves)

    # ---- what comes from outside of a step

    def _carried(self, link: tuple[int, int], first: Sequence[Node]) -> Node:
        lag, at = link
        bases = [self.around.image[self.line.reference(each).base] for each in first]
        kind = self.line.nodes[self.run.start + at].type
        if any(each.type[:2] != kind[:2] for each in bases):
            raise IrregularError
        carried = Carried(self.exported.index(at), lag, tuple(self._whole(each) for each in bases))
        return self._leaf(carried, kind)

    def _whole(self, value: Node) -> Piece:
        """All of `value`, in row-major order; what is not must be stored so."""
        base, start, rest = self.around.memory.piece(value)
        _, coordinates = axes_of(value.shape)
        if rest == row_major(coordinates, value.shape):
            return self._input(base), start
        return self._input(value), 0

    def _outside(self, operands: Sequence[Node]) -> Node:
        """What stands in the body for `operands`, one of each segment."""
        images = [self.around.operand(each) for each in operands]
        if all(each is images[0] for each in images):
            return self._fixed(images[0])
        seen = self.line.reference(operands[0])
        fills = any(each.op in FILLING for each in seen.moves)
        if seen.base.op in (sources.constant, sources.scalar) and not fills:
            return images[0]  # in any place
        pieces = [self.around.memory.piece(each) for each in images]
        base, start, rest = pieces[0]
        if any(each.dtype != base.dtype or more != rest for each, _, more in pieces):
            raise IrregularError
        table = tuple((self._input(each), at - start) for each, at, _ in pieces)
        return self._behind(images[0], self._leaf(Outside(table), base.type))

    def _right_factor(self, operands: Sequence[Node], rows: int) -> Node:
        """What the steps multiply `rows` by. If it is one matrix for all, its own rows are laid out
        once: a product of more than a few that reads columns would turn them in every step."""
        image = self.around.operand(operands[0])
        same = all(each is operands[0] for each in operands)
        if not same or unswapped(image) is image or rows < MANY_ROWS:
            return self._outside(operands)
        return self._leaf(Outside(((self._input(image), 0),) * self.run.count), image.type)

    def _fixed(self, image: Node) -> Node:
        base = image
        while is_moved(base):
            (base,) = base.inputs
        if base.op.kind == "source" and base.op is not sources.input_:
            return image
        pieces = ((self._input(base), 0),) * self.run.count
        return self._behind(image, self._leaf(Outside(pieces), base.type))

    def _behind(self, image: Node, leaf: Node) -> Node:
        """`image`, with `leaf` in place of what lies in memory."""
        chain: list[Node] = []
        while is_moved(image):
            chain.append(image)
            (image,) = image.inputs
        return moved(leaf, chain)

    def _input(self, value: Node) -> int:
        return self.inputs.setdefault(value, len(self.inputs))

    def _leaf(self, feed: Feed, kind: TensorType) -> Node:
        if (feed, kind) not in self.numbers:
            self.numbers[feed, kind] = len(self.feeds)
            self.feeds.append(feed)
            attrs = (len(self.leaves), kind.dtype, kind.shape, kind.settled().device)
            self.leaves.append(node(sources.input_, (), attrs))
        return self.leaves[self.numbers[feed, kind]]
