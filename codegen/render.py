"""Rendering: programs as source text, through templates that belong to kinds of kernels."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

import jinja2
import jinja2.lexer

from ..tracer.locks import repaired_in_children
from .kernel import Program
from .launch import Launched
from .plan import Plan
from .spell_cuda_program import cuda_program_view
from .spell_program import program_view
from .target import Target
from .view import LaunchView, RepeatView

PACKAGE = "gradc.templates"


@dataclass(frozen=True)
class Source:
    """The text of a program, and what its caller must know of it.

    `kernels` are the functions that are called, in order; `arena` is in bytes. For CUDA, `launches`
    are the calls with their extents, and `entry` is empty, since the caller makes them. C may be
    compiled as a whole, or in `units`, each with its number as GRADC_UNIT.
    """

    text: str
    language: str
    entry: str
    arena: int
    kernels: tuple[str, ...]
    launches: tuple[Launched, ...] = ()
    units: int = 1


def render(program: Program, plan: Plan, target: Target) -> Source:
    """Write `program` for `target`."""
    if target.language == "cuda":
        return _render_cuda(program, plan, target)
    view = program_view(program, plan, target)
    skeleton = _environment().get_template("c/module.c.j2")
    text = indented(skeleton.render(program=view))
    kernels = tuple(called(view.launches))
    return Source(text, target.language, view.entry, plan.nbytes, kernels, units=len(view.units))


def called(launches: Iterable[LaunchView | RepeatView]) -> Iterator[str]:
    """The functions that are called, in order; those in a loop once."""
    for each in launches:
        if isinstance(each, RepeatView):
            yield from called(each.body)
        else:
            yield each.function


def _render_cuda(program: Program, plan: Plan, target: Target) -> Source:
    view = cuda_program_view(program, plan, target)
    skeleton = _environment().get_template("cuda/module.cu.j2")
    text = indented(skeleton.render(program=view))
    kernels = tuple(launch.kernel for launch in view.launches)
    return Source(text, target.language, "", plan.nbytes, kernels, view.launches)


def read_template(name: str) -> str:
    """The text of the template or header `name`."""
    return resources.files(PACKAGE).joinpath(name).read_text(encoding="utf-8")


def _load(name: str) -> str | None:
    try:
        return read_template(name)
    except FileNotFoundError:
        return None


@cache
def _environment() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.FunctionLoader(_load),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,  # what is written is C, not HTML
    )
    environment.filters["header"] = read_template
    return environment


@repaired_in_children
def _forget_environment() -> None:
    """Its caches have locks, which another thread may have held at a fork."""
    _environment.cache_clear()
    lexer: Any = jinja2.lexer
    lexer._lexer_cache._postinit()  # what unpickling does: a lock of its own


# ---- layout of the text

WIDTH = 100
_BRACE = re.compile(r"[{}]")


def indented(text: str) -> str:
    """`text` with four spaces per open brace; headers (which are laid out already) stay."""
    depth = 0
    lines: list[str] = []
    verbatim = False
    for line in text.splitlines():
        if line.startswith("/* <<<") or line.startswith("/* >>>"):
            verbatim = line.startswith("/* <<<")
            lines.append(line)
            continue
        if verbatim:
            lines.append(line)
            continue
        bare = line.strip()
        code = bare.split("//", maxsplit=1)[0]
        braces = _BRACE.findall(code)
        closing = len(code) - len(code.lstrip("}"))
        depth -= closing
        lines += wrapped(bare, 4 * depth) if bare else [""]
        depth += sum(1 if brace == "{" else -1 for brace in braces) + closing
    return "\n".join(_without_blank_runs(lines)).rstrip("\n") + "\n"


def _without_blank_runs(lines: Iterable[str]) -> list[str]:
    kept: list[str] = []
    for line in lines:
        if line or (kept and kept[-1]):
            kept.append(line)
    return kept


def wrapped(line: str, indent: int) -> list[str]:
    """`line` at `indent`, broken at spaces so that no part passes the width."""
    if line.startswith("#"):
        return continued(line)
    code, slashes, comment = line.partition("  // ")
    if slashes and indent + len(line) > WIDTH:
        return [" " * indent + "// " + comment, *wrapped(code, indent)]
    room = WIDTH - indent
    if len(line) <= room:
        return [" " * indent + line]
    parts: list[str] = []
    rest = line
    while len(rest) > room:
        cut = _cut(rest, room)
        if cut <= 0:
            break
        parts.append(rest[:cut])
        rest = rest[cut + 1 :]
        room = WIDTH - indent - 4
    parts.append(rest)
    return [" " * indent + parts[0], *(" " * (indent + 4) + part for part in parts[1:])]


def continued(line: str) -> list[str]:
    """A line of the preprocessor, in several that a backslash joins where it is too long."""
    parts: list[str] = []
    rest = line
    while len(rest) > WIDTH and (cut := rest.rfind(" ", WIDTH // 2, WIDTH - 1)) > 0:
        parts.append(f"{rest[:cut]} \\")
        rest = f"    {rest[cut + 1 :]}"
    return [*parts, rest]


def _cut(line: str, room: int) -> int:
    """The space at which to break: behind a comma if one is far enough to the right."""
    comma = line.rfind(", ", 0, room) + 1
    return comma if 2 * comma > room else line.rfind(" ", 0, room)
