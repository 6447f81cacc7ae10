"""What a static argument may be, by the annotation of its parameter."""

from __future__ import annotations

from collections.abc import Callable
from numbers import Real
from typing import Any, NamedTuple

from .errors import located


class Kind(NamedTuple):
    """What an argument is expected to be, in words, and whether a value is that."""

    words: str
    holds: Callable[[Any], bool]
    whole: bool = False
    """Whether it is made of integers alone: True and False count as 1 and 0."""

    def brought(self, function: str, parameter: str, value: Any) -> Any:
        """`value`, checked, as it stands in programs."""
        self.check(function, parameter, value)
        return _integers(value) if self.whole else value

    def check(self, function: str, parameter: str, value: Any) -> None:
        """Raise unless `value` is of this kind."""
        if not self.holds(value):
            raise TypeError(
                located(f"{function}: expected {self.words} as {parameter}, found {value!r:.60}")
            )


class Range(NamedTuple):
    """Which numbers an argument may be that is read when a program runs, and that in words."""

    words: str
    holds: Callable[[Any], bool]

    def check(self, function: str, parameter: str, value: Any) -> None:
        """Raise unless `value` is a number in this range."""
        NUMBER.check(function, parameter, value)
        if not self.holds(value):
            expected = f"expected {parameter} {self.words}, found {value}"
            raise ValueError(located(f"{function}: {expected}"))


def _integers(value: Any) -> Any:
    """`value` with integers in place of True and False."""
    if isinstance(value, tuple):
        return tuple(map(_integers, value))
    return int(value) if isinstance(value, int) else value


def _several(holds: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, tuple) and all(map(holds, value))


def _optional(kind: Kind) -> Kind:
    words = f"{kind.words.replace(' or ', ', ')} or None"
    return Kind(words, lambda value: value is None or kind.holds(value), kind.whole)


def _is_whole(value: Any) -> bool:
    return isinstance(value, int)


def _is_number(value: Any) -> bool:
    return isinstance(value, Real)


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_pair(value: Any) -> bool:
    return isinstance(value, tuple) and len(value) == 2 and all(map(_is_whole, value))


def _are_wholes(value: Any) -> bool:
    return _is_whole(value) or _several(_is_whole)(value)


def _are_numbers(value: Any) -> bool:
    return _is_number(value) or _several(_is_number)(value)


WHOLE, NUMBER = Kind("an integer", _is_whole, True), Kind("a number", _is_number)
TRUTH, TEXT = Kind("True or False", _is_whole), Kind("a str", _is_text)
WHOLES = Kind("an integer or a tuple of integers", _are_wholes, True)
NUMBERS = Kind("a number or a tuple of numbers", _are_numbers)
ANYTHING = Kind("anything", lambda value: True)

RANGES = {
    "Number": Range("to be a number", lambda value: True),
    "Number | None": Range("to be a number", lambda value: True),
    "NumberFrom0": Range("from 0 on", lambda value: value > 0 or str(value) in ("0", "0.0")),
    "NumberAbove0": Range("above 0", lambda value: value > 0),
    "NumberTo1": Range("from 0 to 1", lambda value: 0 <= value <= 1),
}
"""Which numbers are taken, by the annotations of parameters that are run-time numbers."""

KINDS = {
    "Any": ANYTHING,
    "Axis": _optional(WHOLES),
    "DType": ANYTHING,
    "Shape": WHOLES,
    "bool": TRUTH,
    "bool | None": _optional(TRUTH),
    "float": NUMBER,
    "float | None": _optional(NUMBER),
    "float | tuple[float, ...] | None": _optional(NUMBERS),
    "int": WHOLE,
    "int | None": _optional(WHOLE),
    "int | Shape": WHOLES,
    "int | tuple[int, ...]": WHOLES,
    "int | tuple[int, ...] | None": _optional(WHOLES),
    "int | tuple[int | tuple[int, ...], ...]": Kind(
        "an integer or two tuples of integers",
        lambda value: _is_whole(value) or (_several(_are_wholes)(value) and len(value) == 2),
        True,
    ),
    "str": TEXT,
    "tuple[int, ...]": WHOLES,
    "tuple[int, ...] | None": _optional(WHOLES),
    "tuple[tuple[int, int], ...]": Kind(
        "a pair of integers for each axis", _several(_is_pair), True
    ),
}
"""The kinds by the annotations that functions of tensors use for static arguments."""
