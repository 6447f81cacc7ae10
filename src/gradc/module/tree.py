"""The tree that modules form: what stands in their attributes, by name."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from ..tracer.errors import located
from ..tracer.tensor import Tensor

if TYPE_CHECKING:
    from .module import Module


class Changes:
    """How often an attribute or a hook of any module was set; traced functions look at it."""

    count = 0


OWN = ("_forward_hooks", "_forward_pre_hooks")
"""Attributes of every module that are no part of the tree."""


def members(module: Module, alphabetical: bool = True) -> Iterator[tuple[str, Any]]:
    """The modules and tensors in the attributes of `module`, also those inside containers."""
    attributes = vars(module)
    for name in sorted(attributes) if alphabetical else attributes:
        if name not in OWN:
            yield from _expanded(name, attributes[name], alphabetical)


def walk(module: Module, prefix: str, recursive: bool) -> Iterator[tuple[str, Any]]:
    """The modules and tensors in `module` and, if `recursive`, in the modules within; each once."""
    yield from _walk(module, prefix, recursive, {id(module)})


def _walk(
    module: Module, prefix: str, recursive: bool, seen: set[int]
) -> Iterator[tuple[str, Any]]:
    for name, found in members(module):
        if id(found) in seen:
            continue
        seen.add(id(found))
        full = f"{prefix}.{name}" if prefix else name
        yield full, found
        if recursive and not isinstance(found, Tensor):
            yield from _walk(found, full, recursive, seen)


def find_modules(module: Module) -> Iterator[tuple[str, Module]]:
    """`module` and all within, with the names under which their tensors are saved."""
    yield "", module
    for name, found in walk(module, "", recursive=True):
        if not isinstance(found, Tensor):
            yield name, found


def _expanded(name: str, value: Any, alphabetical: bool) -> Iterator[tuple[str, Any]]:
    from .module import Module

    if isinstance(value, (Tensor, Module)):
        yield name, value
    elif isinstance(value, dict):
        keys = sorted(value, key=str) if alphabetical else list(value)
        for key in keys:
            for inner, found in _expanded(str(key), value[key], alphabetical):
                if not isinstance(key, str):
                    expected = f"expected the key of {name}.{inner} to be a str, found {key!r}"
                    raise TypeError(located(expected))
                yield f"{name}.{inner}", found
    elif isinstance(value, (list, tuple)):
        for place, each in enumerate(value):
            for inner, found in _expanded(str(place), each, alphabetical):
                yield f"{name}.{inner}", found
