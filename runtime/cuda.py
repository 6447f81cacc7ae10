"""The CUDA driver, opened by cffi at run time: no toolkit, no headers, nothing linked.

Every call is checked: where one fails, CudaError names the call and the error.
"""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from cffi import FFI

from ..tracer.errors import GradcError
from .cuda_interface import (
    COMPUTE_CAPABILITY_MAJOR,
    COMPUTE_CAPABILITY_MINOR,
    DEFAULT_SHARED_BYTES,
    DRIVER_INTERFACE,
    MAX_DYNAMIC_SHARED_SIZE_BYTES,
    MULTIPROCESSOR_COUNT,
)

FFI_DRIVER: Any = FFI()  # what it makes has no types
FFI_DRIVER.cdef(DRIVER_INTERFACE)

MAX_NAME_BYTES = 256


class CudaUnavailableError(GradcError, RuntimeError):
    """This machine has no CUDA driver or no device; the message says what is missing."""


class CudaError(GradcError, RuntimeError):
    """A call of the driver, `operation`, failed with the error `name`, whose number is `code`."""

    def __init__(self, operation: str, code: int, name: str, description: str) -> None:
        super().__init__(f"{operation}: {name} ({code}): {description}")
        self.operation = operation
        self.code = code
        self.name = name


class Driver:
    """The loaded driver library: `library`, else what GRADC_LIBCUDA names, else libcuda.so.1."""

    def __init__(self, library: str | None = None) -> None:
        path = library or os.environ.get("GRADC_LIBCUDA") or "libcuda.so.1"
        try:
            self._library = FFI_DRIVER.dlopen(path)
        except OSError as error:
            raise CudaUnavailableError(f"no CUDA driver: {error}") from error
        try:
            self.call("cuInit", 0)
        except CudaError as error:
            raise CudaUnavailableError(f"the CUDA driver does not start: {error}") from error

    def call(self, operation: str, *arguments: Any) -> None:
        """Call a function by its exported name; raise CudaError unless it succeeds."""
        code = self._function(operation)(*arguments)
        if code:
            name = self._text("cuGetErrorName", code) or "an error that the driver cannot name"
            raise CudaError(operation, code, name, self._text("cuGetErrorString", code))

    def query(self, result: str, operation: str, *arguments: Any) -> Any:
        """Call a function that stores its result through its first argument, as in "int *"."""
        cell = FFI_DRIVER.new(result)
        self.call(operation, cell, *arguments)
        return cell[0]

    @property
    def version(self) -> tuple[int, int]:
        """The newest CUDA version that the driver knows."""
        number = self.query("int *", "cuDriverGetVersion")
        return number // 1000, number % 1000 // 10

    @property
    def device_count(self) -> int:
        """How many devices there are."""
        return int(self.query("int *", "cuDeviceGetCount"))

    def _function(self, operation: str) -> Any:
        try:
            return getattr(self._library, operation)
        except AttributeError as error:
            raise CudaUnavailableError(f"the CUDA driver is too old: no {operation}") from error

    def _text(self, operation: str, code: int) -> str:
        cell = FFI_DRIVER.new("const char **")
        getattr(self._library, operation)(code, cell)
        return str(FFI_DRIVER.string(cell[0]).decode()) if cell[0] else ""


class Device:
    """A device and its primary context, which all libraries of the process share."""

    def __init__(self, driver: Driver, ordinal: int = 0) -> None:
        if driver.device_count == 0:
            raise CudaUnavailableError("the CUDA driver sees no device")
        self.driver = driver
        self.ordinal = ordinal
        self._handle = driver.query("CUdevice *", "cuDeviceGet", ordinal)
        self._context = driver.query("CUcontext *", "cuDevicePrimaryCtxRetain", self._handle)

    def call(self, operation: str, *arguments: Any) -> None:
        """Call the driver with this device's context current in the calling thread."""
        self.driver.call("cuCtxSetCurrent", self._context)
        self.driver.call(operation, *arguments)

    def query(self, result: str, operation: str, *arguments: Any) -> Any:
        """As Driver.query, with this device's context current in the calling thread."""
        self.driver.call("cuCtxSetCurrent", self._context)
        return self.driver.query(result, operation, *arguments)

    @property
    def name(self) -> str:
        """What the vendor calls the device."""
        text = FFI_DRIVER.new("char[]", MAX_NAME_BYTES)
        self.driver.call("cuDeviceGetName", text, MAX_NAME_BYTES, self._handle)
        return str(FFI_DRIVER.string(text).decode())

    @property
    def architecture(self) -> str:
        """The instruction set to compile for, as in "sm_90"."""
        major = self._attribute(COMPUTE_CAPABILITY_MAJOR)
        return f"sm_{major}{self._attribute(COMPUTE_CAPABILITY_MINOR)}"

    @property
    def multiprocessor_count(self) -> int:
        """How many blocks, at the least, run at the same time."""
        return self._attribute(MULTIPROCESSOR_COUNT)

    def free_bytes(self) -> int:
        """The device memory that nobody has taken."""
        cells = FFI_DRIVER.new("size_t[2]")
        self.call("cuMemGetInfo_v2", cells, cells + 1)
        return int(cells[0])

    def synchronize(self) -> None:
        """Wait for all work on the device."""
        self.call("cuCtxSynchronize")

    def close(self) -> None:
        """Give the context back; what was made on the device is unusable afterwards."""
        self.driver.call("cuDevicePrimaryCtxRelease_v2", self._handle)

    def _attribute(self, number: int) -> int:
        return int(self.driver.query("int *", "cuDeviceGetAttribute", number, self._handle))


class Module:
    """Kernels loaded on a device from a cubin or, for the driver to compile, from PTX."""

    def __init__(self, device: Device, image: bytes) -> None:
        self.device = device
        self._handle: Any = None
        terminated = FFI_DRIVER.new("char[]", image)  # PTX is text, and ends with a zero
        self._handle = device.query("CUmodule *", "cuModuleLoadData", terminated)

    def kernel(self, name: str, shared_bytes: int = 0) -> Kernel:
        """The kernel of that name, allowed to be launched with `shared_bytes` of shared memory."""
        function = self.device.query(
            "CUfunction *", "cuModuleGetFunction", self._handle, name.encode()
        )
        if shared_bytes > DEFAULT_SHARED_BYTES:
            attribute = MAX_DYNAMIC_SHARED_SIZE_BYTES
            self.device.call("cuFuncSetAttribute", function, attribute, shared_bytes)
        return Kernel(self, function)

    def unload(self) -> None:
        """Drop the kernels, which must not run any more; a second call does nothing."""
        handle, self._handle = self._handle, None
        if handle:
            self.device.call("cuModuleUnload", handle)

    def __del__(self) -> None:
        if getattr(self, "_handle", None):
            with suppress(CudaError):
                self.unload()


class Arguments:
    """Device pointers in the form in which a launch takes them: addresses of values."""

    def __init__(self, *pointers: int) -> None:
        self._values = FFI_DRIVER.new("CUdeviceptr[]", pointers)
        self.table = FFI_DRIVER.new(
            "void *[]", [self._values + place for place in range(len(pointers))]
        )


@dataclass(frozen=True)
class Kernel:
    """A function of a module, which it keeps loaded."""

    module: Module
    handle: Any
