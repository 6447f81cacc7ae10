"""Forks: threads of the parent are not in the child, and what they held is set free there."""

import os
import sys
import threading
from importlib import _bootstrap
from typing import Any

from .tracer import locks


def install() -> None:
    """From now on children of a fork are fit to go on."""
    os.register_at_fork(
        before=locks.before_fork,
        after_in_parent=locks.in_parent,
        after_in_child=_in_child,
    )


def _in_child() -> None:
    forget_half_imported()
    locks.in_child()


def forget_half_imported() -> None:
    """Let modules that another thread was importing be imported anew; who held their locks is gone.

    A fork may come while another thread imports what the first program needs. Python renews its
    lock of all imports in children, but not those of single modules.
    """
    mine = threading.get_ident()
    held: dict[str, Any] = vars(_bootstrap)["_module_locks"]
    for name, found in list(held.items()):
        lock = found()
        if lock is not None and getattr(lock, "owner", None) not in (None, mine):
            held.pop(name, None)
            sys.modules.pop(name, None)
