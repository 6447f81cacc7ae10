"""That the comparison with PyTorch finds what it shall; `make fuzz` runs it on many programs."""

import pytest

pytest.importorskip("torch", reason="PyTorch is not installed: see `make fuzz`")

from hypothesis import HealthCheck, given, settings
from peers.compare import Difference, compared, expected
from peers.cut import cut
from peers.generate import ROWS, programs
from peers.program import Program, Step

few = settings(max_examples=5, deadline=None, suppress_health_check=list(HealthCheck))


@few
@given(programs(5, 20))
def test_programs_agree(program: Program) -> None:
    compared(program)


def chain(**steps: tuple[str, str]) -> Program:
    """A program of steps that each read the one before."""
    names = ["x0", *steps]
    made = tuple(
        Step(name, name, (before,), *(f"{name} = {text.format(x=before)}" for text in texts))
        for (name, texts), before in zip(steps.items(), names, strict=False)
    )
    inputs = {"x0": "np.linspace(-1, 1, 7)"}
    return Program(inputs, made, (names[-1],), "float64", "by_managers", False)


EXP = "F.exp({x})", "torch.exp({x})"
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


def test_names_of_rows_are_told_apart() -> None:
    assert len({row.name for row in ROWS}) == len(ROWS)
