"""templates/cuda/gradc.cuh: what its functions give, against NumPy."""

import math

import numpy as np
import pytest
from cuda_stand_in.targets import Target, kernel_source
from gradc.runtime.cuda_program import Launch
from walk import walk

ARITHMETIC = kernel_source("arithmetic")
REDUCTIONS = kernel_source("reductions")
EVERY_HALF = np.arange(1 << 16, dtype=np.uint16)


def one_thread_each(kernel: str, count: int) -> Launch:
    return Launch(kernel, (-(-count // 256), 1, 1), (256, 1, 1))


def pairs(dtype: str) -> tuple[np.ndarray, np.ndarray]:
    """All pairs of some numbers, the awkward ones among them."""
    if np.dtype(dtype).kind == "i":
        info = np.iinfo(dtype)
        numbers = [info.min, info.min + 1, -7, -3, -1, 0, 1, 2, 5, info.max - 1, info.max]
    else:
        numbers = [-np.inf, -1e30, -7.5, -2.0, -1.0, -0.1, -0.0, 0.0, 0.1, 0.3, 1.0, 3.0, 7.5, 1e30]
        numbers += [np.inf, np.nan]
    x, y = np.meshgrid(np.array(numbers, dtype), np.array(numbers, dtype))
    return x.ravel(), y.ravel()


@pytest.mark.parametrize(
    ("kind", "dtype"), [("i32", "int32"), ("i64", "int64"), ("f32", "float32"), ("f64", "float64")]
)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_operator_functions_agree_with_numpy(target: Target, kind: str, dtype: str) -> None:
    x, y = pairs(dtype)
    results = np.zeros((4, x.size), dtype)
    target.run(ARITHMETIC, one_thread_each(f"operators_{kind}", x.size), [x, y, results], [x.size])
    for function, result in zip(
        (np.floor_divide, np.mod, np.maximum, np.minimum), results, strict=True
    ):
        np.testing.assert_array_equal(result, function(x, y), err_msg=function.__name__)


def wrapped(number: int, bits: int) -> int:
    return (number + (1 << bits - 1)) % (1 << bits) - (1 << bits - 1)


def power(x: int, y: int) -> int:
    if y >= 0:
        return x**y
    return {1: 1, -1: 1 - 2 * (y % 2)}.get(x, 0)


@pytest.mark.parametrize("bits", [32, 64])
def test_integer_powers_and_shifts(target: Target, bits: int) -> None:
    values = np.array([-(1 << bits - 1), -3, -2, -1, 0, 1, 2, 3, 11, (1 << bits - 1) - 1])
    distances = np.array([-(1 << bits - 1), -2, -1, 0, 1, 2, 3, 31, 32, 33, 63, 64, 65])
    x, y = (each.ravel().astype(f"int{bits}") for each in np.meshgrid(values, distances))
    results = np.zeros((3, x.size), x.dtype)
    launch = one_thread_each(f"integer_functions_i{bits}", x.size)
    target.run(ARITHMETIC, launch, [x, y, results], [x.size])
    operands = list(zip(x.tolist(), y.tolist(), strict=True))
    assert results[0].tolist() == [wrapped(power(a, min(b, 99)), bits) for a, b in operands]
    held = [(a, b if 0 <= b < bits else bits) for a, b in operands]
    assert results[1].tolist() == [wrapped(a << b, bits) for a, b in held]
    assert results[2].tolist() == [a >> b for a, b in held]


@pytest.mark.parametrize(("kind", "dtype"), [("f32", "float32"), ("f64", "float64")])
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_functions_of_floats(target: Target, kind: str, dtype: str) -> None:
    edges = [sign * 2.0**power for sign in (-1, 1) for power in (7, 8, 15, 31, 63, 64)]
    numbers = np.array([*edges, *pairs(dtype)[0], 0.5, -0.5, 1.5, 127.5, -128.5, 255.5], dtype)
    numbers = np.concatenate([numbers, np.nextafter(numbers, np.array(0, dtype))])
    x, y = numbers, numbers[::-1].copy()
    integers = [np.zeros(x.size, each) for each in ("u1", "i1", "i2", "i4", "i8")]
    sums = np.zeros_like(x)
    launch = one_thread_each(f"float_functions_{kind}", x.size)
    target.run(ARITHMETIC, launch, [x, y, sums, *integers], [x.size])
    np.testing.assert_allclose(sums, np.logaddexp(x, y), rtol=4 * np.finfo(dtype).eps)
    for each in integers:
        low, high = int(np.iinfo(each.dtype).min), int(np.iinfo(each.dtype).max)
        assert each.tolist() == [held_within(value, low, high) for value in x.tolist()]


def held_within(value: float, low: int, high: int) -> int:
    if math.isnan(value):
        return 0
    return max(low, min(high, int(value))) if math.isfinite(value) else high if value > 0 else low


def test_every_half_becomes_its_float(target: Target) -> None:
    half, brain = np.zeros(1 << 16, np.float32), np.zeros(1 << 16, np.float32)
    target.run(
        ARITHMETIC,
        one_thread_each("halves_to_float", 1 << 16),
        [EVERY_HALF, half, brain],
        [1 << 16],
    )
    np.testing.assert_array_equal(half, EVERY_HALF.view(np.float16).astype(np.float32))
    np.testing.assert_array_equal(brain, (EVERY_HALF.astype(np.uint32) << 16).view(np.float32))


def test_floats_are_rounded_to_halves(target: Target) -> None:
    every = EVERY_HALF.view(np.float16).astype(np.float32)
    finite = np.sort(every[np.isfinite(every)])
    middles = (finite[1:] + finite[:-1]) / 2
    edges = np.array([65519, 65520, -65520, 1e-9, -1e-9, 3e38], np.float32)
    x = np.concatenate(
        [
            every,
            middles,
            np.nextafter(middles, np.float32(0)),
            np.nextafter(middles, finite[1:]),
            edges,
        ]
    )
    half, brain = np.zeros(x.size, np.uint16), np.zeros(x.size, np.uint16)
    target.run(ARITHMETIC, one_thread_each("float_to_halves", x.size), [x, half, brain], [x.size])
    with np.errstate(over="ignore"):
        np.testing.assert_array_equal(half.view(np.float16), x.astype(np.float16))
    np.testing.assert_array_equal(as_float(brain), as_float(nearest_bfloat16(x)))


def as_float(bits: np.ndarray) -> np.ndarray:
    return (bits.astype(np.uint32) << 16).view(np.float32)


def nearest_bfloat16(x: np.ndarray) -> np.ndarray:
    """The nearer of the two neighbours, the even one in the middle: by search, not by bits."""
    below = (x.view(np.uint32) >> 16).astype(np.uint16)
    above = below + np.uint16(np.isfinite(x))
    with np.errstate(invalid="ignore"):
        wide = x.astype(np.float64)
        unbounded = np.where(np.isinf(as_float(above)), np.sign(wide) * 2.0**128, as_float(above))
        down, up = np.abs(wide - as_float(below)), np.abs(unbounded - wide)
    nearest = np.where((up < down) | ((up == down) & (below % 2 == 1)), above, below)
    return np.where(np.isnan(x), np.uint16(0x7FC0), nearest)


@walk("threads", [32, 96, 256, 1024])
@walk("count", [1, 31, 1000])
def test_block_reductions(target: Target, threads: int, count: int) -> None:
    x = np.random.default_rng(count).normal(size=count)
    launch = (1, 1, 1), (threads, 1, 1)

    def reduced(kernel: str, values: np.ndarray) -> float:
        result = np.zeros(1, values.dtype)
        target.run(REDUCTIONS, Launch(kernel, *launch), [values, result], [count])
        return result[0]

    x32, x64 = x.astype(np.float32), (1000 * x).astype(np.int64)
    assert reduced("block_sum", x32) == pytest.approx(x32.sum(), rel=1e-5, abs=1e-4)
    assert reduced("block_sum_f64", x) == pytest.approx(x.sum(), rel=1e-13, abs=1e-13)
    assert reduced("block_sum_i64", x64) == x64.sum()
    assert reduced("block_product", x) == pytest.approx(x.prod(), rel=1e-12)
    assert reduced("block_maximum", x32) == x32.max()
    assert reduced("block_minimum", x32) == x32.min()
    assert reduced("block_maximum_i32", x64.astype(np.int32)) == x64.max()


@pytest.mark.parametrize("kernel", ["block_maximum", "block_minimum"])
@pytest.mark.parametrize("place", [0, 17, 63, 299])
def test_extremes_are_nan_where_one_is_among_the_elements(
    target: Target, kernel: str, place: int
) -> None:
    x, result = np.arange(300, dtype=np.float32), np.zeros(1, np.float32)
    x[place] = np.nan
    target.run(REDUCTIONS, Launch(kernel, (1, 1, 1), (64, 1, 1)), [x, result], [x.size])
    assert np.isnan(result[0])


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("with_nan", [False, True])
def test_positions_are_those_of_the_first_winner(target: Target, seed: int, with_nan: bool) -> None:
    generator = np.random.default_rng(seed)
    x = generator.integers(-3, 4, size=777).astype(np.float32)
    if with_nan:
        x[generator.integers(0, 777, size=3)] = np.nan
    x = x[: (777, 20, 1, 300)[seed]]  # some threads may have no element
    result = np.zeros(1, np.int32)
    for kernel, function in [("block_argmax", np.argmax), ("block_argmin", np.argmin)]:
        target.run(REDUCTIONS, Launch(kernel, (1, 1, 1), (128, 1, 1)), [x, result], [x.size])
        assert result[0] == function(x), kernel
    if not with_nan:
        whole, launch = x.astype(np.int32), Launch("block_argmax_i32", (1, 1, 1), (128, 1, 1))
        target.run(REDUCTIONS, launch, [whole, result], [x.size])
        assert result[0] == np.argmax(whole)


def test_every_thread_gets_the_result(target: Target) -> None:
    x, result = np.linspace(0, 1, 500, dtype=np.float32), np.zeros(128, np.float32)
    launch = Launch("block_variance", (1, 1, 1), (128, 1, 1))
    target.run(REDUCTIONS, launch, [x, result], [x.size])
    np.testing.assert_allclose(result, x.var(), rtol=1e-5)
    assert np.unique(result).size == 1


def test_the_first_error_stops_later_kernels(target: Target) -> None:
    indices = np.array([3, 0, 9, 1], np.int32)
    x, y = np.arange(4, dtype=np.float32), np.full(4, -1, np.float32)
    launches = [one_thread_each("check_indices", 4), one_thread_each("gather", 4)]
    error = target.run(ARITHMETIC, launches, [indices, x, y], [4, 4])
    assert error is not None
    assert (error.code, error.node, error.position, error.found, error.bound) == (1, 7, 2, 9, 4)
    np.testing.assert_array_equal(y, -1)
    indices[2] = 2
    assert target.run(ARITHMETIC, launches, [indices, x, y], [4, 4]) is None
    np.testing.assert_array_equal(y, x[indices])
