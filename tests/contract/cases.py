"""The table of the contract tests: for every operator, inputs on which it must be right.

`cases()` lists them all. Each names an operator, its attributes, and the types and values of its
inputs; `graph()` is what a target has to run on `sample(rng)`, and `tolerance` how near its result
must be to the interpreter's. Values are ordinary (inside the domain, away from kinks, where the
derivative is tested too) or, in the cases called special, the ones at which operators go wrong:
NaN, infinities, both zeros, the ends of the type, all pairs of them.

An operator that is new needs a row here: a test compares the table with OPS.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

import numpy as np
from contract.compute import leaf
from contract.values import (
    Array,
    Values,
    between,
    distinct,
    few,
    places,
    signed_places,
    special,
    special_values,
)
from gradc.tracer.dtypes import (
    DTYPES,
    DType,
    bfloat16,
    bool_,
    float16,
    float32,
    float64,
    int32,
    int64,
)
from gradc.tracer.graph import Graph, canonical
from gradc.tracer.interpret import to_storage
from gradc.tracer.ir import Attributes, Node, Shape, TensorType, node
from gradc.tracer.ops import OPS, sources
from gradc.tracer.ops.kinds import Elementwise, Reduction

EVERY = tuple(DTYPES.values())
FLOATS = (float16, bfloat16, float32, float64)
BITS = tuple(each for each in EVERY if not each.is_float)
INTEGERS = tuple(each for each in BITS if each is not bool_)
NUMBERS = (*INTEGERS, *FLOATS)
SUMMED = (int32, int64, *FLOATS)
THOROUGH = (bool_, int32, float32, float64)
"""The types that are tested with all shapes; the others with the first two."""

EPSILON = {float16: 2.0**-10, bfloat16: 2.0**-7, float32: 2.0**-23, float64: 2.0**-52}


class Tolerance(NamedTuple):
    """How far a target's value may be from the interpreter's: atol + rtol * |value|."""

    rtol: float
    atol: float


@dataclass(frozen=True, slots=True)
class Case:
    """One operator on inputs of given types; `dtype` is the type in which it computes."""

    op: str
    label: str
    dtype: DType
    types: tuple[TensorType, ...]
    values: tuple[Values, ...]
    attrs: Attributes = ()
    slack: float = 1
    special: bool = False
    floats: tuple[float, ...] = ()
    ints: tuple[int, ...] = ()

    @property
    def tolerance(self) -> Tolerance:
        """Four units in the last place, times the operator's slack; integers are exact."""
        error = 4 * self.slack * EPSILON.get(self.build(self.leaves()).dtype, 0.0)
        return Tolerance(error, 0.0 if self.special else error)

    def leaves(self) -> tuple[Node, ...]:
        """The inputs, as the slots 0, 1, ... of a graph."""
        return tuple(leaf(k, kind.shape, kind.dtype) for k, kind in enumerate(self.types))

    def build(self, inputs: tuple[Node, ...]) -> Node:
        """The operator on `inputs`."""
        op = OPS[self.op]
        return inputs[0] if op is sources.input_ else node(op, inputs, self.attrs)

    def graph(self) -> Graph:
        """The graph that has this one operator."""
        return canonical([self.build(self.leaves())])[0]

    def sample(self, rng: np.random.Generator) -> list[Array]:
        """An array for each input, in its storage type."""
        return [
            to_storage(values(rng, kind), kind.dtype)
            for values, kind in zip(self.values, self.types, strict=True)
        ]

    def __str__(self) -> str:
        return f"{self.op}-{self.dtype.name}-{self.label}".replace(" ", "")


@cache
def cases() -> list[Case]:
    """Every case of every operator."""
    tables = (
        *(_sources, _markers, _casts, _elementwise, _reductions, _scans, _sorts),
        *(_movements, _matmuls, _lines),
    )
    return [case for table in tables for case in table()]


def shapes_text(shapes: tuple[Shape, ...]) -> str:
    """Shapes as part of a label: 3x4,4."""
    return ",".join("x".join(map(str, shape)) or "0d" for shape in shapes)


# ---- values without inputs, and markers


