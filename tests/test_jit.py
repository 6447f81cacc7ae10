"""trace: results and state are those of the plain function, and the body runs once."""

import copy
import random
import threading
import warnings

import numpy as np
import pytest
from gradc.tracer.evaluator import InterpretingEvaluator, current_evaluator, set_evaluator

import gradc
import gradc.functional as F
import gradc.module as M
import gradc.optimizer as optim
from gradc.autodiff import Function, GradManager
from gradc.jit import RetraceWarning, TraceError, exclude_from_trace, trace


@pytest.fixture(autouse=True)
def interpreted(request):
    """A compiler is not the point here, except where a test is marked with it."""
    if "compiled" in request.fixturenames:
        yield
        return
    before = current_evaluator()
    set_evaluator(InterpretingEvaluator())
    yield
    set_evaluator(before)


@pytest.fixture
def compiled():
    return None


def array(*shape, seed=0):
    return np.random.default_rng(seed).normal(size=shape).astype(np.float32)


def bits(value):
    return value.numpy().tobytes()


def counted(function):
    """`function`, and a list that grows when its body runs."""
    runs = []

    def body(*args, **kwargs):
        runs.append(1)
        return function(*args, **kwargs)

    return body, runs


# ---- what MegEngine's users expect


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
    assert step.statistics().replayed == 2


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


# ---- training steps


def problem(make, schedule=None):
    """A small network with its step: parameters, the step, and what it keeps."""
    w, b = gradc.Parameter(array(3, 2)), gradc.Parameter(np.zeros(2, np.float32))
    gm, optimizer = GradManager().attach([w, b]), make([w, b])
    scheduler = schedule and schedule(optimizer)

    def step(x, y):
        with gm:
            loss = ((F.matmul(x, w) + b - y) ** 2).mean()
            gm.backward(loss)
        optimizer.step().clear_grad()
        return loss

    return step, (w, b), optimizer, scheduler


def state_of(optimizer):
    saved = optimizer.state_dict()
    return {
        (key, name): np.asarray(value).tobytes()
        for key, kept in saved["state"].items()
        for name, value in kept.items()
    }


MAKERS = {
    "sgd": lambda ps: optim.SGD(ps, lr=0.1),
    "momentum": lambda ps: optim.SGD(ps, lr=0.1, momentum=0.9, weight_decay=0.01),
    "nesterov": lambda ps: optim.SGD(ps, lr=0.1, momentum=0.9, nesterov=True),
    "adam": lambda ps: optim.Adam(ps, lr=0.05, weight_decay=0.1),
    "adamw": lambda ps: optim.AdamW(ps, lr=0.05),
    "adagrad": lambda ps: optim.Adagrad(ps, lr=0.05, lr_decay=0.1),
    "adadelta": lambda ps: optim.Adadelta(ps, lr=0.5),
    "groups": lambda ps: optim.Adam([{"params": ps[:1]}, {"params": ps[1:], "lr": 0.5}], lr=0.01),
}


@pytest.mark.parametrize("name", MAKERS)
def test_training_is_that_of_the_plain_step(name):
    step, parameters, optimizer, _ = problem(MAKERS[name])
    other, others, reference, _ = problem(MAKERS[name])
    body, runs = counted(step)
    traced = trace(body)
    for turn in range(8):
        x, y = gradc.tensor(array(4, 3, seed=turn)), gradc.tensor(array(4, 2, seed=turn + 50))
        assert bits(traced(x, y)) == bits(other(x, y))
        assert list(map(bits, parameters)) == list(map(bits, others))
        assert state_of(optimizer) == state_of(reference)
        assert all(each.grad is None for each in parameters)
    assert len(runs) == 1
    assert (traced.statistics().traced, traced.statistics().replayed) == (1, 7)


@pytest.mark.parametrize("name", ["momentum", "adam"])
def test_a_compiled_step(name, compiled):
    step, parameters, optimizer, _ = problem(MAKERS[name])
    other, others, reference, _ = problem(MAKERS[name])
    traced = trace(step)
    for turn in range(5):
        x, y = gradc.tensor(array(4, 3, seed=turn)), gradc.tensor(array(4, 2, seed=turn + 50))
        assert bits(traced(x, y)) == bits(other(x, y))
        assert list(map(bits, parameters)) == list(map(bits, others))
    assert state_of(optimizer) == state_of(reference)
    assert traced.statistics().replayed == 4


