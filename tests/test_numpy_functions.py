"""NumPy's ufuncs and functions of tensors: NumPy's values, recorded and differentiable."""

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import gradc
from gradc import functional as F
from gradc import jit
from gradc.autodiff import GradManager
from gradc.numpy_functions import FUNCTIONS
from gradc.numpy_ufuncs import UFUNCS

pytestmark = pytest.mark.usefixtures("interpreted")

A = np.array([[0.3, 0.8, 0.5], [0.7, 0.2, 0.9]])
B = np.array([[0.6, 0.4, 0.1], [0.15, 0.85, 0.35]])
SQUARE = np.array([[0.3, 0.8, 0.5], [0.7, 0.2, 0.9], [0.25, 0.45, 0.65]])
WHOLE = np.array([[3, 1, 2], [5, 4, 7]])
MASK = WHOLE > 2

BITS = {"bitwise_and", "bitwise_or", "bitwise_xor", "left_shift", "right_shift", "invert"}
PLACES = {"argmax", "argmin", "argsort", "count_nonzero"}

ARGUMENTS: dict[str, tuple[Any, ...]] = {
    "arccosh": (A + 1,),
    "matmul": (A, SQUARE),
    "dot": (A, SQUARE),
    "concatenate": ([A, B], 1),
    "stack": ([A, B],),
    "vstack": ([A, B],),
    "hstack": ([A, B],),
    "reshape": (A, (3, 2)),
    "swapaxes": (A, 0, 1),
    "moveaxis": (A, 0, 1),
    "expand_dims": (A, 0),
    "squeeze": (A[None],),
    "broadcast_to": (A, (2, 2, 3)),
    "roll": (A, 1),
    "tile": (A, (2, 1)),
    "repeat": (A, 2),
    "kron": (A, B),
    "inner": (A, B),
    "vdot": (A[0], B[0]),
    "outer": (A[0], B[0]),
    "cross": (A, B),
    "trace": (SQUARE,),
    "tensordot": (A, SQUARE, 1),
    "take_along_axis": (A, np.array([[0, 2], [1, 1]]), 1),
    "take": (A, np.array([1, 0]), 1),
    "split": (A, 3, 1),
    "clip": (A, 0.28, 0.6),
    "round": (A, 1),
    "pad": (A, 1),
    "where": (MASK, A, B),
    "full_like": (A, 2.5),
    "einsum": ("ij,kj->ik", A, B),
    "cumsum": (A, 1),
    "cumprod": (A, 1),
    "std": (A, 1),
    "var": (A,),
    "median": (A, 1),
    "isclose": (A, B),
    "remainder": (A, B + 0.013),
    "fmod": (A, B + 0.013),
}


def row(name: str, function: Any) -> tuple[Any, ...]:
    """The arguments for a function of NumPy, operands of float64 first where it has no row."""
    if name in ARGUMENTS:
        return ARGUMENTS[name]
    if name in BITS:
        return (WHOLE, WHOLE)[: function.nin]
    return (A, B)[: getattr(function, "nin", 1)]


ROWS = {each.__name__: (each, row(each.__name__, each)) for each in (*UFUNCS, *FUNCTIONS)}


def tensors(value: Any) -> Any:
    """The arguments with tensors in place of arrays."""
    if isinstance(value, (tuple, list)):
        return type(value)(map(tensors, value))
    if not isinstance(value, np.ndarray):
        return value
    kind = "float64" if value.dtype.kind == "f" else value.dtype
    return gradc.Parameter(value, dtype=kind) if kind == "float64" else gradc.tensor(value)


def flat(value: Any) -> list[Any]:
    """The results one by one."""
    return (
        [e for each in value for e in flat(each)] if isinstance(value, (tuple, list)) else [value]
    )


def near(found: Any, expected: Any) -> bool:
    """Whether results are those of NumPy, and tensors where they are no plain numbers."""
    one, two = flat(found), flat(expected)
    return len(one) == len(two) and all(
        np.allclose(np.asarray(a), b, 1e-12) and np.shape(a) == np.shape(b)
        for a, b in zip(one, two, strict=True)
    )


