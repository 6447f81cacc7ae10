"""The driver layer: memory, modules, streams, graphs, and what it says when something fails."""

import threading

import numpy as np
import pytest
from cuda_stand_in import library_path
from cuda_stand_in.targets import Target, kernel_source
from gradc.runtime.cuda import Arguments, CudaError, CudaUnavailableError, Device, Driver, Module
from gradc.runtime.cuda_memory import DeviceMemory
from gradc.runtime.cuda_program import Launch
from gradc.runtime.cuda_stream import Stream

ARITHMETIC = kernel_source("arithmetic")
ONE_BLOCK = (1, 1, 1), (32, 1, 1)


# ---- the library and its devices


def test_a_missing_driver_is_named() -> None:
    with pytest.raises(CudaUnavailableError, match=r"no CUDA driver: .*libnot_there"):
        Driver("libnot_there.so.1")


def test_the_environment_names_the_library(
    stand_in: Target, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GRADC_LIBCUDA", library_path())
    assert Device(Driver()).name == stand_in.device.name


def test_a_library_that_is_no_driver() -> None:
    with pytest.raises(CudaUnavailableError, match="too old: no cuInit"):
        Driver("libm.so.6")


def test_errors_carry_operation_and_name(stand_in: Target) -> None:
    with pytest.raises(CudaError, match="cuDeviceGet: CUDA_ERROR_INVALID_DEVICE") as caught:
        Device(stand_in.device.driver, 5)
    assert (caught.value.operation, caught.value.code) == ("cuDeviceGet", 101)
    assert caught.value.name == "CUDA_ERROR_INVALID_DEVICE"


def test_what_a_device_says_of_itself(target: Target) -> None:
    device = target.device
    assert device.name
    assert device.architecture.startswith("sm_")
    assert device.multiprocessor_count >= 1
    assert device.driver.version >= (11, 4)


def test_a_device_that_is_closed_leaves_others_alone(target: Target) -> None:
    Device(target.device.driver).close()
    target.device.synchronize()


# ---- memory


def test_arrays_come_back(target: Target) -> None:
    memory = DeviceMemory(target.device, 100)
    written, read = np.arange(20, dtype=np.uint8), np.zeros((4, 5), np.uint8)
    memory.write(written, offset=7)
    memory.read(read, offset=7)
    assert read.ravel().tolist() == written.tolist()


@pytest.mark.parametrize("value", [np.float64(2.5), np.array([], np.float32), np.array(True)])
def test_scalars_and_empty_arrays_come_back(target: Target, value: np.ndarray) -> None:
    array = np.asarray(value)
    memory, result = DeviceMemory(target.device, array.nbytes), np.zeros_like(array)
    memory.write(array)
    memory.read(result)
    np.testing.assert_array_equal(result, array)


def test_memory_to_memory(target: Target) -> None:
    first, second = DeviceMemory(target.device, 8), DeviceMemory(target.device, 8)
    first.fill(3)
    second.copy_from(first)
    result = np.zeros(8, np.uint8)
    second.read(result)
    assert result.tolist() == [3] * 8
    with pytest.raises(ValueError, match="bytes 0 to 9 of memory that has 8"):
        first.copy_from(DeviceMemory(target.device, 9))


def test_copies_beyond_the_end_are_refused(target: Target) -> None:
    memory = DeviceMemory(target.device, 16)
    with pytest.raises(ValueError, match="bytes 8 to 24 of memory that has 16"):
        memory.write(np.zeros(2), offset=8)
    with pytest.raises(ValueError, match="C-contiguous"):
        memory.write(np.zeros((2, 2), np.float32).T[:, :1].T[:, ::-1])
    frozen = np.zeros(2)
    frozen.flags.writeable = False
    with pytest.raises((ValueError, BufferError)):
        memory.read(frozen)


def test_freed_memory_is_refused(target: Target) -> None:
    memory = DeviceMemory(target.device, 16)
    memory.free()
    memory.free()
    with pytest.raises(ValueError, match="freed"):
        memory.fill(0)
    with pytest.raises(ValueError, match="freed"):
        memory.write(np.zeros(2))


def test_too_much_memory(target: Target) -> None:
    with pytest.raises(CudaError, match="CUDA_ERROR_OUT_OF_MEMORY"):
        DeviceMemory(target.device, 1 << 50)


def test_memory_is_freed_with_its_object(stand_in: Target) -> None:
    before = stand_in.device.free_bytes()
    memory = DeviceMemory(stand_in.device, 1 << 20)
    assert stand_in.device.free_bytes() == before - (1 << 20)
    del memory
    assert stand_in.device.free_bytes() == before


# ---- modules and launches


def test_an_image_that_is_none(target: Target) -> None:
    with pytest.raises(CudaError, match="cuModuleLoadData: CUDA_ERROR_"):
        Module(target.device, b"not an image")


def test_an_unknown_kernel(target: Target) -> None:
    module = Module(target.device, target.compile(ARITHMETIC))
    with pytest.raises(CudaError, match="cuModuleGetFunction: CUDA_ERROR_NOT_FOUND"):
        module.kernel("absent")


def test_more_shared_memory_than_the_default(target: Target) -> None:
    x = np.arange(1024, dtype=np.float64)
    expected = x[::-1].copy()
    launch = Launch("reverse_blocks", (1, 1, 1), (1024, 1, 1), shared_bytes=64 * 1024)
    target.run(kernel_source("matmul"), launch, [x])
    np.testing.assert_array_equal(x, expected)


# ---- streams and graphs


class Axpy:
    """y += a x on a stream, with its numbers in device memory."""

    def __init__(self, target: Target) -> None:
        self.device = target.device
        self.stream = Stream(self.device)
        self.kernel = Module(self.device, target.compile(ARITHMETIC)).kernel("axpy")
        x, y = np.arange(5, dtype=np.float32), np.zeros(5, np.float32)
        self.x, self.y = target.upload([x, y])
        table = np.array([self.x.address, self.y.address], np.uint64)
        self.memories = target.upload(
            [table, np.array([2.0]), np.array([5]), np.zeros(4, np.int64)]
        )
        self.arguments = Arguments(*(each.address for each in self.memories))

    def submit(self) -> None:
        self.stream.launch(self.kernel, *ONE_BLOCK, 0, self.arguments)

    def result(self) -> list[float]:
        self.stream.synchronize()
        y = np.zeros(5, np.float32)
        self.y.read(y)
        return y.tolist()


def test_launches_run_in_order(target: Target) -> None:
    axpy = Axpy(target)
    axpy.submit()
    axpy.submit()
    assert axpy.result() == [0, 4, 8, 12, 16]


def test_a_graph_repeats_what_was_captured(target: Target) -> None:
    axpy = Axpy(target)
    graph = axpy.stream.capture(axpy.submit)
    assert axpy.result() == [0] * 5, "capturing runs nothing"
    axpy.stream.replay(graph)
    axpy.stream.replay(graph)
    assert axpy.result() == [0, 4, 8, 12, 16]


def test_an_error_while_capturing_leaves_the_stream_usable(target: Target) -> None:
    axpy = Axpy(target)

    def fail() -> None:
        axpy.submit()
        raise KeyError("on purpose")

    with pytest.raises(KeyError):
        axpy.stream.capture(fail)
    axpy.submit()
    assert axpy.result() == [0, 2, 4, 6, 8]


def test_marks_measure_device_time(target: Target) -> None:
    axpy = Axpy(target)
    start = axpy.stream.mark()
    axpy.submit()
    assert axpy.stream.mark().milliseconds_since(start) > 0


# ---- programs


def test_a_program_takes_other_buffers_and_numbers_at_each_call(target: Target) -> None:
    launch = Launch("axpy", *ONE_BLOCK)
    program = target.program(ARITHMETIC, [launch, launch], buffers=2, floats=1, ints=1)
    for repeat in range(5):  # launched, captured, replayed
        x, y = np.full(4, repeat, np.float32), np.zeros(4, np.float32)
        memories = target.upload([x, y])
        program.run([each.address for each in memories], [0.5 + repeat], [4])
        memories[1].read(y)
        assert y.tolist() == [2 * repeat * (0.5 + repeat)] * 4


@pytest.mark.parametrize(
    ("buffers", "floats", "ints", "message"),
    [
        ([0], [1.0], [4], "expected 2 buffers, found 1"),
        ([0, 0], [], [4], "expected 1 floats, found 0"),
        ([0, 0], [1.0], [4, 4], "expected 1 ints, found 2"),
    ],
)
def test_a_program_counts_what_it_is_given(
    stand_in: Target, buffers: list[int], floats: list[float], ints: list[int], message: str
) -> None:
    launch = Launch("axpy", *ONE_BLOCK)
    program = stand_in.program(ARITHMETIC, [launch], buffers=2, floats=1, ints=1)
    with pytest.raises(ValueError, match=message):
        program.run(buffers, floats, ints)


def test_a_program_in_many_threads(target: Target) -> None:
    program = target.program(
        ARITHMETIC, [Launch("axpy", (8, 1, 1), (128, 1, 1))], buffers=2, floats=1, ints=1
    )
    results: list[np.ndarray] = []

    def call(factor: int) -> None:
        x, y = np.ones(1000, np.float32), np.zeros(1000, np.float32)
        memories = target.upload([x, y])
        for _ in range(10):
            program.run([each.address for each in memories], [factor], [1000])
        memories[1].read(y)
        results.append(y / factor)

    threads = [threading.Thread(target=call, args=(factor,)) for factor in (1, 2, 4, 8)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    np.testing.assert_array_equal(results, np.full((4, 1000), 10))
