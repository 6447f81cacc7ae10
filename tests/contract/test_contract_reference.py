"""References and type rules of all operators, held against Python arithmetic and written values."""

import math
from itertools import product
from typing import Any

import numpy as np
import pytest
from contract import oracle
from contract.cases import Case, cases
from contract.compute import applied, compute, leaf
from contract.values import Array, special_values
from gradc.tracer.dtypes import (
    DTYPES,
    DType,
    bfloat16,
    bool_,
    float16,
    float32,
    float64,
    int8,
    int16,
    int32,
    int64,
    uint8,
)
from gradc.tracer.errors import DTypeError, ShapeError
from gradc.tracer.interpret import computing, from_storage, to_storage
from gradc.tracer.ir import Op, node
from gradc.tracer.ops import MODULES, OPS, sources
from gradc.tracer.ops import elementwise as e
from gradc.tracer.ops.kinds import Cast, Elementwise, Gather, Movement, Reduction, Scan, Scatter
from walk import walk

INF, NAN = math.inf, math.nan
FLOATS = (float16, bfloat16, float32, float64)


def operands_of(case: Case) -> list[Array]:
    """The case's arrays, in the types in which they are computed."""
    arrays = case.sample(np.random.default_rng(7))
    return [from_storage(x, kind.dtype) for x, kind in zip(arrays, case.types, strict=True)]


def value_of(case: Case) -> Array:
    result = compute(
        [case.build(case.leaves())],
        case.sample(np.random.default_rng(7)),
        case.floats,
        case.ints,
    )[0]
    return from_storage(result, case.build(case.leaves()).dtype)


# ---- the table is complete


def test_every_operator_has_cases() -> None:
    assert {case.op for case in cases()} == set(OPS)


def test_every_type_that_an_operator_takes_has_a_case() -> None:
    """An operator takes the types that its domain leaves as they are."""
    tested = {(case.op, case.dtype) for case in cases()}
    missing = []
    for name, op in OPS.items():
        for dtype in DTYPES.values():
            if isinstance(op, Elementwise) and not isinstance(op, Cast):
                takes = name != "checked_index" and _is_taken(op, dtype)
            elif isinstance(op, Reduction | Scan):
                takes = op.operand(dtype) is dtype
            else:
                takes = op.kind not in ("marker", "contraction") and (name, dtype) != (
                    "scatter_add",
                    bool_,
                )
            if takes and (name, dtype) not in tested:
                missing.append(f"{name} {dtype.name}")
    assert not missing


def _is_taken(op: Elementwise, dtype: DType) -> bool:
    try:
        op.infer((leaf(0, (), bool_).type,) * op.condition + (leaf(0, (), dtype).type,) * 2, ())
    except DTypeError:
        return False
    return True


def test_names_are_used_once() -> None:
    found = {id(op): op for module in MODULES for op in vars(module).values() if isinstance(op, Op)}
    assert sorted(op.name for op in found.values()) == sorted(OPS)


def test_every_elementwise_record_is_found_under_one_name() -> None:
    names = {name for name, op in OPS.items() if isinstance(op, Elementwise)}
    assert {name: getattr(e, name) for name in names} == {name: OPS[name] for name in names}


# ---- type rules and values


@walk("case", cases(), ids=str)
def test_type_rule_is_the_references_shape_and_dtype(case: Case) -> None:
    made = case.build(case.leaves())
    if made.op in (sources.input_, sources.scalar):
        assert made.type == made.op.infer((), case.attrs)
        return
    attrs = [computing(a) if isinstance(a, DType) else a for a in case.attrs]
    with np.errstate(all="ignore"):
        found = np.asarray(made.op.reference(*operands_of(case), *attrs))
    assert found.shape == made.shape
    assert found.dtype == computing(made.dtype).storage


