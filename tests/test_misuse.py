"""Misuse that would be taken in silence: one clear error with the user's line; nothing is lost."""

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import gradc
from gradc import functional as F
from gradc import optimizer as optim
from gradc.autodiff import Function, GradManager

pytestmark = pytest.mark.usefixtures("interpreted")

HERE = r".*test_misuse\.py:\d+"
VALUES = [1.0, 2.0, 3.0]


class Given(Function):
    """Twice x; its backward gives what it is told."""

    def __init__(self, give: Callable[[Any], Any]) -> None:
        self.give = give

    def forward(self, x: Any) -> Any:
        return x * 2

    def backward(self, g: Any) -> Any:
        return self.give(g)


def gradient(give: Callable[[Any], Any], dtype: str = "float32") -> Any:
    """The gradient of a parameter through `Given`."""
    p = gradc.Parameter(VALUES, dtype=dtype)
    with GradManager().attach(p) as gm:
        gm.backward(F.sum(Given(give)(p)))
    return p.grad


class TestFunctions:
    """Gradients that the user's backward gives."""

    @pytest.mark.parametrize(
        "give",
        [
            lambda g: g[:1],
            lambda g: F.sum(g),
            lambda g: F.reshape(g, (1, 3)),
            lambda g: (g, g),
            lambda g: [g, None, g],
            lambda g: g.astype("int32"),
            lambda g: g > 0,
            lambda g: "gradient",
            lambda g: g.numpy(),
            lambda g: 2.0,
        ],
    )
    def test_what_is_no_gradient(self, give: Callable[[Any], Any]) -> None:
        with pytest.raises((TypeError, ValueError), match=rf"Given\.backward: .*found {HERE}"):
            gradient(give)

    def test_what_is(self) -> None:
        assert gradient(lambda g: (g * 3, None)).tolist() == [3, 3, 3]
        assert gradient(lambda g: None) is None
        found = gradient(lambda g: g.astype("float64") * 3)
        assert (found.dtype, found.tolist()) == (np.float32, [3, 3, 3])


class TestGradients:
    """Callbacks, seeds and what `.grad` holds."""

    @staticmethod
    def attached(*callbacks: Any) -> tuple[gradc.Parameter, GradManager]:
        p = gradc.Parameter(VALUES)
        return p, GradManager().attach(p, callbacks=list(callbacks))

    @pytest.mark.parametrize(
        "give", [lambda g: g[:2], lambda g: g[None], lambda g: np.zeros((2, 3))]
    )
    def test_another_shape_from_a_callback(self, give: Callable[[Any], Any]) -> None:
        p, gm = self.attached(lambda t, g: g * 2, lambda t, g: give(g))
        with gm, pytest.warns(UserWarning, match=rf"another shape.*expected \[3\], found {HERE}"):
            gm.backward(F.sum(p * p))
        assert p.grad.tolist() == [4, 8, 12]  # as the callback before has left it

    @pytest.mark.parametrize("wrong", ["gradient", object(), [1.0, 2.0, 3.0], {}])
    def test_no_gradient_from_a_callback(self, wrong: Any) -> None:
        p, gm = self.attached(lambda t, g: wrong)
        with gm, pytest.raises(TypeError, match=f"backward: expected a tensor.*callback{HERE}"):
            gm.backward(F.sum(p * p))
        assert p.grad is None

    def test_a_masked_array_from_a_callback(self) -> None:
        p, gm = self.attached(lambda _, g: np.ma.array(g.numpy(), mask=[0, 1, 0]))
        with pytest.warns(UserWarning, match="what is masked becomes NaN"), gm:
            gm.backward(F.sum(p * p))
        np.testing.assert_array_equal(np.asarray(p.grad), [2, np.nan, 6])
        assert not isinstance(p.grad, np.ma.MaskedArray)

    def test_integers_from_a_callback(self) -> None:
        p, gm = self.attached(lambda t, g: g.astype("int32"))
        with gm, pytest.raises(TypeError, match=f"gradient of floats, found int32{HERE}"):
            gm.backward(F.sum(p * p))

    @pytest.mark.parametrize("wrong", ["gradient", object(), gradc.tensor([1.0]), np.ones((2, 3))])
    def test_grad_that_nothing_can_be_added_to(self, wrong: Any) -> None:
        p, gm = self.attached()
        p.grad = wrong
        with gm, pytest.raises((TypeError, ValueError), match=rf"backward: .*\.grad.*found{HERE}"):
            gm.backward(F.sum(p * p))
        assert p.grad is wrong

    @pytest.mark.parametrize("dy", ["ones", object(), b"1", {}, np.array(["a"] * 3)])
    def test_seeds(self, dy: Any) -> None:
        p, gm = self.attached()
        with gm, pytest.raises(TypeError, match=rf"found{HERE}"):
            gm.backward(p * p, dy)
        assert p.grad is None

    @pytest.mark.parametrize("tensors", [None, 3, "p", [None], ["p"], np.ones(3), [np.ones(3)]])
    def test_attach(self, tensors: Any) -> None:
        with pytest.raises((TypeError, AssertionError), match=rf"attach: expected .*found{HERE}"):
            GradManager().attach(tensors)