def test_values() -> None:
    wrong = []
    for name, (function, args) in ROWS.items():
        try:
            found, expected = function(*tensors(args)), function(*args)
        except Exception as error:
            wrong.append(f"{name}: {type(error).__name__}: {error}")
            continue
        recorded = name in ("shape", "ndim", "size") or all(
            isinstance(each, gradc.Tensor) for each in flat(found)
        )
        if not near(found, expected) or not recorded:
            wrong.append(f"{name}: {found} instead of {expected}")
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("traced", [False, True])
def test_an_array_on_either_side(traced: bool) -> None:
    wrong = []
    for function, args in ROWS.values():
        if not isinstance(function, np.ufunc) or function.nin != 2:
            continue
        x, y = args
        for left in (True, False):

            def call(
                t: Any, function: Any = function, x: Any = x, y: Any = y, left: bool = left
            ) -> Any:
                return function(t, y) if left else function(x, t)

            t = tensors(x if left else y)
            found = (jit.trace(call) if traced else call)(t)
            if not near(found, function(x, y)):
                wrong.append(f"{function.__name__}, tensor {'left' if left else 'right'}: {found}")
    assert not wrong, "\n".join(wrong)


def parts(value: Any) -> list[Any]:
    """The parameters among arguments."""
    if isinstance(value, (tuple, list)):
        return [p for each in value for p in parts(each)]
    return [value] if isinstance(value, gradc.Parameter) else []


def moved(value: Any, step: float) -> Any:
    """The arguments, each float moved by a step of a pattern."""
    if isinstance(value, (tuple, list)):
        return type(value)(moved(each, step) for each in value)
    if isinstance(value, np.ndarray) and value.dtype.kind == "f":
        return value + step * np.cos(np.arange(value.size)).reshape(value.shape)
    return value


FLAT = {"floor", "ceil", "trunc", "rint", "sign", "floor_divide", "round", "around", "divmod"}
FLAT |= {"zeros_like", "ones_like", "full_like"}


def test_gradients_along_a_direction() -> None:
    """The derivative along a direction is that of NumPy's values, by central differences."""
    wrong = []
    for name, (function, args) in ROWS.items():
        made = tensors(args)
        expected = [np.asarray(each) for each in flat(function(*args))]
        if name in FLAT | PLACES | {"shape", "ndim", "size"} or expected[0].dtype.kind != "f":
            continue
        given = parts(made)
        with GradManager().attach(given) as gm:
            gm.backward([F.sum(each) for each in flat(function(*made))])
        found = sum(
            float((p.grad.numpy() * np.cos(np.arange(p.size)).reshape(p.shape)).sum())
            for p in given
            if p.grad is not None
        )
        up, down = (
            sum(np.sum(each) for each in flat(function(*moved(args, step))))
            for step in (1e-6, -1e-6)
        )
        slope = (up - down) / 2e-6
        if not np.isclose(found, slope, 1e-4, 1e-6):
            wrong.append(f"{name}: {found} instead of {slope}")
    assert not wrong, "\n".join(wrong)


