"""What can be reached from a function by names in its code: variables, attributes, modules."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from types import CellType, FunctionType, MethodType, ModuleType
from typing import Any

from .codes import names_in
from .module import Module
from .optimizer import LRScheduler, Optimizer
from .tracer.grad_manager import GradManager
from .tracer.structure import is_plain
from .tracer.tensor import Tensor

LARGEST = 1_000
"""Containers with more elements are not gone through."""

DEEPEST = 6
ROUNDS = 4

FOREIGN = ("gradc", "numpy")
"""Packages in whose code nothing is read that a user changes."""


class Reach:
    """What `function`, called with `arguments`, can come upon by names in the user's code.

    `cells` are closed-over variables by name; `namespaces` are dicts with a label and the names
    that are read there; `containers` are lists and dicts; `seen` are all objects by identity.
    """

    def __init__(self, function: Callable[..., Any], arguments: Iterable[Any]) -> None:
        self._attributes: set[str] = set()
        self._methods: set[str] = set()
        roots = [function, *arguments]
        for _ in range(ROUNDS):  # code that is found names more attributes
            known = len(self._attributes) + len(self._methods)
            self._begin()
            for each in roots:
                self._visit(each, "", 0)
            if len(self._attributes) + len(self._methods) == known:
                break
        self.namespaces += [
            (space, "", tuple(sorted(names))) for space, names in self._globals.values() if names
        ]

    def _begin(self) -> None:
        self.seen: dict[int, Any] = {}
        self.cells: dict[str, CellType] = {}
        self.namespaces: list[tuple[Any, str, tuple[str, ...]]] = []
        self.containers: list[tuple[str, Any]] = []
        self.modules: list[Module] = []
        self.optimizers: list[Optimizer] = []
        self._globals: dict[int, tuple[dict[str, Any], set[str]]] = {}

    def _visit(self, value: Any, label: str, depth: int) -> None:
        if id(value) in self.seen or depth > DEEPEST or is_plain(value):
            return
        self.seen[id(value)] = value
        for kinds, follow in _FOLLOWED:
            if isinstance(value, kinds):
                return follow(self, value, label, depth + 1)

    def _function(self, function: FunctionType, label: str, depth: int) -> None:
        if _is_foreign(function):
            return
        names = names_in(function.__code__)
        self._attributes |= names.attributes
        self._methods |= names.methods
        free = function.__code__.co_freevars
        for name, cell in zip(free, function.__closure__ or (), strict=True):
            if name in names.variables:
                self._cell(name, cell, function, depth)
        space = function.__globals__
        listed = self._globals.setdefault(id(space), (space, set()))[1]
        for name in names.variables & space.keys():
            listed.add(name)
            self._visit(space[name], name, depth)
        for each in (*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values()):
            self._visit(each, label, depth)
        self._visit(getattr(function, "__wrapped__", None), label, depth)

    def _cell(self, name: str, cell: CellType, function: FunctionType, depth: int) -> None:
        try:
            value = cell.cell_contents
        except ValueError:  # not bound yet
            return
        taken = self.cells.get(name, cell) is not cell
        self.cells[f"{name} of {function.__qualname__} {id(cell)}" if taken else name] = cell
        self._visit(value, name, depth)

    def _method(self, method: MethodType, label: str, depth: int) -> None:
        self._visit(method.__self__, label, depth)
        self._visit(method.__func__, label, depth)

    def _partial(self, value: partial[Any], label: str, depth: int) -> None:
        for each in (value.func, value.args, value.keywords):
            self._visit(each, label, depth)

    def _module(self, module: Module, label: str, depth: int) -> None:
        self.modules.append(module)
        for each in module.modules():
            self.seen[id(each)] = each
            self._methods_of(each, depth, {"forward"})
            for name, value in vars(each).items():
                if not isinstance(value, (Module, list, tuple, dict)):
                    self._visit(value, f"{type(each).__name__}.{name}", depth)

    def _manager(self, manager: GradManager, label: str, depth: int) -> None:
        for tensor in manager.attached_tensors():
            for each in manager.callbacks_of(tensor) or ():
                self._visit(each, label, depth)

    def _optimizer(self, optimizer: Optimizer, label: str, depth: int) -> None:
        self.optimizers.append(optimizer)

    def _schedule(self, schedule: LRScheduler, label: str, depth: int) -> None:
        self._visit(schedule.optimizer, label, depth)

    def _container(self, value: Any, label: str, depth: int) -> None:
        if len(value) > LARGEST:
            return
        if not isinstance(value, tuple):
            self.containers.append((f"{label}: ", value))
        items = value.items() if isinstance(value, dict) else enumerate(value)
        for key, each in items:
            self._visit(each, f"{label}[{key!r}]", depth)

    def _python_module(self, value: ModuleType, label: str, depth: int) -> None:
        space = vars(value)
        names = [each for each in self._attributes & space.keys() if is_plain(space[each])]
        if names and value.__name__.split(".")[0] not in FOREIGN:
            self.namespaces.append((space, f"{label}.", tuple(sorted(names))))

    def _class(self, value: type, label: str, depth: int) -> None:
        space = vars(value)
        names = [each for each in self._attributes & space.keys() if is_plain(space[each])]
        if names and value.__module__.split(".")[0] not in FOREIGN:
            self.namespaces.append((space, f"{label}.", tuple(sorted(names))))

    def _object(self, value: Any, label: str, depth: int) -> None:
        self._visit(getattr(value, "__wrapped__", None), label, depth)
        space = getattr(value, "__dict__", None)
        if not isinstance(space, dict) or _is_foreign(type(value)):
            return
        self._visit(type(value), type(value).__name__, depth)
        self._methods_of(value, depth, {"__call__"})
        names = tuple(sorted(self._attributes & space.keys()))
        if names:
            self.namespaces.append((space, f"{label or type(value).__name__}.", names))
        for name in names:
            self._visit(space[name], f"{label}.{name}", depth)

    def _methods_of(self, value: Any, depth: int, always: set[str]) -> None:
        for kind in type(value).__mro__:
            if not _is_foreign(kind) and kind is not object:
                for name in (self._methods | self._attributes | always) & vars(kind).keys():
                    found = vars(kind)[name]
                    found = getattr(found, "fget", getattr(found, "__func__", found))
                    if isinstance(found, FunctionType):
                        self._visit(found, name, depth)


def _is_foreign(value: Any) -> bool:
    return (value.__module__ or "").split(".")[0] in FOREIGN


def _nothing(*_: Any) -> None:
    return None


_FOLLOWED: tuple[tuple[Any, Callable[[Reach, Any, str, int], None]], ...] = (
    (Tensor, _nothing),
    (FunctionType, Reach._function),
    (MethodType, Reach._method),
    (partial, Reach._partial),
    (Module, Reach._module),
    (GradManager, Reach._manager),
    (Optimizer, Reach._optimizer),
    (LRScheduler, Reach._schedule),
    ((dict, list, tuple), Reach._container),
    (ModuleType, Reach._python_module),
    (type, Reach._class),
    (object, Reach._object),
)
