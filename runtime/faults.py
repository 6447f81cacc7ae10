"""Faults of the machine, by number and by what compilers say of them."""

import errno
import os

DISK = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS, errno.EIO)
"""Faults of a disk: another folder may do."""

PASSING = (errno.EAGAIN, errno.ENOMEM, errno.EMFILE, errno.ENFILE)
"""Limits on processes, memory and open files: what failed may be done a moment later, and no other
folder helps."""

SAID = {
    "virtual memory exhausted": errno.ENOMEM,
    "out of memory": errno.ENOMEM,
    "memory exhausted": errno.ENOMEM,
    "std::bad_alloc": errno.ENOMEM,
}


def disk_fault(said: str) -> int | None:
    """The fault of the disk that a compiler tells of, or None."""
    return next((each for each in DISK if os.strerror(each) in said), None)


def passing_fault(said: str) -> OSError | None:
    """The passing fault that a compiler or loader tells of, or None."""
    words = SAID | {os.strerror(each): each for each in PASSING}
    found = next((number for text, number in words.items() if text in said), None)
    return None if found is None else OSError(found, os.strerror(found))


def is_passing(error: BaseException) -> bool:
    """Whether what failed may be tried again in the same way."""
    if isinstance(error, MemoryError):
        return True
    if isinstance(error, ImportError):  # a module that was to be read from disk at this moment
        return passing_fault(str(error)) is not None
    return isinstance(error, OSError) and (
        error.errno in PASSING or passing_fault(str(error)) is not None
    )
