"""Padding."""

from __future__ import annotations

from ..tracer.composite import Nodes, composite
from ..tracer.errors import ShapeError, located
from ..tracer.ir import Node, Shape
from ..tracer.ops import movement
from ..tracer.weak import require_fit

__all__ = ["pad"]


@composite
def pad(
    src: Node,
    pad_width: tuple[tuple[int, int], ...],
    mode: str = "constant",
    constant_value: float = 0.0,
) -> Node:
    """`src` with (before, after) more elements along each axis; axes that are not named get none.

    `mode` is "constant", "reflect" (without the edge itself), "symmetric" (with it), "replicate" or
    "edge" (the edge), "circular" or "wrap" (the other end). At each end
    of an axis of n elements "reflect" gives at most n - 1, "symmetric", "circular" and "wrap" n.
    """
    low, high = _widths(src, pad_width)
    mode = mode.lower()
    if mode == "constant":
        require_fit(constant_value, src.dtype, "pad")
        return movement.pad(src, low, high, fill=constant_value)
    if mode not in _EDGES:
        raise ValueError(located(f"pad: expected {', '.join(MODES)}, found {mode!r}"))
    for axis, widths in enumerate(zip(low, high, strict=True)):
        _check(src, axis, _most(mode, src.shape[axis], max(widths)), *widths)
    for axis, (before, after) in enumerate(zip(low, high, strict=True)):
        if before or after:
            src = movement.concat(_EDGES[mode](src, axis, before, after), axis)
    return src


def _widths(src: Node, given: tuple[tuple[int, int], ...]) -> tuple[Shape, Shape]:
    """How much comes before and after each axis."""
    pairs = all(isinstance(each, tuple) and len(each) == 2 for each in given)
    if not pairs or len(given) > src.ndim:
        expected = f"expected a pair (before, after) for each of {src.ndim} axes"
        raise ShapeError(located(f"pad: {expected}, found {given}"))
    widths = (*given, *((0, 0),) * (src.ndim - len(given)))
    if any(count < 0 for pair in widths for count in pair):
        raise ShapeError(located(f"pad: expected numbers from 0 on, found {given}"))
    return tuple(before for before, _ in widths), tuple(after for _, after in widths)


def _most(mode: str, extent: int, wanted: int) -> int:
    """How many elements one end of an axis can get from the `extent` elements that it has."""
    if _EDGES[mode] is _replicated:
        return wanted if extent else 0
    return max(extent - 1, 0) if mode == "reflect" else extent


def _check(x: Node, axis: int, most: int, *widths: int) -> None:
    if max(widths) > most:
        found = f"found {max(widths)} for axis {axis} of {list(x.shape)}"
        raise ShapeError(located(f"pad: expected at most {most} elements, {found}"))


def _reflected(x: Node, axis: int, before: int, after: int) -> Nodes:
    extent = x.shape[axis]
    head = movement.flip(movement.slice_(x, axis, 1, before + 1), axis)
    tail = movement.flip(movement.slice_(x, axis, extent - 1 - after, extent - 1), axis)
    return head, x, tail


def _symmetric(x: Node, axis: int, before: int, after: int) -> Nodes:
    extent = x.shape[axis]
    head = movement.flip(movement.slice_(x, axis, 0, before), axis)
    tail = movement.flip(movement.slice_(x, axis, extent - after, extent), axis)
    return head, x, tail


def _circular(x: Node, axis: int, before: int, after: int) -> Nodes:
    extent = x.shape[axis]
    head = movement.slice_(x, axis, extent - before, extent)
    return head, x, movement.slice_(x, axis, 0, after)


def _replicated(x: Node, axis: int, before: int, after: int) -> Nodes:
    first, last = movement.slice_(x, axis, 0, 1), movement.slice_(x, axis, -1, None)
    head, tail = (
        movement.broadcast(edge, (*x.shape[:axis], width, *x.shape[axis + 1 :]))
        for edge, width in ((first, before), (last, after))
    )
    return head, x, tail


_EDGES = {
    "reflect": _reflected,
    "symmetric": _symmetric,
    "replicate": _replicated,
    "edge": _replicated,
    "circular": _circular,
    "wrap": _circular,
}
MODES = ("constant", *_EDGES)
