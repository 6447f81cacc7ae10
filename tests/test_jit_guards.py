"""trace: what a replay depends on is looked at: aliases, overridden attributes, arrays."""

import numpy as np
import pytest

import gradc
import gradc.module as M
import gradc.optimizer as optim
from gradc.autodiff import GradManager
from gradc.jit import trace

pytestmark = pytest.mark.usefixtures("interpreted")  # a compiler is not the point here


def numbers(*values):
    return gradc.tensor(np.array(values, np.float32))


# ---- an argument that the function also finds by itself


W = None
V = None


@pytest.mark.parametrize("own_first", [False, True])
def test_a_tensor_closed_over_was_an_argument_too(own_first):
    w = gradc.Parameter([1.0, 2.0])
    times = trace(lambda x: w * x)
    calls = [(numbers(1, 1), [1, 2]), (w, [1, 4]), (numbers(3, 3), [3, 6]), (w, [1, 4])]
    for given, expected in calls[own_first:]:
        assert times(given).tolist() == expected
    assert times(numbers(5, 5)).tolist() == [5, 10]
    assert times.statistics().traced == 2


def test_what_is_written_goes_to_the_tensor_closed_over():
    c, x = numbers(1, 1), numbers(1, 2)

    @trace
    def added(x):
        c.__iadd__(x)
        return c * x

    assert added(x).tolist() == [2, 6]
    assert added(x).tolist() == [3, 10]
    assert added(c).tolist() == [36, 100]  # c is 6 and 10
    assert added(x).tolist() == [7, 24]
    assert c.tolist() == [7, 12]


def test_a_global_was_the_argument():
    global W
    W = first = numbers(1, 2)
    times = trace(lambda x: W * x)
    assert times(first).tolist() == [1, 4]
    W = numbers(5, 6)
    assert times(first).tolist() == [5, 12]
    assert times(W).tolist() == [25, 36]
    W = numbers(7, 8)
    assert times(W).tolist() == [49, 64]  # both are another one, the same: replayed
    assert times.statistics().traced == 2
    assert times(first).tolist() == [7, 16]


def test_a_module_is_given_its_own_weight():
    linear = M.Linear(2, 2, bias=False)
    linear.weight[...] = numbers(1, 2, 3, 4).reshape(2, 2)
    apply = trace(lambda x: linear(x))  # x @ weight.T
    assert apply(linear.weight).tolist() == [[5, 11], [11, 25]]
    assert apply(numbers(1, 0, 0, 1).reshape(2, 2)).tolist() == [[1, 3], [2, 4]]
    assert apply(linear.weight).tolist() == [[5, 11], [11, 25]]


def test_a_method_is_given_what_its_object_holds():
    class Scaled:
        def __init__(self):
            self.w = numbers(2, 3)

        @trace
        def times(self, x):
            return self.w * x

    scaled = Scaled()
    assert scaled.times(scaled.w).tolist() == [4, 9]
    assert scaled.times(numbers(1, 1)).tolist() == [2, 3]
    assert scaled.times(scaled.w).tolist() == [4, 9]


def test_a_list_of_parameters_is_given():
    linear = M.Linear(1, 1, bias=False)
    linear.weight[...] = 3.0
    weighed = trace(lambda many: sum((each * linear.weight).sum() for each in many))
    assert weighed([*linear.parameters()]).item() == 9
    assert weighed([numbers(5).reshape(1, 1)]).item() == 15
    assert weighed([*linear.parameters()]).item() == 9


def test_a_variable_of_what_a_module_holds_is_bound_anew():
    global V
    linear = M.Linear(1, 1, bias=False)
    linear.weight[...] = 3.0
    V = linear.weight
    times = trace(lambda x: linear(x) * V)
    x = numbers(1).reshape(1, 1)
    assert times(x).item() == 9
    V = numbers(5).reshape(1, 1)
    assert times(x).item() == 15  # not 25: the module is as it was


def test_an_argument_is_compared_with_a_variable():
    w = numbers(1)
    told = trace(lambda x: x * 2 if x is w else x * 3)
    assert told(numbers(1)).item() == 3
    assert told(w).item() == 2
    assert told(numbers(1)).item() == 3
    assert "x is a tensor that the function finds by itself, too" in told.explain()


def test_a_step_whose_argument_is_its_parameter():
    w = gradc.Parameter([1.0])
    gm, opt = GradManager().attach(w), optim.SGD([w], lr=0.5)

    @trace
    def step(x):
        with gm:
            loss = (w * x).sum()
            gm.backward(loss)
        opt.step().clear_grad()
        return loss

    assert step(numbers(1)).item() == 1  # w is 0.5
    assert step(w).item() == 0.25  # and its gradient 2 w = 1: w is 0
    assert w.item() == 0
    assert step(numbers(2)).item() == 0
    assert w.item() == -1
    assert step(w).item() == 1
    assert w.item() == 0


