"""Lists, tuples and arrays of objects that hold tensors not yet computed, everywhere."""

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from functional.calls import CALLS, Call, spread

import gradc
from gradc import functional as F
from gradc import jit
from gradc.autodiff import GradManager

pytestmark = pytest.mark.usefixtures("interpreted")

Form = Callable[[gradc.Tensor], Any]


def rows(x: gradc.Tensor) -> Any:
    """A list of the rows of x, which wait to be computed."""
    return [_waiting(x[place]) for place in range(len(x))]


def elements(x: gradc.Tensor) -> Any:
    """Nested tuples of single elements, for what is not large."""
    if x.size > 24:
        return tuple(rows(x))
    return tuple(elements(x[k]) for k in range(len(x))) if x.ndim else _waiting(x)


def objects(x: gradc.Tensor) -> Any:
    """An array of objects: the rows of x."""
    made = np.empty(len(x), object)
    made[:] = rows(x)
    return made


def _waiting(x: gradc.Tensor) -> gradc.Tensor:
    return F.logical_not(F.logical_not(x)) if x.dtype == np.bool_ else x * 1


FORMS: dict[str, Form] = {"rows": rows, "elements": elements, "objects": objects}


def operands(call: Call) -> list[np.ndarray]:
    """The arrays among the arguments, those in lists of operands too."""
    flat = [each for arg in call.args for each in (arg if isinstance(arg, list) else [arg])]
    return [each for each in flat if isinstance(each, np.ndarray) and each.ndim]


def applied(function: Any, call: Call, given: list[Any]) -> Any:
    """The result of a call whose operands are `given`."""
    left = iter(given)

    def replaced(arg: Any) -> Any:
        if isinstance(arg, list):
            return [replaced(each) for each in arg]
        return next(left) if isinstance(arg, np.ndarray) and arg.ndim else arg

    return function(*[replaced(each) for each in call.args], **call.options)


def flat(result: Any) -> list[Any]:
    """The tensors of a result."""
    if isinstance(result, (tuple, list)):
        return [each for part in result for each in flat(part)]
    return [] if result is None else [result]


def values(result: Any) -> list[Any]:
    """The results as arrays."""
    return [np.asarray(each) for each in flat(result)]


def same(found: list[Any], expected: list[Any]) -> bool:
    """Whether two lists of arrays are equal, NaN at the same places, in the same types."""
    return len(found) == len(expected) and all(
        a.shape == b.shape
        and a.dtype == b.dtype
        and np.array_equal(a, b, equal_nan=a.dtype.kind == "f")
        for a, b in zip(found, expected, strict=True)
    )


def slopes(function: Any, call: Call, form: Form) -> list[Any]:
    """The results, and the derivatives of their weighted sum by the operands that are floats."""
    made = [
        gradc.Parameter(each) if each.dtype.kind == "f" else gradc.tensor(each)
        for each in operands(call)
    ]
    floats = [each for each in made if np.dtype(each.dtype).kind == "f"]
    with GradManager().attach(floats) as gm:
        result = applied(function, call, [form(each) for each in made])
        totals = [
            F.sum(each * spread(*each.shape)) if each.ndim else each * 0.7
            for each in flat(result)
            if isinstance(each, gradc.Tensor) and np.dtype(each.dtype).kind == "f"
        ]
        gm.backward(totals)
    return values(result) + [
        np.zeros(0) if each.grad is None else each.grad.numpy() for each in floats
    ]


def traced(function: Any, call: Call, form: Form) -> list[Any]:
    """What the function gives within a trace, the second time it is called."""

    @jit.trace
    def step(*given: gradc.Tensor) -> Any:
        return applied(function, call, [form(each) for each in given])

    tensors = [gradc.tensor(each) for each in operands(call)]
    step(*tensors)
    return values(step(*tensors))


def plainly(function: Any, call: Call, form: Form) -> list[Any]:
    """What the function gives where no manager records."""
    made = [form(gradc.tensor(each)) for each in operands(call)]
    return values(applied(function, call, made))


def itself(x: gradc.Tensor) -> gradc.Tensor:
    """x: what all other forms are compared with."""
    return x


def whole(x: Any) -> gradc.Tensor:
    """One tensor of its own."""
    return gradc.tensor(x) * 1


def assigned(index: Any) -> Callable[..., gradc.Tensor]:
    """A function that writes its second argument into its first at `index`."""

    def assign(x: Any, y: Any) -> gradc.Tensor:
        z = whole(x)
        z[index] = y
        return z

    return assign


