"""Graphs as text: stable, one line per node, and read back by `parse`."""

from __future__ import annotations

import ast
import re
from typing import Any

from .digest import digest as sha256
from .dtypes import DTYPES, DType
from .errors import GradcError
from .graph import Graph
from .ir import Node, node
from .ops import OPS, sources


class ParseError(GradcError, ValueError):
    """Text that is no graph."""


def show(graph: Graph) -> str:
    """The graph as text: `%n: type = op(inputs, attributes)`, then what it returns."""
    names: dict[Node, str] = {}
    name_of = names.__getitem__
    types: dict[int, str] = {}
    lines = [f"graph inputs={len(graph.inputs)} floats={graph.floats} ints={graph.ints}"]
    for each in (*graph.inputs, *graph.nodes()):
        if each in names:
            continue
        name = f"%{len(names)}"
        names[each] = name
        arguments = list(map(name_of, each.inputs))
        kind = types.get(id(each.type))  # nodes share them
        if kind is None:
            kind = types[id(each.type)] = str(each.type)
        if each.attrs:
            pairs = zip(each.op.attributes, each.attrs, strict=True)
            arguments += [f"{attribute}={_attribute(value)}" for attribute, value in pairs]
        lines.append(f"{name}: {kind} = {each.op.name}({', '.join(arguments)})")
    lines.append(f"return {', '.join(names[each] for each in graph.outputs)}")
    return "\n".join(lines) + "\n"


def digest(graph: Graph) -> str:
    """The sha256 of the graph's text, which stays until it is taken."""
    known = graph.known.get("digest")
    if known is None:
        text = graph.known["text"] = show(graph)
        known = graph.known["digest"] = sha256(text)
    return known


def taken_text(graph: Graph) -> str:
    """The graph's text; what `digest` has written is not written again, nor kept any longer."""
    return graph.known.pop("text", None) or show(graph)


def _attribute(value: Any) -> str:
    return value.name if isinstance(value, DType) else repr(value)


_HEAD = re.compile(r"graph inputs=(\d+) floats=(\d+) ints=(\d+)$")
_LINE = re.compile(r"(%\d+): (\S+(?: \S+)*?) = (\w+)\((.*)\)$")


def parse(text: str) -> Graph:
    """The graph that `show` wrote as `text`."""
    head, *lines = text.strip().splitlines()
    counts = _HEAD.match(head)
    if counts is None or not lines or not lines[-1].startswith("return"):
        raise ParseError("expected a line 'graph inputs=...', nodes, and a line 'return ...'")
    named: dict[str, Node] = {}
    for line in lines[:-1]:
        name, made = _parse_line(line, named)
        named[name] = made
    returned = lines[-1].removeprefix("return").replace(",", " ").split()
    outputs = tuple(_named(name, named) for name in returned)
    inputs = [each for each in named.values() if each.op is sources.input_]
    inputs.sort(key=lambda each: int(each.attrs[0]))
    slots = [each.attrs[0] for each in inputs]
    if slots != list(range(int(counts[1]))):
        raise ParseError(f"expected {counts[1]} inputs, numbered from 0, found the slots {slots}")
    return Graph(tuple(inputs), int(counts[2]), int(counts[3]), outputs)


def _named(name: str, named: dict[str, Node]) -> Node:
    if name not in named:
        raise ParseError(f"{name} is used, but was not made before")
    return named[name]


def _parse_line(line: str, named: dict[str, Node]) -> tuple[str, Node]:
    match = _LINE.match(line)
    if match is None:
        raise ParseError(f"expected '%n: type = op(...)', found {line!r}")
    name, stated, op_name, arguments = match.groups()
    if op_name not in OPS:
        raise ParseError(f"no operator is called {op_name!r}")
    call = _call(arguments)
    inputs = tuple(_named("%" + ast.unparse(each)[1:], named) for each in call.args)
    given = tuple(keyword.arg for keyword in call.keywords)
    expected = OPS[op_name].attributes
    if given != expected:
        raise ParseError(f"{op_name}: expected the attributes {expected}, found {given}")
    made = node(OPS[op_name], inputs, tuple(_value(keyword.value) for keyword in call.keywords))
    if str(made.type) != stated:
        raise ParseError(f"{name} is said to be {stated}, but {op_name} gives {made.type}")
    return name, made


def _call(arguments: str) -> ast.Call:
    """The call that `arguments` belong to; %n is spelled _n there, for Python's own parser."""
    try:
        call = ast.parse(f"f({re.sub('%(?=[0-9])', '_', arguments)})", mode="eval").body
    except SyntaxError as error:
        raise ParseError(f"expected arguments, found {arguments!r}") from error
    assert isinstance(call, ast.Call)
    return call


def _value(tree: ast.expr) -> Any:
    if isinstance(tree, ast.Name) and tree.id in DTYPES:
        return DTYPES[tree.id]
    try:
        return ast.literal_eval(tree)
    except ValueError as error:
        raise ParseError(f"expected a literal, found {ast.unparse(tree)!r}") from error