@pytest.mark.parametrize("name", ["momentum", "adam", "adagrad"])
def test_learning_rates_change_between_calls(name):
    def schedule(optimizer):
        return optim.MultiStepLR(optimizer, [2, 4], gamma=0.5)

    step, parameters, optimizer, scheduler = problem(MAKERS[name], schedule)
    other, others, reference, follower = problem(MAKERS[name], schedule)
    traced = trace(step)
    x, y = gradc.tensor(array(4, 3)), gradc.tensor(array(4, 2, seed=9))
    for turn in range(8):
        assert bits(traced(x, y)) == bits(other(x, y))
        scheduler.step()
        follower.step()
        if turn == 5:
            optimizer.param_groups[0]["lr"] = reference.param_groups[0]["lr"] = 0.3
        assert list(map(bits, parameters)) == list(map(bits, others))
    assert traced.statistics().traced == 1


def test_a_schedule_inside():
    def schedule(optimizer):
        return optim.MultiStepLR(optimizer, [2, 3], gamma=0.5)

    step, parameters, optimizer, scheduler = problem(MAKERS["adam"], schedule)
    other, others, reference, follower = problem(MAKERS["adam"], schedule)

    @trace
    def both(x, y):
        step(x, y)
        scheduler.step()
        return step(x, y)

    x, y = gradc.tensor(array(4, 3)), gradc.tensor(array(4, 2, seed=9))
    for _ in range(5):
        other(x, y)
        follower.step()
        assert bits(both(x, y)) == bits(other(x, y))
        assert list(map(bits, parameters)) == list(map(bits, others))
        assert scheduler.current_epoch == follower.current_epoch
        assert optimizer.param_groups[0]["lr"] == reference.param_groups[0]["lr"]
    assert both.statistics().replayed == 4, both.explain()


def test_what_an_optimizer_is_made_of_may_change():
    step, parameters, optimizer, _ = problem(MAKERS["momentum"])
    other, others, reference, _ = problem(MAKERS["momentum"])
    traced = trace(step)
    x, y = gradc.tensor(array(4, 3)), gradc.tensor(array(4, 2, seed=9))

    def both():
        assert bits(traced(x, y)) == bits(other(x, y))
        assert list(map(bits, parameters)) == list(map(bits, others))

    both()
    both()
    for each in (optimizer, reference):
        each.param_groups[0]["momentum"] = 0.0
    both()
    saved = optimizer.state_dict()
    for each in (optimizer, reference):
        each.param_groups[0]["momentum"] = 0.5
        each.param_groups[0]["weight_decay"] = 0.0
    both()
    both()
    for each in (optimizer, reference):
        each.load_state_dict(saved)
    both()
    both()


def test_gradients_add_up_over_calls():
    p, q = gradc.Parameter([1.0, 2.0]), gradc.Parameter([1.0, 2.0])

    def made(parameter):
        gm = GradManager().attach(parameter)

        def function(x):
            with gm:
                gm.backward((parameter * x).sum())

        return function

    body, runs = counted(made(p))
    traced, plain = trace(body), made(q)
    kept = None
    for turn in range(6):
        if turn == 4:
            p.grad = q.grad = None
        x = gradc.tensor([turn, 1.0])
        traced(x)
        plain(x)
        assert bits(p.grad) == bits(q.grad)
        if turn in (1, 2, 3):
            assert kept is None or p.grad is kept
            kept = p.grad
    assert len(runs) == 2  # without a gradient, and with one


def test_clearing_inside_before_anything_else():
    p = gradc.Parameter([3.0])
    gm, optimizer = GradManager().attach(p), optim.SGD([p], lr=0.1)

    @trace
    def step():
        optimizer.clear_grad()
        with gm:
            gm.backward((p * p).sum())
        optimizer.step()
        return p.grad

    for _ in range(4):
        before = p.item()
        assert step() is p.grad
        assert p.grad.item() == pytest.approx(2 * before)
        assert p.item() == pytest.approx(0.8 * before)
    assert step.statistics().traced == 1, step.explain()


def test_callbacks_are_part_of_the_body():
    p = gradc.Parameter([3.0, 4.0])
    gm = GradManager().attach(p, callbacks=lambda tensor, grad: grad * 0.5)

    @trace
    def step():
        p.grad = None
        with gm:
            gm.backward((p * p).sum())

    for _ in range(3):
        step()
        assert p.grad.tolist() == [3.0, 4.0]
    gm.attach(p, callbacks=lambda tensor, grad: grad + 1)
    step()
    assert p.grad.tolist() == [4.0, 5.0]


