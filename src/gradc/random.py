"""Random tensors, from bits that depend on a seed, a stream and a position alone.

Every call draws a stream of its own, so that no two calls give the same numbers, while numbers are
the same on every target and for every number of threads. `gradc.manual_seed` begins them anew.
"""

from __future__ import annotations

import copy
import copyreg
import math
from functools import reduce
from typing import Any

import numpy as np

from .arguments import extents, whole
from .generator import GENERATOR, Generator, manual_seed
from .tracer.arguments import NUMBER
from .tracer.composite import composite
from .tracer.dtypes import (
    DType,
    as_dtype,
    default_float,
    float32,
    float64,
    int32,
    int64,
    promote,
)
from .tracer.errors import ArgumentError, DTypeError, ShapeError, located
from .tracer.interpret import computing
from .tracer.ir import Node, Shape, node
from .tracer.ops import elementwise as e
from .tracer.ops.indexing import take_op
from .tracer.ops.kinds import broadcast_shapes, cast_to
from .tracer.ops.movement import reshape, slice_
from .tracer.ops.sort import argsort
from .tracer.ops.sources import constant_of, iota
from .tracer.recording import THREAD
from .tracer.tensor import Tensor
from .tracer.value import waiting

__all__ = [
    "RNG",
    "bernoulli",
    "exponential",
    "manual_seed",
    "normal",
    "permutation",
    "randint",
    "seed",
    "shuffle",
    "uniform",
]

DIGITS = {"float64": 53, "float32": 24, "float16": 11, "bfloat16": 8}
"""So many bits of each type lie behind the point of a number between 1/2 and 1."""


# ---- in nodes


def _positions(shape: Shape, step: int) -> Node:
    """0, `step`, 2 * `step`, ... in `shape`."""
    places = reshape(node(iota, (), (0, (math.prod(shape),), int64)), shape)
    return places if step == 1 else places * constant_of(step, int64)


def _bits(key: Node, stream: Node, shape: Shape, words: int, word: int) -> Node:
    """32 random bits for each element, of which each takes `words`: its word number `word`."""
    places = _positions(shape, words)
    return e.random_bits(places + constant_of(word, int64) if word else places, key, stream)


def _long_bits(key: Node, stream: Node, shape: Shape, high: int, low: int) -> Node:
    """`high` + `low` random bits for each element, from two words."""
    upper = e.shift_right(_bits(key, stream, shape, 2, 0), constant_of(32 - high, int64))
    lower = e.shift_right(_bits(key, stream, shape, 2, 1), constant_of(32 - low, int64))
    return e.bit_or(e.shift_left(upper, constant_of(low, int64)), lower)


def unit(key: Node, stream: Node, shape: Shape, dtype: DType) -> Node:
    """Uniform numbers k / 2**n from 0 to below 1, with all n bits that the type has there."""
    digits = DIGITS[dtype.name]
    if dtype is float64:
        bits = _long_bits(key, stream, shape, 27, 26)
    else:
        bits = e.shift_right(_bits(key, stream, shape, 1, 0), constant_of(32 - digits, int64))
    return cast_to(bits, dtype) * constant_of(2.0**-digits, dtype)


@composite
def _uniform(key: Node, stream: Node, low: Node, high: Node, shape: Shape, dtype: DType) -> Node:
    """low + (high - low) u; where that is rounded up to `high`, `low` instead."""
    low, high = cast_to(low, dtype), cast_to(high, dtype)
    made = low + (high - low) * unit(key, stream, shape, dtype)
    return e.where(made >= high, low, made)


@composite
def _normal(key: Node, stream: Node, mean: Node, std: Node, shape: Shape, dtype: DType) -> Node:
    """mean + std sqrt(-2 log(u)) cos(2 pi v), with u above 0 (G. E. P. Box, M. E. Muller, 1958)."""
    wide = computing(dtype)
    if wide is float64:
        distance = 1.0 - unit(key, stream, (*shape, 2), wide)
        u, v = (reshape(slice_(distance, len(shape), k, k + 1), shape) for k in (0, 1))
    else:
        steps = cast_to(_bits(key, stream, shape, 2, 0), float64) + 1.0
        u = cast_to(steps * constant_of(2.0**-32, float64), float32)
        turn = e.shift_right(_bits(key, stream, shape, 2, 1), constant_of(8, int64))
        v = cast_to(turn, float32) * constant_of(2.0**-24, float32)
    angle = v * constant_of(2 * math.pi, wide)
    made = e.sqrt(e.log(u) * constant_of(-2, wide)) * e.cos(angle)
    return cast_to(mean, dtype) + cast_to(std, dtype) * cast_to(made, dtype)


