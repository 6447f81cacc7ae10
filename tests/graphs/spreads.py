"""Graphs of every shape of work: each takes another way over the blocks and threads of a device."""

from collections.abc import Callable

from contract.compute import leaf
from gradc.tracer.dtypes import (
    DType,
    bfloat16,
    bool_,
    float16,
    float32,
    float64,
    int32,
    int64,
)
from gradc.tracer.graph import Graph
from gradc.tracer.ir import Node, Shape, node
from gradc.tracer.ops import contraction, indexing, movement, reduction, sources
from gradc.tracer.ops import elementwise as e
from graphs.build import graph_of, scalar, with_gradients

Axes = tuple[int, ...]
Build = Callable[[], Graph]


# ---- functions that are composed of operators


def softmax(x: Node) -> Node:
    """Softmax along the last axis."""
    last = (x.ndim - 1,)
    powers = e.exp(x - reduction.max(x, last))
    return powers / reduction.sum(powers, last)


def layer_norm(x: Node, weight: Node, bias: Node) -> Node:
    """Layer normalization along the last axis."""
    last, count = (x.ndim - 1,), 1 / x.shape[-1]
    centred = x - reduction.sum(x, last) * count
    variance = reduction.sum(centred * centred, last) * count
    return centred * e.rsqrt(variance + 1e-5) * weight + bias


def costly_softmax(x: Node) -> Node:
    """Softmax of values that are worth keeping."""
    return softmax(e.tanh(e.sin(e.erf(x)) * e.cos(e.exp(e.atan(x)))) * e.log1p(e.abs(x)))


# ---- tables


def reduced(name: str, shape: Shape, axes: Axes, dtype: DType = float32) -> Build:
    """A reduction of an elementwise function."""
    record = getattr(reduction, name)

    def build() -> Graph:
        x = leaf(0, shape, dtype)
        return graph_of(record(x * x - x if dtype.is_float else x, axes))

    return build


def product(a: Shape, b: Shape, dtype: DType = float32, turned: str = "") -> Build:
    """A matrix product; the operands named in `turned` lie in memory transposed."""

    def operand(slot: int, shape: Shape, name: str) -> Node:
        if name not in turned:
            return leaf(slot, shape, dtype)
        return contraction.swapped(leaf(slot, (*shape[:-2], shape[-1], shape[-2]), dtype))

    return lambda: graph_of(contraction.matmul_op(operand(0, a, "a"), operand(1, b, "b")))


def scattered(name: str, base: Shape, indices: Shape, axis: int, dtype: DType = float32) -> Build:
    """A scatter into the lines of `base`."""
    moved = base[:axis] + indices + base[axis + 1 :]
    record = getattr(indexing, name)

    def build() -> Graph:
        lines, updates = leaf(0, base, dtype), leaf(2, moved, dtype)
        return graph_of(record(lines, leaf(1, indices, int32), updates, axis))

    return build


def derived(function: Callable[..., Node], *shapes: Shape, dtype: DType = float32) -> Build:
    """A function of floats, with its derivatives."""
    return lambda: with_gradients(function, *(leaf(k, s, dtype) for k, s in enumerate(shapes)))


def plain(function: Callable[..., Node], *shapes: Shape, dtype: DType = float32) -> Build:
    """A function of floats."""
    return lambda: graph_of(function(*(leaf(k, s, dtype) for k, s in enumerate(shapes))))


def joined(function: Callable[[Node], Node], *others: Callable[[Node], Node]) -> Build:
    """Several functions of one matrix in one program."""
    return lambda: graph_of(*(each(leaf(0, (70, 90), float32)) for each in (function, *others)))


def taken() -> Graph:
    """Lines at run-time places, and the derivative."""
    table, places = leaf(0, (50, 40), float32), leaf(1, (90,), int64)
    return with_gradients(lambda x, at: indexing.take(x, at, 0), table, places)


def numbers() -> Graph:
    """Run-time numbers of both kinds."""
    x = leaf(0, (50,), float32)
    count = node(sources.scalar, (), (0, "i", int32))
    return graph_of(x * scalar(0, x) + scalar(1, x), e.cast_to(x, int32) + count)