def test_attaching_more_between_calls():
    p, q = gradc.Parameter([3.0]), gradc.Parameter([5.0])
    gm = GradManager().attach(p)

    @trace
    def step():
        with gm:
            gm.backward((p * q).sum())

    step()
    step()
    gm.attach(q)
    step()
    assert (p.grad.item(), q.grad.item()) == (15.0, 3.0)


def test_an_attached_argument():
    gm = GradManager()

    @trace
    def step(x):
        with gm:
            gm.backward((x * x).sum())

    one, two = gradc.tensor([1.0]), gradc.tensor([2.0])
    gm.attach(one)
    step(one)
    step(two)
    assert (one.grad.item(), two.grad) == (2.0, None)
    one.grad = None
    step(one)
    assert one.grad.item() == 2.0


def test_attaching_inside():
    gm = GradManager()

    @trace
    def slope(x):
        gm.attach(x)
        with gm:
            gm.backward((x * x * x).sum())
        found = x.grad
        x.grad = None
        return found

    kept = [gradc.tensor([float(k)]) for k in range(5)]
    assert [slope(each).item() for each in kept] == [0.0, 3.0, 12.0, 27.0, 48.0]
    assert slope.statistics().replayed == 4, slope.explain()
    assert gm.attached_tensors() == kept or [*map(id, gm.attached_tensors())] == [*map(id, kept)]


# ---- arguments and results


def test_nested_arguments_and_results():
    @trace
    def function(batch, scale=1.0):
        x, (y, z) = batch["x"], batch["rest"]
        return {"sum": x + y, "list": [x * scale, (z, None, "text")], "one": y.sum()}

    for turn in range(3):
        x, y, z = (gradc.tensor(array(2, seed=turn * 3 + k)) for k in range(3))
        made = function({"x": x, "rest": [y, z]}, scale=2.0)
        assert list(made) == ["sum", "list", "one"]
        assert made["sum"].tolist() == (x.numpy() + y.numpy()).tolist()
        assert made["list"][0].tolist() == (x.numpy() * 2).tolist()
        assert made["list"][1][0] is z
        assert made["list"][1][1:] == (None, "text")
        made["list"].append(1)
    assert function.statistics().replayed == 2


def test_shapes_and_dtypes_change():
    body, runs = counted(lambda x: x * 2 + 1)
    traced = trace(body)
    for _ in range(2):
        for shape, dtype in [((2,), "float32"), ((3,), "float32"), ((2,), "int32"), ((), "half")]:
            x = gradc.tensor(np.full(shape, 3), dtype=np.dtype(dtype))
            made = traced(x)
            assert (made.shape, made.dtype) == (shape, np.dtype(dtype))
            assert made.tolist() == np.full(shape, 7).tolist()
    assert len(runs) == 4
    assert "args[0] is int32[2], not float32[3]" in traced.explain()


def test_what_changed_is_said():
    @trace
    def function(x, mode="plain"):
        return x + 1 if mode == "plain" else x - 1

    function(gradc.tensor([1.0]))
    function(gradc.tensor([1.0, 2.0]))
    function(gradc.tensor([1.0, 2.0]), mode="other")
    told = function.explain()
    assert "traced 3 times" in told
    assert "x is float32[2], not float32[1]" in told
    assert "mode is 'other', not given before" in told


def test_what_changed_is_said_of_the_trace_that_would_have_fitted():
    scale = 2.0
    scaled = trace(lambda x: x * scale)
    for length in (2, 3):
        scaled(gradc.tensor([1.0] * length))
    scale = 3.0
    assert scaled(gradc.tensor([1.0, 1.0])).tolist() == [3, 3]
    assert "scale is 3.0, not 2.0" in scaled.explain()


def test_a_module_tells_about_itself():
    traced = trace(M.Linear(2, 1))
    for _ in range(2):
        traced(gradc.tensor([1.0, 2.0]))
    assert traced.explain().startswith("Linear: traced 1 times, replayed 1 times")
    traced.freeze()
    with pytest.raises(TraceError, match="Linear is frozen"):
        traced(gradc.tensor([[1.0, 2.0]]))


def test_reasons_that_have_no_end_are_told_together():
    traced = trace(lambda x, k: x * k)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RetraceWarning)
        for k in range(200):
            assert traced(gradc.tensor([1.0]), float(k)).item() == k
    first, *told = traced.explain().splitlines()
    statistics = traced.statistics()
    assert statistics.traced + statistics.plain == 200
    assert first.endswith(f"called as it stands {statistics.plain} times")
    assert 10 < len(told) <= 33
    assert told[-1] == f"  for other reasons ({201 - len(told)} times)"


