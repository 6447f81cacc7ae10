"""What objects of Python itself hold that a function reads through them, for `reach.py`."""

from __future__ import annotations

import gc
from collections import ChainMap, UserDict, UserList
from collections.abc import ItemsView, KeysView, ValuesView
from contextvars import ContextVar
from functools import lru_cache, partial
from threading import local
from types import MappingProxyType
from typing import TYPE_CHECKING, Any
from weakref import ref

from .lookup import dict_of
from .reads import Attributes, Other

if TYPE_CHECKING:
    from .reach import Reach

VIEWS = (MappingProxyType, KeysView, ValuesView, ItemsView)

WRAPPED = (ChainMap, UserDict, UserList)

CACHED: Any = type(lru_cache(len))

MISSING = object()
"""Stands for what is not there."""

MANY = 1_000
"""So many kept results are looked at."""


def local_(reach: Reach, value: local, label: str, depth: int) -> None:
    """Attributes of the present thread; in another one they may be missing."""
    names = sorted(reach.named() & vars(value).keys())
    if names:
        reach.namespaces.append((f"{label}.", tuple(names), Attributes(value, names)))
        for name in names:
            reach.visit(vars(value)[name], f"{label}.{name}", depth)


def wrapped(reach: Reach, value: Any, label: str, depth: int) -> None:
    """A container that keeps what it holds in a container of Python."""
    reach.read(vars(value), f"{label}.", {"data", "maps"} & vars(value).keys())
    for name in sorted({"data", "maps"} & vars(value).keys()):
        reach.visit(vars(value)[name], label, depth)
    reach.object_(value, label, depth)


def weak(reach: Reach, value: ref[Any], label: str, depth: int) -> None:
    """A weak reference, and what it points to."""
    reach.namespaces.append((label, ("()",), Other(lambda: [value()])))
    reach.visit(value(), label, depth)


def context_variable(reach: Reach, value: ContextVar[Any], label: str, depth: int) -> None:
    """A context variable, and its value in the present context."""
    reach.namespaces.append((label, (".get()",), Other(lambda: [value.get(MISSING)])))
    reach.visit(value.get(None), label, depth)


def view(reach: Reach, value: Any, label: str, depth: int) -> None:
    """What shows a dict: the dict itself."""
    for each in gc.get_referents(value):
        reach.visit(each, label, depth)


def cached(reach: Reach, value: Any, label: str, depth: int) -> None:
    """A function with `lru_cache`: what it has kept must stay, more may be added."""
    for each in gc.get_referents(value):
        if type(each) is dict and each is not dict_of(value):
            keys = [*each][:MANY]
            names = tuple([f"result {place}" for place in range(len(keys))])
            read = Other(partial(_entries_of, each, keys))
            reach.namespaces.append((f"{label}: ", names, read))
            for result in each.values():
                reach.visit(result, label, depth)
        elif each is not dict_of(value):
            reach.visit(each, label, depth)
    reach.object_(value, label, depth)


def _entries_of(space: dict[Any, Any], keys: list[Any]) -> list[Any]:
    return [space[each] for each in keys]
