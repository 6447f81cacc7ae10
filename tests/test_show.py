"""The command line: what is cached, listed and printed."""

import os
import subprocess
import sys

import pytest

import gradc
from gradc import show
from gradc.__main__ import main
from gradc.autodiff import GradManager


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("GRADC_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def program(folder):
    """One program in the cache, and its key."""
    from gradc.tracer.evaluation import forget_programs

    forget_programs()  # what this process has loaded already would not be built again
    x = gradc.Parameter([[1.0, 2.0, 3.0]] * 6000)  # large enough to be compiled at once
    with GradManager().attach(x) as gm:
        gm.backward(gradc.functional.exp(x * 0.3).sum())
    assert x.grad is not None
    entries = show.cached_programs(show_cache())
    return next(each.key for each in entries if each.manifest is not None)


def show_cache():
    from gradc.runtime.cache import open_cache

    return open_cache()


def run(capsys, *arguments):
    status = main(list(arguments))
    captured = capsys.readouterr()
    return status, captured.out, captured.err


def test_version(capsys):
    with pytest.raises(SystemExit) as ended:
        main(["--version"])
    assert ended.value.code == 0
    assert capsys.readouterr().out == f"gradc {gradc.__version__}\n"


@pytest.mark.parametrize("arguments", [[], ["shew"], ["cache", "drop"], ["show", "1", "2"]])
def test_commands_that_do_not_exist(arguments, capsys):
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    assert ended.value.code == 2
    assert "usage" in capsys.readouterr().err


def test_an_empty_cache(folder, capsys):
    assert run(capsys, "show") == (0, f"nothing is cached in {folder}\n", "")
    status, out, _ = run(capsys, "cache")
    assert status == 0
    assert str(folder) in out
    assert "empty" in out
    assert run(capsys, "show", "1") == (1, "", "gradc: no program 1 among the 0 that are cached\n")


def test_the_list(program, capsys):
    status, out, _ = run(capsys, "show")
    head, *rows = out.splitlines()
    assert status == 0
    assert head.split() == ["#", "key", "size", "age", "kernels"]
    (row,) = (each for each in rows if program[:10] in each)
    assert "k0_sum" in row
    assert all(len(each) <= 100 for each in rows)


def test_a_program_by_number_and_by_key(program, capsys):
    _, listed, _ = run(capsys, "show")
    number = next(each.split()[0] for each in listed.splitlines() if program[:10] in each)
    status, out, err = run(capsys, "show", number)
    assert (status, err) == (0, "")
    assert program in out
    assert "= exp(" in out  # the graph
    assert "gradc_exp_f32(" in out  # the C
    assert "#include" not in out  # no headers
    assert run(capsys, "show", program[:12])[1] == out
    assert "#include" in run(capsys, "show", program, "--full")[1]


def test_keys_that_name_nothing(program, capsys):
    for wanted in ("xyz", ""):
        status, out, err = run(capsys, "show", wanted)
        assert (status, out) == (1, "")
        assert err.startswith(f"gradc: no program {wanted} among the ")


def test_numbers_go_before_keys_and_keys_must_be_clear(tmp_path):
    entries = [show.Cached(key, tmp_path, 0, 0.0, None) for key in ("1a0", "2b1", "2b2")]
    assert show.chosen(entries, "2").key == "2b1"
    assert show.chosen(entries, "1A").key == "1a0"
    with pytest.raises(show.ShowError, match="2 keys begin with 2b"):
        show.chosen(entries, "2b")
    with pytest.raises(show.ShowError, match="has no source"):
        show.source_of(entries[0], full=False)


def test_the_source_is_coloured_only_on_a_terminal(program, capsys, monkeypatch):
    pytest.importorskip("pygments")
    plain = run(capsys, "show", program)[1]
    assert "\x1b[" not in plain
    assert "\x1b[" in show.highlighted("int x = 1;")
    monkeypatch.setitem(sys.modules, "pygments", None)
    assert show.highlighted("int x = 1;") == "int x = 1;"


def test_clearing(program, capsys):
    status, out, _ = run(capsys, "cache")
    assert status == 0
    assert "entries  " in out
    status, out, _ = run(capsys, "cache", "clear")
    assert status == 0
    assert out.startswith("removed ")
    assert "nothing is cached" in run(capsys, "show")[1]


def test_sizes_and_ages():
    sizes = [show.shown_size(each) for each in (0, 999, 1500, 48_200, 3_000_000, 5 * 10**12)]
    assert sizes == ["0 B", "999 B", "1.5 kB", "48 kB", "3.0 MB", "5000 GB"]
    ages = [show.shown_age(each) for each in (0.2, 5, 60, 7200, 200_000)]
    assert ages == ["now", "5 s", "1 min", "2 h", "2 d"]


def test_as_a_module_whose_reader_leaves(program):
    command = [sys.executable, "-m", "gradc", "show", program, "--full"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait() in (0, 1)
    listed = subprocess.run(
        [sys.executable, "-m", "gradc", "show"],
        capture_output=True,
        text=True,
        check=True,
        env=dict(os.environ),
    )
    assert program[:10] in listed.stdout