OPTIMIZERS: dict[str, Callable[..., Any]] = {
    name: getattr(optim, name)
    for name in dir(optim)
    if isinstance(getattr(optim, name), type)
    and issubclass(getattr(optim, name), optim.Optimizer)
    and getattr(optim, name) is not optim.Optimizer
}
WRONG = (float("nan"), float("inf"), -0.5, -float("inf"), "0.1", 1j, None, [0.1, 0.2])


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_hyper_parameters(name: str) -> None:
    """Each number of each optimizer, when it is made and when it is changed later."""
    cls, missed = OPTIMIZERS[name], []

    def made(**options: Any) -> Any:
        p = gradc.Parameter(VALUES)
        p.grad = gradc.tensor(VALUES)
        return cls([p], **{"lr": 0.1, **options}), p

    numbers = [k for k, v in made()[0].param_groups[0].items() if isinstance(v, float)]
    assert "lr" in numbers
    for each in numbers:
        for wrong in WRONG:
            opt, p = made()
            before = p.tolist()
            opt.param_groups[0][each] = wrong
            attempts = {"made": lambda e=each, w=wrong: made(**{e: w}), "changed": opt.step}
            for when, attempt in attempts.items():
                try:
                    attempt()
                    missed.append(f"{each}={wrong}, {when}")
                except (TypeError, ValueError) as error:
                    if each not in str(error) or "test_misuse.py" not in str(error):
                        missed.append(f"{each}={wrong}, {when}: {error}")
            if p.tolist() != before:
                missed.append(f"{each}={wrong}: the parameter was changed")
    assert not missed, "\n".join(missed)


class Frame:
    """What a column of a table of another library looks like: it reads tensors as arrays."""

    def __init__(self, data: Any) -> None:
        self.data = np.asarray(data)

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        return self.data

    def __add__(self, other: Any) -> Any:
        return Frame(self.data + np.asarray(other))

    __radd__ = __mul__ = __rmul__ = __add__


def test_arrays_of_other_libraries() -> None:
    p = gradc.Parameter(VALUES)
    for operate in (
        lambda: p + Frame(VALUES),
        lambda: p * Frame(VALUES),
        lambda: p < Frame(VALUES),
    ):
        with pytest.raises(TypeError, match=rf"found \w+\.Frame: write numpy\.asarray{HERE}"):
            operate()
    assert F.exp(gradc.tensor(np.asarray(Frame(VALUES)))).shape == (3,)
    assert gradc.tensor(Frame(VALUES)).tolist() == VALUES


