"""Products: matrices, Einstein's summation, tensordot."""

import numpy as np
import pytest
from slopes import Checks, interpreting, parameter

from gradc import functional as F
from gradc import tensor

RANDOM = np.random.default_rng(0)


def array(*shape):
    return RANDOM.uniform(-1, 1, shape)


A, B, C, V = array(2, 3), array(2, 3), array(2, 3, 4), array(3)
Q = array(3, 3)


def einsum(equation, *arrays):
    return (
        lambda *x: F.einsum(equation, *x),
        lambda *x: np.einsum(equation, *x, optimize=False),
        *arrays,
    )


EQUATIONS = {
    "matmul": einsum("ij,jk->ik", array(2, 3), array(3, 4)),
    "implicit": einsum("ij,jk", array(2, 3), array(3, 4)),
    "implicit_order": einsum("ba", A),
    "transposed": einsum("ij->ji", A),
    "sum": einsum("ijk->j", C),
    "all": einsum("ij->", A),
    "unused": einsum("abc->b", C),
    "dot": einsum("i,i->", V, array(3)),
    "outer": einsum("i,j->ij", V, array(2)),
    "rows": einsum("ij,ij->i", A, B),
    "scaled": einsum("ij,j->ij", A, V),
    "vector": einsum("ij,j->i", A, V),
    "batched": einsum("bij,bjk->bik", C, array(2, 4, 2)),
    "batch_moved": einsum("bij,jkb->kib", C, array(4, 2, 2)),
    "heads": einsum("bqhd,bkhd->bhqk", array(2, 2, 2, 3), array(2, 3, 2, 3)),
    "ellipsis": einsum("...ij,...jk->...ik", C, array(4, 2)),
    "ellipsis_broadcast": einsum("...i,i...->...", array(1, 2, 3), array(3, 4, 1)),
    "ellipsis_implicit": einsum("...j,j", C, array(4)),
    "ellipsis_empty": einsum("i...->...", V),
    "diagonal": einsum("ii->i", Q),
    "trace": einsum("ii", Q),
    "inner_diagonal": einsum("iji->j", array(3, 2, 3)),
    "thrice": einsum("iii->i", array(2, 2, 2)),
    "diagonal_product": einsum("ii,ij->j", Q, array(3, 2)),
    "three": einsum("ij,jk,kl->il", array(2, 3), array(3, 2), array(2, 4)),
    "shared_by_three": einsum("i,i,i->i", V, array(3), array(3)),
    "four": einsum("a,ab,bc,cd->d", array(2), array(2, 3), array(3, 2), array(2, 2)),
    "one_extent": einsum("ij,jk->ik", array(2, 1), array(3, 4)),
    "sum_before": einsum("ija,jk->ik", array(2, 3, 2), array(3, 4)),
    "spaces": einsum(" i j , j -> i ", A, V),
}


def distances(x, y, p=2.0):
    return (np.abs(x[..., :, None, :] - y[..., None, :, :]) ** p).sum(-1) ** (1 / p)