# ---- attributes that are found on the class


def plain_class():
    class Settings:
        k = 1.0

        def m(self):
            return self.k

        @property
        def p(self):
            return 10 * self.k

    return Settings


def test_an_instance_overrides_what_its_class_has():
    c = plain_class()()
    times = trace(lambda x: x * c.k)
    assert times(numbers(1)).item() == 1
    c.k = 2.0
    assert times(numbers(1)).item() == 2
    c.k = 3.0
    assert times(numbers(1)).item() == 3
    del c.k
    assert times(numbers(1)).item() == 1
    assert "c.k is 2.0, and was not there" in times.explain()


@pytest.mark.parametrize("used", [lambda c: c.k, lambda c: c.m(), lambda c: c.p / 10])
def test_attributes_are_found_as_the_interpreter_finds_them(used):
    base = plain_class()

    class Derived(base):
        pass

    c = Derived()
    times = trace(lambda x: x * used(c))
    given = trace(lambda x, c: x * used(c))

    def both():
        one, two = times(numbers(1)).item(), given(numbers(1), c).item()
        assert one == two
        return one

    assert [both(), both()] == [1, 1]
    base.k = 2.0
    assert [both(), both()] == [2, 2]
    Derived.k = 3.0
    assert [both(), both()] == [3, 3]
    c.k = 4.0
    assert [both(), both()] == [4, 4]
    del c.k, Derived.k
    assert [both(), both()] == [2, 2]


def test_a_method_is_replaced():
    kind = plain_class()
    c = kind()
    times = trace(lambda x: x * c.m())
    assert times(numbers(1)).item() == 1
    c.m = lambda: 3.0
    assert times(numbers(1)).item() == 3
    factor = 5.0
    c.m = lambda: factor
    assert times(numbers(1)).item() == 5
    factor = 6.0
    assert times(numbers(1)).item() == 6
    del c.m
    kind.m = lambda self: 4.0
    assert times(numbers(1)).item() == 4


def test_a_traced_method_reads_what_its_class_has():
    class Scaled:
        k = 1.0

        @trace
        def times(self, x):
            return x * self.k

    c = Scaled()
    assert c.times(numbers(1)).item() == 1
    c.k = 2.0
    assert c.times(numbers(1)).item() == 2
    Scaled.k = 5.0
    assert [c.times(numbers(1)).item(), Scaled().times(numbers(1)).item()] == [2, 5]


class Layer(M.Module):
    scale = 1.0

    def forward(self, x):
        return x * self.scale


def test_what_the_class_of_a_module_has(monkeypatch):
    net = M.Sequential(Layer())
    apply = trace(lambda x: net(x))
    assert apply(numbers(1)).item() == 1
    monkeypatch.setattr(Layer, "scale", 2.0)
    assert apply(numbers(1)).item() == 2
    monkeypatch.setattr(Layer, "forward", lambda self, x: x + self.scale)
    assert apply(numbers(1)).item() == 3


def test_a_method_that_counts_on_what_its_class_has():
    class Counting:
        count = 0

        def next(self):
            self.count += 1
            return self.count

    c = Counting()
    times = trace(lambda x: x * c.next())
    assert [times(numbers(1)).item() for _ in range(4)] == [1, 2, 3, 4]


def test_an_object_changes_its_class():
    class One:
        k = 1.0

    class Two:
        k = 2.0

    c = One()
    times = trace(lambda x: x * c.k)
    assert times(numbers(1)).item() == 1
    c.__class__ = Two
    assert times(numbers(1)).item() == 2
    c.__dict__ = {"k": 3.0}
    assert times(numbers(1)).item() == 3
    c.__dict__ = {"k": 4.0}
    assert times(numbers(1)).item() == 4


def test_objects_with_unusual_attributes():
    from functools import cached_property

    class Kept:
        def __init__(self):
            self.k = 2.0

        @cached_property
        def twice(self):
            return 2 * self.k

    c = Kept()
    times = trace(lambda x: x * c.twice)
    assert [times(numbers(1)).item() for _ in range(3)] == [4, 4, 4]
    assert times.statistics().replayed >= 1

    class Named:
        def __init__(self):
            self._d = {"lr": 1.0}

        def __getattr__(self, name):
            return self.__dict__["_d"][name]

    n = Named()
    rated = trace(lambda x: x * n.lr)
    assert rated(numbers(1)).item() == 1
    n._d["lr"] = 2.0
    assert rated(numbers(1)).item() == 2


# ---- attributes of functions, and those named by texts


def scaling(x):
    return x * scaling.k


