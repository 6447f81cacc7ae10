"""The steps of recurrent networks, in nodes: a whole sequence is recorded in one look-up."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from ..tracer.composite import Nodes, composite
from ..tracer.errors import ShapeError, located
from ..tracer.ir import Node
from ..tracer.ops import contraction, sources
from ..tracer.ops import elementwise as e
from ..tracer.ops.kinds import cast_to
from ..tracer.ops.movement import concat, reshape, slice_
from ..tracer.ops.sources import constant_like

Step = Callable[[Node, Node, Nodes], Nodes]
"""From W x + b, U h + c and the state before to the state after; the output h comes first."""


def _parts(gates: Node, count: int) -> Nodes:
    width = gates.shape[-1] // count
    axis = gates.ndim - 1
    return tuple(slice_(gates, axis, i * width, (i + 1) * width) for i in range(count))


def _tanh(inner: Node, outer: Node, states: Nodes) -> Nodes:
    return (e.tanh(inner + outer),)


def _relu(inner: Node, outer: Node, states: Nodes) -> Nodes:
    total = inner + outer
    return (e.where(total <= 0, constant_like(0, total), total),)


def _lstm(inner: Node, outer: Node, states: Nodes) -> Nodes:
    i, f, g, o = _parts(inner + outer, 4)
    memory = e.sigmoid(f) * states[1] + e.sigmoid(i) * e.tanh(g)
    return e.sigmoid(o) * e.tanh(memory), memory


def _gru(inner: Node, outer: Node, states: Nodes) -> Nodes:
    (r, z, n), (from_r, from_z, from_n) = _parts(inner, 3), _parts(outer, 3)
    new = e.tanh(n + e.sigmoid(r + from_r) * from_n)
    keep = e.sigmoid(z + from_z)
    return ((1.0 - keep) * new + keep * states[0],)


STEPS: dict[str, tuple[Step, int]] = {
    "tanh": (_tanh, 1),
    "relu": (_relu, 1),
    "lstm": (_lstm, 2),
    "gru": (_gru, 1),
}
"""What a step computes, and how many tensors the state has."""


class _Held(NamedTuple):
    """What a cell does with its state: the kind of the step, the weight U and the bias c."""

    kind: str
    weight: Node
    bias: Node | None

    def begin(self, inner: Node, hidden: Node | None, memory: Node | None) -> Nodes:
        """The state before the first step, 0 where it is not given."""
        shape = (inner.shape[-2], self.weight.shape[1])
        states = []
        for each in (hidden, memory)[: STEPS[self.kind][1]]:
            if each is not None and each.shape != shape:
                found = f"expected a state {list(shape)}, found {list(each.shape)}"
                raise ShapeError(located(f"{self.kind}: {found}"))
            given = sources.full(0, shape, inner.dtype) if each is None else each
            states.append(cast_to(given, inner.dtype))
        return tuple(states)

    def step(self, inner: Node, states: Nodes) -> Nodes:
        """The state after one step."""
        return STEPS[self.kind][0](inner, _affine(states[0], self.weight, self.bias), states)


def _affine(x: Node, weight: Node, bias: Node | None) -> Node:
    product = contraction.matmul(x, contraction.swapped(weight))
    return product if bias is None else product + bias


@composite
def once(
    kind: str,
    x: Node,
    weight_ih: Node,
    weight_hh: Node,
    bias_ih: Node | None,
    bias_hh: Node | None,
    hidden: Node | None = None,
    memory: Node | None = None,
) -> Nodes:
    """The state after the input x, (batch, features)."""
    inner = _affine(x, weight_ih, bias_ih)
    held = _Held(kind, weight_hh, bias_hh)
    return held.step(inner, held.begin(inner, hidden, memory))


@composite
def along(
    kind: str,
    backwards: bool,
    x: Node,
    weight_ih: Node,
    weight_hh: Node,
    bias_ih: Node | None,
    bias_hh: Node | None,
    hidden: Node | None = None,
    memory: Node | None = None,
) -> Nodes:
    """The outputs along x, (length, batch, features), and the state after the last step."""
    inner = _affine(x, weight_ih, bias_ih)
    length, *rest = inner.shape
    held = _Held(kind, weight_hh, bias_hh)
    now = held.begin(inner, hidden, memory)
    outputs: list[Node] = []
    for place in reversed(range(length)) if backwards else range(length):
        now = held.step(reshape(slice_(inner, 0, place, place + 1), tuple(rest)), now)
        outputs.append(reshape(now[0], (1, *now[0].shape)))
    ordered = tuple(reversed(outputs)) if backwards else tuple(outputs)
    return concat(ordered, 0), *now
