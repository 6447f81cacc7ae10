"""What can be reached from a function by names in its code: variables, attributes, modules."""

from __future__ import annotations

from array import array
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from functools import cached_property, partial
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
from .lookup import code_of, contents, defaults_of, dict_of, functions_in
from .module import Module
from .module.tree import OWN
from .optimizer import LRScheduler, Optimizer
from .origin import is_foreign, is_installed, is_library
from .reads import Attributes, Elements, Keys, Names, Other, Read
from .tracer.grad_manager import GradManager
from .tracer.layout import ABSENT, own_attribute
from .tracer.structure import is_plain
from .tracer.tensor import Tensor

LARGEST = 1_000
"""Containers with more elements are not gone through."""

DEEPEST = 6
ROUNDS = 4

CALLED = {
    *("__call__", "forward", "backward"),
    *("__getattr__", "__getattribute__", "__get__", "__getitem__", "__contains__", "__len__"),
    *("__iter__", "__next__", "__enter__", "__exit__", "__bool__", "__int__", "__float__"),
    *("__index__", "__hash__", "__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__"),
    *("__neg__", "__abs__", "__add__", "__radd__", "__sub__", "__rsub__", "__mul__", "__rmul__"),
    *("__truediv__", "__rtruediv__", "__floordiv__", "__mod__", "__pow__", "__rpow__"),
    *("__matmul__", "__rmatmul__", "__array__", "__str__", "__format__"),
}
"""Methods that are called without being named."""

CONSTRUCTORS = {"__init__", "__post_init__"}

DESCRIPTORS = (property, classmethod, staticmethod, FunctionType, MemberDescriptorType)

PARTS = ("__code__", "__defaults__", "__kwdefaults__")
"""What a function is made of, which tools that reload sources put in place of what it was."""

BUILT_IN = ("builtins", "collections")

ARRAYS = (np.ndarray, bytearray, array, memoryview)

WRAPPER = {"function", "__wrapped__"}
"""Attributes of what wraps a function that are not set by users."""


class Missing:
    """Stands for what is not there."""


