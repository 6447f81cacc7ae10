"""The pages operators.md and functional.md: what the operators' records and the docstrings say.

Derivatives are not described but shown: each rule is run on symbols, and what it made is spelled
out, at the shapes of the contract tests' own cases.
"""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from contract.cases import Case, cases
from gradc.tracer.dtypes import DTYPES, DType, accumulator, float32, promote
from gradc.tracer.ir import Node, Op, TensorType, node
from gradc.tracer.ops import MODULES, sources
from gradc.tracer.ops.kinds import DOMAINS, Elementwise, Reduction, Scan
from reference.formula import Formulas

from gradc import functional

HERE = Path(__file__).parent

DOMAIN_WORDS = {
    "any": "any",
    "number": "numbers",
    "float": "floats",
    "bool": "bool",
    "bits": "bool, integers",
    "integer": "integers",
    "int64": "int64",
}
"""How the tables below name what operands are brought to."""

KINDS = {
    "source": ("none", "as stated", "no operands; the type is among the static arguments"),
    "marker": ("any", "same", "an identity; vanishes before anything is compiled"),
    "elementwise": ("", "", "operands broadcast as in NumPy; one value per element"),
    "reduction": ("", "", "the axes stay, with extent 1; `reshape` drops them where asked for"),
    "scan": ("numbers", "sum type", "the shape of x"),
    "sort": ("any", "int32", "the shape of x"),
    "movement": ("any", "same", "the shape that the static arguments say; never computed"),
    "contraction": ("numbers", "sum type", "(..., m, k) and (..., k, n) give (..., m, n)"),
    "gather": ("any; integers", "same", "the axis is replaced by the axes of the indices"),
    "scatter": ("any; integers; any", "same", "the shape of base"),
}
"""Of each kind: its operands, its result (empty: by operator), and its shape, in words."""

REDUCTION_RESULTS = {"accumulator": "sum type", "same": "same", "index": "int32"}


# ---- the operators


def operator_page() -> str:
    """The text of operators.md."""
    template = (HERE / "operators.md.in").read_text(encoding="utf-8")
    sections = "\n".join(_family(module) for module in MODULES)
    return (
        template.replace("@domains@", _domains())
        .replace("@promotion@", _promotion())
        .replace("@kinds@", _kinds())
        .replace("@families@", sections)
    )


def _domains() -> str:
    rows = [
        [DOMAIN_WORDS[domain], *(_name(rule(dtype)) for dtype in DTYPES.values())]
        for domain, rule in DOMAINS.items()
    ]
    rows.append(["*sum type*", *(accumulator(dtype).name for dtype in DTYPES.values())])
    return _table(["", *DTYPES], rows)


def _name(dtype: DType | None) -> str:
    return "error" if dtype is None else dtype.name


def _promotion() -> str:
    listed = list(DTYPES.values())
    rows = [[f"**{a.name}**", *(promote(a, b).name for b in listed)] for a in listed]
    return _table(["", *DTYPES], rows)


def _kinds() -> str:
    members: dict[str, list[str]] = {}
    for module in MODULES:
        for op in _operators(module):
            members.setdefault(op.kind, []).append(op.name)
    rows = []
    for kind, (_, _, shape) in KINDS.items():
        named = members[kind]
        shown = f"{len(named)} of them" if len(named) > 12 else ", ".join(f"`{x}`" for x in named)
        rows.append([kind, shape, shown])
    return _table(["kind", "shape of the result", "operators"], rows)


def _operators(module: Any) -> list[Op]:
    return [each for each in vars(module).values() if isinstance(each, Op)]


def _family(module: Any) -> str:
    """The operators of one file: a table, then their derivatives."""
    found = _operators(module)
    title, described = _title(module)
    rows = [[f"`{_call(op)}`", _meaning(op), *_types(op)] for op in found]
    table = _table(["operator", "value", "operands", "result"], rows)
    shown = [text for op in found if (text := _derivative(op))]
    without = [f"`{op.name}`" for op in found if op.vjp is None and op.kind != "source"]
    parts = [f"## {title}\n", *([f"{described}\n"] if described else []), table, ""]
    if shown:
        parts += ["```text", "\n".join(shown).rstrip(), "```", ""]
    if without:
        parts += [f"Without a derivative: {', '.join(without)}.", ""]
    return "\n".join(parts)


def _title(module: Any) -> tuple[str, str]:
    """The name of a family, and what else the first sentence of its file says."""
    if module.__name__.endswith(".kinds"):
        return "Casts", ""
    name, *rest = re.split(r"[.:] ", _first_paragraph(module), maxsplit=1)
    title = name.removesuffix(".").removeprefix("The ").capitalize()
    return title, "".join(f"{each[:1].upper()}{each[1:]}" for each in rest)


def _first_paragraph(documented: Any) -> str:
    return " ".join((inspect.getdoc(documented) or "").split("\n\n")[0].split())


def _call(op: Op) -> str:
    return f"{op.name}({', '.join([*_operands(op), *op.attributes])})"


def _operands(op: Op) -> list[str]:
    """The names of the operands: those that the derivative uses, else x, y and z."""
    if op.vjp is not None:
        names = list(inspect.signature(op.vjp).parameters)[2:]
        given = names[: len(names) - len(op.attributes)]
        return given or ["*inputs"]
    if op.kind == "source":
        return []
    scalar = getattr(op, "scalar", "")
    return ["x", *(name for name in "yz" if f"{{{name}}}" in scalar)]


def _meaning(op: Op) -> str:
    """The scalar expression, and what the record says beside it."""
    formula = _formula(op)
    joins = "joined by " if isinstance(op, (Reduction, Scan)) else ""
    return "; ".join(each for each in (f"{joins}`{formula}`" if formula else "", op.doc) if each)


