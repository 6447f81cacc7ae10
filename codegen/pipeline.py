"""The pipeline: the ordered list of passes that turn a graph into source text."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..tracer.graph import Graph
from ..tracer.ir import Node
from .kernel import Program
from .parts import grouped
from .plan import Plan, plan
from .program import program_of
from .render import Source, render
from .roll import rolled
from .simplify import images, replaced
from .target import Target
from .verify import require_apart, require_sound

Dump = Callable[[str, Any], None]


@dataclass(frozen=True)
class Translation:
    """A graph on its way: what each pass made of it.

    `checks` are the places, among the nodes of the graph that was given, of the nodes whose indices
    the program checks.
    """

    graph: Graph
    program: Program
    plan: Plan
    source: Source
    checks: tuple[int, ...]


def translate(
    graph: Graph, target: Target, dump: Dump | None = None, verify: bool = False
) -> Translation:
    """Run all passes; `dump(name, result)` is called after each of them.

    With `verify`, what they make is examined, and AssertionError raised where it may not be run.
    """
    show: Dump = dump or (lambda name, result: None)
    image = images(graph)
    simple = replaced(graph, image)
    show("simplify", simple)
    whole, rolled_image = rolled(simple) if target.language == "c" else (simple, {})
    show("roll", whole)
    whole, grouped_image = grouped(whole)
    show("group parts", whole)
    program = program_of(whole, target)
    show("lower and fuse", program)
    layout = plan(program)
    if verify:
        require_sound(program)
        require_apart(program, layout)
    show("plan", layout)
    source = render(program, layout, target)
    show("render", source)
    checks = _places(program, graph, (image, rolled_image, grouped_image))
    return Translation(simple, program, layout, source, checks)


def _places(
    program: Program, graph: Graph, images: Sequence[Mapping[Node, Node]]
) -> tuple[int, ...]:
    """The first places in `graph` of what the program checks, seen through what passes made."""
    if not program.checks:
        return ()
    original: dict[Node, int] = {}
    for place, node in enumerate(graph.nodes()):
        found = node
        for image in images:
            found = image.get(found, found)
        original.setdefault(found, place)
    return tuple(original[check.node] for check in program.checks)
