"""Tensors made of nothing but numbers. Without `dtype` they have the default floating type."""

from __future__ import annotations

import math
from typing import Any

from ..tracer.composite import composite
from ..tracer.dtypes import DType, as_dtype, default_float, float64, int32
from ..tracer.errors import located
from ..tracer.ir import Node, Shape, node
from ..tracer.ops import elementwise as e
from ..tracer.ops import movement, sources
from ..tracer.ops.kinds import cast_to
from ..tracer.tensor import Tensor
from ..tracer.weak import require_fit

__all__ = [
    "arange",
    "eye",
    "full",
    "full_like",
    "linspace",
    "ones",
    "ones_like",
    "zeros",
    "zeros_like",
]


def _dtype(given: Any) -> DType:
    return default_float() if given is None else as_dtype(given)


def _shape(given: int | Shape) -> Shape:
    return (given,) if isinstance(given, int) else tuple(given)


@composite
def _full(shape: int | Shape, value: Node, dtype: Any = None) -> Node:
    plain = value if dtype is None else cast_to(value, as_dtype(dtype))
    return movement.broadcast(plain, _shape(shape))


def full(shape: Any, value: Any, dtype: Any = None) -> Tensor:
    """`value` everywhere; without `dtype`, in the type of the value."""
    if dtype is not None:
        require_fit(value, as_dtype(dtype), "full")
        value = _floating(value, as_dtype(dtype))
    made: Tensor = _full(shape, value, dtype)
    return made


@composite
def zeros(shape: int | Shape, dtype: Any = None) -> Node:
    """Zeros."""
    return sources.full(0, _shape(shape), _dtype(dtype))


@composite
def ones(shape: int | Shape, dtype: Any = None) -> Node:
    """Ones."""
    return sources.full(1, _shape(shape), _dtype(dtype))


@composite
def zeros_like(inp: Node) -> Node:
    """Zeros in the shape and type of `inp`."""
    return sources.full(0, inp.shape, inp.dtype)


@composite
def ones_like(inp: Node) -> Node:
    """Ones in the shape and type of `inp`."""
    return sources.full(1, inp.shape, inp.dtype)


@composite
def _full_like(inp: Node, value: Node) -> Node:
    return movement.broadcast(cast_to(value, inp.dtype), inp.shape)


def _floating(value: Any, dtype: DType) -> Any:
    """A whole number as a float where `dtype` is one: it may be more than integers hold."""
    return float(value) if dtype.is_float and isinstance(value, int) else value


def full_like(inp: Any, value: Any) -> Tensor:
    """`value` everywhere, in the shape and type of `inp`."""
    if isinstance(inp, Tensor):
        require_fit(value, inp._node.dtype, "full_like")
        value = _floating(value, inp._node.dtype)
    made: Tensor = _full_like(inp, value)
    return made


def ramp(count: int, dtype: DType, axis: int = 0, shape: Shape | None = None) -> Node:
    """0, 1, 2, ... along `axis` of `shape` (None: of a vector)."""
    return node(sources.iota, (), (axis, shape or (count,), dtype))


@composite
def arange(start: float = 0, stop: float | None = None, step: float = 1, dtype: Any = None) -> Node:
    """The numbers from `start` (0, where one number is given) to before `stop`, in steps."""
    low, high = (0, start) if stop is None else (start, stop)
    if step == 0:
        raise ValueError(located("arange: expected a step that is not 0"))
    kind = _dtype(dtype)
    if not all(map(math.isfinite, (low, high, step))):
        raise ValueError(located(f"arange: expected finite numbers, found {low}, {high}, {step}"))
    count = max(-int(-(high - low) // step), 0)
    if count:
        require_fit([int(low), int(low + (count - 1) * step)], kind, "arange")
    whole = low == int(low) and step == int(step)
    inner = kind if kind.is_float or whole else float64
    places = ramp(count, inner)
    stretched = places if step == 1 else places * sources.constant_of(step, inner)
    return cast_to(stretched if low == 0 else stretched + sources.constant_of(low, inner), kind)


@composite
def linspace(start: float, stop: float, num: int, dtype: Any = None) -> Node:
    """`num` numbers from `start` to `stop`, both included, at equal distances."""
    kind = _dtype(dtype)
    if num < 0:
        raise ValueError(located(f"linspace: expected a number from 0 on, found {num}"))
    for end in (start, stop)[:num]:
        require_fit(int(end) if math.isfinite(end) else 0, kind, "linspace")
    if num < 2:
        return sources.full(start, (num,), kind)
    floating = kind if kind.is_float else default_float()
    first, last, step = (
        sources.constant_of(each, floating) for each in (start, stop, (stop - start) / (num - 1))
    )
    place = ramp(num, int32)
    at_end = e.eq(place, sources.constant_of(num - 1, int32))
    return cast_to(e.where(at_end, last, first + ramp(num, floating) * step), kind)


@composite
def eye(N: int, M: int | None = None, dtype: Any = None) -> Node:
    """Ones on the diagonal of N rows and M (None: N) columns, else zeros."""
    shape = (N, N if M is None else M)
    rows, columns = ramp(0, int32, 0, shape), ramp(0, int32, 1, shape)
    return cast_to(e.eq(rows, columns), _dtype(dtype))
