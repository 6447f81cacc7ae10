"""The stand-in: right kernels give right values in any order, wrong ones are found."""

import ctypes
import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from cuda_stand_in import StandInCompileError, compile_module, library_path
from cuda_stand_in.targets import Target, kernel_source
from gradc.runtime.cuda import CudaError
from gradc.runtime.cuda_memory import DeviceMemory
from gradc.runtime.cuda_program import Launch
from gradc.runtime.cuda_stream import Stream
from walk import walk

ARITHMETIC = kernel_source("arithmetic")
FAULTS = kernel_source("faults")
RANDOM = np.random.default_rng(0)


@pytest.fixture(params=["forward", "reverse", "random"])
def order(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GRADC_SIMT_ORDER", request.param)


# ---- values, on the stand-in in every order and on a device where there is one


@pytest.mark.usefixtures("order")
class TestValues:
    def test_elementwise(self, target: Target) -> None:
        x, y = RANDOM.normal(size=(2, 1000)).astype(np.float32)
        expected = y + np.float32(0.5) * x
        launch = Launch("axpy", (3, 1, 1), (64, 1, 1))  # each thread takes several elements
        target.run(ARITHMETIC, launch, [x, y], [1000], [0.5])
        np.testing.assert_allclose(y, expected, rtol=1e-6)

    def test_mathematical_functions(self, target: Target) -> None:
        from math import erf, sqrt

        x, y = np.linspace(-4, 4, 500, dtype=np.float32), np.zeros(500, np.float32)
        target.run(ARITHMETIC, Launch("gelu", (2, 1, 1), (256, 1, 1)), [x, y], [500])
        expected = [0.5 * each * (1 + erf(each / sqrt(2))) for each in x.tolist()]
        np.testing.assert_allclose(y, expected, rtol=1e-4, atol=1e-6)

    @walk("shape", [(1, 1), (5, 100), (33, 32), (64, 7)])
    def test_row_sum_by_shuffles(self, target: Target, shape: tuple[int, int]) -> None:
        x, sums = RANDOM.normal(size=shape).astype(np.float32), np.zeros(shape[0], np.float32)
        launch = Launch("row_sum", (-(-shape[0] // 4), 1, 1), (128, 1, 1))
        target.run(kernel_source("reductions"), launch, [x, sums], shape)
        np.testing.assert_allclose(sums, x.sum(1), rtol=1e-4, atol=1e-5)

    @pytest.mark.parametrize("extents", [(16, 16, 16), (33, 50, 70), (1, 65, 3)])
    def test_matmul_by_tiles(self, target: Target, extents: tuple[int, int, int]) -> None:
        m, n, k = extents
        a, b = (RANDOM.normal(size=s).astype(np.float32) for s in ((m, k), (k, n)))
        c = np.zeros((m, n), np.float32)
        launch = Launch("matmul", (-(-n // 16), -(-m // 16), 1), (16, 16, 1))
        target.run(kernel_source("matmul"), launch, [a, b, c], extents)
        np.testing.assert_allclose(c, a @ b, rtol=1e-4, atol=1e-4)

    def test_dynamic_shared_memory(self, target: Target) -> None:
        x = RANDOM.normal(size=(3, 96))
        expected = x[:, ::-1].copy()
        launch = Launch("reverse_blocks", (3, 1, 1), (96, 1, 1), shared_bytes=96 * 8)
        target.run(kernel_source("matmul"), launch, [x])
        np.testing.assert_array_equal(x, expected)

    def test_atomics(self, target: Target) -> None:
        indices = RANDOM.integers(0, 7, size=1000).astype(np.int32)
        x, sums = RANDOM.normal(size=1000).astype(np.float32), np.zeros(7, np.float32)
        largest = np.full(7, -1, np.int32)
        launch = Launch("scatter_add", (8, 1, 1), (128, 1, 1))
        target.run(kernel_source("scatter"), launch, [indices, x, sums, largest], [1000])
        np.testing.assert_allclose(sums, np.bincount(indices, x, minlength=7), rtol=1e-4, atol=1e-4)
        assert largest.tolist() == [np.flatnonzero(indices == each).max() for each in range(7)]

    @pytest.mark.parametrize("threads", [64, 80])  # the last warp whole, and half there
    def test_votes(self, target: Target, threads: int) -> None:
        x, counts = RANDOM.normal(size=threads).astype(np.float32), np.zeros(3, np.int32)
        launch = Launch("count_positive", (1, 1, 1), (threads, 1, 1))
        target.run(kernel_source("scatter"), launch, [x, counts], [threads])
        assert counts.sum() == (x > 0).sum()


# ---- faults


@pytest.mark.usefixtures("order")
@pytest.mark.parametrize(
    ("kernel", "message"),
    [
        ("divergent_barrier", "divergent barrier"),
        ("early_return", "deadlock: of 64 threads 1 returned"),
        ("divergent_shuffle", "divergent warp operation"),
        ("foreign_mask", "not in its own mask"),
    ],
)
def test_threads_that_miss_each_other(stand_in: Target, kernel: str, message: str) -> None:
    values = np.zeros(64, np.int32)
    with pytest.raises(CudaError, match=f"CUDA_ERROR_LAUNCH_FAILED.*{message}"):
        stand_in.run(FAULTS, Launch(kernel, (1, 1, 1), (64, 1, 1)), [values])


def test_launches_work_after_a_failed_one(stand_in: Target) -> None:
    values, launch = np.zeros(64, np.float32), Launch("divergent_barrier", (1, 1, 1), (64, 1, 1))
    for _ in range(2):
        with pytest.raises(CudaError, match="divergent barrier"):
            stand_in.run(FAULTS, launch, [values])
    stand_in.run(FAULTS, Launch("missing_barrier", (1, 1, 1), (64, 1, 1)), [values])


def test_unwritten_shared_memory_is_nan(stand_in: Target) -> None:
    values = np.zeros(64, np.float32)
    stand_in.run(FAULTS, Launch("unwritten_shared", (2, 1, 1), (64, 1, 1)), [values])
    assert np.flatnonzero(np.isnan(values)).tolist() == [5]
    launch = Launch("unwritten_dynamic_shared", (1, 1, 1), (64, 1, 1), shared_bytes=64 * 4)
    stand_in.run(FAULTS, launch, [values])
    assert np.isnan(values).all()


def test_new_device_memory_is_nan(stand_in: Target) -> None:
    values = np.zeros(10)
    DeviceMemory(stand_in.device, values.nbytes).read(values)
    assert np.isnan(values).all()


def test_a_missing_barrier_shows_in_another_order(
    stand_in: Target, monkeypatch: pytest.MonkeyPatch
) -> None:
    results = []
    for order in ("forward", "reverse"):
        monkeypatch.setenv("GRADC_SIMT_ORDER", order)
        values = np.zeros(64, np.float32)
        stand_in.run(FAULTS, Launch("missing_barrier", (1, 1, 1), (64, 1, 1)), [values])
        results.append(np.isnan(values))
    assert (results[0] != results[1]).any()


@pytest.mark.parametrize(
    ("grid", "block", "shared_bytes"),
    [
        ((0, 1, 1), (32, 1, 1), 0),
        ((1, 65536, 1), (32, 1, 1), 0),
        ((1, 1, 1), (2048, 1, 1), 0),
        ((1, 1, 1), (64, 32, 1), 0),
        ((1, 1, 1), (1, 1, 65), 0),
    ],
)
def test_launch_limits(
    stand_in: Target, grid: tuple[int, int, int], block: tuple[int, int, int], shared_bytes: int
) -> None:
    with pytest.raises(CudaError, match="cuLaunchKernel: CUDA_ERROR_INVALID_VALUE"):
        stand_in.run(FAULTS, Launch("early_return", grid, block, shared_bytes), [])


def test_a_module_that_gives_warnings_is_rejected() -> None:
    with pytest.raises(StandInCompileError, match="unused"):
        compile_module("static int forgotten;")


# ---- strictness by environment


def test_work_waits_in_asynchronous_mode(stand_in: Target, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GRADC_SIMT_ASYNC", "1")
    device = stand_in.device
    memory, stream = DeviceMemory(device, 40), Stream(device)
    source, result = np.arange(10, dtype=np.float32), np.zeros(10, np.float32)
    stream.write(memory.address, source)
    memory.read(result)
    assert np.isnan(result).all(), "a copy without the stream does not wait for it"
    stream.read(result, memory.address)
    assert np.isnan(result).all(), "a copy on the stream is not done when the call returns"
    stream.synchronize()
    np.testing.assert_array_equal(result, source)


def test_programs_wait_for_their_work(stand_in: Target, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GRADC_SIMT_ASYNC", "1")
    x, y = np.arange(5, dtype=np.float32), np.ones(5, np.float32)
    stand_in.run(ARITHMETIC, Launch("axpy", (1, 1, 1), (32, 1, 1)), [x, y], [5], [2.0])
    np.testing.assert_array_equal(y, 1 + 2 * x)


def run_script(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run run_kernel.py in a process of its own, which may crash."""
    paths = [str(Path(__file__).parents[1]), *filter(None, sys.path)]
    return subprocess.run(
        [sys.executable, str(Path(__file__).with_name("run_kernel.py")), *arguments],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(paths), **environment},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.usefixtures("stand_in")
@pytest.mark.parametrize(("mode", "code"), [("0", 0), ("1", -signal.SIGSEGV)])
def test_the_host_cannot_read_protected_device_memory(mode: str, code: int) -> None:
    result = run_script("--dereference", "unwritten_shared", GRADC_SIMT_PROTECT=mode)
    assert result.returncode == code, result.stderr
    assert "kernel ran" in result.stdout


@pytest.mark.usefixtures("stand_in")
@pytest.mark.parametrize(
    ("kernel", "report"),
    [
        ("beyond_global", "heap-buffer-overflow"),
        ("beyond_shared", "global variable 'beyond_here"),
        ("missing_barrier", ""),
    ],
)
def test_the_address_sanitizer_finds_accesses_out_of_bounds(kernel: str, report: str) -> None:
    command = ["g++", "-print-file-name=libasan.so"]
    runtime = subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    if not Path(runtime).exists():
        pytest.skip("no libasan beside g++")
    compile_module(FAULTS, sanitize=True)  # not under the sanitizer
    result = run_script(
        "--sanitize", kernel, LD_PRELOAD=runtime, ASAN_OPTIONS="detect_leaks=0:exitcode=99"
    )
    assert result.returncode == (99 if report else 0), result.stderr
    assert report in result.stderr


# ---- the rest of the interface, which gradc does not call itself


def test_entry_points_that_only_others_use(stand_in: Target) -> None:
    driver, device = ctypes.CDLL(library_path()), stand_in.device
    device.synchronize()  # makes the context current
    address, pattern = ctypes.c_ulonglong(), ctypes.c_uint(0x01020304)
    assert driver.cuMemAllocAsync(ctypes.byref(address), ctypes.c_size_t(16), None) == 0
    assert driver.cuMemsetD32_v2(address, pattern, ctypes.c_size_t(4)) == 0
    assert driver.cuMemsetD8Async(address, 9, ctypes.c_size_t(4), None) == 0
    other = DeviceMemory(device, 16)
    destination = ctypes.c_ulonglong(other.address)
    assert driver.cuMemcpyDtoDAsync_v2(destination, address, ctypes.c_size_t(16), None) == 0
    assert driver.cuMemsetD32Async(destination, pattern, ctypes.c_size_t(1), None) == 0
    values = np.zeros(4, np.uint32)
    other.read(values)
    assert values.tolist() == [0x01020304] * 4
    assert driver.cuMemcpyDtoD_v2(destination, address, ctypes.c_size_t(16)) == 0
    other.read(values)
    assert values.tolist() == [0x09090909, *[0x01020304] * 3]
    assert driver.cuMemFreeAsync(address, None) == 0
    assert driver.cuMemFree_v2(address) == 1, "freed twice"
