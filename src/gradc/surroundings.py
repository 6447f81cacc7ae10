"""What a traced function reads besides its arguments: it must be as it was, or is traced again.

Looked at are the variables that the function closes over and the globals that it names, also those
of the functions of the user that it finds there; attributes, where the code reads them by name, of
objects found there and among the arguments; and everything in modules.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from operator import is_, itemgetter
from typing import Any

from .module.tree import OWN, Changes
from .reach import Reach
from .tracer.structure import same_plain
from .tracer.tensor import Tensor

Others = dict[int, Tensor]
"""Tensors that stand now where others stood, by the identity of these."""


class Place:
    """Variables or elements that stand together, and what they are now."""

    __slots__ = ("label", "names", "read", "values")

    def __init__(self, label: str, names: Iterable[str], read: Callable[[], Any]) -> None:
        self.label = label
        self.names = tuple(names)
        self.read = read
        self.values: tuple[Any, ...] = tuple(read())

    def difference(self, others: Others | None) -> str | None:
        """What is not as it was; a tensor in place of another counts only where `others` is None.

        Else it is put there.
        """
        try:
            now = tuple(self.read())
        except (LookupError, ValueError):  # a variable that is gone
            return self.label
        if len(now) != len(self.values):
            return f"{self.label} of {len(now)} elements, not {len(self.values)}"
        names = self.names or map(str, range(len(now)))
        for name, old, new in zip(names, self.values, now, strict=True):
            if old is new or same_plain(old, new):
                continue
            both = isinstance(old, Tensor) and isinstance(new, Tensor)
            if others is None or not both or others.setdefault(id(old), new) is not new:
                return f"{self.label}{name}{_shown(old, new)}"
            if old._node.type != new._node.type:
                return f"{self.label}{name} is {new._node.type}, not {old._node.type}"
        return None


class Surroundings:
    """What `function`, called with `arguments`, may read besides these."""

    def __init__(self, function: Callable[..., Any], arguments: Iterable[Any]) -> None:
        reach = Reach(function, arguments)
        self._known = reach.seen
        self._places = list(_places(reach))
        self._rates = [
            Place(f"{type(each).__name__}: ", (), partial(_hyperparameters, each))
            for each in reach.optimizers
        ]
        self._reads = [each.read for each in self._places]
        self._values = [value for each in self._places for value in each.values]
        self._modules = reach.modules
        self._changes = Changes.count
        self._state = list(self._state_of_modules())

    def knows(self, value: Any) -> bool:
        """Whether `value` is an object found here, the same at every call."""
        return id(value) in self._known

    def objects(self) -> list[Any]:
        """All objects that were found."""
        return list(self._known.values())

    def unchanged(self) -> bool:
        """Whether all is as it was, by a quick look."""
        now: list[Any] = []
        try:
            for read in self._reads:
                now += read()
        except (LookupError, ValueError):
            return False
        alike = len(now) == len(self._values) and all(map(is_, now, self._values))
        return alike and (Changes.count == self._changes or not self._modules)

    def difference(self, others: Others | None = None) -> str | None:
        """What is not as it was; see Place.difference."""
        for place in self._places:
            if found := place.difference(others):
                return found
        if others:
            for place in self._places:
                for old, new in zip(place.values, place.read(), strict=True):
                    if others.get(id(old), new) is not new:
                        return f"{place.label}, where a tensor stands for two"
        return self._changed_module()

    def changed_by_itself(self, scheduled: bool) -> str | None:
        """What the function itself has changed; unless `scheduled`, hyper-parameters among it."""
        places = [] if scheduled else self._rates
        return next(filter(None, (each.difference(None) for each in places)), self.difference())

    def _changed_module(self) -> str | None:
        if Changes.count == self._changes or not self._modules:
            return None
        count, now = Changes.count, list(self._state_of_modules())
        if len(now) != len(self._state):
            return "what a module is made of"
        for (name, old), (_, new) in zip(self._state, now, strict=True):
            if old is not new and not same_plain(old, new):
                return f"{name}{_shown(old, new)}"
        self._changes = count
        return None

    def _state_of_modules(self) -> Iterator[tuple[str, Any]]:
        for root in self._modules:
            for module in root.modules():
                for name, value in vars(module).items():
                    kept = list(value.values()) if name in OWN else value
                    yield from _flat(f"{type(module).__name__}.{name}", kept)


def _places(reach: Reach) -> Iterator[Place]:
    cells = list(reach.cells.values())
    if cells:
        yield Place("", reach.cells, lambda: [each.cell_contents for each in cells])
    for namespace, label, names in reach.namespaces:
        several = names * 2 if len(names) == 1 else names  # for one, no tuple would be given
        yield Place(label, several, partial(itemgetter(*several), namespace))
    for label, container in reach.containers:
        yield Place(label, (), container.values if isinstance(container, dict) else container.copy)


def _hyperparameters(optimizer: Any) -> list[Any]:
    groups = optimizer.param_groups
    return [value for group in groups for name, value in group.items() if name != "params"]


def _flat(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, (list, tuple)):
        for each in value:
            yield from _flat(name, each)
    elif isinstance(value, dict):
        for key, each in value.items():
            yield from _flat(f"{name}[{key!r}]", each)
    else:
        yield name, value


def _shown(old: Any, new: Any) -> str:
    """Both values, where they are short numbers or texts."""
    texts = [repr(each) for each in (new, old) if isinstance(each, (bool, int, float, str))]
    short = len(texts) == 2 and all(len(each) < 40 for each in texts)
    return f" is {texts[0]}, not {texts[1]}" if short else " is another object"
