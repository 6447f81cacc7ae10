"""The workloads: their data, sizes and tolerances. The mathematics stands in losses.py.

A step is the loss, its gradient with respect to every parameter, and p := p - rate * gradient.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rivals import losses
from rivals.losses import Sizes
from rivals.operators import Operators

Arrays = dict[str, NDArray[Any]]
Drawn = tuple[Arrays, Arrays]
Draw = Callable[[np.random.Generator, Sizes], Drawn]

CLASSES = 10


@dataclass(frozen=True)
class Workload:
    """A workload; `small` are sizes for tests.

    `tolerance` is the largest relative error (by Euclidean norms) of the gradient of a parameter in
    the workload's own precision.
    """

    name: str
    title: str
    draw: Draw
    loss: Callable[[Operators, Mapping[str, Any], Mapping[str, Any], Sizes], Any]
    rate: float
    sizes: Sizes
    small: Sizes
    dtype: str = "float32"
    tolerance: float = 2e-5

    def data(self, sizes: Sizes | None = None, dtype: str | None = None) -> Drawn:
        """Parameters and inputs, the same at every call; `dtype` is that of their numbers.

        They are rounded to the workload's own precision first.
        """
        parameters, inputs = self.draw(np.random.default_rng(1234), sizes or self.sizes)
        return self._cast(parameters, dtype), self._cast(inputs, dtype)

    def _cast(self, arrays: Arrays, dtype: str | None) -> Arrays:
        def cast(each: NDArray[Any]) -> NDArray[Any]:
            if each.dtype.kind == "i":
                return each
            return np.ascontiguousarray(each).astype(self.dtype).astype(dtype or self.dtype)

        return {name: cast(each) for name, each in arrays.items()}


def layers(random: np.random.Generator, *widths: int) -> Arrays:
    """The weights and biases of a perceptron."""
    made = {}
    for layer, (entry, out) in enumerate(pairwise(widths)):
        made[f"W{layer}"] = random.standard_normal((entry, out)) / np.sqrt(entry)
        made[f"b{layer}"] = 0.01 * random.standard_normal(out)
    return made


def labels(random: np.random.Generator, batch: int) -> NDArray[np.int32]:
    return random.integers(0, CLASSES, batch, dtype=np.int32)


def _squares(random: np.random.Generator, n: Sizes) -> Drawn:
    return {"x": random.standard_normal(n["elements"])}, {}


def _classified(*hidden: str) -> Draw:
    def draw(random: np.random.Generator, n: Sizes) -> Drawn:
        made = layers(random, n["features"], *(n[each] for each in hidden), CLASSES)
        shape = n["batch"], n["features"]
        return made, {"x": random.standard_normal(shape), "y": labels(random, n["batch"])}

    return draw


def _chain(random: np.random.Generator, n: Sizes) -> Drawn:
    x, a = random.standard_normal((2, n["elements"]))
    return {"x": x}, {"a": a}


def _normalized(random: np.random.Generator, n: Sizes) -> Drawn:
    shape = n["rows"], n["columns"]
    scale, shift = 0.1 * random.standard_normal((2, n["columns"]))
    parameters = {"x": random.standard_normal(shape), "g": 1 + scale, "b": shift}
    return parameters, {"t": random.standard_normal(shape)}


def _lenet(random: np.random.Generator, n: Sizes) -> Drawn:
    parameters = {
        "C0": 0.2 * random.standard_normal((6, 1, 5, 5)),
        "c0": 0.01 * random.standard_normal(6),
        "C1": 0.08 * random.standard_normal((16, 6, 5, 5)),
        "c1": 0.01 * random.standard_normal(16),
        **layers(random, n["features"], n["first"], n["second"], CLASSES),
    }
    shape = n["batch"], 1, n["space"], n["space"]
    return parameters, {"x": random.standard_normal(shape), "y": labels(random, n["batch"])}


def _block(random: np.random.Generator, n: Sizes) -> Drawn:
    entry, out = n["entry"], n["out"]
    parameters = {
        "C0": 0.06 * random.standard_normal((out, entry, 3, 3)),
        "g": 1 + 0.1 * random.standard_normal(out),
        "b": 0.1 * random.standard_normal(out),
        "C1": 0.04 * random.standard_normal((out, out, 3, 3)),
    }
    return parameters, {"x": random.standard_normal((n["batch"], entry, n["space"], n["space"]))}


def _transformer(random: np.random.Generator, n: Sizes) -> Drawn:
    model, hidden = n["heads"] * n["width"], n["hidden"]

    def weight(entry: int, out: int) -> NDArray[Any]:
        return np.asarray(random.standard_normal((entry, out)) / np.sqrt(entry))

    def small(size: int) -> NDArray[Any]:
        return 0.01 * random.standard_normal(size)

    parameters = {
        **{"g1": 1 + small(model), "h1": small(model)},
        **{"Wqkv": weight(model, 3 * model), "bqkv": small(3 * model)},
        **{"Wo": weight(model, model), "bo": small(model)},
        **{"g2": 1 + small(model), "h2": small(model)},
        **{"W1": weight(model, hidden), "b1": small(hidden)},
        **{"W2": weight(hidden, model), "b2": small(model)},
    }
    return parameters, {"x": random.standard_normal((n["batch"], n["length"], model))}


def _lstm(random: np.random.Generator, n: Sizes) -> Drawn:
    gates = 4 * n["hidden"]
    parameters = {
        "Wx": 0.1 * random.standard_normal((n["features"], gates)),
        "Wh": 0.08 * random.standard_normal((n["hidden"], gates)),
        "b": 0.1 * random.standard_normal(gates),
    }
    return parameters, {"x": random.standard_normal((n["steps"], n["batch"], n["features"]))}


def _pendulum(random: np.random.Generator, n: Sizes) -> Drawn:
    return {"s": np.array([1.0, 0.5, 0.1, -0.2]), "m": np.array([1.0, 0.8, 1.0, 0.7])}, {}


def _operators(random: np.random.Generator, n: Sizes) -> Drawn:
    x, w = random.standard_normal((2, n["elements"]))
    return {"x": x, "w": 1 + 0.05 * w}, {}


def _burgers(random: np.random.Generator, n: Sizes) -> Drawn:
    parameters = layers(random, 2, n["hidden"], n["hidden"], 1)
    return parameters, {"x": random.uniform(-1, 1, (n["batch"], 2))}


def sized(**sizes: int) -> Sizes:
    return sizes


WORKLOADS: tuple[Workload, ...] = (
    Workload(
        "W1",
        "sum(x * x) of 10 elements",
        _squares,
        losses.squares,
        1e-4,
        sized(elements=10),
        sized(elements=4),
    ),
    Workload(
        "W2",
        "softmax regression, 64 rows",
        _classified(),
        losses.regression,
        0.01,
        sized(batch=64, features=784),
        sized(batch=4, features=6),
    ),
    Workload(
        "W3",
        "perceptron 784-256-128-10, 64 rows",
        _classified("first", "second"),
        losses.classifier,
        0.01,
        sized(batch=64, features=784, first=256, second=128),
        sized(batch=4, features=6, first=5, second=4),
    ),
    Workload(
        "W3b",
        "perceptron 784-1024-1024-10, 1024 rows",
        _classified("first", "second"),
        losses.classifier,
        0.01,
        sized(batch=1024, features=784, first=1024, second=1024),
        sized(batch=6, features=5, first=7, second=4),
        tolerance=3e-3,  # of two million rectifiers, one near 0 has another sign in float32
    ),
    Workload(
        "W4",
        "elementwise chain, 1 000 000 elements",
        _chain,
        losses.chain,
        1e3,
        sized(elements=1_000_000),
        sized(elements=7),
    ),
    Workload(
        "W4b",
        "elementwise chain, 10 000 elements",
        _chain,
        losses.chain,
        10.0,
        sized(elements=10_000),
        sized(elements=9),
    ),
    Workload(
        "W5",
        "layer norm, GELU, softmax of 512 x 1024",
        _normalized,
        losses.normalized,
        1.0,
        sized(rows=512, columns=1024),
        sized(rows=3, columns=5),
    ),
    Workload(
        "W6",
        "LeNet, 64 images",
        _lenet,
        losses.lenet,
        0.01,
        sized(batch=64, space=28, features=400, first=120, second=84),
        sized(batch=2, space=16, features=64, first=6, second=5),
    ),
    Workload(
        "W6b",
        "convolutions with batch norm, 16 x 32 x 32 x 32",
        _block,
        losses.block,
        0.01,
        sized(batch=16, entry=32, out=64, space=32),
        sized(batch=2, entry=2, out=3, space=4),
    ),
    Workload(
        "W7",
        "transformer block, 8 x 128 x 256",
        _transformer,
        losses.transformer,
        0.1,
        sized(batch=8, length=128, heads=4, width=64, hidden=1024),
        sized(batch=2, length=3, heads=2, width=2, hidden=5),
    ),
    Workload(
        "W8",
        "LSTM, 64 steps of 32 x 128",
        _lstm,
        losses.lstm,
        0.1,
        sized(steps=64, batch=32, features=64, hidden=128),
        sized(steps=4, batch=2, features=3, hidden=2),
    ),
    Workload(
        "W9",
        "pendulum, 200 Runge-Kutta steps",
        _pendulum,
        losses.pendulum,
        1e-6,
        sized(steps=200),
        sized(steps=3),
        dtype="float64",
        tolerance=1e-10,
    ),
    Workload(
        "W10",
        "1000 elementwise operators of 1000",
        _operators,
        losses.operators,
        0.1,
        sized(elements=1000, rounds=250),
        sized(elements=3, rounds=20),
        tolerance=1e-3,  # errors of tanh add up along the chain
    ),
    Workload(
        "W11",
        "third derivatives: Burgers' equation, 1024 points",
        _burgers,
        losses.burgers,
        1e-3,
        sized(batch=1024, hidden=64),
        sized(batch=5, hidden=4),
    ),
)
BY_NAME = {each.name: each for each in WORKLOADS}
