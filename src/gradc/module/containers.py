"""Lists and dicts of modules. Plain lists and dicts in attributes are gone through as well."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from ..tracer.errors import located
from .module import Module


class ModuleList(Module):
    """Modules in a list, which are called "0", "1" and so on."""

    def __init__(self, modules: Iterable[Module] = (), **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._length = 0
        self.extend(modules)

    def append(self, module: Module) -> ModuleList:
        """Add `module` to the end; gives the list."""
        setattr(self, str(self._length), _checked(module))
        self._length += 1
        return self

    def extend(self, modules: Iterable[Module]) -> ModuleList:
        """Add all of `modules` to the end; gives the list."""
        for each in modules:
            self.append(each)
        return self

    def insert(self, place: int, module: Module) -> None:
        """Put `module` before that at `place`."""
        listed = list(self)
        listed.insert(place, _checked(module))
        self._renew(listed)

    def pop(self, place: int = -1) -> Module:
        """Take the module at `place` out of the list."""
        found: Module = self[place]
        del self[place]
        return found

    def __add__(self, other: Iterable[Module]) -> ModuleList:
        return ModuleList([*self, *other])

    def __iadd__(self, other: Iterable[Module]) -> ModuleList:
        return self.extend(other)

    def _renew(self, modules: list[Module]) -> None:
        for place in range(self._length):
            delattr(self, str(place))
        self._length = 0
        self.extend(modules)

    def __iter__(self) -> Iterator[Module]:
        return iter([getattr(self, str(place)) for place in range(self._length)])

    def __len__(self) -> int:
        return self._length

    def __getitem__(self, place: int | slice) -> Any:
        """One module by its place, or some as a ModuleList with the same modules in it."""
        found = list(self)[place]
        return ModuleList(found) if isinstance(found, list) else found

    def __setitem__(self, place: int, module: Module) -> None:
        setattr(self, str(range(self._length)[place]), _checked(module))

    def __delitem__(self, place: int | slice) -> None:
        listed = list(self)
        del listed[place]
        self._renew(listed)


class ModuleDict(Module):
    """Modules in a dict, whose keys are their names."""

    def __init__(self, modules: Mapping[str, Module] | None = None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._keys: list[str] = []
        self.update(modules or {})

    def update(self, modules: Mapping[str, Module]) -> None:
        """Add all of `modules`, in the place of those with the same keys."""
        for key, module in modules.items():
            self[key] = module

    def pop(self, key: str) -> Module:
        """Take the module of the name `key` out of the dict."""
        found = self[key]
        del self[key]
        return found

    def clear(self) -> None:
        """Take all modules out."""
        for key in self.keys():
            del self[key]

    def keys(self) -> list[str]:
        """The names, in the order in which they came."""
        return list(self._keys)

    def values(self) -> list[Module]:
        """The modules, in the order in which they came."""
        return [getattr(self, key) for key in self._keys]

    def items(self) -> list[tuple[str, Module]]:
        """Names and modules, in the order in which they came."""
        return list(zip(self._keys, self.values(), strict=True))

    def __getitem__(self, key: str) -> Module:
        self._find(key)
        found: Module = getattr(self, key)
        return found

    def __setitem__(self, key: str, module: Module) -> None:
        if not isinstance(key, str):
            raise TypeError(located(f"expected a str as the key of a ModuleDict, found {key!r}"))
        if key not in self._keys and hasattr(self, key):
            raise KeyError(located(f"{key!r} is an attribute of every ModuleDict"))
        setattr(self, key, _checked(module))
        if key not in self._keys:
            self._keys.append(key)

    def __delitem__(self, key: str) -> None:
        self._find(key)
        self._keys.remove(key)
        delattr(self, key)

    def _find(self, key: str) -> None:
        if key not in self._keys:
            raise KeyError(key)

    def __contains__(self, key: object) -> bool:
        return key in self._keys

    def __iter__(self) -> Iterator[str]:
        return iter(self.keys())

    def __len__(self) -> int:
        return len(self._keys)


def _checked(module: Any) -> Module:
    if not isinstance(module, Module):
        raise TypeError(located(f"expected a Module, found {module!r}"))
    return module
