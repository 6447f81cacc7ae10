"""Derivatives of plain functions of tensors. All of them may be nested, to any order."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .functional import ones_like, stack, zeros_like
from .tracer.arguments import WHOLES
from .tracer.errors import DTypeError, ShapeError, located
from .tracer.grad_manager import GradManager
from .tracer.no_grad import with_history
from .tracer.tensor import Tensor

Function = Callable[..., Any]
Weights = Callable[[list[Tensor]], Any]
"""From the values of a function to what their gradients are weighted with."""


def _differentiated(
    name: str,
    function: Function,
    args: Sequence[Any],
    places: Sequence[int],
    weights: Weights,
    kwargs: Any = None,
) -> tuple[Any, list[Tensor]]:
    """The value, and the gradients with respect to the arguments at `places`, weighted.

    In a `no_grad` block they are constants, as everything is that is computed there. `name` is what
    the user has called.
    """
    inputs = list(args)
    for place in places:
        inputs[place] = Tensor(args[place])  # another box: attaching it leaves the caller's alone
    boxes = [inputs[place] for place in places]
    for each in boxes:
        if not each._node.dtype.is_float:
            expected = "expected floating-point numbers to differentiate by"
            raise DTypeError(located(f"{name}: {expected}, found {each._node.type}"))
    manager = GradManager().attach(boxes)
    with with_history() as history, manager:
        value = function(*inputs, **(kwargs or {}))
        values = values_of(name, value)
        manager.backward(values, weights(values))
    found = [zeros_like(each) if each.grad is None else each.grad for each in boxes]
    if history.quiet:
        values, found = [each.detach() for each in values], [each.detach() for each in found]
    return _like(value, values), found


def value_and_grad(function: Function, argnums: int | tuple[int, ...] = 0) -> Function:
    """The function that gives the value of `function`, a single number, and its gradient.

    The gradient is with respect to the argument at `argnums`; a tuple of them for a tuple. What the
    value does not depend on gets zeros.
    """
    return _value_and_grad("value_and_grad", function, argnums)


def grad(function: Function, argnums: int | tuple[int, ...] = 0) -> Function:
    """The function that gives the gradient of `function`, a single number; see value_and_grad."""
    both = _value_and_grad("grad", function, argnums)
    return _named("grad", function, lambda *args, **kwargs: both(*args, **kwargs)[1])


def _value_and_grad(name: str, function: Function, argnums: Any) -> Function:
    check_function(name, function)
    alone = isinstance(argnums, int)
    places = (argnums,) if alone else tuple(argnums) if isinstance(argnums, list) else argnums
    WHOLES.check(name, "argnums", places)

    def both(*args: Any, **kwargs: Any) -> tuple[Tensor, Any]:
        for each in places:
            if not -len(args) <= each < len(args):
                expected = f"expected argnums among {len(args)} positional arguments"
                raise ValueError(located(f"{name}: {expected}, found {each}"))
        value, found = _differentiated(name, function, args, places, _single(name), kwargs)
        return value, found[0] if alone else tuple(found)

    return _named(name, function, both)


def _named(name: str, function: Function, made: Function) -> Function:
    """`made`, which calls itself by what was done to which function."""
    made.__name__ = f"{name}({getattr(function, '__name__', type(function).__name__)})"
    made.__qualname__ = made.__name__
    made.__doc__ = function.__doc__
    return made


def vjp(function: Function, args: Sequence[Any], dy: Any = None) -> tuple[Any, tuple[Tensor, ...]]:
    """The value at `args`, and the gradient of each argument, weighted by `dy` (None: ones).

    One argument may be given as it is. A function with several values has a `dy` for each.
    """
    check_function("vjp", function)
    args = listed(args)

    def weights(values: list[Tensor]) -> Any:
        several = isinstance(dy, (tuple, list)) and (len(values) > 1 or len(dy) == 1)
        return None if dy is None else _fitting("vjp", "dy", dy if several else [dy], values)

    value, found = _differentiated("vjp", function, args, range(len(args)), weights)
    return value, tuple(found)


def jvp(function: Function, args: Sequence[Any], tangents: Sequence[Any]) -> tuple[Any, Any]:
    """The value at `args`, and its derivative in the direction `tangents`, one for each argument.

    One argument, and its tangent, may be given as they are. A gradient is linear in its weights;
    its own gradient with respect to them is the derivative.
    """
    check_function("jvp", function)
    args = listed(args)
    along = _fitting("jvp", "tangent", listed(tangents), args)
    seeds: list[Tensor] = []
    outer = GradManager()

    def weights(values: list[Tensor]) -> list[Tensor]:
        seeds.extend(zeros_like(each) for each in values)
        outer.attach(seeds)
        return seeds

    with outer:
        value, found = _differentiated("jvp", function, args, range(len(args)), weights)
        outer.backward(found, along)
    made = [zeros_like(each) if each.grad is None else each.grad for each in seeds]
    return value, _like(value, made)


def hvp(function: Function, args: Sequence[Any], vectors: Sequence[Any]) -> tuple[Tensor, ...]:
    """The second derivative of `function`, a single number, at `args`, times `vectors`."""
    check_function("hvp", function)
    args = listed(args)
    along = _fitting("hvp", "vector", listed(vectors), args)

    def slope(*inputs: Tensor) -> list[Tensor]:
        return _differentiated("hvp", function, inputs, range(len(inputs)), _single("hvp"))[1]

    return tuple(_differentiated("hvp", slope, args, range(len(args)), _always(along))[1])


def hessian(function: Function, x: Any) -> Tensor:
    """The second derivatives of `function(x)`, a single number: the shape of x, twice."""
    both = _value_and_grad("hessian", function, 0)
    made: Tensor = jacobian(lambda x: both(x)[1], x)
    return made


def jacobian(function: Function, x: Any) -> Any:
    """The derivative of each element of `function(x)`: its shape, followed by the shape of x.

    Where the function gives a tuple or a list of tensors, so does this.
    """
    check_function("jacobian", function)
    x = Tensor(x)
    value = function(x)
    values = values_of("jacobian", value)
    made = [_rows(function, x, values, k) for k in range(len(values))]
    return _like(value, made)


def _rows(function: Function, x: Tensor, values: list[Tensor], which: int) -> Tensor:
    """The Jacobian of one of the values, row by row."""
    shape, size = values[which].shape, values[which].size
    rows: list[Tensor] = []

    def chosen(x: Tensor) -> Tensor:
        return values_of("jacobian", function(x))[which]

    for place in range(size):
        unit = Tensor([float(i == place) for i in range(size)]).reshape(shape)
        rows += _differentiated("jacobian", chosen, (x,), (0,), _always([unit]))[1]
    made: Tensor = stack(rows) if rows else zeros_like(x)[None][:0]
    return made.reshape(*shape, *x.shape) if shape else made[0]


# ---- what is given, and what a function gives


def check_function(name: str, function: Any) -> None:
    """Raise unless `function` can be called."""
    if not callable(function):
        raise TypeError(located(f"{name}: expected a function, found {function!r:.60}"))


def listed(given: Any) -> tuple[Any, ...]:
    """The arguments; what is no tuple or list is the only one."""
    return tuple(given) if isinstance(given, (tuple, list)) else (given,)


def values_of(name: str, value: Any) -> list[Tensor]:
    """What a function gave: one tensor, or a tuple or list of them."""
    found = list(value) if isinstance(value, (tuple, list)) else [value]
    for each in found:
        if not isinstance(each, Tensor):
            what = "None" if each is None else type(each).__name__
            expected = "expected a function that gives Tensors"
            raise TypeError(located(f"{name}: {expected}, found {what}"))
    if not found:
        raise TypeError(located(f"{name}: expected a function that gives Tensors, found none"))
    return found


def _like(value: Any, made: list[Tensor]) -> Any:
    """`made` as the function gave its value: alone, or as a tuple or list."""
    return (
        made[0] if isinstance(value, Tensor) else made if isinstance(value, list) else tuple(made)
    )


def _single(name: str) -> Weights:
    def weights(values: list[Tensor]) -> None:
        if len(values) != 1 or values[0].size != 1:
            found = ", ".join(str(each._node.type) for each in values)
            expected = "expected a function with a single number"
            raise ShapeError(located(f"{name}: {expected}, found {found}"))

    return weights


def _always(given: list[Tensor]) -> Weights:
    return lambda _: given


def _beside(weight: Any, other: Tensor) -> Tensor:
    return Tensor(weight) if isinstance(weight, Tensor) else Tensor(weight, other.dtype)


def _fitting(name: str, what: str, given: Sequence[Any], like: Sequence[Any]) -> list[Tensor]:
    """The weights as tensors, one for each of `like`, to whose shape it broadcasts."""
    if len(given) != len(like):
        expected = f"expected a {what} for each of {len(like)}"
        raise ValueError(located(f"{name}: {expected}, found {len(given)}"))
    made: list[Tensor] = []
    for place, (weight, value) in enumerate(zip(given, like, strict=True)):
        other = Tensor(value)
        each = ones_like(other) if weight is None else _beside(weight, other)
        made.append(each)
        short = len(other.shape) - len(each.shape)
        pairs = zip(each.shape, other.shape[max(short, 0) :], strict=False)
        if short < 0 or any(have not in (1, want) for have, want in pairs):
            found = f"found {list(each.shape)} for {list(other.shape)}"
            raise ShapeError(located(f"{name}: {what} {place} does not broadcast, {found}"))
    return made
