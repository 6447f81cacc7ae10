"""Implicit products: contractions with an operand that is read through an index map.

An operand that is made of windows repeats each element of an image once per place of the window.
Where it is an affine view of something that lies in memory, the product reads it from there, and it
is never stored. As the right operand its rows are read in vectors, which lie along the columns of
the result: the places of a convolution. As the left one its elements are read one by one, and the
vectors lie along the columns of the other operand: the channels of a cotangent, in the gradient of
the weights.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from ..tracer.dtypes import float32, float64
from ..tracer.ir import Node
from .cluster import position
from .index import Axis, Index, of_axis, substituted
from .layout import Numbering, arranged, factors
from .lower import Coordinates, Lowering
from .value import Load

LEAST_COLUMNS = 4
"""Columns that fill the smallest vector."""

MOST_DEPTH = 1 << 14
"""Steps of the depth of which the places are kept on the stack."""

MOST_PACKED = 1 << 12
"""Steps of the depth where the rows of the right operand are copied together."""

FARTHEST = (1 << 31) - 1
"""The last place that a kernel can name: it keeps places as int32_t."""

REPEATS = 1.5
"""How often, at least, each element in memory occurs in an operand that is worth it."""

MOST_REPEATS = 2
"""How often, at most, where the operand is packed as it is."""


@dataclass(frozen=True)
class Reading:
    """An operand: the node in memory and the offset of element (batch, row or column, depth)."""

    node: Node
    offset: Index


@dataclass(frozen=True)
class Implicit:
    """A contraction as an implicit product, its axes split so that the readings are sums over them.

    Where `a` is None it is the right operand that is read through an index map; the left one, which
    may be anything, is packed beforehand.
    """

    node: Node
    batch: tuple[Axis, ...]
    rows: tuple[Axis, ...]
    columns: tuple[Axis, ...]
    depth: tuple[Axis, ...]
    a: Reading | None
    b: Reading

    @property
    def stored(self) -> set[Node]:
        """What must lie in memory."""
        return {self.b.node} if self.a is None else {self.a.node, self.b.node}


class _Space:
    """The axes of a contraction: those of the batch, the row, the step of the depth, the column."""

    def __init__(self, node: Node) -> None:
        a, b = node.inputs
        lead = node.ndim - 2
        self.batch = tuple(Axis(number, extent) for number, extent in enumerate(node.shape[:lead]))
        self.row = Axis(lead, node.shape[-2])
        self.depth = Axis(lead + 1, a.shape[-1])
        self.column = Axis(lead + 2, node.shape[-1])
        self.a = (*self._lead(a), of_axis(self.row), of_axis(self.depth))
        self.b = (*self._lead(b), of_axis(self.depth), of_axis(self.column))

    def _lead(self, operand: Node) -> Coordinates:
        own = self.batch[len(self.batch) - (operand.ndim - 2) :]
        pairs = zip(own, operand.shape, strict=False)
        return tuple(of_axis(Axis(axis.number, min(axis.extent, n))) for axis, n in pairs)


def implicit(node: Node, in_memory: Collection[Node]) -> Implicit | None:
    """`node` as an implicit product, if it can be one and that saves memory."""
    if node.dtype not in (float32, float64) or node.type.size == 0 or node.inputs[0].shape[-1] < 2:
        return None
    space = _Space(node)
    a, b = node.inputs
    left, right = _reading(a, space.a, in_memory), _reading(b, space.b, in_memory)
    if right is not None and _repeats(b, right):
        return _right(node, space, left, right)
    if left is not None and right is not None and _repeats(a, left):
        return _split(node, space, left, right)
    return None


def _repeats(operand: Node, reading: Reading) -> bool:
    return operand.type.size >= REPEATS * reading.node.type.size


def _reading(node: Node, at: Coordinates, in_memory: Collection[Node]) -> Reading | None:
    """The deepest value below movements of which `node` is a view without conditions."""
    chain = [node]
    while chain[-1].op.kind == "movement" and len(chain[-1].inputs) == 1:
        if chain[-1] in in_memory:
            break
        chain.append(chain[-1].inputs[0])
    for each in reversed(chain):
        value = Lowering({each}).element(node, at)
        plain = isinstance(value, Load) and not value.conditions and not value.parts
        if isinstance(value, Load) and plain and _splits(value.offset):
            return Reading(value.node, value.offset)
    return None


def _splits(offset: Index) -> bool:
    """Whether the axes of `offset` can be split so that it needs no division."""
    numbering = Numbering(1 + max((axis.number for axis in offset.axes()), default=0))
    image: dict[Axis, Index] = {}
    for axis in offset.axes():
        image[axis] = position([numbering.axis(extent) for extent in factors(axis, [offset])])
    return substituted(offset, image, {}).is_affine()


def _right(node: Node, space: _Space, left: Reading | None, right: Reading) -> Implicit | None:
    """The product if its left operand is no larger than what lies in memory of it."""
    a = node.inputs[0]
    if left is not None and a.type.size > MOST_REPEATS * left.node.type.size:
        return None
    made = _split(node, space, None, right)
    if made is None or node.shape[-1] < LEAST_COLUMNS or a.shape[-1] > MOST_DEPTH:
        return None
    return made if is_in_place(made) or a.shape[-1] <= MOST_PACKED else None


def is_in_place(made: Implicit) -> bool:
    """Whether vectors of the right operand lie in memory as the product needs them."""
    if not made.columns:
        return False
    last = made.columns[-1]
    return made.b.offset.coefficient(last) == 1 and last.extent >= 2 * LEAST_COLUMNS


def _split(node: Node, space: _Space, left: Reading | None, right: Reading) -> Implicit | None:
    """The product over axes of which all offsets are sums."""
    readings = (right,) if left is None else (left, right)
    offsets = {each.offset for each in readings}
    numbering = Numbering(space.column.number + 1)
    image: dict[Axis, Index] = {}
    rows, columns, depth = (
        tuple(each for each in arranged([axis], offsets, numbering, image) if each.extent != 1)
        for axis in (space.row, space.column, space.depth)
    )
    moved = [Reading(each.node, substituted(each.offset, image, {})) for each in readings]
    if not all(each.offset.is_affine() and each.offset.bounds()[1] <= FARTHEST for each in moved):
        return None
    a = moved[0] if left is not None else None
    return Implicit(node, space.batch, rows, columns, depth, a, moved[-1])
