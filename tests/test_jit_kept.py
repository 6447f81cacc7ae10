"""trace: traces go with the objects that they are of; traced functions are found by name."""

import copy
import functools
import gc
import inspect
import pickle
import warnings
import weakref

import numpy as np
import pytest

import gradc
import gradc.module as M
from gradc.jit import RetraceWarning, TraceError, TraceStatistics, trace

pytestmark = pytest.mark.usefixtures("interpreted")  # a compiler is not the point here


def number(value=1.0):
    return gradc.tensor([float(value)])


class Net(M.Module):
    """Scales; `owner` leads back to it, so that only a cycle holds it."""

    def __init__(self, rate=2.0):
        super().__init__()
        self.rate = rate
        self.weight = gradc.Parameter([rate])
        self.owner = {"of": self, "act": self.scaled}

    def scaled(self, x):
        return x * self.weight

    @trace
    def forward(self, x):
        return self.scaled(x) * 1.0


class Plain:
    def __init__(self, rate=2.0):
        self.rate = rate

    @trace
    def __call__(self, x):
        return x * self.rate


@trace
def applied(x, scaler):
    """Scale `x`."""
    return x * scaler.rate


applied_again = trace(inspect.unwrap(applied))


@trace
def by_name(x, *, scaler):
    return x * scaler.rate


CALLS = {
    "method of a module": (Net, lambda made, x: made(x), Net.forward),
    "method of an object": (Plain, lambda made, x: made(x), vars(Plain)["__call__"]),
    "argument": (Plain, lambda made, x: applied(x, made), applied),
    "module as an argument": (Net, lambda made, x: applied(x, made), applied),
    "argument by name": (Plain, lambda made, x: by_name(x, scaler=made), by_name),
}


@pytest.mark.parametrize("together", [False, True])
def test_many_objects_are_served_and_none_is_kept(together):
    wrong = []
    for name, (kind, call, traced) in CALLS.items():
        gc.collect()
        before, made = traced.statistics(), [kind(2.0 + k) for k in range(20)]
        found = [weakref.ref(each) for each in made]
        turns = [k for _ in range(3) for k in range(20)]
        for k in turns if together else sorted(turns):
            wrong += [name] if call(made[k], number()).item() != 2 + k else []
        after = traced.statistics()
        del made
        gc.collect()
        counts = (after.traced - before.traced, after.replayed - before.replayed)
        if counts != (20, 40) or any(each() is not None for each in found):
            wrong.append(f"{name}: {counts}, {sum(each() is not None for each in found)} alive")
    assert not wrong


def test_objects_that_are_always_new_are_not_traced_for_ever():
    class Fresh:
        rate = 2.0

    traced = trace(lambda x, given: x * given.rate)
    with pytest.warns(RetraceWarning, match="now because given is another one than before"):
        for _ in range(80):
            assert traced(number(), Fresh()).item() == 2.0
    assert traced.statistics() == TraceStatistics(traced=64, replayed=0, plain=16)


def test_an_object_without_attributes_of_its_own():
    class Slotted:
        __slots__ = ("rate",)

        @trace
        def scaled(self, x):
            return x * self.rate

    for rate in range(20):
        made = Slotted()
        made.rate = float(rate)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RetraceWarning)
            assert [made.scaled(number()).item() for _ in range(3)] == [rate] * 3
    assert Slotted.scaled.statistics().replayed == 16


@pytest.mark.parametrize(
    "copied", [copy.copy, copy.deepcopy, lambda m: pickle.loads(pickle.dumps(m))]
)
@pytest.mark.parametrize("kind", [Net, Plain])
def test_a_copy_of_an_object_has_traces_of_its_own(copied, kind):
    made = kind(2.0)
    assert [made(number()).item() for _ in range(3)] == [2.0] * 3
    other = copied(made)
    found = weakref.ref(made)
    if kind is Plain:
        other.rate = 5.0
        assert [each(number()).item() for each in (made, other, made, other)] == [2, 5, 2, 5]
        del made
        gc.collect()
        assert found() is None
    assert other(number()).item() == (5.0 if kind is Plain else 2.0)


