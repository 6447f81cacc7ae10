"""What users hand in as data, as arrays of gradc's types."""

from __future__ import annotations

import sys
import warnings
from typing import Any

import numpy as np

from .dtypes import DType, as_dtype, bfloat16, default_float, default_int, float64, int64
from .errors import DTypeError, located
from .interpret import to_storage
from .ops.kinds import clamped

Array = np.ndarray[Any, Any]


def as_stored(data: Any, dtype: Any = None) -> tuple[Array, DType]:
    """`data` as an array in the storage type of `dtype`.

    Without `dtype`, Python numbers and NumPy's float64 and int64 take the default types.
    """
    data = unmasked(data)
    try:
        array = np.asarray(data)
    except ValueError as error:
        raise ValueError(located(f"expected numbers in a regular shape: {error}")) from None
    if array.dtype.kind not in "biuf":
        _refuse(array)
    wanted = None if dtype is None else as_dtype(dtype)
    array = native(array)
    kind = wanted or narrowed(array)
    check_range(array, kind)
    if kind is bfloat16:
        return to_storage(array.astype(np.float32), kind), kind
    if array.dtype.kind == "f" and kind.kind in "iu":
        return clamped(array, kind.storage), kind
    return array.astype(kind.storage, copy=False), kind


def unmasked(data: Any) -> Any:
    """`data`, or, of a masked array of floats, an array with NaN for what is masked, and a warning.

    Raises:
        DTypeError: for masked integers, and masked arrays in lists.
    """
    masked: Any = getattr(sys.modules.get("numpy.ma"), "MaskedArray", None)
    if masked is None or not _holds(data, masked):
        return data
    if isinstance(data, masked) and not data.mask.any():
        return data.data
    if isinstance(data, masked) and data.dtype.kind == "f":
        warnings.warn(located("a masked array: what is masked becomes NaN"), stacklevel=2)
        return data.filled(np.nan)
    expected = "expected an array whose elements all have values, found a masked array"
    raise DTypeError(located(f"{expected}: write its filled(...), or its data"))


def _holds(data: Any, kind: type) -> bool:
    if not isinstance(data, (list, tuple)):
        return isinstance(data, kind)
    kinds = set(map(type, data))
    return not kinds <= PLAIN and any(_holds(each, kind) for each in data)


PLAIN = frozenset((int, float, bool))


def native(array: Array) -> Array:
    """`array` in the byte order of this machine."""
    return array if array.dtype.isnative else array.astype(array.dtype.newbyteorder("="))


def _refuse(array: Array) -> None:
    """Raise an error that names what is no number, or too large a one."""
    objects = array.ravel().tolist() if array.dtype.kind == "O" else []
    odd = [each for each in objects if not isinstance(each, int)]
    if objects and not odd:
        raise OverflowError(located(f"expected integers of 64 bits, found {max(objects, key=abs)}"))
    strange = [each for each in odd if not isinstance(each, (float, np.number))]
    found = type((strange or odd)[0]).__name__ if odd else array.dtype
    raise DTypeError(located(f"expected real numbers, found {found}"))


def check_range(array: Array, kind: DType) -> None:
    """Refuse integers that `kind`, a type of integers, cannot hold.

    Raises:
        OverflowError: naming one of them.
    """
    if array.dtype.kind not in "iu" or kind.is_float or np.dtype(kind.storage).kind not in "iu":
        return
    if not array.size or np.can_cast(array.dtype, kind.storage):
        return
    limits = np.iinfo(kind.storage)
    for extreme in (int(array.min()), int(array.max())):
        if not limits.min <= extreme <= limits.max:
            message = f"expected integers of {kind.name} ({limits.min} to {limits.max}), found"
            raise OverflowError(located(f"{message} {extreme}"))


def narrowed(array: Array) -> DType:
    """The type that `array` takes by default."""
    if array.dtype == np.float64 or (array.dtype.kind == "f" and array.dtype.itemsize > 8):
        return default_float()
    if array.dtype in (np.int64, np.uint64, np.uint32, np.uint16):
        return default_int()
    return as_dtype(array.dtype)


def beside(data: Any, like: DType) -> tuple[Array, DType]:
    """`data` as an operand beside a tensor of `like`: not narrowed where that is wide itself."""
    data = unmasked(data)
    array = native(np.asarray(data))
    if like in (float64, int64) and array.dtype == like.storage:
        return array, like
    return as_stored(array)