def _expected(case: Case) -> Array:
    op, operands, dtype = OPS[case.op], operands_of(case), case.build(case.leaves()).dtype
    if isinstance(op, Elementwise):
        return oracle.elementwise(case.op, operands, case.attrs, dtype)
    if isinstance(op, Reduction):
        return oracle.reduction(case.op, operands[0], case.attrs[0], dtype)
    if op.kind == "scan":
        return oracle.scan(case.op, operands[0], case.attrs[0], dtype)
    if op.kind == "sort":
        return oracle.argsort(operands[0], *case.attrs)
    if isinstance(op, Movement):
        return oracle.MOVEMENTS[case.op](*operands, *case.attrs)
    if isinstance(op, Gather):
        return oracle.take(operands, *case.attrs)
    if isinstance(op, Scatter):
        return oracle.scatter(operands, case.attrs[0], op.accumulate, dtype)
    if op.kind == "contraction":
        return oracle.matmul(operands, dtype)
    if op.kind == "marker" or case.op == "input":
        return operands[0]
    if case.op == "iota":
        axis, shape, _ = case.attrs
        return np.array([at[axis] for at in np.ndindex(*shape)], object).reshape(shape)
    number = {"f": 2.75, "i": 3}[case.attrs[1]] if case.op == "scalar" else float(case.attrs[0])
    return np.array(oracle.wrapped(int(number) if dtype.kind in "iu" else number, dtype))


def _has_oracle(case: Case) -> bool:
    """Special floats have written values, except where Python computes with them too."""
    return not case.special or not case.dtype.is_float or case.op in oracle.TOTAL


@walk("case", [case for case in cases() if _has_oracle(case)], ids=str)
def test_value_is_that_of_plain_python(case: Case) -> None:
    found, expected = value_of(case), _expected(case)
    dtype = case.build(case.leaves()).dtype
    if case.op in ("iota", "cast", "pad", "constant"):  # what Python has not rounded or wrapped
        expected = np.array([oracle.wrapped(x, dtype) for x in expected.reshape(-1)], object)
        expected = expected.reshape(found.shape)
    if not dtype.is_float:
        assert found.tolist() == expected.astype(object).tolist()
        return
    rtol, atol = case.tolerance
    with np.errstate(all="ignore"):
        rounded = from_storage(to_storage(expected.astype(np.float64), dtype), dtype)
    np.testing.assert_allclose(found, rounded, rtol=rtol, atol=atol)


# ---- special values, written out

