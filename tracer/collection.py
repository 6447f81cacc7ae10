"""Python's garbage collector, and when it rests."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

from .locks import repaired_in_children


class _Rest:
    """Whether a thread lets the collector rest."""

    begun = False


@contextmanager
def without_collection() -> Iterator[None]:
    """Let the collector of cycles rest: graphs have none, and it would walk all nodes many times.

    Another thread that ends its rest first merely ends this one too.
    """
    if not gc.isenabled():
        yield
        return
    _Rest.begun = True
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
        _Rest.begun = False


@repaired_in_children
def _end_rest() -> None:
    """Whoever let it rest may have stayed in the parent."""
    if _Rest.begun:
        gc.enable()
        _Rest.begun = False
