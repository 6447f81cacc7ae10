"""Running a compiler: to its end, or to the end of the time that it is given."""

import os
import signal
import subprocess
from collections.abc import Sequence
from pathlib import Path


def run_command(
    line: Sequence[str], folder: str | Path, timeout: float, **environment: str
) -> subprocess.CompletedProcess[str]:
    """What a command returned, with its output and its errors; `environment` is added to ours.

    It leads a session of its own: whatever happens, nothing that it started is left running.

    Raises:
        OSError: it can't be started.
        subprocess.TimeoutExpired: it took longer than `timeout` seconds.
    """
    process = subprocess.Popen(
        line,
        cwd=folder,
        env={**os.environ, "LC_ALL": "C", **environment},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
        start_new_session=True,
    )
    try:
        said, errors = process.communicate(timeout=timeout)
    finally:
        if process.returncode is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
    return subprocess.CompletedProcess(line, process.returncode, said, errors)