scaling.k = 1.0


def test_attributes_of_functions():
    apply = trace(lambda x: scaling(x))
    scaling.k = 1.0
    assert apply(numbers(1)).item() == 1
    scaling.k = 2.0
    assert apply(numbers(1)).item() == 2

    @trace
    def counted(x):
        counted.count += 1
        return x * counted.count

    counted.count = 0
    assert [counted(numbers(1)).item() for _ in range(4)] == [1, 2, 3, 4]


def test_names_in_texts():
    class Empty:
        pass

    c = Empty()
    asked = trace(lambda x: x * getattr(c, "k", 1.0) + (10 if hasattr(c, "flag") else 0))
    assert asked(numbers(1)).item() == 1
    c.k = 2.0
    assert asked(numbers(1)).item() == 2
    c.flag = None
    assert asked(numbers(1)).item() == 12
    del c.k, c.flag
    assert asked(numbers(1)).item() == 1
    Empty.k = 3.0
    assert asked(numbers(1)).item() == 3

    def total(x):
        for name in ("a", "b"):
            x = x + getattr(c, name, 0.0)
        return x

    summed = trace(total)
    assert summed(numbers(1)).item() == 1
    c.b = 5.0
    assert summed(numbers(1)).item() == 6
    counted = trace(lambda x: setattr(c, "n", getattr(c, "n", 0) + 1) or x * c.n)
    assert [counted(numbers(1)).item() for _ in range(4)] == [1, 2, 3, 4]


def test_methods_that_no_name_calls():
    class Switch:
        on = True
        count = 0

        def __bool__(self):
            return self.on

        def __lt__(self, other):
            return self.on

        def __enter__(self):
            return self.factor

        def __exit__(self, *error):
            return None

        def __iter__(self):
            return iter([self.factor])

    switch = Switch()
    switch.factor = 1.0

    def entered(x):
        with switch as factor:
            return x * factor

    apply = trace(lambda x: x * 2 if switch else x * 3)
    compared = trace(lambda x: x * 2 if switch < 1 else x * 3)
    inside, through = trace(entered), trace(lambda x: x * sum(switch))
    for factor, on, expected in ((1.0, True, 2), (1.0, False, 3), (4.0, True, 2)):
        switch.factor, switch.on = factor, on
        assert apply(numbers(1)).item() == compared(numbers(1)).item() == expected
        assert inside(numbers(1)).item() == through(numbers(1)).item() == factor


# ---- arrays changed in place


class Holder:
    def __init__(self, array):
        self.array = array
        self.many = {"array": array}

    def first(self):
        return float(self.array[0])


class Offset(M.Module):
    def __init__(self, array):
        super().__init__()
        self.array = array

    def forward(self, x):
        return x * float(self.array[0])


def array_users(a):
    """Functions of (x, given) that give x a[0], and what is `given`."""
    holder, module = Holder(a), Offset(a)
    return {
        "closed over": (lambda x, _: x * a[0], None),
        "by a branch": (lambda x, _: x * 5 if a[0] > 4 else x * 1, None),
        "a mean": (lambda x, _: x * float(a[:1].mean()), None),
        "an argument": (lambda x, given: x * float(given[0]), a),
        "in a dict": (lambda x, given: x * float(given["a"][0]), {"a": a}),
        "an attribute": (lambda x, _: x * float(holder.array[0]), None),
        "in a dict of an object": (lambda x, _: x * float(holder.many["array"][0]), None),
        "in a method": (lambda x, _: x * holder.first(), None),
        "in an argument": (lambda x, given: x * given.first(), holder),
        "in a module": (lambda x, _: module(x), None),
    }


@pytest.mark.parametrize("name", [*array_users(np.ones(2))])
def test_elements_of_arrays_are_looked_at(name):
    a = np.array([1.0, 2.0])
    function, given = array_users(a)[name]
    times = trace(function)
    assert [times(numbers(1), given).item() for _ in range(3)] == [1, 1, 1]
    a[0] = 5
    assert [times(numbers(1), given).item() for _ in range(3)] == [5, 5, 5]
    a[0] = 1
    assert times(numbers(2), given).item() == 2
    assert times.statistics().traced == 2
    assert times.statistics().replayed == 5
    assert "traced: elements have changed of " in times.explain()


def test_elements_that_are_not_numbers_and_other_arrays():
    from array import array

    objects = np.array([1.0, None], object)
    raw, typed = bytearray(b"\x01\x02"), array("d", [1.0, 2.0])
    for kept, new in ((objects, 5.0), (raw, 5), (typed, 5.0)):
        times = trace(lambda x, kept=kept: x * kept[0])
        assert [times(numbers(1)).item() for _ in range(2)] == [1, 1]
        kept[0] = new
        assert [times(numbers(1)).item() for _ in range(2)] == [5, 5]


