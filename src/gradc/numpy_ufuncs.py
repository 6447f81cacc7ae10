"""NumPy's ufuncs of tensors: each is the function or operator of tensors of the same meaning."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from . import functional as F
from .tracer.composite import is_followed
from .tracer.errors import ShapeError, located
from .tracer.recording import Numbers
from .tracer.tensor import Tensor

MIRRORED = {"lt": "gt", "le": "ge", "gt": "lt", "ge": "le", "eq": "eq", "ne": "ne"}


def _operator(name: str) -> Callable[[Any, Any], Any]:
    """The operator `name`, of which one operand may be no tensor."""
    other = MIRRORED.get(name, f"r{name}")

    def apply(x: Any, y: Any) -> Any:
        if isinstance(x, Tensor):
            return getattr(x, f"__{name}__")(y)
        return getattr(y, f"__{other}__")(x)

    return apply


OPERATORS: dict[np.ufunc, str] = {
    **{np.add: "add", np.subtract: "sub", np.multiply: "mul", np.divide: "truediv"},
    **{np.floor_divide: "floordiv", np.remainder: "mod", np.power: "pow", np.matmul: "matmul"},
    **{np.bitwise_and: "and", np.bitwise_or: "or", np.bitwise_xor: "xor"},
    **{np.left_shift: "lshift", np.right_shift: "rshift", np.divmod: "divmod"},
    **{np.less: "lt", np.less_equal: "le", np.greater: "gt", np.greater_equal: "ge"},
    **{np.equal: "eq", np.not_equal: "ne"},
}

SAME_NAMES = (
    *("absolute", "arccos", "arccosh", "arcsin", "arcsinh", "arctan", "arctan2", "arctanh"),
    *("cbrt", "ceil", "cos", "cosh", "deg2rad", "exp", "exp2", "expm1", "floor", "fmod", "hypot"),
    *("isfinite", "isinf", "isnan", "log", "log10", "log1p", "log2", "logaddexp", "logical_and"),
    *("logical_not", "logical_or", "logical_xor", "maximum", "minimum", "negative", "rad2deg"),
    *("reciprocal", "rint", "sign", "signbit", "sin", "sinh", "sqrt", "square", "tan", "tanh"),
    "trunc",
)

UFUNCS: dict[np.ufunc, Callable[..., Any]] = {
    **{ufunc: _operator(name) for ufunc, name in OPERATORS.items()},
    **{getattr(np, name): getattr(F, name) for name in SAME_NAMES},
    np.fabs: F.abs,
    np.invert: F.bitwise_not,
    np.positive: lambda x: +x,
    np.conjugate: lambda x: +x,
    np.degrees: F.rad2deg,
    np.radians: F.deg2rad,
}

REDUCED: dict[np.ufunc, Callable[..., Any]] = {
    **{np.add: F.sum, np.multiply: F.prod, np.maximum: F.max, np.minimum: F.min},
    **{np.logical_and: F.all, np.logical_or: F.any, np.logaddexp: F.logsumexp},
}
ACCUMULATED: dict[np.ufunc, Callable[..., Any]] = {np.add: F.cumsum, np.multiply: F.cumprod}

INSTEAD = {
    "at": "x[places] = ... or gradc.functional.scatter_add",
    "reduceat": "gradc.functional.sum of slices",
    "where": "gradc.functional.where(mask, ..., ...)",
}

KNOWN = (Tensor, np.ndarray, list, tuple, type(None), *Numbers)


def answer(ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
    """What a ufunc gives for operands of which one, or `out`, is a tensor."""
    if not all(isinstance(each, KNOWN) for each in inputs):
        return NotImplemented
    name = f"np.{ufunc.__name__}" + ("" if method == "__call__" else f".{method}")
    out, dtype = options.pop("out", None), options.pop("dtype", None)
    if options.get("where", True) is not True:
        raise refusal(name, "with `where`", INSTEAD["where"])
    options.pop("where", None)
    if dtype is not None:
        inputs = tuple(F.astype(each, dtype) for each in inputs)
    if not any(isinstance(each, Tensor) for each in inputs):  # the tensor is `out`
        inputs = (F.add(inputs[0], 0), *inputs[1:])
    if method == "__call__":
        made = _called(name, ufunc, inputs, options)
    else:
        made = _method(name, ufunc, method, inputs, options)
    return made if made is NotImplemented else delivered(name, made, out)


def _called(name: str, ufunc: np.ufunc, inputs: tuple[Any, ...], options: Any) -> Any:
    if options:
        raise refusal(name, f"with `{next(iter(options))}`", f"it without, on {name} of arrays")
    function = UFUNCS.get(ufunc)
    if function is None:
        raise unknown(name)
    return function(*inputs)


def _method(name: str, ufunc: np.ufunc, method: str, inputs: tuple[Any, ...], options: Any) -> Any:
    axis, keepdims = options.pop("axis", 0), bool(options.pop("keepdims", False))
    if method in INSTEAD or options:
        what = f"with `{next(iter(options))}`" if options else ""
        raise refusal(name, what, INSTEAD.get(method, "it as an operation of its own"))
    if method == "outer" and ufunc in UFUNCS:
        x, y = (each if isinstance(each, Tensor) else np.asarray(each) for each in inputs)
        return UFUNCS[ufunc](x.reshape(*x.shape, *(1,) * y.ndim), y)
    if method == "reduce" and ufunc in REDUCED:
        return REDUCED[ufunc](inputs[0], inputs[1] if len(inputs) > 1 else axis, keepdims)
    if method == "accumulate" and ufunc in ACCUMULATED:
        return ACCUMULATED[ufunc](inputs[0], inputs[1] if len(inputs) > 1 else axis)
    raise unknown(name)


def delivered(name: str, made: Any, out: Any) -> Any:
    """`made`, or `out` with it written inside: a tensor is bound anew, an array is filled."""
    (out,) = out if isinstance(out, tuple) and len(out) == 1 else (out,)
    if out is None or isinstance(out, tuple):
        if out and any(each is not None for each in out):
            raise refusal(name, "with several `out`", "the results under names of their own")
        return made
    if made.shape != out.shape:
        found = f"found {list(out.shape)} for {list(made.shape)}"
        raise ShapeError(located(f"{name}: expected `out` of the shape of the result, {found}"))
    if isinstance(out, Tensor):
        out.rebind(made.astype(out.dtype))
    elif is_followed(made):
        raise refusal(name, "into an array, as its gradient would be lost", "a = a + x for a += x")
    else:
        np.copyto(out, made.numpy(), casting="same_kind")
    return out


def refusal(name: str, what: str, instead: str) -> TypeError:
    """The error for what is not done with tensors, and what to write."""
    where = f" {what}" if what else ""
    return TypeError(located(f"{name} is not there for tensors{where}: write {instead}"))


def unknown(name: str) -> TypeError:
    """The error for a function that has no counterpart, or that would lose a gradient."""
    return refusal(name, "", "it in functions of gradc.functional, or x.numpy() for the values")
