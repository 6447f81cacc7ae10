"""Memory of tensors: aligned blocks that are handed back to a pool, and typed views of them."""

from __future__ import annotations

import gc
from collections.abc import Callable
from typing import Any

import numpy as np

from .dtypes import DType
from .ir import Shape

ALIGNMENT = 64
POOL_LIMIT = 256 << 20

Block = tuple[np.ndarray[Any, Any], int]


class Pool:
    """Freed blocks by size, at most `limit` bytes of them."""

    def __init__(self, limit: int = POOL_LIMIT) -> None:
        self.limit = limit
        self.held = 0
        self._free: dict[int, list[Block]] = {}

    def take(self, nbytes: int) -> Block:
        """A block of at least `nbytes`, aligned to 64 bytes: its memory and its address."""
        return self.take_size(rounded(nbytes))

    def take_size(self, size: int) -> Block:
        """A block of `size` bytes, which is `rounded`."""
        free = self._free.get(size)
        if free:
            try:
                block = free.pop()
            except IndexError:  # another thread was faster
                return _new_block(size)
            self.held -= size
            return block
        return _new_block(size)

    def give(self, block: Block) -> None:
        """Keep `block` for the next one who needs its size. Runs in any thread; takes no lock."""
        size = block[0].nbytes
        if self.held + size <= self.limit:
            self.held += size
            self._free.setdefault(size, []).append(block)

    def clear(self) -> None:
        """Forget all free blocks."""
        self._free, self.held = {}, 0


def rounded(nbytes: int) -> int:
    """Sizes in steps of 64 bytes, and of an eighth of their magnitude above 4 KiB."""
    step = max(ALIGNMENT, 1 << max(nbytes.bit_length() - 4, 0)) if nbytes > 4096 else ALIGNMENT
    return max(-(-nbytes // step) * step, ALIGNMENT)


def _new_block(size: int) -> Block:
    try:
        raw = np.empty(size + ALIGNMENT, np.uint8)
    except MemoryError:
        give_back()
        raw = np.empty(size + ALIGNMENT, np.uint8)
    address = raw.__array_interface__["data"][0]
    start = -address % ALIGNMENT
    return raw[start : start + size], address + start


POOL = Pool()

RESERVES: list[Callable[[], object]] = [POOL.clear, gc.collect]
"""What lets go of memory that is only kept to be used again."""


def give_back() -> None:
    """Let go of all memory that nobody needs: there is no more to be had."""
    for each in RESERVES:
        each()


class Buffer:
    """The elements of one tensor, row-major without gaps, on the host.

    `pointer` is the address of the first element. A buffer is never written after it was filled;
    its block goes back to the pool when the buffer dies, unless a view of it was handed out.
    """

    __slots__ = ("__weakref__", "_block", "_keep", "_owned", "pointer")

    device = "cpu"

    def __init__(self, nbytes: int) -> None:
        self._block = POOL.take(nbytes)
        self.pointer = self._block[1]
        self._owned = True
        self._keep: Any = None

    @classmethod
    def of_size(cls, size: int) -> Buffer:
        """A buffer of `size` bytes, which is `rounded`; the quickest way to get one."""
        made = cls.__new__(cls)
        made._block = block = POOL.take_size(size)
        made.pointer = block[1]
        made._owned = True
        made._keep = None
        return made

    @classmethod
    def copied(cls, array: np.ndarray[Any, Any]) -> Buffer:
        """A buffer with the elements of `array`, in its dtype."""
        made = cls(array.nbytes)
        view = made._block[0][: array.nbytes].view(array.dtype)
        np.copyto(view.reshape(array.shape), array)
        return made

    @classmethod
    def around(cls, array: np.ndarray[Any, Any]) -> Buffer:
        """A buffer on the memory of a contiguous `array`: what changes there changes here."""
        assert array.flags.c_contiguous
        made = cls.__new__(cls)
        address = array.__array_interface__["data"][0]
        made._block = (array.reshape(-1).view(np.uint8) if array.size else array, address)
        made.pointer, made._owned, made._keep = address, False, array
        return made

    def array(self, dtype: DType, shape: Shape) -> np.ndarray[Any, Any]:
        """The elements as a NumPy array of the storage type, for use while this buffer is held."""
        count = 1
        for extent in shape:
            count *= extent
        flat = self._block[0][: count * dtype.itemsize]
        return flat.view(dtype.storage).reshape(shape)

    def exported(self, dtype: DType, shape: Shape) -> np.ndarray[Any, Any]:
        """The elements as a read-only NumPy array that may outlive this buffer."""
        self._owned = False
        view = self.array(dtype, shape)
        view.flags.writeable = False
        return view

    def __del__(self) -> None:
        try:
            if self._owned:
                POOL.give(self._block)
        except AttributeError:  # not filled yet, or Python ends and the pool is gone
            pass
