"""What a call of a traced function is told apart by: types of tensors, and Python values."""

from __future__ import annotations

from typing import Any

from .module import Module
from .optimizer import LRScheduler, Optimizer
from .tracer.dtypes import default_float
from .tracer.grad_manager import GradManager
from .tracer.ir import TensorType
from .tracer.layout import attributes, layout_of
from .tracer.recording import THREAD
from .tracer.structure import is_plain
from .tracer.tensor import Tensor
from .tracer.value import Value

NODE_OF: Any = Value.__dict__["_node"].__get__
"""The node of a tensor; a TypeError for all else, whatever attributes that says it has."""

NUMBERS = (int, bool, str, type(None))

THEMSELVES = (Module, GradManager, Optimizer, LRScheduler)
"""What is the same only where it is the same object, whatever its class says of its fields."""


class Call:
    """The arguments of one call.

    `key` are the types of tensors and all else that tells one call from another; `tensors` are
    those among the arguments, each once; `containers` are what holds them, `objects` arguments that
    only their identity tells, and the classes of those that are told by what they hold.
    """

    __slots__ = ("_around", "_owner", "containers", "key", "objects", "tensors")

    def __init__(
        self, args: tuple[Any, ...], kwargs: dict[str, Any], owner: type | None = None
    ) -> None:
        self.objects: list[Any] = []
        self.containers: list[Any] = []
        self.key: list[Any] = [THREAD.quiet > 0, default_float()]
        self._around: list[int] = []
        self._owner = owner
        try:  # the usual case: nothing but tensors
            self.key += [NODE_OF(each).type for each in args]
            self.tensors: list[Tensor] = [*args]
        except TypeError:
            self.tensors = []
            method = owner is not None and args and isinstance(args[0], owner)
            if method:
                self._add_itself(args[0])
            for each in args[1:] if method else args:
                self._add(each)
        for name in sorted(kwargs) if len(kwargs) > 1 else kwargs:
            self.key.append(name)
            self._add(kwargs[name])

    def _add(self, value: Any) -> None:
        kind = type(value)
        if issubclass(kind, Tensor):
            self.key.append(value._node.type)
            self.tensors.append(value)
        elif kind in NUMBERS:
            self.key += (kind, value)
        elif kind is not frozenset and is_plain(value):
            self.key += (kind, repr(value))  # tells -0.0 from 0.0, and 2.0 from 2 in tuples
        elif issubclass(kind, THEMSELVES):
            self._add_itself(value)
        else:
            self._add_parts(value, kind)

    def _add_itself(self, value: Any) -> None:
        self.key += (type(value), id(value))
        self.objects.append(value)

    def _add_parts(self, value: Any, kind: type) -> None:
        found = layout_of(kind)
        if found is None:
            return self._add_itself(value)
        if id(value) in self._around:  # it holds itself
            self.key += (kind, "around", self._around.index(id(value)))
            return None
        self._around.append(id(value))
        self.containers.append(value)
        layout, names = found
        parts = layout.parts(value)
        self.key += (kind, len(parts))
        for each in parts:
            self._add(each)
        if kind.__module__ not in ("builtins", "collections"):
            self.objects.append(kind)
            for name, each in attributes(value, names).items():
                self.key.append(name)
                self._add(each)
        self._around.pop()
        return None

    def settle(self) -> None:
        """List tensors that stand in several places once, and say in the key where.

        After this, types that mean the same are the same.
        """
        self.key = [x.settled() if isinstance(x, TensorType) else x for x in self.key]
        first = {id(each): each for each in reversed(self.tensors)}
        if len(first) < len(self.tensors):
            places = {key: place for place, key in enumerate(dict.fromkeys(map(id, self.tensors)))}
            self.key += ("same", *(places[id(each)] for each in self.tensors))
            self.tensors = [first[key] for key in places]

    def same_arguments(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
        """Whether lists, dicts and records among the arguments still hold the same."""
        other = Call(args, kwargs, self._owner)
        other.settle()
        one, two = (
            [each for each in call.key if not isinstance(each, TensorType)]
            for call in (self, other)
        )
        return one == two and list(map(id, self.tensors)) == list(map(id, other.tensors))

    def kinds(self) -> tuple[Any, ...]:
        """The key without the values of numbers and texts."""
        return tuple([each for each in self.key if isinstance(each, (TensorType, type))])
