"""Stacks of layers: each program of a model and its derivatives gives what the interpreter gives.

Random operators do not make loops, windows and products between transposes; layers of odd sizes do.
`make fuzz` compares many more such models with PyTorch.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise
from random import Random
from typing import Any

import numpy as np
import pytest
from gradc.runtime.compiling import CompilingEvaluator
from gradc.tracer.buffer import Buffer
from gradc.tracer.evaluator import Executable, current_evaluator, interpreted, set_evaluator
from gradc.tracer.graph import Graph
from gradc.tracer.text import show
from hypothesis import settings

import gradc
import gradc.functional as F
import gradc.module as M
from gradc.autodiff import GradManager

Layer = Callable[[Any], Any]
Model = tuple[tuple[int, ...], list[Any], Layer]
"""The shape of what a model reads, its modules, and what it does."""

MODELS = 4 if settings().max_examples < 100 else 100
"""Of each kind."""
CLOSE = 1e-9


class Comparing:
    """Runs each graph compiled and interpreted."""

    def __init__(self) -> None:
        self.compiling = CompilingEvaluator(first_sight=False)
        self.compared = 0

    def prepare(self, graph: Graph) -> Executable:
        run = self.compiling.prepare(graph)

        def both(
            inputs: Sequence[Buffer], floats: Sequence[float], ints: Sequence[int]
        ) -> list[Buffer]:
            expected = interpreted(graph, inputs, floats, ints)
            found = run(inputs, floats, ints)
            for node, x, y in zip(graph.outputs, found, expected, strict=True):
                a, b = (each.array(node.dtype, node.shape) for each in (x, y))
                size = max(float(np.abs(b).max(initial=0)), 1.0)
                np.testing.assert_allclose(a, b, CLOSE, CLOSE * size, err_msg=show(graph))
                self.compared += 1
            return found

        return both


@contextmanager
def comparing() -> Iterator[Comparing]:
    before, made = current_evaluator(), Comparing()
    set_evaluator(made)
    gradc.set_default_dtype("float64")
    try:
        yield made
    finally:
        gradc.set_default_dtype("float32")
        set_evaluator(before)


# ---- models


def recurrent(draw: Random) -> Model:
    """Layers of cells along a sequence, as they are or behind a layer norm."""
    steps, batch, width = draw.choice((5, 12, 17)), draw.choice((1, 1, 3)), draw.randint(1, 4)
    hidden = draw.randint(1, 5)
    kind = draw.choice((M.RNN, M.LSTM, M.GRU))
    net = kind(width, hidden, draw.randint(1, 3), bidirectional=draw.random() < 0.3)
    wide = hidden * (2 if net.bidirectional else 1)
    out = M.Linear(wide, draw.randint(1, 3))
    return (steps, batch, width), [net, out], lambda x: out(net(x)[0])


def free_running(draw: Random) -> Model:
    """Cells of several kinds that are fed with data, and then with their own output."""
    fed, free = draw.choice(((15, 16), (9, 13), (3, 25)))
    batch, width = draw.choice((1, 2, 3)), draw.randint(1, 2)
    sizes = [width, *(draw.randint(1, 4) for _ in range(draw.randint(1, 3)))]
    pairs = pairwise(sizes)
    cells = [draw.choice((M.RNNCell, M.LSTMCell, M.GRUCell))(a, b) for a, b in pairs]
    out = M.Linear(sizes[-1], width)

    def run(x: Any) -> Any:
        states: list[Any] = [None] * len(cells)
        made: list[Any] = []
        for step in range(fed + free):
            each = x[:, step] if step < fed else made[-1]
            for place, cell in enumerate(cells):
                states[place] = cell(each, states[place])
                each = states[place][0] if isinstance(cell, M.LSTMCell) else states[place]
            made.append(out(each))
        return F.stack(made, 1)

    return (batch, fed, width), [*cells, out], run


def patches(draw: Random) -> Model:
    """A vision transformer's patches, with or without a block of attention."""
    rank, size = draw.randint(1, 2), draw.randint(1, 3)
    places = draw.choice((2, 3, 4)) if rank == 2 else draw.choice((5, 16))
    batch, channels, width = draw.choice((1, 2)), draw.randint(1, 3), draw.choice((3, 5, 8, 17))
    convolution = (M.Conv1d, M.Conv2d)[rank - 1](channels, width, size, size)
    norm, inner = M.LayerNorm(width), M.Linear(width, draw.randint(1, 7))
    attends = draw.random() < 0.6

    def run(x: Any) -> Any:
        lines = F.transpose(F.reshape(convolution(x), (batch, width, places**rank)), (0, 2, 1))
        if attends:
            each = norm(lines)
            lines = lines + F.nn.scaled_dot_product_attention(each, each, F.tanh(each))
        return F.tanh(inner(lines))

    return (batch, channels, *(places * size,) * rank), [convolution, norm, inner], run


