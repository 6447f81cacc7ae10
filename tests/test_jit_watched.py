"""trace: however a value is reached and however it is changed, results are those of the function.

Each row makes a function of a tensor and a change of what it depends on. After the change a traced
function gives what the plain one gives; before, it is replayed, unless the row is among those that
are called every time.
"""

import builtins
import contextlib
import contextvars
import enum
import functools
import importlib
import itertools
import operator
import sys
import threading
import types
import weakref
from collections import ChainMap, OrderedDict, UserDict, UserList, defaultdict, deque, namedtuple
from dataclasses import dataclass, field

import numpy as np
import pytest

import gradc
import gradc.functional as F
import gradc.module as M
from gradc.jit import trace

pytestmark = pytest.mark.usefixtures("interpreted")  # a compiler is not the point here

RATE = 1.0
LISTED = [1.0]


def one():
    return gradc.tensor(np.array([1.0, 2.0], np.float32))


def put(holder, name, value=3.0):
    return lambda: setattr(holder, name, value)


def enter(holder, key, value=3.0):
    return lambda: holder.__setitem__(key, value)


def holder(**attributes):
    return types.SimpleNamespace(**attributes)


# ---- variables


def of_globals(change):
    def made():
        globals().update(RATE=1.0, LISTED=[1.0])
        return (lambda x: x * RATE * LISTED[0]), change

    return made


def global_by_text():
    globals().update(RATE=1.0)
    return (lambda x: x * globals()["RATE"]), lambda: globals().update(RATE=3.0)


def global_that_hides_a_builtin():
    globals().pop("abs", None)
    return (lambda x: x * abs(-1.0)), lambda: globals().update(abs=lambda _: 3.0)


def global_that_was_not_there():
    globals().pop("NOT_YET", None)

    def body(x):
        try:
            return x * NOT_YET
        except NameError:
            return x * 1.0

    return body, lambda: globals().update(NOT_YET=3.0)


def builtin():
    return (lambda x: x * divmod(3, 2)[1]), put(builtins, "divmod", lambda *_: (0, 3.0))


def cell():
    rate = 1.0

    def change():
        nonlocal rate
        rate = 3.0

    return (lambda x: x * rate), change


def cell_past_its_name():
    rate = 1.0
    body = lambda x: x * rate  # noqa: E731
    return body, lambda: setattr(body.__closure__[0], "cell_contents", 3.0)


def cell_of_a_lambda_inside():
    rate = 1.0

    def body(x):
        inner = lambda y: y * rate  # noqa: E731
        return (lambda f: f(x))(inner)

    def change():
        nonlocal rate
        rate = 3.0

    return body, change


def cell_in_a_class_body():
    rate = 1.0

    def body(x):
        class Inside:
            kept = rate

        return x * Inside.kept

    def change():
        nonlocal rate
        rate = 3.0

    return body, change


def walrus_and_stars():
    rates = [1.0, 1.0]

    def product(*factors, by=1.0):
        return functools.reduce(operator.mul, factors, by)

    def body(x):
        return x * (y := product(*rates, **{"by": 1.0})) if rates else x * y

    return body, enter(rates, 0)


# ---- functions and what they are made of


def own_defaults():
    def body(x, k=1.0):
        return x * k

    return body, put(body, "__defaults__", (3.0,))


def own_keyword_defaults():
    def body(x, *, k=1.0):
        return x * k

    return body, put(body, "__kwdefaults__", {"k": 3.0})


def own_keyword_default_in_place():
    def body(x, *, k=1.0):
        return x * k

    return body, lambda: body.__kwdefaults__.update(k=3.0)


def own_mutable_default():
    def body(x, k=[1.0]):  # noqa: B006
        return x * k[0]

    return body, lambda: body.__defaults__[0].__setitem__(0, 3.0)


def own_code():
    def body(x):
        return x * 1.0

    return body, put(body, "__code__", (lambda x: x * 3.0).__code__)


def helpers(change_of):
    def made():
        def helper(x, k=1.0, *, m=1.0):
            return x * k * m

        return (lambda x: helper(x)), change_of(helper)

    return made


def decorated():
    settings = holder(rate=1.0)

    def scaling(function):
        @functools.wraps(function)
        def wrapper(*args):
            return function(*args) * settings.rate

        return wrapper

    @scaling
    def helper(x):
        return x * 1.0

    return (lambda x: helper(x)), put(settings, "rate")