@composite
def _exponential(key: Node, stream: Node, rate: Node, shape: Shape, dtype: DType) -> Node:
    wide = computing(dtype)
    made = -e.log1p(-unit(key, stream, shape, wide))
    return cast_to(made / cast_to(rate, wide), dtype)


@composite
def _bernoulli(key: Node, stream: Node, p: Node, shape: Shape, dtype: DType) -> Node:
    p = e.to_float(p)
    drawn = unit(key, stream, shape, float64 if p.dtype is float64 else float32)
    return cast_to(drawn < p, dtype)


@composite
def _randint(key: Node, stream: Node, low: Node, span: Node, shape: Shape, dtype: DType) -> Node:
    """`low` and the remainder of 63 random bits by `span`."""
    low, span = cast_to(low, int64), cast_to(span, int64)
    return cast_to(low + e.mod(_long_bits(key, stream, shape, 31, 32), span), dtype)


@composite
def _permutation(key: Node, stream: Node, count: int, dtype: DType) -> Node:
    return cast_to(_order(key, stream, count), dtype)


def _order(key: Node, stream: Node, count: int) -> Node:
    """The numbers below `count` in a random order: that of 63 bits each."""
    return node(argsort, (_long_bits(key, stream, (count,), 31, 32),), (False, count))


@composite
def _shuffle(key: Node, stream: Node, x: Node) -> Node:
    if not x.ndim:
        raise ShapeError(located("shuffle: expected at least one axis, found a single number"))
    return node(take_op, (x, _order(key, stream, x.shape[0])), (0,))


# ---- for users


def _shape(name: str, size: Any, *parameters: Any) -> Shape:
    """`size` as a shape; without it, that of the parameters together."""
    if size is None:
        shapes = tuple(each.shape for each in parameters if isinstance(each, Tensor))
        return broadcast_shapes(name, shapes) if shapes else ()
    return extents(name, "size", size)


def _with_axis(shape: Shape) -> Shape:
    """`shape`, or (1,) in place of (): what `uniform` and `normal` give where no size is said."""
    return shape or (1,)


def _dtype(name: str, given: Any, *parameters: Any) -> DType:
    """The floating type that is asked for, or that the parameters have together."""
    found = [each._node.dtype for each in parameters if isinstance(each, Tensor)]
    floating = [each for each in found if each.is_float]
    kind = (reduce(promote, floating) if floating else default_float()) if given is None else given
    if not as_dtype(kind).is_float:
        raise DTypeError(located(f"{name}: expected a floating type, found {kind}"))
    return as_dtype(kind)


def number(value: Any, dtype: DType) -> Tensor:
    """A number in all digits of `dtype`, read when the program runs; a tensor as it is."""
    if isinstance(value, Tensor):
        return value
    recording = THREAD.recording
    return waiting(recording.number(value, dtype), recording)


def _check_numbers(name: str, **given: Any) -> None:
    """Raise unless each is a tensor or a number."""
    for parameter, value in given.items():
        if not isinstance(value, Tensor):
            NUMBER.check(name, parameter, value)


def _check_held(first: int, last: int, dtype: DType) -> None:
    """Raise where an integer type does not hold all numbers that may be drawn."""
    if dtype.is_float:
        return
    held = np.iinfo(dtype.storage) if dtype.kind in "iu" else None
    low, high = (0, 1) if held is None else (int(held.min), int(held.max))
    if not low <= first <= last <= high:
        expected = f"expected numbers that {dtype.name} holds ({low} to {high})"
        raise ValueError(located(f"randint: {expected}, found {first} to {last}"))


