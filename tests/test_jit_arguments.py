"""trace: arguments and results are any nesting of tensors and Python values."""

from collections import Counter, OrderedDict, defaultdict, namedtuple
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

import gradc
import gradc.optimizer as optim
from gradc.autodiff import GradManager
from gradc.jit import TraceError, trace

pytestmark = pytest.mark.usefixtures("interpreted")  # a compiler is not the point here


def numbers(*values):
    return gradc.tensor(np.array(values, np.float32))


Pair = namedtuple("Pair", "x k")


class Typed(NamedTuple):
    x: Any
    k: int = 1


@dataclass
class Batch:
    x: Any
    k: int = 1
    rest: list = field(default_factory=list)


@dataclass(frozen=True)
class Frozen:
    x: Any
    k: int = 1


@dataclass(frozen=True, slots=True)
class Slotted:
    x: Any
    k: int = 1


@dataclass
class Extended(Batch):
    def __post_init__(self):
        self.extra = 10  # no field


class Named(dict):
    """A dict with attributes, as libraries for models give back."""


class Listed(list):
    pass


class Attributes:
    """What attrs makes, as far as it can be told from outside."""

    __attrs_attrs__ = (type("A", (), {"name": "x"}), type("A", (), {"name": "k"}))

    def __init__(self, x, k=1):
        self.x, self.k = x, k


def named(x, k):
    made = Named(x=x)
    made.k = k
    return made


RECORDS = [Pair, Typed, Batch, Frozen, Slotted, Extended, Attributes]
MAPPINGS = [
    lambda x, k: {"x": x, "k": k},
    lambda x, k: OrderedDict(x=x, k=k),
    lambda x, k: defaultdict(int, x=x, k=k),
    lambda x, k: Named(x=x, k=k),
    lambda x, k: {"x": x, "k": Fraction(k)},
    lambda x, k: {"x": x, "k": k, "where": Path("a"), "tags": {"b", "c"}, "on": frozenset({1})},
]


# ---- arguments


@pytest.mark.parametrize("make", RECORDS, ids=lambda each: each.__name__)
def test_new_records_are_replayed(make):
    @trace
    def function(record):
        return record.x * record.k

    for number in (1.0, 2.0, 3.0):
        assert function(make(numbers(number, 4.0), 3)).tolist() == [3 * number, 12.0]
    assert function.statistics().replayed == 2
    assert function(make(numbers(1.0, 4.0), 5)).tolist() == [5.0, 20.0]
    assert "record.k is 5, not 3" in function.explain()
    assert function(make(numbers(1.0), 3)).tolist() == [3.0]
    assert "record.x is float32[1], not float32[2]" in function.explain()


@pytest.mark.parametrize("make", MAPPINGS)
def test_new_mappings_are_replayed(make):
    @trace
    def function(record):
        return record["x"] * int(record["k"])

    for number in (1.0, 2.0, 3.0):
        assert function(make(numbers(number, 4.0), 3)).tolist() == [3 * number, 12.0]
    assert function.statistics().replayed == 2
    assert function(make(numbers(1.0, 4.0), 5)).tolist() == [5.0, 20.0]
    assert "record['k'] is" in function.explain()


def test_attributes_of_a_dict_and_of_a_record_beside_its_fields():
    @trace
    def function(d, e):
        return d["x"] * d.k + e.x * e.extra

    for _ in range(2):
        assert function(named(numbers(2.0), 3), Extended(numbers(1.0))).item() == 16.0
    other = Extended(numbers(1.0))
    other.extra = 100
    assert function(named(numbers(2.0), 3), other).item() == 106.0
    assert function(named(numbers(2.0), 4), other).item() == 108.0
    assert function.statistics().replayed == 1
    assert "e.extra is 100, not 10" in function.explain()
    assert "d.k is 4, not 3" in function.explain()


def test_records_within_records():
    @trace
    def function(batch):
        return batch.x["a"] * batch.rest[0].x + batch.rest[1].x

    for number in (1.0, 2.0):
        record = Batch({"a": numbers(number)}, 1, [Frozen(numbers(5.0)), Slotted(numbers(7.0))])
        assert function(record).item() == 5 * number + 7
    assert function.statistics().replayed == 1


def test_a_record_that_holds_itself():
    @trace
    def function(batch):
        return batch.rest[0].x * 2

    for number in (1.0, 2.0):
        batch = Batch(numbers(number))
        batch.rest.append(batch)
        assert function(batch).item() == 2 * number
    assert function.statistics().replayed == 1


def test_a_field_that_is_rebound_inside():
    @trace
    def function(batch):
        batch.x = batch.x * 2
        return batch.x + 1

    for _ in range(3):
        batch = Batch(numbers(1.0))
        assert function(batch).item() == 3.0
        assert batch.x.item() == 2.0


