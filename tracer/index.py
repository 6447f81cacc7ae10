"""Reading and writing parts of tensors, with NumPy's rules for every kind of index.

An index is taken apart into a static pattern (numbers, slices, new axes) and index arrays, which
are run-time values like any other and are checked when the program runs. Boolean masks become the
places where they hold, so their values are read at once.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from .data import unmasked
from .dtypes import bool_, int32, int64
from .errors import DTypeError, located
from .ir import Node, Shape, node
from .operand import together
from .operators import operand
from .ops import elementwise as e
from .ops import movement
from .ops.indexing import place, scatter_set_op, take_op
from .ops.kinds import cast_to
from .ops.sources import constant_like, full
from .recording import THREAD, Fallible, takes
from .value import Value, waiting
from .weak import require_fit
from .window import window

if TYPE_CHECKING:
    from .tensor import Tensor

ARRAY = "array"
"""The sign in a pattern for an axis whose places come from an index array."""
FRESH = "fresh"
"""The sign for an index array on a new axis of extent 1: what a single bool stands for."""

Pattern = tuple[Any, ...]
Places = list[Any]
Masks = list[tuple[int, Shape]]
"""Where in a pattern masks begin, and their shapes."""


def read(x: Tensor, index: Any) -> Tensor:
    """`x[index]`."""
    pattern, places = parsed(index, x.shape)  # may read values, and so end a recording
    recording = THREAD.recording
    arrays = [_array_node(each) for each in places]
    key = (taken, pattern, recording.node_of(x), *arrays)
    made = recording.memo.young.get(key)
    if made is None:
        if (moving := window(x, pattern, recording)) is not None:
            return moving
        made = recording.first(key, taken, key[1:])
    return waiting(recording.met(made) if made.__class__ is Fallible else made, recording)


def written(x: Tensor, index: Any, value: Any) -> Tensor:
    """What `x` is after `x[index] = value`; `value` is cast to its type."""
    value = together(value)
    if not isinstance(value, Value) and not x._node.dtype.is_float:
        require_fit(value, x._node.dtype)
    of_mask = _masked_by_number(x, index, value)
    pattern, places = ((...,), []) if of_mask else parsed(index, x.shape)
    recording = THREAD.recording
    base = recording.node_of(x)
    new = recording.node_of(value) if isinstance(value, Value) else operand(recording, value, base)  # type: ignore[arg-type]
    if new is None:
        raise DTypeError(located(f"expected a tensor, an array or a number, found {value!r}"))
    if of_mask:
        mask = recording.node_of(index) if isinstance(index, Value) else _array_node(index)  # type: ignore[arg-type]
        key: tuple[Any, ...] = (chosen, base, new, mask)
    else:
        key = (assigned, pattern, base, new, *[_array_node(each) for each in places])
    made = recording.memo.young.get(key) or recording.first(key, key[0], key[1:])
    return waiting(recording.met(made) if made.__class__ is Fallible else made, recording)


def _masked_by_number(x: Tensor, index: Any, value: Any) -> bool:
    """Whether one value is written wherever a mask of the shape of `x` holds: no place is asked."""
    if not isinstance(index, (Value, np.ndarray)) or index.dtype != np.bool_:
        return False
    return index.shape == x.shape and not getattr(value, "shape", np.shape(value))


def chosen(x: Node, value: Node, mask: Node) -> Node:
    """`x`, and the number `value` where `mask` holds."""
    return e.where(mask, movement.broadcast(cast_to(value, x.dtype), x.shape), x)


def _array_node(places: Any) -> Node:
    recording = THREAD.recording
    if isinstance(places, Value):
        return recording.node_of(places)  # type: ignore[arg-type]  # all are tensors
    if places.dtype == np.bool_:
        return recording.array(places, bool_)
    return recording.array(places, int32 if np.can_cast(places.dtype, np.int32) else int64)


# ---- taking an index apart


def parsed(index: Any, shape: Shape) -> tuple[Pattern, Places]:
    """The static pattern of `index`, and its index arrays. Reads the values of masks."""
    if index.__class__ is int:
        return (index,), []
    pattern: list[Any] = []
    places: Places = []
    masks: Masks = []
    for each in index if isinstance(index, tuple) else (index,):
        if each.__class__ is int or each is None or each is Ellipsis:
            pattern.append(each)
        elif isinstance(each, slice):
            pattern.append((_whole(each.start), _whole(each.stop), _whole(each.step)))
        else:
            _parse_array(each, pattern, places, masks)
    for at, extents in masks:
        _check_mask(pattern, at, extents, shape)
    return tuple(pattern), places


def _whole(value: Any) -> int | None:
    return None if value is None else operator.index(value)


def _check_mask(pattern: list[Any], at: int, extents: Shape, shape: Shape) -> None:
    """Raise unless the axes that the mask number `at` of the pattern stands for are as large."""

    def count(items: list[Any]) -> int:
        return sum(each is not None and each is not Ellipsis and each != FRESH for each in items)

    behind = any(each is Ellipsis for each in pattern[:at])
    axis = len(shape) - count(pattern[at:]) if behind else count(pattern[:at])
    if axis >= 0 and shape[axis : axis + len(extents)] != extents:
        found = f"found {list(extents)} for axis {axis} of {list(shape)}"
        raise IndexError(located(f"expected a mask as large as what it indexes, {found}"))


def _parse_array(each: Any, pattern: list[Any], places: Places, masks: Masks) -> None:
    if isinstance(each, (bool, np.bool_)):
        pattern.append(FRESH)
        places.append(np.arange(int(each), dtype=np.int32))
        return
    if isinstance(each, np.integer):
        pattern.append(int(each))
        return
    each = together(each)
    if not isinstance(each, Value):
        each = unmasked(each)
        takes(each)
    array = each if isinstance(each, Value) else np.asarray(each)
    if isinstance(array, np.ndarray) and not array.size and isinstance(each, (list, tuple)):
        array = array.astype(np.int32)
    kind = np.dtype(array.dtype) if isinstance(array.dtype, np.dtype) else None
    if kind == np.bool_:
        mask = array.numpy() if isinstance(array, Value) else array
        if not mask.ndim:
            return _parse_array(bool(mask), pattern, places, masks)
        masks.append((len(pattern), mask.shape))
        held = np.nonzero(mask)
        pattern.extend([ARRAY] * len(held))
        kind = np.dtype(np.int32 if mask.size <= 2**31 else np.int64)
        places.extend(each.astype(kind) for each in held)
    elif kind is not None and kind.kind in "iu":
        pattern.append(ARRAY)
        places.append(array)
    else:
        found = f"{type(each).__name__} of {array.dtype}"
        raise IndexError(located(f"expected an index of integers or bool, found {found}"))


@dataclass(frozen=True, slots=True)
class _Plan:
    """What a pattern means for a shape.

    The box (starts, sizes, steps) is cut out; `kept` are its axes that stay, `arrays` those that
    index arrays pick from, and these stand before the kept axis number `lead` in the result, whose
    axes are `shape` with None for those of the index arrays.
    """

    starts: Shape
    sizes: Shape
    steps: Shape
    kept: Shape
    arrays: Shape
    lead: int
    shape: tuple[int | None, ...]


def _planned(pattern: Pattern, shape: Shape) -> _Plan:
    boxes: list[tuple[int, int, int]] = []
    layout: list[tuple[str, int]] = []  # of each item, in order: what becomes of it, and its axis
    for item in _expanded(pattern, len(shape)):
        axis = len(boxes)
        if item is None or item is Ellipsis:
            layout.append(("new" if item is None else "gap", -1))
        elif item == ARRAY:
            boxes.append((0, shape[axis], 1))
            layout.append(("array", axis))
        elif isinstance(item, int):
            boxes.append((_place(item, axis, shape), 1, 1))
            layout.append(("number", axis))
        else:
            start, stop, step = slice(*item).indices(shape[axis])
            size = len(range(start, stop, step))
            boxes.append((start if size else 0, size, step))
            layout.append(("kept", axis))
    starts, sizes, steps = zip(*boxes, strict=True) if boxes else ((), (), ())
    return _arranged(layout, starts, sizes, steps)


def _arranged(layout: list[tuple[str, int]], starts: Shape, sizes: Shape, steps: Shape) -> _Plan:
    """The plan: where the axes of index arrays go, by NumPy's rule."""
    kinds = [kind for kind, _ in layout]
    advanced = [i for i, kind in enumerate(kinds) if kind in ("array", "number")]
    together = "array" in kinds and advanced[-1] - advanced[0] + 1 == len(advanced)
    at = advanced[0] if together else 0
    shape: list[int | None] = []
    for i, (kind, axis) in enumerate(layout):
        if "array" in kinds and i == at:
            shape.append(None)
        if kind in ("kept", "new"):
            shape.append(sizes[axis] if kind == "kept" else 1)
    return _Plan(
        starts,
        sizes,
        steps,
        tuple(axis for kind, axis in layout if kind == "kept"),
        tuple(axis for kind, axis in layout if kind == "array"),
        kinds[:at].count("kept"),
        tuple(shape),
    )