UNARY: dict[str, list[tuple[float, float]]] = {
    "neg": [(0.0, -0.0), (INF, -INF), (NAN, NAN)],
    "abs": [(-0.0, 0.0), (-INF, INF), (NAN, NAN)],
    "sign": [(-0.0, 0.0), (INF, 1), (-INF, -1), (NAN, NAN)],
    "floor": [(-0.5, -1), (-0.0, -0.0), (INF, INF), (NAN, NAN)],
    "ceil": [(-0.5, -0.0), (0.5, 1), (-INF, -INF), (NAN, NAN)],
    "round": [
        (0.5, 0),
        (1.5, 2),
        (2.5, 2),
        (-0.5, -0.0),
        (-1.5, -2),
        (-2.5, -2),
        (INF, INF),
        (NAN, NAN),
    ],
    "sqrt": [(0.0, 0), (-0.0, -0.0), (-1, NAN), (INF, INF), (NAN, NAN)],
    "rsqrt": [(0.0, INF), (-0.0, -INF), (-1, NAN), (INF, 0), (NAN, NAN)],
    "cbrt": [(0.0, 0), (-0.0, -0.0), (-8, -2), (INF, INF), (-INF, -INF), (NAN, NAN)],
    "exp": [(0.0, 1), (-INF, 0), (INF, INF), (NAN, NAN), (8192.0, INF), (-8192.0, 0)],
    "exp2": [(0.0, 1), (3.0, 8), (-1.0, 0.5), (-INF, 0), (INF, INF), (NAN, NAN)],
    "expm1": [(-0.0, -0.0), (-INF, -1), (INF, INF), (NAN, NAN), (-8192.0, -1)],
    "log": [(0.0, -INF), (-0.0, -INF), (1.0, 0), (-1, NAN), (INF, INF), (NAN, NAN)],
    "log2": [(0.0, -INF), (8.0, 3), (0.5, -1), (-1, NAN), (INF, INF), (NAN, NAN)],
    "log10": [(0.0, -INF), (1.0, 0), (-1, NAN), (INF, INF), (NAN, NAN)],
    "log1p": [(-0.0, -0.0), (-1.0, -INF), (-2.0, NAN), (INF, INF), (NAN, NAN)],
    "sigmoid": [(0.0, 0.5), (-8192.0, 0), (8192.0, 1), (-INF, 0), (INF, 1), (NAN, NAN)],
    "sin": [(-0.0, -0.0), (INF, NAN), (NAN, NAN)],
    "cos": [(0.0, 1), (-INF, NAN), (NAN, NAN)],
    "tan": [(-0.0, -0.0), (INF, NAN), (NAN, NAN)],
    "asin": [(-0.0, -0.0), (2.0, NAN), (NAN, NAN)],
    "acos": [(1.0, 0), (-2.0, NAN), (NAN, NAN)],
    "atan": [(-0.0, -0.0), (NAN, NAN)],
    "sinh": [(-0.0, -0.0), (INF, INF), (-INF, -INF), (8192.0, INF), (-8192.0, -INF), (NAN, NAN)],
    "cosh": [(0.0, 1), (INF, INF), (-INF, INF), (-8192.0, INF), (NAN, NAN)],
    "tanh": [(-0.0, -0.0), (INF, 1), (-INF, -1), (8192.0, 1), (NAN, NAN)],
    "asinh": [(-0.0, -0.0), (INF, INF), (-INF, -INF), (NAN, NAN)],
    "acosh": [(1.0, 0), (0.5, NAN), (INF, INF), (NAN, NAN)],
    "atanh": [(-0.0, -0.0), (1.0, INF), (-1.0, -INF), (2.0, NAN), (NAN, NAN)],
    "erf": [(-0.0, -0.0), (INF, 1), (-INF, -1), (8192.0, 1), (NAN, NAN)],
}
BINARY: dict[str, list[tuple[float, float, float]]] = {
    "add": [(INF, -INF, NAN), (INF, 1, INF), (-0.0, -0.0, -0.0), (-0.0, 0.0, 0.0), (NAN, 1, NAN)],
    "sub": [(INF, INF, NAN), (0.0, 0.0, 0.0), (-0.0, 0.0, -0.0), (1, NAN, NAN)],
    "mul": [(0.0, INF, NAN), (-0.0, 3, -0.0), (-INF, 2, -INF), (NAN, 0.0, NAN)],
    "div": [(1, 0.0, INF), (1, -0.0, -INF), (0.0, 0.0, NAN), (INF, INF, NAN), (1, -INF, -0.0)],
    "floordiv": [
        (-7, 2, -4),
        (7, -2, -4),
        (-0.0, 2, -0.0),
        (1, 0.0, INF),
        (-1, 0.0, -INF),
        (0.0, 0.0, NAN),
        (1, INF, 0),
        (-1, INF, -1),
        (INF, 2, NAN),
        (NAN, 1, NAN),
        (1, NAN, NAN),
    ],
    "mod": [
        (-7, 3, 2),
        (7, -3, -2),
        (-6, 3, 0.0),
        (6, -3, -0.0),
        (1, 0.0, NAN),
        (5, INF, 5),
        (-5, INF, INF),
        (5, -INF, -INF),
        (INF, 3, NAN),
        (NAN, 1, NAN),
        (1, NAN, NAN),
    ],
    "pow": [
        (0.0, 0.0, 1),
        (-0.0, 0.0, 1),
        (NAN, 0.0, 1),
        (1, NAN, 1),
        (1, INF, 1),
        (-1, INF, 1),
        (0.0, -1, INF),
        (-0.0, -1, -INF),
        (-0.0, -2, INF),
        (-0.0, 3, -0.0),
        (-2, 3, -8),
        (-8, 0.5, NAN),
        (-2, -1, -0.5),
        (0.5, INF, 0),
        (2, -INF, 0),
        (-INF, 3, -INF),
        (INF, -1, 0),
        (NAN, 1, NAN),
        (2, NAN, NAN),
    ],
    "hypot": [(INF, NAN, INF), (-INF, 1, INF), (NAN, 1, NAN), (0.0, 0.0, 0), (3, -4, 5)],
    "atan2": [(0.0, 1, 0.0), (-0.0, 1, -0.0), (0.0, 0.0, 0.0), (-0.0, 0.0, -0.0), (NAN, 1, NAN)],
    "logaddexp": [
        (-INF, -INF, -INF),
        (INF, INF, INF),
        (INF, -INF, INF),
        (-INF, 2, 2),
        (8192.0, 0, 8192.0),
        (0.0, -8192.0, 0),
        (NAN, 1, NAN),
        (-INF, NAN, NAN),
    ],
    "maximum": [(NAN, 1, NAN), (1, NAN, NAN), (NAN, INF, NAN), (-INF, 1, 1), (INF, 1, INF)],
    "minimum": [(NAN, 1, NAN), (1, NAN, NAN), (NAN, -INF, NAN), (-INF, 1, -INF), (INF, 1, 1)],
}
WRITTEN = [
    *((name, (x,), value) for name, rows in UNARY.items() for x, value in rows),
    *((name, (x, y), value) for name, rows in BINARY.items() for x, y, value in rows),
]


