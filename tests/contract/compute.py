"""Nodes on arrays: what the contract tests compute with the interpreter."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from gradc.tracer.dtypes import DType, float64
from gradc.tracer.graph import canonical
from gradc.tracer.interpret import interpret
from gradc.tracer.ir import Node, Shape, node
from gradc.tracer.ops import OPS, sources

Array = np.ndarray[Any, Any]


def leaf(slot: int, shape: Shape = (), dtype: DType = float64) -> Node:
    """The input number `slot`, on the CPU."""
    return node(sources.input_, (), (slot, dtype, shape, "cpu"))


def applied(name: str, *operands: Any) -> Node:
    """The operator `name` as its record is called: it brings its operands together."""
    record: Any = OPS[name]
    made: Node = record(*operands)
    return made


def compute(
    outputs: Sequence[Node],
    arrays: Sequence[Any] = (),
    floats: Sequence[float] = (),
    ints: Sequence[int] = (),
) -> list[Array]:
    """The values of `outputs`; the array number k belongs to the leaf of slot k."""
    graph, binding = canonical(outputs)
    chosen = [np.asarray(arrays[each.attrs[0]]) for each in binding.inputs]
    return interpret(
        graph, chosen, [floats[slot] for slot in binding.floats], [ints[k] for k in binding.ints]
    )
