"""Spelling: types, literals, indices and scalars as C or CUDA text, one expression each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ..tracer.dtypes import (
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
from ..tracer.ops.elementwise import cast, checked_index
from ..tracer.ops.kinds import Elementwise, Reduction, Scan
from .index import Axis, Bounded, Index, Place, Quotient
from .value import (
    Apply,
    Cached,
    Condition,
    Load,
    Number,
    Ramp,
    Select,
    Slot,
    Stride,
    Value,
)

HALVES = (float16, bfloat16)

STORED = {
    bool_: "bool",
    uint8: "uint8_t",
    int8: "int8_t",
    int16: "int16_t",
    int32: "int32_t",
    int64: "int64_t",
    float16: "gradc_f16",
    bfloat16: "gradc_bf16",
    float32: "float",
    float64: "double",
}
"""The C types of elements in memory."""

READ = STORED | {bool_: "uint8_t"}
"""The same as kernels in C see them: gcc makes no vectors of what is loaded as a bool."""

INTEGER_NAMES = {uint8: "u8", int8: "i8", int16: "i16", int32: "i32", int64: "i64"}

LONGEST_NAME = 60
"""Characters of a user's name that a comment shows: the end of it."""

_UNSAFE = {"\\": r"\\", "??": r"?\?", "*/": r"*\/", "/*": r"/\*"}


def commented(text: str) -> str:
    """A text of the user's, such as a name of a file, as part of a comment in C or CUDA.

    It stays on one line, whatever a preprocessor takes for the end of one (trigraphs, backslashes),
    neither begins nor ends a comment, and does not change the order in which text is shown.
    """
    if len(text) > LONGEST_NAME:
        text = f"...{text[3 - LONGEST_NAME :]}"
    for found, shown in _UNSAFE.items():
        text = text.replace(found, shown)
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def computed_type(dtype: DType) -> str:
    """The C type of a variable that holds a value of `dtype`."""
    return "float" if dtype in HALVES else STORED[dtype]


def short_name(dtype: DType) -> str:
    """The name that the prelude's functions have for the type in which `dtype` is computed."""
    if dtype.is_float:
        return "f64" if dtype is float64 else "f32"
    return "i64" if dtype is int64 else "i32"


def half_name(dtype: DType) -> str:
    """The name that the prelude has for a half type."""
    return "f16" if dtype is float16 else "bf16"


def literal(text: str, dtype: DType) -> str:
    """A constant of `dtype`, whose number is written in `text`."""
    if dtype.is_float:
        return _float_literal(float(text), dtype)
    number = int(text)
    if dtype is bool_:
        return "true" if number else "false"
    if number == -(2**63):
        return "INT64_MIN"
    wide = dtype is int64 and not -(2**31) < number < 2**31
    plain = f"INT64_C({number})" if wide else str(number)
    return f"({plain})" if number < 0 else plain


def _float_literal(number: float, dtype: DType) -> str:
    with np.errstate(over="ignore"):
        narrow = np.float64(number) if dtype is float64 else np.float32(number)
    suffix = "" if dtype is float64 else "f"
    cast_text = "" if dtype is float64 else "(float)"
    if np.isnan(narrow):
        return f"{cast_text}NAN"
    if np.isinf(narrow):
        return f"({cast_text}{'-' if narrow < 0 else ''}INFINITY)"
    digits = np.format_float_scientific(narrow, unique=True, trim="0")
    plain = repr(float(str(narrow)))
    text = plain if len(plain) <= len(digits) or "e" not in plain else digits
    text = f"{text}{suffix}"
    return f"({text})" if text.startswith("-") else text


