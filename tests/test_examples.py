"""The examples run, learn, and build nothing the second time."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[1] / "examples"


@pytest.fixture(scope="module")
def environment(tmp_path_factory):
    return {**os.environ, "GRADC_CACHE_DIR": str(tmp_path_factory.mktemp("cache"))}


def run(environment, *arguments):
    command = [sys.executable, *map(str, arguments)]
    result = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    assert result.stderr == ""
    return result.stdout


def test_digits(environment):
    first = run(environment, EXAMPLES / "digits.py", 12)
    accuracy, programs = first.splitlines()[-2:]
    assert float(re.fullmatch(r"test accuracy: (0\.\d{3})", accuracy)[1]) >= 0.95
    built = int(re.fullmatch(r"programs: built (\d+), cached 0", programs)[1])
    assert 2 <= built <= 6
    assert first.count("test accuracy ") == 12
    assert "static void k" in first
    path = Path(re.search(r"the generated C: (.*)", first)[1])
    assert "cross_entropy" in path.read_text(encoding="utf-8")

    second = run(environment, EXAMPLES / "digits.py", 12)
    assert second.splitlines()[-2:] == [accuracy, f"programs: built 0, cached {built}"]
    losses = [re.findall(r"loss (\d\.\d+)", text) for text in (first, second)]
    assert losses[0] == losses[1]


def test_convnet(environment):
    out = run(environment, EXAMPLES / "convnet.py", 3)
    accuracy = re.fullmatch(r"test accuracy: (0\.\d{3})", out.splitlines()[-1])
    assert float(accuracy[1]) >= 0.93
    losses = [float(each) for each in re.findall(r"loss (\d\.\d+)", out)]
    assert len(losses) == 3
    assert losses == sorted(losses, reverse=True)


def test_pinn(environment):
    out = run(environment, EXAMPLES / "pinn.py", 300)
    error = re.fullmatch(r"largest error: (\d\.\d+)", out.splitlines()[-1])
    assert float(error[1]) < 0.05
    assert out.count("loss ") == 10


def test_quickstart(environment):
    out = run(environment, EXAMPLES / "quickstart.py")
    assert "0.36787945" in out  # exp(-1) (2 - 1)
    assert "expf(" in out


def test_the_data_names_its_source():
    text = (EXAMPLES / "data" / "README.md").read_text(encoding="utf-8")
    assert "10.24432/C50P49" in text
    assert "CC BY 4.0" in text