class TestMethods:
    """The methods of ufuncs, and their options."""

    def test_reduce_accumulate_outer(self) -> None:
        t = gradc.tensor(A, dtype="float64")
        for ufunc in (np.add, np.multiply, np.maximum, np.minimum, np.logaddexp):
            for axis in (0, 1, None):
                assert near(ufunc.reduce(t, axis=axis), ufunc.reduce(A, axis=axis))
            assert near(ufunc.reduce(t, keepdims=True), ufunc.reduce(A, keepdims=True))
        for ufunc in (np.add, np.multiply):
            assert near(ufunc.accumulate(t, axis=1), ufunc.accumulate(A, axis=1))
        for ufunc in (np.add, np.multiply, np.less):
            assert near(ufunc.outer(t, B), ufunc.outer(A, B))
            assert near(ufunc.outer(A, t[0]), ufunc.outer(A, A[0]))

    def test_out(self) -> None:
        t, out = gradc.tensor(A, dtype="float64"), np.zeros((2, 3))
        assert np.add(t, B, out=out) is out
        np.testing.assert_allclose(out, A + B)
        out += t
        np.testing.assert_allclose(out, A + B + A)
        box = gradc.tensor(np.zeros((2, 3)), dtype="float64")
        assert np.add(t, B, out=box) is box
        np.testing.assert_allclose(box.numpy(), A + B)
        assert np.sum(t, axis=0, out=box[0]).shape == (3,)
        with pytest.raises(ValueError, match=r"np\.add: expected `out` of the shape"):
            np.add(t, B, out=np.zeros(3))

    def test_dtype_and_keywords_of_reductions(self) -> None:
        t = gradc.tensor(A)
        assert np.add(t, 1, dtype="float64").dtype == np.float64
        assert np.sum(t, dtype="float64").dtype == np.float64
        assert np.mean(t, axis=1, keepdims=True).shape == (2, 1)
        assert np.max(t, axis=(0, 1)).item() == np.float32(0.9)

    def test_nothing_is_lost_in_an_array(self) -> None:
        p, out = gradc.Parameter(A), np.zeros((2, 3))
        with GradManager().attach(p):
            with pytest.raises(TypeError, match=r"gradient would be lost: write a = a \+ x"):
                out += p * 2
            with pytest.raises(TypeError, match=r"np\.cov is not there for tensors: write"):
                np.cov(p * 2)
            assert np.allclose(p * 2, 2 * A)
        np.testing.assert_allclose(np.cov(p), np.cov(A.astype(np.float32)))
        np.testing.assert_array_equal(out, 0)

    @pytest.mark.parametrize(
        "call",
        [
            lambda t: np.add(t, t, where=MASK),
            lambda t: np.add.at(t, [0], 1),
            lambda t: np.add.reduceat(t, [0]),
            lambda t: np.heaviside(t, 0.5),
            lambda t: np.frexp(t),
            lambda t: np.subtract.reduce(t),
            lambda t: np.sum(t, where=MASK),
            lambda t: np.sum(t, initial=3),
            lambda t: np.add(t, t, casting="no"),
        ],
    )
    def test_what_is_not_there_says_what_to_write(self, call: Callable[[Any], Any]) -> None:
        pattern = r"np\.[\w.]+ is not there for tensors.*: write .*test_numpy_functions\.py"
        with pytest.raises(TypeError, match=pattern):
            call(gradc.tensor(A))

    def test_other_objects_are_asked(self) -> None:
        class Other:
            __array_ufunc__ = None

            def __radd__(self, other: Any) -> str:
                return "theirs"

        assert gradc.tensor(A) + Other() == "theirs"


def test_operators_with_arrays_and_numbers_of_numpy() -> None:
    t = gradc.tensor([1.0, 2.0])
    for name in ("add", "sub", "mul", "truediv", "pow", "mod", "floordiv", "lt", "ge", "eq"):
        sign = getattr(operator, name)
        for other in (np.array([3.0, 2.0]), np.float64(2.0), np.float32(2.0), np.int64(2)):
            for found, expected in (
                (sign(t, other), sign(np.array([1.0, 2.0]), other)),
                (sign(other, t), sign(other, np.array([1.0, 2.0]))),
            ):
                assert isinstance(found, gradc.Tensor)
                assert found.dtype in (np.float32, np.bool_)
                np.testing.assert_allclose(found.numpy(), expected, 1e-6)


def test_round_and_abs() -> None:
    p = gradc.Parameter([1.26, -2.5, 3.5])
    assert round(p).tolist() == [1, -2, 4]
    np.testing.assert_allclose(round(p, 1).numpy(), [1.3, -2.5, 3.5], 1e-6)
    np.testing.assert_allclose(round(p * 100, -2).numpy(), [100, -200, 400])
    with GradManager().attach(p) as gm:
        gm.backward(abs(p))
    assert p.grad.tolist() == [1, -1, 1]
    assert np.asarray(p).dtype == np.float32
