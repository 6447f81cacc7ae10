"""The reference: a graph computed node by node with NumPy.

It is what the generated code is held against, what answers where there is no compiler, and what
runs a small graph that is seen for the first time.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .dtypes import DType, bfloat16, bool_, float16, float32
from .errors import BoundsError
from .graph import Graph
from .ir import Node
from .ops import sources
from .ops.kinds import clamped
from .ops.logic import checked_index

Array = np.ndarray[Any, Any]


def interpret(
    graph: Graph, inputs: Sequence[Array], floats: Sequence[float], ints: Sequence[int]
) -> list[Array]:
    """The outputs of `graph`, as arrays in the storage type of their dtypes."""
    values: dict[Node, Array] = {}
    with np.errstate(all="ignore"):
        for place, each in enumerate(graph.nodes()):
            if each.op is checked_index:
                _check(graph, place, values[each.inputs[0]])
            values[each] = _value(each, values, inputs, floats, ints)
    return [to_storage(values[each], each.dtype) for each in graph.outputs]


def _value(
    each: Node,
    values: dict[Node, Array],
    inputs: Sequence[Array],
    floats: Sequence[float],
    ints: Sequence[int],
) -> Array:
    if each.op is sources.input_:
        return from_storage(inputs[each.attrs[0]], each.dtype)
    if each.op is sources.scalar:
        slot, source, dtype = each.attrs
        number = floats[slot] if source == "f" else ints[slot]
        stated = np.asarray(number)
        if stated.dtype.kind == "f" and dtype.kind in "iu":
            return clamped(stated, dtype.storage)
        return rounded(stated, dtype)
    operands = [values[i] for i in each.inputs]
    attrs = [computing(a) if isinstance(a, DType) else a for a in each.attrs]
    return rounded(np.asarray(each.op.reference(*operands, *attrs)), each.dtype)


def _check(graph: Graph, place: int, places: Array) -> None:
    size, negative = graph.order[place].attrs
    wrong = places[(places < (-size if negative else 0)) | (places >= size)]
    if wrong.size:
        raise out_of_range(graph, place, int(wrong.flat[0]))


def out_of_range(graph: Graph, place: int, found: int) -> BoundsError:
    """What is raised for `found`, which was given to the check that is node `place` of `graph`."""
    each = graph.order[place]
    size, negative = each.attrs
    places = f"a place from {-size if negative else 0} to {size - 1}"
    expected = places if size else "none, as there are no elements"
    label = each.origin.label if each.origin else ""
    made = each.origin and f"first recorded at {each.origin}"
    return BoundsError(place, f"expected {expected}, found {found}", label, made or "")


def computing(dtype: DType) -> DType:
    """The type in which values of `dtype` are computed: float32 for the half types."""
    return float32 if dtype in (float16, bfloat16) else dtype


def from_storage(array: Array, dtype: DType) -> Array:
    """Stored elements in the type in which they are computed."""
    if dtype is bfloat16:
        return np.asarray(array.astype(np.uint32) << 16).view(np.float32)
    return array.astype(np.float32) if dtype is float16 else array


def to_storage(array: Array, dtype: DType) -> Array:
    """Computed elements as they are stored, without gaps."""
    stored = _to_bfloat16(array) if dtype is bfloat16 else array.astype(dtype.storage, copy=False)
    return np.ascontiguousarray(stored).reshape(array.shape)


def rounded(array: Array, dtype: DType) -> Array:
    """`array` with the precision and range of `dtype`, in its computing type."""
    if dtype is bool_ or dtype.kind in "iu":
        return array.astype(dtype.storage, copy=False)
    if dtype is bfloat16:
        return from_storage(_to_bfloat16(array), bfloat16)
    narrow = array.astype(dtype.storage, copy=False)
    return narrow.astype(np.float32) if dtype is float16 else narrow


def _to_bfloat16(array: Array) -> Array:
    """The nearest bfloat16, ties to even, as its 16 bits."""
    bits = np.ascontiguousarray(array, np.float32).view(np.uint32).reshape(array.shape)
    nearest = (bits + np.uint32(0x7FFF) + ((bits >> np.uint32(16)) & np.uint32(1))) >> np.uint32(16)
    quiet = (bits >> np.uint32(16)) | np.uint32(0x40)
    return np.where(np.isnan(array), quiet, nearest).astype(np.uint16)
