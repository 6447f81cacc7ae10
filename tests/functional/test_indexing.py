"""Elements at places that other tensors name, and their order."""

import math

import numpy as np
import pytest
from gradc.tracer.errors import BoundsError
from slopes import Checks, slope

from gradc import Tensor, tensor
from gradc import functional as F
from gradc.autodiff import vjp

RANDOM = np.random.default_rng(0)
A, B = RANDOM.uniform(-2, 2, (2, 3)), RANDOM.uniform(-2, 2, (2, 3))
C = RANDOM.uniform(-1, 1, (2, 3, 4))
LABELS = np.array([2, 0], np.int32)
INDEX = np.array([[2, 2], [0, -1]])


def written(x, s, add=False):
    """x after x[i, INDEX[i, j]] = s[i, j], or += with `add`."""
    made = np.array(x)
    for i, j in np.ndindex(INDEX.shape):
        made[i, INDEX[i, j]] = s[i, j] + (made[i, INDEX[i, j]] if add else 0)
    return made


LINES = [2, 0, -1, 2]


def of_lines(shape):
    """LINES along axis 1, the same for all that lies beside it."""
    return F.broadcast_to(tensor(LINES).reshape(1, -1, 1), shape)


def lines_written(x, s, add=False):
    made = np.array(x)
    for j, line in enumerate(LINES):
        made[:, line] = s[:, j] + (made[:, line] if add else 0)
    return made