CASES = {
    **EQUATIONS,
    "cross": (F.cross, np.cross, array(4, 3), array(4, 3)),
    "cross_axis": (
        lambda x, y: F.cross(x, y, 0),
        lambda x, y: np.cross(x, y, axis=0),
        array(3, 2),
        array(3, 1),
    ),
    "cdist": (F.cdist, distances, array(2, 4, 3), array(5, 3)),
    "cdist_1": (
        lambda x, y: F.cdist(x, y, 1.5),
        lambda x, y: distances(x, y, 1.5),
        array(2, 3),
        array(4, 3),
    ),
    "matmul_function": (lambda x, y: F.matmul(x, y, False, True), lambda x, y: x @ y.T, A, B),
    "matmul_transposed": (
        lambda x, y: F.matmul(x, y, transpose_a=True),
        lambda x, y: x.T @ y,
        A,
        B,
    ),
    "matmul_batched": (F.matmul, np.matmul, C, array(4, 2)),
    "mm": (F.mm, np.matmul, A, array(3, 4)),
    "bmm": (F.bmm, np.matmul, C, array(2, 4, 2)),
    "dot_function": (F.dot, np.dot, A[0], B[0]),
    "vdot": (F.vdot, np.vdot, A, B),
    "inner": (F.inner, np.inner, A, array(4, 2, 3)),
    "outer_function": (F.outer, np.outer, A, V),
    "kron": (F.kron, np.kron, A, array(2, 2)),
    "kron_ranks": (F.kron, np.kron, V, A),
    "tensordot": (F.tensordot, np.tensordot, C, array(3, 4, 2)),
    "tensordot_1": (
        lambda x, y: F.tensordot(x, y, 1),
        lambda x, y: np.tensordot(x, y, 1),
        C,
        array(4, 2),
    ),
    "tensordot_0": (lambda x, y: F.tensordot(x, y, 0), lambda x, y: np.tensordot(x, y, 0), A, V),
    "tensordot_axes": (
        lambda x, y: F.tensordot(x, y, ((0, 2), (1, 0))),
        lambda x, y: np.tensordot(x, y, ((0, 2), (1, 0))),
        C,
        array(4, 2, 2),
    ),
    "linear": (F.linear, lambda x, w, b: x @ w.T + b, A, array(4, 3), B[0, :1]),
    "linear_without_bias": (F.linear, lambda x, w: x @ w.T, A, B),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
class TestCases(Checks):
    pass


class TestEinsum:
    def test_one_product_per_pair(self):
        y = F.einsum("bqhd,bkhd->bhqk", tensor(array(2, 2, 2, 3)), tensor(array(2, 3, 2, 3)))
        names, waiting = [], [y._node]
        while waiting:
            each = waiting.pop()
            names.append(each.op.name)
            waiting += each.inputs
        assert names.count("matmul") == 1
        assert not {"mul", "sum"} & set(names)

    def test_random_equations(self):
        """Everything that NumPy takes, with letters of any number of operands."""
        rng = np.random.default_rng(3)
        sizes = dict(zip("abcde", (2, 3, 2, 1, 2), strict=True))
        with interpreting():
            for _ in range(60):
                terms = [
                    "".join(rng.choice(list(sizes), rng.integers(1, 4)))
                    for _ in range(rng.integers(1, 4))
                ]
                letters = sorted(set("".join(terms)))
                kept = "".join(rng.permutation(letters)[: rng.integers(0, len(letters) + 1)])
                arrays = [rng.uniform(-1, 1, [sizes[x] for x in term]) for term in terms]
                equation = f"{','.join(terms)}->{kept}"
                got = F.einsum(equation, *map(parameter, arrays)).numpy()
                assert np.allclose(got, np.einsum(equation, *arrays)), equation

    def test_empty(self):
        assert F.einsum("ij,jk->ik", F.zeros((2, 0)), F.zeros((0, 3))).tolist() == [[0] * 3] * 2
        assert F.einsum("ii->i", F.zeros((0, 0))).shape == (0,)
        assert F.einsum("ij->j", F.zeros((0, 2))).tolist() == [0, 0]
        assert F.einsum("->", tensor(3.0)).item() == 3
        assert F.einsum(",->", tensor(3.0), tensor(2.0)).item() == 6

    def test_types(self):
        assert F.einsum("i,i->", tensor([1, 2]), tensor([3, 4])).dtype == np.int32
        half = tensor([[1.0, 2]], dtype="float16")
        assert F.einsum("ij,kj->ik", half, half).dtype == np.float16
        assert F.einsum("i,i->i", tensor([1, 2]), tensor([0.5, 2])).tolist() == [0.5, 4]
        assert F.einsum("i,i->", [tensor([1.0]), tensor([2.0])]).item() == 2

    @pytest.mark.parametrize(
        ("equation", "arrays", "message"),
        [
            ("ij,jk->ik", (A,), "names 2 operands, found 1"),
            ("ijk->i", (A,), "does not fit"),
            ("i->i", (A,), "does not fit"),
            ("ij,jk->ik", (A, A), "the extents 3 and 2"),
            ("ij->ik", (A,), "has 'k'"),
            ("ij->ii", (A,), "twice"),
            ("i1->i", (A,), "expected letters"),
            ("ii->i", (A,), "the extents 2 and 3"),
        ],
    )
    def test_messages(self, equation, arrays, message):
        with pytest.raises(ValueError, match=message):
            F.einsum(equation, *map(tensor, arrays))


class TestEdges:
    def test_empty(self):
        assert F.matmul(F.zeros((2, 0)), F.zeros((0, 3))).tolist() == [[0] * 3] * 2
        assert F.linear(F.zeros((0, 3)), tensor(A)).shape == (0, 2)
        assert F.kron(F.zeros((0, 2)), tensor(A)).shape == (0, 6)

    def test_integers(self):
        assert F.kron(tensor([1, 2]), tensor([1, 10])).tolist() == [1, 10, 2, 20]
        assert F.outer(tensor([1, 2]), tensor([3])).dtype == np.int32

    @pytest.mark.parametrize(
        ("use", "message"),
        [
            (lambda: F.dot(tensor(A), tensor(A)), "two vectors"),
            (lambda: F.mm(tensor(A), tensor(V)), "two matrices"),
            (lambda: F.bmm(tensor(A), tensor(A)), "two batches"),
            (lambda: F.tensordot(tensor(A), tensor(A), 1), "same extents"),
            (lambda: F.tensordot(tensor(A), tensor(A), 3), "no more axes"),
            (lambda: F.linear(F.ones((5, 4)), F.ones((2, 3))), r"linear: expected 3 .*\[5, 4\]"),
        ],
    )
    def test_messages(self, use, message):
        with pytest.raises(ValueError, match=message):
            use()
