import gc

import numpy as np
import pytest
from gradc.tracer.buffer import ALIGNMENT, POOL, Buffer, Pool
from gradc.tracer.dtypes import DTYPES, DType, float32, float64, uint8
from walk import walk


@pytest.fixture(autouse=True)
def _empty_pool() -> None:
    POOL.clear()


@walk("dtype", DTYPES.values(), ids=repr)
@walk("shape", [(2, 3), (), (0, 3), (3, 0)], ids=str)
def test_elements_are_copied(dtype: DType, shape: tuple[int, ...]) -> None:
    given = np.arange(np.prod(shape), dtype=int).reshape(shape).astype(dtype.storage)
    buffer = Buffer.copied(given)
    kept = given.copy()
    given[...] = 1 if dtype.name == "bool" else 77
    np.testing.assert_array_equal(buffer.array(dtype, shape), kept)
    assert buffer.array(dtype, shape).dtype == dtype.storage


def test_copy_of_a_strided_array_has_no_gaps() -> None:
    given = np.arange(24.0).reshape(2, 3, 4)[::-1, :, ::2].T
    found = Buffer.copied(given).array(float64, given.shape)
    assert found.flags.c_contiguous
    np.testing.assert_array_equal(found, given)


@pytest.mark.parametrize("nbytes", [0, 1, 63, 64, 65, 4096, 4097, 100_000, 3_000_001])
def test_blocks_are_aligned_and_large_enough(nbytes: int) -> None:
    buffer = Buffer(nbytes)
    assert buffer.pointer % ALIGNMENT == 0
    view = buffer.array(uint8, (nbytes,))
    assert view.nbytes == nbytes
    if nbytes:
        assert view.ctypes.data == buffer.pointer
    size = Pool().take(nbytes)[0].nbytes
    assert size % ALIGNMENT == 0
    assert nbytes <= size <= max(nbytes * 1.13, nbytes + ALIGNMENT)


def test_memory_of_a_dead_buffer_is_used_again() -> None:
    first = Buffer(1000)
    address = first.pointer
    del first
    gc.collect()
    assert Buffer(990).pointer == address


def test_memory_of_a_live_buffer_is_not() -> None:
    first, second = Buffer(1000), Buffer(1000)
    assert first.pointer != second.pointer


def test_exported_view_outlives_its_buffer() -> None:
    buffer = Buffer.copied(np.full(100, 7, np.float32))
    view = buffer.exported(float32, (100,))
    del buffer
    gc.collect()
    Buffer.copied(np.zeros(100, np.float32))
    assert (view == 7).all()
    with pytest.raises(ValueError, match="read-only"):
        view[0] = 1


def test_buffer_around_an_array_shares_its_memory() -> None:
    array = np.arange(6.0)
    buffer = Buffer.around(array)
    assert buffer.pointer == array.ctypes.data
    array[0] = 9
    assert buffer.array(float64, (2, 3))[0, 0] == 9
    del buffer
    gc.collect()
    assert POOL.held == 0


@pytest.mark.parametrize("shape", [(0,), (0, 3), (3, 0), ()], ids=str)
def test_buffer_around_an_array_without_axes_or_elements(shape: tuple[int, ...]) -> None:
    assert Buffer.around(np.ones(shape)).array(float64, shape).shape == shape


def test_pool_keeps_no_more_than_its_limit() -> None:
    pool = Pool(limit=4096)
    blocks = [pool.take(1024) for _ in range(6)]
    for block in blocks:
        pool.give(block)
    assert pool.held == 4096
    kept = {block[1] for block in blocks[:4]}
    assert {pool.take(1024)[1] for _ in range(4)} == kept
    assert pool.held == 0


def test_pool_hands_out_a_block_once() -> None:
    pool = Pool()
    pool.give(pool.take(64))
    first, second = pool.take(64), pool.take(64)
    assert first[1] != second[1]


def test_buffer_that_could_not_be_made_dies_quietly() -> None:
    """The memory error is all that is raised: nothing else while the object is taken down."""
    with pytest.raises((MemoryError, ValueError)):
        Buffer(1 << 62)
    gc.collect()
