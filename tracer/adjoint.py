"""The adjoint: cotangents of tracked values, as nodes of the same graph.

Reverse accumulation: A. Griewank and A. Walther, Evaluating Derivatives, 2nd ed., SIAM 2008, ch. 3.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from .collection import without_collection
from .errors import DerivativeError
from .ir import Node, Shape, on_behalf_of, topological
from .ops import elementwise, markers
from .ops.kinds import cast_to
from .ops.reduction import sum_to_shape

Call = Callable[[Node, Sequence[Node | None]], Sequence[Node | None]]
"""A Function's backward: one of its outputs and all their cotangents give those of the inputs."""


def adjoint(
    targets: Sequence[Node],
    seeds: Sequence[Node],
    wrt: Sequence[Node],
    manager: int,
    call: Call | None = None,
    order: Sequence[Node] | None = None,
) -> dict[Node, Node]:
    """The cotangents of those `wrt` that the targets depend on, in the order they are complete.

    `seeds` are the targets' own cotangents (of their shapes; a target that is listed twice gets the
    sum). Results of a backward that hid from the manager number `manager` are constants. `call`
    runs the backward of Functions. `order` are the targets and all that they are made of, where the
    caller knows them.
    """
    with without_collection():
        return _adjoint(order or topological(targets), targets, seeds, wrt, manager, call)


def _adjoint(
    order: Sequence[Node],
    targets: Sequence[Node],
    seeds: Sequence[Node],
    wrt: Sequence[Node],
    manager: int,
    call: Call | None,
) -> dict[Node, Node]:
    wanted = set(wrt)
    reaches = _reaching(order, wanted, manager)
    cotangents: dict[Node, Node] = {}
    for target, seed in zip(targets, seeds, strict=True):
        if target in reaches:
            _accumulate(cotangents, target, seed)
    complete: dict[Node, Node] = {}
    calls = _Calls(order, reaches, call)
    with on_behalf_of(None) as behalf:
        for each in reversed(order):
            g = cotangents.pop(each, None)
            if g is not None and each in wanted:
                complete[each] = g
            behalf.now_of(each.origin)
            if each.op is markers.boundary and each in reaches:
                calls.meet(each, g, cotangents)
            elif g is not None and (each not in wanted or _passes(each, reaches, manager)):
                _propagate(each, g, reaches, cotangents)
    return complete


class _Calls:
    """Gathers the cotangents of each Function's outputs, and calls it at the first of them."""

    def __init__(self, order: Sequence[Node], reaches: set[Node], call: Call | None) -> None:
        self._reaches = reaches
        self._call = call
        self._first: dict[int, Node] = {}
        self._gathered: dict[int, list[Node | None]] = {}
        for each in order:
            if each.op is markers.boundary:
                self._first.setdefault(each.attrs[0], each)

    def meet(self, each: Node, g: Node | None, cotangents: dict[Node, Node]) -> None:
        """Take the cotangent of the output `each`; those of all others are complete, or come."""
        number, output, count = each.attrs
        gathered = self._gathered.setdefault(number, [None] * count)
        gathered[output] = g
        if self._first[number] is not each or gathered == [None] * count:
            return
        assert self._call is not None
        parts = self._call(each, gathered)
        for source, part in zip(each.inputs[1:], parts, strict=True):
            if part is not None and source in self._reaches:
                _accumulate(cotangents, source, fitted(part, source))


def _reaching(order: Sequence[Node], wrt: set[Node], manager: int) -> set[Node]:
    """The nodes through which a cotangent gets to one of `wrt`."""
    found: set[Node] = set()
    for each in order:
        if each in wrt or (each.dtype.is_float and _passes(each, found, manager)):
            found.add(each)
    return found


def _passes(each: Node, reaches: set[Node], manager: int) -> bool:
    """Whether a cotangent goes on from `each` to one of its inputs."""
    follows = each.op.vjp is not None or each.op is markers.boundary
    hidden = each.op is markers.opaque and manager in each.attrs[0]
    return follows and not hidden and not reaches.isdisjoint(each.inputs)


def _propagate(each: Node, g: Node, reaches: set[Node], cotangents: dict[Node, Node]) -> None:
    assert each.op.vjp is not None
    parts = each.op.vjp(g, each, *each.inputs, *each.attrs)
    for source, part in zip(each.inputs, parts, strict=True):
        if part is not None and source in reaches:
            _accumulate(cotangents, source, fitted(part, source))


def fitted(g: Node, x: Node) -> Node:
    """The cotangent `g`, brought to the shape and the dtype of the value `x` that it belongs to."""
    if g.type is x.type or g.type[:2] == x.type[:2]:
        return g
    if not _broadcasts(x.shape, g.shape):
        raise DerivativeError(f"a cotangent {g.type} does not fit the value {x.type}")
    return cast_to(sum_to_shape(g, x.shape), x.dtype)


def _broadcasts(shape: Shape, target: Shape) -> bool:
    tail = target[len(target) - len(shape) :] if shape else ()
    fits = all(have in (1, want) for have, want in zip(shape, tail, strict=False))
    return len(shape) <= len(target) and fits


def _accumulate(cotangents: dict[Node, Node], of: Node, g: Node) -> None:
    have = cotangents.get(of)
    cotangents[of] = g if have is None else elementwise.add(have, g)
