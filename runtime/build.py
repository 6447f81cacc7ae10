"""From C text to a shared object, through the cache."""

import errno
import os
from collections.abc import Sequence
from pathlib import Path

from ..tracer.errors import GradcError
from .cache import Cache
from .cpu import usable_cores
from .digest import digest
from .faults import disk_fault, is_passing, passing_fault
from .store import keep_failed
from .toolchain import Toolchain

SOURCE, LIBRARY, LOG = "source.c", "library.so", "build.log"
SECONDS = 300.0
SHOWN_LINES = 8  # of what the compiler said


class CompileError(GradcError, RuntimeError):
    """The C compiler made no library of the source, which is kept at `source_path`."""

    def __init__(self, reason: str, command: list[str], log: str, source_path: Path) -> None:
        errors = [line for line in log.splitlines() if "error" in line] or log.splitlines()
        said = "\n".join(f"  {line}" for line in errors[:SHOWN_LINES])
        from shlex import join

        super().__init__(
            f"{reason}\n{said}\nThe command was: {join(command)}\nThe source is kept: {source_path}"
        )
        self.command = command
        self.log = log
        self.source_path = source_path


def build(
    source: str, toolchain: Toolchain, cache: Cache, timeout: float = SECONDS, units: int = 1
) -> Path:
    """The library of a C source: the cached one, or else compiled now, in so many units at once."""

    def make(stage: Path) -> Path:
        return compile_library(source, toolchain, stage, timeout, units)

    return cache.fetch({"source": digest(source), **toolchain.parts}, make)


def compile_library(
    source: str, toolchain: Toolchain, folder: Path, timeout: float = SECONDS, units: int = 1
) -> Path:
    """Compile a source in a folder of the cache's; raises CompileError, or OSError for the disk."""
    (folder / SOURCE).write_bytes(source.encode())
    from shlex import join

    command, status, log = _compiled(toolchain, folder, timeout, units)
    if folder.is_dir():
        (folder / LOG).write_bytes(f"{join(command)}\n{log}".encode())
    library = folder / LIBRARY
    if status == 0 and library.exists():
        return library
    if not folder.is_dir():  # removed by somebody: nothing is known of the source
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(folder))
    if status and (fault := disk_fault(log)):
        raise OSError(fault, os.strerror(fault), str(folder))
    if status and (passing := passing_fault(log)):
        raise passing
    reason = {
        None: f"the C compiler gave no result within {timeout:g} s",
        0: "the C compiler made no library",
    }.get(status, f"the C compiler failed with status {status}")
    raise CompileError(reason, command, log, keep_failed(folder) / SOURCE)


def _compiled(
    toolchain: Toolchain, folder: Path, timeout: float, units: int
) -> tuple[list[str], int | None, str]:
    """The last command or the one that failed, its exit status, and what was said."""
    if units == 1:
        command = toolchain.command_line(SOURCE, library=LIBRARY)
        return command, *_run(command, folder, timeout)
    from .command import run_commands

    objects = [f"unit{number}.o" for number in range(units)]
    commands = [toolchain.unit_line(SOURCE, *each) for each in enumerate(objects)]
    # The last one has the entry too, and takes longest, so it begins.
    last_first = run_commands(
        commands[::-1], usable_cores(), lambda each: _run(each, folder, timeout)
    )
    ended = last_first[::-1]
    for command, (status, log) in zip(commands, ended, strict=True):
        if status != 0:
            return command, status, log
    command = toolchain.command_line(*objects, library=LIBRARY)
    status, log = _run(command, folder, timeout)
    for each in objects:
        (folder / each).unlink(missing_ok=True)
    return command, status, "".join([*(said for _, said in ended), log])


def _run(command: Sequence[str], folder: Path, timeout: float) -> tuple[int | None, str]:
    """The exit status (None if the time ran out) and what was said.

    Relative names keep the folder's path out of the library; TMPDIR keeps the compiler's own files
    in the folder.
    """
    import subprocess

    from .command import run_command

    try:
        ended = run_command(command, folder, timeout, TMPDIR=str(folder))
    except OSError as error:
        if is_passing(error) or not folder.is_dir():
            raise
        return 127, f"error: {command[0]} cannot be run: {error.strerror}"
    except subprocess.TimeoutExpired:
        return None, ""
    return ended.returncode, ended.stdout + ended.stderr
