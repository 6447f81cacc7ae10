"""Commands that are run leave nothing behind."""

import os
import subprocess
import time
from pathlib import Path

import pytest
from gradc.runtime.command import run_command


def is_running(process: int) -> bool:
    """Whether it is there and no zombie."""
    try:
        status = Path(f"/proc/{process}/stat").read_text(encoding="ascii")
    except OSError:
        return False
    return status.rpartition(")")[2].split()[0] != "Z"


def test_what_a_command_says(tmp_path: Path) -> None:
    ended = run_command(["sh", "-c", "pwd; echo $MARK >&2; exit 3"], tmp_path, 60, MARK="here")
    assert (ended.returncode, ended.stdout, ended.stderr) == (3, f"{tmp_path}\n", "here\n")


@pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="looks processes up in /proc")
def test_children_of_a_late_command_are_ended(tmp_path: Path) -> None:
    line = ["sh", "-c", "sleep 600 & echo $! > child; wait"]
    with pytest.raises(subprocess.TimeoutExpired):
        run_command(line, tmp_path, 1.0)
    child = int((tmp_path / "child").read_text(encoding="ascii"))
    deadline = time.monotonic() + 30
    while is_running(child) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not is_running(child)


def test_a_missing_command(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        run_command([str(tmp_path / "nothing")], tmp_path, 1.0)
