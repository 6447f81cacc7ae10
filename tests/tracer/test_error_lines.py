"""Errors of programs name the line of this call, however often equal nodes were recorded before."""

import inspect
import pickle

import pytest
from gradc.tracer.errors import BoundsError
from gradc.tracer.evaluation import forget_programs

import gradc.functional as F
from gradc import Parameter, no_grad, tensor
from gradc.autodiff import GradManager
from gradc.jit import trace

GOOD, BAD = tensor([1, 2]), tensor([1, 7])


def of_a_loss(x, places):
    return F.cross_entropy(x, places)


def of_a_loss_elsewhere(x, places):
    return F.cross_entropy(x, places)


def of_an_index(x, places):
    return x[0, places]


def of_an_index_elsewhere(x, places):
    return x[0, places]


def of_an_assignment(x, places):
    x = x * 1.5
    x[0, places] = 2.0
    return x


def of_an_assignment_elsewhere(x, places):
    x = x * 1.5
    x[0, places] = 2.0
    return x


def of_a_list(x, places):
    return F.take(F.concat([x, x]), 1, places)


def of_a_list_elsewhere(x, places):
    return F.take(F.concat([x, x]), 1, places)


PAIRS = [
    (of_a_loss, of_a_loss_elsewhere),
    (of_an_index, of_an_index_elsewhere),
    (of_an_assignment, of_an_assignment_elsewhere),
    (of_a_list, of_a_list_elsewhere),
]


def line_of(function, offset=None):
    """The last line of `function`, or the one so many below its first, as errors tell it."""
    lines, first = inspect.getsourcelines(function)
    last = len(lines) - 1 - ("x = x" in "".join(lines))  # those return x
    return f"{__file__}:{first + (last if offset is None else offset)}"


def message(function, x):
    with pytest.raises(BoundsError) as caught:
        function(x, BAD).numpy()
    return str(caught.value)


@pytest.mark.parametrize("quiet", [False, True])
@pytest.mark.parametrize("pair", PAIRS)
def test_the_line_is_that_of_the_call(pair, quiet):
    x = tensor([[0.5, 1.5, 2.5], [1.0, 2.0, 3.0]])
    for each in (*pair, *pair):
        each(x, GOOD).numpy()
    for each in (*pair, *reversed(pair)):
        if quiet:
            with no_grad():
                found = message(each, x)
        else:
            found = message(each, x)
        assert f"found 7 (at {line_of(each)}, run at line" in found


def test_the_line_that_runs_is_named_as_well():
    x = Parameter([[0.5, 1.5, 2.5], [1.0, 2.0, 3.0]])
    gm = GradManager().attach(x)

    def step(places):
        with gm:
            loss = F.cross_entropy(x, places)
            gm.backward(loss)

    for places in (GOOD, GOOD):
        step(places)
    with pytest.raises(BoundsError) as caught:
        step(BAD)
    first = inspect.getsourcelines(step)[1]
    expected = f"cross_entropy: expected a place from 0 to 2, found 7 (at {__file__}:{first + 2}, "
    assert str(caught.value) == expected + f"run at line {first + 3})"


def test_where_both_are_one_line_it_is_named_once():
    x = tensor([1.0, 2.0])
    with pytest.raises(BoundsError) as caught:
        F.take(x, 0, tensor([5])).numpy()
    assert "run at" not in str(caught.value)


def test_a_graph_that_is_equal_to_another_one_has_its_own_line_and_name():
    x = tensor([[0.5, 1.5, 2.5], [1.0, 2.0, 3.0]])
    forget_programs()
    y = x * 2.5
    of_a_loss(x, GOOD).numpy()
    of_a_loss_elsewhere(x * 2.5, GOOD).numpy()  # other leaves, the same program
    assert f"cross_entropy: {line_of(of_a_loss_elsewhere)}"[15:] in message(of_a_loss_elsewhere, y)


def test_what_fails_alone_after_others_have_run_keeps_its_line():
    x = tensor([[0.5, 1.5, 2.5], [1.0, 2.0, 3.0]])
    bad, good = of_a_loss(x, BAD), x * 3.5
    assert good.tolist() == [[1.75, 5.25, 8.75], [3.5, 7, 10.5]]
    with pytest.raises(BoundsError, match=line_of(of_a_loss)):
        bad.numpy()


def test_a_replay_names_the_line_of_its_own_function():
    x = tensor([[0.5, 1.5, 2.5], [1.0, 2.0, 3.0]])
    of_a_loss(x, GOOD).numpy()
    traced = trace(of_a_loss_elsewhere)
    for _ in range(3):
        traced(x, GOOD)
    assert traced.statistics().replayed == 2
    found = message(traced, x)
    assert traced.statistics().traced == 1
    assert (
        f"cross_entropy: expected a place from 0 to 2, found 7 (at {line_of(traced.function)}"
        in found
    )
    assert f", run at line {inspect.getsourcelines(message)[1] + 2})" in found


def test_errors_can_be_pickled():
    with pytest.raises(BoundsError) as caught:
        F.take(tensor([1.0]), 0, tensor([5])).numpy()
    again = pickle.loads(pickle.dumps(caught.value))
    assert (type(again), str(again)) == (BoundsError, str(caught.value))
