"""Reads of variables, attributes and elements, and quick ways to see that none has changed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from operator import attrgetter, is_, itemgetter
from types import CellType
from typing import Any

from .tracer.layout import TRACES
from .tracer.straight import Straight

MANY = 16
"""From so many elements on, a loop over a container is quicker than a line for each."""


def same(now: Iterable[Any], then: Sequence[Any]) -> bool:
    """Whether both hold the same objects."""
    listed = [*now]
    return len(listed) == len(then) and all(map(is_, listed, then))


class Read:
    """Something that is read."""

    def __call__(self) -> Iterable[Any]:
        """What is there now; LookupError, AttributeError or ValueError where it is gone."""
        raise NotImplementedError

    def unchanged(self, code: Straight, then: Sequence[Any]) -> Iterator[str]:
        """Expressions that are all true where the objects that are read are those of `then`."""
        yield f"{code.constant(same)}({code.constant(self)}(), {code.constant(then)})"


class Other(Read):
    """What `read` gives."""

    def __init__(self, read: Callable[[], Iterable[Any]]) -> None:
        self._read = read

    def __call__(self) -> Iterable[Any]:
        """What it gives now."""
        return self._read()


class Cells(Read):
    """Variables that functions close over."""

    def __init__(self, cells: Iterable[CellType]) -> None:
        self._cells = list(cells)

    def __call__(self) -> list[Any]:
        """What they hold now."""
        return [each.cell_contents for each in self._cells]

    def unchanged(self, code: Straight, then: Sequence[Any]) -> Iterator[str]:
        """One comparison for each."""
        for cell, value in zip(self._cells, then, strict=True):
            yield f"{code.constant(cell)}.cell_contents is {code.constant(value)}"


class Names(Read):
    """Names in a namespace."""

    def __init__(self, space: Mapping[str, Any], names: Sequence[str]) -> None:
        self._space = space
        self._names = names
        self._get = itemgetter(*names)

    def __call__(self) -> tuple[Any, ...]:
        """What they stand for now."""
        made: Any = self._get(self._space)
        return made if len(self._names) > 1 else (made,)

    def unchanged(self, code: Straight, then: Sequence[Any]) -> Iterator[str]:
        """One comparison for each."""
        space = code.constant(self._space)
        for name, value in zip(self._names, then, strict=True):
            yield f"{space}[{name!r}] is {code.constant(value)}"


class Members(Names):
    """Attributes in the `__dict__` of an object, and how many there are: a new one may hide one."""

    def __call__(self) -> tuple[Any, ...]:
        """What they stand for now, and their number."""
        return (*super().__call__(), len(self._space) - (TRACES in self._space))

    def unchanged(self, code: Straight, then: Sequence[Any]) -> Iterator[str]:
        """One comparison for each."""
        space = code.constant(self._space)
        yield f"len({space}) - ({TRACES!r} in {space}) == {then[-1]}"
        yield from super().unchanged(code, then[:-1])


class Attributes(Read):
    """Attributes of an object."""

    def __init__(self, value: Any, names: Sequence[str]) -> None:
        self._value = value
        self._names = names
        self._get = attrgetter(*names)

    def __call__(self) -> tuple[Any, ...]:
        """What they stand for now."""
        made: Any = self._get(self._value)
        return made if len(self._names) > 1 else (made,)

    def unchanged(self, code: Straight, then: Sequence[Any]) -> Iterator[str]:
        """One comparison for each."""
        owner = code.constant(self._value)
        for name, value in zip(self._names, then, strict=True):
            yield f"{owner}.{name} is {code.constant(value)}"


class Keys(Read):
    """The keys of a dict, in order."""

    def __init__(self, value: Any) -> None:
        self._value = value

    def __call__(self) -> list[Any]:
        """Those of now."""
        return [*self._value.keys()]

    def unchanged(self, code: Straight, then: Sequence[Any]) -> Iterator[str]:
        """Texts are compared as texts."""
        name = code.constant(self._value)
        if type(self._value) is not dict or len(then) >= MANY or {*map(type, then)} - {str}:
            yield from super().unchanged(code, then)
        elif then:
            yield f"[*{name}] == {code.constant([*then])}"
        else:
            yield f"not {name}"


class Elements(Read):
    """The elements of a list, a set or the like, or the values of a dict, in order."""

    def __init__(self, value: Any) -> None:
        self._value = value

    def __call__(self) -> list[Any]:
        """Those of now."""
        return [*(self._value.values() if isinstance(self._value, dict) else self._value)]

    def unchanged(self, code: Straight, then: Sequence[Any]) -> Iterator[str]:
        """One comparison for each, where there are few and they are found by plain keys."""
        keys: list[Any] = []
        if type(self._value) is list:
            keys = [*range(len(then))]
        elif type(self._value) is dict and not {*map(type, self._value)} - {str, int}:
            keys = [*self._value]
        if len(keys) != len(then) or len(then) >= MANY:
            yield from super().unchanged(code, then)
            return
        name = code.constant(self._value)
        yield f"len({name}) == {len(then)}"
        for key, each in zip(keys, then, strict=True):
            yield f"{name}[{key!r}] is {code.constant(each)}"
