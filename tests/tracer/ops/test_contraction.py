import numpy as np
import pytest
from contract.compute import compute, leaf
from gradc.tracer.dtypes import DType, bool_, float16, float32, float64, int8, int32, int64
from gradc.tracer.errors import ShapeError
from gradc.tracer.graph import canonical
from gradc.tracer.ops import contraction

SHAPES = [
    ((3,), (3,)),
    ((3,), (3, 2)),
    ((2, 3), (3,)),
    ((2, 3), (3, 4)),
    ((5, 2, 3), (3, 4)),
    ((5, 2, 3), (3,)),
    ((3,), (5, 3, 4)),
    ((2, 3), (5, 3, 4)),
    ((5, 1, 2, 3), (4, 3, 2)),
    ((0, 3), (3, 4)),
    ((2, 0), (0, 4)),
    ((0,), (0,)),
    ((4, 0, 3), (3, 2)),
]


@pytest.mark.parametrize(("left", "right"), SHAPES, ids=str)
def test_vectors_and_batches(left: tuple[int, ...], right: tuple[int, ...]) -> None:
    rng = np.random.default_rng(0)
    a, b = rng.integers(-3, 4, left).astype(float), rng.integers(-3, 4, right).astype(float)
    made = contraction.matmul(leaf(0, left), leaf(1, right))
    found = compute([made], [a, b])[0]
    letters = "".join(chr(ord("p") + k) for k in range(max(a.ndim, b.ndim)))
    batch_a, batch_b = letters[: max(a.ndim - 2, 0)], letters[: max(b.ndim - 2, 0)]
    if len(batch_a) != len(batch_b) and batch_a and batch_b:
        batch_b = batch_a[-len(batch_b) :]
    rows, columns = "m" if a.ndim > 1 else "", "n" if b.ndim > 1 else ""
    batch = max(batch_a, batch_b, key=len)
    expected = np.einsum(f"{batch_a}{rows}k,{batch_b}k{columns}->{batch}{rows}{columns}", a, b)
    assert made.shape == expected.shape
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        (int32, int32, int32),
        (int8, int8, int32),
        (bool_, bool_, int32),
        (int64, int8, int64),
        (int32, float16, float16),
        (float32, float64, float64),
    ],
)
def test_type_of_a_product(a: DType, b: DType, expected: DType) -> None:
    assert contraction.matmul(leaf(0, (2, 2), a), leaf(1, (2, 2), b)).dtype is expected


def test_products_of_integers_are_exact() -> None:
    """float32 would lose the last digits."""
    a = np.array([[16_777_217, 1]], np.int32)
    b = np.array([[1], [2]], np.int32)
    made = contraction.matmul(leaf(0, (1, 2), int32), leaf(1, (2, 1), int32))
    assert compute([made], [a, b])[0].tolist() == [[16_777_219]]
    small = contraction.matmul(leaf(0, (1, 2), int8), leaf(1, (2, 1), int8))
    many = np.full((1, 2), 100, np.int8)
    assert compute([small], [many, many.T])[0].tolist() == [[20_000]]


def test_half_types_are_summed_in_float32() -> None:
    ones = np.ones((1, 3000), np.float16)
    made = contraction.matmul(leaf(0, (1, 3000), float16), leaf(1, (3000, 1), float16))
    assert compute([made], [ones, ones.T])[0] == 3000


def test_many_rows_against_one_matrix_are_one_product_of_matrices() -> None:
    made = contraction.matmul(leaf(0, (5, 2, 3)), leaf(1, (3, 4)))
    products = [each for each in canonical([made])[0].nodes() if each.op.name == "matmul"]
    assert [each.shape for each in products] == [(10, 4)]


@pytest.mark.parametrize(
    ("left", "right", "message"),
    [
        ((2, 3), (4, 2), "as many columns on the left as rows on the right, found 3 and 4"),
        ((3,), (4,), "found 3 and 4"),
        ((2, 2, 3), (3, 3, 2), "do not broadcast"),
        ((), (2, 2), r"expected at least one axis each, found \[\] and \[2, 2\]"),
    ],
)
def test_shapes_that_do_not_fit(
    left: tuple[int, ...], right: tuple[int, ...], message: str
) -> None:
    with pytest.raises(ShapeError, match=f"matmul: .*{message}"):
        contraction.matmul(leaf(0, left, float64), leaf(1, right, float64))