class TestArrays:
    """Masked, structured and misaligned arrays, and such of another byte order."""

    MASKED = np.ma.array(VALUES, mask=[0, 1, 0])
    ENTRIES: dict[str, Callable[[Any], Any]] = {
        "tensor": gradc.tensor,
        "Parameter": gradc.Parameter,
        "from_numpy": gradc.from_numpy,
        "operator": lambda a: gradc.tensor(VALUES) + a,
        "function": lambda a: F.maximum(gradc.tensor(VALUES), a),
        "alone": F.negative,
        "concat": lambda a: F.concat([gradc.tensor(VALUES), a]),
        "assignment": lambda a: _assigned(a),
        "NumPy's function": lambda a: np.add(gradc.tensor(VALUES), a),
    }

    @pytest.mark.parametrize("name", ENTRIES)
    def test_masked(self, name: str) -> None:
        entry = self.ENTRIES[name]
        with pytest.warns(UserWarning, match=f"masked array: what is masked becomes NaN{HERE}"):
            found = entry(self.MASKED)
        assert np.isnan(found.numpy()[-2])
        assert np.isfinite(found.numpy()).sum() == found.size - 1
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            entry(np.ma.array(VALUES, mask=False))
        with pytest.raises(TypeError, match=f"found a masked array{HERE}"):
            entry(np.ma.array([1, 2, 3], mask=[0, 1, 0]))

    def test_masked_in_lists_and_on_the_left(self) -> None:
        with pytest.raises(TypeError, match=f"found a masked array{HERE}"):
            gradc.tensor([self.MASKED, self.MASKED])
        with pytest.raises(TypeError, match=f"found a masked array{HERE}"):
            self.MASKED + gradc.tensor(VALUES)
        with pytest.raises(TypeError, match=f"found a masked array{HERE}"):
            gradc.tensor(VALUES)[np.ma.array([0, 1], mask=[0, 1])]

    @pytest.mark.parametrize("name", ENTRIES)
    def test_structured(self, name: str) -> None:
        with pytest.raises(TypeError, match=rf"expected real numbers, found \[\('a'{HERE}"):
            self.ENTRIES[name](np.zeros(3, [("a", "f4"), ("b", "i4")]))

    @pytest.mark.parametrize("kind", ["f2", "f4", "f8", "i2", "i4", "i8"])
    @pytest.mark.parametrize("name", ENTRIES)
    def test_another_byte_order(self, name: str, kind: str) -> None:
        entry, native = self.ENTRIES[name], np.array([3, 1, 2], kind)
        found, expected = entry(native.astype(f">{kind}")), entry(native)
        assert found.dtype == expected.dtype
        assert found.tolist() == expected.tolist()

    def test_places_of_another_byte_order(self) -> None:
        x, places = gradc.tensor(VALUES), np.array([2, 0], ">i8")
        assert x[places].tolist() == [3, 1]
        assert F.take(x, 0, places).tolist() == [3, 1]
        wide = gradc.tensor(VALUES, dtype="float64") + np.array([1e-12] * 3, ">f8")
        assert (wide - gradc.tensor(VALUES, dtype="float64")).numpy().min() > 0

    @pytest.mark.parametrize("kind", ["f2", "f4", "f8", "i2", "i4", "i8"])
    def test_misaligned(self, kind: str) -> None:
        size = np.dtype(kind).itemsize
        a = np.frombuffer(bytearray(size * 10 + 1), "u1")[1:].view(kind)
        a[:] = np.arange(10)
        for copy in (False, True):
            made = gradc.from_numpy(a, copy=copy)
            assert made._buffer.pointer % size == 0
            assert made.tolist() == list(range(10))
        whole = np.arange(10).astype(kind)
        assert gradc.from_numpy(whole, copy=False)._buffer.pointer == whole.ctypes.data


def _assigned(value: Any) -> gradc.Tensor:
    x = gradc.tensor([0.0, 0.0, 0.0], dtype="float64")
    x[...] = value
    return x
