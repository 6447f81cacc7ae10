"""Where a tracing function must not interrupt: Python never does, though a line begins there."""

import dis
from functools import cache
from types import CodeType, FrameType

ARGUMENTS = [("LOAD_CONST", None)] * 3
"""What `__exit__` is called with where nothing was raised."""


@cache
def _exits(code: CodeType) -> frozenset[int]:
    listed = [each for each in dis.get_instructions(code) if each.opname != "CACHE"]
    named = [(each.opname, each.argval) for each in listed]
    return frozenset(
        each.offset for at, each in enumerate(listed) if named[at : at + 3] == ARGUMENTS
    )


def is_at_exit(frame: FrameType) -> bool:
    """Whether the line that begins is a `with` about to be left.

    What is raised there goes past `__exit__`, so that a lock would be held for ever. Signals are
    looked for at jumps back and behind calls, so by then `__exit__` has been called.
    """
    return frame.f_lasti in _exits(frame.f_code)
