"""Pieces: what lies one after another among the values of a loop, and is one value therefore."""

from __future__ import annotations

from collections.abc import Sequence

from ..tracer.ir import Attributes, Node, Op, Shape, TensorType, node
from ..tracer.ops import movement
from .index import Index, row_major
from .loop import loop_op
from .lower import Lowering, axes_of
from .repetition import is_moved
from .value import Load


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
        """`parts` along `axis`; those that lie one after another in memory are one part."""
        made: list[Node] = []
        for group in self.neighbours(parts):
            block = self.block(group, like) if len(group) > 1 else None
            if block is None:
                made += group
                continue
            order = (*range(1, axis + 1), 0, *range(axis + 1, block.ndim))
            moved_block = self.made(movement.transpose_op, (block,), (order,), like)
            shape = list(group[0].shape)
            shape[axis] *= len(group)
            made.append(self.made(movement.reshape_op, (moved_block,), (tuple(shape),), like))
        if len(made) == 1:
            return made[0]
        return self.made(movement.concat_op, tuple(made), (axis,), like)

    def neighbours(self, parts: Sequence[Node]) -> list[list[Node]]:
        """`parts`, in groups of which each part lies as far from the one before as the others."""
        groups: list[list[Node]] = []
        last: tuple[Node, int] | None = None
        step = 0
        for part in parts:
            here = self.slot_of(part)
            fits = last is not None and here is not None and here[0] is last[0]
            if fits and last is not None and here is not None:
                moved_by = here[1] - last[1]
                if abs(moved_by) == 1 and (len(groups[-1]) == 1 or moved_by == step):
                    groups[-1].append(part)
                    last, step = here, moved_by
                    continue
            groups.append([part])
            last = here
        return groups

    def _of_all(self, shape: Shape) -> Index:
        """Where the elements of `shape` lie, one after another."""
        if shape not in self._row_major:
            self._row_major[shape] = row_major(axes_of(shape)[1], shape)
        return self._row_major[shape]

    def slot_of(self, part: Node) -> tuple[Node, int] | None:
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

    def block(self, parts: Sequence[Node], like: Node) -> Node | None:
        """`parts`, which are neighbouring values of a loop, along a new first axis."""
        found = [self.slot_of(each) for each in parts]
        if found[0] is None or found[1] is None:
            return None
        (base, first), (_, second) = found[0], found[1]
        starts = (first, *(0 for _ in base.shape[1:]))
        sizes = (len(parts), *base.shape[1:])
        steps = (second - first, *(1 for _ in base.shape[1:]))
        taken = base
        if (starts, sizes, steps) != ((0,) * base.ndim, base.shape, (1,) * base.ndim):
            taken = self.made(movement.slice_op, (base,), (starts, sizes, steps), like)
        shape = (len(parts), *parts[0].shape)
        if shape == taken.shape:
            return taken
        return self.made(movement.reshape_op, (taken,), (shape,), like)

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
