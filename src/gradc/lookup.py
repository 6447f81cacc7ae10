"""What stands in objects and classes, looked up without running any code of the user."""

from __future__ import annotations

from functools import cached_property, partial, partialmethod
from types import CellType, FunctionType, MethodType
from typing import Any

from .tracer.layout import own_attribute


def code_of(function: Any) -> Any:
    """The code of a function, method or partial; None of other callables."""
    while isinstance(function, (MethodType, partial)):
        function = function.func if isinstance(function, partial) else function.__func__
    return own_attribute(function, "__code__")


def contents(cell: CellType) -> list[Any]:
    """What a closed-over variable holds, if anything."""
    try:
        return [cell.cell_contents]
    except ValueError:  # not bound yet
        return []


def dict_of(value: Any) -> dict[str, Any] | None:
    """The attributes that were set on `value`, whatever its class makes of looking them up."""
    space = own_attribute(value, "__dict__")
    return space if issubclass(type(space), dict) else None


def defaults_of(function: FunctionType) -> list[tuple[str, Any]]:
    """The parameters that have default values, with these."""
    code, values = function.__code__, function.__defaults__ or ()
    names = code.co_varnames[code.co_argcount - len(values) : code.co_argcount]
    return [*zip(names, values, strict=True), *(function.__kwdefaults__ or {}).items()]


def is_special(name: str) -> bool:
    """Whether Python itself may call the method of this name."""
    return name.startswith("__") and name.endswith("__")


def methods_in(kind: type) -> dict[str, list[FunctionType]]:
    """The methods that the class defines, by name, with their functions."""
    made = {name: functions_in(each) for name, each in vars(kind).items()}
    return {name: functions for name, functions in made.items() if functions}


def functions_in(found: Any) -> list[Any]:
    """The functions of the user in an entry of a class."""
    kind, each = type(found), [found]
    if issubclass(kind, property):
        each = [found.fget, found.fset, found.fdel]
    elif issubclass(kind, (classmethod, staticmethod)):
        each = [found.__func__]
    elif issubclass(kind, (cached_property, partialmethod)):
        each = [found.func]
    return [function for function in each if type(function) is FunctionType]


def is_generated(function: FunctionType) -> bool:
    """Whether dataclasses or attrs wrote it: it reads all fields, most of no concern."""
    code = function.__code__
    of_dataclass = code.co_filename == "<string>" and "__create_fn__" in code.co_qualname
    return of_dataclass or code.co_filename.startswith("<attrs")
