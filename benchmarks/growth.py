"""How what a first run costs grows with the steps of a program.

python benchmarks/growth.py [SHAPE ...] [--steps N ...]    prints a table

Each shape is built with an empty cache, in a process of its own. The seconds are those of the
processors, of gradc and of the compilers. The ratio is that of the seconds to what the fewest steps
would take if they grew evenly: 1 is linear.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from figure import Figure

import gradc
import gradc.functional as F
import gradc.module as M
import gradc.optimizer as optim
from gradc.autodiff import GradManager, grad

STEPS = (100, 200, 400, 800)
MOST_TIMES_LINEAR = 3.0
MOST_COMPILER = 1000.0
"""Megabytes that one process of a compiler may take."""


@dataclass
class Growth:
    """The cost of a shape of so many steps: seconds of gradc and of compilers, megabytes of the
    largest compiler and of gradc, the kilobytes of C, and the most buffers of one kernel."""

    shape: str
    steps: int
    own_seconds: float
    compiler_seconds: float
    own: float
    compiler: float
    source: float
    buffers: int

    @property
    def seconds(self) -> float:
        """Seconds of all processes."""
        return self.own_seconds + self.compiler_seconds


Shape = Callable[[int], list[Any]]


def recurrent(name: str) -> Shape:
    """The first gradient of a recurrent layer over a batch of 1."""

    def run(steps: int) -> list[Any]:
        gradc.manual_seed(0)
        layer = getattr(M, name)(16, 16)
        x = gradc.tensor(np.random.default_rng(0).random((steps, 1, 16)))
        with GradManager().attach(layer.parameters()) as manager:
            y, _ = layer(x)
            manager.backward((y**2).sum())
        return [each.grad.numpy() for each in layer.parameters()]

    return run


def masked_chain(steps: int) -> list[Any]:
    """The first gradient of a chain of unlike operators, each of them clipped."""
    kinds: list[Callable[[Any], Any]] = [
        F.sin,
        F.cos,
        F.tanh,
        F.exp,
        F.sigmoid,
        F.abs,
        F.atan,
        F.softplus,
        lambda x: x * 0.5,
        lambda x: x + 1.0,
        lambda x: x / 3.0,
        lambda x: x * x,
        lambda x: F.maximum(x, 0.1),
    ]
    choose = random.Random(7)
    chosen = [choose.choice(kinds) for _ in range(steps)]

    def chain(x: Any) -> Any:
        for each in chosen:
            x = F.clip(each(x), -3, 3)
        return x.sum()

    return [grad(chain)(gradc.tensor(np.linspace(-1, 1, 1000))).numpy()]


def stored_recursion(steps: int) -> list[Any]:
    """y[i] = f(y[i-1]), all values put together."""
    values = [gradc.tensor(np.linspace(0.1, 0.9, 10))]
    for _ in range(steps):
        values.append(F.sin(values[-1]) * 0.9 + 0.1)
    return [F.stack(values).numpy()]


def growing_concatenation(steps: int) -> list[Any]:
    """x = concat([x, f(x[-1:])]), again and again."""
    x = gradc.tensor(np.linspace(0.1, 0.9, 3))
    for _ in range(steps):
        x = F.concat([x, F.sin(x[-1:]) + 0.1 * x[-2:-1]])
    return [x.numpy()]


def maximum_of_parts(steps: int) -> list[Any]:
    """The gradient of the maximum of many parts."""

    def greatest(x: Any) -> Any:
        parts = F.split(x, steps)
        most = parts[0]
        for each in parts[1:]:
            most = F.maximum(most, each)
        return most.sum()

    return [grad(greatest)(gradc.tensor(np.random.default_rng(0).random(8 * steps))).numpy()]


def nested_wheres(steps: int) -> list[Any]:
    """A table of cases, one `where` within the next."""
    x = gradc.tensor(np.linspace(0, steps, 1000))
    y = F.zeros_like(x)
    for each in range(steps):
        y = F.where(x > each, x * float(each) + y, y)
    return [y.numpy()]


def optimizer(name: str) -> Shape:
    """One step of an optimizer of many parameters, which have few shapes between them."""

    def run(steps: int) -> list[Any]:
        shapes = ((16, 16), (16,), (3, 16), (8,))
        parameters = [gradc.Parameter(np.ones(shapes[each % 4])) for each in range(steps)]
        step = getattr(optim, name)(parameters, lr=0.1)
        with GradManager().attach(parameters) as manager:
            manager.backward(sum((each * each).sum() for each in parameters))
        step.step()
        return [each.numpy() for each in parameters]

    return run


def split_and_stacked(steps: int) -> list[Any]:
    """Many parts of one tensor, each with an operator of its own, side by side again."""
    parts = F.split(gradc.tensor(np.random.default_rng(0).random((steps, 16))), steps)
    functions = (F.sin, F.exp, F.tanh, F.abs, F.square)
    made = [functions[at * at % 5](each) * float(at) for at, each in enumerate(parts)]
    return [F.concat(made).numpy()]


def many_results(steps: int) -> list[Any]:
    """Many small tensors, each of them wanted."""
    x = gradc.tensor(np.linspace(0, 1, 16))
    functions = (F.sin, F.exp, F.tanh, F.abs, F.square)
    made = [functions[at * at % 5](x * float(at)).sum() for at in range(steps)]
    return [each.numpy() for each in made]


def sum_of_broadcasts(steps: int) -> list[Any]:
    """The gradient of a sum of many small tensors, spread over one space."""
    terms = [gradc.tensor(np.ones([(8, 1), (1, 8), (8, 8)][each % 3])) for each in range(steps)]
    with GradManager().attach(terms) as manager:
        total = terms[0]
        for each in terms[1:]:
            total = total + F.sin(each)
        manager.backward((total * total).sum())
    return [each.grad.numpy() for each in terms]


SHAPES: dict[str, Shape] = {
    "gru": recurrent("GRU"),
    "lstm": recurrent("LSTM"),
    "rnn": recurrent("RNN"),
    "masked chain": masked_chain,
    "stored recursion": stored_recursion,
    "growing concatenation": growing_concatenation,
    "maximum of parts": maximum_of_parts,
    "nested wheres": nested_wheres,
    "sgd": optimizer("SGD"),
    "adam": optimizer("Adam"),
    "split and stacked": split_and_stacked,
    "many results": many_results,
    "sum of broadcasts": sum_of_broadcasts,
}
"""Programs of so many steps, run once."""


def run_shape(shape: str, steps: int) -> Growth:
    """Run a shape in this process."""
    begun = time.process_time()
    SHAPES[shape](steps)
    own_seconds = time.process_time() - begun
    compilers = resource.getrusage(resource.RUSAGE_CHILDREN)
    own = resource.getrusage(resource.RUSAGE_SELF)
    texts = [each.source for each in gradc.programs()]
    touched = re.findall(r"call->buffers\[(\d+)\]", "".join(texts))
    return Growth(
        shape=shape,
        steps=steps,
        own_seconds=own_seconds,
        compiler_seconds=compilers.ru_utime + compilers.ru_stime,
        own=own.ru_maxrss / 1000,
        compiler=compilers.ru_maxrss / 1000,
        source=sum(map(len, texts)) / 1000,
        buffers=max(map(int, touched), default=-1) + 1,
    )


def measured(shape: str, steps: int, timeout: float | None = None) -> Growth:
    """Run a shape with an empty cache, in a process of its own."""
    with TemporaryDirectory() as folder:
        ended = subprocess.run(
            [sys.executable, __file__, "--here", shape, "--steps", str(steps)],
            env=dict(os.environ, GRADC_CACHE_DIR=folder),
            capture_output=True,
            text=True,
            check=True,
            timeout=timeout,
        )
    return Growth(**json.loads(ended.stdout.splitlines()[-1]))


def figures() -> list[Figure]:
    """For each shape, how much faster than its steps its seconds grow, and the largest compiler."""
    made = []
    for shape in SHAPES:
        few, many = (measured(shape, steps) for steps in (STEPS[0], STEPS[-1]))
        times = _times_linear(few, many)
        title = f"{shape}, {many.steps} steps"
        made += [
            Figure(f"{title}: first run", many.seconds, "s"),
            Figure(f"{title}: times linear growth", times, "", MOST_TIMES_LINEAR),
            Figure(f"{title}: largest compiler", many.compiler, "MB", MOST_COMPILER),
        ]
    return made


def _times_linear(few: Growth, many: Growth) -> float:
    return many.seconds / few.seconds / (many.steps / few.steps)


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("shapes", nargs="*", metavar="SHAPE", help=", ".join(SHAPES))
    parser.add_argument("--steps", nargs="+", type=int, default=STEPS)
    parser.add_argument("--timeout", type=float, help="seconds for one shape")
    parser.add_argument("--here", metavar="SHAPE", help="run this one in this process")
    given = parser.parse_args()
    if given.here:
        print(json.dumps(asdict(run_shape(given.here, given.steps[0]))))
        return
    print(
        "shape                    steps    gradc s  compiler s  x linear"
        "  compiler MB  own MB  kB of C  buffers"
    )
    for shape in given.shapes or SHAPES:
        first = None
        for steps in given.steps:
            try:
                found = measured(shape, steps, given.timeout)
            except subprocess.TimeoutExpired:
                print(f"{shape:24} {steps:5}  more than {given.timeout:g} s", flush=True)
                break
            first = first or found
            times = _times_linear(first, found)
            print(
                f"{shape:24} {steps:5} {found.own_seconds:10.2f} {found.compiler_seconds:11.2f}"
                f" {times:9.2f} {found.compiler:12.0f} {found.own:7.0f}"
                f" {found.source:8.0f} {found.buffers:8}",
                flush=True,
            )


if __name__ == "__main__":
    main()
