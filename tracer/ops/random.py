"""Random bits that depend on nothing but a key and a position.

Philox 4x32 with 10 rounds: J. K. Salmon, M. A. Moraes, R. O. Dror and D. E. Shaw, Parallel random
numbers: as easy as 1, 2, 3, SC '11.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .kinds import Elementwise

__all__ = ["random_bits"]

MULTIPLIERS = (0xD2511F53, 0xCD9E8D57)
WEYL = (0x9E3779B9, 0xBB67AE85)
LOW = np.uint64(0xFFFFFFFF)
HALF = np.uint64(32)


def _philox(position: Any, key: Any, stream: Any) -> Any:
    """Word `position` % 4 of the block (position // 4, stream) under `key`, as 32 bits in int64."""
    shape = np.broadcast_shapes(np.shape(position), np.shape(key), np.shape(stream))
    at, seed, turn = (
        np.broadcast_to(np.asarray(each, np.int64), shape).astype(np.uint64)
        for each in (position, key, stream)
    )
    block = at >> np.uint64(2)
    words = [block & LOW, block >> HALF, turn & LOW, turn >> HALF]
    keys = [seed & LOW, seed >> HALF]
    for _ in range(10):
        left = np.uint64(MULTIPLIERS[0]) * words[0]
        right = np.uint64(MULTIPLIERS[1]) * words[2]
        words = [
            (right >> HALF) ^ words[1] ^ keys[0],
            right & LOW,
            (left >> HALF) ^ words[3] ^ keys[1],
            left & LOW,
        ]
        keys = [(each + np.uint64(weyl)) & LOW for each, weyl in zip(keys, WEYL, strict=True)]
    return np.choose((at & np.uint64(3)).astype(np.intp), words).astype(np.int64)


random_bits = Elementwise(
    "random_bits",
    scalar="gradc_philox({x}, {y}, {z})",
    reference=_philox,
    vjp=None,
    domain="int64",
    weight=15,
    doc="32 random bits (in int64) for the position x under the key y in the stream z: the same on "
    "every target",
)
