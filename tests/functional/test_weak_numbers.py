"""Python's numbers beside tensors of integers: right answers, or an error that names the type."""

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import gradc
from gradc import functional as F

pytestmark = pytest.mark.usefixtures("interpreted")

INTEGERS = ("bool", "uint8", "int8", "int16", "int32", "int64")
SIGNS = {
    "lt": (operator.lt, F.less),
    "le": (operator.le, F.less_equal),
    "gt": (operator.gt, F.greater),
    "ge": (operator.ge, F.greater_equal),
    "eq": (operator.eq, F.equal),
    "ne": (operator.ne, F.not_equal),
}
INF, NAN = float("inf"), float("nan")


def ends(dtype: str) -> tuple[int, int]:
    """The least and the largest number of a type."""
    return (0, 1) if dtype == "bool" else (int(np.iinfo(dtype).min), int(np.iinfo(dtype).max))


def held(dtype: str) -> list[int]:
    """Numbers that a type holds: its ends and those around 0."""
    low, high = ends(dtype)
    return sorted({low, low + 1, high - 1, high, *(k for k in (-1, 0, 1, 2) if low <= k <= high)})


def beside(dtype: str) -> list[Any]:
    """Numbers to compare with: within and beyond the type, fractions, and what is no number."""
    low, high = ends(dtype)
    near = (low, high, 0, 255, 2**31, -(2**31), 2**63, -(2**63))
    whole = {k + d for k in near for d in (-2, -1, 0, 1)}
    fractions = [k + d for k in (low, high, 0) if abs(k) < 2**52 for d in (-0.5, 0.0, 0.5)]
    return [*sorted(whole), *fractions, -0.0, 0.1, 1e30, -1e30, INF, -INF, NAN]


@pytest.mark.parametrize("dtype", INTEGERS)
def test_comparisons(dtype: str) -> None:
    """Python compares integers with integers and floats exactly."""
    wrong = []
    values = held(dtype)
    x = gradc.tensor(np.array(values), dtype=dtype)
    assert x.tolist() == held(dtype)
    for n in beside(dtype):
        for name, (sign, function) in SIGNS.items():
            right = [sign(k, n) for k in values]
            found = {
                "x n": (sign(x, n), right),
                "n x": (sign(n, x), [sign(n, k) for k in values]),
                "F(x, n)": (function(x, n), right),
                "F(n, x)": (function(n, x), [sign(n, k) for k in values]),
                "F(x=x, y=n)": (function(y=n, x=x), right),
            }
            if isinstance(n, float) or -(2**63) <= n < 2**63:
                found["NumPy's number"] = sign(x, np.asarray(n)[()]), right
            if isinstance(n, int) and -(2**63) <= n < 2**63:
                array = np.full(len(values), n, np.int64)
                mirrored = [sign(n, k) for k in values]
                found["NumPy's number first"] = sign(np.int64(n), x), mirrored
                found["an array"], found["a list"] = (sign(x, array), right), (sign(x, [n]), right)
                found["an array first"] = sign(array, x), mirrored
            for way, (made, expected) in found.items():
                if made.tolist() != expected:
                    wrong.append(f"{name} {n}, {way}: {made.tolist()}, not {expected}")
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("dtype", INTEGERS[1:])
def test_bounds(dtype: str) -> None:
    """A bound beyond the type does nothing where that is right, and is an error where it is not."""
    x = gradc.tensor(np.array(held(dtype)), dtype=dtype)
    low, high = ends(dtype)
    values = held(dtype)
    wrong = []
    for n in (low - 1, low - 300, -1, 0, 1, high + 1, high + 300, 2**70):
        for name, found, expected in (
            ("maximum", lambda n=n: F.maximum(x, n), [max(k, n) for k in values]),
            ("maximum of", lambda n=n: F.maximum(n, x), [max(k, n) for k in values]),
            ("minimum", lambda n=n: F.minimum(x, n), [min(k, n) for k in values]),
            ("clip from", lambda n=n: F.clip(x, n, None), [max(k, n) for k in values]),
            ("clip to", lambda n=n: F.clip(x, upper=n), [min(k, n) for k in values]),
            (
                "clip",
                lambda n=n: F.clip(x, min(n, high), high),
                [min(max(k, n), high) for k in values],
            ),
            (
                "logical_and",
                lambda n=n: F.logical_and(x, n),
                [bool(k) and n != 0 for k in values],
            ),
        ):
            fit = all(low <= k <= high for k in expected)
            try:
                made = found()
            except OverflowError as error:
                if fit or dtype not in str(error) or "test_weak_numbers.py" not in str(error):
                    wrong.append(f"{name} {n}: {error}")
                continue
            if made.tolist() != expected or (name != "logical_and" and made.dtype != dtype):
                wrong.append(f"{name} {n}: {made.tolist()} of {made.dtype}, not {expected}")
    assert not wrong, "\n".join(wrong)


