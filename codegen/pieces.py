"""Pieces: what lies one after another among the values of a loop, and is one value therefore."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ..tracer.ir import Attributes, Node, Op, Shape, TensorType, node
from ..tracer.ops import movement
from .index import Index, row_major
from .loop import loop_op
from .lower import Lowering, axes_of
from .repetition import is_moved
from .segments import ENOUGH
from .value import Load

MOST_STACKS = 2 * ENOUGH
"""Stacks whose parts are looked for in turn: as many steps as a body may do at once."""

LEAST_TURNS = 4
"""Turns from which on one tensor made of blocks is less than its parts."""

Slot = tuple[Node, int]
"""The values of a loop, and which of them."""


class IrregularError(Exception):
    """What a loop would read lies at places that have no order."""


def moved(base: Node, moves: Sequence[Node]) -> Node:
    """`base`, moved as `moves` do, of which the outermost comes first."""
    for each in reversed(moves):
        base = node(each.op, (base,), each.attrs)
    return base


class InMemory:
    """What values are parts of, in memory. The nodes that are made here belong to one graph: the
    table of all nodes would keep its loops alive."""

    def __init__(self) -> None:
        self._table: dict[tuple[Op, tuple[Node, ...], Attributes], Node] = {}
        self._offsets: dict[object, tuple[int, Index]] = {}
        self._slots: dict[Node, tuple[Node, int]] = {}
        self._slot_types: dict[Node, tuple[TensorType, TensorType]] = {}
        self._row_major: dict[Shape, Index] = {}

    def made(
        self,
        op: Op,
        inputs: tuple[Node, ...],
        attrs: Attributes,
        like: Node,
        kind: TensorType | None = None,
    ) -> Node:
        """A node of this graph alone, of the type `kind`, where that is known already."""
        key = (op, inputs, attrs)
        found = self._table.get(key)
        if found is None:
            kind = kind or op.infer(tuple(each.type for each in inputs), attrs)
            found = self._table[key] = Node(op, inputs, attrs, kind, like.origin)
        return found

    def slot(self, stack: Node, slot: int, like: Node) -> Node:
        """One value among those of a loop, which is of the shape of `like`."""
        shape = like.type.shape
        box = ((slot, *(0 for _ in shape)), (1, *shape), (1,) * (len(shape) + 1))
        line_type, own_type = self._slot_types.get(stack, (None, None))
        line = self.made(movement.slice_op, (stack,), box, like, line_type)
        made = self.made(movement.reshape_op, (line,), (shape,), like, own_type)
        self._slot_types[stack] = line.type, made.type
        self._slots[made] = stack, slot
        return made

    def joined(self, parts: Sequence[Node], axis: int, like: Node) -> Node:
        """`parts` along `axis`; those that lie one after another in memory are one part.

        A body of few operators does several steps at once, and has a stack for each of them. Of two
        the parts are s[0], t[0], s[1], t[1] and so on: turn by turn what s and t have side by side.
        """
        made: list[Node] = []
        for group, stacks in self.in_turn(parts):
            if len(group) > 1:
                blocks = [self._block(group[k::stacks], like) for k in range(stacks)]
                made.append(self._side_by_side(blocks, axis, like))
            else:
                made += group
        if len(made) == 1:
            return made[0]
        return self.made(movement.concat_op, tuple(made), (axis,), like)

    def in_turn(self, parts: Sequence[Node]) -> Iterator[tuple[Sequence[Node], int]]:
        """`parts` in groups, each with the number of stacks that its parts come from in turn."""
        slots = [self.slot_of(each) for each in parts]
        start = 0
        while start < len(parts):
            stacks, turns = _most_in_turn(parts, slots, start)
            yield parts[start : start + stacks * turns], stacks
            start += stacks * turns

    def _side_by_side(self, blocks: Sequence[Node], axis: int, like: Node) -> Node:
        """The parts of `blocks`, counted by their first axes, in turn along `axis`."""
        turns, *shape = blocks[0].shape
        block = blocks[0]
        if len(blocks) > 1:
            lines = [self._reshaped(each, (turns, 1, *shape), like) for each in blocks]
            block = self.made(movement.concat_op, tuple(lines), (1,), like)
            block = self._reshaped(block, (turns * len(blocks), *shape), like)
        order = (*range(1, axis + 1), 0, *range(axis + 1, block.ndim))
        moved_block = self.made(movement.transpose_op, (block,), (order,), like)
        shape[axis] *= block.shape[0]
        return self._reshaped(moved_block, tuple(shape), like)

    def _reshaped(self, x: Node, shape: Shape, like: Node) -> Node:
        return self.made(movement.reshape_op, (x,), (shape,), like)

    def _of_all(self, shape: Shape) -> Index:
        """Where the elements of `shape` lie, one after another."""
        if shape not in self._row_major:
            self._row_major[shape] = row_major(axes_of(shape)[1], shape)
        return self._row_major[shape]

    def slot_of(self, part: Node) -> Slot | None:
        """The values of a loop, and which of them all of `part` is."""
        try:
            base, start, rest = self.piece(part)
        except IrregularError:
            return None
        size = part.type.size
        whole = rest == self._of_all(part.shape)
        if (
            base.op is not loop_op
            or not whole
            or size * base.shape[0] != base.type.size
            or not size
        ):
            return None
        return base, start // size

    def _block(self, parts: Sequence[Node], like: Node) -> Node:
        """`parts`, which are neighbouring values of a loop, along a new first axis."""
        slots = [self.slot_of(each) for each in parts[:2]]
        assert slots[0] is not None and slots[1] is not None
        (base, first), (_, second) = slots[0], slots[1]
        starts = (first, *(0 for _ in base.shape[1:]))
        sizes = (len(parts), *base.shape[1:])
        steps = (second - first, *(1 for _ in base.shape[1:]))
        taken = base
        if (starts, sizes, steps) != ((0,) * base.ndim, base.shape, (1,) * base.ndim):
            taken = self.made(movement.slice_op, (base,), (starts, sizes, steps), like)
        shape = (len(parts), *parts[0].shape)
        return taken if shape == taken.shape else self._reshaped(taken, shape, like)

    def piece(self, operand: Node) -> tuple[Node, int, Index]:
        """What `operand` is a part of, in memory; the first element, and the others behind it."""
        known = self._slots.get(operand)
        if known is not None:
            stack, slot = known
            return stack, slot * operand.type.size, self._of_all(operand.type.shape)
        base, chain = operand, list[Node]()
        while is_moved(base):
            chain.append(base)
            (base,) = base.inputs
        key = (base.shape, tuple((each.op, each.attrs) for each in chain))
        if key not in self._offsets:
            _, coordinates = axes_of(operand.shape)
            value = Lowering({base}).element(operand, coordinates)
            plain = isinstance(value, Load) and not value.conditions and value.offset.is_affine()
            if not plain:
                raise IrregularError
            assert isinstance(value, Load)
            offset = value.offset
            self._offsets[key] = offset.constant, offset.plus(-offset.constant)
        return base, *self._offsets[key]


def _most_in_turn(
    parts: Sequence[Node], slots: Sequence[Slot | None], start: int
) -> tuple[int, int]:
    """How many stacks the parts from `start` on come from in turn, and for how many turns.

    The choice that covers most; (1, 1) where nothing follows on.
    """
    best = (1, 1)
    for stacks in range(1, min(MOST_STACKS, (len(parts) - start) // 2) + 1):
        if any(parts[start + k].shape != parts[start].shape for k in range(stacks)):
            break
        turns = _turns(slots, start, stacks)
        if turns >= (2 if stacks == 1 else LEAST_TURNS) and stacks * turns > best[0] * best[1]:
            best = (stacks, turns)
    return best


def _turns(slots: Sequence[Slot | None], start: int, stacks: int) -> int:
    """For how many turns the next part of each of `stacks` stacks lies beside the one before."""
    steps: list[int] = []
    stop = start + stacks
    while stop < len(slots):
        here, before = slots[stop], slots[stop - stacks]
        if here is None or before is None or here[0] is not before[0]:
            break
        step = here[1] - before[1]
        if len(steps) < stacks:
            steps.append(step)
        if abs(step) != 1 or step != steps[(stop - start) % stacks]:
            break
        stop += 1
    return (stop - start) // stacks
