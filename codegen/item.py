"""Items: the nodes that kernels write, each as the value of one element over its own axes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from math import prod

from ..tracer.ir import Node
from ..tracer.ops.kinds import Reduction
from .index import Axis, of_axis
from .lower import Lowering, axes_of
from .value import Load, Select, Stride, Value

Extents = tuple[int, ...]


@dataclass(eq=False)
class Item:
    """A node that a kernel writes.

    For a reduction, `value` is the element that is reduced, over the axes of the reduction's input,
    and `reduced` tells which of these go. One that is `spread` takes its places in turn by their
    distance.
    """

    node: Node
    axes: tuple[Axis, ...]
    value: Value
    reduced: frozenset[Axis] = frozenset()
    loads: list[Load] = field(default_factory=list)
    values: set[Value] = field(default_factory=set)
    spread: bool = False

    @property
    def extents(self) -> Extents:
        """The extents of the item's axes."""
        return tuple(axis.extent for axis in self.axes)

    @property
    def size(self) -> int:
        """The number of elements that are computed."""
        return prod(self.extents)

    @property
    def reduction(self) -> Reduction | None:
        """The operator, where it is a reduction."""
        return self.node.op if isinstance(self.node.op, Reduction) else None

    @property
    def is_positional(self) -> bool:
        """Whether the item is a reduction that finds a place (argmax, argmin)."""
        return self.reduction is not None and self.reduction.result == "index"


def item_of(node: Node, lowering: Lowering) -> Item:
    """The item that computes `node`."""
    if not isinstance(node.op, Reduction):
        axes, coordinates = axes_of(node.shape)
        return _counted(Item(node, axes, lowering.computed(node, coordinates)))
    (source,), (reduced_axes,) = node.inputs, node.attrs
    axes, coordinates = axes_of(source.shape)
    lost = {coordinates[axis] for axis in reduced_axes}
    reduced = frozenset(axis for axis in axes if of_axis(axis) in lost)
    return _counted(Item(node, axes, lowering.element(source, coordinates), reduced))


def _counted(item: Item) -> Item:
    for each in values_below([item.value]):
        item.values.add(each)
        if isinstance(each, Load):
            item.loads.append(each)
        if isinstance(each, Load | Select) and not item.spread:
            item.spread = any(isinstance(asked, Stride) for asked in each.conditions)
    return item


def values_below(roots: Iterable[Value]) -> list[Value]:
    """`roots` and all values that they are computed from, operands first."""
    order: list[Value] = []
    done: set[Value] = set()
    stack = list(reversed(list(roots)))
    while stack:
        top = stack[-1]
        waiting = [each for each in top.operands if each not in done] if top not in done else []
        if waiting:
            stack.extend(reversed(waiting))
            continue
        stack.pop()
        if top not in done:
            done.add(top)
            order.append(top)
    return order
