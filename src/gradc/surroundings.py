"""What a traced function reads besides its arguments: it must be as it was, or is traced again.

Looked at are the variables that the function closes over and the globals that it names, also those
of the functions of the user that it finds there; attributes, where the code reads them by name, of
objects found there and among the arguments; and everything in modules.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from .module.tree import OWN, Changes
from .reach import Missing, Reach
from .reads import Cells, Other, Read
from .tracer.cached import cached_property
from .tracer.grad_manager import GradManager
from .tracer.layout import TRACES
from .tracer.straight import Straight
from .tracer.structure import same_plain
from .tracer.tensor import Tensor

LARGEST_ARRAYS = 1 << 20
"""Arrays of more bytes in all are not compared at every call: the function is not replayed."""

Others = dict[int, Tensor]
"""Tensors that stand now where others stood, by the identity of these."""


class Place:
    """Variables or elements that stand together, and what they are now.

    `lines` says where in the code a name stands.
    """

    __slots__ = ("label", "lines", "names", "read", "values")

    def __init__(
        self,
        label: str,
        names: Iterable[str],
        read: Read,
        lines: Mapping[str, str] | None = None,
    ) -> None:
        self.label = label
        self.lines = lines or {}
        self.names = tuple(names)
        self.read = read
        self.values: tuple[Any, ...] = tuple(read())

    def difference(self, others: Others | None) -> str | None:
        """What is not as it was; a tensor in place of another counts only where `others` is None.

        Else it is put there.
        """
        try:
            now = tuple(self.read())
        except (LookupError, ValueError, AttributeError):
            return f"{self.label}{', '.join(dict.fromkeys(self.names))} is gone"
        if len(now) != len(self.values):
            counts = f"has {len(now)} elements, not {len(self.values)}"
            return f"{self.label.removesuffix(': ')} {counts}{self._line('')}"
        for name, old, new in zip(self.named(), self.values, now, strict=True):
            if old is new or same_plain(old, new):
                continue
            both = isinstance(old, Tensor) and isinstance(new, Tensor)
            if others is None or not both or others.setdefault(id(old), new) is not new:
                return f"{self.label}{name}{_shown(old, new)}{self._line(name)}"
            if old._node.type != new._node.type:
                types = f"{new._node.type}, not {old._node.type}"
                return f"{self.label}{name} is {types}{self._line(name)}"
        return None

    def named(self) -> Sequence[str]:
        """A name for each value."""
        return self.names or tuple(map(str, range(len(self.values))))

    def _line(self, name: str) -> str:
        return _line(self.lines, self.label, name)


def _line(lines: Mapping[str, str], label: str, name: str = "") -> str:
    """Where in the code the name stands, or that of what holds it."""
    parts = [name, *reversed(label.removesuffix(": ").rstrip(".").split("."))]
    found = next((lines[each] for each in parts if each in lines), "")
    return f" (at {found})" if found else ""


class Contents:
    """The elements of an array, which may be changed in place."""

    __slots__ = ("_array", "_kept", "_look", "_seen", "label", "size")

    def __init__(self, label: str, array: Any, lines: Mapping[str, str]) -> None:
        self.label = f"{label or 'an argument'}{_line(lines, label.partition('[')[0])}"
        self._array = array
        self._look = _as_array if isinstance(array, np.ndarray) else _as_bytes
        self.size = array.nbytes if hasattr(array, "nbytes") else len(memoryview(array).cast("B"))
        self._seen = self._look(array) if self.size <= LARGEST_ARRAYS else ()
        objects = isinstance(array, np.ndarray) and array.dtype.hasobject
        self._kept = array.tolist() if objects else None  # objects are told by their addresses

    def unchanged(self) -> bool:
        """Whether they are what they were."""
        try:
            return self._look(self._array) == self._seen
        except ValueError:  # a view that was released
            return False


def _as_array(array: Any) -> tuple[Any, ...]:
    return array.tobytes(), array.shape, array.dtype


def _as_bytes(array: Any) -> tuple[Any, ...]:
    return (bytes(array),)


class Surroundings:
    """What `function`, called with `arguments`, may read besides these."""

    def __init__(self, function: Callable[..., Any], arguments: Iterable[Any]) -> None:
        reach = Reach(function, arguments)
        self._known = reach.seen
        read, lacking = list(_places(reach)), list(_lacking(reach))
        self._places = [*read, *lacking]
        self._effects = [Place(*each, reach.lines) for each in reach.effects]
        self._rates = [
            Place(f"{type(each).__name__}: ", (), Other(partial(_hyperparameters, each)))
            for each in reach.optimizers
        ]
        self._reads = [(each.read, each.values) for each in read]
        self._lacking = [(each.keys(), frozenset(names)) for _, names, each in reach.lacking]
        self._elements = [Contents(*each, reach.lines) for each in reach.arrays]
        self.unseen = reach.unseen or self._large_arrays()
        self._modules = reach.modules
        self._changes = Changes.count
        self._state = list(self._state_of_modules())
        held = [each for _, each in self._state]
        for optimizer in reach.optimizers:
            held += [each for group in optimizer.param_groups for each in group["params"]]
        self._held = {id(each): each for each in held if issubclass(type(each), Tensor)}

    def knows(self, value: Any) -> bool:
        """Whether `value` is an object found here, the same at every call."""
        return id(value) in self._known

    def tensors(self) -> dict[int, Tensor]:
        """The tensors that the function can come upon, by identity."""
        found = [*self._known.values(), *self._held.values()]
        for manager in [each for each in found if issubclass(type(each), GradManager)]:
            found += manager.attached_tensors()
        return {id(each): each for each in found if issubclass(type(each), Tensor)}

    def objects(self) -> list[Any]:
        """All objects that were found."""
        return list(self._known.values())

    @cached_property
    def unchanged(self) -> Callable[[], bool]:
        """Called, this tells whether all is as it was, by a quick look."""
        code = Straight("unchanged")
        seen = [line for read, values in self._reads for line in read.unchanged(code, values)]
        for keys, names in self._lacking:
            seen.append(f"{code.constant(keys)}.isdisjoint({code.constant(names)})")
        seen += [f"{code.constant(each.unchanged)}()" for each in self._elements]
        if self._modules:
            count = f"{code.constant(Changes)}.count"
            seen.append(f"{count} == {code.constant(self)}._changes")
        code.add(["try:", f"    return {' and '.join(seen) or 'True'}"])
        code.add(["except (LookupError, ValueError, AttributeError):", "    return False"])
        return code.made()

    def difference(self, others: Others | None = None) -> str | None:
        """What is not as it was; see Place.difference."""
        for place in self._places:
            if found := place.difference(others):
                return found
        if others:
            for place in self._places:
                for name, old, new in zip(place.named(), place.values, place.read(), strict=True):
                    mixed = id(old) in others and id(old) in self._held
                    if mixed or others.get(id(old), new) is not new:
                        return f"{place.label}{name} is the tensor that stands for another too"
        for each in self._elements:
            if not each.unchanged():
                return f"elements have changed of {each.label}"
        return self._changed_module()

    def changed_by_itself(self, scheduled: bool) -> str | None:
        """What the function itself has changed; unless `scheduled`, hyper-parameters among it.

        To be asked once, when the function has just run.
        """
        places = [*self._effects, *([] if scheduled else self._rates)]
        self._effects.clear()
        found = next(filter(None, (each.difference(None) for each in places)), None)
        return found or self.difference() or self._changed_module(looked_into=True)

    def leave_arrays(self) -> None:
        """Look at no elements any more: the function runs at every call anyway."""
        self._elements = []

    def name_of(self, value: Any) -> str | None:
        """What `value` is called where it is found."""
        for place in self._places:
            for name, each in zip(place.names, place.values, strict=False):
                if each is value:
                    return f"{place.label}{name}"
        for name, each in self._state:
            if each is value:
                return name
        return None

    def _large_arrays(self) -> str | None:
        """In words, which arrays are too large to be compared; these are not looked at."""
        count = sum(each.size for each in self._elements)
        if count <= LARGEST_ARRAYS:
            return None
        largest = max(self._elements, key=lambda each: each.size)
        self.leave_arrays()
        return f"reaches arrays of {count} bytes, which may be changed in place: {largest.label}"

    def _changed_module(self, looked_into: bool = False) -> str | None:
        """What of a module has changed; inside containers only where they are `looked_into`."""
        if not self._modules or (Changes.count == self._changes and not looked_into):
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
                    if name == TRACES:
                        continue
                    kept = list(value.values()) if name in OWN else value
                    yield from _flat(f"{type(module).__name__}.{name}", kept)


def _places(reach: Reach) -> Iterator[Place]:
    cells = list(reach.cells.values())
    if cells:
        yield Place("", reach.cells, Cells(cells), reach.lines)
    for label, names, read in reach.namespaces:
        yield Place(label, names, read, reach.lines)
    for label, names, read in reach.containers:
        yield Place(label, names, read, reach.lines)


def _lacking(reach: Reach) -> Iterator[Place]:
    for label, names, space in reach.lacking:
        read = Other(partial(_looked_up, space, names))
        yield Place(label, names, read, reach.lines)


def _looked_up(space: Mapping[str, Any], names: tuple[str, ...]) -> list[Any]:
    return [space.get(each, Missing) for each in names]


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
    """Both values, where they are short numbers or texts; else of what class the new one is."""
    if new is Missing:
        return " is gone"
    plain = isinstance(new, (bool, int, float, str)) and len(repr(new)) < 40
    if plain and old is Missing:
        return f" is {new!r}, and was not there"
    if plain and isinstance(old, (bool, int, float, str)) and len(repr(old)) < 40:
        return f" is {new!r}, not {old!r}"
    return f" is another object, of the class {type(new).__name__}"