def a_partial():
    settings = {"k": 1.0}
    made = functools.partial(lambda x, settings: x * settings["k"], settings=settings)
    return made, enter(settings, "k")


def a_partial_inside():
    made = functools.partial(lambda k, x: x * k["k"], {"k": 1.0})
    return (lambda x: made(x)), lambda: made.args[0].update(k=3.0)


def partial_keywords():
    made = functools.partial(lambda x, k: x * k, k=1.0)
    return made, lambda: made.keywords.update(k=3.0)


def a_callable():
    class Scaling:
        def __init__(self):
            self.rate = 1.0

        def __call__(self, x):
            return x * self.rate

    made = Scaling()
    return made, put(made, "rate")


def a_callable_gets_another_call():
    class Scaling:
        def __call__(self, x):
            return x * 1.0

    return Scaling(), put(Scaling, "__call__", lambda self, x: x * 3.0)


def cached_helper():
    settings = holder(rate=1.0)

    @functools.lru_cache
    def helper(k):
        return settings.rate

    def change():
        settings.rate = 3.0
        helper.cache_clear()

    return (lambda x: x * helper(1)), change


def cached_helper_is_cleared_later():
    settings = {"rate": 1.0}

    @functools.cache
    def helper():
        return settings.get("rate")

    trace_of_now = lambda x: x * helper()  # noqa: E731
    trace_of_now(one())
    settings["rate"] = 3.0
    return trace_of_now, helper.cache_clear


def cached_settings():
    @functools.lru_cache(maxsize=4)
    def settings():
        return holder(rate=1.0)

    return (lambda x: x * settings().rate), lambda: setattr(settings(), "rate", 3.0)


def by_operator():
    made = holder(inner=holder(rate=1.0))
    return (lambda x: x * operator.attrgetter("inner.rate")(made)), put(made.inner, "rate")


def by_getattr_and_match():
    @dataclass
    class Point:
        rate: float = 1.0

    point = Point()

    def body(x):
        match point:
            case Point(r):
                return x * r
        return x

    return body, put(point, "rate")


def by_keyword_match():
    point = holder(rate=1.0)

    def body(x):
        match point:
            case types.SimpleNamespace(rate=r):
                return x * r
        return x

    return body, put(point, "rate")


# ---- classes and objects


class Meta(type):
    rate = 1.0

    @property
    def twice(cls):
        return 2 * cls.rate


def of_class(expression, name="rate"):
    def made():
        class Base:
            rate = 1.0

            def __init_subclass__(cls, **kwargs):
                cls.of_base = cls.rate

            @classmethod
            def by_class(cls):
                return cls.rate

            @staticmethod
            def fixed():
                return 1.0

            @property
            def own(self):
                return self.rate

            def method(self):
                return self.rate

            def __getitem__(self, key):
                return self.rate

            def __round__(self, digits=0):
                return self.rate

            def __invert__(self):
                return self.rate

            def __rpow__(self, other):
                return other * self.rate

        class Derived(Base):
            def method(self):
                return super().method()

        return (lambda x: expression(x, Derived, Derived())), put(
            Base, name, 3.0 if name == "rate" else staticmethod(lambda *_: 3.0)
        )

    return made


def subclass_inside():
    class Base:
        rate = 1.0

        def __init_subclass__(cls):
            cls.kept = cls.rate

    def body(x):
        class Inside(Base):
            pass

        return x * Inside.kept

    return body, put(Base, "rate")


def of_metaclass(expression):
    def made():
        class Kind(type):
            rate = 1.0

            @property
            def twice(cls):
                return 2 * cls.rate

            def __call__(cls):
                return cls.rate

        class Made(metaclass=Kind):
            pass

        return (lambda x: expression(x, Made)), put(Kind, "rate")

    return made


def singleton():
    class Settings:
        found = None

        def __new__(cls):
            return cls.found

    Settings.found = object.__new__(Settings)
    Settings.found.rate = 1.0
    return (lambda x: x * Settings().rate), put(Settings.found, "rate")


def new_is_replaced():
    class Settings:
        def __new__(cls):
            return 1.0

    return (lambda x: x * Settings()), put(Settings, "__new__", lambda cls: 3.0)


