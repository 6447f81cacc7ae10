"""Locks between processes that the kernel releases when their holder dies.

A holder shows that it goes on by the time of the lock's file. One that is stopped (by a signal, a
debugger, a frozen group) shows nothing, and nobody waits for it. Only changes of that time count,
so that clocks need not agree.
"""

import os
import stat
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from .command import run_beside

PATIENCE = 900.0  # seconds; whatever a holder shows, it must not stop everybody else for ever
SILENCE = 3.0  # seconds without a sign, after which a holder counts as stopped
SIGN = 0.5  # seconds between two signs
FIRST_WAIT, LONGEST_WAIT = 0.002, 0.05


@contextmanager
def exclusive(path: Path, patience: float = PATIENCE) -> Iterator[bool]:
    """Hold the lock file at `path`; yields False where locks don't work or patience ran out.

    Whoever goes on without the lock does work twice, never wrongly: entries appear by rename.
    """
    descriptor = _acquire(path, patience)
    if descriptor is None:
        yield False
        return
    done = threading.Event()
    try:
        sign = run_beside(lambda: _give_signs(descriptor, done), "gradc lock")
        try:
            yield True
        finally:
            done.set()
            if sign is not None:
                sign.join(SILENCE)
    finally:
        _release(path, descriptor)


def _give_signs(descriptor: int, done: threading.Event) -> None:
    while not done.wait(SIGN):
        with suppress(OSError):
            os.utime(descriptor)


def _acquire(path: Path, patience: float) -> int | None:
    import fcntl

    begin = heard = time.monotonic()
    wait, sign = FIRST_WAIT, 0
    descriptor = _open(path)
    try:
        while descriptor is not None:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                now, shown = time.monotonic(), os.fstat(descriptor).st_mtime_ns
                if shown != sign:
                    heard, sign = now, shown
                if now - begin > patience or now - heard > SILENCE:
                    break
                time.sleep(wait)
                wait = min(2 * wait, LONGEST_WAIT)
                continue
            except OSError:  # a file system without locks
                break
            held, descriptor = descriptor, None
            if _is_current(path, held):
                return held
            os.close(held)
            descriptor = _open(path)
        return None
    finally:
        if descriptor is not None:
            os.close(descriptor)


def _open(path: Path) -> int | None:
    """A descriptor of the lock file; what is there but no regular file is removed."""
    flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOFOLLOW
    for _ in range(2):
        with suppress(OSError):
            descriptor = os.open(path, flags, 0o600)
            if stat.S_ISREG(os.fstat(descriptor).st_mode):
                return descriptor
            os.close(descriptor)
        with suppress(OSError):
            if stat.S_ISREG(path.lstat().st_mode):
                return None  # it may not be opened
            path.unlink()
    return None


def _is_current(path: Path, descriptor: int) -> bool:
    """Whether the locked file still has its name: its last holder may have removed it."""
    try:
        return path.lstat().st_ino == os.fstat(descriptor).st_ino
    except OSError:
        return False


def _release(path: Path, descriptor: int) -> None:
    import fcntl

    with suppress(OSError):
        path.unlink()
    with suppress(OSError):  # a forked child may hold the descriptor too: closing is not enough
        fcntl.flock(descriptor, fcntl.LOCK_UN)
    os.close(descriptor)
