"""How containers and records are taken apart into what they hold, and made anew of other parts."""

from __future__ import annotations

from collections import OrderedDict, defaultdict
from collections.abc import Callable
from dataclasses import dataclass, fields, is_dataclass
from functools import lru_cache
from typing import Any

TRACES = "_gradc_traces"
"""The attribute in which an object keeps the traces of its methods; it is no part of its value."""

Filled = Callable[[type, list[Any]], Any]


@dataclass(frozen=True, slots=True)
class Layout:
    """What is done with the elements of one kind of container.

    `parts` lists them, the keys of a dict among them; `labels` say how each is reached; `filled`
    gives what makes one of a class from other parts.
    """

    parts: Callable[[Any], list[Any]]
    labels: Callable[[Any], list[str]]
    filled: Callable[[Any], Filled]


def _positions(value: Any) -> list[str]:
    names = getattr(type(value), "_fields", None)  # of a named tuple
    return [f".{name}" for name in names] if names else [f"[{k}]" for k in range(len(value))]


def _filled_list(value: Any) -> Filled:
    def fill(kind: type, made: list[Any]) -> Any:
        new: list[Any] = list.__new__(kind)
        list.extend(new, made)
        return new

    return fill


def _entries(value: Any) -> list[Any]:
    factory = (value.default_factory,) if isinstance(value, defaultdict) else ()
    return [*value, *value.values(), *factory]


def _entry_labels(value: Any) -> list[str]:
    labels = [f", key {place}," for place in range(len(value))]
    labels += [f"[{key!r:.40}]" for key in value]
    return [*labels, ".default_factory"]


def _filled_dict(value: Any) -> Filled:
    base: Any = next(each for each in (OrderedDict, defaultdict, dict) if isinstance(value, each))
    count = len(value)

    def fill(kind: type, made: list[Any]) -> Any:
        new = base.__new__(kind)
        if base is defaultdict:
            new.default_factory = made[-1]
        for key, each in zip(made[:count], made[count:], strict=False):
            base.__setitem__(new, key, each)
        return new

    return fill


def _filled_set(value: Any) -> Filled:
    return lambda kind, made: kind(made)


NOTHING = Layout(lambda _: [], lambda _: [], lambda _: lambda kind, _: object.__new__(kind))
"""That of records: all that they hold are attributes."""

LAYOUTS: tuple[tuple[type, Layout], ...] = (
    (dict, Layout(_entries, _entry_labels, _filled_dict)),
    (list, Layout(list, _positions, _filled_list)),
    (tuple, Layout(list, _positions, lambda _: tuple.__new__)),
    (set, Layout(list, _positions, _filled_set)),  # in the order in which the function meets them
    (frozenset, Layout(list, _positions, _filled_set)),
)


@lru_cache(1_000)
def layout_of(kind: type) -> tuple[Layout, tuple[str, ...]] | None:
    """How objects of the class are taken apart, and the names of their fields.

    Lists, tuples, dicts and sets are, with their subclasses, and dataclasses and classes of attrs.
    """
    names = _fields(kind)
    for base, layout in LAYOUTS:
        if issubclass(kind, base):
            return layout, names or ()
    plain: Any = kind.__new__
    if names is None or plain is not object.__new__:  # it may be more than its fields
        return None
    return NOTHING, names


def _fields(kind: Any) -> tuple[str, ...] | None:
    if is_dataclass(kind):
        return tuple(each.name for each in fields(kind))
    if hasattr(kind, "__attrs_attrs__"):
        return tuple(each.name for each in kind.__attrs_attrs__)
    return None


def attributes(value: Any, names: tuple[str, ...]) -> dict[str, Any]:
    """What `value` holds beside elements: the fields `names`, and attributes that were set."""
    held = dict(own_attribute(value, "__dict__") or ())
    held.pop(TRACES, None)
    for name in names:
        if name not in held and (found := own_attribute(value, name, ABSENT)) is not ABSENT:
            held[name] = found
    return held


ABSENT: Any = object()


def own_attribute(value: Any, name: str, default: Any = None) -> Any:
    """An attribute of `value` that is there indeed: a `__getattr__` of its class is not asked."""
    try:
        return object.__getattribute__(value, name)
    except Exception:  # a property may raise anything
        return default


def put_together(value: Any) -> tuple[list[Any], Callable[[list[Any]], Any]] | None:
    """The parts of `value`, its attributes among them, and what makes the like of others."""
    kind: Any = type(value)
    found = layout_of(kind)
    if found is None:
        return None
    layout, names = found
    parts, filled, held = layout.parts(value), layout.filled(value), attributes(value, names)
    count, listed = len(parts), tuple(held)

    def make(made: list[Any]) -> Any:
        new = filled(kind, made[:count])
        for name, each in zip(listed, made[count:], strict=True):
            object.__setattr__(new, name, each)
        return new

    return [*parts, *held.values()], make
