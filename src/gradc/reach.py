"""What can be reached from a function by names in its code: variables, attributes, modules."""

from __future__ import annotations

import builtins
import sys
from array import array
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from contextvars import ContextVar
from enum import Enum
from functools import cached_property, lru_cache, partial
from threading import local
from types import (
    CellType,
    FunctionType,
    GetSetDescriptorType,
    MemberDescriptorType,
    MethodType,
    ModuleType,
)
from typing import Any
from weakref import ProxyTypes, ref

import numpy as np

from . import holders
from .codes import MATCHED, names_in
from .codes import Names as Naming
from .lookup import code_of, contents, defaults_of, dict_of, is_generated, is_special, methods_in
from .module import Module
from .module.tree import OWN
from .optimizer import LRScheduler, Optimizer
from .origin import is_foreign, is_installed, is_library
from .reads import Attributes, Elements, Keys, Members, Names, Other, Read
from .tracer.grad_manager import GradManager
from .tracer.layout import ABSENT, own_attribute
from .tracer.structure import is_plain
from .tracer.tensor import Tensor

LARGEST = 1_000
"""Containers with more elements are not gone through."""

DEEPEST = 6
ROUNDS = 4

CALLED = {"forward", "backward"}
"""Methods that are called without being named, beside those that Python itself calls."""

CONSTRUCTORS = {"__init__", "__post_init__"}
"""Methods that change what is new."""

DESCRIPTORS = (property, classmethod, staticmethod, FunctionType, MemberDescriptorType)