def _expanded(pattern: Pattern, rank: int) -> list[Any]:
    """The pattern with whole axes in place of `...`, or at its end.

    Where `...` stands for no axis it stays: it keeps apart what is before and behind it.
    """
    items = list(pattern)
    used = sum(each is not None and each is not Ellipsis for each in items)
    if used > rank:
        raise IndexError(located(f"{used} indices for a tensor with {rank} axes"))
    whole = [(None, None, None)] * (rank - used)
    if items.count(Ellipsis) > 1:
        raise IndexError(located("an index has one '...' at most"))
    at = items.index(Ellipsis) if Ellipsis in items else len(items)
    return [*items[:at], *(whole or items[at : at + 1]), *items[at + 1 :]]


def _place(index: int, axis: int, shape: Shape) -> int:
    extent = shape[axis]
    if not -extent <= index < extent:
        where = f"axis {axis} of {list(shape)}"
        raise IndexError(located(f"index {index} is out of range for {where}"))
    return index % extent


def _with_fresh_axes(pattern: Pattern, x: Node) -> tuple[Pattern, Node]:
    """`x` with an axis of extent 1 for each single bool, and the pattern that indexes it."""
    if FRESH not in pattern:
        return pattern, x
    rank = x.ndim + pattern.count(FRESH)
    extents = iter(x.shape)
    plain = tuple(ARRAY if each == FRESH else each for each in pattern)
    fresh = [each == FRESH for each in pattern if each is not None]
    at = [each is Ellipsis for each in pattern if each is not None]
    if True in at:
        where = at.index(True)
        fresh[where : where + 1] = [False] * (rank - len(fresh) + 1)
    fresh += [False] * (rank - len(fresh))
    return plain, movement.reshape(x, tuple(1 if each else next(extents) for each in fresh))


