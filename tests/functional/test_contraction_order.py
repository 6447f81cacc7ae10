"""The order in which einsum multiplies several operands, against every other order."""

import string
from itertools import combinations
from math import prod

import numpy as np
import pytest

import gradc
import gradc.functional as F
from gradc.functional.contraction_order import FEW, contraction_order

RANDOM = np.random.default_rng(3)


def steps(operands, kept, sizes, pairs):
    """The multiplications of an order."""
    waiting, total = [set(each) for each in operands], 0
    for first, second in pairs:
        a, b = waiting[first], waiting[second]
        rest = [each for place, each in enumerate(waiting) if place not in (first, second)]
        needed = set(kept).union(*rest)
        a, b = (x & (needed | y) for x, y in ((a, b), (b, a)))
        total += prod(sizes[label] for label in a | b)
        waiting = [*rest, (a | b) & needed]
    assert len(waiting) == 1
    return total


def every_order(count):
    if count < 2:
        yield []
        return
    for pair in combinations(range(count), 2):
        for rest in every_order(count - 1):
            yield [pair, *rest]


def drawn(count, labels):
    sizes = {each: int(RANDOM.integers(1, 9)) for each in labels}
    operands = [
        [str(x) for x in RANDOM.permutation(list(labels))[: RANDOM.integers(1, 4)]]
        for _ in range(count)
    ]
    present = sorted(set().union(*operands))
    return operands, present[: RANDOM.integers(0, 3)], sizes


def test_a_chain_goes_by_its_thin_end():
    sizes = {"a": 1000, "b": 1000, "c": 1000, "d": 2}
    operands = ["ab", "bc", "cd"]
    pairs = contraction_order(operands, "ad", sizes)
    assert pairs[0] == (1, 2)
    assert steps(operands, "ad", sizes, pairs) == 4_000_000


def test_no_other_order_of_few_operands_is_cheaper():
    for count in (2, 3, 4, 5):
        for _ in range(12):
            operands, kept, sizes = drawn(count, "abcdef")
            found = steps(operands, kept, sizes, contraction_order(operands, kept, sizes))
            least = min(steps(operands, kept, sizes, each) for each in every_order(count))
            assert found == least, (operands, kept, sizes)


@pytest.mark.parametrize("count", [FEW, FEW + 1, 20])
def test_long_chains(count):
    """Matrices, and a vector at the end: each product is one of a matrix and a vector."""
    letters = string.ascii_letters[: count + 1]
    operands = [letters[k : k + 2] for k in range(count)] + [letters[-1]]
    sizes = dict.fromkeys(letters, 50)
    pairs = contraction_order(operands, letters[0], sizes)
    assert steps(operands, letters[0], sizes, pairs) == count * 2500


EQUATIONS = (
    "ab,bc,cd->ad",
    "ab,ac,ad->bcd",
    "ab,ab,ab->",
    "ii,ij,jk,kl->il",
    "...a,ab,...b->...",
    "a,b,c,d->abcd",
    "ab,bc,cd,de,ef,fg,gh,hi,ij->aj",
    "abc,cd,bd,a->",
)


def test_values_and_gradients_of_all_orders():
    for equation in EQUATIONS:
        texts = equation.split("->")[0].split(",")
        ranks = [len(each.replace("...", "xy")) for each in texts]
        arrays = [RANDOM.standard_normal((2,) * rank) for rank in ranks]
        tensors = [gradc.Parameter(each, dtype="float64") for each in arrays]
        with gradc.autodiff.GradManager().attach(tensors) as gm:
            made = F.einsum(equation, *tensors)
            gm.backward(made)
        np.testing.assert_allclose(made.numpy(), np.einsum(equation, *arrays), err_msg=equation)
        for place, tensor in enumerate(tensors):

            def total(x, place=place, equation=equation, arrays=arrays):
                return np.einsum(equation, *arrays[:place], x, *arrays[place + 1 :]).sum()

            wanted = np.zeros(arrays[place].shape)
            for index in np.ndindex(wanted.shape):
                unit = np.zeros(wanted.shape)
                unit[index] = 1
                wanted[index] = total(unit)  # linear in each operand
            np.testing.assert_allclose(tensor.grad.numpy(), wanted, atol=1e-12, err_msg=equation)