@pytest.mark.parametrize("values", [(0.0, -0.0), (1, 1.0, True), (float("nan"), 2.0)])
def test_python_numbers_are_told_apart(values):
    traced = trace(lambda x, k: (x * k, 1 / x if k else x, str(k)))
    x = gradc.tensor([-1.0, 4.0])
    for value in values * 2:
        made = traced(x, value)
        assert made[0].numpy().tobytes() == (x * value).numpy().tobytes()
        assert made[2] == str(value)


def test_many_numbers_are_warned_of_once_and_right():
    body, runs = counted(lambda x, k: x * k)
    traced = trace(body)
    x = gradc.tensor([3.0])
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for k in range(20):
            assert traced(x, float(k)).item() == 3.0 * k
    assert traced(x, 2.0).item() == 6.0
    (warning,) = caught
    assert "was traced 8 times, now because args[1] is 8.0, not 7.0 (at " in str(warning.message)
    assert warning.filename == __file__
    assert traced.statistics().traced == 8
    assert len(runs) == 20  # 8 are replayed from now on, the others run as they stand


def test_many_shapes_are_warned_of():
    traced = trace(lambda x: x + 1)
    with pytest.warns(RetraceWarning, match=r"test_jit.py:\d+\) was traced 9 times"):
        for size in range(1, 12):
            assert traced(gradc.tensor(np.ones(size))).shape == (size,)


def test_an_argument_that_is_changed_in_place():
    @trace
    def function(x, y):
        x += y
        return x

    for turn in range(4):
        x, y = gradc.tensor([1.0 * turn]), gradc.tensor([2.0])
        assert function(x, y) is x
        assert x.item() == turn + 2.0
    z = gradc.tensor([4.0])
    assert function(z, z) is z
    assert z.item() == 8.0
    assert function(x, y).item() == 7.0


def test_the_same_tensor_twice():
    p = gradc.Parameter([3.0])
    gm = GradManager().attach(p)

    @trace
    def function(x):
        p.grad = None
        with gm:
            gm.backward((x * p).sum())
        return p.grad

    other = gradc.tensor([5.0])
    for x, expected in [(other, 5.0), (other, 5.0), (p, 6.0), (other, 5.0), (p, 6.0)]:
        assert function(x).item() == expected


def test_arguments_told_by_identity():
    class Settings:
        factor = 2.0

    @trace
    def function(x, settings):
        return x * settings.factor

    one, two = Settings(), Settings()
    two.factor = 5.0
    x = gradc.tensor([1.0])
    assert [function(x, each).item() for each in (one, two, one, two)] == [2.0, 5.0, 2.0, 5.0]
    one.factor = 7.0
    Settings.factor = 9.0
    assert [function(x, each).item() for each in (one, Settings())] == [7.0, 9.0]


# ---- what is closed over


def test_a_closed_over_tensor_is_read_at_every_call():
    offset = gradc.tensor([1.0])
    body, runs = counted(lambda x: x + offset)
    traced = trace(body)
    x = gradc.tensor([1.0])
    assert traced(x).item() == 2.0
    offset[...] = 5.0
    assert traced(x).item() == 6.0
    offset += 1
    assert traced(x).item() == 7.0
    assert len(runs) == 1


def test_a_variable_that_names_another_tensor():
    data = gradc.tensor([1.0])
    state = gradc.tensor([0.0])

    def body():
        nonlocal state
        state += data
        return state * 1

    traced = trace(body)
    for k in range(5):
        data = gradc.tensor([float(k)])
        assert traced().item() == sum(range(k + 1))
    assert traced.statistics().replayed == 4, traced.explain()
    state = gradc.tensor([100.0])
    assert traced().item() == 104.0
    data = gradc.tensor([1.0, 2.0])
    assert traced().tolist() == [105.0, 106.0]


def test_closed_over_values():
    factor, table, flags = 2.0, {"k": 1.0}, [True]

    @trace
    def function(x):
        return x * factor + table["k"] if flags[0] else x

    x = gradc.tensor([1.0])
    assert [function(x).item() for _ in range(2)] == [3.0, 3.0]
    factor = 5.0
    assert function(x).item() == 6.0
    table["k"] = 3.0
    assert function(x).item() == 8.0
    flags[0] = False
    assert function(x).item() == 1.0
    factor, table["k"], flags[0] = 2.0, 1.0, True
    assert function(x).item() == 3.0
    assert function.statistics().traced == 4


SCALE = 3.0


def scaled(x):
    return x * SCALE