def _sources() -> Iterator[Case]:
    for dtype in EVERY:
        kind = TensorType(dtype, (2, 3), "cpu")
        attrs: Attributes = (0, dtype, (2, 3), "cpu")
        yield Case("input", "2x3", dtype, (kind,), (between(-3, 3),), attrs)
        for source in "fi":
            attrs = (0, source, dtype)
            yield Case("scalar", source, dtype, (), (), attrs, floats=(2.75,), ints=(3,))
        texts = ("0.0", "-0.0", "0.1", "-1.5", "inf", "-inf", "nan", "1e-40", "65504.0")
        for text in texts if dtype.is_float else ("0", "1") if dtype is bool_ else ("0", "1", "97"):
            yield Case("constant", text, dtype, (), (), (text, dtype))
        for axis, shape in ((0, (5,)), (1, (2, 300)), (0, (3, 2, 2)), (1, (2, 0)), (0, (1,))):
            label = f"{shapes_text((shape,))}axis{axis}"
            yield Case("iota", label, dtype, (), (), (axis, shape, dtype))


def _markers() -> Iterator[Case]:
    attributes: dict[str, Attributes] = {"track": (0,), "stop": (), "opaque": ((1, 2),)}
    for dtype in (int32, float32, float64):
        kind = TensorType(dtype, (2, 3), "cpu")
        for name, attrs in attributes.items():
            yield Case(name, "2x3", dtype, (kind,), (ANY,), attrs)
        yield Case("boundary", "2x3", dtype, (kind, kind), (ANY, ANY), (0, 0, 1))


# ---- elementwise


class Row(NamedTuple):
    """An elementwise operator: its types, where its operands lie, how exact it is."""

    dtypes: tuple[DType, ...]
    operands: tuple[Values, ...]
    attributes: tuple[Attributes, ...] = ((),)
    slack: float = 1


ANY, PLAIN = between(-3, 3), between(-2, 2)
POSITIVE, INSIDE, ABOVE = between(0.3, 2.5), between(-0.9, 0.9), between(1.2, 3)
DIVISORS, COUNTS, BIT = between(1.3, 4), between(0, 6), between(0, 1)


def _of_floats(*operands: Values, slack: float = 1) -> Row:
    return Row(FLOATS, operands, slack=slack)


COMPARISON = Row(EVERY, (few, few))
ROWS: dict[str, Row] = {
    **dict.fromkeys(("add", "sub", "mul"), Row(NUMBERS, (ANY, ANY))),
    "div": _of_floats(ANY, DIVISORS),
    **dict.fromkeys(("floordiv", "mod"), Row(NUMBERS, (between(-9, 9), DIVISORS))),
    **dict.fromkeys(("neg", "abs", "sign", "floor", "ceil", "round"), Row(NUMBERS, (ANY,))),
    "pow": Row(NUMBERS, (between(0.2, 3), ANY), slack=4),
    "power": Row(FLOATS, (POSITIVE,), (("2.5",), ("-1.5",), ("0.3",), ("9.0",)), slack=4),
    **dict.fromkeys(("sqrt", "rsqrt", "cbrt"), _of_floats(POSITIVE)),
    "hypot": _of_floats(PLAIN, POSITIVE),
    **dict.fromkeys(("exp", "exp2", "expm1"), _of_floats(PLAIN, slack=2)),
    **dict.fromkeys(("log", "log2", "log10"), _of_floats(POSITIVE, slack=2)),
    "log1p": _of_floats(between(-0.7, 2), slack=2),
    "sigmoid": _of_floats(between(-6, 6), slack=2),
    "logaddexp": _of_floats(ANY, ANY, slack=2),
    **dict.fromkeys(("sin", "cos"), _of_floats(between(-9, 9), slack=2)),
    "tan": _of_floats(between(-1.2, 1.2), slack=2),
    **dict.fromkeys(("asin", "acos", "atanh"), _of_floats(INSIDE, slack=2)),
    **dict.fromkeys(("atan", "sinh", "cosh", "tanh", "asinh"), _of_floats(ANY, slack=2)),
    "atan2": _of_floats(ANY, POSITIVE, slack=2),
    "acosh": _of_floats(ABOVE, slack=2),
    "erf": _of_floats(PLAIN, slack=2),
    **dict.fromkeys(("eq", "ne", "lt", "le", "gt", "ge"), COMPARISON),
    **dict.fromkeys(("isnan", "isinf", "isfinite"), Row(EVERY, (ANY,))),
    **dict.fromkeys(("bit_and", "bit_or", "bit_xor"), Row(BITS, (between(-99, 99), ANY))),
    **dict.fromkeys(("shift_left", "shift_right"), Row(INTEGERS, (between(-99, 99), COUNTS))),
    "logical_not": Row((bool_,), (BIT,)),
    "where": Row(EVERY, (BIT, ANY, ANY)),
    **dict.fromkeys(("maximum", "minimum"), Row(EVERY, (ANY, ANY))),
    "checked_index": Row((int32, int64), (signed_places(5),), ((5, True),)),
    "random_bits": Row((int64,), (between(0, 1 << 30), ANY, ANY)),
}

