"""What the operators mean, written a second time: plain Python numbers, one element after another.

Nothing here calls the operators' own references. Integers are computed exactly and wrapped into
their type afterwards; floats are computed in double precision. Floats that are not finite have
their values written out in the tests instead.
"""

import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from gradc.tracer.dtypes import DType, bool_

Array = np.ndarray[Any, Any]


def wrapped(value: Any, dtype: DType) -> Any:
    """`value` in the range of an integer type, modulo its number of values."""
    if dtype is bool_:
        return bool(value)
    if dtype.is_float:
        return float(value)
    rest = int(value) % (1 << dtype.bits)
    return rest - (1 << dtype.bits) if dtype.kind == "i" and rest >> (dtype.bits - 1) else rest


def held(value: Any, dtype: DType) -> Any:
    """A cast: floats lose their fraction and stay within the range of an integer type."""
    if dtype.is_float or dtype is bool_ or not isinstance(value, float):
        return wrapped(value, dtype)
    low = 0 if dtype.kind == "u" else -(1 << (dtype.bits - 1))
    high = low + (1 << dtype.bits) - 1
    if math.isnan(value):
        return 0
    return low if value < low else high if value > high else math.trunc(value)


def _integer_pow(x: int, y: int) -> int:
    if y >= 0:
        return pow(x, y, 1 << 64)
    return {1: 1, -1: 1 if y % 2 == 0 else -1}.get(x, 0)


def _shift_right(x: int, y: int) -> int:
    return x >> y if 0 <= y < 64 else -1 if x < 0 else 0


