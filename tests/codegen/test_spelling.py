"""Spelling: literals, indices and expressions as C text."""

import math
import struct
from itertools import pairwise

import numpy as np
import pytest
from contract.compute import leaf
from gradc.codegen.index import Axis, Index, Place, constant, of_axis, of_place
from gradc.codegen.spelling import (
    STORED,
    Speller,
    cast_text,
    combined,
    commented,
    computed_type,
    identity,
    literal,
    simd_clause,
    stored,
    wide_dtype,
)
from gradc.codegen.value import Condition, Number, Stride
from gradc.tracer.dtypes import (
    DTYPES,
    DType,
    bfloat16,
    bool_,
    float16,
    float32,
    float64,
    int8,
    int32,
    int64,
    uint8,
)
from gradc.tracer.ops import OPS, reduction
from gradc.tracer.ops.kinds import Reduction
from graphs.build import graph_of
from graphs.compiled import body_of, written
from graphs.evaluate import evaluated, points
from hypothesis import given
from hypothesis import strategies as st
from walk import walk

# ---- literals


@walk(
    ("text", "dtype", "expected"),
    [
        ("0.0", float64, "0.0"),
        ("-0.0", float64, "(-0.0)"),
        ("-0.0", float32, "(-0.0f)"),
        ("0.1", float64, "0.1"),
        ("0.1", float32, "0.1f"),
        ("0.1", float16, "0.1f"),
        ("0.1", bfloat16, "0.1f"),
        ("-1.5", float64, "(-1.5)"),
        ("1e+300", float64, "1e+300"),
        ("1e+300", float32, "((float)INFINITY)"),
        ("1e-40", float32, "1e-40f"),
        ("16777217.0", float32, "16777216.0f"),
        ("inf", float64, "(INFINITY)"),
        ("-inf", float64, "(-INFINITY)"),
        ("inf", float32, "((float)INFINITY)"),
        ("-inf", float16, "((float)-INFINITY)"),
        ("nan", float64, "NAN"),
        ("nan", float32, "(float)NAN"),
        ("0", int32, "0"),
        ("-1", int32, "(-1)"),
        ("127", int8, "127"),
        ("-128", int8, "(-128)"),
        ("-2147483648", int32, "(-2147483648)"),
        ("2147483648", int64, "INT64_C(2147483648)"),
        ("-2147483649", int64, "(INT64_C(-2147483649))"),
        (str(2**63 - 1), int64, "INT64_C(9223372036854775807)"),
        (str(-(2**63)), int64, "INT64_MIN"),
        ("1", bool_, "true"),
        ("0", bool_, "false"),
    ],
)
def test_literal(text: str, dtype: DType, expected: str) -> None:
    assert literal(text, dtype) == expected


FINITE = st.floats(allow_nan=False, allow_infinity=False)


@given(FINITE)
def test_a_double_is_read_back(value: float) -> None:
    text = literal(repr(value), float64).strip("()")
    assert struct.pack("d", float(text)) == struct.pack("d", value)


@given(st.floats(width=32, allow_nan=False, allow_infinity=False))
def test_a_float_is_read_back(value: float) -> None:
    text = literal(repr(value), float32).strip("()")
    assert text.endswith("f")
    assert np.float32(text[:-1]).tobytes() == np.float32(value).tobytes()


@given(FINITE)
def test_a_float_is_rounded_once(value: float) -> None:
    """From the double to the nearest float, whose shortest text C reads as that float."""
    with np.errstate(over="ignore"):
        nearest = np.float32(value)
    text = literal(repr(value), float32)
    if np.isinf(nearest):
        assert "INFINITY" in text
    else:
        assert np.float32(text.strip("()")[:-1]).tobytes() == nearest.tobytes()


@given(FINITE)
def test_a_negative_literal_is_in_brackets(value: float) -> None:
    text = literal(repr(value), float64)
    assert text.startswith("(-") == (math.copysign(1, value) < 0)
    assert "." in text or "e" in text


@given(st.integers(-(2**63), 2**63 - 1))
def test_an_integer_is_read_back(value: int) -> None:
    text = literal(str(value), int64).replace("INT64_MIN", str(-(2**63)))
    assert int(text.replace("INT64_C", "").strip("()")) == value


# ---- types


@pytest.mark.parametrize("dtype", DTYPES.values(), ids=str)
def test_types_of_elements_and_variables(dtype: DType) -> None:
    half = dtype in (float16, bfloat16)
    assert computed_type(dtype) == ("float" if half else STORED[dtype])