SHAPES: dict[int, tuple[tuple[Shape, ...], ...]] = {
    1: (((3, 4),), ((),), ((0,),), ((2, 0, 3),), ((1,),), ((5, 1),), ((1003,),)),
    2: (
        *(((3, 4), (4,)), ((), (2, 3)), ((3, 4), (3, 4)), ((2, 1), (1, 3)), ((), ()), ((1,), (4,))),
        *(((0, 3), (1, 3)), ((2, 1, 3), (4, 1)), ((1003,), (1,))),
    ),
    3: (
        *(((3, 4), (3, 4), (3, 4)), ((), (2, 3), (3,)), ((2, 1), (), (1, 3)), ((), (), ())),
        ((0, 3), (3,), (1, 1)),
    ),
}
"""Shapes of the operands, by their number."""


def _operand_types(op: Elementwise, shapes: tuple[Shape, ...], dtype: DType) -> list[TensorType]:
    return [
        TensorType(bool_ if k < op.condition else dtype, shape, "cpu")
        for k, shape in enumerate(shapes)
    ]


def _elementwise() -> Iterator[Case]:
    for name, row in ROWS.items():
        for dtype in row.dtypes:
            for attrs in row.attributes:
                yield from _elementwise_cases(name, row, dtype, attrs)


def _elementwise_cases(name: str, row: Row, dtype: DType, attrs: Attributes) -> Iterator[Case]:
    op = OPS[name]
    assert isinstance(op, Elementwise)
    count = len(row.operands)
    listed = SHAPES[count] if dtype in THOROUGH else SHAPES[count][:2]
    for shapes in listed:
        types = tuple(_operand_types(op, shapes, dtype))
        label = ",".join([shapes_text(shapes), *map(str, attrs)])
        yield Case(name, label, dtype, types, row.operands, attrs, row.slack)
    if name != "checked_index":
        types = _special_types(op, count, dtype)
        label = ",".join(["special", *map(str, attrs)])
        yield Case(name, label, dtype, types, (special,) * count, attrs, row.slack, True)


def _special_types(op: Elementwise, count: int, dtype: DType) -> tuple[TensorType, ...]:
    """One axis for each operand, as long as its type has special values."""
    dtypes = [bool_ if k < op.condition else dtype for k in range(count)]
    return tuple(
        TensorType(each, (1,) * k + (len(special_values(each)),) + (1,) * (count - 1 - k), "cpu")
        for k, each in enumerate(dtypes)
    )


def _casts() -> Iterator[Case]:
    for source in EVERY:
        for target in EVERY:
            attrs, name = (target,), target.name
            kind = TensorType(source, (3, 4), "cpu")
            ends = TensorType(source, (len(special_values(source)),), "cpu")
            yield Case("cast", f"{name},3x4", source, (kind,), (between(-99, 99),), attrs)
            yield Case("cast", f"{name},special", source, (ends,), (special,), attrs, special=True)


# ---- reductions

LINES: tuple[tuple[Shape, tuple[int, ...]], ...] = (
    *(((3, 4), (1,)), ((3, 4), (0,)), ((3, 4), (0, 1)), ((2, 3, 4), (0, 2)), ((2, 3, 4), (1,))),
    *(((5, 1), (1,)), ((1, 5), (0,)), ((0, 3), (1,)), ((7,), (0,)), ((2, 3, 2, 2), (1, 3))),
)
LONG: tuple[tuple[Shape, tuple[int, ...]], ...] = (((1003,), (0,)), ((3, 517), (1,)))
EMPTY: tuple[tuple[Shape, tuple[int, ...]], ...] = (((0, 3), (0,)), ((2, 0), (0, 1)))
REDUCTIONS: dict[str, tuple[tuple[DType, ...], tuple[Values, ...], float]] = {
    "sum": (SUMMED, (ANY,), 4),
    "prod": (SUMMED, (between(0.5, 1.4),), 8),
    "max": (EVERY, (distinct, few), 1),
    "first_max": (EVERY, (distinct, few), 1),
    "min": (EVERY, (distinct, few), 1),
    "argmax": (EVERY, (distinct, few), 1),
    "argmin": (EVERY, (distinct, few), 1),
}
"""Types, values, slack. Of `distinct` and `few` the first has a derivative."""


def _reductions() -> Iterator[Case]:
    for name, (dtypes, drawn, slack) in REDUCTIONS.items():
        for dtype in dtypes:
            for values in drawn:
                yield from _reduction_cases(name, dtype, values, slack)