CASES = {
    "take": (lambda x: F.take(x, 1, [2, 0, 2]), lambda x: np.take(x, [2, 0, 2], 1), C),
    "index_select": (
        lambda x: F.index_select(x, 0, tensor([1, 1])),
        lambda x: x[[1, 1]],
        C,
    ),
    "gather": (
        lambda x: F.gather(x, 1, tensor(INDEX)),
        lambda x: np.take_along_axis(x, INDEX, 1),
        A,
    ),
    "gather_axis_0": (
        lambda x: F.gather(x, 0, tensor([[1, 0], [1, 1], [0, 0]])),
        lambda x: np.take_along_axis(x[:, :2], np.array([[1, 0], [1, 1], [0, 0]]), 0),
        A,
    ),
    "gather_lines": (
        lambda x: F.gather(x, 1, of_lines((2, 4, 4))),
        lambda x: x[:, LINES],
        C,
    ),
    "gather_parts_of_lines": (
        lambda x: F.gather(x, 1, of_lines((1, 4, 3))),
        lambda x: x[:1, LINES, :3],
        C,
    ),
    "take_along_axis_lines": (
        lambda x: F.take_along_axis(x, of_lines((2, 4, 4)), axis=1),
        lambda x: x[:, LINES],
        C,
    ),
    "scatter_lines": (
        lambda x, s: F.scatter(x, 1, of_lines((2, 4, 4)), s),
        lines_written,
        C,
        RANDOM.uniform(-1, 1, (2, 4, 4)),
    ),
    "scatter_add_lines": (
        lambda x, s: F.scatter_add(x, 1, of_lines((2, 4, 4)), s),
        lambda x, s: lines_written(x, s, add=True),
        C,
        RANDOM.uniform(-1, 1, (2, 4, 4)),
    ),
    "take_along_axis": (
        lambda x: F.take_along_axis(x, tensor(INDEX), axis=1),
        lambda x: np.take_along_axis(x, INDEX, 1),
        A,
    ),
    "scatter": (lambda x, s: F.scatter(x, 1, tensor(INDEX), s), written, A, B[:, :2]),
    "scatter_larger_source": (lambda x, s: F.scatter(x, 1, tensor(INDEX), s), written, A, B),
    "scatter_add": (
        lambda x, s: F.scatter_add(x, 1, tensor(INDEX), s),
        lambda x, s: written(x, s, add=True),
        A,
        B[:, :2],
    ),
    "embedding": (lambda w: F.embedding(tensor([1, 1, 0]), w), lambda w: w[[1, 1, 0]], A),
    "indexing_one_hot": (
        lambda x: F.indexing_one_hot(x, tensor(LABELS)),
        lambda x: x[[0, 1], LABELS],
        A,
    ),
    "cumsum": (lambda x: F.cumsum(x, 1), lambda x: np.cumsum(x, 1), C),
    "cumsum_last": (lambda x: F.cumsum(x, -1), lambda x: np.cumsum(x, -1), C),
    "cumprod": (lambda x: F.cumprod(x, 0), lambda x: np.cumprod(x, 0), C),
    "cumprod_last": (lambda x: F.cumprod(x, 2), lambda x: np.cumprod(x, 2), C),
    "diff": (lambda x: F.diff(x, 2, 1), lambda x: np.diff(x, 2, 1), C),
    "sort": (lambda x: F.sort(x)[0], lambda x: np.sort(x), C),
    "sort_axis": (
        lambda x: F.sort(x, descending=True, axis=1)[0],
        lambda x: -np.sort(-x, axis=1),
        C,
    ),
    "topk": (lambda x: F.topk(x, 2)[0], lambda x: -np.sort(-x)[..., :2], C),
    "topk_descending": (
        lambda x: F.topk(x, 2, descending=True, axis=0)[0],
        lambda x: -np.sort(-x, axis=0),
        C,
    ),
    "topk_kth": (lambda x: F.topk(x, 2, False, kth_only=True)[0], lambda x: np.sort(x)[..., 1], C),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
class TestCases(Checks):
    pass


class TestPlaces:
    def test_one_hot(self):
        assert F.one_hot(tensor([1, 0]), 3).tolist() == [[0, 1, 0], [1, 0, 0]]
        assert F.one_hot(tensor(2), 3).tolist() == [0, 0, 1]
        assert F.one_hot(F.zeros((0,), dtype="int32"), 3).shape == (0, 3)

    def test_the_row_of_the_padding_gets_no_derivative(self):
        def read(w):
            return F.embedding(tensor([1, 0, 1, 2]), w, padding_idx=-2)

        w = np.arange(6.0).reshape(3, 2)
        assert read(tensor(w)).tolist() == [[2, 3], [0, 1], [2, 3], [4, 5]]
        assert slope(read, w).tolist() == [[1, 1], [0, 0], [1, 1]]

    def test_a_number_as_source(self):
        x = F.scatter(tensor([[1, 2, 3]]), 1, tensor([[0, 2]]), 9)
        assert x.tolist() == [[9, 2, 9]]
        assert F.scatter_add(tensor([[1, 2, 3]]), 1, tensor([[0, 0]]), 1).tolist() == [[3, 2, 3]]

    def test_empty(self):
        x = F.zeros((2, 3))
        nothing = F.zeros((2, 0), dtype="int32")
        assert F.gather(x, 1, nothing).shape == (2, 0)
        assert F.scatter(x, 1, nothing, F.zeros((2, 0))).tolist() == [[0] * 3] * 2
        assert F.take(x, 1, F.zeros((0,), dtype="int32")).shape == (2, 0)

    @pytest.mark.parametrize(
        "use",
        [
            lambda: F.take(tensor(A), 0, tensor([2])),
            lambda: F.gather(tensor(A), 1, tensor([[3]])),
            lambda: F.scatter(tensor(A), 1, tensor([[-4]]), tensor([[0.0]])),
            lambda: F.embedding(tensor([5]), tensor(A)),
            lambda: F.one_hot(tensor([3]), 3),
        ],
    )
    def test_places_out_of_range(self, use):
        with pytest.raises(BoundsError, match="expected a place"):
            use().numpy()

    @pytest.mark.parametrize(
        ("use", "message"),
        [
            (lambda: F.take(tensor(A), 0, tensor([0.5])), "expected integers"),
            (lambda: F.gather(tensor(A), 1, tensor([0])), "does not fit"),
            (lambda: F.scatter(tensor(A), 1, tensor(INDEX), tensor([1.0])), "expected a source"),
            (lambda: F.embedding(tensor([0]), tensor(A), 2), "padding_idx"),
            (lambda: F.embedding(tensor([0]), tensor(A), max_norm=1.0), "not supported"),
        ],
    )
    def test_messages(self, use, message):
        with pytest.raises((ValueError, TypeError), match=message):
            use()


class TestOrder:
    VALUES = [2.0, math.nan, -1.0, 2.0, math.inf, -0.0, 0.0]

    def test_nan_is_largest_and_equal_elements_keep_their_order(self):
        x = tensor(self.VALUES)
        assert F.argsort(x).tolist() == [2, 5, 6, 0, 3, 4, 1]
        assert F.argsort(x, descending=True).tolist() == [1, 4, 0, 3, 5, 6, 2]
        values, places = F.sort(x)
        assert places.dtype == np.int32
        assert values.tolist()[:6] == [-1, -0.0, 0, 2, 2, math.inf]

    @pytest.mark.parametrize("dtype", ["bool", "uint8", "int64", "float16", "bfloat16", "float64"])
    def test_types_are_kept(self, dtype):
        x = tensor([1, 0, 1, 0], dtype=dtype)
        values, places = F.sort(x)
        assert values.dtype == x.dtype
        assert values.tolist() == [0, 0, 1, 1]
        assert places.tolist() == [1, 3, 0, 2]

    def test_tied_elements_get_the_derivative_of_their_own_place(self):
        got = slope(lambda x: F.topk(x, 2, descending=True)[0] * tensor([1.0, 10]), [3.0, 3, 3])
        assert got.tolist() == [1, 10, 0]

    def test_bounds_of_k(self):
        x = tensor(A)
        assert F.topk(x, 0)[0].shape == (2, 0)
        assert F.topk(x, 3, no_sort=True)[1].shape == (2, 3)
        assert F.topk(x, 2, kth_only=True, axis=0)[0].shape == (3,)
        assert F.topk(x, 4)[0].shape == (2, 3)
        assert F.topk(x, 4, False, kth_only=True)[0].tolist() == x.numpy().max(1).tolist()
        for k, kth in ((-1, False), (0, True)):
            with pytest.raises(ValueError, match="expected a number from"):
                F.topk(x, k, kth_only=kth)

    def test_empty(self):
        assert F.sort(F.zeros((0, 3)))[0].shape == (0, 3)
        assert F.sort(F.zeros((3, 0)))[1].shape == (3, 0)
        assert F.cumsum(F.zeros((0, 3)), 0).shape == (0, 3)
        assert F.cumprod(F.zeros((2, 0)), 1).shape == (2, 0)

    def test_running_sums_of_integers(self):
        assert F.cumsum(tensor([True, True]), 0).tolist() == [1, 2]
        assert F.cumprod(tensor([100, 3], dtype="uint8"), 0).tolist() == [100, 300]

    def test_cumprod_beside_zeros(self):
        x = [2.0, 0.0, 3.0, 0.0, 5.0]
        assert slope(lambda t: F.cumprod(t, 0), x).tolist() == [1, 2 + 6, 0, 0, 0]

    def test_accuracy(self):
        logits = tensor([[0.1, 0.5, 0.4], [0.3, 0.3, 0.4], [0.9, 0.05, 0.06]])
        target = tensor([2, 0, 1])
        assert F.topk_accuracy(logits, target).item() == 0
        two, three = F.topk_accuracy(logits, target, (2, 3))
        assert (two.item(), three.item()) == (pytest.approx(2 / 3), 1)
        with pytest.raises(ValueError, match="from 1 to 3"):
            F.topk_accuracy(logits, target, 4)
        with pytest.raises(ValueError, match="classes"):
            F.topk_accuracy(logits, tensor([0, 1]))


class TestWhatDependsOnValues:
    def test_unique(self):
        x = tensor([[3.0, -1.0, 3.0], [2.0, -1.0, 3.0]])
        values, inverse, counts = F.unique(x, return_inverse=True, return_counts=True)
        assert values.tolist() == [-1, 2, 3]
        assert inverse.tolist() == [[2, 0, 2], [1, 0, 2]]
        assert counts.tolist() == [2, 1, 3]
        assert F.unique(tensor([], dtype="int32")).shape == (0,)
        assert slope(lambda t: F.unique(t) * tensor([1.0, 2.0]), [5.0, 4.0]).tolist() == [2, 1]

    def test_bincount(self):
        x = tensor([1, 3, 1])
        assert F.bincount(x).tolist() == [0, 2, 0, 1]
        assert F.bincount(x, minlength=6).tolist() == [0, 2, 0, 1, 0, 0]
        assert F.bincount(x, tensor([0.5, 1.0, 0.25])).tolist() == [0, 0.75, 0, 1]
        assert F.bincount(tensor([], dtype="int32")).shape == (0,)
        assert slope(lambda w: F.bincount(x, w) ** 2, [1.0, 2, 3]).tolist() == [8, 4, 8]

    @pytest.mark.parametrize(
        ("use", "message"),
        [
            (lambda: F.bincount(tensor([0.5])), "bincount: expected a vector of integers"),
            (lambda: F.bincount(tensor([-1])).numpy(), "found -1"),
            (lambda: F.bincount(tensor([1]), tensor([1.0, 2.0])), r"shape \[1\], found \[2\]"),
            (lambda: F.bincount(tensor([1]), minlength=-2), "minlength to be at least 0"),
        ],
    )
    def test_messages(self, use, message):
        with pytest.raises((ValueError, TypeError), match=message):
            use()


def test_places_of_nothing_are_not_checked() -> None:
    """The one number that stands for all of no places is none of them."""
    x = tensor(np.zeros((0,), np.float32))

    def ordered(x: Tensor) -> Tensor:
        return F.take_along_axis(x, F.argsort(-x, axis=-1), -1)

    for _ in range(3):
        assert ordered(x).numpy().shape == (0,)
        (found,) = vjp(lambda x: F.sum(ordered(x)), x)[1]
        assert found.numpy().shape == (0,)