@pytest.mark.parametrize(
    ("source", "dtype", "expected"),
    [
        (float32, float64, "(double)x"),
        (int32, float32, "(float)x"),
        (int64, int8, "(int8_t)x"),
        (float64, int32, "gradc_to_i32_f64(x)"),
        (float16, uint8, "gradc_to_u8_f32(x)"),
        (float32, bool_, "x != 0"),
        (float32, float16, "gradc_round_f16((float)x)"),
        (float64, bfloat16, "gradc_round_bf16((float)x)"),
        (float16, float32, "(float)x"),
    ],
)
def test_cast(source: DType, dtype: DType, expected: str) -> None:
    assert cast_text("x", source, dtype) == expected


@pytest.mark.parametrize(
    ("dtype", "how", "expected"),
    [
        (float32, "set", "y0[i] = v;"),
        (float64, "add", "y0[i] += v;"),
        (float16, "set", "gradc_store_f16(y0 + i, v);"),
        (bfloat16, "add", "gradc_store_bf16(y0 + i, gradc_load_bf16(y0 + i) + v);"),
    ],
)
def test_stored(dtype: DType, how: str, expected: str) -> None:
    assert stored("y0", "i", "v", dtype, how) == expected


# ---- indices

AXES = tuple(Axis(number, extent) for number, extent in enumerate((4, 6, 5)))
NAMES = {axis: f"i{axis.number}" for axis in AXES}
a, b, c = (of_axis(axis) for axis in AXES)


def speller(**names: str) -> Speller:
    return Speller({}, NAMES, {}, {})


def in_python(text: str) -> str:
    """C text of whole numbers as Python; / stands only where it rounds down in both."""
    return text.replace(" / ", " // ").replace("&&", "and").replace("(int64_t)", "")


FUNCTIONS = {
    "gradc_floordiv_i64": lambda x, y: x // y,
    "gradc_mod_i64": lambda x, y: x % y,
    "true": True,
}


