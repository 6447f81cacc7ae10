"""Sorts: the order of each line, by a function of the prelude that is written for the type."""

from __future__ import annotations

from ..tracer.dtypes import int64
from ..tracer.ir import Node
from .assemble import CHUNK_WORK, Names, label_of
from .kernel import Launch, Memory, Sorting
from .lower import Lowering
from .target import Target

COST_OF_ELEMENT = 32
"""Additions that it is worth to put one element in its place."""


def sort_launches(node: Node, lowering: Lowering, names: Names, target: Target) -> list[Launch]:
    """The kernel that computes the order `node` of the lines of its input."""
    (source,), (descending, count) = node.inputs, node.attrs
    length = source.shape[-1]
    rows = source.type.size // max(length, 1)
    per_row = max(length * COST_OF_ELEMENT, 1)
    chunk = 1 if target.language == "cuda" else max(CHUNK_WORK // per_row, 1)
    chunk = min(chunk, max(rows, 1))
    chunks = max(-(-rows // chunk), 1)
    return [
        Sorting(
            label=label_of([node]),
            dtype=source.dtype,
            rows=rows,
            length=length,
            count=count,
            chunk=chunk,
            descending=descending,
            source=names.read(source),
            scratch=Memory(int64, chunks * length * 2, "arena"),
            result=names.written(node),
        )
    ]
