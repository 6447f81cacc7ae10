"""NumPy's functions of tensors, with NumPy's arguments; what is not here reads the values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from . import functional as F
from .numpy_ufuncs import delivered, refusal, unknown
from .tracer.composite import is_followed
from .tracer.tensor import Tensor

UNSET: Any = getattr(np, "_NoValue", None)


def _given(value: Any, default: Any) -> Any:
    return default if value is UNSET else value


def _name(function: Any) -> str:
    module = function.__module__.removeprefix("numpy").strip(".")
    return f"np.{module}.{function.__name__}" if module else f"np.{function.__name__}"


def _reduction(function: Callable[..., Any], typed: bool = True) -> Callable[..., Any]:
    """A reduction; `typed` ones have the type of the sum before `out`."""

    def reduce(
        name: str, a: Any, axis: Any, dtype: Any, out: Any, keepdims: Any, other: Any
    ) -> Any:
        if others := [key for key, value in other.items() if value is not UNSET]:
            raise refusal(name, f"with `{others[0]}`", "gradc.functional.where around x")
        x = a if dtype is None else F.astype(a, dtype)
        return delivered(name, function(x, axis, keepdims=bool(_given(keepdims, False))), out)

    def call(
        name: str, a: Any, axis: Any = None, dtype: Any = None, out: Any = None,
        keepdims: Any = UNSET, **other: Any,
    ) -> Any:  # fmt: skip
        return reduce(name, a, axis, dtype, out, keepdims, other)

    def untyped(
        name: str, a: Any, axis: Any = None, out: Any = None, keepdims: Any = UNSET, **other: Any
    ) -> Any:
        return reduce(name, a, axis, None, out, keepdims, other)

    return call if typed else untyped


def _spread(function: Callable[..., Any]) -> Callable[..., Any]:
    def call(
        name: str, a: Any, axis: Any = None, dtype: Any = None, out: Any = None, ddof: int = 0,
        keepdims: Any = UNSET, **other: Any,
    ) -> Any:  # fmt: skip
        made = _reduction(lambda x, along, keepdims: function(x, along, keepdims, ddof))
        return made(name, a, axis, dtype, out, keepdims, **other)

    return call


def _scan(function: Callable[..., Any]) -> Callable[..., Any]:
    def call(name: str, a: Any, axis: Any = None, dtype: Any = None, out: Any = None) -> Any:
        x = F.flatten(a) if axis is None else a
        x = x if dtype is None else F.astype(x, dtype)
        return delivered(name, function(x, 0 if axis is None else axis), out)

    return call


def _same(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function that takes what NumPy's takes, in the same order, under whatever names."""

    def call(name: str, *args: Any, out: Any = None, **options: Any) -> Any:
        return delivered(name, function(*args, **options), out)

    return call


# ---- functions whose arguments differ


def _concatenate(name: str, arrays: Any, axis: Any = 0, out: Any = None, **other: Any) -> Any:
    if other:
        raise refusal(name, f"with `{next(iter(other))}`", "x.astype(...)")
    parts = [F.flatten(each) for each in arrays] if axis is None else list(arrays)
    return delivered(name, F.concat(parts, 0 if axis is None else axis), out)


def _stack(name: str, arrays: Any, axis: int = 0, out: Any = None) -> Any:
    return delivered(name, F.stack(list(arrays), axis), out)


def _beside(axis: int) -> Callable[..., Any]:
    """vstack and hstack: along the first axis for vectors as rows, or the second."""

    def call(name: str, tup: Any) -> Any:
        flat = all(np.ndim(each) < 2 for each in tup)
        shape = (1, -1) if axis == 0 else (-1,)
        parts = [F.reshape(each, shape) if flat else each for each in tup]
        return F.concat(parts, 0 if flat else axis)

    return call


def _split(name: str, ary: Any, indices_or_sections: Any, axis: int = 0) -> Any:
    return list(F.split(ary, indices_or_sections, axis))


