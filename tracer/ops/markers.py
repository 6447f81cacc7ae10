"""Identities that steer the adjoint and vanish before a graph is compiled."""

from __future__ import annotations

from .kinds import Marker


def _same(x: object, *_: object) -> object:
    return x


track = Marker(
    "track",
    reference=_same,
    vjp=lambda g, y, x, ordinal: (g,),
    attributes=("ordinal",),
    doc="the value of an attached tensor as its manager first saw it; `ordinal` counts snapshots",
)

stop = Marker(
    "stop",
    reference=_same,
    vjp=None,
    doc="x, as a value that depends on nothing",
)

opaque = Marker(
    "opaque",
    reference=_same,
    vjp=lambda g, y, x, hidden: (g,),
    attributes=("hidden",),
    doc="the result of a backward; the managers whose numbers are in `hidden` see no history of it",
)

boundary = Marker(
    "boundary",
    reference=_same,
    vjp=None,
    attributes=("call", "output", "count"),
    doc="output number `output` of a Function: its value, then inputs; the adjoint calls the user",
)
