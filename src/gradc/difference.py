"""In what two calls of a traced function differ, in words."""

from __future__ import annotations

import inspect
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any

from .signature import THEMSELVES
from .tracer.dtypes import default_float
from .tracer.layout import attributes, layout_of
from .tracer.recording import THREAD
from .tracer.structure import is_plain
from .tracer.tensor import Tensor

Told = dict[str, tuple[str, Any]]
"""What is told of each argument, and what tells it from others where the words are the same."""

DEEPEST = 8


def described(function: Callable[..., Any], args: Any, kwargs: Any) -> Told:
    """The arguments by name, and the settings that count."""
    found: Told = {}
    seen: dict[int, str] = {}
    for name, value in _bound(function, args, kwargs).items():
        found.update(_parts(name, value, seen, 0))
    found["no_grad"] = ("on" if THREAD.quiet else "off", None)
    found["the default type"] = (default_float().name, None)
    return found


def tensor_names(function: Callable[..., Any], args: Any, kwargs: Any) -> dict[int, str]:
    """What the tensors among the arguments are called, by identity."""
    seen: dict[int, str] = {}
    for name, value in _bound(function, args, kwargs).items():
        deque(_parts(name, value, seen, 0), maxlen=0)
    return seen


def _bound(function: Callable[..., Any], args: Any, kwargs: Any) -> dict[str, Any]:
    try:
        return inspect.signature(function).bind(*args, **kwargs).arguments
    except Exception:  # the signature of an object may be anything
        return {**{f"argument {k}": each for k, each in enumerate(args)}, **kwargs}


def _parts(
    name: str, value: Any, seen: dict[int, str], depth: int
) -> Iterator[tuple[str, tuple[str, Any]]]:
    kind: Any = type(value)
    if issubclass(kind, Tensor):
        first = seen.setdefault(id(value), name)
        also = "" if first == name else f", the same tensor as {first}"
        yield name, (f"{value._node.type}{also}", None)
        return
    if kind is not frozenset and is_plain(value):
        yield name, (_short(repr(value)), repr(value))
        return
    found = None if issubclass(kind, THEMSELVES) or depth > DEEPEST else layout_of(kind)
    if found is None:
        yield name, (f"{_article(kind)} object", id(value))
        return
    layout, names = found
    labels, parts = layout.labels(value), layout.parts(value)
    size = f" of {len(value)}" if hasattr(kind, "__len__") else ""
    yield name, (f"{_article(kind)}{size}", None)
    for label, each in zip(labels, parts, strict=False):
        yield from _parts(f"{name}{label}", each, seen, depth + 1)
    for label, each in attributes(value, names).items():
        yield from _parts(f"{name}.{label}", each, seen, depth + 1)


def _article(kind: type) -> str:
    return f"{'an' if kind.__name__[:1] in 'AEIOaeio' else 'a'} {kind.__name__}"


def _short(text: str) -> str:
    return text if len(text) <= 60 else text[:57] + "..."


def compared(before: Told, now: Told) -> str:
    """The first argument in which two calls differ; empty where there is none."""
    for name in dict.fromkeys([*before, *now]):
        old, new = before.get(name), now.get(name)
        if old == new:
            continue
        if new is None:
            return f"{name} is not given"
        if old is None:
            return f"{name} is {new[0]}, not given before"
        if old[0] != new[0]:
            return f"{name} is {new[0]}, not {old[0]}"
        return f"{name} is another one than before: {new[0]}"
    return ""
