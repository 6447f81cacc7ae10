"""The base of all modules."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Iterator, Mapping
from reprlib import recursive_repr
from typing import Any, TypeVar

from ..tracer.errors import located
from ..tracer.tensor import Parameter, Tensor
from . import state
from .tree import OWN, Changes, members, walk

M = TypeVar("M", bound="Module")
Hook = Callable[..., Any]


class HookHandle:
    """A hook that was registered; `remove` takes it back."""

    def __init__(self, hooks: dict[HookHandle, Hook]) -> None:
        self._hooks = hooks

    def remove(self) -> None:
        """Never call the hook again; does nothing the second time."""
        Changes.count += 1
        self._hooks.pop(self, None)


class Module:
    """A part of a network: `forward` says what it computes, attributes hold what it is made of.

    Attributes that are modules, parameters or tensors are found, also inside lists, tuples and
    dicts; they are gone through in alphabetical order of the attributes' names, each object once.
    Tensors that are no parameters are buffers. `training` is for the modules that compute something
    else in evaluation.
    """

    training: bool
    name: str | None

    def __init__(self, name: str | None = None, **unknown: Any) -> None:
        if unknown:
            _refuse(type(self), unknown)
        self.name = name
        self.training = True
        self._forward_pre_hooks: dict[HookHandle, Hook] = {}
        self._forward_hooks: dict[HookHandle, Hook] = {}

    def __setattr__(self, name: str, value: Any) -> None:
        Changes.count += 1
        object.__setattr__(self, name, value)

    def __delattr__(self, name: str) -> None:
        Changes.count += 1
        object.__delattr__(self, name)

    def __getattr__(self, name: str) -> Any:
        if name in (*OWN, "training"):
            told = f"{type(self).__name__}: call super().__init__() before all else in __init__"
            raise AttributeError(located(told))
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    # ---- calling

    def _undefined(self, *inputs: Any, **kwargs: Any) -> Any:
        raise NotImplementedError(located(f"{type(self).__name__} does not define forward"))

    forward: Callable[..., Any] = _undefined

    def __call__(self, *inputs: Any, **kwargs: Any) -> Any:
        """What `forward` gives, as the hooks see and change it."""
        for hook in list(self._forward_pre_hooks.values()):
            changed = hook(self, inputs)
            if changed is not None:
                inputs = changed if isinstance(changed, tuple) else (changed,)
        outputs = self.forward(*inputs, **kwargs)
        for hook in list(self._forward_hooks.values()):
            changed = hook(self, inputs, outputs)
            outputs = outputs if changed is None else changed
        return outputs

    def register_forward_pre_hook(self, hook: Hook) -> HookHandle:
        """Call `hook(module, inputs)` before `forward`; what it gives takes the inputs' place."""
        return _registered(self._forward_pre_hooks, hook)

    def register_forward_hook(self, hook: Hook) -> HookHandle:
        """Call `hook(module, inputs, outputs)` after `forward`; what it gives is the result."""
        return _registered(self._forward_hooks, hook)

    # ---- what the module is made of

    def named_parameters(
        self, prefix: str | None = None, recursive: bool = True, **kwargs: Any
    ) -> Iterator[tuple[str, Parameter]]:
        """The parameters, with names such as "layers.0.weight"."""
        _check_ignored("named_parameters", kwargs)
        for name, found in walk(self, prefix or "", recursive):
            if isinstance(found, Parameter):
                yield name, found

    def parameters(self, recursive: bool = True, **kwargs: Any) -> Iterator[Parameter]:
        """The parameters of this module and, if `recursive`, of those in it."""
        _check_ignored("parameters", kwargs)
        for _, found in self.named_parameters(recursive=recursive):
            yield found

    def named_buffers(
        self, prefix: str | None = None, recursive: bool = True, **kwargs: Any
    ) -> Iterator[tuple[str, Tensor]]:
        """The tensors that are no parameters, with their names."""
        _check_ignored("named_buffers", kwargs)
        for name, found in walk(self, prefix or "", recursive):
            if isinstance(found, Tensor) and not isinstance(found, Parameter):
                yield name, found

    def buffers(self, recursive: bool = True, **kwargs: Any) -> Iterator[Tensor]:
        """The tensors of this module, and of those in it, that are no parameters."""
        _check_ignored("buffers", kwargs)
        for _, found in self.named_buffers(recursive=recursive):
            yield found

    def named_children(self) -> Iterator[tuple[str, Module]]:
        """The modules that stand directly in this one, with their names."""
        for name, found in walk(self, "", recursive=False):
            if isinstance(found, Module):
                yield name, found

    def children(self) -> Iterator[Module]:
        """The modules that stand directly in this one."""
        for _, found in self.named_children():
            yield found

    def named_modules(self, prefix: str | None = None) -> Iterator[tuple[str, Module]]:
        """This module and all within, with their names."""
        yield prefix or "", self
        for name, found in walk(self, prefix or "", recursive=True):
            if isinstance(found, Module):
                yield name, found

    def modules(self) -> Iterator[Module]:
        """This module and all within."""
        for _, found in self.named_modules():
            yield found

    # ---- changing it as a whole

    def apply(self, fn: Callable[[Module], Any]) -> None:
        """Call `fn` with this module and all within."""
        if not callable(fn):
            raise TypeError(located(f"apply: expected a function of a module, found {fn!r}"))
        for each in self.modules():
            fn(each)

    def train(self, mode: bool = True, recursive: bool = True) -> None:
        """Set `training` of this module and, if `recursive`, of all within."""
        for each in self.modules() if recursive else (self,):
            each.training = mode

    def eval(self) -> None:
        """Compute as in evaluation: `training` becomes False everywhere."""
        self.train(False)

    def zero_grad(self) -> None:
        """Set `.grad` of all parameters to None; deprecated, see `Optimizer.clear_grad`."""
        message = "Module.zero_grad is deprecated: use the optimizer's clear_grad"
        warnings.warn(message, DeprecationWarning, stacklevel=2)
        for each in self.parameters():
            each.grad = None

    # ---- saving and loading

    def state_dict(
        self, rst: dict[str, Any] | None = None, prefix: str = "", keep_var: bool = False
    ) -> dict[str, Any]:
        """The elements of all parameters and buffers as arrays, by name.

        With `keep_var` the tensors themselves. `rst` is a dict to put them into.
        """
        return state.saved(self, {} if rst is None else rst, prefix, keep_var)

    def load_state_dict(
        self,
        state_dict: Mapping[str, Any] | Callable[[str, Tensor], Any],
        strict: bool = True,
    ) -> None:
        """Set parameters and buffers to what `state_dict` gave; all of them, or none on an error.

        It may be a function too: `function(name, tensor)` gives an array, or None to keep what is
        there. Without `strict`, names that are missing or unexpected don't matter. A dict may be of
        MegEngine: where a module lays out its parameters otherwise, it says how they are read.
        """
        if callable(state_dict):
            state.load_each(self, state_dict)
        elif isinstance(state_dict, Mapping):
            state.load(self, state_dict, strict)
        else:
            expected = "expected a dict or a function of name and tensor"
            raise TypeError(located(f"load_state_dict: {expected}, found {state_dict!r:.60}"))

    def translated_state(self, given: dict[str, Any]) -> dict[str, Any]:
        """What a state holds for this module and those within, as they name and lay it out.

        For modules that can read the layout of another library, or one that they had once: what
        they return takes the place of `given`, whose names begin behind that of this module.
        """
        return given

    # ---- for people

    def _module_info_string(self) -> str:
        """What stands in parentheses after the name of the class."""
        return ""

    @recursive_repr("...")
    def __repr__(self) -> str:
        lines = [
            f"  ({name}): " + repr(found).replace("\n", "\n  ")
            for name, found in members(self, alphabetical=False)
            if isinstance(found, Module)
        ]
        inside = self._module_info_string()
        if lines:
            inside = "\n".join([inside, *lines, ""])
        return f"{type(self).__name__}({inside})"