def from_variable_of_new():
    kept = holder(rate=1.0)

    class Settings:
        def __new__(cls):
            made = super().__new__(cls)
            made.rate = kept.rate
            return made

    return (lambda x: x * Settings().rate), put(kept, "rate")


def from_variable_of_init():
    kept = holder(rate=1.0)

    class Settings:
        def __init__(self):
            self.rate = kept.rate

    return (lambda x: x * Settings().rate), put(kept, "rate")


def default_factory():
    kept = holder(rate=1.0)

    @dataclass
    class Settings:
        rate: float = field(default_factory=lambda: kept.rate)

    return (lambda x: x * Settings().rate), put(kept, "rate")


def cached_property(change_of):
    def made():
        class Settings:
            base = 1.0

            @functools.cached_property
            def rate(self):
                return self.base

            @functools.cached_property
            def inner(self):
                return holder(rate=1.0)

        settings = Settings()
        return (lambda x: x * settings.rate * settings.inner.rate), change_of(settings)

    return made


def cached_property_of_a_module():
    class Scaled(M.Module):
        @functools.cached_property
        def inner(self):
            return holder(rate=1.0)

        def forward(self, x):
            return x * self.inner.rate

    module = Scaled()
    return (lambda x: module(x)), lambda: setattr(module.inner, "rate", 3.0)


def descriptor():
    class Field:
        def __init__(self):
            self.kept = 1.0

        def __get__(self, instance, owner):
            return self.kept

    class Settings:
        rate = Field()

    settings = Settings()
    return (lambda x: x * settings.rate), put(vars(Settings)["rate"], "kept")


def forwarding():
    class Forwarding:
        def __init__(self):
            self._entries = {"rate": 1.0}

        def __getattr__(self, name):
            return self._entries[name]

    settings = Forwarding()
    return (lambda x: x * settings.rate), enter(settings._entries, "rate")


def slots():
    class Slotted:
        __slots__ = ("rate",)

    settings = Slotted()
    settings.rate = 1.0
    return (lambda x: x * settings.rate), put(settings, "rate")


def slotted_record():
    @dataclass(slots=True)
    class Slotted:
        rate: float = 1.0

    settings = Slotted()
    return (lambda x: x * settings.rate), put(settings, "rate")


def frozen_record():
    @dataclass(frozen=True)
    class Frozen:
        rate: float = 1.0

    settings = Frozen()
    return (lambda x: x * settings.rate), lambda: object.__setattr__(settings, "rate", 3.0)


def past_its_setattr():
    class Strict:
        def __setattr__(self, name, value):
            raise AttributeError(name)

    settings = Strict()
    vars(settings)["rate"] = 1.0
    return (lambda x: x * settings.rate), lambda: vars(settings).update(rate=3.0)


def named_tuple():
    kind = namedtuple("kind", "rates")
    settings = kind([1.0])
    return (lambda x: x * settings.rates[0]), enter(settings.rates, 0)


def member_of_enum():
    class Mode(enum.Enum):
        SLOW = 1

    Mode.SLOW.rate = 1.0
    return (lambda x: x * Mode.SLOW.rate), put(Mode.SLOW, "rate")


def value_of_enum():
    class Mode(enum.Enum):
        SLOW = [1.0]

    return (lambda x: x * Mode.SLOW.value[0]), enter(Mode.SLOW.value, 0)


def class_of_an_object():
    kinds = [type("Kind", (), {"rate": rate}) for rate in (1.0, 3.0)]
    settings = kinds[0]()
    return (lambda x: x * settings.rate), put(settings, "__class__", kinds[1])


def bases_of_a_class():
    slow, fast = (type("Base", (), {"rate": rate}) for rate in (1.0, 3.0))
    kind = type("Kind", (slow,), {})
    settings = kind()
    return (lambda x: x * settings.rate), put(kind, "__bases__", (fast,))


def weak_reference():
    class Kept:
        rate = 1.0

    kept = Kept()
    found = weakref.ref(kept)
    return (lambda x: x * found().rate), lambda: setattr(kept, "rate", 3.0)


def weak_proxy():
    class Kept:
        rate = 1.0

    kept = Kept()
    found = weakref.proxy(kept)
    made = lambda x: x * found.rate  # noqa: E731
    made.keep = kept
    return made, put(kept, "rate")