# ---- in nodes


def taken(pattern: Pattern, x: Node, *arrays: Node) -> Node:
    """The elements of `x` that the index stands for."""
    pattern, x = _with_fresh_axes(pattern, x)
    plan = _planned(pattern, x.shape)
    box = movement.stepped(x, plan.starts, plan.sizes, plan.steps)
    if not arrays:
        return movement.reshape(box, _whole_shape(plan.shape, ()))
    places = _linear(arrays, [plan.sizes[axis] for axis in plan.arrays])
    lines = node(take_op, (_merged(box, plan), places), (plan.lead,))
    return movement.reshape(lines, _whole_shape(plan.shape, places.shape))


def assigned(pattern: Pattern, x: Node, value: Node, *arrays: Node) -> Node:
    """`x` after `value` was written where the index says."""
    whole = x.shape
    pattern, x = _with_fresh_axes(pattern, x)
    plan = _planned(pattern, x.shape)
    value = cast_to(value, x.dtype)
    if not arrays:
        value = _spread(value, _whole_shape(plan.shape, ()))
        box = movement.reshape(value, plan.sizes)
        return movement.reshape(_box_written(x, plan, box), whole)
    places = _linear(arrays, [plan.sizes[axis] for axis in plan.arrays])
    value = _spread(value, _whole_shape(plan.shape, places.shape))
    lines = _merged(movement.stepped(x, plan.starts, plan.sizes, plan.steps), plan)
    shape = lines.shape[: plan.lead] + places.shape + lines.shape[plan.lead + 1 :]
    updates = movement.reshape(value, shape)
    lines = node(scatter_set_op, (lines, places, updates), (plan.lead,))
    return movement.reshape(_box_written(x, plan, _unmerged(lines, plan)), whole)


