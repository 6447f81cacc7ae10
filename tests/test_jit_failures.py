"""trace: a call that fails or is interrupted leaves behind all that it does, or nothing."""

import sys
from functools import partial

import numpy as np
import pytest
from with_exits import is_at_exit

import gradc
import gradc.functional as F
import gradc.optimizer as optim
from gradc.autodiff import GradManager
from gradc.jit import trace

pytestmark = pytest.mark.usefixtures("interpreted")  # a compiler is not the point here


def drawing(x, labels):
    """Two streams, one from either side of what may fail."""
    loss = F.cross_entropy(F.dropout(x, 0.5), labels)
    return loss + gradc.random.uniform()


def reseeding(x, labels):
    before = gradc.random.uniform()
    gradc.manual_seed(7)
    return F.cross_entropy(F.dropout(x, 0.5), labels) + gradc.random.uniform() + before


def drawn(function, failing, calls=6):
    """What `function` gives in `calls` calls, of which some fail, and the next number drawn."""
    gradc.manual_seed(3)
    x = gradc.tensor(np.arange(6, dtype=np.float32).reshape(2, 3))
    made = []
    for k in range(calls):
        try:
            made.append(function(x, gradc.tensor([0, 9 if k in failing else 1])).numpy().tobytes())
        except IndexError:
            made.append("failed")
    return [*made, gradc.random.uniform().item()]


@pytest.mark.parametrize("function", [drawing, reseeding])
@pytest.mark.parametrize("failing", [(), (0,), (1,), (3,), (2, 3), (0, 5)])
def test_streams_of_a_failing_call_are_drawn_once(function, failing):
    def plain(x, labels):
        made = function(x, labels)
        made.numpy()
        return made

    traced = trace(function)
    found = drawn(traced, failing)
    assert found == drawn(plain, failing)
    assert found.count("failed") == len(failing)
    assert traced.statistics().replayed >= 2


def test_streams_that_others_have_drawn_are_not_given_back():
    """A stream must not be drawn twice: that others draw is seen."""
    source = gradc.generator._DrawAgain(gradc.generator.GENERATOR)
    gradc.manual_seed(0)
    first = source.act()
    mine = gradc.generator.GENERATOR
    other = gradc.generator._DrawAgain(mine).act()
    source.take_back()
    assert len({first, other, gradc.generator._DrawAgain(mine).act()}) == 3


# ---- interrupts

REPLAY = "<gradc replay>"
"""The file in which the code of replays seems to lie."""


class Interrupt(BaseException):
    """Ctrl-C, as far as this is concerned."""


def interrupted(function, number):
    """Call `function` and interrupt it at the line `number` of its replay; whether there is one."""
    left = [number]

    def at_line(frame, event, argument):
        if event == "line" and not is_at_exit(frame):
            left[0] -= 1
            if left[0] < 0:
                sys.settrace(None)
                raise Interrupt
        return at_line

    def at_call(frame, event, argument):
        return at_line if frame.f_code.co_filename == REPLAY else None

    before = sys.gettrace()
    sys.settrace(at_call)
    try:
        function()
    except Interrupt:
        return True
    finally:
        sys.settrace(before)
    return False


def test_an_interrupt_leaves_all_or_nothing():
    """At whatever line of a replay it comes: gradients, writes, attachments, counts and streams."""
    parameters = [gradc.Parameter(np.full(3, k + 1.0, np.float32)) for k in range(3)]
    calls = gradc.tensor(0.0)
    manager, other = GradManager().attach(parameters), GradManager()
    optimizer = optim.SGD(parameters, lr=0.0, momentum=0.5)

    def kept(tensor, grad):
        return grad

    @trace
    def step(later):
        calls.__iadd__(1)
        with manager:
            manager.backward(sum((each * each).sum() for each in parameters))
        optimizer.step()
        other.attach(later, callbacks=kept)
        return gradc.random.uniform()

    def state(later):
        counts = {each.step for each in optimizer._states.values()}
        assert len(counts) == 1
        grads = [None if each.grad is None else each.grad.tolist() for each in parameters]
        attached = len(other.callbacks_of(later) or ())
        return [calls.item(), grads, *counts, attached, gradc.generator.GENERATOR._stream]

    gradc.manual_seed(0)
    for _ in range(3):
        step(gradc.Parameter(1.0))
    number, seen = 0, set()
    while True:
        for each in parameters:
            each.grad = None
        step(gradc.Parameter(1.0))
        later = gradc.Parameter(1.0)
        before = state(later)
        if not interrupted(partial(step, later), number):
            break
        after = state(later)
        done = [before[0] + 1, [[4.0 * k] * 3 for k in (1, 2, 3)]] + [k + 1 for k in before[2:]]
        assert before[1] == [[2.0 * k] * 3 for k in (1, 2, 3)]
        assert after in (before, done), number
        seen.add(after == before)
        number += 1
    assert number > 40
    assert seen == {True, False}


def test_failing_calls_are_counted():
    step = trace(lambda x, k: x[k])
    x = gradc.tensor([1.0, 2.0])
    assert step(x, gradc.tensor(1)).item() == 2.0
    for _ in range(3):
        with pytest.raises(IndexError):
            step(x, gradc.tensor(5)).item()
    assert step(x, gradc.tensor(0)).item() == 1.0
    statistics = step.statistics()
    assert (statistics.traced, statistics.replayed, statistics.plain) == (1, 1, 3)
    assert "called as it stands: an index does not fit" in step.explain()