CODE_OF_TEXTS = {"eval", "exec"}

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
    says where in the code names stand. `unseen` says what the code does that cannot be looked at.
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
                self.visit(each, "", 0)
            self._visit_appended()
            if self._known() == known:
                break
        for space, names in self._globals.values():
            self.read(space, "", names)
        for space, names in self._missing.values():
            self._lack(space, "", names)

    def named(self) -> set[str]:
        """The attributes and methods that the code names which was found so far."""
        return self._attributes | self._methods

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
        self.unseen: str | None = None
        self._globals: dict[int, tuple[dict[str, Any], set[str]]] = {}
        self._missing: dict[int, tuple[dict[str, Any], set[str]]] = {}
        self._classes: dict[type, set[str]] = {}
        self._called: set[tuple[type, bool]] = set()
        self._to_append: list[tuple[str, Any]] = []
        self._only_changed = False

    def visit(self, value: Any, label: str, depth: int) -> None:
        """Go through what is found under `label`, so many steps from the function."""
        plain = is_plain(value) and not issubclass(type(value), Enum)
        if plain or id(value) in self.seen or depth > DEEPEST:
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
            self.visit(value, label, 1)

    # ---- functions

    def _function(self, function: FunctionType, label: str, depth: int) -> None:
        if is_foreign(function):
            return
        if is_generated(function):
            for each in [each for cell in function.__closure__ or () for each in contents(cell)]:
                if type(each) is FunctionType:  # gives the default of a field
                    self.visit(each, label, depth)
            return
        code = function.__code__
        self._parts_of(function, label)
        names = names_in(code, code is self._body)
        for name, line in names.lines.items():
            self.lines.setdefault(name, line)
        self._attributes |= names.attributes
        self._methods |= names.methods
        self._appended |= names.appended
        self._asked |= names.asked
        if function.__name__ not in CONSTRUCTORS:
            self._changed |= names.changed_attributes
        for name, cell in zip(code.co_freevars, function.__closure__ or (), strict=True):
            self._cell(name, cell, function, depth)
        self._variables_of(function, names, depth)
        for place in sorted(names.imported):
            self._imported(*place, function.__globals__, depth)
        for name, each in defaults_of(function):
            self.visit(each, name, depth)
        self.visit(function.__dict__.get("__wrapped__"), label, depth)
        self._attributes_in(function.__dict__, f"{label or function.__name__}.", depth)

    def _parts_of(self, function: FunctionType, label: str) -> None:
        """Read what the function is made of; defaults that are added later stand for nothing."""
        parts = [name for name in PARTS if getattr(function, name)]
        named = f"{label or function.__name__}."
        self.namespaces.append((named, tuple(parts), Attributes(function, parts)))
        self.read(function.__kwdefaults__, named, function.__kwdefaults__ or ())

    def _variables_of(self, function: FunctionType, names: Naming, depth: int) -> None:
        """Read the variables of its module that it names, and the builtins that these may hide."""
        space = function.__globals__
        listed = self._globals.setdefault(id(space), (space, set()))[1]
        of_module = names.globals & space.keys()
        for name in (names.variables | names.changed) & of_module:
            listed.add(name)
            self.visit(space[name], name, depth)
        self._to_append += [(each, space[each]) for each in names.appended & of_module]
        self._absent(space, "", names.changed & names.globals)
        beyond = (names.globals & names.variables) - of_module
        self._missing.setdefault(id(space), (space, set()))[1].update(beyond)
        built_in = vars(builtins)
        self._globals.setdefault(id(built_in), (built_in, set()))[1].update(
            beyond & built_in.keys()
        )
        if beyond & CODE_OF_TEXTS:
            self.unseen = "runs code that is a text (eval or exec)"

    def _imported(self, level: int, name: str, space: dict[str, Any], depth: int) -> None:
        """Visit a module that is imported inside, and all around it."""
        if level:
            package = str(space.get("__package__") or "").split(".")
            name = ".".join([*package[: len(package) - level + 1], *filter(None, [name])])
        parts = name.split(".")
        for count in range(1, len(parts) + 1):
            whole = ".".join(parts[:count])
            found = sys.modules.get(whole)
            if found is not None and not is_library(whole):
                self.read(sys.modules, "", [whole])
            self.visit(found, whole, depth)

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
        self.visit(cell.cell_contents, name, depth)

    def _method(self, method: MethodType, label: str, depth: int) -> None:
        self.visit(method.__self__, label, depth)
        self.visit(method.__func__, label, depth)

    def _partial(self, value: partial[Any], label: str, depth: int) -> None:
        for each in (value.func, value.args, value.keywords):
            self.visit(each, label, depth)

    # ---- what gradc knows

    def _module(self, module: Module, label: str, depth: int) -> None:
        self.modules.append(module)
        around = [each for each in module.modules() if each is module or id(each) not in self.seen]
        self.seen.update((id(each), each) for each in around)
        for each in around:
            kind = type(each)
            self._class_attributes(kind, kind.__name__, depth)
            self._methods_of(kind, depth)
            self._members_of(each)
            for name, value in vars(each).items():
                if name in OWN:
                    for hook in value.values():
                        self.visit(hook, f"a hook of {kind.__name__}", depth)
                elif name in self._attributes or not isinstance(value, (list, tuple, dict)):
                    self.visit(value, f"{kind.__name__}.{name}", depth)

    def _members_of(self, module: Module) -> None:
        """Read what the code names of the attributes: they may be set past the module's own way."""
        space, kind = vars(module), type(module)
        by_gradc: Any = _named_by_gradc
        named = self._attributes | self._methods | by_gradc(kind)
        held = {name for name, each in space.items() if isinstance(each, (Tensor, Module))}
        names = sorted(space.keys() & named | held)
        if names:
            read = Members(space, names)
            listed = (*names, "the number of attributes")
            self.namespaces.append((f"{kind.__name__}.", listed, read))

    def _manager(self, manager: GradManager, label: str, depth: int) -> None:
        for tensor in manager.attached_tensors():
            for each in manager.callbacks_of(tensor) or ():
                self.visit(each, f"a callback of {label}", depth)
        self.object_(manager, label, depth)

    def _optimizer(self, optimizer: Optimizer, label: str, depth: int) -> None:
        self.optimizers.append(optimizer)
        self.object_(optimizer, label, depth)

    def _schedule(self, schedule: LRScheduler, label: str, depth: int) -> None:
        self.visit(schedule.optimizer, label, depth)
        self.object_(schedule, label, depth)

    # ---- other objects

    def _container(self, value: Any, label: str, depth: int) -> None:
        if type(value).__module__ not in BUILT_IN:
            self.object_(value, label, depth)
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
            self.visit(each, f"{label}[{key!r}]", depth)

    def _array(self, value: Any, label: str, depth: int) -> None:
        self.arrays.append((label, value))
        if type(value) not in ARRAYS:
            self.object_(value, label, depth)
        if isinstance(value, np.ndarray) and value.dtype.hasobject and value.size <= LARGEST:
            for each in value.flat:
                self.visit(each, label, depth)

    def _python_module(self, value: ModuleType, label: str, depth: int) -> None:
        space = vars(value)
        named = (self._attributes | self._methods) & space.keys()
        names = named
        if is_library(value.__name__):
            names = set()
        elif is_installed(value.__name__):
            names = {each for each in names if is_plain(space[each])}
        else:
            self.visit(space.get("__getattr__"), f"{label}.__getattr__", depth)
            self._lack(space, f"{label}.", self._asked)
            self._absent(space, f"{label}.", self._changed)
        self.read(space, f"{label}.", named)
        for name in sorted(names):
            self.visit(space[name], f"{label}.{name}", depth)

    def _class(self, value: type, label: str, depth: int) -> None:
        self._class_attributes(value, label, depth)
        if MATCHED in self._attributes:
            self._attributes |= {*own_attribute(value, MATCHED, ())}
        if not is_installed(value.__module__):
            self._methods_of(value, depth, constructed=True)
        if not is_library(type(value).__module__):
            self._class_attributes(type(value), type(value).__name__, depth)
            self._methods_of(type(value), depth)
        if issubclass(value, Enum):
            for each in value.__members__.values():
                self.visit(each, f"{label}.{each.name}", depth)

    def _class_attributes(self, value: type, label: str, depth: int) -> set[str]:
        """Read what the class has of the names; gives which these are."""
        if value in self._classes:
            return self._classes[value]
        found = self._classes[value] = set()
        named = self._attributes | self._methods | self._changed
        if (
            not is_library(value.__module__)
            and type(value).__getattribute__ is type.__getattribute__
        ):
            self.namespaces.append((f"{label}.", ("__mro__",), Attributes(value, ("__mro__",))))
        for kind in reversed(value.__mro__):
            space = vars(kind)
            own = not is_library(kind.__module__)
            names = named & space.keys()
            if own:
                names |= {n for n, each in space.items() if _is_called(n) and _is_method(each)}
                self.read(space, f"{label}.", names)
                self._lack(space, f"{label}.", found | self._asked)
                self._absent(space, f"{label}.", self._changed)
                appended = self._appended & space.keys()
                self._to_append += [(f"{label}.{n}", space[n]) for n in appended]
                for name in sorted(names):
                    if not issubclass(type(space[name]), DESCRIPTORS):
                        self.visit(space[name], f"{label}.{name}", depth)
            found |= {each for each in names if type(space[each]) is not cached_property}
        return found

    def object_(self, value: Any, label: str, depth: int) -> None:
        """Go through the attributes of an object that the code names."""
        kind, space = type(value), dict_of(value)
        label = f"{label or kind.__name__}."
        if space is not None:
            self.visit(space.get("__wrapped__"), label[:-1], depth)
        if is_foreign(kind):
            if space is not None and "__wrapped__" in space:
                self._attributes_in(space, label, depth)
            return
        found = self._class_attributes(kind, kind.__name__, depth)
        self._methods_of(kind, depth)
        if hasattr(kind, "__next__") and (
            is_library(kind.__module__) or is_installed(kind.__module__)
        ):
            return self.cannot_see(value, label[:-1], depth)
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
        self.read(space, label, names)
        self._lack(space, label, named & {*found, *self._asked})
        self._absent(space, label, self._changed)
        self._to_append += [(label + n, space[n]) for n in self._appended & space.keys()]
        for name in sorted(names):
            self.visit(space[name], f"{label}{name}", depth)

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
                self.visit(held[name], f"{label}{name}", 1)
        unset = tuple(sorted((listed & self._asked) - set(names)))
        if unset:
            self.namespaces.append((label, unset, Other(partial(_slots_in, value, unset))))

    def _methods_of(self, value: type, depth: int, constructed: bool = False) -> None:
        if (value, constructed) in self._called:
            return
        self._called.add((value, constructed))
        named = self._methods | self._attributes
        for kind in value.__mro__:
            if not is_library(kind.__module__):
                for name, functions in methods_in(kind).items():
                    called = _is_called(name) and (constructed or name not in CONSTRUCTORS)
                    for each in functions if called or name in named else ():
                        self.visit(each, name, depth)

    def cannot_see(self, value: Any, label: str, depth: int) -> None:
        """Note that `value`, which changes in ways of its own, is read."""
        kind = type(value).__name__
        self.unseen = f"reads {label or 'an argument'}, a {kind}, whose changes cannot be seen"

    # ---- what is read and what may be changed

    def read(self, space: Any, label: str, names: Iterable[str]) -> None:
        """Note that `names` are read in `space`."""
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


def _is_called(name: str) -> bool:
    return name in CALLED or is_special(name)


def _is_method(value: Any) -> bool:
    return issubclass(type(value), (FunctionType, classmethod, staticmethod, property))


@lru_cache(1_000)
def _named_by_gradc(kind: type[Module]) -> set[str]:
    """The attributes that the methods of gradc name which the class has: their code is not read."""
    found = set()
    for each in kind.__mro__:
        if issubclass(each, Module) and each is not Module and is_foreign(each):
            for name, functions in methods_in(each).items():
                for function in () if name in CONSTRUCTORS else functions:
                    found |= names_in(function.__code__).attributes
    return found


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
    (ref, holders.weak),
    (ProxyTypes, Reach.cannot_see),
    (ContextVar, holders.context_variable),
    (holders.VIEWS, holders.view),
    (local, holders.local_),
    (holders.WRAPPED, holders.wrapped),
    (holders.CACHED, holders.cached),
    (object, Reach.object_),
)