@walk("dtype", FLOATS, ids=repr)
@walk(("name", "operands", "expected"), WRITTEN, ids=str)
def test_special_value(
    name: str, operands: tuple[float, ...], expected: float, dtype: DType
) -> None:
    """The sign of zero counts; a vector of 17 takes the paths of NumPy's wide loops as well."""
    arrays = [to_storage(np.full(17, x, computing(dtype).storage), dtype) for x in operands]
    made = applied(name, *(leaf(k, (17,), dtype) for k in range(len(operands))))
    found = from_storage(compute([made], arrays)[0], dtype)
    np.testing.assert_array_equal(found, np.full(17, expected, found.dtype))
    if expected == 0:
        assert (np.signbit(found) == np.signbit(expected)).all()


def test_written_values_cover_every_float_operator() -> None:
    """Of the others Python computes the special values, or they have none."""
    floats = {case.op for case in cases() if case.special and case.dtype.is_float}
    elementwise = {name for name in floats if isinstance(OPS[name], Elementwise)}
    assert elementwise - set(UNARY) - set(BINARY) - oracle.TOTAL == {"power"}


@pytest.mark.parametrize(
    ("x", "exponent", "expected"),
    [
        (0.0, "0.3", 0),
        (0.0, "-1.5", INF),
        (-1.0, "2.5", NAN),
        (-2.0, "9.0", -512),
        (INF, "-1.5", 0),
    ],
)
def test_power_at_special_values(x: float, exponent: str, expected: float) -> None:
    made = e.power(leaf(0), attrs=(exponent,))
    np.testing.assert_array_equal(compute([made], [x])[0], expected)


# ---- reductions beside NaN


@walk("dtype", FLOATS, ids=repr)
@walk(
    ("name", "expected"),
    [
        ("max", [NAN, INF, 1]),
        ("first_max", [NAN, INF, 1]),
        ("min", [NAN, -INF, -1]),
        ("argmax", [1, 0, 2]),
        ("argmin", [1, 2, 3]),
        ("sum", [NAN, NAN, 0]),
        ("prod", [NAN, -INF, 0]),
    ],
)
def test_reduction_beside_nan_and_infinity(name: str, expected: list[float], dtype: DType) -> None:
    lines = np.array([[1, NAN, 9, NAN, 2], [INF, 1, -INF, 2, INF], [0.0, -0.0, 1, -1, 0.0]])
    x = to_storage(lines.astype(computing(dtype).storage), dtype)
    made = applied(name, leaf(0, (3, 5), dtype), (1,))
    found = from_storage(compute([made], [x])[0], made.dtype)
    np.testing.assert_array_equal(found[:, 0], expected)


