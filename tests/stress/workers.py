"""What the threads of the stress test do, turn by turn, and how each knows what is right."""

from __future__ import annotations

import copy
import faulthandler
import gc
import os
import pickle
import signal
import sys
import threading
import time
from collections.abc import Callable
from random import Random
from typing import Any

import numpy as np

import gradc.functional as F
import gradc.module as M
import gradc.optimizer as optim
from gradc import Parameter, jit, no_grad, tensor
from gradc.autodiff import GradManager

Turn = Callable[[], object]

CHILD_SECONDS = 240
"""After which a child of a fork counts as one that waits for ever."""

WIDTH = 6


def batch(seed: int) -> np.ndarray[Any, Any]:
    """Data that depend on nothing but `seed`."""
    return np.random.default_rng(seed).standard_normal((8, WIDTH)).astype(np.float32)


class Training:
    """A small model with all that training has, of which the losses depend on the seed alone."""

    def __init__(self, seed: int, traced: bool) -> None:
        weights = np.random.default_rng(seed)
        self.net = M.Sequential(
            M.Linear(WIDTH, 8), M.BatchNorm1d(8), M.Tanh(), M.Dropout(0.0), M.Linear(8, 2)
        )
        for each in self.net.parameters():
            values = weights.standard_normal(each.shape).astype(np.float32) / 3
            each[...] = tensor(values)
        self.manager = GradManager().attach(self.net.parameters())
        self.optimizer = optim.SGD(self.net.parameters(), lr=0.05, momentum=0.9)
        self.step = jit.trace(self.plain_step) if traced else self.plain_step

    def plain_step(self, x: Any) -> Any:
        """The loss, after which the parameters are updated."""
        with self.manager:
            loss = (self.net(x) ** 2).mean()
            self.manager.backward(loss)
        self.optimizer.step().clear_grad()
        return loss

    def result(self, steps: int) -> bytes:
        """All that so many steps lead to, to the last bit."""
        losses = [self.step(tensor(batch(each))).item() for each in range(steps)]
        state = self.net.state_dict()
        return np.float64(losses).tobytes() + b"".join(state[name].tobytes() for name in state)


class Shared:
    """What the workers share, with what it must hold in the end.

    `pair` are two parameters that only ever hold the same number; `counted` one whose gradient
    says how often a thread has added to it; `norm` a batch norm that always sees the same batch.
    """

    def __init__(self) -> None:
        self.expected = {
            (seed, traced): Training(seed, traced).result(4)
            for seed in range(3)
            for traced in (False, True)
        }
        self.pair = M.Module()
        self.pair.a, self.pair.b = Parameter(np.zeros(3000, "f4")), Parameter(np.zeros(7, "f4"))
        self.optimizer = optim.SGD(self.pair.parameters(), lr=1.0, momentum=0.0)
        self.steps = 0
        self.counted = Parameter(np.ones(50, "f4"))
        self.added = 0
        self.norm = M.BatchNorm1d(WIDTH, momentum=0.5)
        self.steps_lock = threading.Lock()
        self.waiting = tensor(np.zeros(4, "f4"))

    def wrong(self) -> list[str]:
        """What of it is not as it must be, when all threads have ended."""
        found = []
        grad = self.counted.grad
        if self.added and set(grad.tolist()) != {float(self.added)}:
            found.append(f"{self.added} gradients of 1 were added, and the sum is {grad}")
        if set(self.pair.b.tolist()) != {float(self.steps)}:
            found.append(f"after {self.steps} steps of 1 the parameter is {self.pair.b}")
        return found


def training(shared: Shared, chance: Random) -> Turn:
    """A model of its own, plain and traced, beside all others."""

    def turn() -> None:
        key = chance.choice(list(shared.expected))
        assert Training(*key).result(4) == shared.expected[key], f"training {key} differs"

    return turn


def stepping(shared: Shared, chance: Random) -> Turn:
    """Adds 1 to both parameters of the pair, by an optimizer or by a traced function."""
    a, b = shared.pair.a, shared.pair.b

    def plain() -> None:
        a.grad, b.grad = tensor(-np.ones(3000, "f4")), tensor(-np.ones(7, "f4"))
        shared.optimizer.step().clear_grad()

    minus = [tensor(-np.ones(each, "f4")) for each in (3000, 7)]

    @jit.trace
    def traced(x: Any, y: Any) -> None:
        a.grad, b.grad = x, y
        shared.optimizer.step().clear_grad()

    def turn() -> None:
        with shared.steps_lock:  # gradients of both; readers take no lock
            traced(*minus) if chance.random() < 0.5 else plain()
            shared.steps += 1

    return turn