def test_shapes_and_not_a_number():
    a = np.array([np.nan, 2.0, 3.0, 4.0])
    times = trace(lambda x: x * len(a))
    assert [times(numbers(1)).item() for _ in range(2)] == [4, 4]
    a.shape = (2, 2)
    assert times(numbers(1)).item() == 2
    assert times.statistics().traced == 2
    assert times.statistics().replayed == 1


SCALE = np.ones(2, np.float32)


def test_a_variable_of_the_function_hides_that_of_the_module():
    def made(SCALE):
        def scaled(x):
            return next(x * SCALE["by"] for _ in range(1))

        return trace(scaled)

    times = made({"by": numbers(2, 3)})
    assert times(numbers(1, 1)).tolist() == [2, 3]
    SCALE[:] = 7  # nobody reads it
    assert times(numbers(1, 2)).tolist() == [2, 6]
    assert times.statistics().traced == 1


def test_a_module_variable_that_is_declared_is_read():
    def outer():
        SCALE = 5.0

        def scaled(x):
            def inner():
                global SCALE
                return SCALE

            return x * SCALE + inner()

        return trace(scaled), lambda: SCALE

    SCALE[:] = 1
    plus, _ = outer()
    assert plus(numbers(1, 2)).tolist() == [6, 11]
    SCALE[:] = 2
    assert plus(numbers(1, 2)).tolist() == [7, 12]


def test_a_large_array_is_read_at_every_call():
    a = np.ones(200_000)
    times = trace(lambda x: x * float(a[0]))
    for value in (1.0, 1.0, 5.0, 6.0):
        a[0] = value
        assert times(numbers(1)).item() == value
    assert times.statistics().replayed == 0
    assert "reaches arrays of 1600000 bytes, which may be changed in place: a" in times.explain()


def test_a_function_that_changes_an_array():
    a = np.zeros(2)

    def counted(x):
        a[0] += 1
        return x * float(a[0])

    times = trace(counted)
    assert [times(numbers(1)).item() for _ in range(4)] == [1, 2, 3, 4]


def test_elements_are_left_alone_where_the_function_is_called_anyway():
    a = np.array([1.0, 2.0])
    summed = trace(lambda x, given: (x * gradc.tensor(given)).sum())
    for value in (1.0, 5.0, 6.0):
        a[0] = value
        assert summed(numbers(1, 1), a).item() == value + 2
    assert summed.statistics().traced == 1


def test_a_property_of_the_class_of_a_class():
    class Kind(type):
        @property
        def k(cls):
            return cls.hidden

    class Options(metaclass=Kind):
        hidden = 1.0

    times = trace(lambda x: x * Options.k)
    assert [times(numbers(1)).item() for _ in range(2)] == [1, 1]
    Options.hidden = 2.0
    assert times(numbers(1)).item() == 2


# ---- containers


def test_keys_of_dicts_are_looked_at():
    held = {"a": 1.0, "b": 2.0}
    times = trace(lambda x: x * held["a"] * held.get("c", 10.0))
    assert [times(numbers(1)).item() for _ in range(2)] == [10, 10]
    held.clear()
    held.update(b=1.0, a=2.0)
    assert times(numbers(1)).item() == 20
    held.clear()
    held.update(c=1.0, a=2.0)
    assert times(numbers(1)).item() == 2
    assert "held: key 0 is 'b', not 'a'" in times.explain()


def test_attributes_of_containers():
    class Numbers(list):
        pass

    class Options(dict):
        pass

    for made in (Numbers([1.0]), Options(a=1.0)):
        made.k = 1.0
        times = trace(lambda x, made=made: x * made.k)
        assert times(numbers(1)).item() == 1
        made.k = 5.0
        assert times(numbers(1)).item() == 5


def test_a_slot_is_filled():
    class Slotted:
        __slots__ = ("k",)

    c = Slotted()
    times = trace(lambda x: x * getattr(c, "k", 1.0))
    assert [times(numbers(1)).item() for _ in range(2)] == [1, 1]
    c.k = 5.0
    assert times(numbers(1)).item() == 5
    c.k = 6.0
    assert times(numbers(1)).item() == 6


# ---- functions


def test_a_function_gets_other_code():
    def inner(x, k=1.0):
        return x * k

    times = trace(lambda x: inner(x))
    assert [times(numbers(1)).item() for _ in range(2)] == [1, 1]
    inner.__defaults__ = (5.0,)
    assert times(numbers(1)).item() == 5
    inner.__code__ = (lambda x, k: x + k).__code__
    assert times(numbers(1)).item() == 6
    assert "inner.__code__ is another object" in times.explain()