@pytest.mark.parametrize("name", ["max", "first_max", "min", "argmax", "argmin"])
def test_winner_of_no_elements_is_an_error(name: str) -> None:
    with pytest.raises(ShapeError, match=rf"{name}: no elements along axes \(0,\) of \[0, 3\]"):
        applied(name, leaf(0, (0, 3)), (0,))


def test_float32_is_summed_wider_than_it_is_stored() -> None:
    x = np.full(200_000, 0.1, np.float32)
    found = compute([applied("sum", leaf(0, x.shape, float32), (0,))], [x])[0]
    assert found.item() == np.float32(200_000 * float(np.float32(0.1)))


def test_float16_is_summed_wider_than_it_is_stored() -> None:
    x = np.ones(3000, np.float16)
    found = compute([applied("sum", leaf(0, x.shape, float16), (0,))], [x])[0]
    assert found.item() == 3000


# ---- integers

EXACT = ("floordiv", "mod", "pow", "add", "mul", "shift_left", "shift_right")


@walk("name", EXACT)
@walk("dtype", [uint8, int8, int16, int32, int64], ids=repr)
def test_integers_at_the_ends_of_their_range(name: str, dtype: DType) -> None:
    """Division by zero gives zero, and the least integer by -1 wraps to itself."""
    ends = special_values(dtype)
    pairs = list(product(ends.tolist(), repeat=2))
    x, y = (np.array(side, dtype.storage) for side in zip(*pairs, strict=True))
    shape = x.shape
    made = applied(name, leaf(0, shape, dtype), leaf(1, shape, dtype))
    expected = [oracle.wrapped(oracle.ELEMENTS[name](*pair), dtype) for pair in pairs]
    assert compute([made], [x, y])[0].tolist() == expected


def test_known_integer_values() -> None:
    def value(name: str, x: int, y: int) -> int:
        made = applied(name, leaf(0, (), int32), leaf(1, (), int32))
        return int(compute([made], [np.int32(x), np.int32(y)])[0])

    least = -(2**31)
    assert value("floordiv", least, -1) == least
    assert value("mod", least, -1) == 0
    assert value("floordiv", -7, 2) == -4
    assert value("mod", -7, 2) == 1
    assert value("floordiv", 7, 0) == value("mod", 7, 0) == 0
    assert value("pow", -1, -3) == -1
    assert value("pow", 2, -1) == 0
    assert value("pow", 3, 21) == 1870418611
    assert value("shift_left", 1, 32) == value("shift_left", 1, -1) == 0
    assert value("shift_right", -5, 99) == -1


# ---- casts


@walk("source", [float16, bfloat16, float32, float64], ids=repr)
@walk(
    ("value", "target", "expected"),
    [
        (-2.75, int32, -2),
        (2.75, uint8, 2),
        (-0.75, uint8, 0),
        (-3.0, uint8, 0),
        (300.0, uint8, 255),
        (-200.0, int8, -128),
        (NAN, int64, 0),
        (INF, int64, 2**63 - 1),
        (-INF, int32, -(2**31)),
        (INF, int16, 2**15 - 1),
        (NAN, bool_, True),
        (-0.0, bool_, False),
        (0.25, bool_, True),
    ],
)
def test_cast_of_a_float(source: DType, value: float, target: DType, expected: int) -> None:
    x = to_storage(np.array(value, computing(source).storage), source)
    assert compute([e.cast_to(leaf(0, (), source), target)], [x])[0] == expected