def convolutions(draw: Random) -> Model:
    """Convolutions of all ranks with norms, pools, and a residual by a window of one place."""
    rank = draw.randint(1, 3)
    batch, groups = draw.choice((1, 2)), draw.choice((1, 1, 2))
    extent = draw.choice(((7, 12, 16), (5, 7, 8), (3, 4))[rank - 1])
    wide = groups * draw.randint(1, 3)
    kind = (M.Conv1d, M.Conv2d, M.Conv3d)[rank - 1]
    first = kind(
        groups, wide, draw.randint(1, 3), draw.randint(1, 2), 1, draw.randint(1, 2), groups
    )
    one, norm = kind(wide, wide, 1), M.GroupNorm(groups, wide)
    pool = (F.avg_pool1d, F.avg_pool2d, F.avg_pool3d)[rank - 1]

    def run(x: Any) -> Any:
        made = norm(F.tanh(first(x)))
        made = made + F.silu(one(made))
        return pool(made, min(2, *made.shape[2:]))

    return (batch, groups, *(extent,) * rank), [first, one, norm], run


def turned(draw: Random) -> Model:
    """Products between transposes and other groupings."""
    shape = (draw.randint(1, 3), draw.randint(2, 9), draw.randint(2, 9))
    a, b = (M.Linear(shape[at], draw.randint(1, 5)) for at in (1, 2))

    def run(x: Any) -> Any:
        made = F.tanh(a(F.transpose(x, (0, 2, 1))))
        made = b(F.transpose(made, (0, 2, 1)))
        lines = F.reshape(F.transpose(made, (2, 0, 1)), (made.shape[2], -1))
        return F.matmul(lines, F.transpose(lines, (1, 0)))

    return shape, [a, b], run


KINDS = recurrent, free_running, patches, convolutions, turned


def differentiated(shape: tuple[int, ...], modules: list[Any], run: Layer, seed: int) -> None:
    """The value and the gradient; of every second model also the gradient of that one's square."""
    random = np.random.default_rng(seed)
    x = gradc.Tensor(random.uniform(-1, 1, shape), dtype="float64")
    wrt = [x, *(each for module in modules for each in module.parameters())]
    outer, inner = GradManager().attach(wrt), GradManager().attach(wrt)
    with outer:
        with inner:
            y = run(x)
            weights = gradc.Tensor(random.uniform(0.5, 1.5, tuple(y.shape)), dtype="float64")
            inner.backward(F.sum(y * weights))
        slopes = [each.grad for each in wrt if each.grad is not None]
        for each in wrt:
            each.grad = None
        if seed % 2:
            outer.backward(sum((F.sum(each * each) for each in slopes), F.sum(y) * 0))
    numbers = [each.numpy() for each in (y, *slopes)]
    numbers += [each.grad.numpy() for each in wrt if each.grad is not None]
    assert all(np.isfinite(each).all() for each in numbers)


@pytest.mark.parametrize("kind", KINDS, ids=[each.__name__ for each in KINDS])
def test_models_compute_what_the_interpreter_does(kind: Callable[[Random], Model]) -> None:
    for number in range(MODELS):
        with comparing() as made:
            gradc.manual_seed(number)
            differentiated(*kind(Random(number)), number)
            assert made.compared > 3, number
