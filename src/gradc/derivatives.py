"""Derivatives of plain functions of tensors. All of them may be nested, to any order."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .functional import stack, zeros_like
from .tracer.errors import ShapeError, located
from .tracer.grad_manager import GradManager
from .tracer.no_grad import with_history
from .tracer.tensor import Tensor

Function = Callable[..., Any]


def _differentiated(
    function: Function, args: Sequence[Any], places: Sequence[int], dy: Any, kwargs: Any = None
) -> tuple[Any, list[Tensor]]:
    """The value, and the gradients with respect to the arguments at `places`, weighted by `dy`.

    In a `no_grad` block they are constants, as everything is that is computed there.
    """
    inputs = list(args)
    for place in places:
        inputs[place] = Tensor(args[place])  # another box: attaching it leaves the caller's alone
    boxes = [inputs[place] for place in places]
    manager = GradManager().attach(boxes)
    with with_history() as history, manager:
        value = function(*inputs, **(kwargs or {}))
        manager.backward(value, dy(value) if callable(dy) else dy)
    found = [zeros_like(each) if each.grad is None else each.grad for each in boxes]
    if not history.quiet:
        return value, found
    alone = value.detach() if isinstance(value, Tensor) else [each.detach() for each in value]
    return alone, [each.detach() for each in found]


def value_and_grad(function: Function, argnums: int | tuple[int, ...] = 0) -> Function:
    """The function that gives the value of `function`, a single number, and its gradient.

    The gradient is with respect to the argument at `argnums`; a tuple of them for a tuple. What the
    value does not depend on gets zeros.
    """
    places = (argnums,) if isinstance(argnums, int) else argnums

    def of(*args: Any, **kwargs: Any) -> tuple[Tensor, Any]:
        value, found = _differentiated(function, args, places, _single, kwargs)
        return value, found[0] if isinstance(argnums, int) else tuple(found)

    return of


def grad(function: Function, argnums: int | tuple[int, ...] = 0) -> Function:
    """The function that gives the gradient of `function`, a single number; see value_and_grad."""
    both = value_and_grad(function, argnums)
    return lambda *args, **kwargs: both(*args, **kwargs)[1]


def _single(value: Any) -> None:
    if not isinstance(value, Tensor) or value.size != 1:
        found = f"found {value.shape if isinstance(value, Tensor) else value!r}"
        raise ShapeError(located(f"grad: expected a function with a single number, {found}"))


def vjp(function: Function, args: Sequence[Any], dy: Any = None) -> tuple[Any, tuple[Tensor, ...]]:
    """The value at `args`, and the gradient of each argument, weighted by `dy` (None: ones)."""
    value, found = _differentiated(function, args, range(len(args)), dy)
    return value, tuple(found)


def jvp(function: Function, args: Sequence[Any], tangents: Sequence[Any]) -> tuple[Tensor, Tensor]:
    """The value at `args`, and its derivative in the direction `tangents`.

    A gradient is linear in its weights; its own gradient with respect to them is the derivative.
    """
    seeds: list[Tensor] = []
    outer = GradManager()

    def weights(value: Tensor) -> Tensor:
        seed: Tensor = zeros_like(value)
        outer.attach(seed)
        seeds.append(seed)
        return seed

    with outer:
        value, found = _differentiated(function, args, range(len(args)), weights)
        outer.backward(found, [Tensor(each) for each in tangents])
    tangent = seeds[0].grad
    return value, zeros_like(value) if tangent is None else tangent


def hvp(function: Function, args: Sequence[Any], vectors: Sequence[Any]) -> tuple[Tensor, ...]:
    """The second derivative of `function`, a single number, at `args`, times `vectors`."""

    def slope(*inputs: Tensor) -> list[Tensor]:
        return _differentiated(function, inputs, range(len(inputs)), _single)[1]

    weights = [Tensor(each) for each in vectors]
    return tuple(_differentiated(slope, args, range(len(args)), weights)[1])


def hessian(function: Function, x: Any) -> Tensor:
    """The second derivatives of `function(x)`, a single number: the shape of x, twice."""
    return jacobian(grad(function), x)


def jacobian(function: Function, x: Any) -> Tensor:
    """The derivative of each element of `function(x)`: its shape, followed by the shape of x."""
    rows: list[Tensor] = []
    x = Tensor(x)
    shape = function(x).shape
    size = 1
    for extent in shape:
        size *= extent
    for place in range(size):
        unit = [float(i == place) for i in range(size)]
        rows += vjp(function, (x,), Tensor(unit).reshape(shape))[1]
    made: Tensor = stack(rows) if rows else zeros_like(x)[None][:0]
    return made.reshape(*shape, *x.shape) if shape else made[0]
