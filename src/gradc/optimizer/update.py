"""Updates: functions of nodes whose results take the place of what tensors held."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple
from weakref import ref

from ..tracer.dtypes import DType, float32, promote
from ..tracer.errors import ShapeError, located
from ..tracer.evaluation import settle
from ..tracer.ir import Node, labelled
from ..tracer.locks import WRITING
from ..tracer.operand import as_node
from ..tracer.ops.kinds import cast_to
from ..tracer.recording import Recording
from ..tracer.tensor import Tensor
from ..tracer.value import box_of, leaf_of

if TYPE_CHECKING:
    from ..tracer.action import Action
    from ..tracer.buffer import Buffer
    from ..tracer.ir import TensorType

Nodes = tuple[Node, ...]
Function = Callable[[Node, Node, Nodes, Any, Nodes], Nodes]
"""From a parameter, its gradient, its state, the numbers of its group and its own ones: the new
parameter and the new state."""


class Rule(NamedTuple):
    """How the parameters of one group are updated now.

    `states` names what is kept for each parameter. Of `numbers`, floats are read when the program
    runs, so that they may change from step to step; None and bool belong to the program.
    `own_numbers` gives those that depend on how often a parameter was updated.
    """

    function: Function
    states: tuple[str, ...]
    numbers: tuple[float | bool | None, ...]
    own_numbers: Callable[[int], tuple[float, ...]] = lambda step: ()


class Change(NamedTuple):
    """A tensor, and the node of what it will hold."""

    tensor: Tensor
    node: Node


def state_dtype(dtype: DType) -> DType:
    """The type in which a parameter of `dtype` is updated and its state is kept."""
    return promote(dtype, float32)


def numbers_in(
    recording: Recording, numbers: Sequence[Any], dtype: DType, source: Action | None = None
) -> tuple[Any, ...]:
    """Each float as a run-time number of its own; the rest as it is."""
    return tuple(
        [recording.own_number(x, dtype, source) if isinstance(x, float) else x for x in numbers],
    )


def gradient_of(recording: Recording, parameter: Tensor) -> Node:
    """The node of the gradient of `parameter`."""
    grad, shape = parameter.grad, parameter._node.type.shape
    if isinstance(grad, Tensor):
        found = recording.node_of(grad)
    else:
        found = as_node(recording, grad, parameter._node.dtype, "step")
    if found.type.shape != shape:
        expected = f"expected a gradient of the shape {list(shape)} of its parameter"
        raise ShapeError(located(f"step: {expected}, found {list(found.shape)}"))
    return found


def recorded(recording: Recording, function: Callable[..., Nodes], *arguments: Any) -> Nodes:
    """The results of a function of nodes, which are found in one look-up on a repeat."""
    key = (function, *arguments)
    found: Nodes | None = recording.memo.young.get(key)
    return recording.first(key, function, arguments) if found is None else found


def updated(function: Function, p: Node, g: Node, states: Nodes, numbers: Any, own: Nodes) -> Nodes:
    """The new value of a parameter and its new state; half types are updated as float32."""
    wide = state_dtype(p.dtype)
    with labelled(function.__name__.strip("_")):
        made, *kept = function(cast_to(p, wide), cast_to(g, wide), states, numbers, own)
        return cast_to(made, p.dtype), *kept


def commit(recording: Recording, changes: Sequence[Change]) -> None:
    """Let the tensors hold their new values, by one program; where it fails, the old ones.

    Nobody sees them before they are computed, unless a manager records or a function is traced.
    """
    if recording.trace is not None or recording.recording_managers():
        return _wait(recording, changes)
    made = [box_of(node, recording) for _, node in changes]
    settle(recording, "step", made)
    values = [each.held() for each in made]
    with WRITING:
        try:
            _bind(changes, values)
        except BaseException:  # an interrupt comes when all are bound
            _bind(changes, values)
            raise


def _bind(changes: Sequence[Change], values: Sequence[tuple[Buffer, TensorType]]) -> None:
    for (tensor, _), (buffer, kind) in zip(changes, values, strict=True):
        _before = tensor._node, tensor._recording, tensor._buffer
        tensor._node, tensor._recording, tensor._buffer = leaf_of(kind), None, buffer


def _wait(recording: Recording, changes: Sequence[Change]) -> None:
    """Bind the boxes to nodes, until a manager or a trace around them ends."""
    tensors = [each.tensor for each in changes]
    before = [(each._node, each._recording, each._buffer) for each in tensors]
    try:
        for tensor, node in changes:
            wait(tensor, node, recording)
        settle(recording, "step", tensors)
    except BaseException:
        for tensor, (node, home, buffer) in zip(tensors, before, strict=True):
            tensor._node, tensor._recording, tensor._buffer = node, home, buffer
        raise


def wait(tensor: Tensor, node: Node, recording: Recording) -> None:
    """Bind the box; unlike `rebind` this never makes what is recorded so far run."""
    if recording.trace is not None:
        recording.trace.changing(tensor)
    recording.pending.append(ref(tensor))
    _before = tensor._node, tensor._recording, tensor._buffer
    tensor._node, tensor._recording, tensor._buffer = node, recording, None