def _formula(op: Op) -> str:
    """The scalar C text without what depends on the type; empty where there is none."""
    text = {Elementwise: "scalar", Reduction: "combine", Scan: "combine"}.get(type(op), "kind")
    text = "" if text == "kind" else getattr(op, text)
    for of_the_type in ("({t})", "{s}", "_{k}"):
        text = text.replace(of_the_type, "")
    names = {"a": "a", "x": "x"}
    if isinstance(op, Elementwise):
        names = dict(zip("xyz", _operands(op), strict=False))
    return text.format(**names, **{each: each for each in op.attributes})


def _types(op: Op) -> tuple[str, str]:
    """What operands are brought to, and the type of the result."""
    operands, result, _ = KINDS[op.kind]
    if isinstance(op, Elementwise):
        data = DOMAIN_WORDS[op.domain]
        return f"bool; {data}" if op.condition else data, _result_of(op)
    if isinstance(op, Reduction):
        return DOMAIN_WORDS[op.domain], REDUCTION_RESULTS[op.result]
    return operands, result


def _result_of(op: Elementwise) -> str:
    return "`dtype`" if "dtype" in op.attributes else op.result


# ---- derivatives, by running the rules


@cache
def _examples() -> dict[str, Case]:
    """A call of each differentiable operator, with a derivative: the first such case."""
    found: dict[str, Case] = {}
    for case in cases():
        floating = [each for each in case.attrs if isinstance(each, DType)]
        if case.dtype is float32 and all(each.is_float for each in floating):
            found.setdefault(case.op, case)
    return found


def _derivative(op: Op) -> str:
    """Its cotangents as formulas, after a line that names the call."""
    if op.vjp is None or op.kind == "marker":
        return ""
    case = _examples()[op.name]
    scalars = op.kind == "elementwise"
    types = [each._replace(shape=()) if scalars else each for each in case.types]
    inputs = [_symbol(place, each) for place, each in enumerate(types)]
    names = _operands(op)
    names = list("xyz") if names == ["*inputs"] else names
    result = node(op, tuple(inputs), case.attrs)
    g = _symbol(len(inputs), result.type)
    parts = op.vjp(g, result, *inputs, *case.attrs)
    named = {**dict(zip(inputs, names, strict=False)), g: "g", result: "r"}
    formulas = Formulas(named, [each for each in parts if each is not None])
    lines = [f"    {line}" for line in formulas.lines]
    for name, part in zip(names, parts, strict=False):
        shown = "nothing" if part is None else formulas[part]
        lines.append(f"    d{name} = {shown}")
    return "\n".join([_heading(op, names, case, types), *lines, ""])


def _symbol(slot: int, kind: TensorType) -> Node:
    return node(sources.input_, (), (slot, kind.dtype, kind.shape, "cpu"))


def _heading(op: Op, names: Sequence[str], case: Case, types: Sequence[TensorType]) -> str:
    """The call; with the shapes, where these say something."""
    shapes = [
        f"{name}: {kind.dtype.name}{list(kind.shape)}"
        for name, kind in zip(names, types, strict=False)
    ]
    operands = list(names[: len(types)]) if op.kind == "elementwise" else shapes
    pairs = zip(op.attributes, case.attrs, strict=True)
    static = [
        f"{key}={value.name if isinstance(value, DType) else value!r}" for key, value in pairs
    ]
    return f"{op.name}({', '.join([*operands, *static])})"


# ---- the functions


def functional_page() -> str:
    """The text of functional.md."""
    template = (HERE / "functional.md.in").read_text(encoding="utf-8")
    sections = "\n".join(_theme(name, module) for name, module in _themes())
    return template.replace("@themes@", sections)


def _themes() -> Iterator[tuple[str, Any]]:
    """The files of gradc.functional whose functions no other file lists as well."""
    package = functional.__name__
    modules = {
        name.removeprefix(f"{package}."): module
        for name, module in sorted(sys.modules.items())
        if name.startswith(f"{package}.") and hasattr(module, "__all__")
    }
    listed = [set(each.__all__) for each in modules.values()]
    for name, module in modules.items():
        if not any(set(module.__all__) < others for others in listed):
            yield name, module


def _theme(name: str, module: Any) -> str:
    spellings: dict[int, list[str]] = {}
    for each in sorted(module.__all__):
        spellings.setdefault(id(getattr(module, each)), []).append(each)
    rows = []
    for listed in spellings.values():
        function = getattr(module, listed[0])
        first = function.__name__ if function.__name__ in listed else listed[0]
        others = ", ".join(f"`{each}`" for each in listed if each != first)
        doc = inspect.getdoc(function) or ""
        rows.append([f"`{first}{_signature(function)}`", " ".join(doc.split()), others])
    rows.sort()
    title = name.replace("_", " ").capitalize()
    described = _first_paragraph(module)
    lead = "" if described == f"{title}." else f"{described}\n\n"
    return f"## {title}\n\n{lead}{_table(['function', 'value', 'also called'], rows)}\n"


def _signature(function: Any) -> str:
    found = inspect.signature(function)
    bare = [each.replace(annotation=inspect.Parameter.empty) for each in found.parameters.values()]
    return str(found.replace(parameters=bare, return_annotation=inspect.Signature.empty))


# ---- tables


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(map(_cell, line))} |" for line in lines)


def _cell(text: str) -> str:
    """Signs that mean something in tables; stars are kept between backticks, and as emphasis."""
    parts = re.split(r"(`[^`]*`|\*\*?[\w ]+\*\*?)", text.replace("|", "\\|"))
    return "".join(each if k % 2 else each.replace("*", "\\*") for k, each in enumerate(parts))