class Speller:
    """Writes the values of one kernel: `names` has its variables, `axes` its loop variables.

    `starts` tells how many elements behind the start of its memory an argument begins, `lanes`
    whether elements are computed side by side.
    """

    def __init__(
        self,
        names: Mapping[Value, str],
        axes: Mapping[Axis, str],
        arguments: Mapping[Any, str],
        checks: Mapping[Value, int],
        starts: Mapping[str, int] | None = None,
        lanes: bool = False,
    ) -> None:
        self.starts = starts or {}
        self.lanes = lanes
        self.names = names
        self.axes = axes
        self.arguments = arguments
        self.checks = checks
        self.holds: frozenset[Condition] = frozenset()

    def name(self, value: Value) -> str:
        """A value as an operand."""
        if isinstance(value, Number):
            return literal(value.text, value.dtype)
        if isinstance(value, Slot):
            return slot_name(value)
        return self.names[value]

    # ---- indices

    def index(self, index: Index) -> str:
        """An index as an int64_t expression."""
        parts: list[str] = []
        for atom, coefficient in index.terms:
            text = self._atom(atom)
            sign = "-" if coefficient < 0 else "+"
            scaled = text if abs(coefficient) == 1 else f"{abs(coefficient)} * {text}"
            parts.append(f"{sign} {scaled}")
        if index.constant or not parts:
            parts.append(f"{'-' if index.constant < 0 else '+'} {abs(index.constant)}")
        return " ".join(parts).removeprefix("+ ")

    def _atom(self, atom: Any) -> str:
        if isinstance(atom, Axis):
            return self.axes[atom]
        if isinstance(atom, Place):
            return f"(int64_t){self.name(atom.value)}"
        inner = self.index(atom.dividend)
        bracketed = f"({inner})" if " " in inner else inner
        if isinstance(atom, Bounded):
            return bracketed
        if atom.dividend.bounds()[0] < 0:
            name = "floordiv" if isinstance(atom, Quotient) else "mod"
            return f"gradc_{name}_i64({inner}, {atom.divisor})"
        sign = "/" if isinstance(atom, Quotient) else "%"
        return f"({bracketed} {sign} {atom.divisor})"

    def condition(self, condition: Condition) -> str:
        """A condition as a C expression."""
        if isinstance(condition, Stride):
            return f"({self.index(condition.index)}) % {condition.step} == 0"
        index, bound = condition
        low, high = index.bounds()
        text = self.index(index)
        tests = [f"{text} >= 0"] if low < 0 else []
        tests += [f"{text} < {bound}"] if high >= bound else []
        return " && ".join(tests) or "true"

    def conditions(self, conditions: tuple[Condition, ...]) -> str:
        """All of the conditions of which it is not known that they hold."""
        return " && ".join(self.condition(each) for each in conditions if each not in self.holds)

    # ---- values

    def expression(self, value: Value) -> str:
        """What `value` is computed by."""
        if isinstance(value, Load):
            return self._load(value)
        if isinstance(value, Cached):
            return loaded(value.argument, self.index(value.offset), value.dtype)
        if isinstance(value, Ramp):
            return f"({computed_type(value.dtype)})({self.index(value.index)})"
        if isinstance(value, Select):
            asked = self.conditions(value.conditions)
            inside = self.name(value.inside)
            return f"{asked} ? {inside} : {self.name(value.outside)}" if asked else inside
        assert isinstance(value, Apply)
        return self._apply(value)

    def _load(self, value: Load) -> str:
        array = self.arguments[value.node]
        offset = value.offset.plus(-self.starts.get(array, 0))
        element = loaded(array, self.index(offset), value.dtype)
        asked = self.conditions(value.conditions)
        return f"{asked} ? {element} : 0" if asked else element

    def _apply(self, value: Apply) -> str:
        if value.op is cast:
            (x,) = value.arguments
            return cast_text(self.name(x), x.dtype, value.dtype)
        if value.op is checked_index:
            return self._checked(value)
        op = value.op
        assert isinstance(op, Elementwise)
        dtype = value.arguments[-1].dtype
        text = op.lanes if op.lanes and self.lanes else op.scalar
        if op.integer is not None and not dtype.is_float:
            text = op.integer
        fields: dict[str, str] = dict(
            zip("xyz", (self.name(each) for each in value.arguments), strict=False)
        )
        fields |= {
            name: literal(attr, dtype) if isinstance(attr, str) else str(attr)
            for name, attr in zip(op.attributes, value.attrs, strict=True)
        }
        kind = {"s": "" if dtype is float64 else "f", "t": computed_type(dtype)}
        made = text.format(**fields, **kind, k=short_name(dtype))
        return f"gradc_round_{half_name(value.dtype)}({made})" if value.dtype in HALVES else made

    def _checked(self, value: Apply) -> str:
        (x,) = value.arguments
        size, negative = value.attrs
        where = x
        while isinstance(where, Apply) and len(where.arguments) == 1:
            (where,) = where.arguments
        at = self.index(where.offset) if isinstance(where, Load) else "0"
        check = self.checks[value]
        given = f"error, {check}, {at}, {self.name(x)}, {-size if negative else 0}, {size}"
        return f"({computed_type(value.dtype)})gradc_place({given})"