@pytest.mark.parametrize(
    ("index", "expected"),
    [
        (constant(0), "0"),
        (constant(-7), "- 7"),
        (a, "i0"),
        (a * 30 + b * 5 + c, "30 * i0 + 5 * i1 + i2"),
        ((a * -1).plus(3), "- i0 + 3"),
        (a * 2 + b * -3, "2 * i0 - 3 * i1"),
        (b // 4, "(i1 / 4)"),
        (b % 4, "(i1 % 4)"),
        ((b + c) // 4, "((i1 + i2) / 4)"),
        (b.plus(-9) // 4, "gradc_floordiv_i64(i1 + 3, 4) - 3"),
    ],
)
def test_index(index: Index, expected: str) -> None:
    found = speller().index(index)
    if "floordiv" not in expected:
        assert found == expected
    for at in points(AXES):
        names = {NAMES[axis]: value for axis, value in at.items()}
        assert eval(in_python(found), FUNCTIONS, names) == evaluated(index, at)


@st.composite
def indices(draw: st.DrawFn) -> Index:
    index = constant(draw(st.integers(-9, 9)))
    for _ in range(draw(st.integers(1, 4))):
        index = index + draw(st.sampled_from((a, b, c))) * draw(st.integers(-4, 4))
        if draw(st.booleans()):
            divisor = draw(st.integers(1, 7))
            index = index // divisor if draw(st.booleans()) else index % divisor
    return index


@given(indices())
def test_an_index_means_what_it_says(index: Index) -> None:
    text = in_python(speller().index(index))
    for at in points(AXES):
        names = {NAMES[axis]: value for axis, value in at.items()}
        assert eval(text, FUNCTIONS, names) == evaluated(index, at)


@given(indices(), st.integers(1, 9), st.booleans())
def test_a_condition_means_what_it_says(index: Index, bound: int, stride: bool) -> None:
    asked: Condition = Stride(index, bound) if stride else (index, bound)
    text = in_python(speller().condition(asked))
    for at in points(AXES):
        names = {NAMES[axis]: value for axis, value in at.items()}
        value = evaluated(index, at)
        holds = value % bound == 0 if stride else 0 <= value < bound
        assert bool(eval(text, FUNCTIONS, names)) == holds


def test_a_place_of_run_time_is_widened() -> None:
    number = Number(int32, "3", axes=frozenset())
    assert speller().index(of_place(Place(number, 7, 0)) * 2 + a) == "i0 + 2 * (int64_t)3"


# ---- reductions

REDUCTIONS = [op for op in OPS.values() if isinstance(op, Reduction)]


@walk("op", REDUCTIONS, ids=str)
@walk("dtype", DTYPES.values(), ids=str)
def test_the_neutral_value_is_neutral(op: Reduction, dtype: DType) -> None:
    """The ends of a type are its own: -2147483648 for the largest of int32, -inf for floats."""
    if op.operand(dtype) is not dtype:
        return
    text = identity(op, dtype)
    if op.name in ("sum", "prod"):
        assert float(text.strip("f()").replace("true", "1").replace("false", "0")) == (
            op.name == "prod"
        )
        return
    lowest = op.name in ("max", "first_max", "argmax")
    if dtype.is_float:
        assert ("-INFINITY" in text) == lowest
        assert "INFINITY" in text
    elif dtype is bool_:
        assert text == ("false" if lowest else "true")
    else:
        ends = np.iinfo(dtype.storage)
        number = text.replace("INT64_MIN", str(-(2**63))).replace("INT64_C", "").strip("()")
        assert int(number) == (ends.min if lowest else ends.max)


def test_partial_results_are_joined_by_the_operator() -> None:
    assert combined(reduction.sum, float32, "a", "x") == "a + x"
    assert combined(reduction.prod, int32, "a", "x") == "a * x"
    assert combined(reduction.max, float16, "a", "x") == "gradc_max_f32(a, x)"
    assert combined(reduction.min, uint8, "a", "x") == "gradc_min_i32(a, x)"
    assert combined(reduction.max, bool_, "a", "x") == "a | x"
    assert combined(reduction.min, bool_, "a", "x") == "a & x"


def test_loops_keep_several_partial_results() -> None:
    assert simd_clause(reduction.sum, float32, "s") == "reduction(+ : s)"
    assert simd_clause(reduction.prod, float64, "s") == "reduction(* : s)"
    assert simd_clause(reduction.max, float64, "s") == "reduction(gradc_max_f64 : s)"
    assert simd_clause(reduction.max, int32, "s") == "reduction(max : s)"
    assert simd_clause(reduction.min, bool_, "s") == "reduction(& : s)"


@pytest.mark.parametrize(
    ("dtype", "expected"),
    [
        (float32, float64),
        (float64, float64),
        (float16, float32),
        (bfloat16, float32),
        (int32, int32),
    ],
)
def test_sums_are_joined_in_a_wider_type(dtype: DType, expected: DType) -> None:
    assert wide_dtype(reduction.sum, dtype) is expected


def test_products_and_extrema_keep_their_type() -> None:
    assert wide_dtype(reduction.prod, float32) is float32
    assert wide_dtype(reduction.max, float32) is float32


# ---- no double arithmetic slips into float kernels


def test_float_kernels_call_float_functions() -> None:
    x = leaf(0, (9,), float32)
    made: list[str] = []
    for name in ("exp", "log", "sin", "tanh", "sqrt", "rsqrt", "sigmoid", "erf", "floor", "sign"):
        record = OPS[name]
        made.append(body_of(written(graph_of(record(x))).source))  # type: ignore[operator]
    for text in made:
        assert "double" not in text.partition("int gradc_program")[0]


def test_names_of_integer_functions_are_those_of_their_width() -> None:
    dtypes = [DTYPES[name] for name in ("uint8", "int8", "int16", "int32", "int64")]
    found = [combined(reduction.max, dtype, "a", "x")[10:13] for dtype in dtypes]
    assert found == ["i32", "i32", "i32", "i32", "i64"]
    assert all(left.bits <= right.bits for left, right in pairwise(dtypes))


ODD_NAMES = {
    "plain.py": "plain.py",
    "Größe 漢 'q\"uote.py": "Größe 漢 'q\"uote.py",
    "new\n#error x": r"new\n#error x",
    "a\rb\v\f\x85\x1c": r"a\rb\x0b\x0c\x85\x1c",
    "u\u2028\u2029": r"u\u2028\u2029",
    "bidi\u202e\u2066": r"bidi\u202e\u2066",
    "not utf-8 \udcff": r"not utf-8 \udcff",
    "nul\0": r"nul\x00",
    "back\\": r"back\\",
    "*/ int x; /*": r"*\/ int x; /\*",
    "tri??/": r"tri?\?/",
    "x" * 200: "..." + "x" * 57,
}


def test_names_in_comments_stay_in_them() -> None:
    assert {name: commented(name) for name in ODD_NAMES} == ODD_NAMES
