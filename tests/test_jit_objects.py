"""trace: objects that answer to any name, sets, and results with a part twice or themselves."""

import numpy as np
import pytest

import gradc
from gradc.jit import trace

pytestmark = pytest.mark.usefixtures("interpreted")  # a compiler is not the point here


def number(value):
    return gradc.tensor(np.float32(value))


# ---- objects with a __getattr__ of their own


class Named(dict):
    """A dict whose entries are attributes too; other names raise KeyError."""

    __getattr__ = dict.__getitem__


class Forwarding:
    def __init__(self, **entries):
        self.entries = entries

    def __getattr__(self, name):
        return self.entries[name]  # KeyError


class Loud:
    rate = 2.0

    def __getattr__(self, name):
        raise RuntimeError(f"asked for {name}")


class LoudSlots(Loud):
    __slots__ = ("empty", "factor")

    def __init__(self, factor):
        self.factor = factor


def test_a_dict_with_attributes_as_argument():
    step = trace(lambda x, settings: x * settings.rate)
    assert [step(number(3), Named(rate=2.0)).item() for _ in range(3)] == [6.0] * 3
    assert step(number(3), Named(rate=4.0)).item() == 12.0
    assert step.statistics().replayed == 2


def test_a_dict_with_attributes_as_result():
    step = trace(lambda x: Named(twice=x * 2, squared=x * x))
    for value in (1.0, 3.0, 5.0):
        made = step(number(value))
        assert type(made) is Named
        assert (made.twice.item(), made["squared"].item()) == (2 * value, value * value)
    assert step.statistics().replayed == 2


@pytest.mark.parametrize(
    "made",
    [Forwarding(rate=2.0), Named(rate=2.0), Loud()],
    ids=["KeyError", "dict", "RuntimeError"],
)
@pytest.mark.parametrize("closed", [False, True])
def test_no_name_is_asked_for_that_the_function_does_not_ask_for(made, closed):
    step = trace((lambda x: x * made.rate) if closed else (lambda x, made: x * made.rate))
    given = () if closed else (made,)
    assert [step(number(value), *given).item() for value in (1.0, 3.0)] == [2.0, 6.0]


def test_slots_that_are_empty_are_not_asked_for():
    made = LoudSlots(5.0)
    step = trace(lambda x: x * made.factor)
    assert [step(number(value)).item() for value in (1.0, 3.0)] == [5.0, 15.0]
    made.factor = 7.0
    assert step(number(1)).item() == 7.0


def test_an_object_that_says_it_has_a_node_is_no_tensor():
    class Like:
        _node = number(1)._node
        rate = 3.0

    step = trace(lambda x, made: x * made.rate)
    assert [step(number(value), Like()).item() for value in (1.0, 2.0)] == [3.0, 6.0]


class Silent:
    """Nothing but its rate may be asked for, its class neither."""

    rate = 2.0

    def __getattribute__(self, name):
        if name != "rate":
            raise RuntimeError(f"asked for {name}")
        return object.__getattribute__(self, name)


@pytest.mark.parametrize("closed", [False, True])
def test_an_object_that_answers_to_one_name_alone(closed):
    made = Silent()
    step = trace((lambda x: x * made.rate) if closed else (lambda x, made: x * made.rate))
    given = () if closed else (made,)
    assert [step(number(value), *given).item() for value in (1.0, 3.0)] == [2.0, 6.0]


def test_callable_objects_are_traced_without_asking_for_their_names():
    class Called(Named):
        def __call__(self, x):
            return x * self.rate

    class Scaling(Loud):
        def __call__(self, x):
            return x * self.rate

    for made, called in ((Called(rate=2.0), "Called"), (Scaling(), "Scaling")):
        step = trace(made)
        assert [step(number(value)).item() for value in (1.0, 3.0)] == [2.0, 6.0]
        assert step.explain().startswith(f"{called}: traced 1 times, replayed 1 times")


# ---- sets


@pytest.mark.parametrize("kind", [set, frozenset])
def test_a_set_of_new_tensors(kind):
    step = trace(lambda x: kind([x * 2, x * 3]))
    for value in (1.0, 2.0, 5.0):
        made = step(number(value))
        assert type(made) is kind
        assert sorted(each.item() for each in made) == [2 * value, 3 * value]
    assert step.statistics().replayed == 2


