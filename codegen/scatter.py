"""Scatters: the base is copied, then line after line of the updates is written."""

from __future__ import annotations

from ..tracer.ir import Node
from ..tracer.ops.kinds import Scatter
from .assemble import Assembly, Names
from .cluster import Clustering
from .index import of_place, row_major
from .item import Item
from .kernel import Kernel, Launch, Put
from .lower import Lowering, axes_of
from .plain import RESULT, PlainKernel, axes_in
from .target import Target


def scatter_launches(node: Node, lowering: Lowering, names: Names, target: Target) -> list[Launch]:
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
    value = lowering.element(updates, here)
    rows, inner = axes_in(here[axis:behind]), axes_in((*here[:axis], *here[behind:]))
    kernel = PlainKernel(node, rows, inner, names)
    kernel.compute(found, value)
    offset = row_major((*here[:axis], place, *here[behind:]), base.shape)
    how = "add" if node.op.accumulate else "set"
    kernel.last.append(Put(RESULT, offset, value, how))
    return kernel.finished(ordered=True, chunk=max(kernel.row_count, 1))
