"""Random programs of operators, reads, drops and managers, against NumPy with tangents."""

import numpy as np
import pytest
from gradc.tracer.recording import STATISTICS, THREAD

from gradc import functional as F
from gradc import no_grad, tensor
from gradc.autodiff import GradManager


class Model:
    """Each value beside its tensor: an array, and its tangents by the attached variables."""

    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)
        self.pool = []
        self.recording = {}  # manager: (variable, its name)
        self.names = iter(range(10_000))
        for _ in range(3):
            self.add(tensor(values := self.values(), dtype="float64"), values, {})

    def values(self):
        return self.rng.uniform(-1, 1, 3)

    def add(self, box, array, tangents):
        self.pool.append([box, array, tangents])

    def pick(self):
        return self.pool[self.rng.integers(len(self.pool))]

    def combined(self, a, b, da, db):
        names = {**a, **b}
        return {n: da * a.get(n, 0) + db * b.get(n, 0) for n in names}

    # ---- steps

    def multiply(self):
        (x, a, da), (y, b, db) = self.pick(), self.pick()
        self.add(x * y, a * b, self.combined(da, db, b, a))

    def subtract(self):
        (x, a, da), (y, b, db) = self.pick(), self.pick()
        self.add(x - y, a - b, self.combined(da, db, 1, -1))

    def sine(self):
        x, a, da = self.pick()
        self.add(F.sin(x), np.sin(a), self.combined(da, {}, np.cos(a), 0))

    def scale(self):
        x, a, da = self.pick()
        k = float(self.rng.choice([0.25, 0.5, -1, 1.5, self.rng.uniform()]))
        self.add(k * x, k * a, self.combined(da, {}, k, 0))

    def in_place(self):
        entry = self.pick()
        y, b, db = self.pick()
        x, a, da = entry
        x += y
        entry[1:] = a + b, self.combined(da, db, 1, 1)

    def write_part(self):
        entry = self.pick()
        y, b, db = self.pick()
        x, a, da = entry
        x[1:] = y[1:]
        keep = np.array([1, 0, 0])
        entry[1:] = a * keep + b * (1 - keep), self.combined(da, db, keep, 1 - keep)

    def detach(self):
        x, a, _ = self.pick()
        self.add(x.detach(), a, {})

    def quiet(self):
        x, a, _ = self.pick()
        with no_grad():
            self.add(x * 0.75, a * 0.75, {})

    def read(self):
        x, a, _ = self.pick()
        assert np.allclose(x.numpy(), a)

    def drop(self):
        if len(self.pool) > 3:
            del self.pool[self.rng.integers(len(self.pool))]

    def record(self):
        if len(self.recording) == 2:
            return
        entry, name = self.pick(), next(self.names)
        manager = GradManager().attach(entry[0])
        manager.record()
        entry[0].grad = None
        entry[2] = {**entry[2], name: np.ones(3)}
        self.recording[manager] = entry[0], name

    def backward(self):
        if not self.recording:
            return
        manager = list(self.recording)[self.rng.integers(len(self.recording))]
        variable, name = self.recording.pop(manager)
        y, _, tangents = self.pick()
        variable.grad = None
        manager.backward(y)
        expected = tangents.get(name)
        if expected is None:
            assert variable.grad is None
        elif variable.grad is None:
            assert not np.any(expected)
        else:
            assert np.allclose(variable.grad.numpy(), expected)
        variable.grad = None
        self.forget(name)

    def release(self):
        if self.recording:
            manager = next(iter(self.recording))
            _, name = self.recording.pop(manager)
            manager.release()
            self.forget(name)

    def forget(self, name):
        for entry in self.pool:
            entry[2] = {n: d for n, d in entry[2].items() if n != name}

    STEPS = (
        *(multiply, subtract, sine, scale, in_place, write_part) * 3,
        *(detach, quiet, read, drop, drop, record, record, backward, release),
    )

    def run(self, count):
        for _ in range(count):
            self.STEPS[self.rng.integers(len(self.STEPS))](self)
        for manager in self.recording:
            manager.release()
        for x, a, _ in self.pool:
            assert np.allclose(x.numpy(), a)


# What a backward is asked of is drawn too, and may have been computed before its manager began.
@pytest.mark.filterwarnings("ignore::gradc.autodiff.TrainingWarning")
@pytest.mark.parametrize("seed", range(60))
def test_values_and_gradients(seed):
    THREAD.renew()
    Model(seed).run(80)


def test_a_repeat_prepares_nothing():
    THREAD.renew()
    Model(1000).run(60)
    THREAD.renew()
    STATISTICS.reset()
    Model(1000).run(60)
    assert (STATISTICS.prepared, STATISTICS.recorded, STATISTICS.adjoints) == (0, 0, 0)