def test_a_trace_is_no_part_of_a_modules_state():
    one, two = Net(), Net()
    outer = trace(lambda x: two.scaled(x))
    outer(number())
    one(number())
    two(number())
    assert [*one.state_dict()] == [*Net().state_dict()]
    outer(number())
    assert outer.statistics().replayed == 1


def test_frozen_methods_trace_once_for_each_object():
    class Frozen:
        rate = 2.0

        @trace(frozen=True)
        def scaled(self, x):
            return x * self.rate

    one, two = Frozen(), Frozen()
    for each in (one, two, one, two):
        assert each.scaled(number()).item() == 2.0
    one.rate = 3.0
    with pytest.raises(TraceError, match=r"rate is 3.0"):
        one.scaled(number())


def test_traced_functions_are_pickled_and_copied_by_their_names():
    for each in (applied, Net.forward):
        assert pickle.loads(pickle.dumps(each)) is each
        assert copy.copy(each) is copy.deepcopy(each) is each
    assert inspect.signature(applied) == inspect.signature(applied.__wrapped__)
    assert (applied.__doc__, applied.__module__) == ("Scale `x`.", __name__)
    method = pickle.loads(pickle.dumps(Net(4.0).forward))
    assert method(number()).item() == 4.0
    partial = pickle.loads(pickle.dumps(functools.partial(applied, scaler=Plain(3.0))))
    assert partial(number()).item() == 3.0
    with pytest.raises((pickle.PicklingError, AttributeError), match=r"lambda|local"):
        pickle.dumps(trace(lambda x: x))


def test_another_traced_function_of_the_same_name():
    with pytest.raises(pickle.PicklingError, match="applied"):
        pickle.dumps(applied_again)


def test_attributes_of_the_function_are_those_of_the_traced_one():
    def body(x):
        return x * 2

    body.tag = "mine"
    traced = trace(body)
    assert traced.tag == "mine"
    assert traced.__wrapped__ is traced.function is body


class Kinds:
    rate = 2.0

    @staticmethod
    @trace
    def inner_static(x):
        return x * 2.0

    @trace
    @staticmethod
    def outer_static(x):
        return x * 2.0

    @classmethod
    @trace
    def inner_class(cls, x):
        return x * cls.rate

    @trace
    @classmethod
    def outer_class(cls, x):
        return x * cls.rate

    @trace
    def method(self, x):
        return x * self.rate

    @property
    @trace
    def own(self):
        return number() * self.rate

    given = functools.partialmethod(method, x=gradc.tensor([1.0]))


def test_all_kinds_of_methods(monkeypatch):
    made = Kinds()
    for rate in (2.0, 2.0, 3.0, 3.0):
        monkeypatch.setattr(Kinds, "rate", rate)
        assert made.inner_static(number()).item() == Kinds.outer_static(number()).item() == 2.0
        assert made.inner_class(number()).item() == Kinds.outer_class(number()).item() == rate
        assert made.method(number()).item() == made.own.item() == made.given().item() == rate
        assert Kinds.method(made, number()).item() == Kinds.method(made, x=number()).item() == rate
    assert vars(Kinds)["outer_class"].__func__.statistics() == TraceStatistics(2, 2, 0)


def test_functions_that_wait():
    async def waiting(x):
        return x * 2

    def generated(x):
        yield x * 2

    for value in (1.0, 2.0, 3.0):
        with pytest.raises(StopIteration) as found:
            trace(waiting)(number(value)).send(None)
        assert found.value.value.item() == 2 * value
        assert [each.item() for each in trace(generated)(number(value))] == [2 * value]


def test_numbers_given_by_numpy():
    traced = trace(lambda x, k: x * k)
    for k in (np.float32(2.0), np.float64(3.0), np.int64(4)):
        assert traced(number(), k).item() == float(k)
