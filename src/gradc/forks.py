"""Forks: threads of the parent are not in the child, and what they held is set free there."""

import os

from .tracer import locks


def install() -> None:
    """From now on children of a fork are fit to go on."""
    os.register_at_fork(
        before=locks.before_fork,
        after_in_parent=locks.in_parent,
        after_in_child=locks.in_child,
    )
