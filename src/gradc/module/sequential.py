"""Modules one after the other."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..tracer.errors import located
from .module import Module


class Sequential(Module):
    """Calls its modules in order, each with what the one before gave.

    They are given one by one, and called "0", "1" and so on, or in one dict with their names.
    """

    def __init__(self, *modules: Module | dict[str, Module], **kwargs: Any) -> None:
        super().__init__(**kwargs)
        first = modules[0] if modules else None
        if len(modules) == 1 and isinstance(first, dict):
            named = dict(first)
        else:
            named = {str(place): each for place, each in enumerate(modules)}  # type: ignore[misc]  # checked below
        self._keys: list[str] = []
        for name, module in named.items():
            self._check(module)
            setattr(self, name, module)
            self._keys.append(name)

    def append(self, module: Module) -> Sequential:
        """Add `module` to the end; gives the sequence. Its name is the first free number."""
        self._check(module)
        name = next(str(n) for n in range(len(self._keys), 10**9) if not hasattr(self, str(n)))
        setattr(self, name, module)
        self._keys.append(name)
        return self

    def forward(self, x: Any) -> Any:
        """What the last module gives."""
        for module in self:
            x = module(x)
        return x

    def __iter__(self) -> Iterator[Module]:
        return iter([getattr(self, name) for name in self._keys])

    def __len__(self) -> int:
        return len(self._keys)

    def __getitem__(self, place: int | slice) -> Any:
        """One module by its place, or some as a Sequential with the same modules in it."""
        if isinstance(place, slice):
            return Sequential({name: getattr(self, name) for name in self._keys[place]})
        return getattr(self, self._keys[place])

    def __setitem__(self, place: int, module: Module) -> None:
        self._check(module)
        setattr(self, self._keys[place], module)

    def __delitem__(self, place: int | slice) -> None:
        names = self._keys[place] if isinstance(place, slice) else [self._keys[place]]
        for name in names:
            delattr(self, name)
            self._keys.remove(name)

    @staticmethod
    def _check(module: Any) -> None:
        if not isinstance(module, Module):
            raise TypeError(located(f"expected a Module in a Sequential, found {module!r}"))