def test_globals_of_functions_that_are_called(monkeypatch):
    traced = trace(lambda x: scaled(x) + 1)
    x = gradc.tensor([1.0])
    assert [traced(x).item() for _ in range(2)] == [4.0, 4.0]
    with monkeypatch.context() as patch:
        patch.setitem(globals(), "SCALE", 4.0)
        assert traced(x).item() == 5.0
    assert traced(x).item() == 4.0


def test_modules_that_change():
    class Noisy(M.Module):
        def __init__(self):
            super().__init__()
            self.inner = M.Linear(2, 2)
            self.factor = 2.0

        def forward(self, x):
            made = self.inner(x)
            return made * self.factor if self.training else made

    network = Noisy()
    body, runs = counted(lambda x: network(x))
    traced = trace(body)
    x = gradc.tensor(array(3, 2))

    def both():
        assert bits(traced(x)) == bits(network(x))

    both()
    both()
    network.eval()
    both()
    network.train()
    both()
    assert len(runs) == 2
    network.factor = 3.0
    both()
    network.inner.weight = gradc.Parameter(array(2, 2, seed=4))
    both()
    handle = network.inner.register_forward_hook(lambda module, inputs, outputs: outputs + 1)
    both()
    handle.remove()
    both()


def test_running_statistics():
    def made():
        mean, var = gradc.tensor(np.zeros(3)), gradc.tensor(np.ones(3))
        return (mean, var), lambda x: F.batch_norm(x, mean, var, training=True)

    kept, body = made()
    others, plain = made()
    traced = trace(body)
    for turn in range(4):
        x = gradc.tensor(array(5, 3, seed=turn))
        assert bits(traced(x)) == bits(plain(x))
        assert list(map(bits, kept)) == list(map(bits, others))
    assert traced.statistics().replayed == 3


def test_random_numbers_advance_as_in_the_plain_function():
    def body(x):
        return F.dropout(x, 0.5) + gradc.random.normal(size=x.shape)

    traced = trace(body)
    x = gradc.tensor(np.ones(50))
    gradc.manual_seed(5)
    expected = [bits(body(x)) for _ in range(5)]
    gradc.manual_seed(5)
    assert [bits(traced(x)) for _ in range(5)] == expected
    assert len(set(expected)) == 5
    assert traced.statistics().replayed == 4, traced.explain()
    gradc.manual_seed(5)
    assert bits(traced(x)) == expected[0]


# ---- what cannot be replayed


def reads_an_item(x, kept):
    return x * 2 if x.sum().item() > 0 else x


def reads_a_closed_value(x, kept):
    return x * float(kept["tensor"])


def prints(x, kept):
    y = x + 1
    kept["text"] = repr(y)
    return y


def keeps_a_tensor(x, kept):
    kept["last"] = x * 3
    return x + 1


def uses_an_array(x, kept):
    return x * kept["array"]


def makes_a_tensor_of_an_array(x, kept):
    return x + gradc.tensor(kept["array"])


def draws(x, kept):
    return x * random.random()


def draws_with_numpy(x, kept):
    return x * float(np.random.rand())


def is_excluded(x, kept):
    with exclude_from_trace():
        kept["count"] = kept.get("count", 0) + 1
    return x * kept["count"]


def counts(x, kept):
    kept["count"] = kept.get("count", 0) + 1
    return x * kept["count"]


def masks(x, kept):
    return x[x > 0].sum()


class Doubling(Function):
    def forward(self, x):
        return gradc.tensor(x.numpy() * 2)

    def backward(self, grad):
        return grad * 2


def calls_the_host(x, kept):
    y = gradc.Tensor(x)
    gm = GradManager().attach(y)
    with gm:
        gm.backward(Doubling()(y).sum())
    return y.grad


@pytest.mark.parametrize(
    "body",
    [
        reads_an_item,
        reads_a_closed_value,
        prints,
        keeps_a_tensor,
        uses_an_array,
        makes_a_tensor_of_an_array,
        draws,
        draws_with_numpy,
        is_excluded,
        counts,
        masks,
        calls_the_host,
    ],
)
def test_bodies_that_are_called_every_time(body):
    kept = {"tensor": gradc.tensor(2.0), "array": np.ones(2, np.float32)}
    mirror = {"tensor": gradc.tensor(2.0), "array": np.ones(2, np.float32)}
    runs = []

    @trace
    def traced(x):
        runs.append(1)
        return body(x, kept)

    def all_of(function, store):
        random.seed(3)
        np.random.seed(3)
        for turn in range(5):
            x = gradc.tensor([1.0 - turn, 2.0])
            store["array"] += 1
            store["tensor"] += 1
            yield bits(function(x)), sorted(store)

    made = list(all_of(traced, kept))
    assert made == list(all_of(lambda x: body(x, mirror), mirror))
    assert len(runs) == 5
    assert "cannot be replayed: it" in traced.explain()