def _reshape(name: str, a: Any, shape: Any, order: str = "C") -> Any:
    if order != "C":
        raise refusal(name, f"with order={order!r}", "transpose() before reshape()")
    return F.reshape(a, shape)


def _clip(
    name: str, a: Any, a_min: Any = None, a_max: Any = None, out: Any = None, *,
    min: Any = None, max: Any = None,
) -> Any:  # fmt: skip
    lower, upper = (_given(each, None) for each in (a_min, a_max))
    lower, upper = min if lower is None else lower, max if upper is None else upper
    return delivered(name, F.clip(a, _given(lower, None), _given(upper, None)), out)


def _round(name: str, a: Any, decimals: int = 0, out: Any = None) -> Any:
    return delivered(name, a.__round__(decimals or None), out)


def _take(name: str, a: Any, indices: Any, axis: Any = None, out: Any = None) -> Any:
    places = indices if isinstance(indices, Tensor) else np.asarray(indices)
    x = F.flatten(a) if axis is None else a
    return delivered(name, F.take(x, 0 if axis is None else axis, places), out)


def _pad(
    name: str, array: Any, pad_width: Any, mode: str = "constant", constant_values: Any = 0
) -> Any:
    pairs = np.broadcast_to(np.asarray(pad_width), (array.ndim, 2)).tolist()
    return F.pad(array, tuple(map(tuple, pairs)), mode, constant_values)


def _sort(name: str, a: Any, axis: Any = -1) -> Any:
    x = F.flatten(a) if axis is None else a
    return F.sort(x, axis=-1 if axis is None else axis)[0]


def _argsort(name: str, a: Any, axis: Any = -1) -> Any:
    x = F.flatten(a) if axis is None else a
    return F.argsort(x, axis=-1 if axis is None else axis)


