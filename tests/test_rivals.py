"""The comparison with other frameworks: its workloads, its strictness, its report."""

import math
import subprocess
import sys
import xml.etree.ElementTree
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from rivals import __main__ as command
from rivals.environments import LeftOutError
from rivals.frameworks import FRAMEWORKS
from rivals.measure import Course, FailedError, checked, raced, restarted
from rivals.process import Contender, Worker
from rivals.reference import (
    NumpyOperators,
    Reference,
    WrongError,
    gradients_of,
    loss_of,
    slope_errors,
)
from rivals.report import CHART, PAGE, all_tables, page, picture, tables
from rivals.results import Results, geometric_mean, ratios, read_results
from rivals.workloads import BY_NAME, WORKLOADS

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
GRADC = FRAMEWORKS[0]
SMALL = [replace(each, sizes=each.small) for each in WORKLOADS]


@pytest.mark.parametrize("workload", SMALL, ids=lambda each: each.name)
def test_gradients_are_slopes_of_the_losses_of_numpy(workload):
    right = gradients_of(workload)
    assert max(slope_errors(workload, right, 1e-5).values()) < 1e-6
    traced = gradients_of(workload, workload.dtype, "trace")
    for name, gradient in right.items():
        size = np.linalg.norm(gradient)
        assert np.linalg.norm(traced[name] - gradient) <= workload.tolerance * size, name


def test_formulas_of_the_reference():
    f = NumpyOperators()
    x = np.array([[1.0, 2.0, 4.0]])
    e = [math.exp(each) for each in (1, 2, 4)]
    assert np.allclose(f.softmax(x), [[each / sum(e) for each in e]], rtol=1e-14)
    assert math.isclose(f.cross_entropy(x, np.array([1]), 1), math.log(sum(e)) - 2)
    image = np.arange(16.0).reshape(1, 1, 4, 4)
    assert f.max_pool(image).tolist() == [[[[5, 7], [13, 15]]]]
    weight = np.zeros((1, 1, 3, 3))
    weight[0, 0, 0, 1] = 2  # what stands above, twice
    moved = f.conv(image, weight, np.array([1.0]), 1)
    assert moved[0, 0].tolist() == [[1] * 4, [1, 3, 5, 7], [9, 11, 13, 15], [17, 19, 21, 23]]
    u, u_t, u_x, u_xx = f.derivatives(
        lambda points: f.tanh(f.affine(points, np.array([[2.0], [3.0]]), np.array([0.5]))),
        np.array([[0.1, -0.2]]),
    )
    y = math.tanh(0.1 * 2 - 0.2 * 3 + 0.5)
    assert np.allclose(u, y)
    assert np.allclose(u_t, 2 * (1 - y * y))
    assert np.allclose(u_x, 3 * (1 - y * y))
    assert np.allclose(u_xx, 9 * -2 * y * (1 - y * y))


def test_data_are_the_same_numbers_in_every_type():
    single, _ = BY_NAME["W2"].data()
    double, _ = BY_NAME["W2"].data(dtype="float64")
    assert single["W0"].dtype == "float32"
    assert np.array_equal(single["W0"], double["W0"])


def test_what_is_left_out_exists():
    for each in FRAMEWORKS:
        assert set(each.only) <= set(BY_NAME)
        assert (ROOT / "benchmarks" / "rivals" / f"steps_{each.name}.py").exists()
        for variant, workload in each.left_out:
            assert variant in each.variants
            assert workload in BY_NAME
            assert not each.runs(variant, workload)


@pytest.fixture
def contender():
    return Contender(GRADC, "loop", Path(sys.executable))


@pytest.fixture
def course(tmp_path):
    return Course((1,), 2, 1, 60, tmp_path)


@pytest.fixture
def reference():
    """That of sum(x * x): twice x."""
    parameters, inputs = BY_NAME["W1"].data(dtype="float64")
    x, rate = parameters["x"], BY_NAME["W1"].rate
    losses = float(x @ x), loss_of(BY_NAME["W1"], {"x": x - rate * 2 * x}, inputs)
    assert math.isclose(losses[1], (1 - 2 * rate) ** 2 * losses[0])
    return Reference(losses, {"x": 2 * x})


