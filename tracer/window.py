"""Windows that move over data: `data[i : i + 32]` with another i in every step.

Numbers in an index are part of the program, so that reading folds into whoever uses it. Where a
loop reads another place of its data in each recording, that would build a program per step. From
the third recording that does so, the lines are copied out instead, and are an input like any other.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .buffer import Buffer
from .ir import InternTable
from .ops import sources
from .value import concrete

if TYPE_CHECKING:
    from .recording import Recording
    from .tensor import Tensor

PATIENCE = 2
"""In so many recordings a new place is taken for part of the program."""

SEEN = InternTable(10_000)


def window(x: Tensor, pattern: tuple[Any, ...], recording: Recording) -> Tensor | None:
    """The lines of `x` as a tensor of their own, where the place that is asked for moves."""
    made, buffer = x._node, x._buffer
    kind = made.type
    if len(pattern) != 1 or not kind.shape or buffer is None or buffer.device != "cpu":
        return None
    start, stop = _lines(pattern[0], kind.shape[0])
    if start >= stop or recording.node_of(x).op is not sources.input_:
        return None
    key = (kind, stop - start, pattern[0].__class__)
    serial, times = SEEN.get(key) or (-1, 0)
    if serial != recording.serial:
        times += 1
        SEEN.young[key] = (recording.serial, times)
    if times <= PATIENCE:
        return None
    if recording.trace is not None:
        recording.trace.abandon("reads another place of a tensor at every call")
    lines = buffer.array(kind.dtype, kind.shape)[start:stop]
    if pattern[0].__class__ is int:
        lines = lines[0]
    return concrete(Buffer.copied(lines), kind._replace(shape=lines.shape))


def _lines(item: Any, extent: int) -> tuple[int, int]:
    """The first line and the end of those that an index item names; (0, 0) where it is another."""
    if item.__class__ is int:
        place = item + extent if item < 0 else item
        return (place, place + 1) if 0 <= place < extent else (0, 0)
    if item.__class__ is not tuple or item[2] not in (None, 1):
        return 0, 0
    start, stop, _ = slice(*item).indices(extent)
    return start, stop
