"""What can be reached from a function by names in its code: variables, attributes, modules."""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Callable, Iterable
from functools import partial
from operator import attrgetter, itemgetter
from types import (
    CellType,
    FunctionType,
    GetSetDescriptorType,
    MemberDescriptorType,
    MethodType,
    ModuleType,
)
from typing import Any

import numpy as np

from .codes import names_in
from .module import Module
from .module.tree import OWN
from .optimizer import LRScheduler, Optimizer
from .tracer.grad_manager import GradManager
from .tracer.layout import ABSENT, own_attribute
from .tracer.structure import is_plain
from .tracer.tensor import Tensor

LARGEST = 1_000
"""Containers with more elements are not gone through."""

DEEPEST = 6
ROUNDS = 4

FOREIGN = ("gradc", "numpy")
"""Packages in whose code nothing is read that a user changes."""

CALLED = {"__call__", "forward", "backward"}
"""Methods that are called without being named."""

CONSTRUCTORS = {"__init__", "__post_init__"}

DESCRIPTORS = (property, classmethod, staticmethod, FunctionType, MemberDescriptorType)


class Missing:
    """Stands for what is not there."""


Read = Callable[[], Iterable[Any]]


class Reach:
    """What `function`, called with `arguments`, can come upon by names in the user's code.

    `cells` are closed-over variables by name; `namespaces` are what else is read: a label, names,
    and what gives their values; `containers` are lists and dicts; `seen` are all objects by
    identity. `effects` are things that the code may change though it never reads them, and `lines`
    says where in the code names stand.
    """

    def __init__(self, function: Callable[..., Any], arguments: Iterable[Any]) -> None:
        self._body = code_of(function)
        self._attributes: set[str] = set()
        self._methods: set[str] = set()
        self._changed: set[str] = set()
        self._appended: set[str] = set()
        self.lines: dict[str, str] = {}
        roots = [function, *arguments]
        for _ in range(ROUNDS):  # code that is found names more attributes
            known = self._known()
            self._begin()
            for each in roots:
                self._visit(each, "", 0)
            self._visit_appended()
            if self._known() == known:
                break
        for space, names in self._globals.values():
            self._read(space, "", names)

    def _known(self) -> int:
        sets = (self._attributes, self._methods, self._changed, self._appended)
        return sum(map(len, sets))

    def _begin(self) -> None:
        self.seen: dict[int, Any] = {}
        self.cells: dict[str, CellType] = {}
        self.namespaces: list[tuple[str, tuple[str, ...], Read]] = []
        self.containers: list[tuple[str, tuple[str, ...], Read]] = []
        self.effects: list[tuple[str, tuple[str, ...], Read]] = []
        self.modules: list[Module] = []
        self.optimizers: list[Optimizer] = []
        self._globals: dict[int, tuple[dict[str, Any], set[str]]] = {}
        self._to_append: list[tuple[str, Any]] = []
        self._only_changed = False

    def _visit(self, value: Any, label: str, depth: int) -> None:
        if id(value) in self.seen or depth > DEEPEST or is_plain(value):
            return
        self.seen[id(value)] = value
        for kinds, follow in _FOLLOWED:
            if issubclass(type(value), kinds):  # an object may say that its class is another
                return follow(self, value, label, depth + 1)

    def _visit_appended(self) -> None:
        """Visit what is only appended to: that it grows is an effect, but nothing depends on it."""
        self._only_changed = True
        while self._to_append:
            label, value = self._to_append.pop()
            self._visit(value, label, 1)

    # ---- functions

    def _function(self, function: FunctionType, label: str, depth: int) -> None:
        if _is_foreign(function):
            return
        code = function.__code__
        names = names_in(code, code is self._body)
        for name, line in names.lines.items():
            self.lines.setdefault(name, line)
        self._attributes |= names.attributes
        self._methods |= names.methods
        self._appended |= names.appended
        if function.__name__ not in CONSTRUCTORS:  # they change what is new
            self._changed |= names.changed_attributes
        for name, cell in zip(code.co_freevars, function.__closure__ or (), strict=True):
            self._cell(name, cell, function, depth)
        space = function.__globals__
        listed = self._globals.setdefault(id(space), (space, set()))[1]
        for name in (names.variables | names.changed) & space.keys():
            listed.add(name)
            self._visit(space[name], name, depth)
        self._to_append += [(each, space[each]) for each in names.appended & space.keys()]
        self._absent(space, "", names.changed - set(code.co_freevars))
        for name, each in _defaults(function):
            self._visit(each, name, depth)
        self._visit(getattr(function, "__wrapped__", None), label, depth)

    def _cell(self, name: str, cell: CellType, function: FunctionType, depth: int) -> None:
        names = names_in(function.__code__, function.__code__ is self._body)
        if name in names.appended and name not in names.variables:
            self._to_append += [(name, each) for each in _contents(cell)]
        if name in names.changed and not _contents(cell):
            self.effects.append(("", (name,), lambda: _contents(cell) or [Missing]))
        if name not in names.variables | names.changed or not _contents(cell):
            return
        taken = self.cells.get(name, cell) is not cell
        self.cells[f"{name} of {function.__qualname__} {id(cell)}" if taken else name] = cell
        self._visit(cell.cell_contents, name, depth)

    def _method(self, method: MethodType, label: str, depth: int) -> None:
        self._visit(method.__self__, label, depth)
        self._visit(method.__func__, label, depth)

    def _partial(self, value: partial[Any], label: str, depth: int) -> None:
        for each in (value.func, value.args, value.keywords):
            self._visit(each, label, depth)

    # ---- what gradc knows

    def _module(self, module: Module, label: str, depth: int) -> None:
        self.modules.append(module)
        for each in module.modules():
            self.seen[id(each)] = each
            kind = type(each)
            self._methods_of(kind, depth, {"forward"})
            for name, value in vars(each).items():
                if name in OWN:
                    for hook in value.values():
                        self._visit(hook, f"a hook of {kind.__name__}", depth)
                elif name in self._attributes or not isinstance(value, (list, tuple, dict)):
                    self._visit(value, f"{kind.__name__}.{name}", depth)

    def _manager(self, manager: GradManager, label: str, depth: int) -> None:
        for tensor in manager.attached_tensors():
            for each in manager.callbacks_of(tensor) or ():
                self._visit(each, f"a callback of {label}", depth)
        self._object(manager, label, depth)

    def _optimizer(self, optimizer: Optimizer, label: str, depth: int) -> None:
        self.optimizers.append(optimizer)
        self._object(optimizer, label, depth)

    def _schedule(self, schedule: LRScheduler, label: str, depth: int) -> None:
        self._visit(schedule.optimizer, label, depth)
        self._object(schedule, label, depth)

    # ---- other objects

    def _container(self, value: Any, label: str, depth: int) -> None:
        if len(value) > LARGEST:
            return
        if not isinstance(value, (tuple, frozenset)):
            read: Read = value.values if isinstance(value, dict) else partial(list, value)
            if self._only_changed:
                self.effects.append((f"{label}: ", (), read))
            else:
                if isinstance(value, dict):  # a key may stand where another stood
                    self.containers.append((f"{label}: key ", (), value.keys))
                keys = value if isinstance(value, dict) else range(len(value))
                self.containers.append((label, tuple([f"[{each!r:.40}]" for each in keys]), read))
        items = value.items() if isinstance(value, dict) else enumerate(value)
        for key, each in items:
            self._visit(each, f"{label}[{key!r}]", depth)

    def _array(self, value: Any, label: str, depth: int) -> None:
        if value.size <= LARGEST and value.dtype != object:
            self.effects.append((f"{label}: ", (), lambda: [value.tobytes()]))

    def _python_module(self, value: ModuleType, label: str, depth: int) -> None:
        if _is_library(value.__name__):
            return
        space = vars(value)
        names = (self._attributes | self._methods) & space.keys()
        if _is_installed(value.__name__):
            names = {each for each in names if is_plain(space[each])}
        self._read(space, f"{label}.", names)
        self._absent(space, f"{label}.", self._changed)
        for name in sorted(names):
            self._visit(space[name], f"{label}.{name}", depth)

    def _class(self, value: type, label: str, depth: int) -> None:
        self._class_attributes(value, label, depth)
        if not _is_installed(value.__module__):
            self._methods_of(value, depth, CALLED | CONSTRUCTORS)

    def _class_attributes(self, value: type, label: str, depth: int) -> None:
        for kind in value.__mro__:
            if _is_library(kind.__module__):
                continue
            space = vars(kind)
            names = (self._attributes | self._changed) & space.keys()
            names = {each for each in names if not isinstance(space[each], DESCRIPTORS)}
            self._read(space, f"{label}.", names)
            self._absent(space, f"{label}.", self._changed)
            self._to_append += [(f"{label}.{n}", space[n]) for n in self._appended & space.keys()]
            for name in sorted(names):
                self._visit(space[name], f"{label}.{name}", depth)

    def _object(self, value: Any, label: str, depth: int) -> None:
        kind = type(value)
        self._visit(own_attribute(value, "__wrapped__"), label, depth)
        if _is_foreign(kind):
            return
        self._class_attributes(kind, kind.__name__, depth)
        self._methods_of(kind, depth, CALLED)
        named = self._attributes | self._changed
        label = f"{label or kind.__name__}."
        space = own_attribute(value, "__dict__")
        if isinstance(space, dict):
            names = named & space.keys()
            self._read(space, label, names)
            self._absent(space, label, self._changed)
            self._to_append += [(label + n, space[n]) for n in self._appended & space.keys()]
            for name in sorted(names):
                self._visit(space[name], f"{label}{name}", depth)
        self._slots(value, label, named)

    def _slots(self, value: Any, label: str, named: set[str]) -> None:
        listed = {
            name
            for kind in type(value).__mro__
            for name, each in vars(kind).items()
            if name in named and isinstance(each, (MemberDescriptorType, GetSetDescriptorType))
        }
        held = {name: own_attribute(value, name, ABSENT) for name in sorted(listed)}
        names = tuple(name for name, each in held.items() if each is not ABSENT)
        if names:
            several = names * 2 if len(names) == 1 else names
            self.namespaces.append((label, several, partial(attrgetter(*several), value)))
            for name in names:
                self._visit(held[name], f"{label}{name}", 1)

    def _methods_of(self, value: type, depth: int, always: set[str]) -> None:
        for kind in value.__mro__:
            if not _is_library(kind.__module__):
                for name in (self._methods | self._attributes | always) & vars(kind).keys():
                    found = vars(kind)[name]
                    found = getattr(found, "fget", getattr(found, "__func__", found))
                    if isinstance(found, FunctionType):
                        self._visit(found, name, depth)

    # ---- what is read and what may be changed

    def _read(self, space: Any, label: str, names: Iterable[str]) -> None:
        listed = tuple(sorted(names))
        if listed:
            several = listed * 2 if len(listed) == 1 else listed  # for one, no tuple would be given
            self.namespaces.append((label, several, partial(itemgetter(*several), space)))

    def _absent(self, space: Any, label: str, changed: set[str]) -> None:
        """Note names that the code may bind in `space`, where they are not there yet."""
        names = tuple(sorted(changed - space.keys()))
        if names:
            self.effects.append(
                (label, names, lambda: [space.get(each, Missing) for each in names])
            )


