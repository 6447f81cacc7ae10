"""trace: results are those of the plain function, whatever changes."""

import numpy as np
import pytest

import gradc
import gradc.optimizer as optim
from gradc.autodiff import GradManager
from gradc.jit import trace


@pytest.mark.parametrize("decorate", [trace, trace(), trace(symbolic=True, capture_as_const=True)])
def test_changes_of_shape_number_and_branch(decorate):
    @decorate
    def function(x, factor):
        """The sum, times a factor."""
        return x.sum() * factor if factor > 0 else x.sum()

    for size, factor in [(2, 3.0), (3, 3.0), (3, 0.5), (3, -1.0)]:
        expected = size * factor if factor > 0 else size
        assert function(gradc.tensor(np.ones(size)), factor).item() == expected
    assert function.__name__ == "function"
    assert function.__doc__ == "The sum, times a factor."


def test_a_whole_training_step():
    p = gradc.Parameter([4.0])
    gm, optimizer = GradManager().attach(p), optim.SGD([p], lr=0.25)

    @trace(symbolic=True)
    def step():
        with gm:
            loss = (p * p).sum()
            gm.backward(loss)
        optimizer.step().clear_grad()
        return {"loss": loss}

    assert [step()["loss"].item() for _ in range(3)] == [16.0, 4.0, 1.0]


def test_a_method():
    class Counter:
        count = 0

        @trace
        def add(self, n=1):
            self.count += n
            return self.count

    counter = Counter()
    assert (counter.add(), counter.add(n=2)) == (1, 3)


def test_unknown_options_are_refused():
    with pytest.raises(TypeError):
        trace(symbolic=True, speed="high")


def test_exceptions_pass_through():
    @trace
    def function():
        raise KeyError("mine")

    for _ in range(2):
        with pytest.raises(KeyError, match="mine"):
            function()
