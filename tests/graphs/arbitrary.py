"""Random graphs of all kinds of operators in float64, with first and sometimes second derivatives.

Where a rounding error would decide between two results (which of two is larger), values are exact:
made without sums and functions of the math library, so that every target has the same bits.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from contract.compute import leaf
from gradc.tracer.adjoint import adjoint
from gradc.tracer.dtypes import float64, int32
from gradc.tracer.graph import Graph, canonical
from gradc.tracer.ir import Node, Shape, node
from gradc.tracer.ops import (
    contraction,
    indexing,
    movement,
    reduction,
    scan,
    sort,
    sources,
    window,
)
from gradc.tracer.ops import elementwise as e
from gradc.tracer.ops.kinds import cast_to
from graphs.build import one, tracked
from hypothesis import strategies as st

SHAPES: tuple[Shape, ...] = (
    *((2, 3, 4), (3, 4), (4,), (), (1,), (3, 1), (2, 1, 4), (6, 4), (12,), (4, 3), (5,), (64, 33)),
    *((0, 3), (1, 1), (17, 2)),
)
LARGEST = 6000
"""Elements of the largest value."""

Draw = Callable[[Any], Any]
"""What Hypothesis hands to a composite strategy."""


@dataclass
class Pool:
    """What has been made so far."""

    draw: Draw
    values: list[Node]
    exact: set[Node] = field(default_factory=set)

    def one_of(self, *choices: Any) -> Any:
        """One of `choices`."""
        return self.draw(st.sampled_from(choices))

    def number(self, low: int, high: int) -> int:
        """A whole number, both ends included."""
        made: int = self.draw(st.integers(low, high))
        return made

    def recent(self) -> Node:
        """One of the last values."""
        made: Node = self.draw(st.sampled_from(self.values[-8:]))
        return made

    def any(self) -> Node:
        """Any value."""
        made: Node = self.draw(st.sampled_from(self.values))
        return made

    def exact_one(self) -> Node:
        """A value that all targets agree on to the bit."""
        listed = [each for each in self.values if each in self.exact]
        made: Node = self.draw(st.sampled_from(listed))
        return made

    def axis(self, x: Node) -> int:
        """One of the axes of x."""
        return self.number(0, x.ndim - 1)

    def axes(self, x: Node) -> tuple[int, ...]:
        """Some of the axes of x, at least one."""
        chosen = self.draw(st.sets(st.integers(0, x.ndim - 1), min_size=1))
        return tuple(sorted(chosen))


Operation = Callable[[Pool], Node | None]
"""Makes one more value; None where the chosen operands do not fit."""

UNARY: tuple[Callable[[Node], Node], ...] = (
    *(e.tanh, e.sin, e.sigmoid, e.neg, lambda x: e.exp(e.sin(x)), lambda x: e.sqrt(x * x + 1.0)),
    *(lambda x: x * 1.5, lambda x: e.log(x * x + 2.0), lambda x: e.to_power(x, 3), e.erf),
)
BINARY: tuple[Callable[[Node, Node], Node], ...] = (
    *(e.add, e.sub, e.mul, lambda x, y: x / (y * y + 1.0), lambda x, y: e.tanh(x) * y),
    lambda x, y: e.logaddexp(x, y),
)
KINKED: tuple[Callable[[Node, Node], Node], ...] = (
    *(e.maximum, e.minimum, lambda x, y: e.where(x <= y, x * y, y), lambda x, y: e.abs(x) + y),
    lambda x, y: e.where(x > 0.1, x, y * 0.3),
)


def broadcasts(x: Node, y: Node) -> bool:
    """Whether the shapes fit."""
    pairs = zip(x.shape[::-1], y.shape[::-1], strict=False)
    return all(a == b or 1 in (a, b) for a, b in pairs)


def _unary(pool: Pool) -> Node:
    made: Node = pool.one_of(*UNARY)(pool.recent())
    return made


def _binary(pool: Pool) -> Node | None:
    x, y, function = pool.recent(), pool.any(), pool.one_of(*BINARY)
    if not broadcasts(x, y):
        return None
    made: Node = function(x, y)
    return made


def _kinked(pool: Pool) -> Node | None:
    x, y, function = pool.exact_one(), pool.exact_one(), pool.one_of(*KINKED)
    if not broadcasts(x, y):
        return None
    made: Node = function(x, y)
    pool.exact.add(made)
    return made


def _without(x: Node, axes: tuple[int, ...]) -> Node:
    shape = tuple(extent for axis, extent in enumerate(x.shape) if axis not in axes)
    return movement.reshape(x, shape)


def _sum(pool: Pool) -> Node | None:
    x = pool.recent()
    if not x.ndim:
        return None
    axes = pool.axes(x)
    made = reduction.sum(x, axes)
    return _without(made, axes) if pool.number(0, 1) else made


def _extremum(pool: Pool) -> Node | None:
    x = pool.exact_one()
    if not x.ndim or not x.type.size:
        return None
    axes, function = pool.axes(x), pool.one_of(reduction.max, reduction.min)
    made: Node = function(x, axes)
    pool.exact.add(made)
    return made


def _prod(pool: Pool) -> Node | None:
    x = pool.recent()
    if not x.ndim or x.type.size > 100:
        return None
    return reduction.prod(x, (pool.axis(x),))


def _position(pool: Pool) -> Node | None:
    x = pool.exact_one()
    if not x.ndim or not x.type.size:
        return None
    function = pool.one_of(reduction.argmax, reduction.argmin)
    made: Node = function(x, (pool.axis(x),))
    return cast_to(made, float64)


def _reshape(pool: Pool) -> Node:
    x = pool.recent()
    if not x.type.size:
        return movement.reshape(x, (3, *x.shape))
    rest = x.type.size
    shape: list[int] = []
    while rest > 1 and len(shape) < 3:
        shape.append(pool.one_of(*(d for d in range(2, rest + 1) if rest % d == 0)))
        rest //= shape[-1]
    return movement.reshape(x, (*shape, rest))


def _transpose(pool: Pool) -> Node:
    x = pool.recent()
    order = pool.draw(st.permutations(range(x.ndim)))
    return movement.transpose(x, tuple(order))


def _slice(pool: Pool) -> Node | None:
    x = pool.recent()
    if not x.ndim:
        return None
    start, stop = pool.one_of(None, 0, 1, -1, -2), pool.one_of(None, 3, -1)
    step = pool.one_of(1, 2, -1, -2, 3)
    made = movement.slice_(x, pool.axis(x), start, stop, step)
    return made if made.type.size or pool.number(0, 9) == 0 else None


def _pad(pool: Pool) -> Node:
    x = pool.recent()
    low, high, interior = ([pool.number(0, k) for _ in x.shape] for k in (2, 2, 1))
    return movement.pad(x, tuple(low), tuple(high), tuple(interior), pool.number(0, 1))


def _concat(pool: Pool) -> Node | None:
    x = pool.recent()
    if not x.ndim:
        return None
    axis = pool.axis(x)
    return movement.concat((x, movement.slice_(x, axis, 0, 1), x * 0.5), axis)


def _broadcast(pool: Pool) -> Node:
    x = pool.recent()
    return movement.broadcast(x, (pool.number(1, 3), *x.shape))


def _matmul(pool: Pool) -> Node | None:
    x, y = pool.recent(), pool.any()
    if x.ndim < 2 or not y.ndim:
        return None
    if y.shape[-2:][0] == x.shape[-1] and (y.ndim <= 2 or x.ndim == 2):
        return contraction.matmul(x, y)
    return contraction.matmul(x, contraction.swapped(x))


def _places(pool: Pool, x: Node, axis: int, count: int) -> Node:
    ramp = node(sources.iota, (), (0, (count,), int32))
    step = sources.constant_of(pool.number(1, 3), int32)
    return e.mod(ramp * step, sources.constant_of(x.shape[axis], int32))


def _take(pool: Pool) -> Node | None:
    x = pool.recent()
    if not x.ndim or not x.type.size:
        return None
    axis = pool.axis(x)
    return indexing.take(x, _places(pool, x, axis, pool.number(0, 5)), axis)


def _scatter(pool: Pool) -> Node | None:
    x = pool.recent()
    if not x.ndim or not x.type.size:
        return None
    axis = pool.axis(x)
    places = _places(pool, x, axis, pool.number(1, 4))
    updates = indexing.take(e.cos(x), places, axis)
    function = pool.one_of(indexing.scatter_add, indexing.scatter_set)
    made: Node = function(x, places, updates, axis)
    return made


def _windows(pool: Pool) -> Node | None:
    x = pool.recent()
    if not x.ndim or x.type.size > 500:
        return None
    axis, size = pool.axis(x), pool.number(1, 3)
    stride, dilation = pool.number(1, 2), pool.number(1, 2)
    if dilation * (size - 1) >= x.shape[axis]:
        return None
    made = window.windows(x, (axis,), (size,), (stride,), (dilation,))
    return made if pool.number(0, 1) else reduction.sum(made, (made.ndim - 1,))


def _scan(pool: Pool) -> Node | None:
    x, function = pool.recent(), pool.one_of(scan.cumsum, scan.cumprod)
    if not x.ndim or x.type.size > 500:
        return None
    made: Node = function(x, pool.axis(x))
    return made


def _sorted(pool: Pool) -> Node | None:
    """A line in its order."""
    x = pool.exact_one()
    if x.ndim != 1 or not x.type.size:
        return None
    order = node(sort.argsort, (x,), (bool(pool.number(0, 1)), x.shape[0]))
    return indexing.take(x, order, 0)


OPERATIONS: tuple[Operation, ...] = (
    *(_unary, _unary, _binary, _binary, _binary, _kinked, _sum, _sum, _extremum, _prod, _position),
    *(_reshape, _transpose, _slice, _pad, _concat, _broadcast, _matmul, _take, _scatter),
    *(_windows, _scan, _sorted),
)


@st.composite
def graphs(draw: Draw, most: int = 30) -> Graph:
    """A graph of up to `most` operations and the derivatives of one of its results."""
    shapes = draw(st.lists(st.sampled_from(SHAPES), min_size=1, max_size=3))
    leaves = tracked([leaf(slot, shape) for slot, shape in enumerate(shapes)])
    pool = Pool(draw, list(leaves), set(leaves))
    for _ in range(pool.number(most // 4, most)):
        made = pool.one_of(*OPERATIONS)(pool)
        if made is not None and made.type.size <= LARGEST:
            pool.values.append(made)
    outputs = [pool.values[-1], pool.recent(), pool.any()]
    return canonical([*outputs, *derivatives(outputs[0], leaves, pool.number(1, 2))])[0]


def derivatives(target: Node, leaves: list[Node], order: int) -> list[Node]:
    """The cotangents of `leaves`, up to an order."""
    found: list[Node] = []
    for _ in range(order):
        made = adjoint([target], [one(target)], leaves, manager=0)
        found += made.values()
        if not made:
            break
        target = next(iter(made.values()))
    return found


def is_moderate(values: Any) -> bool:
    """Whether all numbers are finite and far from where nothing is left of their digits."""
    array = np.asarray(values, np.float64)
    return bool(np.isfinite(array).all()) and float(np.abs(array).max(initial=0)) < math.exp(14)