def context_variable():
    rate = contextvars.ContextVar("rate", default=1.0)
    return (lambda x: x * rate.get()), lambda: rate.set(3.0)


def thread_local():
    kept = threading.local()
    kept.rate = 1.0
    return (lambda x: x * kept.rate), put(kept, "rate")


def context_manager():
    settings = holder(rate=1.0)

    @contextlib.contextmanager
    def scaling():
        yield settings.rate

    def body(x):
        with scaling() as rate:
            return x * rate

    return body, put(settings, "rate")


def text():
    globals().update(RATE=1.0)
    return (lambda x: x * eval("RA" + "TE")), lambda: globals().update(RATE=3.0)


# ---- containers


def contained(container, read, change):
    def made():
        kept = container()
        return (lambda x: x * read(kept)), lambda: change(kept)

    return made


def at(key):
    return lambda kept: kept[key]


def set_at(key):
    return lambda kept: kept.__setitem__(key, 3.0)


def view_of_a_dict():
    kept = {"rate": 1.0}
    proxy, values = types.MappingProxyType(kept), kept.values()
    return (lambda x: x * proxy["rate"] * sum(values)), enter(kept, "rate")


def iterators(make):
    def made():
        numbers = make()
        return (lambda x: x * next(numbers)), lambda: None

    return made


# ---- modules of Python


def other_of(module):
    def looked_up(name):
        if name == "other":
            return module.RATE
        raise AttributeError(name)

    return looked_up


def imported(body_of, how):
    def made(folder=[]):  # noqa: B006
        name = f"settings_{how}"
        module = types.ModuleType(name)
        module.RATE, module.inner = 1.0, types.ModuleType(f"{name}.inner")
        module.__path__, module.inner.RATE = [], 1.0
        module.__getattr__ = other_of(module)
        sys.modules.update({name: module, f"{name}.inner": module.inner})
        space = {"importlib": importlib, "sys": sys, "module": module}
        exec(f"def body(x):\n    {body_of.format(name)}", space)
        change = {"replaced": lambda: sys.modules.update({name: holder(RATE=3.0)})}
        return space["body"], change.get(
            how, lambda: (put(module, "RATE")(), put(module.inner, "RATE")())
        )

    return made


# ---- modules of gradc


class Scale(M.Module):
    above = 1.0

    def __init__(self):
        super().__init__()
        self.rate = 1.0
        self.inner = M.Identity()
        self.inner.rate = 1.0
        self.table = {"rate": 1.0}
        self.listed = [1.0]
        self.linear = M.Linear(2, 2)
        self.linear.weight[...] = 1.0
        self.drop = M.Dropout(0.0)
        self.sequence = M.Sequential(M.ReLU())

    def forward(self, x):
        x = self.sequence(self.drop(self.linear(x.reshape(1, 2)).reshape(2)))
        return x * self.rate * self.above * self.inner.rate * self.table["rate"] * self.listed[0]


def of_module(change):
    def made():
        module = Scale()
        return (lambda x: module(x)), lambda: change(module)

    return made


WEIGHT = np.full((2, 2), 3.0, np.float32)


class Triple(M.Module):
    def forward(self, x):
        return x * 3.0


