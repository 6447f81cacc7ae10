"""Memory of a CUDA device, and the copies between it and NumPy arrays."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import numpy as np
import numpy.typing as npt

from .cuda import FFI_DRIVER, CudaError, Device


def host_pointer(array: npt.NDArray[Any], *, writable: bool = False) -> Any:
    """The address of an array's bytes for a copy; the array must be contiguous."""
    if not array.flags.c_contiguous:
        raise ValueError(f"expected a C-contiguous array, found strides {array.strides}")
    return FFI_DRIVER.from_buffer(array.reshape(-1).view(np.uint8), require_writable=writable)


class DeviceMemory:
    """A piece of device memory at `address`, freed with its object.

    Copies wait until they are done, but for no stream: whoever copies knows that the memory is at
    rest.
    """

    def __init__(self, device: Device, nbytes: int) -> None:
        self.device = device
        self.nbytes = nbytes
        self.address = 0
        self.address = int(device.query("CUdeviceptr *", "cuMemAlloc_v2", max(nbytes, 1)))

    def write(self, array: npt.NDArray[Any], offset: int = 0) -> None:
        """Copy an array into the memory, from byte `offset` on."""
        place = self._place(offset, array.nbytes)
        if array.nbytes:
            self.device.call("cuMemcpyHtoD_v2", place, host_pointer(array), array.nbytes)

    def read(self, array: npt.NDArray[Any], offset: int = 0) -> None:
        """Fill an array from the memory, from byte `offset` on."""
        place = self._place(offset, array.nbytes)
        if array.nbytes:
            pointer = host_pointer(array, writable=True)
            self.device.call("cuMemcpyDtoH_v2", pointer, place, array.nbytes)

    def copy_from(self, other: DeviceMemory) -> None:
        """Copy the other memory, of the same device, to the beginning of this one."""
        place = self._place(0, other.nbytes)
        if other.nbytes:
            source = other._place(0, other.nbytes)
            self.device.call("cuMemcpyDtoD_v2", place, source, other.nbytes)

    def fill(self, byte: int) -> None:
        """Set every byte."""
        place = self._place(0, self.nbytes)
        if self.nbytes:
            self.device.call("cuMemsetD8_v2", place, byte, self.nbytes)

    def free(self) -> None:
        """Give the memory back, once the device is done with it; a second call does nothing."""
        address, self.address = self.address, 0
        if address:
            self.device.call("cuMemFree_v2", address)

    def _place(self, offset: int, nbytes: int) -> int:
        if not self.address:
            raise ValueError("this device memory has been freed")
        if offset < 0 or offset + nbytes > self.nbytes:
            raise ValueError(
                f"bytes {offset} to {offset + nbytes} of memory that has {self.nbytes}"
            )
        return self.address + offset

    def __del__(self) -> None:
        if getattr(self, "address", 0):
            with suppress(CudaError):
                self.free()
