"""Whole functions as programs.

`trace` has the arguments of MegEngine's, and results equal to those of the plain function: it is
called every time, and the programs of what it records are found again as in any other code.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import update_wrapper
from types import MethodType
from typing import Any

__all__ = ["Traced", "trace"]


class Traced:
    """A function that `trace` was applied to."""

    __name__: str

    def __init__(self, function: Callable[..., Any]) -> None:
        update_wrapper(self, function)
        self.function = function

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """What the function gives."""
        return self.function(*args, **kwargs)

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else MethodType(self, instance)

    def __repr__(self) -> str:
        return f"<traced {self.function!r}>"


def trace(
    function: Callable[..., Any] | None = None,
    *,
    symbolic: bool = False,
    capture_as_const: bool = False,
    record_only: bool = False,
    sublinear_memory_config: Any = None,
    dtr_config: Any = None,
    profiling: bool = False,
    opt_level: int = 2,
    graph_opt_config: Any = None,
    symbolic_shape: bool = True,
    without_host: bool = False,
    imperative: bool = False,
) -> Any:
    """Decorate a function, bare or with options: its operations are recorded and compiled.

    Any change of shapes, types, numbers or branches is right, as without `trace`. The options are
    MegEngine's; none of them changes a result, and so far none changes what is done.
    """
    return Traced if function is None else Traced(function)
