"""The examples run, learn, and build nothing the second time."""

import math
import os
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import numpy as np
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


def libraries(environment):
    """What was built: every library with the file that it is."""
    found = Path(environment["GRADC_CACHE_DIR"]).rglob("library.so")
    return {(path, path.stat().st_ino, path.stat().st_mtime_ns) for path in found}


def untimed(text):
    return re.sub(r"\d+\.\d\d s\n", "", text)


def numbers(pattern, text):
    return [float(each) for each in re.findall(pattern, text)]


def trigram_bits(text):
    """Bits per character of the last tenth, by counts of three characters in the rest, plus 1."""
    cut, size = len(text) * 9 // 10, len(set(text))
    triples = Counter(text[i - 2 : i + 1] for i in range(2, cut))
    pairs = Counter(text[i - 2 : i] for i in range(2, cut))
    costs = [
        math.log2((pairs[text[i - 2 : i]] + size) / (triples[text[i - 2 : i + 1]] + 1))
        for i in range(cut, len(text))
    ]
    return sum(costs) / len(costs)


def test_characters(environment, tmp_path):
    topics = pytest.importorskip("pydoc_data.topics").topics
    text = "\n\n".join(dict.fromkeys("\n\n".join(topics.values()).split("\n\n")))
    short = tmp_path / "short.txt"  # with the same alphabet, so that it needs the same programs
    short.write_text("".join(sorted(set(text))) + text[:20000], encoding="utf-8")
    cold = run(environment, EXAMPLES / "characters.py", 1, short)
    built = libraries(environment)

    out = run(environment, EXAMPLES / "characters.py", 1)
    (learned,), (held_out,) = numbers(r"(\S+) bits", out), numbers(r"held out (\S+),", out)
    baseline = trigram_bits(text)
    assert 2.5 < baseline < 3.1  # of unigrams it is 4.7, of bigrams 3.5
    assert 1.5 < held_out < baseline - 0.3
    assert held_out < learned < baseline + 0.3  # the mean over an epoch that began with nothing
    written, cut = out.split("\n\n", 1)[1].removesuffix("\n"), len(text) * 9 // 10
    assert len(written) == 516
    assert written.startswith(text[cut : cut + 16])
    assert set(written) <= set(text)

    warm = run(environment, EXAMPLES / "characters.py", 1, short)
    assert untimed(warm) == untimed(cold)
    assert libraries(environment) == built


@pytest.mark.parametrize(
    ("arguments", "message"),
    [([], "without its manual"), ([1, "short.txt"], "more than 2560 characters")],
)
def test_characters_without_a_text(environment, tmp_path, arguments, message):
    (tmp_path / "short.txt").write_text("too short", encoding="utf-8")
    program = (
        "import runpy, sys; sys.modules['pydoc_data'] = None;"
        f"runpy.run_path({str(EXAMPLES / 'characters.py')!r}, run_name='__main__')"
    )
    command = [sys.executable, "-c", program, *map(str, arguments)]
    result = subprocess.run(command, env=environment, cwd=tmp_path, capture_output=True, text=True)
    assert result.returncode == 1
    assert message in result.stderr
    assert "Traceback" not in result.stderr


def log_likelihoods(test):
    """Of held-out digits in nats: pixels on their own, as counts and by the frequency of levels."""
    rows = np.loadtxt(EXAMPLES / "data" / "digits.csv.gz", delimiter=",", dtype="int32")[:, :-1]
    rows = np.random.default_rng(0).permutation(rows)
    held_out, learned = rows[:test], rows[test:]
    ink = (learned.sum(axis=0) + 0.5) / (16 * len(learned) + 1)
    ways = np.log([math.comb(16, k) for k in range(17)])[held_out]
    binomial = ways + held_out * np.log(ink) + (16 - held_out) * np.log1p(-ink)
    counts = np.stack([np.bincount(pixel, minlength=17) + 0.5 for pixel in learned.T])
    shares = np.log(counts / counts.sum(axis=1, keepdims=True))
    by_level = shares[np.arange(64), held_out]
    return binomial.sum(axis=1).mean(), by_level.sum(axis=1).mean()


def test_vae(environment):
    out = run(environment, EXAMPLES / "vae.py", 20)
    built = libraries(environment)
    bounds = numbers(r"held out (-\d+\.\d+),", out)
    assert len(bounds) == 10
    assert bounds[0] < bounds[1] < bounds[4] < bounds[9]
    by_mean, by_level = log_likelihoods(360)
    assert by_mean < -200  # what a pixel's mean knows
    assert -112 < by_level < -103  # what its frequencies know
    assert by_level + 5 < bounds[-1] < -80
    drawn = out.split("\n\n", 1)[1].splitlines()
    assert len(drawn) == 8
    assert 100 < max(map(len, drawn)) <= 8 * 16 + 7 * 2
    assert set("".join(drawn)) > set(" :-=+*#%")

    again = run(environment, EXAMPLES / "vae.py", 20)
    assert untimed(again) == untimed(out)
    assert libraries(environment) == built


def test_quickstart(environment):
    out = run(environment, EXAMPLES / "quickstart.py")
    assert "0.36787945" in out  # exp(-1) (2 - 1)
    assert "gradc_exp_f32(" in out


def test_the_data_names_its_source():
    text = (EXAMPLES / "data" / "README.md").read_text(encoding="utf-8")
    assert "10.24432/C50P49" in text
    assert "CC BY 4.0" in text
