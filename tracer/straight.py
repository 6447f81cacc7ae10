"""Straight-line Python: functions that are written for one purpose, because they run often."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any


class Straight:
    """A function in the making, line by line; what its lines name beside arguments are constants.

    Its code seems to lie in the file `<gradc NAME>`, and belongs to gradc for those who look for
    the user's line.
    """

    def __init__(self, name: str, *parameters: str) -> None:
        self._name = name
        self._lines = [f"def {name}({', '.join(parameters)}):"]
        self._constants: dict[str, Any] = {"__name__": f"{__name__}.{name}"}
        self._known: dict[int, str] = {}

    def constant(self, value: Any) -> str:
        """What the lines call `value`."""
        found = self._known.get(id(value))
        if found is None:
            found = self._known[id(value)] = f"k{len(self._known)}"
            self._constants[found] = value
        return found

    def add(self, lines: Iterable[str], depth: int = 1) -> None:
        """Append lines, each indented by `depth` steps."""
        self._lines += ["    " * depth + each for each in lines]

    def made(self) -> Callable[..., Any]:
        """The function."""
        code = compile("\n".join(self._lines) + "\n", f"<gradc {self._name}>", "exec")
        exec(code, self._constants)
        made: Callable[..., Any] = self._constants[self._name]
        return made


def target(names: Iterable[str]) -> str:
    """The left side of an assignment that unpacks into `names`."""
    return "".join(f"{each}, " for each in names) or "()"
