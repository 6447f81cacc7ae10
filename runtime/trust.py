"""Whom files and folders belong to, and what is read of them.

What is loaded runs with the user's rights, so nobody else may be able to change it: neither a file
nor a folder on the way to it. Files are opened once, without waiting and without following links,
and looked at through the descriptor: what is there but no regular file (a pipe, a socket, a device,
a folder, a link) counts as damage.
"""

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

WRITABLE_BY_OTHERS = 0o022
READING = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOFOLLOW
LARGEST = 1 << 30  # bytes; nothing that is kept here is as large
USERS = "/proc/self/uid_map"


class DamagedError(OSError):
    """Something in the store that gradc has not left there so."""


def is_ours(status: os.stat_result) -> bool:
    """Whether nobody but this user (or root) can have written a file or folder."""
    return status.st_uid in (0, os.getuid()) and not status.st_mode & WRITABLE_BY_OTHERS


def is_own_folder(path: Path) -> bool:
    """Whether there is a folder, no link to one, that nobody else can have written to."""
    try:
        status = path.lstat()
    except OSError:
        return False
    return stat.S_ISDIR(status.st_mode) and is_ours(status)


@contextmanager
def opened(path: Path) -> Iterator[tuple[int, bytes]]:
    """A descriptor of a regular file that is ours, and its content.

    Raises:
        DamagedError: it is something else, or others can write it.
        OSError: it can't be opened or read.
    """
    descriptor = os.open(path, READING)
    try:
        status = os.fstat(descriptor)
        if not (stat.S_ISREG(status.st_mode) and is_ours(status) and status.st_size < LARGEST):
            raise DamagedError(f"{path} is no file that only gradc has written")
        pieces = []
        while piece := os.read(descriptor, LARGEST):
            pieces.append(piece)
        yield descriptor, b"".join(pieces)
    finally:
        os.close(descriptor)


def read(path: Path) -> bytes:
    """The content of a regular file that is ours."""
    with opened(path) as (_, content):
        return content


def exposed_parent(path: Path) -> Path | None:
    """The first folder above the resolved `path` in which others can replace what leads to it."""
    for parent in path.parents:
        try:
            status = parent.stat()
        except OSError:
            continue  # it will be made, or the store says what is wrong
        if not _is_known(status.st_uid) or (
            status.st_mode & WRITABLE_BY_OTHERS
            and not status.st_mode & stat.S_ISVTX
            and not _only_own_group(status)
        ):
            return parent
    return None


def _only_own_group(status: os.stat_result) -> bool:
    """Whether a folder is writable for nobody but the group that a user has for himself."""
    if status.st_mode & 0o002:
        return False
    import grp
    import pwd

    try:
        user, group = pwd.getpwuid(os.getuid()), grp.getgrgid(status.st_gid)
    except (KeyError, OSError):
        return False
    return group.gr_name == user.pw_name and {*group.gr_mem} <= {user.pw_name}


def _is_known(owner: int) -> bool:
    """Whether a folder's owner is trusted: this user, root, or root outside of this namespace,
    which is shown as a user that the namespace does not have."""
    if owner in (0, os.getuid()):
        return True
    try:
        text = Path(USERS).read_text(encoding="ascii")
    except OSError:
        return False
    ranges = [[*map(int, line.split())] for line in text.splitlines()]
    return not any(first <= owner < first + count for first, _, count in ranges)
