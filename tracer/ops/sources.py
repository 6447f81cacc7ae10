"""Values without inputs: outside buffers, run-time scalars, constants and index ramps."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..dtypes import DType, bool_
from ..errors import ShapeError, located
from ..ir import ANYWHERE, Node, Shape, TensorType, node
from . import movement
from .kinds import Source, cast_to, clamped


def _from_outside(*_: Any) -> Any:
    raise AssertionError("inputs and scalars are bound by whoever runs the graph")


input_ = Source(
    "input",
    reference=_from_outside,
    vjp=None,
    attributes=("slot", "dtype", "shape", "device"),
    doc="the outside buffer number `slot`",
    typed=lambda slot, dtype, shape, device: TensorType(dtype, shape, device),
)

scalar = Source(
    "scalar",
    reference=_from_outside,
    vjp=None,
    attributes=("slot", "source", "dtype"),
    doc="the run-time number `slot` among the floats or the ints, cast to `dtype`",
    typed=lambda slot, source, dtype: TensorType(dtype, (), ANYWHERE),
)


def number_of(text: str, dtype: DType) -> Any:
    """The number that a constant's text stands for."""
    return float(text) if dtype.is_float else bool(int(text)) if dtype is bool_ else int(text)


def text_of(value: float, dtype: DType) -> str:
    """The text of a constant; numbers are brought into the range of the type, as by a cast."""
    if dtype.is_float:
        return repr(float(value))
    if dtype is bool_:
        return str(int(bool(value)))
    if isinstance(value, float):
        return str(int(clamped(np.asarray(value), dtype.storage)))
    wrapped = int(value) & ((1 << dtype.bits) - 1)
    negative = dtype.kind == "i" and wrapped >> (dtype.bits - 1)
    return str(wrapped - (1 << dtype.bits) if negative else wrapped)


constant = Source(
    "constant",
    reference=lambda text, dtype: np.asarray(number_of(text, dtype), dtype.storage),
    vjp=None,
    attributes=("text", "dtype"),
    doc="a number that belongs to the program; text, so that -0.0, inf and nan are told apart",
    typed=lambda text, dtype: TensorType(dtype, (), ANYWHERE),
)


def _ramp_type(axis: int, shape: Shape, dtype: DType) -> TensorType:
    if not 0 <= axis < len(shape):
        raise ShapeError(located(f"iota: axis {axis} of a tensor with {len(shape)} axes"))
    return TensorType(dtype, shape, ANYWHERE)


def _ramp(axis: int, shape: Shape, dtype: DType) -> Any:
    ramp = np.arange(shape[axis]).astype(dtype.storage)
    extents = tuple(shape[axis] if i == axis else 1 for i in range(len(shape)))
    return np.broadcast_to(ramp.reshape(extents), shape)


iota = Source(
    "iota",
    reference=_ramp,
    vjp=None,
    attributes=("axis", "shape", "dtype"),
    doc="the index along `axis`, cast to `dtype`",
    typed=_ramp_type,
)


def constant_of(value: float, dtype: DType) -> Node:
    """The 0-d constant `value`."""
    return node(constant, (), (text_of(value, dtype), dtype))


def constant_like(value: float, like: Node) -> Node:
    """The 0-d constant `value` in the element type of `like`."""
    return constant_of(value, like.dtype)


def number_in(number: Node | float, dtype: DType) -> Node:
    """`number`, known now, read when the program runs or a 0-d operand, in the type `dtype`."""
    if not isinstance(number, Node):
        return constant_of(number, dtype)
    if number.op is scalar:
        slot, source, _ = number.attrs
        return node(scalar, (), (slot, source, dtype))
    if not is_plain(number):
        return cast_to(number, dtype)
    text, stated = number.attrs
    return constant_of(number_of(text, stated), dtype)


def is_plain(number: Node | float) -> bool:
    """Whether `number` is one of Python's, and no tensor in place of one."""
    return not isinstance(number, Node) or number.op in (scalar, constant)


def is_number(number: Node | float, value: float) -> bool:
    """Whether `number` is known now, and `value`."""
    if not isinstance(number, Node):
        return number == value
    return number.op is constant and bool(number_of(*number.attrs) == value)


def full(value: float, shape: Shape, dtype: DType) -> Node:
    """`value` everywhere."""
    return movement.broadcast(constant_of(value, dtype), shape)
