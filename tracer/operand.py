"""What stands for an operand that is no tensor: numbers, arrays, and lists that hold tensors.

Lists, tuples and arrays of objects with tensors inside become one tensor, recorded as a stack of
them, so that nothing is read and gradients flow. That may end a recording (many operators wait), so
it is done before the recording is taken that the operator goes to: `together` first, then nodes.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import reduce
from typing import TYPE_CHECKING, Any

import numpy as np

from .data import as_stored, beside
from .dtypes import DType, bool_, default_float, default_int, promote
from .errors import DTypeError, ShapeError, located
from .ir import Node
from .ops import movement
from .ops.kinds import cast_to
from .recording import THREAD, Numbers, Recording, takes
from .value import Value, waiting

if TYPE_CHECKING:
    from .tensor import Tensor

NESTED = (list, tuple, np.ndarray)
PLAIN = frozenset((float, int, bool))


def together(value: Any) -> Any:
    """`value`, or one tensor in its place where it is a list, tuple or array that holds tensors."""
    if not isinstance(value, NESTED) or not _holds_tensors(value):
        return value
    if isinstance(value, np.ndarray) and not value.ndim:
        return value.item()
    return stack([together(each) for each in value])


def _holds_tensors(value: Any) -> bool:
    if isinstance(value, np.ndarray):
        return value.dtype.kind == "O" and _holds_tensors(value.ravel().tolist())
    kinds = set(map(type, value))
    if kinds <= PLAIN:
        return False
    return any(
        isinstance(each, Value) or (isinstance(each, NESTED) and _holds_tensors(each))
        for each in value
    )


def stack(parts: Sequence[Any]) -> Tensor:
    """Tensors, numbers and arrays of one shape along a new first axis."""
    recording = THREAD.recording
    like = common_dtype(parts)
    nodes = [as_node(recording, each, like, "list") for each in parts]
    key = (stacked, *nodes)
    made = recording.memo.young.get(key) or recording.first(key, stacked, nodes)
    return waiting(made, recording)


def stacked(*parts: Node) -> Node:
    """`parts`, of one shape, along a new first axis, in their common type."""
    shapes = dict.fromkeys(each.shape for each in parts)
    if len(shapes) > 1:
        found = " and ".join(str(list(each)) for each in shapes)
        raise ShapeError(
            located(f"expected a list of tensors and numbers of one shape, found {found}")
        )
    dtype = reduce(promote, (each.dtype for each in parts))
    lines = [movement.reshape(cast_to(each, dtype), (1, *each.shape)) for each in parts]
    return movement.concat(tuple(lines), 0)


def common_dtype(operands: Iterable[Any]) -> DType | None:
    """The type that weak numbers take: that of all tensors and arrays together."""
    found = set()
    for each in operands:
        if isinstance(each, Value):
            found.add(each._node.type.dtype)
        elif isinstance(each, np.ndarray):
            found.add(as_stored(each)[1])
    return reduce(promote, found) if found else None


def as_node(recording: Recording, value: Any, like: DType | None, name: str) -> Node:
    """The node of an operand that `together` has seen; numbers are weak beside the type `like`."""
    if isinstance(value, Value):
        return recording.node_of(value)  # type: ignore[arg-type]  # all are tensors
    if isinstance(value, Numbers):
        return recording.number(value, like or _own_dtype(value))
    if isinstance(value, NESTED):
        takes(value)
        return recording.array(*(beside(value, like) if like else as_stored(value)))
    raise DTypeError(located(f"{name}: expected a tensor, an array or a number, found {value!r}"))


def _own_dtype(value: Any) -> DType:
    if isinstance(value, (bool, np.bool_)):
        return bool_
    return default_int() if isinstance(value, (int, np.integer)) else default_float()