def indexed(x: Any, y: Any) -> gradc.Tensor:
    """The rows that y names; a tuple would name places along several axes."""
    return whole(x)[list(y) if isinstance(y, tuple) else y]


def on_the_right(function: Any) -> Any:
    """An operator with a tensor on the left."""
    return lambda x, y: function(whole(x), y)


def on_the_left(function: Any) -> Any:
    """An operator with a tensor on the right."""
    return lambda x, y: function(x, whole(y))


FLOATS = Call((spread(2, 3), spread(2, 3) + 1), {})
WHOLES = Call((np.array([[3, 1], [2, 5]], np.int32), np.array([[1, 2], [3, 4]], np.int32)), {})
PLAIN = ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow")
COMPARED = ("lt", "le", "gt", "ge", "eq", "ne")
BITS = ("and_", "or_", "xor", "lshift", "rshift", "matmul")
IN_PLACE = [f"i{name.strip('_')}" for name in (*PLAIN, *BITS)]

OPERATIONS: dict[str, tuple[Any, Call]] = {
    **{f"y {n} x": (on_the_right(getattr(operator, n)), FLOATS) for n in (*PLAIN, *COMPARED)},
    **{f"x {n} y": (on_the_left(getattr(operator, n)), FLOATS) for n in (*PLAIN, *COMPARED)},
    **{f"y {n} x": (on_the_right(getattr(operator, n)), WHOLES) for n in (*BITS, *IN_PLACE[7:])},
    **{f"x {n} y": (on_the_left(getattr(operator, n)), WHOLES) for n in BITS},
    **{f"y {n} x": (on_the_right(getattr(operator, n)), FLOATS) for n in IN_PLACE[:7]},
    "divmod": (on_the_right(divmod), FLOATS),
    "tensor": (gradc.tensor, Call((spread(2, 3),), {})),
    "Parameter": (gradc.Parameter, Call((spread(2, 3),), {})),
    "another type": (gradc.tensor, Call((spread(2, 3),), {"dtype": "float64"})),
    "assignment": (assigned((...,)), FLOATS),
    "assignment at places": (assigned([1, 0]), FLOATS),
    "assignment by a mask": (assigned(np.array([True, True])), FLOATS),
    "index": (
        lambda x, y: whole(x)[list(y) if isinstance(y, tuple) else y],
        Call((spread(2, 3), np.array([1, 0, 1], np.int32)), {}),
    ),
    **{name: (getattr(F, name), each) for name, each in CALLS.items() if operands(each)},
}


@pytest.mark.parametrize(
    ("way", "forms"),
    [(plainly, ("rows", "elements", "objects")), (slopes, ("elements",)), (traced, ("rows",))],
)
def test_every_function_and_operator(way: Callable[..., list[Any]], forms: tuple[str, ...]) -> None:
    wrong = []
    for name, (function, call) in OPERATIONS.items():
        expected = way(function, call, itself)
        for label in forms:
            try:
                found = way(function, call, FORMS[label])
            except Exception as error:
                wrong.append(f"{name}, {label}: {type(error).__name__}: {error}")
                continue
            if not same(found, expected):
                wrong.append(f"{name}, {label}: {found} instead of {expected}")
    assert not wrong, "\n".join(wrong)


def test_gradients_flow_and_numbers_are_weak() -> None:
    x = gradc.Parameter(2.0)
    with GradManager().attach(x) as gm:
        gm.backward(F.sum(gradc.tensor([1.0, 10.0, 100.0]) * [x * 3, 5, x * x]))
    assert x.grad.item() == 3 + 100 * 4
    made = F.exp([gradc.tensor(0.0, dtype="float64") * 1, 0])
    assert made.tolist() == [1, 1]
    assert made.dtype == np.float64


def test_lists_of_different_shapes() -> None:
    x = gradc.tensor([1.0, 2.0])
    with pytest.raises(ValueError, match=r"one shape, found \[2\] and \[\] .*test_lists"):
        x * [x * 2, 1.0]


def test_seeds() -> None:
    x, weight = gradc.Parameter([1.0, 2.0]), gradc.tensor(3.0)
    with GradManager().attach(x) as gm:
        gm.backward(x * x, [np.array([weight * 1, weight * 2], object)])
    assert x.grad.tolist() == [6, 24]


def test_more_than_may_wait() -> None:
    """Making the list itself makes what waits run: the operand is still recorded rightly."""
    x = gradc.tensor(1.0)
    many = [x * k for k in range(1500)]
    found = gradc.tensor(np.ones(1500)) * many
    np.testing.assert_array_equal(found.numpy(), np.arange(1500))