def _refuse(kind: type[Module], unknown: dict[str, Any]) -> None:
    """Say which arguments `kind` has, where one was given that it has not."""
    parameters = inspect.signature(kind.__init__).parameters
    own = [
        str(each).split(":")[0] for each in list(parameters)[1:] if each not in ("args", "kwargs")
    ]
    bad = ", ".join(unknown)
    found = f"got an unexpected keyword argument {bad}"
    raise TypeError(located(f"{kind.__name__}: {found}; it is {kind.__name__}({', '.join(own)})"))


def _registered(hooks: dict[HookHandle, Hook], hook: Hook) -> HookHandle:
    if not callable(hook):
        raise TypeError(located(f"expected a function as hook, found {hook!r}"))
    handle = HookHandle(hooks)
    Changes.count += 1
    hooks[handle] = hook
    return handle


def _check_ignored(name: str, kwargs: dict[str, Any]) -> None:
    """Warn of `requires_grad`, which means nothing here; refuse all else."""
    if unknown := sorted(kwargs.keys() - {"requires_grad"}):
        raise TypeError(f"{name}() got an unexpected keyword argument {unknown[0]!r}")
    if kwargs:
        message = f"{name}: requires_grad is ignored: a GradManager says what gradients are for"
        warnings.warn(message, stacklevel=3)