ROWS = {
    "global": of_globals(lambda: globals().update(RATE=3.0)),
    "element of a global": of_globals(lambda: LISTED.__setitem__(0, 3.0)),
    "global by __setitem__": of_globals(lambda: globals().__setitem__("RATE", 3.0)),
    "global by its text": global_by_text,
    "global that hides a builtin": global_that_hides_a_builtin,
    "global that was not there": global_that_was_not_there,
    "builtin": builtin,
    "closed over": cell,
    "closed over, past its name": cell_past_its_name,
    "closed over by a lambda inside": cell_of_a_lambda_inside,
    "closed over by a class body": cell_in_a_class_body,
    "walrus and stars": walrus_and_stars,
    "own defaults": own_defaults,
    "own keyword defaults": own_keyword_defaults,
    "own keyword default in place": own_keyword_default_in_place,
    "own mutable default": own_mutable_default,
    "own code": own_code,
    "helper's defaults": helpers(lambda f: put(f, "__defaults__", (3.0,))),
    "helper's keyword defaults": helpers(lambda f: put(f, "__kwdefaults__", {"m": 3.0})),
    "helper's keyword default": helpers(lambda f: enter(f.__kwdefaults__, "m")),
    "helper's code": helpers(lambda f: put(f, "__code__", (lambda x, k=1.0: x * 3.0).__code__)),
    "decorated helper": decorated,
    "partial": a_partial,
    "partial inside": a_partial_inside,
    "keywords of a partial": partial_keywords,
    "callable object": a_callable,
    "another __call__": a_callable_gets_another_call,
    "cached helper": cached_helper,
    "cached helper, cleared later": cached_helper_is_cleared_later,
    "cached settings": cached_settings,
    "attrgetter": by_operator,
    "pattern by place": by_getattr_and_match,
    "pattern by name": by_keyword_match,
    "class attribute": of_class(lambda x, kind, made: x * kind.rate),
    "inherited by an object": of_class(lambda x, kind, made: x * made.rate),
    "method with super": of_class(lambda x, kind, made: x * made.method()),
    "class method": of_class(lambda x, kind, made: x * kind.by_class()),
    "static method, replaced": of_class(lambda x, kind, made: x * kind.fixed(), "fixed"),
    "class method, replaced": of_class(lambda x, kind, made: x * made.by_class(), "by_class"),
    "property": of_class(lambda x, kind, made: x * made.own),
    "__getitem__": of_class(lambda x, kind, made: x * made["a"]),
    "__round__": of_class(lambda x, kind, made: x * round(made)),
    "__invert__": of_class(lambda x, kind, made: x * ~made),
    "__rpow__": of_class(lambda x, kind, made: x * (1.0**made)),
    "__init_subclass__": subclass_inside,
    "attribute of the metaclass": of_metaclass(lambda x, kind: x * kind.rate),
    "property of the metaclass": of_metaclass(lambda x, kind: x * kind.twice),
    "__call__ of the metaclass": of_metaclass(lambda x, kind: x * kind()),
    "singleton by __new__": singleton,
    "another __new__": new_is_replaced,
    "what __new__ reads": from_variable_of_new,
    "what __init__ reads": from_variable_of_init,
    "default factory": default_factory,
    "cached_property set anew": cached_property(lambda c: put(c, "rate")),
    "cached_property deleted": cached_property(
        lambda c: lambda: (delattr(c, "rate"), setattr(c, "base", 3.0))
    ),
    "what a cached_property made": cached_property(lambda c: lambda: put(c.inner, "rate")()),
    "cached_property of a module": cached_property_of_a_module,
    "descriptor": descriptor,
    "__getattr__": forwarding,
    "slots": slots,
    "record with slots": slotted_record,
    "frozen record": frozen_record,
    "past its __setattr__": past_its_setattr,
    "list in a named tuple": named_tuple,
    "attribute of an enum's member": member_of_enum,
    "value of an enum's member": value_of_enum,
    "class of an object": class_of_an_object,
    "bases of a class": bases_of_a_class,
    "weak reference": weak_reference,
    "weak proxy": weak_proxy,
    "context variable": context_variable,
    "threading.local": thread_local,
    "context manager": context_manager,
    "list": contained(lambda: [1.0], at(0), set_at(0)),
    "dict": contained(lambda: {"a": 1.0}, at("a"), set_at("a")),
    "OrderedDict": contained(lambda: OrderedDict(a=1.0), at("a"), set_at("a")),
    "defaultdict": contained(lambda: defaultdict(float, a=1.0), at("a"), set_at("a")),
    "ChainMap": contained(lambda: ChainMap({"a": 1.0}), at("a"), set_at("a")),
    "UserDict": contained(lambda: UserDict(a=1.0), at("a"), set_at("a")),
    "UserList": contained(lambda: UserList([1.0]), at(0), set_at(0)),
    "deque": contained(lambda: deque([1.0]), at(0), set_at(0)),
    "set": contained(lambda: {1.0}, sum, lambda kept: kept.add(3.0)),
    "array": contained(lambda: np.ones(2), at(0), set_at(0)),
    "array of no dimension": contained(lambda: np.array(1.0), float, lambda a: a.fill(3.0)),
    "views of a dict": view_of_a_dict,
    "generator": iterators(lambda: (1.0 * k for k in range(9))),
    "iterator of a list": iterators(lambda: iter([1.0, 2.0, 3.0, 4.0, 5.0, 6.0])),
    "itertools.count": iterators(lambda: itertools.count(1.0)),
    "text that is run": text,
    "import inside": imported("import {0}; return x * {0}.RATE", "import"),
    "import with a name": imported("import {0}.inner as m; return x * m.RATE", "dotted"),
    "from import inside": imported("from {0} import RATE; return x * RATE", "from"),
    "from package import": imported("from {0}.inner import RATE; return x * RATE", "package"),
    "import_module": imported("return x * importlib.import_module('{0}').RATE", "module"),
    "import_module, dotted": imported(
        "return x * importlib.import_module('{0}.inner').RATE", "module_dotted"
    ),
    "__import__": imported("return x * __import__('{0}').RATE", "function"),
    "sys.modules": imported("return x * sys.modules['{0}'].RATE", "table"),
    "module's __getattr__": imported("return x * module.other", "getattr"),
    "module is replaced": imported("import {0}; return x * {0}.RATE", "replaced"),
    "function of gradc is replaced": lambda: (
        (lambda x: F.relu(x)), put(F, "relu", lambda x: x * 3.0)
    ),
    "function of NumPy is replaced": lambda: (
        (lambda x: x * float(np.hypot(0, 1))), put(np, "hypot", lambda *_: 3.0)
    ),
    "module: attribute": of_module(lambda m: setattr(m, "rate", 3.0)),
    "module: by vars": of_module(lambda m: vars(m).update(rate=3.0)),
    "module: by __dict__": of_module(lambda m: m.__dict__.__setitem__("rate", 3.0)),
    "module: by object": of_module(lambda m: object.__setattr__(m, "rate", 3.0)),
    "module: within": of_module(lambda m: vars(m.inner).update(rate=3.0)),
    "module: hides its class": of_module(lambda m: vars(m).update(above=3.0)),
    "module: class attribute": of_module(lambda m: setattr(type(m), "above", type(m).above * 2)),
    "module: forward": of_module(lambda m: vars(m).update(forward=lambda x: x * 3.0)),
    "module: forward of one within": of_module(
        lambda m: vars(m.linear).update(forward=lambda x: x * 3.0)
    ),
    "module: weight": of_module(
        lambda m: vars(m.linear).update(weight=gradc.Parameter(WEIGHT))
    ),
    "module: part of gradc's": of_module(
        lambda m: vars(m.linear).update(bias=gradc.tensor(WEIGHT[0]))
    ),
    "module: list": of_module(lambda m: m.listed.__setitem__(0, 3.0)),
    "module: dict": of_module(lambda m: m.table.update(rate=3.0)),
    "module: another one within": of_module(lambda m: vars(m.sequence).update({"0": Triple()})),
    "module: deleted": of_module(lambda m: (vars(m).pop("rate"), setattr(Scale, "rate", 3.0))),
}  # fmt: skip

