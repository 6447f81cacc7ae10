"""What gradc raises, and where in the user's program it says that the fault lies."""

from __future__ import annotations

import sys
from typing import NamedTuple


class Origin(NamedTuple):
    """A line of the user's program, and the composed function (if any) that made the node there."""

    file: str
    line: int
    label: str = ""

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


class GradcError(Exception):
    """Base of the errors that gradc defines."""


class ShapeError(GradcError, ValueError):
    """Shapes that do not fit, or an axis that does not exist."""


class DTypeError(GradcError, TypeError, AssertionError):
    """An element type that the operation does not take."""


class DerivativeError(GradcError, RuntimeError):
    """A derivative that is not defined."""


class BoundsError(GradcError, IndexError, ValueError):
    """An index or a label outside its range, found while a program ran."""


def users_frame() -> Origin | None:
    """The innermost line outside gradc that is running now."""
    frame = sys._getframe(1)
    while frame is not None:
        name = frame.f_globals.get("__name__", "")
        if name != "gradc" and not name.startswith("gradc."):
            return Origin(frame.f_code.co_filename, frame.f_lineno)
        frame = frame.f_back  # type: ignore[assignment]
    return None


def located(message: str) -> str:
    """`message`, followed by the user's file and line."""
    origin = users_frame()
    return f"{message} (at {origin})" if origin else message