@pytest.mark.parametrize(
    ("value", "target", "expected"),
    [
        (2.0**31, int32, 2**31 - 1),
        (2.0**31 - 1, int32, 2**31 - 1),
        (-(2.0**31) - 0.5, int32, -(2**31)),
        (2.0**63, int64, 2**63 - 1),
        (2.0**63 - 1024, int64, 2**63 - 1024),
        (-(2.0**63), int64, -(2**63)),
        (255.99, uint8, 255),
    ],
)
def test_cast_next_to_the_end_of_a_range(value: float, target: DType, expected: int) -> None:
    found = compute([e.cast_to(leaf(0), target)], [np.float64(value)])[0]
    assert found.item() == expected


@pytest.mark.parametrize(
    ("value", "source", "target", "expected"),
    [
        (300, int32, uint8, 44),
        (-1, int8, uint8, 255),
        (2**32 + 5, int64, int32, 5),
        (200, uint8, int8, -56),
        (2**24 + 1, int32, float32, 2.0**24),
        (70000, int32, float16, INF),
        (257, int32, bfloat16, 256),
        (259, int32, bfloat16, 260),
        (-5, int32, bool_, True),
    ],
)
def test_cast_of_an_integer(value: int, source: DType, target: DType, expected: float) -> None:
    made = e.cast_to(leaf(0, (), source), target)
    found = compute([made], [np.array(value, source.storage)])[0]
    assert from_storage(found, target) == expected


# ---- what operands are brought to


@pytest.mark.parametrize(
    ("name", "x", "y", "expected"),
    [
        ("add", bool_, bool_, int32),
        ("add", uint8, int8, int16),
        ("mul", int64, float16, float16),
        ("sub", float16, bfloat16, float32),
        ("div", int32, int64, float32),
        ("pow", int8, int8, int8),
        ("lt", int32, float64, bool_),
        ("maximum", bool_, bool_, bool_),
        ("bit_or", bool_, uint8, uint8),
        ("shift_left", bool_, bool_, int32),
        ("atan2", int32, float64, float64),
    ],
)
def test_operands_of_two_types(name: str, x: DType, y: DType, expected: DType) -> None:
    assert applied(name, leaf(0, (), x), leaf(1, (), y)).dtype is expected


@pytest.mark.parametrize("name", ["bit_and", "bit_xor", "shift_left", "shift_right"])
def test_bits_of_floats_are_refused(name: str) -> None:
    with pytest.raises(DTypeError, match=f"{name}: expected bool or integers, found float32"):
        applied(name, leaf(0, (), float32), leaf(1, (), int32))


@pytest.mark.parametrize("name", ["add", "where", "concat", "matmul", "scatter_add"])
def test_nodes_of_unlike_operands_are_refused(name: str) -> None:
    """The records bring operands together; what is written by hand or parsed is checked."""
    x, y = leaf(0, (2, 2)), leaf(1, (2, 2), float32)
    indices, condition = leaf(2, (2,), int32), leaf(3, (), bool_)
    unlike = {
        "add": ((x, y), ()),
        "where": ((condition, x, y), ()),
        "concat": ((x, y), (0,)),
        "matmul": ((x, y), ()),
        "scatter_add": ((x, indices, y), (0,)),
    }
    inputs, attrs = unlike[name]
    with pytest.raises(DTypeError, match=f"{name}: expected operands of float"):
        node(OPS[name], inputs, attrs)


def test_shapes_that_do_not_broadcast_are_refused() -> None:
    with pytest.raises(ShapeError, match=r"add: the shapes \[2, 3\] and \[2, 4\] do not broadcast"):
        e.add(leaf(0, (2, 3)), leaf(1, (2, 4)))
    with pytest.raises(ShapeError, match="do not broadcast"):
        e.add(leaf(0, (0,)), leaf(1, (2,)))


def test_ids_of_cases_are_unique() -> None:
    names = [str(case) for case in cases()]
    assert len(set(names)) == len(names)


def test_samples_are_of_the_types_they_say() -> None:
    rng: Any = np.random.default_rng(0)
    for case in cases():
        for array, kind in zip(case.sample(rng), case.types, strict=True):
            assert (array.dtype, array.shape) == (kind.dtype.storage, kind.shape), str(case)
