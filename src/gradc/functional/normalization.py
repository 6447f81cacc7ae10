"""Normalization. Half types are computed in float32, variances in two passes."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from ..tracer.accumulation import FOLLOWING, keep_while_tracing
from ..tracer.composite import Nodes, Number, composite
from ..tracer.dtypes import DType, bfloat16, promote
from ..tracer.errors import ArgumentError, ShapeError, located
from ..tracer.interpret import computing
from ..tracer.ir import Node, Shape
from ..tracer.methods import mean_of
from ..tracer.ops import elementwise as e
from ..tracer.ops import reduction, window
from ..tracer.ops.kinds import cast_to
from ..tracer.ops.movement import pad, reshape
from ..tracer.ops.sources import constant_of, number_in
from ..tracer.tensor import Tensor
from .reduction import centred

__all__ = [
    "batch_norm",
    "group_norm",
    "instance_norm",
    "layer_norm",
    "local_response_norm",
    "rms_norm",
]


def _affine(x: Node, made: Node, weight: Node | None, bias: Node | None) -> Node:
    """`made` times `weight` plus `bias`, in the type that x and these have together."""
    kind = e.to_float(x).dtype
    for each in (weight, bias):
        kind = kind if each is None else promote(kind, each.dtype)
    if weight is not None:
        made = made * cast_to(weight, promote(made.dtype, weight.dtype))
    if bias is not None:
        made = made + cast_to(bias, promote(made.dtype, bias.dtype))
    return cast_to(made, kind)


def _whitened(x: Node, axes: Shape, eps: float) -> Node:
    """(x - mean) / sqrt(variance + eps) along `axes`."""
    distance, variance = centred(x, axes)
    return distance * e.rsqrt(variance + constant_of(eps, variance.dtype))


def _last_axes(name: str, x: Node, given: int | Shape) -> Shape:
    """The last axes of x, which have the extents `given`."""
    shape = (given,) if isinstance(given, int) else given
    if x.shape[x.ndim - len(shape) :] != shape or not shape:
        found = f"{list(x.shape)} does not end with {list(shape)}"
        raise ShapeError(located(f"{name}: {found}"))
    return tuple(range(x.ndim - len(shape), x.ndim))


@composite
def layer_norm(
    inp: Node,
    normalized_shape: int | tuple[int, ...],
    affine: bool = True,
    weight: Node | None = None,
    bias: Node | None = None,
    eps: float = 1e-5,
) -> Node:
    """x with mean 0 and variance 1 over its last axes, `normalized_shape`; then weight and bias."""
    axes = _last_axes("layer_norm", inp, normalized_shape)
    made = _whitened(inp, axes, eps)
    return _affine(inp, made, weight if affine else None, bias if affine else None)


@composite
def rms_norm(
    inp: Node,
    normalized_shape: int | tuple[int, ...],
    weight: Node | None = None,
    eps: float | None = None,
) -> Node:
    """x / sqrt(mean(x^2) + eps) over its last axes, `normalized_shape`; then times `weight`.

    `eps` is by default the distance from 1 to the next number of the type.
    """
    axes = _last_axes("rms_norm", inp, normalized_shape)
    x = e.to_float(inp)
    least = _epsilon(x.dtype) if eps is None else eps
    wide = cast_to(x, computing(x.dtype))
    made = wide * e.rsqrt(mean_of(wide * wide, axes) + constant_of(least, wide.dtype))
    return _affine(inp, made, weight, None)


def _epsilon(dtype: DType) -> float:
    return 2.0**-7 if dtype is bfloat16 else float(np.finfo(dtype.storage).eps)


# ---- by channels


def _of_channels(name: str, what: str, given: Node | None, shape: Shape) -> Node | None:
    """One number for each channel, with extent 1 along all other axes."""
    if given is None or given.shape == shape:
        return given
    if given.type.size != prod(shape):
        found = f"expected {what} with {prod(shape)} elements, found {list(given.shape)}"
        raise ShapeError(located(f"{name}: {found}"))
    return reshape(given, shape)


def _channels(name: str, x: Node, axis: int = 1) -> Shape:
    """The shape of what each channel has one of."""
    if x.ndim < 2:
        found = f"expected at least two axes, (batch, channels, ...), found {list(x.shape)}"
        raise ShapeError(located(f"{name}: {found}"))
    axis %= x.ndim
    return tuple(extent if i == axis else 1 for i, extent in enumerate(x.shape))


@composite
def group_norm(
    inp: Node,
    num_groups: int,
    affine: bool = True,
    weight: Node | None = None,
    bias: Node | None = None,
    eps: float = 1e-5,
) -> Node:
    """x with mean 0 and variance 1 over each group of channels; then weight and bias."""
    shape = _channels("group_norm", inp)
    batch, channels, *space = inp.shape
    if num_groups < 1 or channels % num_groups:
        found = f"{channels} channels are no multiple of {num_groups} groups"
        raise ShapeError(located(f"group_norm: {found}"))
    lines = reshape(inp, (batch, num_groups, channels // num_groups * prod(space)))
    made = reshape(_whitened(lines, (2,), eps), inp.shape)
    w, b = (
        _of_channels("group_norm", what, each if affine else None, shape)
        for what, each in (("a weight", weight), ("a bias", bias))
    )
    return _affine(inp, made, w, b)


@composite
def instance_norm(
    inp: Node,
    affine: bool = True,
    weight: Node | None = None,
    bias: Node | None = None,
    eps: float = 1e-5,
) -> Node:
    """x with mean 0 and variance 1 over each channel of each sample; then weight and bias."""
    shape = _channels("instance_norm", inp)
    made = _whitened(inp, tuple(range(2, inp.ndim)), eps)
    w, b = (
        _of_channels("instance_norm", what, each if affine else None, shape)
        for what, each in (("a weight", weight), ("a bias", bias))
    )
    return _affine(inp, made, w, b)


@composite
def local_response_norm(
    inp: Node, kernel_size: int = 5, k: Number = 2.0, alpha: Number = 1e-4, beta: float = 0.75
) -> Node:
    """x / (k + alpha s)^beta, where s sums the squares of `kernel_size` neighbouring channels."""
    _channels("local_response_norm", inp)
    if kernel_size < 1 or kernel_size % 2 == 0:
        found = f"expected an odd number of channels, found {kernel_size}"
        raise ShapeError(located(f"local_response_norm: {found}"))
    x = e.to_float(inp)
    wide = cast_to(x, computing(x.dtype))
    around = tuple(kernel_size // 2 if axis == 1 else 0 for axis in range(x.ndim))
    seen = window.windows(pad(wide * wide, around, around), (1,), (kernel_size,), (1,), (1,))
    total = reshape(reduction.sum(seen, (x.ndim,)), x.shape)
    low = number_in(k, wide.dtype) + number_in(alpha, wide.dtype) * total
    return cast_to(wide * e.to_power(low, -float(beta)), x.dtype)


# ---- by batches


@composite
def _batch_norm(
    inp: Node,
    mean: Node | None,
    variance: Node | None,
    weight: Node | None,
    bias: Node | None,
    eps: float,
    axis: int,
) -> Nodes:
    """The result, and the mean and the variance with which it was made."""
    name = "batch_norm"
    shape = _channels(name, inp, axis)
    x = e.to_float(inp)
    wide = cast_to(x, computing(x.dtype))
    if mean is None or variance is None:
        axes = tuple(i for i in range(inp.ndim) if i != axis % inp.ndim)
        middle = mean_of(wide, axes)
        distance = wide - middle
        spread = mean_of(distance * distance, axes)
    else:
        middle = cast_to(_given(name, "a running mean", mean, shape), wide.dtype)
        spread = cast_to(_given(name, "a running variance", variance, shape), wide.dtype)
        distance = wide - middle
    made = distance * e.rsqrt(spread + constant_of(eps, spread.dtype))
    w = _of_channels(name, "a weight", weight, shape)
    return _affine(inp, made, w, _of_channels(name, "a bias", bias, shape)), middle, spread


def _given(name: str, what: str, given: Node, shape: Shape) -> Node:
    found = _of_channels(name, what, given, shape)
    assert found is not None
    return found


@composite
def _moved(running: Node, fresh: Node, momentum: Node, factor: float) -> Node:
    """momentum * running + (1 - momentum) * factor * fresh."""
    if running.type.size != fresh.type.size:
        found = f"expected running statistics of {fresh.type.size} channels"
        raise ShapeError(located(f"batch_norm: {found}, found {list(running.shape)}"))
    fresh = reshape(fresh, running.shape) * constant_of(factor, fresh.dtype)
    return cast_to(momentum * running + (1.0 - momentum) * fresh, running.dtype)


def batch_norm(
    inp: Any,
    running_mean: Tensor | None = None,
    running_var: Tensor | None = None,
    weight: Any = None,
    bias: Any = None,
    *,
    training: bool = False,
    momentum: float = 0.9,
    eps: float = 1e-5,
    inplace: bool = True,
    compute_mode: str = "default",
    param_dim: str = "dim_1c11",
) -> Any:
    """(x - mean) / sqrt(variance + eps) of each channel; then weight and bias.

    While `training`, mean and variance are those of the batch, and the running ones become
    momentum * running + (1 - momentum) * that of the batch, where the variance is divided by its
    count less 1. They are changed in place, or, without `inplace`, returned behind the result (None
    for one that is not given; the result alone where both are not). Else the running ones are used.
    Weight, bias and running tensors have one element for each channel.
    Channels lie along axis 1, or along the last with `param_dim="dim_111c"`.
    """
    axis = -1 if param_dim == "dim_111c" else 1
    if not training:
        if running_mean is None or running_var is None:
            expected = "expected a running mean and variance, or training=True"
            raise ArgumentError(located(f"batch_norm: {expected}"))
        return _batch_norm(inp, running_mean, running_var, weight, bias, eps, axis)[0]
    made, mean, variance = _batch_norm(inp, None, None, weight, bias, eps, axis)
    count = prod(made.shape) // max(mean.size, 1)
    factors = (1.0, count / max(count - 1, 1))
    keep_while_tracing()
    with FOLLOWING:  # threads may share what runs
        moved = [
            running if running is None or not count else _following(running, fresh, momentum, x)
            for running, fresh, x in zip(
                (running_mean, running_var), (mean, variance), factors, strict=True
            )
        ]
        if running_mean is None and running_var is None:
            return made
        if not inplace:
            return made, *moved
        for running, new in zip((running_mean, running_var), moved, strict=True):
            if running is not None and new is not None:
                running.rebind(new)
    return made


def _following(running: Tensor, fresh: Tensor, momentum: float, factor: float) -> Tensor:
    """The running value after that of a batch, as a value that depends on nothing."""
    made: Tensor = _moved(running, fresh, momentum, factor)
    return made.detach()
