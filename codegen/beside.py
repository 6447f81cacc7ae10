"""Parts side by side: what is put together is computed where it belongs, and not copied.

The parts of a concatenation along its first axis lie one after another in memory. Where each of
them is stored anyway, by a kernel of its own, that writes into the memory of the whole.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from ..tracer.ir import Node
from ..tracer.ops import movement, sources
from .index import row_major
from .lower import Lowering, axes_of
from .value import Load

Home = tuple[Node, int]
"""What a node is a part of, and the element it begins at."""


def homes(
    order: Iterable[Node], outputs: Collection[Node], lowering: Lowering
) -> Mapping[Node, Home]:
    """The nodes in memory that can lie in others, which are then there without a kernel."""
    found: dict[Node, Home] = {}
    for whole in order:
        parts = _parts(whole, lowering) if whole.op is movement.concat_op else {}
        free = parts.keys().isdisjoint(found) and parts.keys().isdisjoint(outputs)
        if parts and free:
            found |= {part: (whole, start) for part, start in parts.items()}
    return found


def _parts(whole: Node, lowering: Lowering) -> dict[Node, int]:
    """What `whole` is put together from, and where each begins; nothing if it is more than that."""
    if any(extent != 1 for extent in whole.shape[: whole.attrs[0]]):
        return {}
    found: dict[Node, int] = {}
    start = 0
    for each in whole.inputs:
        stored = _stored(each, lowering)
        if stored is None or stored in found:
            return {}
        found[stored] = start
        start += each.type.size
    return found


def _stored(part: Node, lowering: Lowering) -> Node | None:
    """The node in memory whose elements are those of `part`, in their order."""
    _, coordinates = axes_of(part.shape)
    value = lowering.element(part, coordinates)
    if not isinstance(value, Load) or value.conditions or not part.type.size:
        return None
    node = value.node
    whole = value.offset == row_major(coordinates, part.shape) and node.type.size == part.type.size
    return node if whole and node.op is not sources.input_ else None
