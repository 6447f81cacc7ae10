"""Function: an operation whose derivative the user writes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .errors import DTypeError, ShapeError, located
from .ir import Node, node
from .ops import markers
from .ops.kinds import cast_to
from .recording import THREAD, Recording, stopped
from .tensor import Tensor
from .value import waiting


class Function:
    """An operation with a derivative of its own; override `forward` and `backward`.

    An instance is called on tensors. `backward` gets one gradient per output (None where an output
    was not reached) and returns one per input (None: nothing flows there). What it needs from
    `forward` is kept on `self`, so an instance serves one call. The history of the outputs is
    replaced for every manager: what shall get a gradient must be an argument. A gradient has the
    shape of its input; for inputs at the end that get none, it may be left out.
    """

    def forward(self, *inputs: Tensor) -> Any:
        """The outputs: a tensor, or a tuple or list of them."""
        raise NotImplementedError(f"{type(self).__name__}.forward")

    def backward(self, *output_grads: Any) -> Any:
        """The gradient of each input, from that of each output."""
        raise NotImplementedError(f"{type(self).__name__}.backward")

    def __call__(self, *tensors: Tensor) -> Any:
        """Run `forward`; managers that record will run `backward`."""
        for each in tensors:
            if not isinstance(each, Tensor):
                name = type(self).__name__
                raise TypeError(located(f"{name}: expected Tensors as inputs, found {each!r}"))
        recording = THREAD.recording
        if recording.quiet or not recording.recording_managers():
            return self.forward(*tensors)
        inputs = tuple(recording.node_of(each) for each in tensors)
        return self._bounded(self.forward(*tensors), inputs, recording)

    def _bounded(self, given: Any, inputs: tuple[Node, ...], recording: Recording) -> Any:
        """The outputs, cut off from how they were computed and joined to `inputs` instead."""
        several = isinstance(given, (tuple, list))
        outputs = list(given) if several else [given]
        for each in outputs:
            if not isinstance(each, Tensor):
                name = type(self).__name__
                raise TypeError(located(f"{name}.forward: expected Tensors, found {each!r}"))
        call = len(recording.functions)
        recording.functions.append(self)
        made = []
        for place, each in enumerate(outputs):
            value = stopped(recording.node_of(each))
            bound = node(markers.boundary, (value, *inputs), (call, place, len(outputs)))
            made.append(waiting(bound, recording))
        return tuple(made) if several else made[0]


class Calls:
    """Runs the backwards of the Functions that a recording has met; the adjoint asks for them."""

    def __init__(self, recording: Recording) -> None:
        self._recording = recording
        self.called = False

    def __call__(self, of: Node, cotangents: Sequence[Node | None]) -> list[Node | None]:
        """The cotangents of the inputs of the call that the output `of` belongs to."""
        self.called = True
        recording = self._recording
        function: Function = recording.functions[of.attr("call")]
        grads = [None if each is None else waiting(each, recording) for each in cotangents]
        given = function.backward(*grads)
        returned = list(given) if isinstance(given, (tuple, list)) else [given]
        inputs = of.inputs[1:]
        name = type(function).__name__
        if any(each is not None for each in returned[len(inputs) :]):
            found = f"found {len(returned)} for {len(inputs)}"
            raise TypeError(located(f"{name}.backward: expected one gradient per input, {found}"))
        returned = [*returned, *[None] * len(inputs)][: len(inputs)]
        pairs = zip(returned, inputs, strict=True)
        return [_cotangent(name, each, x, recording) for each, x in pairs]


def _cotangent(name: str, given: Any, x: Node, recording: Recording) -> Node | None:
    if given is None:
        return None
    if not isinstance(given, Tensor):
        expected = f"{name}.backward: expected a Tensor or None for each input"
        raise TypeError(located(f"{expected}, found {given!r}"))
    g = recording.node_of(given)
    if g.shape != x.shape:
        found = f"found {list(g.shape)} for an input of shape {list(x.shape)}"
        raise ShapeError(located(f"{name}.backward: the shapes do not fit, {found}"))
    if x.dtype.is_float and not g.dtype.is_float:
        found = f"found {g.dtype.name} for an input of {x.dtype.name}"
        raise DTypeError(located(f"{name}.backward: expected a gradient of floats, {found}"))
    return cast_to(g, x.dtype) if x.dtype.is_float else None