def _defaults(function: FunctionType) -> list[tuple[str, Any]]:
    """The parameters that have default values, with these."""
    code, values = function.__code__, function.__defaults__ or ()
    names = code.co_varnames[code.co_argcount - len(values) : code.co_argcount]
    return [*zip(names, values, strict=True), *(function.__kwdefaults__ or {}).items()]


def code_of(function: Any) -> Any:
    """The code of a function, a method or what `partial` makes; None for other objects."""
    while isinstance(function, (MethodType, partial)):
        function = function.func if isinstance(function, partial) else function.__func__
    return own_attribute(function, "__code__")


def _contents(cell: CellType) -> list[Any]:
    try:
        return [cell.cell_contents]
    except ValueError:  # not bound yet
        return []


def _is_foreign(value: Any) -> bool:
    return (value.__module__ or "").split(".")[0] in FOREIGN


def _is_library(name: str | None) -> bool:
    """Whether the module `name` holds nothing that a user changes."""
    package = (name or "").split(".")[0]
    return package in FOREIGN or package in sys.stdlib_module_names


def _is_installed(name: str) -> bool:
    """Whether users have the module from others: its numbers may be set, its code is not read."""
    file = getattr(sys.modules.get(name), "__file__", None) or ""
    return "site-packages" in file or "dist-packages" in file


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
    ((dict, list, tuple, set, frozenset, deque), Reach._container),
    (np.ndarray, Reach._array),
    (ModuleType, Reach._python_module),
    (type, Reach._class),
    (object, Reach._object),
)