def moved() -> Graph:
    """Every movement at once."""
    x, y = leaf(0, (12, 20), float32), leaf(1, (20, 12), float32)
    turned = movement.concat((x, movement.transpose(y, (1, 0))), 0)
    flipped = movement.flip(movement.slice_(turned, 1, 1, 18, 3), 0)
    return graph_of(movement.pad(flipped, (1, 2), (0, 3), (1, 0), 7.0), turned * 2.0)


def _apart(x: Node, y: Node) -> Node:
    """A sum over two axes that do not join."""
    return reduction.sum(x * movement.transpose(y, (0, 2, 1)), (1, 2))


def _outside(x: Node, y: Node) -> Node:
    """A sum over the axes around the middle one."""
    return reduction.sum(x * movement.transpose(y, (2, 1, 0)), (0, 2))


def _reversed(x: Node) -> Node:
    return movement.reshape(movement.transpose(x, (2, 1, 0)), (x.type.size,))


ELEMENTS: dict[str, Build] = {
    "several chunks": plain(lambda x, y: e.tanh(x) * y + 1.0, (5000,), (5000,)),
    "short rows": plain(lambda x, y: x + y, (300, 7), (7,)),
    "rows of a warp": plain(lambda x, y: x + y, (90, 40), (40,)),
    "rows of a block": plain(lambda x, y: x * y, (40, 300), (40, 1)),
    "long rows": plain(lambda x, y: x * y, (3, 9000), (3, 1)),
    "turned around": plain(_reversed, (13, 11, 7)),
    "no axes": plain(lambda x, y: x * y, (), ()),
    "float64": plain(lambda x, y: e.exp(x) / (1.0 + y * y), (31, 33), (33,), dtype=float64),
    "float16": plain(lambda x, y: e.exp(x) * y, (31, 33), (33,), dtype=float16),
    "bfloat16": plain(lambda x, y: e.exp(x) * y, (31, 33), (33,), dtype=bfloat16),
    "numbers": numbers,
    "moved": moved,
}
ROWS: dict[str, Build] = {
    **{
        f"{name} of {shape[0]} rows of {shape[1]}": reduced(name, shape, (1,))
        for name in ("sum", "max")
        for shape in ((600, 1), (90, 3), (50, 40), (20, 300), (5, 2000), (3, 9000), (2, 40000))
    },
    "sum of float64": reduced("sum", (9, 700), (1,), float64),
    "sum of float16": reduced("sum", (9, 700), (1,), float16),
    "sum of int32": reduced("sum", (9, 700), (1,), int32),
    "max of bool": reduced("max", (9, 70), (1,), bool_),
    "product": reduced("prod", (9, 70), (1,)),
    "two axes": reduced("sum", (8, 30, 40), (1, 2)),
    "two axes apart": plain(_apart, (4, 30, 20), (4, 20, 30)),
    "softmax of 10": derived(softmax, (70, 10)),
    "softmax of 300": derived(softmax, (9, 300)),
    "softmax of 2000": derived(softmax, (3, 2000)),
    "softmax that keeps": plain(costly_softmax, (9, 300)),
    "softmax of float64": derived(softmax, (9, 70), dtype=float64),
    "softmax of bfloat16": plain(softmax, (9, 70), dtype=bfloat16),
    "layer norm": derived(layer_norm, (40, 300), (300,), (300,)),
    "layer norm of a warp": derived(layer_norm, (300, 40), (40,), (40,)),
}
PLACES: dict[str, Build] = {
    **{
        f"{name} of {shape}": reduced(name, shape, axes)
        for name in ("argmax", "argmin")
        for shape, axes in (((30, 10), (1,)), ((4, 2000), (1,)), ((3000,), (0,)), ((10, 30), (0,)))
    },
    "argmax of int64": reduced("argmax", (30, 10), (1,), int64),
    "argmax of all": reduced("argmax", (9, 70), (0, 1)),
}
COLUMNS: dict[str, Build] = {
    **{
        f"sum of {shape[0]} rows of {shape[1]}": reduced("sum", shape, (0,))
        for shape in ((1000, 7), (3000, 40), (100, 600), (64, 5000), (5000, 1))
    },
    "max": reduced("max", (300, 40), (0,)),
    "product": reduced("prod", (30, 40), (0,)),
    "product of int64": reduced("prod", (30, 40), (0,), int64),
    "min of bool": reduced("min", (300, 40), (0,), bool_),
    "sum of float64": reduced("sum", (300, 40), (0,), float64),
    "sum of bfloat16": reduced("sum", (300, 40), (0,), bfloat16),
    "middle axis": reduced("sum", (7, 50, 20), (1,)),
    "outer axes": reduced("sum", (7, 50, 20), (0, 2)),
    "outer axes apart": plain(_outside, (30, 7, 20), (20, 7, 30)),
    "sums of rows and columns": joined(
        lambda x: reduction.sum(x * 2.0, (0,)),
        lambda x: reduction.sum(x * 2.0, (1,)),
        lambda x: reduction.sum(x * 2.0, (0, 1)),
    ),
}
EVERYTHING: dict[str, Build] = {
    "sum": reduced("sum", (100, 130), (0, 1)),
    "sum of a vector": reduced("sum", (70000,), (0,)),
    "max": reduced("max", (100, 130), (0, 1)),
    "product": reduced("prod", (9, 8), (0, 1)),
    "sum of float16": reduced("sum", (100, 130), (0, 1), float16),
    "mean of squares": derived(
        lambda x, b: reduction.sum((x + b) * (x + b), (0, 1)) * 1e-3, (200, 90), (90,)
    ),
}
EMPTY: dict[str, Build] = {
    "elements": plain(lambda x, y: x * y, (0, 3), (3,)),
    "sum of no rows": reduced("sum", (0, 3), (0,)),
    "sum of empty rows": reduced("sum", (3, 0), (1,)),
    "sum of nothing": reduced("sum", (3, 0), (0, 1)),
    "product of nothing": reduced("prod", (0,), (0,)),
    "no depth": product((3, 0), (0, 4)),
    "no rows": product((0, 3), (3, 4)),
    "no batch": product((0, 3, 2), (0, 2, 4)),
    "no updates": scattered("scatter_add", (5, 3), (0,), 0),
}
LINES: dict[str, Build] = {
    **{
        f"{name} of {indices} into {base}": scattered(name, base, indices, axis)
        for name in ("scatter_add", "scatter_set")
        for base, indices, axis in (
            *(((50, 600), (100,), 0), ((50,), (3000,), 0), ((50, 3), (500,), 0)),
            *(((50, 3), (), 0), ((4, 50, 6), (2, 30), 1), ((7, 50), (60,), 1)),
        )
    },
    "scatter_add of float16": scattered("scatter_add", (50, 3), (90,), 0, float16),
    "scatter_add of int64": scattered("scatter_add", (50, 300), (90,), 0, int64),
    "take": taken,
}
PRODUCTS: dict[str, Build] = {
    **{
        f"product {turned}": product((33, 50), (50, 70), turned=turned)
        for turned in ("", "a", "b", "ab")
    },
    **{
        f"product of {dtype.name}": product((19, 67), (67, 35), dtype)
        for dtype in (float64, float16, bfloat16, int32, int64)
    },
    "turned float64": product((19, 67), (67, 35), float64, "ab"),
    "turned bfloat16": product((19, 67), (67, 35), bfloat16, "a"),
    "batch": product((6, 20, 30), (6, 30, 10)),
    "repeated batch": product((2, 1, 20, 30), (3, 30, 10), turned="b"),
    "middle tiles": product((300, 16), (16, 520)),
    "large tiles": product((704, 20), (20, 768)),
    "one element": product((1, 1), (1, 1)),
    "dense layer": derived(
        lambda x, w, b: e.tanh(contraction.matmul(x, w) + b), (40, 30), (30, 50), (50,)
    ),
}
TABLES: dict[str, dict[str, Build]] = {
    "elements": ELEMENTS,
    "rows": ROWS,
    "places": PLACES,
    "columns": COLUMNS,
    "everything": EVERYTHING,
    "empty": EMPTY,
    "lines": LINES,
    "products": PRODUCTS,
}
"""All graphs. Integers that are inputs are less than INDEX_BOUND, as some of them are places."""

INDEX_BOUND = 50
