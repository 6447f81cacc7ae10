"""The contract cases of one operator as one graph."""

from collections.abc import Iterable

import numpy as np
from contract.cases import Case, cases
from contract.compute import leaf
from gradc.tracer.graph import Graph, canonical
from graphs.compiled import Array

FLOATS, INTS = (2.75,), (3,)
"""The run-time numbers of the cases of the operator `scalar`."""


def of_op(name: str) -> list[Case]:
    """The cases of the operator `name`."""
    return [case for case in cases() if case.op == name]


def joined(listed: Iterable[Case]) -> tuple[Graph, list[Array]]:
    """One graph with an output for each case, and the arrays for it."""
    rng = np.random.default_rng(1)
    arrays: list[Array] = []
    outputs = []
    for case in listed:
        slots = range(len(arrays), len(arrays) + len(case.types))
        arrays += case.sample(rng)
        leaves = (leaf(slot, t.shape, t.dtype) for slot, t in zip(slots, case.types, strict=True))
        outputs.append(case.build(tuple(leaves)))
    graph, binding = canonical(outputs)
    return graph, [arrays[each.attrs[0]] for each in binding.inputs]