def test_isclose() -> None:
    x = gradc.tensor(np.array([0, 255]), dtype="uint8")
    assert F.isclose(x, -1).tolist() == [False, False]
    assert F.isclose(x, 300).tolist() == [False, False]
    assert F.isclose(x, 255).tolist() == [False, True]


def stored(dtype: str, n: int) -> dict[str, Callable[[], Any]]:
    """Every way to store the integer n in a tensor of a type."""

    def x() -> gradc.Tensor:
        return gradc.tensor(np.array([[0, 1], [1, 0]]), dtype=dtype)

    def assigned(index: Any, value: Any) -> Callable[[], gradc.Tensor]:
        def assign() -> gradc.Tensor:
            z = x()
            z[index] = value
            return z

        return assign

    mask = np.array([[True, False], [False, True]])
    return {
        "add": lambda: x() + n,
        "mul": lambda: n * x(),
        "sub": lambda: x() - n,
        "floordiv": lambda: x() // n,
        "mod": lambda: F.mod(x(), n),
        "in place": lambda: operator.iadd(x(), n),
        "tensor": lambda: gradc.tensor(n, dtype=dtype),
        "tensor of a list": lambda: gradc.tensor([n], dtype=dtype),
        "full": lambda: F.full((2,), n, dtype),
        "full of a list": lambda: F.full((2,), [n, 0], dtype=dtype),
        "full_like": lambda: F.full_like(x(), n),
        "full_like of a list": lambda: F.full_like(x(), [n, 0]),
        "pad": lambda: F.pad(x(), ((1, 1), (0, 0)), constant_value=n),
        "masked_fill": lambda: F.masked_fill(x(), mask, n),
        "masked_fill by numbers": lambda: F.masked_fill(x(), mask.astype(np.int64), n),
        "where": lambda: F.where(mask, x(), n),
        "where by numbers": lambda: F.where(gradc.tensor(mask, dtype="int64"), n, x()),
        "arange to": lambda: F.arange(n - 1, n + 1, dtype=dtype),
        "arange": lambda: F.arange(0, 2 * n, n, dtype=dtype),
        "linspace": lambda: F.linspace(0, n, 3, dtype=dtype),
        "assignment": assigned(0, n),
        "assignment of a list": assigned([0, 1], [n, 0]),
        "assignment of an array": assigned([0, 1], np.array([n, 0])),
        "assignment by a mask": assigned(mask, n),
        "assignment by a tensor": assigned(gradc.tensor(mask), [n, 0]),
        "scatter": lambda: F.scatter(x(), 1, np.zeros((2, 1), np.int32), n),
        "power": lambda: x() ** n if n > 8 else x() + n,
    }


@pytest.mark.parametrize("dtype", INTEGERS[1:5])
def test_numbers_that_are_stored_fit(dtype: str) -> None:
    low, high = ends(dtype)
    wrong = []
    for n in (low - 1, low - 45, high + 1, high + 45):
        for name, function in stored(dtype, n).items():
            try:
                wrong.append(f"{name} of {n}: {function().tolist()}")
            except OverflowError as error:
                if dtype not in str(error) or "test_weak_numbers.py" not in str(error):
                    wrong.append(f"{name} of {n}: {error}")
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("dtype", INTEGERS[1:])
def test_casts_of_floats_agree_on_every_route(dtype: str) -> None:
    """Toward 0, held within the range; NaN is 0."""
    low, high = ends(dtype)
    given = [0.0, -0.9, 2.7, -3.2, 300.7, -300.2, 7e4, 1e10, -1e10, 1e20, -1e20, INF, -INF, NAN]
    expected = [0 if k != k else high if k > high else low if k < low else int(k) for k in given]
    for kind in ("float32", "float64"):
        array = np.array(given, kind)
        x = gradc.tensor(array, dtype=kind)
        ways = {
            "tensor": gradc.tensor(given, dtype=dtype),
            "tensor of an array": gradc.tensor(array, dtype=dtype),
            "other byte order": gradc.tensor(array.astype(array.dtype.newbyteorder()), dtype=dtype),
            "astype": x.astype(dtype),
            "tensor of a tensor": gradc.tensor(x, dtype=dtype),
            "from_numpy": gradc.from_numpy(array).astype(dtype),
            "full of an array": F.full((len(given),), array, dtype=dtype),
            "full": F.stack([F.full((), k, dtype=dtype) for k in given]),
            "constants": F.stack([F.full((2,), k)[0].astype(dtype) for k in given]),
        }
        z = F.zeros((len(given),), dtype=dtype)
        z[...] = array
        ways["assignment"] = z
        wrong = [
            f"{name}: {found.tolist()}"
            for name, found in ways.items()
            if found.tolist() != expected
        ]
        assert not wrong, f"expected {expected}\n" + "\n".join(wrong)