def _norm(name: str, x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Any:
    if ord is not None and ((x.ndim > 1 and axis is None) or isinstance(axis, tuple)):
        raise unknown(name)  # a norm of matrices
    return F.norm(x, ord, axis, keepdims)


def _dot(name: str, a: Any, b: Any, out: Any = None) -> Any:
    left, right = np.ndim(a), np.ndim(b)
    if not left or not right:
        made = F.mul(a, b)
    else:
        made = F.tensordot(a, b, ((left - 1,), (max(right - 2, 0),)))
    return delivered(name, made, out)


def _where(name: str, condition: Any, *branches: Any) -> Any:
    return F.where(condition, *branches)


def _isclose(
    name: str, a: Any, b: Any, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False
) -> Any:
    return F.isclose(a, b, rtol, atol, equal_nan)


def _like(function: Callable[..., Any]) -> Callable[..., Any]:
    def call(name: str, a: Any, *value: Any, dtype: Any = None, fill_value: Any = UNSET) -> Any:
        given = value if fill_value is UNSET else (*value, fill_value)
        return function(a if dtype is None else F.astype(a, dtype), *given)

    return call


def _median(
    name: str, a: Any, axis: Any = None, out: Any = None, overwrite_input: bool = False,
    keepdims: bool = False,
) -> Any:  # fmt: skip
    return delivered(name, F.median(a, axis, keepdims), out)


def _einsum(name: str, *operands: Any, out: Any = None, optimize: Any = False) -> Any:
    return delivered(name, F.einsum(*operands), out)


TYPED = {"sum": F.sum, "mean": F.mean, "prod": F.prod, "nansum": F.nansum, "nanmean": F.nanmean}
UNTYPED = {
    **{"max": F.max, "min": F.min, "amax": F.max, "amin": F.min, "any": F.any, "all": F.all},
    **{"argmax": F.argmax, "argmin": F.argmin},
}
SAME = {
    **{name: getattr(F, name) for name in ("swapaxes", "moveaxis", "expand_dims", "squeeze")},
    **{name: getattr(F, name) for name in ("broadcast_to", "flip", "roll", "tile", "repeat")},
    **{name: getattr(F, name) for name in ("tril", "triu", "diag", "diagonal", "trace", "kron")},
    **{name: getattr(F, name) for name in ("inner", "vdot", "tensordot", "diff", "outer", "cross")},
    **{name: getattr(F, name) for name in ("take_along_axis", "sinc")},
    **{"ravel": F.flatten, "isposinf": F.isposinf, "isneginf": F.isneginf},
}

FUNCTIONS: dict[Any, Callable[..., Any]] = {
    **{getattr(np, name): _reduction(function) for name, function in TYPED.items()},
    **{getattr(np, name): _reduction(function, typed=False) for name, function in UNTYPED.items()},
    **{getattr(np, name): _same(function) for name, function in SAME.items()},
    **{np.std: _spread(F.std), np.var: _spread(F.var), np.median: _median},
    **{np.cumsum: _scan(F.cumsum), np.cumprod: _scan(F.cumprod)},
    **{np.concatenate: _concatenate, np.stack: _stack, np.split: _split, np.reshape: _reshape},
    **{np.vstack: _beside(0), np.hstack: _beside(1), np.clip: _clip, np.round: _round},
    **{np.around: _round, np.take: _take, np.pad: _pad, np.sort: _sort, np.argsort: _argsort},
    **{np.linalg.norm: _norm, np.dot: _dot, np.where: _where, np.isclose: _isclose},
    **{np.zeros_like: _like(F.zeros_like), np.ones_like: _like(F.ones_like)},
    **{np.full_like: _like(F.full_like), np.einsum: _einsum},
    np.count_nonzero: lambda name, a, axis=None, keepdims=False: F.count_nonzero(a, axis, keepdims),
    np.transpose: lambda name, a, axes=None: F.transpose(a, axes),
    np.nan_to_num: lambda name, x, copy=True, **options: F.nan_to_num(x, **options),
    np.shape: lambda name, a: a.shape,
    np.ndim: lambda name, a: a.ndim,
    np.size: lambda name, a, axis=None: a.size if axis is None else a.shape[axis],
}

READING = frozenset((
    *(np.allclose, np.array_equal, np.array_equiv, np.array2string, np.array_repr, np.array_str),
    *(np.save, np.savez, np.savez_compressed, np.savetxt, np.nonzero, np.argwhere),
    *(np.flatnonzero, np.unique, np.bincount, np.histogram, np.searchsorted, np.isin, np.copy),
    *(np.iscomplexobj, np.isrealobj, np.result_type, np.can_cast, np.may_share_memory),
    *(np.shares_memory, np.empty_like, np.copyto, np.min_scalar_type, np.common_type),
))  # fmt: skip
"""What has no gradient anyway: such functions get the values as arrays."""


def answer(function: Any, types: Any, args: Any, options: Any) -> Any:
    """What a function of NumPy gives for arguments with tensors among them."""
    if not all(issubclass(each, (Tensor, np.ndarray)) for each in types):
        return NotImplemented
    name = _name(function)
    ours = FUNCTIONS.get(function)
    if ours is not None:
        return ours(name, *args, **options)
    if function not in READING and any(is_followed(each) for each in _tensors((args, options))):
        raise unknown(name)
    return function(*_read(args), **_read(options))


def _tensors(value: Any) -> list[Tensor]:
    if isinstance(value, Tensor):
        return [value]
    parts = value.values() if isinstance(value, dict) else value
    nested = isinstance(value, (list, tuple, dict))
    return [each for part in parts for each in _tensors(part)] if nested else []


def _read(value: Any) -> Any:
    """The value with arrays in place of tensors."""
    if isinstance(value, Tensor):
        return value.numpy()
    if isinstance(value, dict):
        return {key: _read(each) for key, each in value.items()}
    return type(value)(map(_read, value)) if type(value) in (list, tuple) else value