def _of_kind(integers: Callable[..., Any], floats: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *x: (floats if isinstance(x[-1], float) else integers)(*x)


ELEMENTS: dict[str, Callable[..., Any]] = {
    "add": lambda x, y: x + y,
    "sub": lambda x, y: x - y,
    "mul": lambda x, y: x * y,
    "div": lambda x, y: x / y,
    "floordiv": lambda x, y: x // y if y else 0,
    "mod": lambda x, y: x % y if y else 0,
    "neg": lambda x: -x,
    "abs": abs,
    "sign": lambda x: (x > 0) - (x < 0),
    "floor": math.floor,
    "ceil": math.ceil,
    "round": round,
    "pow": _of_kind(_integer_pow, math.pow),
    "power": lambda x, exponent: x ** float(exponent),
    "sqrt": math.sqrt,
    "rsqrt": lambda x: 1 / math.sqrt(x),
    "cbrt": math.cbrt,
    "hypot": lambda x, y: math.sqrt(x * x + y * y),
    "exp": math.exp,
    "exp2": lambda x: 2.0**x,
    "expm1": lambda x: math.exp(x) - 1,
    "log": math.log,
    "log2": math.log2,
    "log10": math.log10,
    "log1p": lambda x: math.log(1 + x),
    "sigmoid": lambda x: (1 + math.tanh(x / 2)) / 2,
    "logaddexp": lambda x, y: math.log(math.exp(x) + math.exp(y)),
    "sin": math.sin,
    "cos": math.cos,
    "tan": lambda x: math.sin(x) / math.cos(x),
    "asin": math.asin,
    "acos": math.acos,
    "atan": math.atan,
    "atan2": math.atan2,
    "sinh": lambda x: (math.exp(x) - math.exp(-x)) / 2,
    "cosh": lambda x: (math.exp(x) + math.exp(-x)) / 2,
    "tanh": math.tanh,
    "asinh": lambda x: math.copysign(math.log(abs(x) + math.sqrt(x * x + 1)), x),
    "acosh": lambda x: math.log(x + math.sqrt(x * x - 1)),
    "atanh": lambda x: math.log((1 + x) / (1 - x)) / 2,
    "erf": lambda x: 1 - math.erfc(x),
    "eq": lambda x, y: x == y,
    "ne": lambda x, y: x != y,
    "lt": lambda x, y: x < y,
    "le": lambda x, y: x <= y,
    "gt": lambda x, y: x > y,
    "ge": lambda x, y: x >= y,
    "isnan": lambda x: math.isnan(x),
    "isinf": lambda x: math.isinf(x),
    "isfinite": lambda x: math.isfinite(x),
    "bit_and": lambda x, y: x & y,
    "bit_or": lambda x, y: x | y,
    "bit_xor": lambda x, y: x ^ y,
    "shift_left": lambda x, y: x << y if 0 <= y < 64 else 0,
    "shift_right": _shift_right,
    "logical_not": lambda x: not x,
    "where": lambda c, x, y: x if c else y,
    "maximum": max,
    "minimum": min,
    "random_bits": lambda position, key, stream: philox(position, key, stream),
    "checked_index": lambda x, size, negative: x + size if x < 0 else x,
    "cast": lambda x, dtype: held(x, dtype),
}

TOTAL = {"eq", "ne", "lt", "le", "gt", "ge", "isnan", "isinf", "isfinite", "where", "cast"}
"""Elementwise operators of which Python has the value for every float."""


def elementwise(name: str, arrays: Sequence[Array], attrs: tuple[Any, ...], dtype: DType) -> Array:
    """The operator `name` on every element."""
    operands = np.broadcast_arrays(*arrays)
    shape = operands[0].shape
    rows = zip(*(each.reshape(-1).tolist() for each in operands), strict=True)
    found = [wrapped(ELEMENTS[name](*row, *attrs), dtype) for row in rows]
    return np.array(found, object).reshape(shape)


def _winner(line: list[Any], best: Any) -> int:
    return line.index(best(line))


REDUCTIONS: dict[str, Callable[[list[Any]], Any]] = {
    "sum": lambda line: math.fsum(line) if line and isinstance(line[0], float) else sum(line),
    "prod": math.prod,
    "max": lambda line: max(line, default=False),
    "first_max": lambda line: max(line, default=False),
    "min": lambda line: min(line, default=True),
    "argmax": lambda line: _winner(line, max),
    "argmin": lambda line: _winner(line, min),
}


def reduction(name: str, x: Array, axes: tuple[int, ...], dtype: DType) -> Array:
    """The operator `name` on the elements that have their other indices in common."""
    shape = tuple(1 if axis in axes else extent for axis, extent in enumerate(x.shape))
    lines: dict[tuple[int, ...], list[Any]] = {at: [] for at in np.ndindex(*shape)}
    for at in np.ndindex(*x.shape):
        lines[tuple(0 if axis in axes else i for axis, i in enumerate(at))].append(x[at].item())
    result = np.empty(shape, object)
    for at, line in lines.items():
        result[at] = wrapped(REDUCTIONS[name](line), dtype)
    return result


def scan(name: str, x: Array, axis: int, dtype: DType) -> Array:
    """The operator `name` on each element and all before it."""
    result = np.empty(x.shape, object)
    join = {"cumsum": lambda a, b: a + b, "cumprod": lambda a, b: a * b}[name]
    for at in np.ndindex(*x.shape):
        before = (*at[:axis], at[axis] - 1, *at[axis + 1 :])
        value = x[at].item()
        result[at] = wrapped(join(result[before], value) if at[axis] else value, dtype)
    return result


def argsort(x: Array, descending: bool, count: int) -> Array:
    """Positions by value; Python's sort keeps the order of equal elements, backwards too."""
    result = np.empty((*x.shape[:-1], count), object)
    for at in np.ndindex(*x.shape[:-1]):
        line = x[at].tolist()
        result[at] = sorted(range(len(line)), key=line.__getitem__, reverse=descending)[:count]
    return result


def philox(position: int, key: int, stream: int) -> int:
    """Philox 4x32-10, as in the paper's listing; word position % 4 of block position // 4."""
    mask = (1 << 32) - 1
    position, key, stream = (each % 2**64 for each in (position, key, stream))
    counter = [(position // 4) & mask, position // 4 >> 32, stream & mask, stream >> 32]
    low, high = key & mask, key >> 32
    for _ in range(10):
        left, right = 0xD2511F53 * counter[0], 0xCD9E8D57 * counter[2]
        counter = [
            (right >> 32) ^ counter[1] ^ low,
            right & mask,
            (left >> 32) ^ counter[3] ^ high,
            left & mask,
        ]
        low, high = (low + 0x9E3779B9) & mask, (high + 0xBB67AE85) & mask
    return counter[position % 4]


def _reshaped(x: Array, shape: tuple[int, ...]) -> Array:
    result = np.empty(shape, object)
    for at, value in zip(np.ndindex(*shape), x.reshape(-1).tolist(), strict=True):
        result[at] = value
    return result


def _gathered(shape: tuple[int, ...], source: Callable[[tuple[int, ...]], Any]) -> Array:
    result = np.empty(shape, object)
    for at in np.ndindex(*shape):
        result[at] = source(at)
    return result


def _broadcast(x: Array, shape: tuple[int, ...]) -> Array:
    lead = len(shape) - x.ndim
    return _gathered(
        shape,
        lambda at: x[tuple(0 if n == 1 else i for i, n in zip(at[lead:], x.shape, strict=True))],
    )


def _slice(x: Array, starts: Any, sizes: Any, steps: Any) -> Array:
    return _gathered(
        sizes,
        lambda at: x[tuple(s + i * d for i, s, d in zip(at, starts, steps, strict=True))],
    )


def _pad(x: Array, low: Any, high: Any, interior: Any, fill: str) -> Array:
    shape = [
        lo + (n + (n - 1) * gap if n else 0) + hi
        for n, lo, hi, gap in zip(x.shape, low, high, interior, strict=True)
    ]
    result = np.full(shape, float(fill), object)
    for at in np.ndindex(*x.shape):
        result[tuple(lo + i * (g + 1) for i, lo, g in zip(at, low, interior, strict=True))] = x[at]
    return result


def _concat(*arguments: Any) -> Array:
    *parts, axis = arguments
    chosen = list(
        itertools.chain(*([(part, i) for i in range(part.shape[axis])] for part in parts))
    )
    shape = (*parts[0].shape[:axis], len(chosen), *parts[0].shape[axis + 1 :])
    return _gathered(
        shape, lambda at: chosen[at[axis]][0][(*at[:axis], chosen[at[axis]][1], *at[axis + 1 :])]
    )


def _place(at: tuple[int, ...], axes: Any, strides: Any, dilations: Any) -> tuple[int, ...]:
    """Where the element of a window lies: o * stride + k * dilation along each axis."""
    elements = at[len(at) - len(axes) :]
    moved = list(at)
    for axis, k, stride, dilation in zip(axes, elements, strides, dilations, strict=True):
        moved[axis] = at[axis] * stride + k * dilation
    return tuple(moved)


def _window(x: Array, axes: Any, strides: Any, dilations: Any) -> Array:
    shape = list(x.shape)
    for n, axis in enumerate(axes):
        size = x.shape[x.ndim - len(axes) + n]
        fits = [p for p in range(x.shape[axis]) if p + dilations[n] * (size - 1) < x.shape[axis]]
        shape[axis] = len(fits[:: strides[n]])
    return _gathered(tuple(shape), lambda at: x[_place(at, axes, strides, dilations)])


def _unwindow(x: Array, axes: Any, strides: Any, dilations: Any, extents: Any) -> Array:
    shape = list(x.shape)
    for axis, extent in zip(axes, extents, strict=True):
        shape[axis] = extent
    result = np.zeros(shape, object)
    for at in np.ndindex(*x.shape):
        result[_place(at, axes, strides, dilations)] = x[at]
    return result


MOVEMENTS: dict[str, Callable[..., Array]] = {
    "window": _window,
    "unwindow": _unwindow,
    "reshape": _reshaped,
    "transpose": lambda x, order: _gathered(
        tuple(x.shape[axis] for axis in order),
        lambda at: x[tuple(at[order.index(axis)] for axis in range(x.ndim))],
    ),
    "broadcast": _broadcast,
    "slice": _slice,
    "pad": _pad,
    "concat": _concat,
}


def matmul(arrays: Sequence[Array], dtype: DType) -> Array:
    """Every element as a sum of products."""
    a, b = arrays
    batch = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    a = np.broadcast_to(a, (*batch, *a.shape[-2:])).astype(object)
    b = np.broadcast_to(b, (*batch, *b.shape[-2:])).astype(object)
    inner = range(a.shape[-1])
    return _gathered(
        (*batch, a.shape[-2], b.shape[-1]),
        lambda at: wrapped(sum(a[(*at[:-1], k)] * b[(*at[:-2], k, at[-1])] for k in inner), dtype),
    )


def take(arrays: Sequence[Array], axis: int) -> Array:
    """The line that each index names."""
    x, indices = arrays
    rank = indices.ndim
    shape = (*x.shape[:axis], *indices.shape, *x.shape[axis + 1 :])
    return _gathered(
        shape,
        lambda at: x[(*at[:axis], indices[at[axis : axis + rank]], *at[axis + rank :])],
    )


def scatter(arrays: Sequence[Array], axis: int, accumulate: bool, dtype: DType) -> Array:
    """Every update in row-major order, added or put over what is there."""
    base, indices, updates = arrays
    rank = indices.ndim
    result = base.astype(object)
    for at in np.ndindex(*updates.shape):
        to = (*at[:axis], indices[at[axis : axis + rank]], *at[axis + rank :])
        result[to] = wrapped(updates[at] + (result[to] if accumulate else 0), dtype)
    return result
