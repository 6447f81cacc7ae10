"""Loops that a user has written in Python: recorded step by step, and so are their adjoints."""

from collections.abc import Callable

from contract.compute import leaf
from gradc.tracer.dtypes import float32, float64
from gradc.tracer.graph import Graph
from gradc.tracer.ir import Node, node
from gradc.tracer.ops import contraction, movement, reduction, sources
from gradc.tracer.ops import elementwise as e
from hypothesis import strategies as st

from gradc import functional as F

from .build import scalar, with_gradients

STEPS = 45
SEQUENCE = (STEPS, 4, 5)


def line(x: Node, step: int, axis: int = 0) -> Node:
    """The elements of `x` at one place along `axis`."""
    starts = tuple(step if each == axis else 0 for each in range(x.ndim))
    sizes = tuple(1 if each == axis else extent for each, extent in enumerate(x.shape))
    kept = tuple(extent for each, extent in enumerate(x.shape) if each != axis)
    return movement.reshape(movement.stepped(x, starts, sizes, (1,) * x.ndim), kept)


def recurrent(axis: int) -> Callable[..., Node]:
    """A recurrent net over a sequence along `axis`, with the sum of all its states."""

    def function(x: Node, w: Node, h: Node) -> Node:
        total = h
        for step in range(STEPS):
            h = e.tanh(contraction.matmul(h, w) + line(x, step, axis))
            total = total + h * h
        return reduction.sum(total, (0, 1))

    return function


def backwards(x: Node, w: Node, h: Node) -> Node:
    for step in reversed(range(STEPS)):
        h = e.sigmoid(contraction.matmul(h, w) * line(x, step))
    return reduction.sum(h, (0, 1))


def two_before(x: Node) -> Node:
    """Each value is made of the two before it."""
    a, b = x, e.sin(x)
    for _ in range(150):
        a, b = b, e.sin(a) * 0.5 + b * 0.25 + a * b * 0.125
    return reduction.sum(b, (0,))


def all_states(x: Node, w: Node, h: Node) -> Node:
    """The states are results, one after another."""
    states = []
    for step in range(STEPS):
        h = e.tanh(contraction.matmul(h, w) + line(x, step))
        states.append(movement.reshape(h, (1, *h.shape)))
    return movement.concat(tuple(states), 0)


def layers(x: Node, *weights: Node) -> Node:
    """Each step has weights of its own."""
    for w in weights:
        x = e.tanh(contraction.matmul(x, w)) + x
    return reduction.sum(x, (0, 1))


def oscillator(x: Node) -> Node:
    """Scalars only; a run-time number is the step."""
    position, velocity = line(x, 0), line(x, 1)
    step = scalar(0, x)
    for _ in range(120):
        half = velocity - e.sin(position) * step * 0.5
        position = position + half * step
        velocity = half - e.sin(position) * step * 0.5
    return position * position + velocity


def normalized(x: Node, w: Node, h: Node) -> Node:
    """Rows are reduced within each step."""
    for step in range(STEPS):
        h = F.softmax.__wrapped__(contraction.matmul(h, w) + line(x, step), 1)
    return reduction.sum(h * h, (0, 1))


def swapped(x: Node, w: Node, h: Node) -> Node:
    """What is carried is read transposed."""
    for step in range(STEPS):
        h = e.tanh(contraction.matmul(movement.transpose(h, (1, 0)), w) + line(x, step))
    return reduction.sum(h, (0, 1))


def placed(x: Node, w: Node, h: Node) -> Node:
    """Steps read one number after another of an array that is 1 here and there."""
    mark = movement.pad(sources.full(1, (9,), x.dtype), (3,), (STEPS,), (2,))
    for step in range(STEPS):
        h = e.tanh(contraction.matmul(h, w) + line(mark, step)) + line(x, step)
    return reduction.sum(h, (0, 1))


def numbered(x: Node, w: Node, h: Node) -> Node:
    """Steps know their number."""
    ramp = node(sources.iota, (), (0, (STEPS,), x.dtype))
    for step in range(STEPS):
        h = e.sin(contraction.matmul(h, w) + line(ramp, step)) + line(x, step)
    return reduction.sum(h, (0, 1))


X, W, H = leaf(0, SEQUENCE, float64), leaf(1, (5, 5), float64), leaf(2, (4, 5), float64)
ACROSS = leaf(0, (4, STEPS, 5), float64)
SQUARES = leaf(0, (STEPS, 5, 5), float64), leaf(1, (5, 5), float64), leaf(2, (5, 5), float64)

LOOPS: dict[str, Callable[[], Graph]] = {
    "recurrent": lambda: with_gradients(recurrent(0), X, W, H),
    "recurrent, batch first": lambda: with_gradients(recurrent(1), ACROSS, W, H),
    "backwards": lambda: with_gradients(backwards, X, W, H),
    "two before": lambda: with_gradients(two_before, leaf(0, (7,), float64)),
    "all states": lambda: with_gradients(all_states, X, W, H),
    "layers": lambda: with_gradients(
        layers, H, *(leaf(k + 3, (5, 5), float64) for k in range(STEPS))
    ),
    "oscillator": lambda: with_gradients(oscillator, leaf(0, (2,), float64)),
    "normalized": lambda: with_gradients(normalized, X, W, H),
    "swapped": lambda: with_gradients(swapped, *SQUARES),
    "placed": lambda: with_gradients(placed, X, W, H),
    "numbered": lambda: with_gradients(numbered, X, W, H),
    "float32": lambda: with_gradients(
        recurrent(0), *(leaf(each.attrs[0], each.shape, float32) for each in (X, W, H))
    ),
}


def step_of(kinds: list[int], states: list[Node], x: Node, w: Node) -> list[Node]:
    """New states: each kind makes one of two others, of the line `x` of a sequence and of `w`."""
    for number, kind in enumerate(kinds):
        a, b = states[number % len(states)], states[(number + 1) % len(states)]
        made = (
            lambda a, b: e.tanh(contraction.matmul(a, w) + x),
            lambda a, b: e.sin(a) * 0.5 + b * x,
            lambda a, b: e.sigmoid(a * b + 0.25) - x,
            lambda a, b: a * 0.5 + reduction.max(b, (1,)) * 0.1,
            lambda a, b: e.where(e.gt(a, b), a, b * 0.5) + contraction.matmul(x, w) * 0.1,
        )[kind](a, b)
        states = [*states[1:], made] if number % 2 else [made, *states[1:]]
    return states


@st.composite
def random_loops(draw: st.DrawFn) -> Graph:
    """A loop of random operators over a sequence, with the derivatives of what comes out."""
    kinds = draw(st.lists(st.integers(0, 4), min_size=2, max_size=7))
    count, steps = draw(st.integers(1, 3)), draw(st.integers(24, 60))
    axis = draw(st.integers(0, 1))
    shape = (steps, 3, 4) if axis == 0 else (3, steps, 4)
    descends, all_counted = draw(st.booleans()), draw(st.booleans())

    def function(x: Node, w: Node, *states: Node) -> Node:
        kept = list(states)
        total = kept[0]
        for step in reversed(range(steps)) if descends else range(steps):
            kept = step_of(kinds, kept, line(x, step, axis), w)
            total = total + kept[-1] if all_counted else kept[-1]
        return reduction.sum(total, (0, 1))

    states = (leaf(number + 2, (3, 4), float64) for number in range(count))
    return with_gradients(function, leaf(0, shape, float64), leaf(1, (4, 4), float64), *states)
