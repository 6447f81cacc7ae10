"""What a function reads besides its arguments, as far as its code shows it."""

from __future__ import annotations

import dis
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import pairwise
from types import CodeType

GLOBALS = ("LOAD_GLOBAL", "LOAD_NAME")
CLOSED_OVER = ("LOAD_DEREF", "LOAD_CLASSDEREF", "LOAD_FROM_DICT_OR_DEREF")


@dataclass(slots=True)
class Names:
    """The names in a function's code: of variables, of attributes, and of methods it calls.

    What is only appended to (`calls.append(1)`) is not among them: nothing depends on it.
    """

    variables: set[str] = field(default_factory=set)
    attributes: set[str] = field(default_factory=set)
    methods: set[str] = field(default_factory=set)


@lru_cache(1_000)
def names_in(code: CodeType) -> Names:
    """The names in `code` and in the functions that are written inside it."""
    found = Names()
    for each in _nested(code):
        steps = list(dis.get_instructions(each))
        for step, following in pairwise([*steps, steps[-1]]):
            if _loads_method(step):
                found.methods.add(step.argval)
            elif _loads_method(following) and following.argval == "append":
                continue
            elif step.opname in GLOBALS or step.opname in CLOSED_OVER:
                found.variables.add(step.argval)
            elif step.opname == "LOAD_ATTR":
                found.attributes.add(step.argval)
    return found


def _loads_method(step: dis.Instruction) -> bool:
    """Since Python 3.12 one instruction loads attributes and methods."""
    combined = step.opname == "LOAD_ATTR" and sys.version_info >= (3, 12)
    return step.opname == "LOAD_METHOD" or (combined and bool((step.arg or 0) & 1))


def _nested(code: CodeType) -> Iterator[CodeType]:
    yield code
    for each in code.co_consts:
        if isinstance(each, CodeType):
            yield from _nested(each)
