"""What `import gradc` gives, and what it leaves for later."""

import subprocess
import sys

import pytest

import gradc

HEAVY = ("cffi", "jinja2", "gradc.runtime.compiling", "gradc.module", "gradc.optimizer")


@pytest.mark.parametrize("name", gradc.__all__)
def test_every_public_name_is_there(name):
    assert getattr(gradc, name) is not None
    assert name in dir(gradc)


def test_names_that_do_not_exist():
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        gradc.nothing  # noqa: B018  # the look-up is what is tested


def test_importing_gradc_leaves_what_is_not_needed_yet():
    code = f"import sys, gradc; print([each for each in {HEAVY} if each in sys.modules])"
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert result.stdout == "[]\n"


def test_the_number_of_threads():
    before = gradc.get_num_threads()
    gradc.set_num_threads(3)
    assert gradc.get_num_threads() == 3
    gradc.set_num_threads(before)
    with pytest.raises(ValueError, match="at least 1"):
        gradc.set_num_threads(0)


def test_graphs_are_compiled():
    x = gradc.tensor([[0.25] * 100] * 300)
    before = len(gradc.programs())
    assert gradc.functional.cos(x * 4.0).sum().item() == pytest.approx(16209.07, rel=1e-6)
    assert len(gradc.programs()) == before + 1
    assert "cosf(" in gradc.programs()[-1].source
