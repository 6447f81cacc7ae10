"""Streams of a CUDA device: work in order, captured into graphs, and timed."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any

import numpy.typing as npt

from .cuda import FFI_DRIVER, Arguments, CudaError, Device, Kernel
from .cuda_interface import CAPTURE_THREAD_LOCAL, STREAM_NON_BLOCKING
from .cuda_memory import host_pointer


class Stream:
    """Work that the device does in order, while the caller goes on."""

    def __init__(self, device: Device) -> None:
        self.device = device
        self._handle: Any = None
        self._handle = device.query("CUstream *", "cuStreamCreate", STREAM_NON_BLOCKING)

    def launch(
        self,
        kernel: Kernel,
        grid: tuple[int, int, int],
        block: tuple[int, int, int],
        shared_bytes: int,
        arguments: Arguments,
    ) -> None:
        """Launch a kernel: the grid in blocks, the block in threads."""
        self.device.call(
            "cuLaunchKernel",
            kernel.handle,
            *grid,
            *block,
            shared_bytes,
            self._handle,
            arguments.table,
            FFI_DRIVER.NULL,
        )

    def write(self, address: int, array: npt.NDArray[Any]) -> None:
        """Copy an array, which must stay as it is until synchronize(), to device memory."""
        pointer = host_pointer(array)
        self.device.call("cuMemcpyHtoDAsync_v2", address, pointer, array.nbytes, self._handle)

    def read(self, array: npt.NDArray[Any], address: int) -> None:
        """Fill an array from device memory; it holds the bytes after synchronize()."""
        pointer = host_pointer(array, writable=True)
        self.device.call("cuMemcpyDtoHAsync_v2", pointer, address, array.nbytes, self._handle)

    def synchronize(self) -> None:
        """Wait for the work; what went wrong in kernels comes out here."""
        self.device.call("cuStreamSynchronize", self._handle)

    def capture(self, submit: Callable[[], None]) -> Graph:
        """Make a graph of the work that `submit` puts on this stream; nothing of it runs yet."""
        captured = FFI_DRIVER.new("CUgraph *")
        try:
            self._capture_into(captured, submit)
            return Graph(self.device, captured[0])
        finally:
            if captured[0]:
                self.device.call("cuGraphDestroy", captured[0])

    def replay(self, graph: Graph) -> None:
        """Do what was captured, as one submission."""
        self.device.call("cuGraphLaunch", graph.handle, self._handle)

    def mark(self) -> Mark:
        """Note the time at which the device gets here."""
        mark = Mark(self.device)
        self.device.call("cuEventRecord", mark.handle, self._handle)
        return mark

    def _capture_into(self, captured: Any, submit: Callable[[], None]) -> None:
        self.device.call("cuStreamBeginCapture_v2", self._handle, CAPTURE_THREAD_LOCAL)
        try:
            submit()
        finally:
            self.device.call("cuStreamEndCapture", self._handle, captured)

    def __del__(self) -> None:
        if getattr(self, "_handle", None):
            with suppress(CudaError):
                self.device.call("cuStreamDestroy_v2", self._handle)


class Graph:
    """Captured work, ready to be replayed; what it uses must stay where it is."""

    def __init__(self, device: Device, captured: Any) -> None:
        self._device = device
        self.handle: Any = None
        self.handle = device.query("CUgraphExec *", "cuGraphInstantiateWithFlags", captured, 0)

    def __del__(self) -> None:
        if getattr(self, "handle", None):
            with suppress(CudaError):
                self._device.call("cuGraphExecDestroy", self.handle)


class Mark:
    """A point in a stream's work, and the time at which the device reached it."""

    def __init__(self, device: Device) -> None:
        self._device = device
        self.handle: Any = None
        self.handle = device.query("CUevent *", "cuEventCreate", 0)

    def milliseconds_since(self, earlier: Mark) -> float:
        """Device time between two marks; waits until this one is reached."""
        self._device.call("cuEventSynchronize", self.handle)
        query = self._device.query
        return float(query("float *", "cuEventElapsedTime", earlier.handle, self.handle))

    def __del__(self) -> None:
        if getattr(self, "handle", None):
            with suppress(CudaError):
                self._device.call("cuEventDestroy_v2", self.handle)
