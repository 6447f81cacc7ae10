"""Normalization."""

from __future__ import annotations

from ..tracer.composite import composite
from ..tracer.errors import ShapeError, located
from ..tracer.ir import Node
from ..tracer.methods import mean_of
from ..tracer.ops import elementwise as e
from ..tracer.ops.sources import constant_of

__all__ = ["layer_norm"]


@composite
def layer_norm(
    x: Node,
    normalized_shape: int | tuple[int, ...],
    affine: bool = True,
    weight: Node | None = None,
    bias: Node | None = None,
    eps: float = 1e-5,
) -> Node:
    """x with mean 0 and variance 1 over its last axes, `normalized_shape`; then weight and bias."""
    shape = (normalized_shape,) if isinstance(normalized_shape, int) else normalized_shape
    if x.shape[x.ndim - len(shape) :] != shape:
        found = f"{list(x.shape)} does not end with {list(shape)}"
        raise ShapeError(located(f"layer_norm: {found}"))
    axes = tuple(range(x.ndim - len(shape), x.ndim))
    centred = e.to_float(x) - mean_of(x, axes)
    variance = mean_of(centred * centred, axes)
    made = centred * e.rsqrt(variance + constant_of(eps, variance.dtype))
    if affine and weight is not None:
        made = made * weight
    return made + bias if affine and bias is not None else made