ITERATORS = {"generator", "iterator of a list", "itertools.count"}
CALLED_EVERY_TIME = {*ITERATORS, "weak proxy", "text that is run"}


def results(function, change, count):
    """What the function gives, called three times, and `count` times after the change."""
    before = [function(one()).tolist() for _ in range(3)]
    change()
    return before, [function(one()).tolist() for _ in range(count)]


def fault(name, make):
    """What is wrong with a row, if anything; the plain function is that of another making."""
    function, change = make()
    plain, changed = make() if name in ITERATORS else (function, lambda: None)
    traced = trace(function)
    before, found = results(traced, change, 2)
    _, expected = results(plain, changed, 2)
    if name not in ITERATORS and expected == before[1:]:
        return "the change changes nothing"
    if found != expected:
        return f"gives {found}, expected {expected}"
    if (traced.statistics().replayed > 1) is (name in CALLED_EVERY_TIME):
        return traced.explain()
    return None


def test_what_is_changed_is_seen(monkeypatch):
    wrong = []
    for name, make in ROWS.items():
        with monkeypatch.context() as undone:
            for owner, kept in ((builtins, "divmod"), (F, "relu"), (np, "hypot")):
                undone.setattr(owner, kept, getattr(owner, kept))
            found = fault(name, make)
        wrong += [f"{name}: {found}"] if found else []
        for made in [each for each in sys.modules if each.startswith("settings_")]:
            del sys.modules[made]
    assert not wrong, "\n".join(wrong)