def _reduction_cases(name: str, dtype: DType, values: Values, slack: float) -> Iterator[Case]:
    op = OPS[name]
    assert isinstance(op, Reduction)
    listed = [*LINES, *(LONG if name != "prod" else ())] if dtype in THOROUGH else LINES[:3]
    if op.has_identity(dtype):
        listed = [*listed, *EMPTY]
    if op.result == "index":
        listed = [*listed, ((), ())]
    ties = values is few
    for shape, axes in listed:
        label = f"{shapes_text((shape,))},{axes}{',ties' if ties else ''}"
        kind = TensorType(dtype, shape, "cpu")
        yield Case(name, label, dtype, (kind,), (values,), (axes,), slack, special=ties)
    if dtype.is_float and not ties:
        yield Case(
            name,
            "not a number",
            dtype,
            (TensorType(dtype, (3, 5), "cpu"),),
            (_with_nan,),
            ((1,),),
            slack,
            special=True,
        )


def _with_nan(rng: np.random.Generator, kind: TensorType) -> Array:
    """Lines with two NaN, with infinities, and with zeros of both signs."""
    storage = between(0, 1)(rng, kind).dtype
    lines = [[1, np.nan, 9, np.nan, 2], [np.inf, 1, -np.inf, 2, np.inf], [0.0, -0.0, 1, -1, 0.0]]
    return np.array(lines, storage)


# ---- scans and sorts

ALONG: tuple[tuple[Shape, int], ...] = (
    *(((3, 4), 1), ((5,), 0), ((2, 3, 4), 1), ((3, 4), 0), ((1,), 0), ((0,), 0), ((3, 0), 1)),
    *(((0, 3), 1), ((2, 70), 1)),
)
"""The shape of the input, and the axis of its lines."""


def _scans() -> Iterator[Case]:
    for name in ("cumsum", "cumprod"):
        for dtype in SUMMED:
            listed = ALONG if dtype in THOROUGH else ALONG[:2]
            for shape, axis in listed:
                values = between(0.5, 1.5) if name == "cumprod" and dtype.is_float else ANY
                kind = TensorType(dtype, shape, "cpu")
                label = f"{shapes_text((shape,))},{axis}"
                yield Case(name, label, dtype, (kind,), (values,), (axis,), slack=16)


def _sorts() -> Iterator[Case]:
    for dtype in EVERY:
        listed = [shape for shape, axis in ALONG if axis == len(shape) - 1]
        for shape in listed if dtype in THOROUGH else listed[:2]:
            for descending in (False, True):
                for values in (ANY, few):
                    kind = TensorType(dtype, shape, "cpu")
                    ties = ",ties" if values is few else ""
                    for count in {shape[-1], min(shape[-1], 2)}:
                        first = f",first {count}" if count < shape[-1] else ""
                        label = f"{shapes_text((shape,))},{descending}{ties}{first}"
                        attrs = (descending, count)
                        yield Case("argsort", label, dtype, (kind,), (values,), attrs)


# ---- movements


Given = int | Shape | Callable[[DType], str]
"""An attribute, or what makes it of the type."""


def _fill(value: float) -> Callable[[DType], str]:
    """The fill of a pad, as text."""
    return lambda dtype: sources.text_of(value, dtype)


