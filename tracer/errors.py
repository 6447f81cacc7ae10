"""What gradc raises, and where in the user's program it says that the fault lies."""

from __future__ import annotations

import sys
from types import CodeType, FrameType
from typing import Any, NamedTuple


class Origin(NamedTuple):
    """A line of the user's program, and the composed function (if any) that made the node there."""

    file: str
    line: int
    label: str = ""

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


class GradcError(Exception):
    """Base of the errors that gradc defines."""


class ShapeError(GradcError, ValueError, RuntimeError, AssertionError):
    """Shapes that do not fit, or an axis that does not exist.

    MegEngine raises a RuntimeError or an AssertionError for these, so it is of both types.
    """


class DTypeError(GradcError, TypeError, RuntimeError, AssertionError):
    """An element type that the operation does not take."""


class ArgumentError(GradcError, ValueError, AssertionError):
    """A value that an argument may not have, where MegEngine asserts it."""


class DerivativeError(GradcError, RuntimeError):
    """A derivative that is not defined."""


class BoundsError(GradcError, IndexError, ValueError):
    """An index or a label outside its range, found while a program ran.

    `place` is the number of the node in its graph. Which line asked for it is known to those who
    recorded the graph: they say so by `told`. Where it is `undone`, nothing that the traced
    function did has stayed.
    """

    undone = False

    def __init__(self, place: int, expected: str, label: str, where: str) -> None:
        super().__init__(f"{label or 'index'}: {expected}" + (f" ({where})" if where else ""))
        self.place = place
        self.expected = expected

    def told(self, label: str, at: str) -> BoundsError:
        """The same error, of the function `label`, which was called `at` a line."""
        run = users_frame()
        where = at
        if run is not None and not at.endswith(str(run)):
            same = f"{run.file}:" in at
            where += f", run at line {run.line}" if same else f", run at {run}"
        return BoundsError(self.place, self.expected, label, where)

    def __reduce__(self) -> tuple[Any, ...]:
        return _unpickled, (self.args, self.place, self.expected)


def _unpickled(args: tuple[Any, ...], place: int, expected: str) -> BoundsError:
    made = BoundsError(place, expected, "", "")
    made.args = args
    return made


class Place(NamedTuple):
    """Where code stands, for those who cannot wait for the number of the line to be worked out."""

    code: CodeType
    instruction: int

    def origin(self) -> Origin:
        """The line, which is looked up now."""
        lines = self.code.co_lines()
        line = next((n for begin, end, n in lines if begin <= self.instruction < end), None)
        return Origin(self.code.co_filename, line or self.code.co_firstlineno)


def _users() -> FrameType | None:
    frame: FrameType | None = sys._getframe(2)
    while frame is not None:
        name = frame.f_globals.get("__name__", "")
        if not name.startswith(("gradc.", "numpy.")) and name != "gradc":
            return frame
        frame = frame.f_back
    return None


def users_frame(label: str = "") -> Origin | None:
    """The innermost line outside gradc that is running now, which calls the function `label`."""
    frame = _users()
    return None if frame is None else Origin(frame.f_code.co_filename, frame.f_lineno, label)


def users_place() -> Place | None:
    """The same, without the number of the line."""
    frame = _users()
    return None if frame is None else Place(frame.f_code, frame.f_lasti)


def located(message: str) -> str:
    """`message`, followed by the user's file and line."""
    origin = users_frame()
    return f"{message} (at {origin})" if origin else message