def reading(shared: Shared, chance: Random) -> Turn:
    """Reads the pair in every way that there is: one number, never going back, in all elements."""
    pair, seen = shared.pair, 0.0
    inference = jit.trace(lambda x: (pair.a * 1.0, pair.b + x))
    zero = tensor(np.zeros(7, "f4"))

    def one_moment() -> tuple[Any, Any]:
        state = pair.state_dict()
        assert state["a"][0] == state["b"][0], "the state is of two moments"
        return state["a"], state["b"]

    ways: list[Callable[[], tuple[Any, Any]]] = [
        lambda: (pair.a.numpy(), pair.b.numpy()),
        lambda: (np.array(pair.a), np.array(pair.b)),
        lambda: (pair.a[5:900].numpy(), pair.b.tolist()),
        lambda: tuple(each.numpy() for each in inference(zero)),  # type: ignore[return-value]
        lambda: (copy.deepcopy(pair.a).numpy(), pickle.loads(pickle.dumps(pair.b)).numpy()),
        lambda: (
            (pair.a * 1.0).numpy(),
            F.exp(F.log(pair.b + 1.0) * 0.0).numpy() * 0 + pair.b[0].item(),
        ),
        one_moment,
    ]

    def turn() -> None:
        nonlocal seen
        for values in chance.choice(ways)():
            found = set(np.asarray(values).tolist())
            assert len(found) == 1, f"torn: {sorted(found)[:9]}"
            assert found.pop() >= seen, "an older value came back"
        repr(pair.a), repr(pair.b)
        seen = float(pair.b.numpy()[0]) if chance.random() < 0.2 else 0.0

    return turn


def adding(shared: Shared, chance: Random) -> Turn:
    """Adds 1 to a gradient that others add to, by managers of its own, nested or traced."""
    w, ones = shared.counted, tensor(np.ones(50, "f4"))
    inner, outer = GradManager().attach(w), GradManager().attach(w)

    def plain() -> None:
        with inner:
            inner.backward(F.sum(w * ones))

    def nested() -> None:
        with outer, inner:
            inner.backward(F.sum(w * ones))

    ways = [plain, nested, jit.trace(plain)]

    def turn() -> None:
        chance.choice(ways)()
        with shared.steps_lock:
            shared.added += 1

    return turn


def normalizing(shared: Shared, chance: Random) -> Turn:
    """A batch norm that threads share: the running mean only ever comes nearer to the batch's."""
    x = np.repeat(np.float32([[1.0], [3.0]]), WIDTH, axis=1)

    def turn() -> None:
        made = shared.norm(tensor(x)).numpy()
        np.testing.assert_allclose(made, np.sign(x - 2), rtol=1e-4)
        mean = shared.norm.running_mean.numpy()
        assert ((mean >= 0.99) & (mean <= 2)).all(), mean

    return turn


def waiting(shared: Shared, chance: Random) -> Turn:
    """Leaves a tensor that waits where others read it, and reads theirs."""

    def turn() -> None:
        k = chance.randrange(5)
        shared.waiting = tensor(np.full(4, k, "f4")) * 2 + 1
        with no_grad():
            found = set(shared.waiting.numpy().tolist())
        assert len(found) == 1 and found <= {0.0, 1.0, 3.0, 5.0, 7.0, 9.0}, found

    return turn


def collecting(shared: Shared, chance: Random) -> Turn:
    """Makes cycles of tensors, which the collector finds in whatever thread it runs."""

    def turn() -> None:
        cycle: list[Any] = [tensor(np.ones(chance.randrange(1, 5000), "f4")) + 1]
        cycle.append(cycle)
        if chance.random() < 0.1:
            gc.collect()
        time.sleep(0.001)

    return turn


def forking(shared: Shared, chance: Random) -> Turn:
    """Children of a fork at any moment: they train, read, add and trace as their parents do."""

    def child() -> int:
        key = chance.choice(list(shared.expected))
        assert Training(*key).result(4) == shared.expected[key], f"training {key} differs"
        a, b = shared.pair.a.numpy(), shared.pair.b.numpy()
        assert set(a.tolist()) == set(b.tolist()), "half a step has come along"
        shared.steps_lock = threading.Lock()
        for each in (adding, stepping, normalizing, waiting):
            each(shared, chance)()
        assert gc.isenabled()
        return 0

    def turn() -> None:
        pid = os.fork()
        if pid == 0:
            code = 1
            try:
                faulthandler.register(signal.SIGALRM, chain=True)
                signal.alarm(CHILD_SECONDS)
                code = child()
            except BaseException:
                sys.excepthook(*sys.exc_info())
            finally:
                os._exit(code)
        status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        assert status == 0, f"a child ended with {status}"
        time.sleep(chance.random() * 0.05)

    return turn


WORKERS: dict[str, Callable[[Shared, Random], Turn]] = {
    "training": training,
    "training too": training,
    "stepping": stepping,
    "reading": reading,
    "reading too": reading,
    "adding": adding,
    "adding too": adding,
    "normalizing": normalizing,
    "normalizing too": normalizing,
    "waiting": waiting,
    "waiting too": waiting,
    "collecting": collecting,
    "forking": forking,
}
