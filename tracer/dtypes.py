"""Element types, their promotion, and the default types of new tensors."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from .errors import DTypeError, located


@dataclass(frozen=True, slots=True, eq=False)
class DType:
    """An element type.

    `kind` is one of "b" (bool), "i" (signed), "u" (unsigned), "f" (floating); `storage` is the
    NumPy dtype that holds its bytes (bfloat16 is kept in uint16), `bits` the width of one element.
    """

    name: str
    kind: str
    bits: int
    storage: np.dtype[Any]

    @property
    def itemsize(self) -> int:
        """Bytes of one element."""
        return self.storage.itemsize

    @property
    def is_float(self) -> bool:
        """Whether values of this type can be differentiated."""
        return self.kind == "f"

    @property
    def public(self) -> np.dtype[Any] | DType:
        """What a user sees as `tensor.dtype`: NumPy's dtype where there is one."""
        return self if self is bfloat16 else self.storage

    def __repr__(self) -> str:
        return f"gradc.{self.name}"

    def __reduce__(self) -> str:
        return "bool_" if self is bool_ else self.name


bool_ = DType("bool", "b", 1, np.dtype(np.bool_))
uint8 = DType("uint8", "u", 8, np.dtype(np.uint8))
int8 = DType("int8", "i", 8, np.dtype(np.int8))
int16 = DType("int16", "i", 16, np.dtype(np.int16))
int32 = DType("int32", "i", 32, np.dtype(np.int32))
int64 = DType("int64", "i", 64, np.dtype(np.int64))
float16 = DType("float16", "f", 16, np.dtype(np.float16))
bfloat16 = DType("bfloat16", "f", 16, np.dtype(np.uint16))
float32 = DType("float32", "f", 32, np.dtype(np.float32))
float64 = DType("float64", "f", 64, np.dtype(np.float64))

DTYPES: dict[str, DType] = {
    each.name: each
    for each in (
        *(bool_, uint8, int8, int16, int32, int64),
        *(float16, bfloat16, float32, float64),
    )
}
_OF_NUMPY = {each.storage: each for each in DTYPES.values() if each is not bfloat16}
_default = {"float": float32}


def default_float() -> DType:
    """The type that Python floats, true division and means of integers take."""
    return _default["float"]


def default_int() -> DType:
    """The type that Python integers take: int64 beside float64, else int32."""
    return int64 if _default["float"] is float64 else int32


def set_default_dtype(dtype: Any) -> None:
    """Set the floating type of new tensors and constants: "float32" (at the start) or "float64"."""
    chosen = as_dtype(dtype)
    if chosen not in (float32, float64):
        raise DTypeError(located(f"the default dtype is float32 or float64, not {chosen.name}"))
    _default["float"] = chosen


def as_dtype(dtype: Any) -> DType:
    """The DType that a name, a NumPy dtype or scalar type, or a DType stands for."""
    if isinstance(dtype, DType):
        return dtype
    if isinstance(dtype, str) and dtype in DTYPES:
        return DTYPES[dtype]
    try:
        found = None if dtype is None else _OF_NUMPY.get(np.dtype(dtype))
    except TypeError:
        found = None
    if found is None:
        names = ", ".join(DTYPES)
        raise DTypeError(located(f"expected one of the dtypes {names}, found {dtype!r}"))
    return found


@cache
def promote(a: DType, b: DType) -> DType:
    """The type of an operation on `a` and `b`.

    An integer with a float gives that float; float16 with bfloat16 gives float32; integers follow
    NumPy.
    """
    if a is b:
        return a
    if a.is_float and b.is_float:
        return float32 if a.bits == b.bits else max(a, b, key=lambda dtype: dtype.bits)
    if a.is_float or b.is_float:
        return a if a.is_float else b
    return _OF_NUMPY[np.promote_types(a.storage, b.storage)]


def accumulator(dtype: DType) -> DType:
    """The type of a sum of values of `dtype`: bool and small integers are summed in int32."""
    return int32 if dtype.kind in "biu" and dtype.bits < 32 else dtype