def test_a_field_that_is_changed_in_place():
    @trace
    def function(batch):
        batch.x[...] = batch.x * 2
        return batch.x + 1

    for number in (1.0, 2.0, 3.0):
        batch = Frozen(numbers(number))
        assert function(batch).item() == 2 * number + 1
        assert batch.x.item() == 2 * number
    assert function.statistics().replayed == 2


def test_a_method_of_a_record_is_told_by_the_names_in_its_code():
    @dataclass
    class Trainer:
        weight: Any
        factor: float = 3.0
        epoch: int = 0

        @trace
        def step(self, x):
            return x * self.weight * self.factor

    trainer = Trainer(gradc.Parameter([2.0]))
    for epoch in range(4):
        trainer.epoch = epoch  # of no concern to `step`
        assert trainer.step(numbers(5.0)).item() == 30.0
    assert Trainer.step.statistics().replayed == 3
    trainer.factor = 4.0
    assert trainer.step(numbers(5.0)).item() == 40.0
    assert "factor is 4.0, not 3.0" in Trainer.step.explain()


def test_methods_of_a_record_that_is_passed():
    @dataclass
    class Scaled:
        x: Any
        factor = 3.0

        def value(self):
            return self.x * self.factor

    @trace
    def function(scaled):
        return scaled.value()

    for number in (1.0, 2.0):
        assert function(Scaled(numbers(number))).item() == 3 * number
    assert function.statistics().replayed == 1
    Scaled.factor = 5.0
    assert function(Scaled(numbers(2.0))).item() == 10.0


# ---- results


@pytest.mark.parametrize("make", RECORDS, ids=lambda each: each.__name__)
def test_results_keep_their_class(make):
    @trace
    def function(x):
        return make(x * 2, 3)

    first = function(numbers(1.0))
    again = function(numbers(5.0))
    assert function.statistics().replayed == 1
    assert type(again) is type(first) is make
    assert (again.x.item(), again.k, first.x.item()) == (10.0, 3, 2.0)


def test_results_of_many_kinds():
    @trace
    def function(x):
        counts = defaultdict(list, a=[x + 1])
        return Listed([OrderedDict(b=x, a=x * 2), counts, {1, 2}, Counter("aab"), named(x * 3, 7)])

    function(numbers(1.0))
    x = numbers(2.0)
    made = function(x)
    assert function.statistics().replayed == 1
    ordered, counts, few, letters, attributes = made
    assert type(made) is Listed
    assert type(ordered) is OrderedDict
    assert list(ordered) == ["b", "a"]
    assert ordered["b"] is x
    assert ordered["a"].item() == 4.0
    ordered.move_to_end("b")
    assert list(ordered) == ["a", "b"]
    assert counts["a"][0].item() == 3.0
    assert counts["new"] == []
    assert few == {1, 2}
    assert letters == Counter(a=2, b=1)
    assert type(attributes) is Named
    assert (attributes["x"].item(), attributes.k) == (6.0, 7)
    few.add(3)
    counts["a"].append(1)
    again = function(x)
    assert again[2] == {1, 2}
    assert len(again[1]["a"]) == 1


def test_the_very_tensor_that_is_closed_over():
    x, y = numbers(1.0), gradc.Parameter([3.0])

    @trace
    def function(z):
        return {"x": x, "y": y, "z": z, "sum": x + y}

    for _ in range(3):
        z = numbers(2.0)
        made = function(z)
        assert made["x"] is x
        assert made["y"] is y
        assert made["z"] is z
    x = numbers(10.0)
    made = function(z)
    assert made["x"] is x
    assert made["sum"].item() == 13.0
    assert function.statistics().replayed == 3


def test_the_very_containers_that_are_passed():
    @trace
    def function(d, batch):
        return {"d": d, "inner": batch.rest, "double": d["x"] * 2}, batch

    for number in (1.0, 2.0, 3.0):
        d, batch = {"x": numbers(number)}, Batch(numbers(5.0), rest=[1])
        made, again = function(d, batch)
        assert made["d"] is d
        assert made["inner"] is batch.rest
        assert again is batch
        assert made["double"].item() == 2 * number
    assert function.statistics().replayed == 2


def test_which_argument_is_changed():
    @trace
    def function(batch):
        batch.k += 1
        return batch.x * 2

    for _ in range(2):
        batch = Batch(numbers(1.0), 3)
        assert function(batch).item() == 2.0
        assert batch.k == 4
    assert "it changes its arguments: batch.k is 4, not 3 (at " in function.explain()


