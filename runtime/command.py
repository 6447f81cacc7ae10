"""Running a compiler: to its end, or to the end of the time that it is given.

A command leads a session of its own, with all that it starts, and a guard in it: a shell that
reads from a pipe whose other end this process holds. When this process ends, however it does
(killed too), the guard meets the end of the pipe and kills the session. Unlike the parent-death
signal of Linux this reaches the children of the command, does not depend on the thread that started
it, and needs no Python between fork and exec.
"""

from __future__ import annotations

import atexit
import os
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from shutil import which
from typing import TYPE_CHECKING, Any

from ..tracer.locks import brief_lock

if TYPE_CHECKING:
    import subprocess

GUARDED = (
    "exec 3<&0 </dev/null; (read gone <&3; kill -9 0) >/dev/null 2>&1 & guard=$!;"
    ' "$@" 3<&-; status=$?; kill $guard; exit $status'
)
SHELL = "/bin/sh"
LAST_WAIT = 0.3  # seconds at the end of the process for threads whose commands were ended

STARTING = brief_lock()
"""Held while a command is started: the child of a fork would keep the ends of its pipes, and who
waits for all that the command says would wait for that child."""

_groups: set[int] = set()  # sessions of the commands that run now
_ends: set[int] = set()  # our ends of the pipes of their guards
_threads: set[threading.Thread] = set()  # which run commands beside the caller


def search_path() -> str:
    """PATH, or the system's own where it is not set: what is found is started with the same."""
    confstr = getattr(os, "confstr", lambda name: None)
    return os.environ.get("PATH") or confstr("CS_PATH") or os.defpath


def find_program(name: str) -> str | None:
    """The absolute path of a program by its name or path, or None."""
    found = which(name, path=search_path()) if name else None
    return os.path.abspath(found) if found else None  # noqa: PTH100  # links are not followed


def run_command(
    line: Sequence[str], folder: str | Path, timeout: float, **environment: str
) -> subprocess.CompletedProcess[str]:
    """What a command returned, with its output and its errors; `environment` is added to ours.

    Whatever happens, nothing that it started is left running.

    Raises:
        OSError: it can't be started.
        subprocess.TimeoutExpired: it took longer than `timeout` seconds.
    """
    import subprocess

    program = find_program(line[0])
    if program is None:
        raise FileNotFoundError(2, os.strerror(2), line[0])
    guarded = (SHELL, "-c", GUARDED, "gradc") if os.access(SHELL, os.X_OK) else ()
    with _guard() as end:
        with STARTING:
            process = subprocess.Popen(
                [*guarded, program, *line[1:]],
                cwd=folder,
                env={**os.environ, "PATH": search_path(), "LC_ALL": "C", **environment},
                stdin=end,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
                errors="replace",
                start_new_session=True,
            )
        _groups.add(process.pid)
        try:
            said, errors = process.communicate(timeout=timeout)
        finally:
            _groups.discard(process.pid)
            if process.returncode is None:
                _kill(process.pid)
                process.communicate()
    return subprocess.CompletedProcess(line, process.returncode, said, errors)


@contextmanager
def _guard() -> Iterator[int]:
    """The reading end of a pipe that ends with this block, or with this process."""
    with STARTING:
        theirs, ours = os.pipe()
        _ends.add(ours)
    try:
        yield theirs
    finally:
        _ends.discard(ours)
        os.close(ours)
        os.close(theirs)


def run_beside(work: Callable[[], Any], name: str) -> threading.Thread | None:
    """Run `work` in a thread for which the end of the process does not wait.

    None where no thread can be started; then the caller does the work when it is needed.
    """

    def run() -> None:
        try:
            work()
        finally:
            _threads.discard(thread)

    thread = threading.Thread(target=run, name=name, daemon=True)
    try:
        thread.start()
    except (RuntimeError, MemoryError):  # a limit on threads, or on memory for their stacks
        return None
    _threads.add(thread)
    if not thread.is_alive():
        _threads.discard(thread)
    return thread


def run_commands(
    lines: Sequence[Sequence[str]], at_once: int, run: Callable[[Sequence[str]], Any]
) -> list[Any]:
    """What `run` returns for each of the commands, of which so many run at the same time.

    An interrupt of the caller ends them all.
    """
    waiting = list(enumerate(lines))[::-1]
    ended: dict[int, Any] = {}
    failures: list[BaseException] = []

    def work() -> None:
        while not failures:
            try:
                number, line = waiting.pop()
            except IndexError:
                return
            try:
                ended[number] = run(line)
            except BaseException as error:
                failures.append(error)

    before = set(_groups)
    helpers = [run_beside(work, "gradc unit") for _ in range(min(at_once, len(lines)) - 1)]
    try:
        work()
        for each in helpers:
            if each is not None and not failures:
                each.join()
    except BaseException as error:
        failures.append(error)
    if failures:
        waiting.clear()
        for group in set(_groups) - before:
            _kill(group)
        raise failures[0]
    return [ended[number] for number in range(len(lines))]


def _kill(group: int) -> None:
    with suppress(OSError):  # it has ended by itself
        os.killpg(group, signal.SIGKILL)


def _end_all() -> None:
    for group in list(_groups):
        _kill(group)
    for thread in list(_threads):  # they remove what they were making
        thread.join(LAST_WAIT)


def _forget_parents() -> None:
    """A child of a fork must neither end its parent's commands nor keep their guards waiting."""
    _groups.clear()
    _threads.clear()
    for end in list(_ends):
        with suppress(OSError):
            os.close(end)
    _ends.clear()


atexit.register(_end_all)
os.register_at_fork(after_in_child=_forget_parents)
