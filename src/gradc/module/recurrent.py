"""Recurrent networks: cells of one step, and layers of them along sequences.

Every gate has `hidden_size` rows of the weights, one gate after the other.
"""

from __future__ import annotations

import math
from typing import Any, ClassVar

import numpy as np

from .. import functional as F
from ..arguments import one_of, whole
from ..functional.dropout import probability_of
from ..tracer.errors import ShapeError, located
from ..tracer.tensor import Parameter, Tensor
from . import init
from .module import Module
from .state import array_of, cut
from .steps import along, once

State = Tensor | tuple[Tensor, ...]
"""The state of a cell: one tensor or, for an LSTM, the output and the memory."""


WEIGHTS = ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
"""The names of what `_Cell.weights` gives."""


class _Cell(Module):
    """One step of a recurrent network; all begin evenly within 1 / sqrt(hidden_size)."""

    kind: str
    gates: int
    states: ClassVar[int] = 1

    def __init__(self, input_size: int, hidden_size: int, bias: bool = True, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        name = type(self).__name__
        self.input_size = input_size = whole(name, "input_size", input_size)
        self.hidden_size = hidden_size = whole(name, "hidden_size", hidden_size)
        rows = self.gates * hidden_size
        self.weight_ih = Parameter(init.empty((rows, input_size)))
        self.weight_hh = Parameter(init.empty((rows, hidden_size)))
        self.bias_ih = Parameter(init.empty((rows,))) if bias else None
        self.bias_hh = Parameter(init.empty((rows,))) if bias else None
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Give weights and biases their first values anew."""
        bound = 1 / math.sqrt(max(self.hidden_size, 1))
        for each in self.parameters():
            init.uniform_(each, -bound, bound)

    def weights(self) -> tuple[Tensor | None, ...]:
        """The weights of the input and of the state, and their biases."""
        return self.weight_ih, self.weight_hh, self.bias_ih, self.bias_hh

    def translated_state(self, given: dict[str, Any]) -> dict[str, Any]:
        """Without a bias, MegEngine saves zeros in its place."""
        if self.bias_ih is not None:
            return given
        zeros = {
            name for name in ("bias_ih", "bias_hh") if not np.any(array_of(given.get(name, 0)))
        }
        return {name: value for name, value in given.items() if name not in zeros}

    def forward(self, input: Tensor, hx: State | None = None) -> State:
        """The state after `input`, (batch, input_size); `hx` is the one before, 0 by default."""
        _check_features(self, input, 2)
        made = once(self.kind, input, *self.weights(), *_listed(self, hx))
        return _as_given(made)

    def _module_info_string(self) -> str:
        sizes = f"{self.input_size}, {self.hidden_size}"
        return sizes if self.bias_ih is not None else f"{sizes}, bias=False"


def _listed(module: _Cell | _Recurrent, hx: State | None) -> tuple[Tensor, ...]:
    """The tensors of a state; none where it is not given."""
    if hx is None:
        return ()
    given = tuple(hx) if isinstance(hx, (tuple, list)) else (hx,)
    if len(given) != module.states:
        found = f"expected a state of {module.states} tensors, found {len(given)}"
        raise ShapeError(located(f"{type(module).__name__}: {found}"))
    return given


def _check_features(module: _Cell | _Recurrent, x: Tensor, axes: int) -> None:
    if x.ndim != axes or x.shape[-1] != module.input_size:
        expected = f"expected an input with {axes} axes and {module.input_size} features"
        raise ShapeError(located(f"{type(module).__name__}: {expected}, found {list(x.shape)}"))


def _as_given(states: tuple[Tensor, ...]) -> State:
    return states[0] if len(states) == 1 else states


class RNNCell(_Cell):
    """h' = f(W x + b + U h + c), where f, `nonlinearity`, is tanh or relu."""

    gates = 1

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool = True,
        nonlinearity: str = "tanh",
        **kwargs: Any,
    ) -> None:
        self.kind = one_of("RNNCell", "nonlinearity", nonlinearity, ("tanh", "relu"))
        super().__init__(input_size, hidden_size, bias, **kwargs)


class LSTMCell(_Cell):
    """Long short-term memory (Hochreiter and Schmidhuber, 1997); the state is (h, c).

    With the gates i, f, g, o of W x + b + U h + c in this order:
    c' = sigmoid(f) c + sigmoid(i) tanh(g), h' = sigmoid(o) tanh(c').
    """

    kind, gates, states = "lstm", 4, 2


class GRUCell(_Cell):
    """A gated recurrent unit (Cho et al., 2014), with the gates r, z, n in this order.

    n = tanh(W x + b + sigmoid(r) (U h + c)), h' = (1 - sigmoid(z)) n + sigmoid(z) h.
    """

    kind, gates = "gru", 3


# ---- along sequences