def test_a_workload_is_checked_and_measured(contender, course, reference):
    workload, large = BY_NAME["W1"], np.ones(10**8 // 8)
    found, cold = checked(contender, workload, course, reference)
    assert found["parameter"] == "x"
    assert found["gradient"] < 1e-6
    assert 0 < cold < 60
    steps, dropped = raced([contender], workload, 1, course, reference)
    assert not dropped
    assert 0 < steps["gradc loop"]["median"] < 1
    assert steps["gradc loop"]["rounds"] == 2
    start = restarted(contender, workload, course)
    assert start["import"] < start["warm"] < 60
    assert 1e7 < start["peak"] < large.nbytes  # that of the worker, not of what started it


def test_a_wrong_gradient_is_noticed(contender, course, reference):
    wrong = reference.gradients["x"] * np.where(np.arange(10) == 3, 1.001, 1)
    with pytest.raises(WrongError, match="gradient of x"):
        checked(contender, BY_NAME["W1"], course, Reference(reference.losses, {"x": wrong}))


def test_a_wrong_loss_is_noticed(contender, course, reference):
    off = Reference((reference.losses[0] * 1.0001, 0), reference.gradients)
    with pytest.raises(WrongError, match="loss off"):
        checked(contender, BY_NAME["W1"], course, off)
    late = Reference((reference.losses[0], reference.losses[1] * 1.0001), {})
    steps, dropped = raced([contender], BY_NAME["W1"], 1, course, late)
    assert not steps
    assert "in step 2" in str(dropped["gradc loop"])


def test_wrong_gradients_of_the_reference_are_noticed():
    workload = next(each for each in SMALL if each.name == "W3")
    wrong = {name: 1.01 * each for name, each in gradients_of(workload).items()}
    assert max(slope_errors(workload, wrong).values()) > 5e-3


def test_a_framework_that_is_not_there_fails_alone(course, reference):
    missing = Contender(replace(GRADC, name="absent"), "loop", Path(sys.executable))
    with pytest.raises(FailedError, match="steps_absent"):
        checked(missing, BY_NAME["W1"], course, reference)


def test_a_process_that_says_nothing_is_given_up(contender, tmp_path):
    worker = Worker(contender, BY_NAME["W1"], 1, tmp_path, patience=0.01)
    assert "no answer within" in worker.end()["error"]


def test_the_comparison_ends_with_whether_all_was_right(monkeypatch, contender, course, reference):
    results = Results()
    monkeypatch.setattr(command, "reference_of", lambda workload: reference)
    assert command.compare(BY_NAME["W1"], [contender], course, results)
    assert set(results.starts["W1"]["gradc loop"]) == {"cold", "warm", "import", "peak"}
    wrong = Reference(reference.losses, {"x": 2 * reference.gradients["x"]})
    monkeypatch.setattr(command, "reference_of", lambda workload: wrong)
    assert not command.compare(BY_NAME["W1"], [contender], course, results)
    assert "gradient of x" in results.failures["W1"]["gradc loop"]
    assert not results.steps["W1"]["1"]
    assert not results.starts["W1"]


def test_what_cannot_be_installed_is_left_out(monkeypatch, capsys):
    def refuse(framework, folder):
        raise LeftOutError("no matching distribution")

    monkeypatch.setattr(command, "python_of", refuse)
    results = Results()
    assert not list(command.contenders(["jax"], results))
    assert results.left_out == {"jax": "no matching distribution"}
    assert "jax is left out: no matching distribution" in capsys.readouterr().out


def step(median):
    return {"median": median, "spread": 0.01, "rounds": 5}


TINY = Results(
    date="2026-01-02",
    machine={"processor": "two abaci"},
    versions={"gradc": "1", "torch": "2"},
    left_out={"jax": "no matching distribution"},
    checks={"W2": {"gradc trace": {"loss": 1e-9, "gradient": 2e-7, "parameter": "W0"}}},
    starts={"W2": {"gradc trace": {"cold": 1.25, "warm": 0.125, "import": 0.1, "peak": 4.2e7}}},
    steps={
        "W1": {"1": {"gradc trace": step(2e-6), "torch eager": step(1e-6)}},
        "W2": {
            "1": {"gradc trace": step(1e-3), "torch eager": step(8e-3), "jax jit": step(9e-3)},
            "2": {"gradc trace": step(1e-3)},
        },
    },
    failures={"W3": {"torch compile": "no answer within 180 s"}},
)


def test_ratios_are_to_the_best_other():
    found = {(each.workload, each.contender): each for each in ratios(TINY, 1)}
    assert found["W1", "gradc trace"].value == 2
    assert found["W2", "gradc trace"].value == 0.125
    assert found["W2", "jax jit"].value == 1.125
    assert found["W2", "gradc trace"].best == "torch eager"
    assert ratios(TINY, 2) == []


def test_geometric_mean():
    assert math.isclose(geometric_mean([2, 0.125]), 0.5)
    assert math.isnan(geometric_mean([]))


def test_the_table_of_steps():
    first, *_ = all_tables(TINY)
    assert first.title == "Training steps, 1 thread"
    assert first.header[3:] == ("gradc trace", "torch eager", "jax jit")
    assert first.rows[0] == ("W1", "torch eager", "1 µs", "2.00", "1.00", "–")
    assert first.rows[1] == ("W2", "torch eager", "8 ms", "0.12", "1.00", "1.12")
    assert first.rows[2] == ("geometric mean", "", "", "**0.50**", "", "")


def test_the_report(golden):
    golden("performance.md", page(TINY))
    assert tables(TINY) in page(TINY)


def test_the_picture():
    drawn = xml.etree.ElementTree.fromstring(picture(TINY))
    texts = [each.text for each in drawn.iter("{http://www.w3.org/2000/svg}text")]
    assert {"W1", "W2", "2.00", "0.12", "1 thread"} <= set(texts)
    width = float(drawn.attrib["width"])
    assert all(0 <= float(each.attrib["x"]) <= width for each in drawn.iter() if "x" in each.attrib)


def test_results_are_kept_whole(tmp_path):
    TINY.write(tmp_path / "results.json")
    assert read_results(tmp_path / "results.json") == TINY
    assert read_results(tmp_path / "none.json") == Results()


def test_the_page_shows_its_results(golden):
    results = read_results(DOCS / "performance.json")
    golden(PAGE, page(results), DOCS)
    golden(CHART, picture(results), DOCS)


def test_the_command_line_explains_itself():
    arguments = [sys.executable, "-P", "-m", "rivals", "--help"]
    environment = {"PYTHONPATH": str(ROOT / "benchmarks"), "PATH": ""}
    ran = subprocess.run(arguments, env=environment, capture_output=True, text=True, check=True)
    assert "--measure-nothing" in ran.stdout