class RNG:
    """Random numbers of their own seed; without one, those that the functions here give."""

    def __init__(self, seed: int | None = None) -> None:
        self._generator = GENERATOR if seed is None else Generator(seed)

    def __copy__(self) -> RNG:
        return copy.deepcopy(self)

    def __reduce__(self) -> tuple[Any, ...]:
        """A copy goes on as this one does; without a seed it draws with all others."""
        if self._generator is GENERATOR:
            return type(self), ()
        return copyreg.__newobj__, (type(self),), vars(self)  # type: ignore[attr-defined]

    def uniform(self, low: Any = 0, high: Any = 1, size: Any = None, dtype: Any = None) -> Tensor:
        """Numbers from `low` to below `high`, all equally likely; without a `size`, one in (1,)."""
        shape, kind = _shape("uniform", size, low, high), _dtype("uniform", dtype, low, high)
        shape = _with_axis(shape) if size is None else shape
        _check_numbers("uniform", low=low, high=high)
        if not isinstance(low, Tensor) and not isinstance(high, Tensor) and low > high:
            raise ArgumentError(located(f"uniform: expected low <= high, found {low} and {high}"))
        low, high = (number(each, kind) for each in (low, high))
        made: Tensor = _uniform(*self._generator.draw(), low, high, shape, kind)
        return made

    def normal(self, mean: Any = 0, std: Any = 1, size: Any = None, dtype: Any = None) -> Tensor:
        """Normally distributed numbers; without a `size`, one in (1,)."""
        shape, kind = _shape("normal", size, mean, std), _dtype("normal", dtype, mean, std)
        shape = _with_axis(shape) if size is None else shape
        _check_numbers("normal", mean=mean, std=std)
        if not isinstance(std, Tensor) and not std >= 0:
            raise ArgumentError(located(f"normal: expected std from 0 on, found {std}"))
        mean, std = (number(each, kind) for each in (mean, std))
        made: Tensor = _normal(*self._generator.draw(), mean, std, shape, kind)
        return made

    def exponential(self, rate: Any = 1, size: Any = None, dtype: Any = None) -> Tensor:
        """Exponentially distributed numbers with the mean 1 / `rate`: -log(1 - u) / rate.

        Of a tensor, each element is the rate of `size` numbers: the shape is `size` and its own.
        """
        shape = _shape("exponential", () if size is None else size)
        shape += rate.shape if isinstance(rate, Tensor) else ()
        kind = _dtype("exponential", dtype, rate)
        _check_numbers("exponential", rate=rate)
        if not isinstance(rate, Tensor) and not rate > 0:
            raise ArgumentError(located(f"exponential: expected a rate above 0, found {rate}"))
        made: Tensor = _exponential(*self._generator.draw(), number(rate, kind), shape, kind)
        return made

    def bernoulli(self, p: Any = 0.5, size: Any = None, dtype: Any = None) -> Tensor:
        """1 with the probability `p`, else 0."""
        shape = _shape("bernoulli", size, p)
        kind = _dtype("bernoulli", None, p) if dtype is None else as_dtype(dtype)
        _check_numbers("bernoulli", p=p)
        if not isinstance(p, Tensor) and not 0 <= p <= 1:
            raise ArgumentError(located(f"bernoulli: expected a probability p, found {p}"))
        p = number(p, float64 if kind is float64 else float32)
        made: Tensor = _bernoulli(*self._generator.draw(), p, shape, kind)
        return made

    def randint(
        self, low: int, high: int | None = None, size: Any = None, dtype: Any = "int32"
    ) -> Tensor:
        """Whole numbers from `low` to below `high`; with one number, from 0 to below that."""
        begin = whole("randint", "low", low, -(2**63))
        end = begin if high is None else whole("randint", "high", high, -(2**63))
        begin = 0 if high is None else begin
        if begin >= end:
            raise ValueError(located(f"randint: expected low < high, found {begin} and {end}"))
        shape, kind = _shape("randint", size), as_dtype(dtype)
        _check_held(begin, end - 1, kind)
        first, span = (number(each, int64) for each in (begin, end - begin))
        made: Tensor = _randint(*self._generator.draw(), first, span, shape, kind)
        return made

    def permutation(self, n: Any, dtype: Any = None) -> Tensor:
        """The numbers below n (in int32), or the lines of the tensor n, in random order."""
        if isinstance(n, Tensor) and n.ndim:
            shuffled: Tensor = _shuffle(*self._generator.draw(), n)
            return shuffled
        count = whole("permutation", "n", n)
        kind = int32 if dtype is None else as_dtype(dtype)
        made: Tensor = _permutation(*self._generator.draw(), count, kind)
        return made

    def shuffle(self, inp: Tensor) -> None:
        """Bring the lines of `inp` into a random order, in place."""
        if not isinstance(inp, Tensor):
            raise TypeError(located(f"shuffle: expected a tensor, found {inp!r:.60}"))
        inp.rebind(_shuffle(*self._generator.draw(), inp))


_shared = RNG()
uniform = _shared.uniform
normal = _shared.normal
bernoulli = _shared.bernoulli
exponential = _shared.exponential
randint = _shared.randint
permutation = _shared.permutation
shuffle = _shared.shuffle
seed = manual_seed
