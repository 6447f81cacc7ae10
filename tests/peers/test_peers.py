"""That the comparison with PyTorch finds what it shall; `make fuzz` runs it on many programs."""

import math
from dataclasses import replace

import pytest

pytest.importorskip("torch", reason="PyTorch is not installed: see `make fuzz`")

import torch
from hypothesis import HealthCheck, given, settings
from peers.batch import Batch
from peers.chain import EXP, chain
from peers.compare import PRECISION, Difference, compared, expected, shaken
from peers.crashing import crashing
from peers.cut import cut
from peers.generate import LAYER_ROWS, ROWS, models, programs
from peers.program import Program
from peers.supervise import AGAIN, supervised

few = settings(max_examples=5, deadline=None, suppress_health_check=list(HealthCheck))


@few
@given(programs(5, 20))
def test_programs_agree(program: Program) -> None:
    compared(program)


@few
@given(models())
def test_models_agree(program: Program) -> None:
    compared(program)


def test_what_is_never_built_is_a_difference(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("peers.compare.MOST_SECONDS", 1)
    waits = ("__import__('time').sleep(9) or {x}", "{x}")
    with pytest.raises(Difference, match="is not built after 1 s"):
        compared(chain(v0=waits))


WRONG = "F.sin({x})", "torch.sin({x}) * (1 + 1e-8)"


def test_rounding_is_no_difference() -> None:
    program = chain(v0=EXP, v1=("{x} - 1 + 1e-3", "{x} - (1 - 1e-3)"))
    assert compared(program).ill == 0


def test_a_small_difference_is_found_and_cut_out() -> None:
    program = chain(v0=EXP, v1=EXP, v2=WRONG, v3=EXP)
    with pytest.raises(Difference, match=r"differs by .* where rounding explains") as found:
        compared(program)
    smaller, _ = cut(program, str(found.value))
    assert [each.name for each in smaller.steps] == ["v2"]
    assert "v2 = F.sin(v1)" in smaller.snippet()


def test_a_wrong_derivative_is_found() -> None:
    program = chain(v0=("F.sin({x})", "torch.sin({x}) + 0 * {x}.detach() * {x}"))
    compared(program)
    program = chain(v0=("F.sin({x})", "torch.sin({x}) + 1e-6 * ({x} - {x}.detach())"))
    with pytest.raises(Difference, match="result 1 of 3"):
        compared(program)


def test_ties_stay_ties_when_values_are_changed() -> None:
    tied = ("F.maximum({x}, {x} * 1)", "torch.maximum({x}, {x} * 1)")
    moved = expected(chain(v0=EXP, v1=tied))[1]
    assert max(moved) < 1e-10


def test_a_value_beside_a_jump_says_nothing() -> None:
    """1 as sin^2 + cos^2 may come out below, and its whole part be 0."""
    one = "{0}.sin({{x}}) ** 2 + {0}.cos({{x}}) ** 2"
    near = (one.format("F"), one.format("torch"))
    assert compared(chain(v0=near, v1=("F.trunc({x})", "torch.trunc({x})"))).ill == 1
    whole = ("F.round({x} * 3)", "torch.round({x} * 3)")
    assert compared(chain(v0=near, v1=whole)).ill == 0


def test_second_derivatives_of_single_precision_may_cancel() -> None:
    """|x| of one element by x^1.5: the second derivative is 0, what is left of terms near 1."""
    norm = chain(v0=("F.norm({x}, 1.5, 0, True)", "torch.linalg.vector_norm({x}, 1.5, 0, True)"))
    inputs = {"x0": "np.random.default_rng(810).uniform(-2.0, 2.0, (1,))"}
    assert compared(replace(norm, inputs=inputs, dtype="float32")).ill == 0


def test_zeros_without_memory_are_read() -> None:
    """The second derivative of a sum of products with a constant; PyTorch has no memory for it."""
    zeros = "torch._efficientzerotensor((3, 7), dtype={x}.dtype)[1]"
    compared(chain(v0=("0 * {x}", f"0 * {{x}} + {zeros}"), v1=("{x} + 0", f"{{x}} * 1 + {zeros}")))


def test_a_crash_is_named_and_survived() -> None:
    report = supervised(Batch(seed=3, programs=8, least=1, most=2), crashing)
    assert (report.programs, report.done()) == (6, 8)
    (of_peer,), (of_gradc,) = report.crashes, report.differences
    assert "seed 3: the process ended with -6" in of_peer
    assert f"seed {3 + AGAIN}: the process ended with -6" in of_gradc
    assert "v0 = torch.exp(x0)" in of_gradc


def test_names_of_rows_are_told_apart() -> None:
    names = [row.name for row in (*ROWS, *LAYER_ROWS)]
    assert len(set(names)) == len(names)


@pytest.mark.parametrize("number", [1, -1, 5])
def test_values_are_changed_by_the_noise_of_their_type(number: int) -> None:
    x = torch.linspace(-2, 2, 1001, dtype=torch.float64) * math.pi
    precision = PRECISION["float64"]
    moved = (shaken(x, False, number, precision) / x - 1).abs()
    assert 0.9e-12 < float(moved.nan_to_num().max()) < 1.1e-12
    halves = torch.arange(-8, 9).double() / 2
    assert bool((shaken(halves, True, number, precision) == halves).all())
    assert not bool((shaken(halves, False, number, precision) == halves).all())