class Reach:
    """What `function`, called with `arguments`, can come upon by names in the user's code.

    `cells` are closed-over variables by name; `namespaces` are what else is read: a label, names,
    and what gives their values; `lacking` are names that would hide what is read, where they are
    not; `containers` are lists and dicts, `arrays` what holds numbers; `seen` are all objects by
    identity. `effects` are things that the code may change though it never reads them, and `lines`
    says where in the code names stand.
    """

    def __init__(self, function: Callable[..., Any], arguments: Iterable[Any]) -> None:
        self._body = code_of(function)
        self._attributes: set[str] = set()
        self._methods: set[str] = set()
        self._changed: set[str] = set()
        self._appended: set[str] = set()
        self._asked: set[str] = set()
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
        sets = (self._attributes, self._methods, self._changed, self._appended, self._asked)
        return sum(map(len, sets))

    def _begin(self) -> None:
        self.seen: dict[int, Any] = {}
        self.cells: dict[str, CellType] = {}
        self.namespaces: list[tuple[str, tuple[str, ...], Read]] = []
        self.lacking: list[tuple[str, tuple[str, ...], Mapping[str, Any]]] = []
        self.containers: list[tuple[str, tuple[str, ...], Read]] = []
        self.arrays: list[tuple[str, Any]] = []
        self.effects: list[tuple[str, tuple[str, ...], Read]] = []
        self.modules: list[Module] = []
        self.optimizers: list[Optimizer] = []
        self._globals: dict[int, tuple[dict[str, Any], set[str]]] = {}
        self._classes: dict[type, set[str]] = {}
        self._called: set[tuple[type, int]] = set()
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
        if is_foreign(function):
            return
        code = function.__code__
        if code is not self._body:
            parts = PARTS if function.__kwdefaults__ else PARTS[:2]
            read = Attributes(function, parts)
            self.namespaces.append((f"{label or function.__name__}.", parts, read))
        names = names_in(code, code is self._body)
        for name, line in names.lines.items():
            self.lines.setdefault(name, line)
        self._attributes |= names.attributes
        self._methods |= names.methods
        self._appended |= names.appended
        self._asked |= names.asked
        if function.__name__ not in CONSTRUCTORS:  # they change what is new
            self._changed |= names.changed_attributes
        for name, cell in zip(code.co_freevars, function.__closure__ or (), strict=True):
            self._cell(name, cell, function, depth)
        space = function.__globals__
        listed = self._globals.setdefault(id(space), (space, set()))[1]
        of_module = names.globals & space.keys()
        for name in (names.variables | names.changed) & of_module:
            listed.add(name)
            self._visit(space[name], name, depth)
        self._to_append += [(each, space[each]) for each in names.appended & of_module]
        self._absent(space, "", names.changed & names.globals)
        for name, each in defaults_of(function):
            self._visit(each, name, depth)
        self._visit(function.__dict__.get("__wrapped__"), label, depth)
        self._attributes_in(function.__dict__, f"{label or function.__name__}.", depth)

    def _cell(self, name: str, cell: CellType, function: FunctionType, depth: int) -> None:
        names = names_in(function.__code__, function.__code__ is self._body)
        if name in names.appended and name not in names.variables:
            self._to_append += [(name, each) for each in contents(cell)]
        if name in names.changed and not contents(cell):
            self.effects.append(("", (name,), Other(lambda: contents(cell) or [Missing])))
        if name not in names.variables | names.changed or not contents(cell):
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
            self._class_attributes(kind, kind.__name__, depth)
            self._methods_of(kind, depth, CALLED)
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
        if type(value).__module__ not in BUILT_IN:
            self._object(value, label, depth)
        if len(value) > LARGEST:
            return
        if not isinstance(value, (tuple, frozenset)):
            read = Elements(value)
            if self._only_changed:
                self.effects.append((f"{label}: ", (), read))
            else:
                if isinstance(value, dict):  # a key may stand where another stood
                    self.containers.append((f"{label}: key ", (), Keys(value)))
                keys = value if isinstance(value, dict) else range(len(value))
                self.containers.append((label, tuple([f"[{each!r:.40}]" for each in keys]), read))
        items = value.items() if isinstance(value, dict) else enumerate(value)
        for key, each in items:
            self._visit(each, f"{label}[{key!r}]", depth)

    def _array(self, value: Any, label: str, depth: int) -> None:
        self.arrays.append((label, value))
        if type(value) not in ARRAYS:
            self._object(value, label, depth)
        if isinstance(value, np.ndarray) and value.dtype.hasobject and value.size <= LARGEST:
            for each in value.flat:
                self._visit(each, label, depth)

    def _python_module(self, value: ModuleType, label: str, depth: int) -> None:
        if is_library(value.__name__):
            return
        space = vars(value)
        names = (self._attributes | self._methods) & space.keys()
        if is_installed(value.__name__):
            names = {each for each in names if is_plain(space[each])}
        self._read(space, f"{label}.", names)
        self._absent(space, f"{label}.", self._changed)
        for name in sorted(names):
            self._visit(space[name], f"{label}.{name}", depth)

    def _class(self, value: type, label: str, depth: int) -> None:
        self._class_attributes(value, label, depth)
        if not is_installed(value.__module__):
            self._methods_of(value, depth, CALLED | CONSTRUCTORS)
        if not is_library(type(value).__module__):
            self._class_attributes(type(value), type(value).__name__, depth)
            self._methods_of(type(value), depth, CALLED)

    def _class_attributes(self, value: type, label: str, depth: int) -> set[str]:
        """Read what the class has of the names; gives which these are."""
        if value in self._classes:
            return self._classes[value]
        found = self._classes[value] = set()
        named = self._attributes | self._methods | self._changed
        for kind in reversed(value.__mro__):
            space = vars(kind)
            own = not is_library(kind.__module__)
            names = (named | CALLED if own else named) & space.keys()
            if own:
                self._read(space, f"{label}.", names)
                self._lack(space, f"{label}.", found | self._asked)
                self._absent(space, f"{label}.", self._changed)
                appended = self._appended & space.keys()
                self._to_append += [(f"{label}.{n}", space[n]) for n in appended]
                for name in sorted(names):
                    if not issubclass(type(space[name]), DESCRIPTORS):
                        self._visit(space[name], f"{label}.{name}", depth)
            found |= {each for each in names if type(space[each]) is not cached_property}
        return found

    def _object(self, value: Any, label: str, depth: int) -> None:
        kind, space = type(value), dict_of(value)
        label = f"{label or kind.__name__}."
        if space is not None:
            self._visit(space.get("__wrapped__"), label[:-1], depth)
        if is_foreign(kind):
            if space is not None and "__wrapped__" in space:
                self._attributes_in(space, label, depth)
            return
        found = self._class_attributes(kind, kind.__name__, depth)
        self._methods_of(kind, depth, CALLED)
        if space is not None:
            if vars(object)["__getattribute__"] is kind.__getattribute__:
                kept = ("__class__", "__dict__")
                self.namespaces.append((label, kept, Attributes(value, kept)))
            self._attributes_in(space, label, depth, found)
        self._slots(value, label, self._attributes | self._methods | self._changed)

    def _attributes_in(
        self, space: dict[str, Any], label: str, depth: int, found: Iterable[str] = ()
    ) -> None:
        """Read the attributes in `space`, and see that it hides none of those `found` beyond."""
        named = self._attributes | self._methods | self._changed
        names = named & space.keys()
        if "__wrapped__" in space:
            names = {each for each in names - WRAPPER if not each.startswith("_")}
        self._read(space, label, names)
        self._lack(space, label, named & {*found, *self._asked})
        self._absent(space, label, self._changed)
        self._to_append += [(label + n, space[n]) for n in self._appended & space.keys()]
        for name in sorted(names):
            self._visit(space[name], f"{label}{name}", depth)

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
            self.namespaces.append((label, names, Attributes(value, names)))
            for name in names:
                self._visit(held[name], f"{label}{name}", 1)
        unset = tuple(sorted((listed & self._asked) - set(names)))
        if unset:
            self.namespaces.append((label, unset, Other(partial(_slots_in, value, unset))))

    def _methods_of(self, value: type, depth: int, always: set[str]) -> None:
        if (value, len(always)) in self._called:
            return
        self._called.add((value, len(always)))
        for kind in value.__mro__:
            if not is_library(kind.__module__):
                for name in (self._methods | self._attributes | always) & vars(kind).keys():
                    for each in functions_in(vars(kind)[name]):
                        self._visit(each, name, depth)

    # ---- what is read and what may be changed

    def _read(self, space: Any, label: str, names: Iterable[str]) -> None:
        listed = tuple(sorted(names))
        if listed:
            self.namespaces.append((label, listed, Names(space, listed)))

    def _lack(self, space: Mapping[str, Any], label: str, names: set[str]) -> None:
        lacking = tuple(sorted(names - space.keys()))
        if lacking:
            self.lacking.append((label, lacking, space))

    def _absent(self, space: Any, label: str, changed: set[str]) -> None:
        """Note names that the code may bind in `space`, where they are not there yet."""
        names = tuple(sorted(changed - space.keys()))
        if names:
            self.effects.append(
                (label, names, Other(lambda: [space.get(each, Missing) for each in names]))
            )


def _slots_in(value: Any, names: Iterable[str]) -> list[Any]:
    return [own_attribute(value, each, Missing) for each in names]


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
    (ARRAYS, Reach._array),
    (ModuleType, Reach._python_module),
    (type, Reach._class),
    (object, Reach._object),
)
