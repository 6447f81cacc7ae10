"""Run one kernel of faults.cu on the stand-in, in a process that may crash."""

import ctypes
import sys

from cuda_stand_in.targets import kernel_source, stand_in_target
from gradc.runtime.cuda_memory import DeviceMemory
from gradc.runtime.cuda_program import Launch

THREADS = 64


def main(option: str, kernel: str) -> None:
    target = stand_in_target(sanitize=option == "--sanitize")
    memory = DeviceMemory(target.device, 4 * THREADS)
    launch = Launch(kernel, (1, 1, 1), (THREADS, 1, 1))
    program = target.program(kernel_source("faults"), [launch], buffers=1, floats=0, ints=1)
    program.run([memory.address], ints=[THREADS])
    print("kernel ran", flush=True)
    if option == "--dereference":
        ctypes.string_at(memory.address, 1)


if __name__ == "__main__":
    main(*sys.argv[1:])