def test_the_line_that_reads_is_named():
    @trace
    def traced(x):
        y = x.sum()
        return x if y.item() > 0 else -x

    traced(gradc.tensor([1.0]))
    assert f"reads the value of a tensor (at {__file__}:" in traced.explain()


def test_a_body_may_become_replayable():
    told = []

    @trace
    def traced(x):
        y = x * 2
        if not told:
            told.append(y.tolist())
        return y

    for turn in range(6):
        assert traced(gradc.tensor([1.0 * turn])).item() == 2.0 * turn
    assert traced.statistics().replayed >= 3, traced.explain()


def test_frozen():
    traced = trace(frozen=True)(lambda x: x + 1)
    x = gradc.tensor([1.0])
    assert [traced(x).item() for _ in range(3)] == [2.0, 2.0, 2.0]
    with pytest.raises(TraceError, match=r"x is float32\[1, 1\], not float32\[1\]"):
        traced(gradc.tensor([[1.0]]))
    reading = trace(lambda x: x + 1 if x.item() else x)
    reading(x)
    reading.freeze()
    with pytest.raises(TraceError, match="reads the value of a tensor"):
        reading(x)


# ---- around other recordings


def test_a_manager_outside():
    p = gradc.Parameter([3.0])
    gm = GradManager().attach(p)
    traced = trace(lambda x: p * x * x)
    for turn in range(3):
        p.grad = None
        with gm:
            gm.backward(traced(gradc.tensor([float(turn)])).sum())
        assert p.grad.item() == float(turn) ** 2
    assert [traced(gradc.tensor([2.0])).item() for _ in range(2)] == [12.0, 12.0]


def test_traced_functions_call_each_other():
    inner = trace(lambda x: x * 2)
    outer = trace(lambda x: inner(x) + inner(x + 1))
    for turn in range(3):
        assert outer(gradc.tensor([1.0 * turn])).item() == 4.0 * turn + 2
    assert (outer.statistics().replayed, inner.statistics().traced) == (2, 0)


def test_no_grad_around_it():
    p = gradc.Parameter([3.0])
    gm = GradManager().attach(p)

    @trace
    def step():
        p.grad = None
        with gm:
            gm.backward((p * p).sum())

    step()
    with gradc.no_grad():
        for _ in range(2):
            step()
            assert p.grad is None
    step()
    assert p.grad.item() == 6.0


def test_managers_within_managers():
    x = gradc.tensor([1.0, 2.0, 3.0])
    p = gradc.Parameter([0.5])
    outer = GradManager().attach(p)
    optimizer = optim.SGD([p], lr=0.1)

    def made(p, outer, optimizer):
        def body():
            with outer:
                with GradManager().attach(x) as inner:
                    inner.backward((p * x**3).sum())
                slope, x.grad = x.grad, None
                loss = (slope * slope).mean()
                outer.backward(loss)
            optimizer.step().clear_grad()
            return loss, slope

        return body

    q = gradc.Parameter([0.5])
    plain = made(q, GradManager().attach(q), optim.SGD([q], lr=0.1))
    traced = trace(made(p, outer, optimizer))
    for _ in range(5):
        for one, two in zip(traced(), plain(), strict=True):
            assert bits(one) == bits(two)
        assert bits(p) == bits(q)
    assert traced.statistics().replayed == 4, traced.explain()


def test_functions_without_host_work_are_replayed():
    class Cubed(Function):
        def forward(self, x):
            self.x = x
            return x * x * x

        def backward(self, grad):
            return grad * self.x * self.x * 30

    p = gradc.Parameter([2.0])
    gm = GradManager().attach(p)

    @trace
    def step(scale):
        p.grad = None
        with gm:
            gm.backward((Cubed()(p) * scale).sum())

    for turn in range(4):
        p[...] = float(turn)
        step(gradc.tensor([2.0]))
        assert p.grad.item() == 60.0 * turn**2
    assert step.statistics().replayed == 3, step.explain()


# ---- failures


def failing_step(p, table, gm, optimizer):
    def body(places):
        with gm:
            loss = (table[places] * p).sum()
            gm.backward(loss)
        optimizer.step()
        return loss

    return body


