"""Functions of tensors, written as functions of nodes.

A parameter annotated `Node` (or `Node | None`) takes a tensor, an array or a number; one annotated
`Nodes` takes a list of them; all others are static arguments, part of the program. What a function
gave for the same nodes and static arguments is remembered, so that a repeat costs one look-up,
however many operators it is composed of.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import reduce, update_wrapper
from typing import TYPE_CHECKING, Any

import numpy as np

from .data import as_stored, beside
from .dtypes import DType, bool_, default_float, default_int, promote
from .errors import DTypeError, located
from .ir import Node, labelled
from .recording import THREAD, Numbers, Recording
from .value import Value, waiting

if TYPE_CHECKING:
    pass

Nodes = tuple[Node, ...]

STATIC, ONE, MANY = range(3)
_EMPTY = inspect.Parameter.empty
_KINDS = {"Node": ONE, "Node | None": ONE, "Nodes": MANY}


class Composite:
    """A function of tensors; `of_nodes` is the function of nodes that it is written as."""

    __name__: str
    __qualname__: str

    def __init__(self, function: Callable[..., Any]) -> None:
        update_wrapper(self, function)
        self.of_nodes = function
        self.signature = inspect.signature(function)
        parameters = self.signature.parameters
        self.kinds = tuple(_KINDS.get(str(each.annotation), STATIC) for each in parameters.values())
        self.defaults = tuple(each.default for each in parameters.values())
        self.required = self.defaults.count(_EMPTY)
        self.places = {name: place for place, name in enumerate(parameters)}

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if kwargs or len(args) != len(self.kinds):
            args = self._completed(args, kwargs)
        recording = THREAD.recording
        key: list[Any] = [self]
        for kind, value in zip(self.kinds, args, strict=True):
            if kind == STATIC:
                key.append(value if value.__class__ is not float else _told_apart(value))
            elif isinstance(value, Value):
                same = value._recording is recording
                key.append(value._node if same else recording.node_of(value))  # type: ignore[arg-type]
            elif value is None:
                key.append(None)
            else:
                return self._general(args)
        try:
            made = recording.memo.young.get(tuple(key))
        except TypeError:  # a list among the static arguments
            made = None
        return self._general(args) if made is None else _tensors(made, recording)

    def _completed(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, ...]:
        """The arguments in the order of the parameters, defaults among them."""
        given = len(args)
        values = [*args, *self.defaults[given:]]
        for name, value in kwargs.items():
            place = self.places.get(name, -1)
            if place < given:
                self.signature.bind(*args, **kwargs)  # says what is wrong
            values[place] = value
        missing = [each for each in values[given : self.required] if each is _EMPTY]
        if missing or given > len(self.kinds):
            self.signature.bind(*args, **kwargs)
        return tuple(values)

    def _general(self, args: tuple[Any, ...]) -> Any:
        """The same for any arguments: numbers beside tensors, lists, arrays, what is new."""
        pairs = zip(self.kinds, args, strict=True)
        settled = [each if kind else static(each) for kind, each in pairs]  # may read values
        recording = THREAD.recording
        like = self._common_dtype(settled)
        nodes: list[Any] = []
        for kind, value in zip(self.kinds, settled, strict=True):
            if kind == MANY:
                nodes.append(tuple(as_node(recording, each, like, self.__name__) for each in value))
            else:
                one = kind == ONE and value is not None
                nodes.append(as_node(recording, value, like, self.__name__) if one else value)
        key = (self, *(_told_apart(each) for each in nodes))
        return _tensors(recording.first(key, self._labelled, nodes), recording)

    def _labelled(self, *arguments: Any) -> Any:
        with labelled(self.__name__):
            return self.of_nodes(*arguments)

    def _common_dtype(self, args: list[Any]) -> DType | None:
        """The type that weak numbers take: that of all tensors together."""
        flat = [each for kind, each in zip(self.kinds, args, strict=True) if kind == ONE]
        for kind, each in zip(self.kinds, args, strict=True):
            flat.extend(each if kind == MANY else ())
        found = [each._node.type.dtype for each in flat if isinstance(each, Value)]
        found += [as_stored(each)[1] for each in flat if isinstance(each, np.ndarray)]
        return reduce(promote, found) if found else None

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else _Method(self, instance)

    def __repr__(self) -> str:
        return f"<function {self.__name__}{self.signature}>"

    def __reduce__(self) -> str:
        return self.__qualname__


class _Method:
    """A composed function as the method of a tensor."""

    __slots__ = ("function", "instance")

    def __init__(self, function: Composite, instance: Any) -> None:
        self.function = function
        self.instance = instance

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.function(self.instance, *args, **kwargs)


def composite(function: Callable[..., Any]) -> Composite:
    """Decorate a function of nodes: it becomes a function of tensors."""
    return Composite(function)


def _tensors(made: Any, recording: Recording) -> Any:
    if isinstance(made, tuple):
        return tuple([waiting(each, recording) for each in made])
    return waiting(made, recording)


def as_node(recording: Recording, value: Any, like: DType | None, name: str) -> Node:
    """The node of an operand; numbers are weak beside tensors of the type `like`."""
    if isinstance(value, Value):
        return recording.node_of(value)  # type: ignore[arg-type]  # all are tensors
    if isinstance(value, Numbers):
        return recording.number(value, like or _own_dtype(value))
    if isinstance(value, (np.ndarray, list, tuple)):
        return recording.array(*(beside(value, like) if like else as_stored(value)))
    raise DTypeError(located(f"{name}: expected a tensor, an array or a number, found {value!r}"))


def _own_dtype(value: Any) -> DType:
    if isinstance(value, (bool, np.bool_)):
        return bool_
    return default_int() if isinstance(value, (int, np.integer)) else default_float()


def static(value: Any) -> Any:
    """A static argument in plain Python types; a tensor among them is read."""
    if isinstance(value, (list, tuple)):
        return tuple(static(each) for each in value)
    if isinstance(value, np.ndarray):
        return static(value.tolist())
    if isinstance(value, Value):
        return static(value.tolist())
    return value.item() if isinstance(value, np.generic) else value


def _told_apart(value: Any) -> Any:
    """What keeps -0.0 from 0.0 and 2.0 from 2 in a key."""
    return (float, repr(value)) if isinstance(value, float) else value