def test_a_set_within_a_list_beside_what_it_holds():
    def body(x):
        twice = x * 2
        return [{twice, x}, twice]

    step = trace(body)
    for value in (1.0, 2.0):
        x = number(value)
        held, twice = step(x)
        assert twice.item() == 2 * value
        assert held == {twice, x}
    assert step.statistics().replayed == 1


def test_tensors_of_a_set_are_met_in_its_own_order():
    @trace
    def step(given):
        first, second = given
        return first * 10 + second

    for k in range(20):
        given = {number(1.0), number(k)}
        first, second = (each.item() for each in given)
        assert step(given).item() == 10 * first + second
    assert step.statistics().replayed == 19


# ---- parts that stand twice, and what holds itself


def test_a_list_that_stands_twice_stays_one():
    def body(x):
        inner = [x * 2]
        return inner, {"again": inner, "other": [x * 2]}, (inner, inner)

    step = trace(body)
    for value in (1.0, 2.0, 3.0):
        inner, table, pair = step(number(value))
        assert table["again"] is inner
        assert pair[0] is pair[1] is inner
        assert table["other"] is not inner
        assert inner[0].item() == table["other"][0].item() == 2 * value
    assert step.statistics().replayed == 2


def test_a_list_that_holds_itself():
    @trace
    def step(x):
        made = [x * 2, x * 3]
        made.append(made)
        return made

    for value in (1.0, 2.0, 3.0):
        made = step(number(value))
        assert made[2] is made
        assert [made[0].item(), made[1].item()] == [2 * value, 3 * value]
    assert "returns a list that holds itself (at " in step.explain()
    assert step.statistics().replayed == 0


def test_a_result_that_is_nested_too_deeply():
    @trace
    def step(x):
        made = ()
        for _ in range(3_000):
            made = (made, x * 2)
        return made

    for value in (1.0, 2.0):
        made = step(number(value))
        assert made[1].item() == 2 * value
        for _ in range(3_000):
            made = made[0]
        assert made == ()
    assert "returns an object that is nested too deeply" in step.explain()


# ---- what is told of containers


def test_elements_of_containers_are_named():
    rates, factors = {"lr": 1.0}, [1.0, 2.0]
    step = trace(lambda x: x * rates["lr"] * factors[1])
    step(number(1))
    rates["lr"] = 2.0
    assert step(number(1)).item() == 4.0
    assert "traced: rates['lr'] is 2.0, not 1.0 (at " in step.explain()
    factors[1] = 5.0
    assert step(number(1)).item() == 10.0
    assert "traced: factors[1] is 5.0, not 2.0 (at " in step.explain()


def test_a_key_in_place_of_another():
    rates = {"fast": 1.0}
    step = trace(lambda x: x * 2 if "fast" in rates else x * 3)
    assert step(number(1)).item() == 2.0
    rates["slow"] = rates.pop("fast")
    assert step(number(1)).item() == 3.0
    assert "traced: rates: key 0 is 'slow', not 'fast'" in step.explain()


def test_a_default_that_changes_is_named():
    def grown(kept):
        kept.append(1)

    @trace
    def step(x, kept=[], *, other=[]):  # noqa: B006
        grown(kept)
        grown(other)
        return x * len(kept)

    assert [step(number(1)).item() for _ in range(3)] == [1.0, 2.0, 3.0]
    assert "changes Python state: kept has 1 elements, not 0" in step.explain()


@pytest.mark.parametrize("kind", [tuple, list])
@pytest.mark.parametrize("closed", [False, True])
def test_what_is_nested_too_deeply(kind, closed):
    deep = kind()
    for _ in range(3_000):
        deep = kind([deep])
    step = trace((lambda x: x * (2 + len(deep))) if closed else (lambda x, y: x * (2 + len(y))))
    given = () if closed else (deep,)
    assert [step(number(value), *given).item() for value in (1.0, 2.0)] == [3.0, 6.0]
    told = "called as it stands: an argument is nested too deeply (2 times)"
    assert (told in step.explain()) is not closed
