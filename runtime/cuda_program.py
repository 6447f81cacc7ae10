"""A compiled program on a CUDA device: kernels launched in order, all with the same four arguments.

The arguments are addresses in one piece of device memory, the call record, which holds

    the addresses of the caller's buffers, then that of the arena   (uint64)
    the real numbers of the call                                    (float64)
    the whole numbers of the call                                   (int64)
    the first error                                                 (ERROR_RECORD)

and is written anew for each call. The launches themselves never change, so from the second call on
they are replayed as a captured graph, whatever buffers are given.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..tracer.locks import new_lock
from .cuda import Arguments, Device, Kernel, Module
from .cuda_memory import DeviceMemory
from .cuda_stream import Graph, Stream

ERROR_RECORD = np.dtype(
    [("code", "<i4"), ("node", "<i4"), ("position", "<i8"), ("found", "<i8"), ("bound", "<i8")]
)
WORD = 8


@dataclass(frozen=True)
class Launch:
    """A kernel and its extents: the grid in blocks, the block in threads, dynamic shared memory."""

    kernel: str
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    shared_bytes: int = 0


@dataclass(frozen=True)
class DeviceError:
    """What a kernel found wrong with its data: at `position`, `found` is not below `bound`, say."""

    code: int
    node: int
    position: int
    found: int
    bound: int


class CudaProgram:
    """A module and its launches, with memory for intermediate values. Calls take turns."""

    def __init__(
        self,
        device: Device,
        image: bytes,
        launches: Sequence[Launch],
        *,
        buffer_count: int,
        float_count: int = 0,
        int_count: int = 0,
        arena_bytes: int = 0,
    ) -> None:
        module = Module(device, image)
        most_shared: dict[str, int] = {}
        for each in launches:
            most_shared[each.kernel] = max(each.shared_bytes, most_shared.get(each.kernel, 0))
        kernels = {name: module.kernel(name, shared) for name, shared in most_shared.items()}
        self._launches: list[tuple[Kernel, Launch]] = [
            (kernels[each.kernel], each) for each in launches
        ]
        self._arena = DeviceMemory(device, arena_bytes)
        self._record = _CallRecord(device, buffer_count, float_count, int_count)
        self._record.pointers[buffer_count] = self._arena.address
        self._stream = Stream(device)
        self._graph: Graph | None = None
        self._has_run = False
        self._lock = new_lock()

    def run(
        self, buffers: Sequence[int], floats: Sequence[float] = (), ints: Sequence[int] = ()
    ) -> DeviceError | None:
        """Run on buffers given by device address; return, when done, the first error found."""
        with self._lock:
            self._record.fill(buffers, floats, ints)
            self._stream.write(self._record.memory.address, self._record.host)
            self._submit()
            self._stream.read(self._record.error, self._record.error_address)
            self._stream.synchronize()
            return self._record.found_error()

    def _submit(self) -> None:
        if not self._has_run:  # a program that runs once is not worth a graph
            self._launch_all()
            self._has_run = True
            return
        if self._graph is None:
            self._graph = self._stream.capture(self._launch_all)
        self._stream.replay(self._graph)

    def _launch_all(self) -> None:
        for kernel, each in self._launches:
            self._stream.launch(
                kernel, each.grid, each.block, each.shared_bytes, self._record.arguments
            )


class _CallRecord:
    """The call record: views of its parts on the host, and its place on the device."""

    def __init__(self, device: Device, buffer_count: int, float_count: int, int_count: int) -> None:
        first_float = WORD * (buffer_count + 1)
        first_int = first_float + WORD * float_count
        error = first_int + WORD * int_count
        self.host = np.zeros(error + ERROR_RECORD.itemsize, np.uint8)
        self.pointers = self.host[:first_float].view(np.uint64)
        self._floats = self.host[first_float:first_int].view(np.float64)
        self._ints = self.host[first_int:error].view(np.int64)
        self.error = np.zeros((), ERROR_RECORD)
        self.memory = DeviceMemory(device, self.host.nbytes)
        self.error_address = self.memory.address + error
        self.arguments = Arguments(
            *(self.memory.address + offset for offset in (0, first_float, first_int, error))
        )

    def fill(self, buffers: Sequence[int], floats: Sequence[float], ints: Sequence[int]) -> None:
        """Take over the values of one call."""
        parts = (
            ("buffers", self.pointers[:-1], buffers),
            ("floats", self._floats, floats),
            ("ints", self._ints, ints),
        )
        for name, part, values in parts:
            if len(values) != len(part):
                raise ValueError(f"expected {len(part)} {name}, found {len(values)}")
            part[:] = values

    def found_error(self) -> DeviceError | None:
        """The error that the device has stored, once it has been read."""
        return DeviceError(*self.error.item()) if self.error["code"] else None
