"""The locks of the package, and what a fork does to them.

A fork copies memory and one thread. What other threads held would stay held in the child for ever,
and what they were about to write is half done there. So every lock is made here; who starts
processes (`gradc.forks`) calls `before_fork`, `in_parent` and `in_child`.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any
from weakref import ref

Lock = threading.RLock
"""The type of all locks: a thread may take one again, since finalizers, handlers of signals and
warnings run anywhere; and who holds it is known in a child."""

_made: dict[int, ref[Any]] = {}
_brief: list[Any] = []
_repairs: list[Callable[[], object]] = []


def new_lock() -> Any:
    """A lock that is free in children, unless the thread that forked holds it."""
    return adopted(Lock())


def adopted(lock: Any) -> Any:
    """The `lock`, which somebody else has made for what we use, as one of ours.

    One that does not know who holds it must not be held where users' code runs.
    """
    key = id(lock)
    _made[key] = ref(lock, lambda _: _made.pop(key, None))
    return lock


def brief_lock() -> Any:
    """A lock that a fork waits for, so that what it guards is whole in children.

    Who holds it neither computes nor waits for another lock. Made once, for the whole process.
    """
    lock = new_lock()
    _brief.append(lock)
    return lock


def repaired_in_children(repair: Callable[[], object]) -> Callable[[], object]:
    """Call `repair` in children: it makes right what other threads have left half done."""
    _repairs.append(repair)
    return repair


def before_fork() -> None:
    """Wait until nobody is within a brief lock."""
    for lock in _brief:
        lock.acquire()


def in_parent() -> None:
    """Go on after a fork."""
    for lock in reversed(_brief):
        lock.release()


def in_child() -> None:
    """Free what other threads held, and make right what they were doing."""
    for found in list(_made.values()):
        lock = found()
        if lock is not None and not getattr(lock, "_is_owned", bool)():
            lock._at_fork_reinit()
    for lock in reversed(_brief):
        lock.release()
    for repair in _repairs:
        repair()


WRITING = brief_lock()
"""Held while tensors that belong together are bound to new values: all of them or none are seen
by children, and by who holds this and reads several."""
