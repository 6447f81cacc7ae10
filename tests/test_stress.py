"""Half a minute of threads that train, read, trace and fork at the same time, and what a fork finds
in each of the states that a lock guards."""

import os
import subprocess
import sys
from pathlib import Path

TESTS = Path(__file__).parent


def started(*arguments: str, seconds: float) -> "subprocess.CompletedProcess[str]":
    """What a Python of its own says, without waiting for ever."""
    path = os.pathsep.join([str(TESTS), *(each for each in sys.path if each)])
    return subprocess.run(
        [sys.executable, "-P", *arguments],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        timeout=seconds,
        check=False,
    )


def test_threads_and_forks_beside_one_another() -> None:
    done = started("-m", "stress", "--seconds", "30", "--seed", "12", seconds=400)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-8000:]
    rounds, said = done.stdout.splitlines()
    assert said == "fine"
    idle = [each for each in rounds.split(", ") if int(each.rsplit(" ", 1)[1]) == 0]
    assert not idle, f"never had a turn: {idle}"
