"""Copies: of everything public, by `copy` and by `pickle`, with the state that it has."""

import copy
import inspect
import pickle
import types
from functools import partial

import numpy as np
import pytest

import gradc
import gradc.functional as F
import gradc.module as M
import gradc.optimizer as optim
from gradc import amp, autodiff, jit, random
from gradc.autodiff import GradManager


def pickled(value):
    return pickle.loads(pickle.dumps(value))


WAYS = {"copy": copy.copy, "deepcopy": copy.deepcopy, "pickle": pickled}
FLAT = {"copy"}  # shares what is inside


class Double(autodiff.Function):
    def forward(self, x):
        return x * 2

    def backward(self, g):
        return g * 2


def rate(epoch):
    return 0.5**epoch


def doubled(x):
    return x * 2


def twice_as_much(tensor, gradient):
    return gradient * 2


TRACED = jit.trace(doubled)


def network():
    return M.Sequential(M.Linear(3, 4), M.BatchNorm1d(4), M.Linear(4, 2))


def trained(kind=optim.Adam, **options):
    """An optimizer that has state."""
    made = kind([gradc.Parameter([1.0, 2.0])], lr=0.1, **options)
    made.param_groups[0]["params"][0].grad = gradc.tensor([1.0, -1.0])
    made.step()
    return made


def stepped(optimizer):
    parameter = optimizer.param_groups[0]["params"][0]
    before = parameter.numpy().copy()
    parameter.grad = gradc.tensor([0.5, 0.25])
    optimizer.step()
    return (parameter.numpy() - before).tolist()


def rates(schedule):
    return [schedule.step() or schedule.optimizer.param_groups[0]["lr"] for _ in range(3)]


def scheduled(kind, *args):
    made = kind(trained(optim.SGD), *args)
    made.step()
    return made


def drawn_from(generator):
    return [generator.uniform(size=3).tolist(), generator.normal(size=2).tolist()]


def begun(seed):
    made = random.RNG(seed)
    made.uniform(size=5)
    return made


def values(module):
    return [module.training, *(each.tolist() for each in module.state_dict().values())]


def written(manager):
    """The gradients that a manager gives to what is attached."""
    found = manager.attached_tensors()
    for each in found:
        each.grad = None
    with manager:
        manager.backward(sum(((each * each).sum() for each in found), gradc.tensor(0.0)))
    return [each.grad.tolist() for each in found]


def scaled():
    made = amp.GradScaler(init_scale=8.0)
    made.update(2.0)
    return made


MODULE_ARGUMENTS = {"MultiHeadAttention": (4, 2), "Normal": ()}


def modules():
    """An instance of every module, with as many arguments as it needs."""
    for name in M.__all__:
        kind = getattr(M, name)
        if inspect.isclass(kind) and issubclass(kind, M.Module):
            needed = [
                1
                for each in list(inspect.signature(kind.__init__).parameters.values())[1:]
                if each.default is each.empty and each.kind is each.POSITIONAL_OR_KEYWORD
            ]
            yield name, kind(*MODULE_ARGUMENTS.get(name, [2] * len(needed)))


CASES = {
    # A class: how an instance is made, and what of it must be equal in copies.
    gradc.Tensor: (lambda: gradc.tensor([1.0, 2.0]) * 2, lambda x: (x.tolist(), x.dtype, x.name)),
    gradc.Parameter: (lambda: gradc.Parameter([1.0], name="w"), lambda x: (x.tolist(), x.name)),
    M.Module: (network, values),
    random.RNG: (lambda: begun(3), drawn_from),
    optim.Optimizer: (trained, stepped),
    optim.SGD: (lambda: trained(optim.SGD, momentum=0.5), stepped),
    optim.Adam: (lambda: trained(optim.Adam), stepped),
    optim.AdamW: (lambda: trained(optim.AdamW), stepped),
    optim.Adagrad: (lambda: trained(optim.Adagrad), stepped),
    optim.Adadelta: (lambda: trained(optim.Adadelta), stepped),
    optim.RMSprop: (lambda: trained(optim.RMSprop), stepped),
    optim.LAMB: (lambda: trained(optim.LAMB), stepped),
    optim.LRScheduler: (lambda: scheduled(optim.ExponentialLR, 0.5), rates),
    optim.MultiStepLR: (lambda: scheduled(optim.MultiStepLR, [2, 3]), rates),
    optim.ExponentialLR: (lambda: scheduled(optim.ExponentialLR, 0.5), rates),
    optim.LambdaLR: (lambda: scheduled(optim.LambdaLR, rate), rates),
    GradManager: (None, None),  # see below
    autodiff.Function: (Double, lambda f: f(gradc.tensor([3.0])).tolist()),
    amp.GradScaler: (scaled, lambda s: (s.scale_factor, s.state_dict())),
    jit.Traced: (lambda: TRACED, lambda f: f(gradc.tensor([3.0])).tolist()),
    gradc.no_grad: (gradc.no_grad, lambda block: type(block).__name__),
}

NO_OBJECTS = (Exception, types.FunctionType)
OTHERS = {"TraceStatistics", "exclude_from_trace", "HookHandle"}  # plain, and looked at below


def public_classes():
    for home in (gradc, autodiff, M, optim, random, amp, jit):
        for name in home.__all__:
            found = getattr(home, name)
            if inspect.isclass(found) and not issubclass(found, Exception):
                yield found