class _Recurrent(Module):
    """Layers of cells along sequences: layer after layer, forwards and, if asked, backwards."""

    states: ClassVar[int] = 1

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        name = type(self).__name__
        self.input_size = whole(name, "input_size", input_size)
        self.hidden_size = whole(name, "hidden_size", hidden_size)
        self.num_layers = whole(name, "num_layers", num_layers, 1)
        self.bias, self.batch_first, self.bidirectional = bias, batch_first, bidirectional
        self.dropout = probability_of(name, dropout)
        directions = 2 if bidirectional else 1
        widths = [input_size, *(directions * hidden_size,) * (num_layers - 1)]
        self.cells = [[self._cell(width) for _ in range(directions)] for width in widths]

    def _cell(self, width: int) -> _Cell:
        raise NotImplementedError

    def reset_parameters(self) -> None:
        """Give the weights and biases of all cells their first values anew."""
        for cell in self.children():
            assert isinstance(cell, _Cell)
            cell.reset_parameters()

    def translated_state(self, given: dict[str, Any]) -> dict[str, Any]:
        """The weights of all cells as MegEngine has them on CPUs: in one, `_flatten_weights`.

        There the tensors of each cell follow one another: weight_ih, weight_hh, bias_ih, bias_hh.
        """
        if "_flatten_weights" not in given:
            return given
        parts = [
            (f"cells.{depth}.{side}.{name}", each.shape)
            for depth, layer in enumerate(self.cells)
            for side, cell in enumerate(layer)
            for name, each in zip(WEIGHTS, cell.weights(), strict=True)
            if each is not None
        ]
        flat = cut("_flatten_weights", given["_flatten_weights"], parts)
        rest = {name: value for name, value in given.items() if not name.startswith("cells.")}
        rest.pop("_flatten_weights")
        return {**rest, **flat}

    def forward(self, input: Tensor, hx: State | None = None) -> tuple[Tensor, State]:
        """The outputs of the last layer for every place, and the last states of all cells.

        `input` is (length, batch, input_size), or (batch, length, input_size) with `batch_first`.
        A state is (num_layers * directions, batch, hidden_size) and 0 by default.
        """
        _check_features(self, input, 3)
        x = input.transpose(1, 0, 2) if self.batch_first else input
        begin = self._begin(x, hx)
        last: list[list[Tensor]] = []
        for depth, layer in enumerate(self.cells):
            if depth:
                x = F.dropout(x, self.dropout, self.training)
            sides = []
            for back, cell in enumerate(layer):
                own = [each[len(last)] for each in begin]
                made, *states = along(cell.kind, bool(back), x, *cell.weights(), *own)
                sides.append(made)
                last.append(states)
            x = F.concat(sides, axis=2) if len(sides) > 1 else sides[0]
        ends = tuple([F.stack(each) for each in zip(*last, strict=True)])
        return (x.transpose(1, 0, 2) if self.batch_first else x), _as_given(ends)

    def _begin(self, x: Tensor, hx: State | None) -> tuple[Tensor, ...]:
        """The tensors of the state before x, (length, batch, input_size)."""
        if not x.shape[0]:
            expected = f"expected at least one step, found an input {list(x.shape)}"
            raise ShapeError(located(f"{type(self).__name__}: {expected}"))
        shape = (self.num_layers * len(self.cells[0]), x.shape[1], self.hidden_size)
        begin = _listed(self, hx)
        for each in begin:
            if tuple(each.shape) != shape:
                found = f"expected a state {list(shape)}, found {list(each.shape)}"
                raise ShapeError(located(f"{type(self).__name__}: {found}"))
        return begin

    def _module_info_string(self) -> str:
        told = f"{self.input_size}, {self.hidden_size}, num_layers={self.num_layers}"
        told += ", batch_first=True" if self.batch_first else ""
        return told + (", bidirectional=True" if self.bidirectional else "")

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._module_info_string()})"


class RNN(_Recurrent):
    """Layers of `RNNCell` along sequences; `nonlinearity` is tanh or relu."""

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        *args: Any,
        nonlinearity: str = "tanh",
        **kwargs: Any,
    ) -> None:
        self.nonlinearity = one_of("RNN", "nonlinearity", nonlinearity, ("tanh", "relu"))
        super().__init__(input_size, hidden_size, *args, **kwargs)

    def _cell(self, width: int) -> _Cell:
        return RNNCell(width, self.hidden_size, self.bias, self.nonlinearity)


class LSTM(_Recurrent):
    """Layers of `LSTMCell` along sequences."""

    states = 2

    def _cell(self, width: int) -> _Cell:
        return LSTMCell(width, self.hidden_size, self.bias)


class GRU(_Recurrent):
    """Layers of `GRUCell` along sequences."""

    def _cell(self, width: int) -> _Cell:
        return GRUCell(width, self.hidden_size, self.bias)
