"""Small programs write to the same places again, but never to what somebody holds or looks at."""

import threading
from itertools import pairwise

import numpy as np
import pytest
from contract.compute import leaf
from gradc.runtime import program as program_module
from gradc.runtime.compiling import load_program
from gradc.runtime.program import KEPT, SMALL, Program
from gradc.tracer.buffer import Buffer, give_back, rounded
from gradc.tracer.dtypes import float32
from graphs.build import graph_of

SIZES = [1, 100, SMALL]


def program_of(size: int) -> Program:
    """The program that gives 2 x + y and 3 x."""
    x, y = leaf(0, (size,), float32), leaf(1, (size,), float32)
    return load_program(graph_of(x * 2 + y, x * 3))


def full(size: int, value: float) -> Buffer:
    return Buffer.copied(np.full(size, value, np.float32))


def value(buffer: Buffer, size: int) -> float:
    """The one value that all elements have."""
    array = buffer.array(float32, (size,))
    assert (array == array[0]).all()
    return float(array[0])


@pytest.mark.parametrize("size", SIZES)
def test_results_that_are_held_stay(size: int) -> None:
    program, one = program_of(size), full(size, 1)
    held = [program([full(size, k), one], [], []) for k in range(20)]
    found = [(value(a, size), value(b, size)) for a, b in held]
    assert found == [(2 * k + 1, 3 * k) for k in range(20)]


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("kept", [0, 1])
def test_one_of_two_results_may_be_held(size: int, kept: int) -> None:
    program, one = program_of(size), full(size, 1)
    held = [program([full(size, k), one], [], [])[kept] for k in range(20)]
    assert [value(each, size) for each in held] == [(2 * k + 1, 3 * k)[kept] for k in range(20)]


@pytest.mark.parametrize("size", SIZES)
def test_a_program_may_read_what_it_gave(size: int) -> None:
    """As the parameters of a training loop: x becomes 2 x + 1, from 1 on."""
    program, one = program_of(size), full(size, 1)
    x = full(size, 1)
    for k in range(2, 14):
        x, _ = program([x, one], [], [])
        assert value(x, size) == 2**k - 1


@pytest.mark.parametrize("size", SIZES)
def test_views_of_results_stay_what_they_are(size: int) -> None:
    program, one = program_of(size), full(size, 1)
    views = []
    for k in range(10):
        made, _ = program([full(size, k), one], [], [])
        views.append(made.exported(float32, (size,)))
        del made
    assert [float(each.min()) for each in views] == [2 * k + 1 for k in range(10)]
    assert [float(each.max()) for each in views] == [2 * k + 1 for k in range(10)]
    assert not any(np.shares_memory(one, other) for one, other in pairwise(views))


def test_small_results_are_written_to_the_same_places_again() -> None:
    program, one = program_of(4), full(4, 1)
    places = {program([one, one], [], [])[0].pointer for _ in range(50)}
    assert len(places) <= 2


@pytest.mark.parametrize("size", SIZES)
def test_threads_do_not_write_to_each_other(size: int) -> None:
    program, one, faults = program_of(size), full(size, 1), []

    def work(number: int) -> None:
        x = full(size, number)
        for _ in range(200):
            made, tripled = program([x, one], [], [])
            if (value(made, size), value(tripled, size)) != (2 * number + 1, 3 * number):
                faults.append(number)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert faults == []


def test_programs_together_keep_a_bounded_number_of_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each keeps two sets of two results; of four programs the limit has room for two."""
    KEPT.shrink()
    programs = [program_of(size) for size in (1000, 1001, 1002, 1003)]
    each = 2 * 2 * rounded(4000)
    monkeypatch.setattr(program_module, "KEPT_BYTES", 2 * each)
    one = {size: full(size, 1) for size in (1000, 1001, 1002, 1003)}

    def kept() -> list[bool]:
        return [bool(program._frames) for program in programs]

    for program, size in zip(programs, one, strict=True):
        for k in range(5):
            made, _ = program([full(size, k), one[size]], [], [])
            assert value(made, size) == 2 * k + 1
            assert program_module.KEPT.nbytes <= 2 * each
    assert kept() == [False, False, True, True]
    made, _ = programs[0]([one[1000], one[1000]], [], [])  # goes on as before
    assert value(made, 1000) == 3
    give_back()
    assert kept() == [False] * 4
    assert KEPT.nbytes == 0
    made, _ = programs[3]([one[1003], one[1003]], [], [])
    assert value(made, 1003) == 3
