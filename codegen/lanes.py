"""Lanes: loops of which no step is left over for a loop without lanes.

A loop over 28 elements in lanes of 16 leaves 12. A compiler does 8 of them in lanes and 4 one by
one, at the price of so many vectors. Where that changes nothing, the last lanes begin earlier
instead, and do some elements twice.
"""

from __future__ import annotations

from .index import Axis, Bounded, Index
from .kernel import Accumulate, Kernel, Put, Stage
from .value import Load

OFTEN = 8
"""How often a loop must run for this to matter."""

LONGEST = 256
"""Elements of a loop; what is left over of more is a small part of them."""

MOST, LEAST = 16, 4
"""Elements that go together: float32 in the widest vector, and how many are worth it."""


def is_repeatable(kernel: Kernel, stage: Stage) -> bool:
    """Whether steps of the innermost loop of a stage may be done twice, and that may pay: nothing
    is added to what was there.

    Nor is anything read in steps of several elements: of such reads gcc does the last ones alone,
    since a vector would reach behind the memory.
    """
    if not kernel.inner or kernel.row_count < OFTEN:
        return False
    along = kernel.inner[-1]
    for each in stage.body:
        if isinstance(each, Accumulate) or (isinstance(each, Put) and each.how != "set"):
            return False
        value = each.value
        if isinstance(value, Load) and _step(value.offset, along) not in (-1, 0, 1):
            return False
    return True


def _step(index: Index, along: Axis) -> int | None:
    """By how much `index` grows along an axis; None where it grows in jumps."""
    total = 0
    for atom, coefficient in index.terms:
        if isinstance(atom, Axis):
            total += coefficient if atom == along else 0
        elif along in Index(0, ((atom, 1),)).axes():
            step = _step(atom.dividend, along) if isinstance(atom, Bounded) else None
            if step is None:
                return None
            total += coefficient * step
    return total


def lanes_of(begin: int | str, end: int | str) -> int:
    """How many steps of a loop go together, the last ones earlier than they must; 0 where none are
    left over, half a vector is, which has lanes of its own, or the bounds are not known."""
    bounds = str(begin), str(end)
    if not all(map(str.isdecimal, bounds)):
        return 0
    length = int(bounds[1]) - int(bounds[0])
    lanes = min(1 << max(length.bit_length() - 1, 0), MOST)
    if lanes < LEAST or length > LONGEST:
        return 0
    return lanes if length % lanes not in (0, lanes // 2) else 0