def test_an_object_that_cannot_be_made_anew():
    class Opaque:
        def __init__(self, x):
            self.x = x

    @trace
    def function(x):
        return Opaque(x * 2)

    for number in (1.0, 2.0):
        assert function(numbers(number)).x.item() == 2 * number
    reason = "returns an object of the class Opaque, which is no container or dataclass"
    assert reason in function.explain()


# ---- what explain says


def explained(function):
    return function.explain().splitlines()[-1].strip()


def test_an_object_that_only_its_identity_tells():
    class Opaque:
        pass

    @trace
    def function(x, opaque):
        return x * 2

    function(numbers(1.0), Opaque())
    function(numbers(1.0), Opaque())
    expected = "traced: opaque is another one than before: an Opaque object (at "
    assert explained(function).startswith(expected)
    assert "test_jit_arguments.py:" in explained(function)


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ({"v": [1, 2]}, {"v": [1, 2, 3]}, "v is a list of 3, not a list of 2"),
        ({"v": (1, 2)}, {"v": [1, 2]}, "v is a list of 2, not (1, 2)"),
        ({"v": {"a": 1}}, {"v": OrderedDict(a=1)}, "v is an OrderedDict of 1, not a dict of 1"),
        ({"v": {"a": 1, "b": 2}}, {"v": {"b": 2, "a": 1}}, "v, key 0, is 'b', not 'a'"),
        ({"v": {1, 2}}, {"v": {1, 3}}, "v[1] is 3, not 2"),
        ({"v": Frozen(1, 2)}, {"v": Frozen(1, 3)}, "v.k is 3, not 2"),
        ({"v": Pair(1, 2)}, {"v": Pair(0, 2)}, "v.x is 0, not 1"),
        ({"v": 1}, {"v": True}, "v is True, not 1"),
        ({"v": "a" * 70}, {"v": "a" * 71}, "v is another one than before: 'aaa"),
    ],
)
def test_what_differs(first, second, expected):
    @trace
    def function(x, v):
        return x * 2

    x = numbers(1.0)
    function(x, **first)
    function(x, **second)
    assert explained(function).startswith(f"traced: {expected}")
    assert " (at " in explained(function)


def test_the_order_of_keywords_does_not_matter():
    @trace
    def function(x, a, b):
        return x * a - b

    for arguments in ({"a": 2, "b": 3}, {"b": 3, "a": 2}):
        assert function(numbers(5.0), **arguments).item() == 7.0
    assert function.statistics().replayed == 1


def test_settings_and_ways_of_passing():
    @trace
    def function(x, k=2):
        return x * k

    x = numbers(1.0)
    function(x, 2)
    function(x, k=2)
    assert "given in another way, by position or by name" in explained(function)
    with gradc.no_grad():
        function(x, 2)
    assert "no_grad is on, not off" in explained(function)


def test_the_same_tensor_twice():
    @trace
    def function(x, y):
        return x * 2 + y

    x = numbers(1.0)
    function(x, numbers(1.0))
    assert function(x, x).item() == 3.0
    assert "y is float32[1], the same tensor as x, not float32[1]" in explained(function)


def test_which_gradient_differs():
    w = gradc.Parameter([2.0])

    @trace
    def function(x):
        return x * 2 if w.grad is None else x * w.grad

    x = numbers(3.0)
    assert function(x).item() == 6.0
    w.grad = numbers(5.0)
    assert function(x).item() == 15.0
    assert "traced: w.grad is there, and was None" in explained(function)


def test_which_manager_differs():
    w = gradc.Parameter([2.0])
    gm = GradManager().attach(w)

    @trace
    def function(x):
        with gm:
            gm.backward(x * w)
        made, w.grad = w.grad, None
        return made

    x = numbers(3.0)
    function(x)
    gm.attach(w, callbacks=lambda p, g: g * 2)
    assert function(x).item() == 6.0
    assert "w has other callbacks in gm" in explained(function)
    gm.attach(x)
    function(x)
    assert "x is attached to gm now" in explained(function)


def test_which_optimizer_differs():
    w = gradc.Parameter([2.0])
    optimizer = optim.SGD([w], lr=0.5)

    @trace
    def function(x):
        w.grad = x
        optimizer.step().clear_grad()

    function(numbers(1.0))
    optimizer.param_groups[0]["momentum"] = 0.5
    function(numbers(1.0))
    assert "SGD: in group 0, momentum is 0.5, not 0" in explained(function)
    assert w.item() == 1.0


def test_a_frozen_function_names_the_line():
    @trace(frozen=True)
    def function(x):
        return x * 2

    function(numbers(1.0))
    with pytest.raises(TraceError, match=r"x is float32\[2\], not float32\[1\] \(at .*:\d+\)"):
        function(numbers(1.0, 2.0))
