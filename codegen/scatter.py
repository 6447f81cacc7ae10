"""Scatters: the base is copied, then line after line of the updates is written."""

from __future__ import annotations

from math import prod

from ..tracer.ir import Node
from ..tracer.ops.elementwise import checked_index
from ..tracer.ops.kinds import Scatter
from .assemble import Assembly, Names, label_of
from .cluster import Clustering
from .index import Axis, Index, of_axis, of_place, row_major
from .item import Item, values_below
from .kernel import Argument, Kernel, Launch, Let, Put, Stage, Statement
from .lower import Lowering, axes_of
from .target import Target
from .value import Apply, Held, Load, Number, Slot, Value


def scatter_launches(
    node: Node, lowering: Lowering, names: Names, target: Target
) -> list[Launch]:
    """The kernels that compute the scatter `node`."""
    base = node.inputs[0]
    axes, coordinates = axes_of(base.shape)
    clustering = Clustering()
    clustering.add(Item(node, axes, lowering.element(base, coordinates)))
    copy = Assembly(clustering.clusters[0], {node}, names, target).build()
    return [*copy, _update(node, lowering, names)]


def _update(node: Node, lowering: Lowering, names: Names) -> Kernel:
    """Goes over the indices in their order, since several may name one line."""
    assert isinstance(node.op, Scatter)
    base, indices, updates = node.inputs
    (axis,) = node.attrs
    behind = axis + indices.ndim
    _, here = axes_of(updates.shape)
    found = lowering.element(indices, here[axis:behind])
    place = of_place(lowering.builder.place(found, base.shape[axis]))
    offset = row_major((*here[:axis], place, *here[behind:]), base.shape)
    value = lowering.element(updates, here)
    rows = _axes(here[axis:behind])
    inner = _axes((*here[:axis], *here[behind:]))
    return _ordered_kernel(node, (rows, inner), (offset, found, value), names)


def _axes(coordinates: tuple[Index, ...]) -> tuple[Axis, ...]:
    return tuple(atom for each in coordinates for atom, _ in each.terms if isinstance(atom, Axis))


def _ordered_kernel(
    node: Node,
    space: tuple[tuple[Axis, ...], tuple[Axis, ...]],
    written: tuple[Index, Value, Value],
    names: Names,
) -> Kernel:
    assert isinstance(node.op, Scatter)
    rows, inner = space
    offset, place, value = written
    variables: dict[Value, str] = {}
    checks: dict[Value, int] = {}
    reads: dict[Node, str] = {}
    arguments = [Argument("y0", names.written(node), True)]
    row: list[Statement] = []
    body: list[Statement] = []
    for each in values_below([place, value]):
        if isinstance(each, Number | Slot | Held):
            continue
        variables[each] = f"v{len(variables)}"
        (row if each.axes.isdisjoint(inner) else body).append(Let(variables[each], each))
        if isinstance(each, Load) and each.node not in reads:
            reads[each.node] = f"x{len(reads)}"
            arguments.append(Argument(reads[each.node], names.read(each.node), False))
        if isinstance(each, Apply) and each.op is checked_index:
            checks[each] = names.check(each.made_by)
    how = "add" if node.op.accumulate else "set"
    (body if inner else row).append(Put("y0", offset, value, how))
    extents = (axis.extent for axis in (*rows, *inner))
    return Kernel(
        label=label_of([node]),
        rows=rows,
        inner=inner,
        stages=(Stage(tuple(row), tuple(body), (), ()),),
        arguments=tuple(arguments),
        accumulators=(),
        names=variables,
        reads=reads,
        checks=checks,
        split="rows",
        chunk=max(prod(axis.extent for axis in rows), 1),
        work=prod(extents),
        ordered=True,
    )