MOVEMENTS: dict[str, tuple[tuple[tuple[Shape, ...], tuple[Given, ...]], ...]] = {
    "reshape": (
        *((((3, 4),), ((2, 6),)), (((12,),), ((3, 1, 4),)), (((1, 1),), ((),)), (((),), ((1,),))),
        (((0, 3),), ((2, 0, 5),)),
    ),
    "transpose": (
        *((((3, 4),), ((1, 0),)), (((2, 3, 4),), ((2, 0, 1),)), (((0, 3),), ((1, 0),))),
        (((1, 2, 1, 3),), ((3, 1, 0, 2),)),
    ),
    "broadcast": (
        *((((4,),), ((3, 4),)), (((3, 1),), ((3, 4),)), (((),), ((2, 3),)), (((1, 3),), ((0, 3),))),
        (((2, 1, 1),), ((4, 2, 3, 1),)),
    ),
    "slice": (
        (((5, 6),), ((1, 0), (3, 6), (1, 1))),
        (((5, 6),), ((4, 1), (5, 2), (-1, 3))),
        (((7,),), ((6,), (3,), (-3,))),
        (((7,),), ((5,), (3,), (-2,))),
        (((4, 3),), ((2, 0), (0, 3), (1, 1))),
        (((1, 3),), ((0, 2), (1, 1), (1, 1))),
    ),
    "pad": (
        (((3, 4),), ((1, 0), (0, 2), (0, 0), _fill(0))),
        (((3,),), ((2,), (1,), (2,), _fill(1))),
        (((0, 2),), ((1, 0), (2, 0), (3, 0), _fill(1))),
        (((2, 1),), ((0, 1), (0, 1), (1, 5), _fill(0))),
        (((),), ((), (), (), _fill(0))),
    ),
    "concat": (
        *((((2, 3), (2, 1)), (1,)), (((2, 3), (1, 3), (2, 3)), (0,)), (((2,), (0,), (3,)), (0,))),
        (((2, 0, 3), (2, 0, 3)), (1,)),
    ),
    "window": (
        (((5, 3),), ((0,), (1,), (1,))),
        (((2, 7, 5, 3, 2),), ((1, 2), (2, 1), (1, 2))),
        (((6, 2, 1),), ((0,), (3,), (1,))),
        (((0, 4, 2),), ((1,), (1,), (2,))),
    ),
    "unwindow": (
        (((3, 3),), ((0,), (1,), (1,), (5,))),
        (((2, 3, 3, 3, 2),), ((1, 2), (2, 1), (1, 2), (7, 5))),
        (((2, 2, 1),), ((0,), (3,), (1,), (6,))),
        (((2, 2),), ((0,), (1,), (1,), (5,))),  # room for more places
        (((0, 2, 2),), ((1,), (1,), (2,), (4,))),
    ),
}
"""Shapes of the inputs, and attributes."""


def _movements() -> Iterator[Case]:
    for name, rows in MOVEMENTS.items():
        for dtype in EVERY:
            for shapes, given in rows:
                attrs = tuple(each(dtype) if callable(each) else each for each in given)
                label = f"{shapes_text(shapes)}{attrs}"
                types = tuple(TensorType(dtype, shape, "cpu") for shape in shapes)
                yield Case(name, label, dtype, types, (ANY,) * len(types), attrs)


# ---- contractions, gathers and scatters

PRODUCTS: tuple[tuple[Shape, Shape], ...] = (
    *(((3, 4), (4, 2)), ((2, 3, 4), (2, 4, 2)), ((1, 1), (1, 1)), ((2, 0), (0, 3))),
    *(((0, 3), (3, 2)), ((2, 3, 4), (4, 2)), ((2, 1, 2, 3), (3, 3, 2)), ((1, 5), (5, 1))),
)
MEDIUM: tuple[Shape, Shape] = ((19, 67), (67, 35))


def _matmuls() -> Iterator[Case]:
    for dtype in SUMMED:
        for shapes in PRODUCTS if dtype in THOROUGH else PRODUCTS[:2]:
            yield _matmul(dtype, shapes, slack=4)
    for dtype in (int32, float32):
        yield _matmul(dtype, MEDIUM, slack=32)


def _matmul(dtype: DType, shapes: tuple[Shape, Shape], slack: float) -> Case:
    types = tuple(TensorType(dtype, shape, "cpu") for shape in shapes)
    return Case("matmul", shapes_text(shapes), dtype, types, (ANY, ANY), (), slack)


PLACES: tuple[tuple[Shape, Shape, int], ...] = (
    *(((5, 3), (8,), 0), ((2, 4, 3), (2, 5), 1), ((5,), (), 0), ((3, 5), (0,), 1), ((1,), (3,), 0)),
    ((3, 0), (4,), 0),
)
"""The shape of the lines, that of the indices, and the axis."""


def _lines() -> Iterator[Case]:
    for dtype in EVERY:
        for shape, index_shape, axis in PLACES:
            for index_dtype in (int32, int64) if dtype in THOROUGH else (int32,):
                yield from _line_cases(dtype, shape, TensorType(index_dtype, index_shape), axis)


def _line_cases(dtype: DType, shape: Shape, indices: TensorType, axis: int) -> Iterator[Case]:
    lines = TensorType(dtype, shape, "cpu")
    indices = indices._replace(device="cpu")
    moved = TensorType(dtype, shape[:axis] + indices.shape + shape[axis + 1 :], "cpu")
    label = f"{shapes_text((shape, indices.shape))},{indices.dtype.name},{axis}"
    at = places(shape[axis])
    yield Case("take", label, dtype, (lines, indices), (ANY, at), (axis,))
    written = (lines, indices, moved)
    yield Case("scatter_set", label, dtype, written, (ANY, at, ANY), (axis,))
    if dtype is not bool_:
        yield Case("scatter_add", label, dtype, written, (ANY, at, ANY), (axis,), slack=4)
