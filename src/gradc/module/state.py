"""Saving and loading what a module holds."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from ..tracer.errors import GradcError, ShapeError, located
from ..tracer.ir import Shape
from ..tracer.locks import WRITING
from ..tracer.tensor import Tensor
from ..tracer.value import at_one_moment, from_storage_public
from .tree import find_modules, walk

if TYPE_CHECKING:
    from .module import Module


class StateError(GradcError, KeyError):
    """Names that a state lacks, or that a module lacks."""

    def __str__(self) -> str:
        return str(self.args[0])


def tensors_of(module: Module, prefix: str = "") -> Iterator[tuple[str, Tensor]]:
    """The parameters and buffers of `module` and of all within, with their names."""
    for name, found in walk(module, prefix, recursive=True):
        if isinstance(found, Tensor):
            yield name, found


def saved(module: Module, into: dict[str, Any], prefix: str, keep_var: bool) -> dict[str, Any]:
    """The elements of all tensors as arrays, by name; with `keep_var` the tensors themselves."""
    found = dict(tensors_of(module, prefix.rstrip(".")))
    arrays = found if keep_var else dict(zip(found, arrays_of([*found.values()]), strict=True))
    into.update(arrays)
    return into


def arrays_of(tensors: Sequence[Tensor]) -> list[np.ndarray[Any, Any]]:
    """Copies of the elements of `tensors`, all of one moment, also while a thread trains them."""
    return [
        from_storage_public(buffer.array(kind.dtype, kind.shape), kind.dtype).copy()
        for buffer, kind in at_one_moment(tensors)
    ]


def load(module: Module, given: Mapping[str, Any], strict: bool) -> None:
    """Set the tensors whose names are in `given`; with `strict` that must be all of both."""
    tensors = dict(tensors_of(module))
    given = _translated(module, given)
    missing = [name for name in tensors if name not in given]
    unexpected = [name for name in given if name not in tensors]
    if strict and (missing or unexpected):
        told = [f"missing {', '.join(missing)}"] if missing else []
        told += [f"unexpected {', '.join(map(str, unexpected))}"] if unexpected else []
        raise StateError(located(f"load_state_dict: {'; '.join(told)}"))
    _set({name: (tensors[name], given[name]) for name in tensors if name in given})


def load_each(module: Module, function: Callable[[str, Tensor], Any]) -> None:
    """Set each tensor to what `function(name, tensor)` gives, where that is not None."""
    found = {name: (tensor, function(name, tensor)) for name, tensor in tensors_of(module)}
    _set({name: pair for name, pair in found.items() if pair[1] is not None})


def _translated(module: Module, given: Mapping[str, Any]) -> Mapping[str, Any]:
    """`given` with what modules lay out otherwise than MegEngine, or did once, as they do now."""
    for path, each in find_modules(module):
        begin = f"{path}." if path else ""
        own = {name[len(begin) :]: name for name in given if str(name).startswith(begin)}
        before = {name: given[full] for name, full in own.items()}
        after = each.translated_state(before)
        if after is not before:
            rest = {name: value for name, value in given.items() if name not in own.values()}
            given = {**rest, **{begin + name: value for name, value in after.items()}}
    return given


def array_of(value: Any) -> np.ndarray[Any, Any]:
    """What a state holds, as an array."""
    return np.asarray(value.numpy() if isinstance(value, Tensor) else value)


def cut(name: str, flat: Any, parts: Sequence[tuple[str, Shape]]) -> dict[str, Any]:
    """The arrays of `parts`, their names and shapes, which follow one another in `flat`."""
    elements = array_of(flat).ravel()
    sizes = [prod(shape) for _, shape in parts]
    if sum(sizes) != elements.size:
        expected = f"expected {name} with {sum(sizes)} elements, found {elements.size}"
        raise ShapeError(located(f"load_state_dict: {expected}"))
    pieces = np.split(elements, np.cumsum(sizes)[:-1])
    return {part: piece.reshape(shape) for (part, shape), piece in zip(parts, pieces, strict=True)}


def _set(values: dict[str, tuple[Tensor, Any]]) -> None:
    """Set tensors, in their own types, once all values are known to fit."""
    arrays = {name: array_of(value) for name, (_, value) in values.items()}
    wrong = [
        f"{name} is {list(arrays[name].shape)} and not {list(tensor.shape)}"
        for name, (tensor, _) in values.items()
        if arrays[name].shape != tensor.shape
    ]
    if wrong:
        raise ShapeError(located(f"load_state_dict: wrong shapes: {'; '.join(wrong)}"))
    made = {name: Tensor(arrays[name], tensor.dtype) for name, (tensor, _) in values.items()}
    with WRITING:
        for name, (tensor, _) in values.items():
            tensor.rebind(made[name].to(tensor.device))
