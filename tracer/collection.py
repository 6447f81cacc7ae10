"""Python's garbage collector, and when it rests."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def without_collection() -> Iterator[None]:
    """Let the collector of cycles rest: graphs have none, and it would walk all nodes many times.

    Another thread that ends its rest first merely ends this one too.
    """
    if not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
