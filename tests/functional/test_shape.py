"""Functions that move elements: shapes, padding, matrices, grids, and tensors made of numbers."""

import numpy as np
import pytest
from slopes import Checks
from walk import walk

from gradc import functional as F
from gradc import tensor
from gradc.autodiff import jacobian

RANDOM = np.random.default_rng(0)
A, B = RANDOM.uniform(-2, 2, (2, 3)), RANDOM.uniform(-2, 2, (2, 3))
C = RANDOM.uniform(-1, 1, (2, 3, 4))
M = RANDOM.uniform(-1, 1, (3, 5))


def pad_case(widths, mode, name):
    return (
        lambda x: F.pad(x, widths, mode) * 1.0,
        lambda x: np.pad(x, widths, mode=name),
        M,
    )


CASES = {
    "reshape": (lambda x: F.reshape(x, (4, -1)), lambda x: x.reshape(4, -1), C),
    "transpose": (lambda x: F.transpose(x, (2, 0, 1)), lambda x: x.transpose(2, 0, 1), C),
    "permute": (lambda x: F.permute(x, (-1, 0, 1)), lambda x: x.transpose(2, 0, 1), C),
    "swapaxes": (lambda x: F.swapaxes(x, 0, -1), lambda x: x.swapaxes(0, -1), C),
    "moveaxis": (lambda x: F.moveaxis(x, 0, -1), lambda x: np.moveaxis(x, 0, -1), C),
    "moveaxis_two": (
        lambda x: F.moveaxis(x, (0, -1), (1, 0)),
        lambda x: np.moveaxis(x, (0, -1), (1, 0)),
        C,
    ),
    "flatten": (lambda x: F.flatten(x, 1), lambda x: x.reshape(2, 12), C),
    "expand_dims": (lambda x: F.expand_dims(x, (0, -1)), lambda x: x[None, ..., None], C),
    "squeeze": (lambda x: F.squeeze(x[:, :1], 1), lambda x: x[:, 0], C),
    "broadcast_to": (
        lambda x: F.broadcast_to(x, (4, 2, 3)) * 1,
        lambda x: np.broadcast_to(x, (4, 2, 3)),
        A,
    ),
    "broadcast_arrays": (
        lambda x, y: F.mul(*F.broadcast_arrays(x, y)),
        lambda x, y: x * y,
        A,
        B[:, :1],
    ),
    "concat": (
        lambda x, y: F.concat([x, y, x], 1),
        lambda x, y: np.concatenate([x, y, x], 1),
        A,
        B,
    ),
    "stack": (lambda x, y: F.stack((x, y), -1), lambda x, y: np.stack((x, y), -1), A, B),
    "split": (lambda x: F.split(x, 2, 2)[1], lambda x: np.split(x, 2, 2)[1], C),
    "split_at": (lambda x: F.split(x, [1, 3], 2)[1], lambda x: np.split(x, [1, 3], 2)[1], C),
    "chunk": (lambda x: F.chunk(x, 3, 1)[2], lambda x: x[:, 4:], M),
    "unstack": (lambda x: F.mul(*F.unstack(x, 0)), lambda x: x[0] * x[1], C),
    "tile": (lambda x: F.tile(x, (2, 1, 3)), lambda x: np.tile(x, (2, 1, 3)), A),
    "repeat": (lambda x: F.repeat(x, 3, 1), lambda x: np.repeat(x, 3, 1), A),
    "repeat_flat": (lambda x: F.repeat(x, 2), lambda x: np.repeat(x, 2), A),
    "repeat_each": (lambda x: F.repeat(x, [2, 0, 3], 1), lambda x: np.repeat(x, [2, 0, 3], 1), A),
    "roll": (lambda x: F.roll(x, (1, -5), (0, 2)), lambda x: np.roll(x, (1, -5), (0, 2)), C),
    "roll_flat": (lambda x: F.roll(x, 4), lambda x: np.roll(x, 4), A),
    "flip": (lambda x: F.flip(x, (0, 1)), lambda x: np.flip(x, (0, 1)), A),
    "pad": (lambda x: F.nn.pad(x, ((1, 0), (0, 2))), lambda x: np.pad(x, ((1, 0), (0, 2))), A),
    "pad_reflect": pad_case(((1, 2), (4, 1)), "reflect", "reflect"),
    "pad_symmetric": pad_case(((3, 2), (0, 5)), "symmetric", "symmetric"),
    "pad_replicate": pad_case(((2, 1), (0, 3)), "replicate", "edge"),
    "pad_edge": pad_case(((0, 0), (6, 0)), "edge", "edge"),
    "pad_circular": pad_case(((3, 1), (0, 2)), "circular", "wrap"),
    "diag_of_matrix": (lambda x: F.diag(x, 1), lambda x: np.diag(x, 1), M),
    "diag_of_vector": (lambda x: F.diag(x, -2), lambda x: np.diag(x, -2), M[0]),
    "diag_above": (lambda x: F.diag(x, 1), lambda x: np.diag(x, 1), M[0]),
    "diagonal": (
        lambda x: F.diagonal(x, -1, 2, 0),
        lambda x: np.diagonal(x, -1, 2, 0),
        C,
    ),
    "trace": (lambda x: F.trace(x, 1, 1, 2), lambda x: np.trace(x, 1, 1, 2), C),
    "tril": (lambda x: F.tril(x, -1), lambda x: np.tril(x, -1), C),
    "triu": (lambda x: F.triu(x, 2), lambda x: np.triu(x, 2), M),
    "meshgrid": (
        lambda x, y: F.add(*F.meshgrid(x, y)),
        lambda x, y: np.add(*np.meshgrid(x, y)),
        A[0],
        M[0],
    ),
    "meshgrid_ij": (
        lambda x, y: F.mul(*F.meshgrid(x, y, indexing="ij")),
        lambda x, y: np.multiply(*np.meshgrid(x, y, indexing="ij")),
        A[0],
        M[0],
    ),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
class TestCases(Checks):
    pass


class TestEdges:
    @pytest.mark.parametrize("k", range(-6, 7))
    def test_every_diagonal(self, k):
        for x in (M, M.T, M[:0]):
            assert np.array_equal(F.diag(tensor(x, dtype="float64"), k).numpy(), np.diag(x, k))
            assert np.array_equal(F.tril(tensor(x, dtype="float64"), k).numpy(), np.tril(x, k))
        assert np.array_equal(F.diag(tensor([1, 2]), k).numpy(), np.diag([1, 2], k))
        assert F.diag(F.zeros((0,)), k).shape == (abs(k), abs(k))

    def test_parts(self):
        x = tensor(np.arange(7))
        assert [each.shape[0] for each in F.chunk(x, 3)] == [3, 3, 1]
        assert [each.shape[0] for each in F.chunk(x, 5)] == [2, 2, 2, 1]
        assert [each.shape[0] for each in F.split(x, [2, 2, 9])] == [2, 0, 5, 0]
        assert len(F.split(F.zeros((0, 2)), 2)) == 2
        assert F.unbind(F.zeros((0, 2))) == ()
        assert [each.item() for each in F.unbind(tensor([1, 2]))] == [1, 2]

    def test_empty(self):
        x = F.zeros((0, 3))
        assert F.pad(x, ((1, 1), (0, 0))).shape == (2, 3)
        assert F.roll(x, 2, 0).shape == (0, 3)
        assert F.repeat(x, 0, 1).shape == (0, 0)
        assert F.tile(x, (2, 2)).shape == (0, 6)
        assert F.pad(x, ((0, 0), (1, 1)), "reflect").shape == (0, 5)
        assert F.concat([x, tensor(A)]).shape == (2, 3)
        grid = F.meshgrid(tensor([1.0, 2]), F.zeros((0,)))
        assert [each.shape for each in grid] == [(0, 2), (0, 2)]

    def test_single_numbers(self):
        x = tensor(3)
        assert F.flatten(x).tolist() == [3]
        assert F.expand_dims(x, 0).tolist() == [3]
        assert F.tile(x, 2).tolist() == [3, 3]
        assert F.repeat(x, 2).tolist() == [3, 3]
        assert F.stack([x, x]).tolist() == [3, 3]
        assert F.flip(x).item() == F.roll(x, 1).item() == 3

    def test_types_are_kept(self):
        x = tensor([[True, False]])
        for made in (F.roll(x, 1), F.pad(x, ((1, 0),)), F.repeat(x, [1, 2], 1), F.triu(x)):
            assert made.dtype == np.bool_
        assert F.concat([tensor([1]), tensor([0.5])]).dtype == np.float32

    def test_a_jacobian_of_moves_is_a_permutation(self):
        got = jacobian(lambda x: F.roll(F.flip(x), 1), tensor([1.0, 2, 3]))
        assert got.tolist() == [[1, 0, 0], [0, 0, 1], [0, 1, 0]]


@walk(
    ("use", "message"),
    [
        (lambda: F.pad(tensor(A), (1, 2)), "a pair"),
        (lambda: F.pad(tensor(A), ((1, 2),) * 3), "a pair"),
        (lambda: F.pad(tensor(A), ((0, -1),)), "from 0 on"),
        (lambda: F.pad(tensor(A), ((2, 0),), "reflect"), "at most 1"),
        (lambda: F.pad(F.zeros((0,)), ((2, 0),), "edge"), "at most 0"),
        (lambda: F.pad(tensor(A), ((1, 0),), "mirror"), "expected constant"),
        (lambda: F.moveaxis(tensor(C), (0, 0), (1, 2)), "each once"),
        (lambda: F.repeat(tensor(A), [1, 2], 1), "each of 3 lines"),
        (lambda: F.roll(tensor(A), (1, 2)), "an axis for each shift"),
        (lambda: F.chunk(tensor(A), 0), "from 1 on"),
        (lambda: F.diag(tensor(C)), "a vector or a matrix"),
        (lambda: F.diagonal(tensor(C), 0, 1, -2), "two axes"),
        (lambda: F.tril(tensor([1.0])), "a matrix"),
        (lambda: F.meshgrid(tensor([1.0]), indexing="ji"), "xy or ij"),
        (lambda: F.concat([]), "at least one"),
        (lambda: F.stack([tensor([1]), tensor([1, 2])]), "one shape"),
        (lambda: F.split(tensor(A), 2, 1), "no multiple"),
        (lambda: F.squeeze(tensor(A), 0), "is not 1"),
        (lambda: F.arange(0, 3, 0), "a step"),
        (lambda: F.linspace(0, 1, -1), "from 0 on"),
    ],
)
def test_messages(use, message):
    with pytest.raises((ValueError, TypeError), match=message) as caught:
        use()
    assert len(str(caught.value).splitlines()) == 1


class TestCreation:
    @pytest.mark.parametrize(
        ("made", "expected"),
        [
            (lambda: F.zeros((2, 3)), np.zeros((2, 3))),
            (lambda: F.ones(3), np.ones(3)),
            (lambda: F.full((2,), 7.0), np.full(2, 7.0)),
            (lambda: F.full([2], 0.3), np.full(2, 0.3, np.float32)),
            (lambda: F.eye(2), np.eye(2)),
            (lambda: F.eye(2, 3), np.eye(2, 3)),
            (lambda: F.arange(4), np.arange(4)),
            (lambda: F.arange(1, 8, 3), np.arange(1, 8, 3)),
            (lambda: F.arange(5, 0, -2), np.arange(5, 0, -2)),
            (lambda: F.arange(0.5, 2, 0.5), np.arange(0.5, 2, 0.5)),
            (lambda: F.arange(3, 1), np.arange(3, 1)),
            (lambda: F.linspace(0, 1, 5), np.linspace(0, 1, 5)),
            (lambda: F.linspace(2, 1, 1), np.linspace(2, 1, 1)),
            (lambda: F.linspace(2, 1, 0), np.linspace(2, 1, 0)),
            (lambda: F.zeros_like(tensor([1.5])), np.zeros(1)),
            (lambda: F.ones_like(tensor([1.5])), np.ones(1)),
            (lambda: F.full_like(tensor([1.5, 2]), 0.25), np.full(2, 0.25)),
        ],
    )
    def test_float32_is_the_default(self, made, expected):
        assert made().dtype == np.float32
        assert np.array_equal(made().numpy(), expected)

    def test_dtype(self):
        assert F.zeros((2,), dtype="int32").dtype == np.int32
        assert F.arange(3, dtype="int64").dtype == np.int64
        assert F.arange(0, 2, 0.5, dtype="int32").tolist() == [0, 0, 1, 1]
        assert F.full((1,), True).dtype == np.bool_
        assert F.full((1,), 7).dtype == np.int32
        assert F.full((1,), 7, dtype="float16").dtype == np.float16
        assert F.full_like(tensor([1]), 2.7).tolist() == [2]
        assert F.linspace(0, 4, 3, dtype="int32").tolist() == [0, 2, 4]
        assert F.eye(2, dtype="bool").tolist() == [[True, False], [False, True]]

    def test_linspace_ends_where_it_shall(self):
        for count in range(2, 60):
            assert F.linspace(0, 0.1, count).numpy()[-1] == np.float32(0.1)
