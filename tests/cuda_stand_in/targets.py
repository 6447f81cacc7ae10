"""Where a test's kernels run: the stand-in, or a device of NVIDIA's where the machine has one."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from gradc.runtime.cuda import Device, Driver
from gradc.runtime.cuda_compile import find_compiler
from gradc.runtime.cuda_memory import DeviceMemory
from gradc.runtime.cuda_program import CudaProgram, DeviceError, Launch

from . import compile_module, library_path

PRELUDE = Path(__file__).parents[2] / "templates" / "cuda" / "gradc.cuh"
KERNELS = Path(__file__).parents[1] / "cuda" / "kernels"


def kernel_source(name: str) -> str:
    """The text of tests/cuda/kernels/<name>.cu after the prelude, as generated sources are."""
    text = (KERNELS / f"{name}.cu").read_text(encoding="utf-8")
    return f"{PRELUDE.read_text(encoding='utf-8')}\n{text}"


@dataclass(frozen=True)
class Target:
    """A device, and the compiler of its images."""

    device: Device
    compile: Callable[[str], bytes]

    def program(
        self, source: str, launches: Sequence[Launch], buffers: int, floats: int, ints: int
    ) -> CudaProgram:
        """Compile a text and load it."""
        return CudaProgram(
            self.device,
            self.compile(source),
            launches,
            buffer_count=buffers,
            float_count=floats,
            int_count=ints,
        )

    def run(
        self,
        source: str,
        launches: Sequence[Launch] | Launch,
        arrays: Sequence[np.ndarray[Any, Any]],
        ints: Sequence[int] = (),
        floats: Sequence[float] = (),
    ) -> DeviceError | None:
        """Run once on copies of the arrays, and bring the copies back into them."""
        several = [launches] if isinstance(launches, Launch) else launches
        program = self.program(source, several, len(arrays), len(floats), len(ints))
        memories = self.upload(arrays)
        error = program.run([each.address for each in memories], floats, ints)
        for memory, array in zip(memories, arrays, strict=True):
            memory.read(array)
        return error

    def upload(self, arrays: Sequence[np.ndarray[Any, Any]]) -> list[DeviceMemory]:
        """Copies of arrays on the device."""
        memories = [DeviceMemory(self.device, array.nbytes) for array in arrays]
        for memory, array in zip(memories, arrays, strict=True):
            memory.write(array)
        return memories


def stand_in_target(*, sanitize: bool = False) -> Target:
    """The stand-in and g++."""
    device = Device(Driver(library_path()))
    return Target(device, lambda source: compile_module(source, sanitize=sanitize))


def device_target(scratch: Path) -> Target:
    """The machine's own device, and the compiler that users have."""
    device = Device(Driver())
    compiler = find_compiler()

    def compile_source(source: str) -> bytes:
        path = scratch / "source.cu"
        path.write_text(source, encoding="utf-8")
        return compiler.compile(path, device.architecture)

    return Target(device, compile_source)