class TestKeys:
    """True, 1 and 1.0, and both zeros, are equal keys of dictionaries: each keeps its meaning."""

    @pytest.mark.parametrize("order", [(True, 1, 1.0), (1.0, 1, True), (1, True, 1.0)])
    def test_extents(self, order: tuple[Any, ...]) -> None:
        extent = 5 if order[0] is True else 7 if order[0] == 1.0 else 9
        x = gradc.tensor(np.ones((1, extent)))
        functions: dict[str, Callable[[Any], Any]] = {
            "zeros": lambda k: F.zeros((k, extent)),
            "ones": lambda k: F.ones((extent, k)),
            "full": lambda k: F.full((k, extent, extent), 2.5),
            "eye": lambda k: F.eye(k, extent + 1),
            "reshape": lambda k: F.reshape(x, (k, extent, k)),
            "method": lambda k: x.reshape(extent, k),
            "broadcast_to": lambda k: F.broadcast_to(x, (extent, k, extent)),
            "tile": lambda k: F.tile(x, (k, 3)),
            "axis": lambda k: F.sum(x, axis=k),
            "axes": lambda k: F.sum(x, axis=(0, k)),
            "roll": lambda k: F.roll(x, k, 1),
            "split": lambda k: F.split(x, k, 1),
            "topk": lambda k: F.topk(x, k),
            "pad": lambda k: F.pad(x, ((k, 0), (0, k))),
            "one_hot": lambda k: F.one_hot(np.zeros(extent, np.int32), k),
            "uniform": lambda k: gradc.random.uniform(0, 1, (extent, k)),
        }
        for name, function in functions.items():
            found = {}
            for k in order:
                try:
                    made = function(k)
                except TypeError as error:
                    assert isinstance(k, float), f"{name} of {k!r}: {error}"
                    assert "test_weak_numbers.py" in str(error), f"{name} of {k!r}: {error}"
                    continue
                assert not isinstance(k, float), f"{name} took {k!r}"
                tensors = made if isinstance(made, tuple) else (made,)
                found[k.__class__] = [each.numpy().shape for each in tensors]
                shapes = [extent for each in tensors for extent in each.shape]
                assert {each.__class__ for each in shapes} <= {int}, f"{name} of {k!r}"
            assert found[bool] == found[int], name

    def test_zeros_and_nan(self) -> None:
        x = gradc.tensor([1.0])
        for fill in (0.0, -0.0, NAN, 0, NAN, -0.0, 0.0):
            made = F.pad(x, ((1, 0),), constant_value=fill).numpy()[0]
            np.testing.assert_equal(made, np.float32(fill))
            assert np.signbit(made) == np.signbit(np.float32(fill))
        for order in ((0.0, -0.0), (-0.0, 0.0)):
            for factor in order:
                assert np.signbit((x * factor).numpy()[0]) == np.signbit(factor)
                assert np.signbit(F.full((1,), factor).numpy()[0]) == np.signbit(factor)

    def test_traces(self) -> None:
        @gradc.jit.trace
        def step(x: gradc.Tensor, k: Any) -> Any:
            return x * k if isinstance(k, float) else x * 10 if isinstance(k, bool) else x * 100

        x = gradc.tensor([2.0])
        for _ in range(3):
            assert [step(x, k).item() for k in (1, True, 1.0)] == [200, 20, 2]
            assert [str(step(x, k).item()) for k in (0.0, -0.0)] == ["0.0", "-0.0"]


def test_positions_and_counts_of_many_elements() -> None:
    """What int32 does not hold is refused, or counted in int64, before anything is computed."""
    many = F.broadcast_to(gradc.tensor(np.array([True])), (2**31 + 11,))
    for function in (F.argmax, F.argmin, F.argsort, F.sort):
        with pytest.raises(OverflowError, match=r"int32 holds, found 2147483659 .*test_weak"):
            function(many)
    for function in (F.sum, F.count_nonzero):
        assert function(many).dtype == np.int64
    assert F.cumsum(many, 0).dtype == np.int64
    assert F.sum(many[:10]).dtype == np.int32
    with pytest.raises(OverflowError, match="int32"):
        F.arange(2**31 + 5, dtype="int32")


def test_large_whole_numbers_as_floats() -> None:
    """float32 holds 2^40 and 2^70, which no default integer does."""
    assert F.full((2,), 2**40, dtype="float32").tolist() == [2.0**40] * 2
    assert F.full_like(gradc.tensor([1.0]), 2**70).tolist() == [2.0**70]


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_negative_whole_numbers_as_floats(dtype: str) -> None:
    for given in ([-1, 2], np.array([-1, 2]), np.array([-1, 2], "int8")):
        assert gradc.tensor(given, dtype=dtype).tolist() == [-1, 2]
