"""Locks between processes that the kernel releases when their holder dies."""

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

PATIENCE = 900.0  # seconds; a holder that is stopped must not stop everybody else for ever
FIRST_WAIT, LONGEST_WAIT = 0.002, 0.05


@contextmanager
def exclusive(path: Path, patience: float = PATIENCE) -> Iterator[bool]:
    """Hold the lock file at `path`; yields False where locks don't work or patience ran out.

    Whoever goes on without the lock does work twice, never wrongly: entries appear by rename.
    """
    descriptor = _acquire(path, time.monotonic() + patience)
    try:
        yield descriptor is not None
    finally:
        if descriptor is not None:
            _release(path, descriptor)


def _acquire(path: Path, deadline: float) -> int | None:
    import fcntl

    wait = FIRST_WAIT
    descriptor = _open(path)
    while descriptor is not None:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > deadline:
                break
            time.sleep(wait)
            wait = min(2 * wait, LONGEST_WAIT)
        except OSError:  # a file system without locks
            break
        else:
            if _is_current(path, descriptor):
                return descriptor
            os.close(descriptor)
            descriptor = _open(path)
    if descriptor is not None:
        os.close(descriptor)
    return None


def _open(path: Path) -> int | None:
    try:
        return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError:
        return None


def _is_current(path: Path, descriptor: int) -> bool:
    """Whether the locked file still has its name: its last holder may have removed it."""
    try:
        return path.stat().st_ino == os.fstat(descriptor).st_ino
    except OSError:
        return False


def _release(path: Path, descriptor: int) -> None:
    import fcntl

    with suppress(OSError):
        path.unlink()
    with suppress(OSError):  # a forked child may hold the descriptor too: closing is not enough
        fcntl.flock(descriptor, fcntl.LOCK_UN)
    os.close(descriptor)