@pytest.mark.parametrize("warm", [False, True])
def test_an_index_out_of_range_leaves_everything_as_it_was(warm, compiled):
    p, table = gradc.Parameter([2.0]), gradc.Parameter(array(4))
    gm, optimizer = GradManager().attach([p, table]), optim.Adam([p, table], lr=0.1)
    step = trace(failing_step(p, table, gm, optimizer))
    good, bad = gradc.tensor([1, 2]), gradc.tensor([1, 7])
    if warm:
        step(good)
        step(good)
    before = [bits(p), bits(table), state_of(optimizer)]
    grads = [each.grad if each.grad is None else bits(each.grad) for each in (p, table)]
    with pytest.raises(IndexError, match="found 7"):
        step(bad)
    if warm:
        assert [bits(p), bits(table), state_of(optimizer)] == before
    else:
        assert [bits(p), bits(table)] == before[:2]
    assert [each.grad if each.grad is None else bits(each.grad) for each in (p, table)] == grads
    step(good)
    q, other = gradc.Parameter([2.0]), gradc.Parameter(array(4))
    gm, reference = GradManager().attach([q, other]), optim.Adam([q, other], lr=0.1)
    plain = failing_step(q, other, gm, reference)
    for _ in range(3 if warm else 1):
        plain(good)
    assert (bits(p), bits(table)) == (bits(q), bits(other))


@pytest.mark.parametrize("warm", [False, True])
def test_running_statistics_of_a_step_that_fails_are_those_without_a_trace(warm):
    x, good, bad = gradc.tensor(array(2, 3)), gradc.tensor([0, 1]), gradc.tensor([0, 9])

    def failed(wrap):
        norm, p = M.BatchNorm1d(3), gradc.Parameter(array(3, 4, seed=1))
        gm, optimizer = GradManager().attach(p), optim.SGD([p], lr=0.5)

        @wrap
        def step(labels):
            with gm:
                gm.backward(F.cross_entropy(norm(x) @ p, labels))
            optimizer.step().clear_grad()

        for _ in range(3 if warm else 0):
            step(good)
        before = p.numpy()
        with pytest.raises(IndexError, match=r"cross_entropy: .* found 9"):
            step(bad)
        assert (p.numpy() == before).all()
        assert p.grad is None
        return norm.running_mean.numpy().ravel()

    expected = (1 - 0.9 ** (4 if warm else 1)) * array(2, 3).mean(0)
    for wrap in (lambda function: function, trace):
        assert np.allclose(failed(wrap), expected, rtol=1e-5)


def test_an_exception_in_the_middle():
    p = gradc.Parameter([1.0])
    gm, optimizer = GradManager().attach(p), optim.SGD([p], lr=0.5)
    fails = True

    @trace
    def step(x):
        with gm:
            gm.backward((p * x).sum())
        optimizer.step()
        if fails:
            raise ValueError("in the middle")
        optimizer.clear_grad()
        return p * 1

    x = gradc.tensor([1.0])
    with pytest.raises(ValueError, match="in the middle"):
        step(x)
    assert (p.item(), p.grad.item()) == (0.5, 1.0)  # as without trace
    fails, p.grad = False, None
    assert [step(x).item() for _ in range(3)] == [0.0, -0.5, -1.0]
    fails = True
    with pytest.raises(ValueError, match="in the middle"):
        step(x)
    assert p.item() == -1.5


# ---- threads


