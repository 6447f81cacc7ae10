"""The order of elements: sorting and choosing the largest are made of it."""

from __future__ import annotations

from typing import Any

import numpy as np

from .kinds import Sort


def _argsort(x: Any, descending: bool, count: int) -> Any:
    """Stable in both directions: a line that descends is sorted backwards, from its end."""
    keys = x[..., ::-1] if descending else x
    order = np.argsort(keys, axis=-1, kind="stable")
    if descending:
        order = x.shape[-1] - 1 - order[..., ::-1]
    return order[..., :count].astype(np.int32)


argsort: Sort = Sort(
    "argsort",
    reference=_argsort,
    vjp=None,
    attributes=("descending", "count"),
    doc="the positions of the first `count` elements along the last axis in their order, NaN as "
    "the largest; equal elements keep theirs",
)
