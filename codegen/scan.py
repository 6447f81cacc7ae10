"""Scans: each line is gone through from its start, with the result so far at hand."""

from __future__ import annotations

from ..tracer.ir import Node
from ..tracer.ops.kinds import Scan
from .assemble import CHUNK_WORK, Names
from .index import ZERO, row_major
from .kernel import Accumulate, Accumulator, Launch, Put
from .lower import Lowering, axes_of
from .plain import RESULT, PlainKernel, axes_in
from .spelling import wide_dtype
from .target import Target
from .value import Held


def scan_launches(node: Node, lowering: Lowering, names: Names, target: Target) -> list[Launch]:
    """The kernel that computes the scan `node`: a row is a line along its axis."""
    assert isinstance(node.op, Scan)
    (source,), (axis,) = node.inputs, node.attrs
    _, here = axes_of(source.shape)
    rows, inner = axes_in((*here[:axis], *here[axis + 1 :])), axes_in((here[axis],))
    kernel = PlainKernel(node, rows, inner, names)
    value = lowering.element(source, here)
    kernel.compute(value)
    carry = Accumulator("so_far", node.op, node.dtype, "carry", wide_dtype(node.op, node.dtype))
    result = Held(node.dtype, node, axes=frozenset(inner))
    kernel.variables[result] = f"{carry.name}_sum"
    kernel.last.append(Accumulate(carry, value, ZERO))
    kernel.last.append(Put(RESULT, row_major(here, node.shape), result))
    length = max(source.shape[axis], 1) * kernel.weight
    chunk = 1 if target.language == "cuda" else max(CHUNK_WORK // length, 1)
    return [kernel.finished((carry,), chunk=min(chunk, max(kernel.row_count, 1)))]
