"""Locks and forks: none is held in a child for ever, and nothing is half done there."""

import ast
import gc
import importlib
import os
import signal
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from gradc.tracer import accumulation, locks, watched
from gradc.tracer.collection import without_collection
from gradc.tracer.recording import THREAD

import gradc.functional as F
import gradc.optimizer as optim
from gradc import Parameter, jit, tensor
from gradc.autodiff import GradManager

ROOT = Path(__file__).parents[2]
SECONDS = 60


def in_child(check: Callable[[], object]) -> int:
    """How the child of a fork ends that calls `check`: 0 where it raises nothing."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # forks beside threads are the point
        pid = os.fork()
    if pid == 0:
        code = 1
        try:
            signal.alarm(SECONDS)
            check()
            code = 0
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


@contextmanager
def other_thread_within(block: Callable[[], Any]) -> Iterator[None]:
    """Another thread is within the block of a `with` meanwhile."""
    entered, leave = threading.Event(), threading.Event()

    def work() -> None:
        with block():
            entered.set()
            leave.wait(SECONDS)

    thread = threading.Thread(target=work)
    thread.start()
    assert entered.wait(SECONDS)
    try:
        yield
    finally:
        leave.set()
        thread.join()


def train() -> list[float]:
    """Two plain steps, the second from where the first ended, and a traced one."""
    w = Parameter([1.0, 2.0])
    manager, optimizer = GradManager().attach(w), optim.SGD([w], lr=0.25, momentum=0.5)

    def step() -> None:
        with manager:
            manager.backward(F.sum(w * w))
        optimizer.step().clear_grad()

    step()
    step()
    traced = jit.trace(step)
    traced()
    traced()
    return list(w.tolist())


# v = v / 2 + 2 w, w = w - v / 4, from w = 1 and v = 0 on, four times
EXPECTED = [1.0, 2.0]
_v = [0.0, 0.0]
for _ in range(4):
    _v = [v / 2 + 2 * w for v, w in zip(_v, EXPECTED, strict=True)]
    EXPECTED = [w - v / 4 for v, w in zip(_v, EXPECTED, strict=True)]


def check_training() -> None:
    assert train() == EXPECTED


LOCKS = {"Lock", "RLock", "Condition", "Semaphore", "BoundedSemaphore", "Barrier"}


def made_elsewhere(tree: ast.Module) -> Iterator[int]:
    """The lines at which a module gets at locks: of `threading`, and those of functools'
    cached_property, which all objects of a class share until Python 3.12."""
    decorators = {
        getattr(each, "id", "")
        for function in ast.walk(tree)
        if isinstance(function, ast.FunctionDef)
        for each in function.decorator_list
    }
    for each in ast.walk(tree):
        if isinstance(each, ast.Attribute) and each.attr in LOCKS:
            if getattr(each.value, "id", "") == "threading":
                yield each.lineno
        elif isinstance(each, ast.ImportFrom):
            names = {alias.name for alias in each.names}
            if each.module == "threading" and names & LOCKS:
                yield each.lineno
            if each.module == "functools" and names & decorators & {"cached_property"}:
                yield each.lineno


def test_all_locks_are_made_in_one_place() -> None:
    """A lock that is made elsewhere stays held in children."""
    found = [
        f"{path.relative_to(ROOT)}:{line}"
        for layer in ("tracer", "codegen", "runtime", "src/gradc")
        for path in sorted((ROOT / layer).rglob("*.py"))
        for line in made_elsewhere(ast.parse(path.read_text(encoding="utf-8")))
    ]
    assert [each.partition(":")[0] for each in found] == ["tracer/locks.py"]


def test_each_lock_that_another_thread_holds_is_free_in_a_child() -> None:
    check_training()  # builds what children need
    made = [found for each in list(locks._made.values()) if (found := each()) is not None]
    assert len(made) > 5
    brief = [id(each) for each in locks._brief]
    held = [each for each in made if id(each) not in brief]

    def check() -> None:
        for each in made:
            assert each.acquire(timeout=1)
            each.release()
        check_training()

    @contextmanager
    def block() -> Iterator[None]:
        for each in held:
            each.acquire()
        yield
        for each in reversed(held):
            each.release()

    with other_thread_within(block):
        assert in_child(check) == 0
    for each in made:
        assert each.acquire(blocking=False)
        each.release()


def test_a_lock_that_the_forking_thread_holds_stays_its_own() -> None:
    lock = locks.new_lock()

    def check() -> None:
        assert lock._is_owned()
        lock.release()  # as the end of a block does
        assert not lock._is_owned()

    with lock:
        assert in_child(check) == 0


def test_a_fork_waits_for_whoever_binds_what_belongs_together() -> None:
    a, b, changed = Parameter([0.0]), Parameter([0.0]), threading.Event()

    def work() -> None:
        with locks.WRITING:
            a.rebind(tensor([1.0]))
            changed.set()
            threading.Event().wait(0.2)
            b.rebind(tensor([1.0]))

    def check() -> None:
        assert (a.item(), b.item()) == (1, 1)

    thread = threading.Thread(target=work)
    thread.start()
    changed.wait(SECONDS)
    assert in_child(check) == 0
    thread.join()


@contextmanager
def _manager_records(manager: GradManager, w: Parameter) -> Iterator[None]:
    with manager:
        w *= 3.0  # waits, in the recording of a thread that the child has not
        yield


def test_what_other_threads_were_doing_is_as_if_they_had_ended() -> None:
    """Each state that something guards, entered by another thread when the process forks."""
    w, manager = Parameter([2.0]), GradManager()
    manager.attach(w)

    def check_manager() -> None:
        assert w.item() == 6
        with manager:  # it recorded in a thread that is not here
            manager.backward(w * 5.0)
        assert w.grad.item() == 5

    def check_pause() -> None:
        assert gc.isenabled()

    def check_busy() -> None:
        assert not accumulation._Busy.adding

    def check_watched() -> None:
        assert watched.watched_grads._count == 0
        assert type(vars(watched.Value)["grad"]) is not property

    states: dict[str, tuple[Callable[[], Any], Callable[[], object]]] = {
        "a manager that records": (lambda: _manager_records(manager, w), check_manager),
        "the collector rests": (without_collection, check_pause),
        "gradients are added": (lambda: accumulation.busy, check_busy),
        "gradients are watched": (lambda: watched.watched_grads, check_watched),
        "a lock of a recording": (lambda: THREAD.lock, check_training),
    }
    check_training()
    wrong = []
    for name, (block, check) in states.items():
        with other_thread_within(block):
            if in_child(lambda check=check: (check(), check_training())):  # type: ignore[misc]
                wrong.append(name)
    assert not wrong
    check_pause(), check_busy(), check_watched()


def test_a_function_that_another_thread_traces_has_changed_nothing_yet() -> None:
    w, entered, leave = Parameter(np.ones(3, "f4")), threading.Event(), threading.Event()

    @jit.trace
    def double() -> None:
        w.rebind(w * 2)
        entered.set()
        leave.wait(SECONDS)

    def check() -> None:
        assert w.tolist() == [1, 1, 1]
        assert (w + 1).tolist() == [2, 2, 2]

    thread = threading.Thread(target=double)
    thread.start()
    assert entered.wait(SECONDS)
    check()  # other threads see what was there before, and the trace goes on
    assert in_child(check) == 0
    leave.set()
    thread.join()
    assert w.tolist() == [2, 2, 2]
    double()
    assert w.tolist() == [4, 4, 4]
    assert double.statistics().replayed == 1, double.explain()


@pytest.mark.parametrize("count", [10])
def test_threads_that_trace_at_once_make_one_trace(count: int) -> None:
    start, made = threading.Barrier(count), []

    @jit.trace
    def function(x: Any) -> Any:
        return x * 2 + 1

    def work() -> None:
        start.wait()
        made.append(function(tensor([3.0])).item())

    threads = [threading.Thread(target=work) for _ in range(count)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert made == [7] * count
    assert function.statistics().traced == 1, function.explain()


GATED = """
import os
import import_gate
if os.getpid() == import_gate.parent:
    import_gate.entered.set()
    import_gate.leave.wait(60)
VALUE = 7
"""


def test_a_module_that_another_thread_imports_is_imported_anew_in_a_child(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "gated_module.py").write_text(GATED)
    gate: Any = ModuleType("import_gate")
    gate.parent, gate.entered, gate.leave = os.getpid(), threading.Event(), threading.Event()
    monkeypatch.setitem(sys.modules, "import_gate", gate)
    monkeypatch.syspath_prepend(str(tmp_path))

    def check() -> None:
        assert importlib.import_module("gated_module").VALUE == 7
        check_training()

    thread = threading.Thread(target=importlib.import_module, args=("gated_module",))
    thread.start()
    try:
        assert gate.entered.wait(SECONDS)
        assert in_child(check) == 0
    finally:
        gate.leave.set()
        thread.join()
        sys.modules.pop("gated_module", None)
