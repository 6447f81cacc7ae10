"""Arguments of constructors and plain functions: what is expected, and a message if it is not."""

from __future__ import annotations

from typing import Any

import numpy as np

from .tracer.arguments import NUMBER, WHOLE, WHOLES
from .tracer.composite import static
from .tracer.errors import located
from .tracer.ir import Shape


def whole(function: str, parameter: str, value: Any, least: int = 0) -> int:
    """`value` as an integer from `least` on."""
    found = static(value, f"{function}: {parameter}: ")
    WHOLE.check(function, parameter, found)
    if found < least:
        expected = f"expected {parameter} to be at least {least}"
        raise ValueError(located(f"{function}: {expected}, found {found}"))
    return int(found)


def extents(function: str, parameter: str, value: Any) -> Shape:
    """`value` as a shape: one integer from 0 on, or several."""
    found = static(value, f"{function}: {parameter}: ")
    WHOLES.check(function, parameter, found)
    shape: Shape = (found,) if isinstance(found, int) else found
    return tuple([whole(function, parameter, each) for each in shape])


def number(
    function: str, parameter: str, value: Any, low: float = -np.inf, high: float = np.inf
) -> float:
    """`value` as a float from `low` to `high`."""
    found = static(value, f"{function}: {parameter}: ")
    NUMBER.check(function, parameter, found)
    if not low <= found <= high:
        least = "" if low == -np.inf else f" from {low:g} on"
        where = least if high == np.inf else f" from {low:g} to {high:g}"
        expected = f"expected {parameter} to be a number{where}"
        raise ValueError(located(f"{function}: {expected}, found {found}"))
    return float(found)


def one_of(function: str, parameter: str, value: Any, choices: tuple[str, ...]) -> str:
    """`value`, which is one of `choices`."""
    if value not in choices:
        expected = f"expected {parameter} to be one of {', '.join(choices)}"
        raise ValueError(located(f"{function}: {expected}, found {value!r}"))
    return str(value)