def _whole_shape(shape: Sequence[int | None], of_arrays: Shape) -> Shape:
    parts = [of_arrays if each is None else (each,) for each in shape]
    return tuple(extent for part in parts for extent in part)


def _spread(value: Node, shape: Shape) -> Node:
    """`value` as large as `shape`; leading axes of extent 1 are dropped."""
    spare = max(value.ndim - len(shape), 0)
    if all(extent == 1 for extent in value.shape[:spare]):
        value = movement.reshape(value, value.shape[spare:])
    return movement.broadcast(value, shape)


def _order(plan: _Plan) -> Shape:
    return (*plan.kept[: plan.lead], *plan.arrays, *plan.kept[plan.lead :])


def _merged(box: Node, plan: _Plan) -> Node:
    """The box without its numbered axes, those of the index arrays brought together as one."""
    remaining = sorted(_order(plan))
    lines = movement.reshape(box, tuple(plan.sizes[axis] for axis in remaining))
    lines = movement.transpose(lines, tuple(remaining.index(axis) for axis in _order(plan)))
    count = _product(plan.sizes[axis] for axis in plan.arrays)
    rest = [plan.sizes[axis] for axis in plan.kept]
    return movement.reshape(lines, (*rest[: plan.lead], count, *rest[plan.lead :]))


def _unmerged(lines: Node, plan: _Plan) -> Node:
    """The box of which `_merged` gave `lines`."""
    order = _order(plan)
    apart = movement.reshape(lines, tuple(plan.sizes[axis] for axis in order))
    back = tuple(order.index(axis) for axis in sorted(order))
    return movement.reshape(movement.transpose(apart, back), plan.sizes)


def _product(extents: Any) -> int:
    count = 1
    for extent in extents:
        count *= extent
    return count


def _linear(arrays: Sequence[Node], sizes: Sequence[int]) -> Node:
    """The places in the merged axis, checked axis by axis."""
    wide = _product(sizes) >= 2**31
    total: Node | None = None
    for array, size in zip(arrays, sizes, strict=True):
        kind = int64 if wide or array.dtype is int64 else int32
        here = place(cast_to(array, kind), size)
        total = here if total is None else total * _extent(size, total) + here
    assert total is not None
    return total


def _extent(size: int, like: Node) -> Node:
    return constant_like(size, like)


def _box_written(x: Node, plan: _Plan, box: Node) -> Node:
    """`x` with the box of the plan replaced."""
    if plan.sizes == x.shape and all(step == 1 for step in plan.steps):
        return box
    if 0 in plan.sizes:
        return x
    low, gaps = list(plan.starts), [abs(step) - 1 for step in plan.steps]
    for axis, step in enumerate(plan.steps):
        if step < 0:
            box = movement.flip(box, axis)
            low[axis] += (plan.sizes[axis] - 1) * step
    ends = [
        lo + (size - 1) * (gap + 1) + 1 for lo, size, gap in zip(low, plan.sizes, gaps, strict=True)
    ]
    high = tuple(extent - end for extent, end in zip(x.shape, ends, strict=True))
    inside = full(1, plan.sizes, bool_)
    mask = movement.pad(inside, tuple(low), high, tuple(gaps))
    return e.where(mask, movement.pad(box, tuple(low), high, tuple(gaps)), x)
