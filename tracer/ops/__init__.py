"""The operators: each is one record, and `OPS` is the table of them all.

Rules name operators of other files, in circles: that is why these files import each other as
modules (`from . import movement`) and look names up when a rule runs.
"""

from __future__ import annotations

from ..ir import Op
from . import (
    arithmetic,
    contraction,
    indexing,
    kinds,
    logic,
    markers,
    movement,
    random,
    reduction,
    scan,
    sort,
    sources,
    transcendental,
    window,
)

MODULES = (
    *(sources, markers, kinds, arithmetic, transcendental, logic),
    *(reduction, movement, contraction, indexing, window, scan, sort, random),
)

OPS: dict[str, Op] = {
    value.name: value
    for module in MODULES
    for value in vars(module).values()
    if isinstance(value, Op)
}
