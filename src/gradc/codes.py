"""What a function reads and changes besides its arguments, as far as its code shows it."""

from __future__ import annotations

import dis
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import pairwise
from types import CodeType
from typing import Any

READS = (
    *("LOAD_GLOBAL", "LOAD_NAME", "LOAD_FROM_DICT_OR_GLOBALS"),
    *("LOAD_DEREF", "LOAD_CLASSDEREF", "LOAD_FROM_DICT_OR_DEREF"),
)
CHANGES = ("STORE_GLOBAL", "STORE_NAME", "STORE_DEREF", "DELETE_GLOBAL", "DELETE_DEREF")
OF_MODULES = ("_GLOBAL", "_GLOBALS", "_NAME")
CHANGES_ATTRIBUTE = ("STORE_ATTR", "DELETE_ATTR")

ASKS = {"getattr", "hasattr", "vars", "__dict__", "attrgetter", "methodcaller"}
SETS = {"setattr", "delattr"}
"""Beside these, a text in the code may be the name of an attribute."""

SPACES = {"globals"}
"""Beside this, a text in the code may be the name of a variable of the module."""

MATCHED = "__match_args__"
"""The attribute of a class that says which attributes patterns of it look at."""

IMPORTS = {"import_module", "__import__", "modules"}
"""Beside these, a text in the code may be the name of a module."""


@dataclass(slots=True)
class Names:
    """The names in a function's code: of variables, of attributes, and of methods it calls.

    `globals` are those of variables of the module; a cell may have the name of one. `changed` are
    variables and `changed_attributes` attributes that it binds anew; what is only appended to
    (`calls.append(1)`) is in `appended`, and nothing depends on it. `asked` are attributes that
    need not be there: those named by texts. `imported` are modules, each with the number of dots
    before its name. `lines` says where a name stands first.
    """

    variables: set[str] = field(default_factory=set)
    globals: set[str] = field(default_factory=set)
    attributes: set[str] = field(default_factory=set)
    methods: set[str] = field(default_factory=set)
    changed: set[str] = field(default_factory=set)
    changed_attributes: set[str] = field(default_factory=set)
    appended: set[str] = field(default_factory=set)
    asked: set[str] = field(default_factory=set)
    imported: set[tuple[int, str]] = field(default_factory=set)
    lines: dict[str, str] = field(default_factory=dict)


@lru_cache(1_000)
def names_in(code: CodeType, body: bool = False) -> Names:
    """The names in `code` and in the functions that are written inside it.

    Of a `body`, the code of a traced function itself, what it appends to is left out.
    """
    found = Names()
    for each in _nested(code):
        steps = list(dis.get_instructions(each))
        for step, following in pairwise([*steps, steps[-1]]):
            _enter(found, step, following, silent=body and each is code)
            if isinstance(step.argval, str) and step.positions and step.positions.lineno:
                found.lines.setdefault(step.argval, f"{each.co_filename}:{step.positions.lineno}")
        for level, step in zip(steps, steps[2:], strict=False):
            if step.opname == "IMPORT_NAME":
                found.imported.add((level.argval or 0, step.argval))
        _enter_texts(found, each, any(step.opname == "MATCH_CLASS" for step in steps))
    return found


def _enter_texts(found: Names, code: CodeType, matches: bool) -> None:
    """Enter what texts in `code` name; where it `matches` classes, these are attributes."""
    used = {*code.co_names, *code.co_freevars}
    whole = set(_texts(code.co_consts))
    parts = {part for each in whole for part in each.split(".")}
    texts = parts if matches or used & (ASKS | SETS) else set()
    found.attributes |= texts | ({MATCHED} if matches else set())
    found.methods |= texts
    found.asked |= texts
    if used & SETS:
        found.changed_attributes |= texts
    if used & SPACES:
        found.variables |= parts
        found.globals |= parts
    if used & IMPORTS:
        found.imported |= {(0, each) for each in whole}


def _texts(constants: tuple[Any, ...] | frozenset[Any]) -> Iterator[str]:
    """The texts among `constants` that can be names, or names with dots between them."""
    for each in constants:
        if isinstance(each, str) and all(part.isidentifier() for part in each.split(".")):
            yield each
        elif isinstance(each, (tuple, frozenset)):
            yield from _texts(each)


def _enter(found: Names, step: dis.Instruction, following: dis.Instruction, silent: bool) -> None:
    """Enter what one instruction names."""
    name = step.argval
    if step.opname.endswith(OF_MODULES):
        found.globals.add(name)
    if _loads_method(step):
        found.methods.add(name)
    elif _loads_method(following) and following.argval == "append":
        if not silent and (step.opname in READS or step.opname == "LOAD_ATTR"):
            found.appended.add(name)
    elif step.opname in READS:
        found.variables.add(name)
    elif step.opname in ("LOAD_ATTR", "IMPORT_FROM") or step.opname.startswith("LOAD_SUPER"):
        found.attributes.add(name)
    elif step.opname in CHANGES:
        found.changed.add(name)
    elif step.opname in CHANGES_ATTRIBUTE:
        found.changed_attributes.add(name)


def _loads_method(step: dis.Instruction) -> bool:
    """Since Python 3.12 one instruction loads attributes and methods."""
    combined = step.opname == "LOAD_ATTR" and sys.version_info >= (3, 12)
    return step.opname == "LOAD_METHOD" or (combined and bool((step.arg or 0) & 1))


def _nested(code: CodeType) -> Iterator[CodeType]:
    yield code
    for each in code.co_consts:
        if isinstance(each, CodeType):
            yield from _nested(each)