def slot_name(slot: Slot) -> str:
    """The variable that holds a run-time number."""
    return f"{'s' if slot.source == 'f' else 'n'}{slot.slot}_{slot.dtype.name}"


def slot_expression(slot: Slot) -> str:
    """Where a run-time number comes from, in its type."""
    table = "floats" if slot.source == "f" else "ints"
    given = float64 if slot.source == "f" else int64
    return cast_text(f"{table}[{slot.slot}]", given, slot.dtype)


def cast_text(x: str, source: DType, dtype: DType) -> str:
    """`x`, of type `source`, as `dtype`; half types are rounded but stay in float."""
    if dtype is bool_:
        return f"{x} != 0"
    if dtype in HALVES:
        return f"gradc_round_{half_name(dtype)}((float){x})"
    if source.is_float and not dtype.is_float:
        return f"gradc_to_{INTEGER_NAMES[dtype]}_{short_name(source)}({x})"
    return f"({STORED[dtype]}){x}"


def loaded(array: str, offset: str, dtype: DType) -> str:
    """The element of `array` at `offset`, in its computing type."""
    if dtype in HALVES:
        return f"gradc_load_{half_name(dtype)}({array} + {offset})"
    return f"({array}[{offset}] != 0)" if dtype is bool_ else f"{array}[{offset}]"


def stored(array: str, offset: str, value: str, dtype: DType, how: str) -> str:
    """The statement that puts `value` into memory."""
    if dtype in HALVES:
        name = half_name(dtype)
        added = f"gradc_load_{name}({array} + {offset}) + {value}" if how == "add" else value
        return f"gradc_store_{name}({array} + {offset}, {added});"
    sign = "+=" if how == "add" else "="
    return f"{array}[{offset}] {sign} {value};"


# ---- reductions


def identity(op: Reduction | Scan, dtype: DType) -> str:
    """The neutral value of a reduction of values of `dtype`."""
    if op.identity in ("0", "1"):
        return literal(op.identity, dtype)
    lowest = op.identity == "lowest" or op.name == "argmax"
    if dtype.is_float:
        return literal("-inf" if lowest else "inf", dtype)
    if dtype is bool_:
        return literal("0" if lowest else "1", dtype)
    info = np.iinfo(dtype.storage)
    return literal(str(info.min if lowest else info.max), dtype)


def combined(op: Reduction | Scan, dtype: DType, a: str, x: str) -> str:
    """Two partial results of a reduction of values of `dtype`, joined."""
    if dtype is bool_ and op.name in ("max", "min"):
        return f"{a} {'|' if op.name == 'max' else '&'} {x}"
    return op.combine.format(a=a, x=x, k=short_name(dtype))


def simd_clause(op: Reduction | Scan, dtype: DType, variable: str) -> str:
    """The clause that lets a loop keep several partial results of a reduction."""
    if op.name in ("max", "min"):
        if dtype.is_float:
            return f"reduction(gradc_{op.name}_{short_name(dtype)} : {variable})"
        sign = {"max": "|", "min": "&"}[op.name] if dtype is bool_ else op.name
        return f"reduction({sign} : {variable})"
    return f"reduction({'+' if op.name == 'sum' else '*'} : {variable})"


def wide_dtype(op: Reduction | Scan, dtype: DType) -> DType:
    """The type in which blocks of a reduction are joined: sums of float32 in float64."""
    if dtype in HALVES:
        return float32
    return float64 if op.name in ("sum", "cumsum") and dtype is float32 else dtype


__all__ = [
    "Speller",
    "cast_text",
    "combined",
    "commented",
    "computed_type",
    "identity",
    "int32",
    "literal",
    "simd_clause",
    "slot_expression",
    "slot_name",
    "stored",
    "wide_dtype",
]
