"""Addends: a product that is added to something writes the sum, and no kernel adds it again.

Such are the inputs of a recurrent net's gates beside its states, and the terms of a sum of
products.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from dataclasses import replace

from ..tracer.dtypes import float32, float64
from ..tracer.ir import Node
from ..tracer.ops import elementwise
from .cluster import images
from .fuse import Fused, Matrix, Step, implicit_in, read_by
from .index import Axis, Index, row_major
from .item import Item
from .lower import axes_of
from .target import Target
from .value import Apply, Load


def with_addends(fused: Fused, outputs: Collection[Node], target: Target) -> Fused:
    """`fused`, whose products take up what is only added to them."""
    if target.language != "c":
        return fused
    reads = Counter(node for step in fused.steps for node in _read(step, fused))
    products = {
        node
        for node in (step.alone for step in fused.steps)
        if node is not None
        and node.op.kind == "contraction"
        and node.dtype in (float32, float64)
        and reads[node] == 1
        and node not in outputs
        and node not in fused.homes
        and implicit_in(node, fused.lowering, target) is None
    }
    made = [_taken_up(step, products) for step in fused.steps]
    gone = {step.alone for step in made if step.total is not None}
    kept = tuple(step for step in made if step.alone not in gone or step.total is not None)
    return replace(fused, steps=kept)


def _read(step: Step, fused: Fused) -> set[Node]:
    """The nodes in memory that the kernel of `step` reads."""
    if step.cluster is not None:
        return {load.node for item in step.cluster.items for load in item.loads}
    assert step.alone is not None
    return read_by(step.alone, fused.lowering)


def _taken_up(step: Step, products: Collection[Node]) -> Step:
    """The product that `step` adds something to, which writes the sum; or `step` as it is."""
    if step.cluster is None or len(step.cluster.items) != 1:
        return step
    (item,) = step.cluster.items
    value = item.value
    if item.reduced or not isinstance(value, Apply) or value.op is not elementwise.add:
        return step
    for one, other in (value.arguments, value.arguments[::-1]):
        if not isinstance(one, Load) or not isinstance(other, Load) or one is other:
            continue
        if one.node in products and _is_whole(one, item):
            addend = _matrix(other, item, one.node)
            if addend is not None:
                return Step(alone=one.node, total=item.node, addend=addend)
    return step


def _is_whole(load: Load, item: Item) -> bool:
    """Whether `load` goes through all of what it reads as `item` through what it writes."""
    _, coordinates = axes_of(item.node.shape)
    plain = not load.conditions and load.node.type.size == item.node.type.size
    return plain and load.offset == row_major(coordinates, item.node.shape)


def _matrix(load: Load, item: Item, product: Node) -> Matrix | None:
    """What `load` reads, over the rows and columns of `product`; rows may all be the same."""
    own = images(product.shape, item.axes)
    if load.conditions or own is None or not load.offset.is_affine():
        return None
    steps = [step for step in (_step(load.offset, each) for each in own) if step is not None]
    if len(steps) < len(own):
        return None
    *batch, row, column = steps
    rows, columns = product.shape[-2:]
    if row < 0 or (column != 1 and columns > 1):
        return None
    terms = ((Axis(number, product.shape[number]), step) for number, step in enumerate(batch))
    base = Index(load.offset.constant, tuple((axis, step) for axis, step in terms if step))
    return Matrix(load.node, base, row, 1, (rows, columns))


def _step(offset: Index, axis: Index) -> int | None:
    """How far `offset` moves with each step of `axis`, a row-major place among some of its own."""
    steps = {
        (offset.coefficient(atom), size) for atom, size in axis.terms if isinstance(atom, Axis)
    }
    if not steps:
        return 0
    step = min(steps, key=lambda pair: pair[1])[0]
    return step if all(found == step * size for found, size in steps) else None