def test_every_public_class_is_looked_at():
    missing = {
        kind.__name__
        for kind in public_classes()
        if kind not in CASES and not issubclass(kind, (M.Module, optim.LRScheduler))
    }
    assert missing <= OTHERS
    known = {kind for kind in public_classes() if issubclass(kind, optim.LRScheduler)}
    assert {kind.__name__ for kind in known - set(CASES)} == {*SCHEDULES, "SequentialLR"}


SCHEDULES = {
    "StepLR": (1,),
    "CosineAnnealingLR": (4,),
    "CosineAnnealingWarmRestarts": (4,),
    "LinearLR": (0.5,),
    "PolynomialLR": (4,),
}


def sequence():
    optimizer = trained(optim.SGD)
    parts = [optim.ExponentialLR(optimizer, 0.5), optim.StepLR(optimizer, 1)]
    made = optim.SequentialLR(optimizer, parts, milestones=[2])
    made.step()
    return made


@pytest.mark.filterwarnings("ignore::gradc.autodiff.TrainingWarning")
def test_copies_are_equal():
    wrong = []
    cases = dict(CASES)
    for kind in public_classes():
        if issubclass(kind, optim.LRScheduler) and kind not in cases:
            arguments = SCHEDULES.get(kind.__name__)
            make = sequence if arguments is None else partial(scheduled, kind, *arguments)
            cases[kind] = (make, rates)
    for kind, (make, look) in cases.items():
        for way, copied in WAYS.items():
            if make is None or (way in FLAT and look in (stepped, rates)):
                continue
            original = make()
            again = copied(original)
            if look(again) != look(original) or type(again) is not type(original):
                wrong.append((kind.__name__, way))
    for name, module in modules():
        for way, copied in WAYS.items():
            if str(values(copied(module.eval() or module))) != str(values(module)):
                wrong.append((name, way))
    assert not wrong


def test_generators_take_their_state_along():
    for way, copied in WAYS.items():
        original = begun(7)
        again = copied(original)
        first = drawn_from(original)
        assert drawn_from(again) == first, way  # neither has moved the other on
        fresh = copied(random.RNG(11)), random.RNG(11)
        assert drawn_from(fresh[0]) == drawn_from(fresh[1]), way
        shared = copied(random.RNG())
        gradc.manual_seed(5)
        expected = random.uniform(size=3).tolist()
        gradc.manual_seed(5)
        assert shared.uniform(size=3).tolist() == expected, way
    assert pickled(random.uniform)(size=2).shape == (2,)


def test_a_module_with_a_generator():
    module = M.Identity()
    module.random = begun(2)
    for copied in (copy.deepcopy, pickled):
        assert drawn_from(copied(module).random) == drawn_from(copied(module).random)


def test_a_generator_that_is_copied_in_a_trace_draws_anew():
    mine = random.RNG(1)

    @jit.trace
    def twice(x):
        return x + copy.deepcopy(mine).uniform(size=2), x + mine.uniform(size=2)

    seen = [tuple(each.tolist() for each in map(np.asarray, twice(0.0))) for _ in range(4)]
    assert all(a == b for a, b in seen)
    assert len({a for pair in seen for a in map(tuple, pair)}) == 4


def test_managers():
    parameters = [gradc.Parameter([1.0, 2.0]), gradc.Parameter([3.0])]
    original = GradManager().attach(parameters, callbacks=twice_as_much)
    shallow = copy.copy(original)
    assert shallow.attached_tensors() == original.attached_tensors()
    assert written(shallow) == [[4, 8], [12]]
    shallow.attach(gradc.Parameter([1.0]))
    assert len(original.attached_tensors()) == 2
    for copied in (copy.deepcopy, pickled):
        own, manager = copied((parameters, original))
        assert [id(each) for each in manager.attached_tensors()] == [id(each) for each in own]
        assert written(manager) == [[4, 8], [12]]
    for copied in WAYS.values():
        with original, pytest.raises(RuntimeError, match="that records cannot be copied"):
            copied(original)
    assert len(copy.copy(original | GradManager())._members) == 2


def test_a_whole_run_goes_on_in_its_copy():
    """Network, manager, optimizer and schedule, copied together: as if nothing had been copied."""

    def made():
        gradc.manual_seed(3)
        module = network()
        optimizer = optim.Adam(module.parameters(), lr=0.1)
        run = types.SimpleNamespace(module=module, optimizer=optimizer)
        run.manager = GradManager().attach(module.parameters())
        run.schedule = optim.MultiStepLR(optimizer, [1])
        return run

    def step(run):
        x = gradc.tensor(np.arange(12, dtype=np.float32).reshape(4, 3))
        with run.manager:
            loss = F.mean(run.module(x) ** 2)
            run.manager.backward(loss)
        run.optimizer.step().clear_grad()
        run.schedule.step()
        return loss.item()

    for copied in (copy.deepcopy, pickled):
        original = made()
        step(original)
        again = copied(original)
        assert [step(again) for _ in range(3)] == [step(original) for _ in range(3)]


def test_programs_say_that_they_stay():
    F.exp(gradc.tensor(np.ones(200_000, np.float32)) + 1.5).numpy()
    program = gradc.programs()[-1]
    assert copy.copy(program) is copy.deepcopy(program) is program
    with pytest.raises(TypeError, match="a program cannot be pickled"):
        pickle.dumps(program)