def test_two_threads():
    p = gradc.Parameter([0.0])
    gm, optimizer = GradManager().attach(p), optim.SGD([p], lr=1.0)
    shapes = trace(lambda x: (x * x).sum())
    errors = []

    @trace
    def step():
        with gm:
            gm.backward((p * -1).sum())
        optimizer.step().clear_grad()

    def work(size):
        try:
            for turn in range(50):
                step()
                assert shapes(gradc.tensor(np.full(size, turn))).item() == size * turn**2
        except BaseException as error:
            errors.append(error)
            raise

    threads = [threading.Thread(target=work, args=(size,)) for size in (2, 3)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert not errors
    assert p.item() == 100.0


# ---- around the edges


def test_a_seed_inside():
    @trace
    def function():
        gradc.manual_seed(3)
        return gradc.random.normal(size=(4,)), gradc.random.uniform(size=(4,))

    first = [bits(each) for each in function()]
    for _ in range(3):
        assert [bits(each) for each in function()] == first
    assert function.statistics().replayed == 3


def test_a_generator_made_inside():
    traced = trace(lambda x: x + gradc.random.RNG(7).normal(size=(4,)))
    x = gradc.tensor(np.zeros(4))
    assert len({bits(traced(x)) for _ in range(4)}) == 1


def test_clipped_gradients():
    def made(p):
        gm, optimizer = GradManager().attach(p), optim.SGD([p], lr=0.5, momentum=0.5)

        def step(x, limit):
            with gm:
                gm.backward((p * p * x).sum())
            norm = optim.clip_grad_norm([p], limit)
            optim.clip_grad_value([p], -0.25, 0.5)
            optimizer.step().clear_grad()
            return norm

        return step

    p, q = gradc.Parameter([1.0, -2.0]), gradc.Parameter([1.0, -2.0])
    traced, plain = trace(made(p)), made(q)
    for turn, limit in enumerate([1.0, 1.0, 0.25, 1.0, 0.25]):
        x = gradc.tensor([1.0, turn])
        assert bits(traced(x, limit)) == bits(plain(x, limit))
        assert bits(p) == bits(q)
    assert traced.statistics().traced == 2


def test_a_rate_that_the_body_itself_changes():
    p = gradc.Parameter([8.0])
    gm, optimizer = GradManager().attach(p), optim.SGD([p], lr=0.5)

    @trace
    def step():
        with gm:
            gm.backward(p.sum())
        optimizer.step().clear_grad()
        optimizer.param_groups[0]["lr"] *= 0.5
        return p * 1

    assert [step().item() for _ in range(4)] == [7.5, 7.25, 7.125, 7.0625]


def test_parameters_that_get_gradients_only_sometimes():
    p, q = gradc.Parameter([1.0]), gradc.Parameter([1.0])
    gm, optimizer = GradManager().attach([p, q]), optim.Adam([p, q], lr=0.5)

    @trace
    def step(both):
        with gm:
            gm.backward(p.sum() + q.sum() if both else p.sum())
        optimizer.step().clear_grad()

    for both in (False, True, False, True, False):
        step(both)
    states = optimizer.state_dict()["state"]
    assert [int(states[k]["step"]) for k in (0, 1)] == [5, 2]
    assert (p.item(), q.item()) == (pytest.approx(-1.5), pytest.approx(0.0))


def test_a_module_with_a_traced_method():
    class Network(M.Module):
        def __init__(self):
            super().__init__()
            self.layer = M.Linear(2, 2)

        @trace
        def forward(self, x):
            return self.layer(x) * 2

    one, two = Network(), Network()
    x = gradc.tensor(array(3, 2))
    for network in (one, two, one, two):
        expected = F.matmul(x, network.layer.weight.transpose(1, 0)) + network.layer.bias
        assert np.allclose(network(x).numpy(), expected.numpy() * 2)
    gm = GradManager().attach(list(one.parameters()))
    with gm:
        gm.backward(one(x).sum())
    assert one.layer.bias.grad.tolist() == [6.0, 6.0]


def test_a_traced_attribute_is_copied_with_its_module():
    network = M.Linear(2, 2)
    network.forward = trace(network.forward)
    x = gradc.tensor(array(3, 2))
    expected = [bits(network(x)) for _ in range(2)]
    assert bits(copy.deepcopy(network)(x)) == expected[0] == expected[1]


def test_numbers_in_attributes_of_nested_objects():
    class Settings:
        pass

    settings = Settings()
    settings.inner = Settings()
    settings.inner.scale = 2.0
    traced = trace(lambda x: x * settings.inner.scale)
    x = gradc.tensor([1.0])
    assert [traced(x).item() for _ in range(2)] == [2.0, 2.0]
    settings.inner.scale = 3.0
    assert traced(x).item() == 3.0
    assert "scale is 3.0, not 2.0" in traced.explain()


def test_a_default_dtype_that_changes():
    traced = trace(lambda x: x + F.ones((2,)))
    x = gradc.tensor([1.0, 2.0], dtype="float32")
    assert traced(x).dtype == np.float32
    gradc.set_default_dtype("float64")
    try:
        assert traced(x).dtype == np.float64
    finally:
        gradc.set_default_dtype("float32")
    assert traced(x).dtype == np.float32


def test_results_hold_gradients():
    gm = GradManager()

    @trace
    def function(x):
        y = x * 2
        inner = GradManager().attach(y)
        with inner:
            inner.backward((y * y).sum())
        return y, y.grad

    for turn in range(3):
        y, grad = function(gradc.tensor([1.0 * turn]))
        assert y.grad is grad
        assert grad.item() == 4.0 * turn
    assert function.statistics().replayed == 2
    assert gm.attached_tensors() == []


@pytest.mark.parametrize("decorate", [trace, trace(), trace(frozen=True)])
def test_what_is_no_function_is_refused(decorate):
    with pytest.raises(TypeError, match=r"trace: expected a function, found 3 \(at .*test_jit.py:"):
        decorate(3)
