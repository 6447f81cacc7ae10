"""The losses of the workloads, each written once over the operators of a framework `f`.

`p` are the parameters, `i` the inputs and `n` the sizes of a workload.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from rivals.operators import Operators
from rivals.pendulum import energy, runge_kutta

Tensors = Mapping[str, Any]
Sizes = Mapping[str, int]


def perceptron(
    f: Operators, p: Tensors, x: Any, layers: int, activation: Callable[[Any], Any]
) -> Any:
    """Affine layers with an activation between them."""
    for layer in range(layers):
        x = f.affine(x, p[f"W{layer}"], p[f"b{layer}"])
        if layer < layers - 1:
            x = activation(x)
    return x


def squares(f: Operators, p: Tensors, i: Tensors, n: Sizes) -> Any:
    """The smallest gradient."""
    return f.sum(p["x"] * p["x"])


def regression(f: Operators, p: Tensors, i: Tensors, n: Sizes) -> Any:
    """Softmax regression."""
    return f.cross_entropy(perceptron(f, p, i["x"], 1, f.relu), i["y"], n["batch"])


def classifier(f: Operators, p: Tensors, i: Tensors, n: Sizes) -> Any:
    """A perceptron of three layers."""
    return f.cross_entropy(perceptron(f, p, i["x"], 3, f.relu), i["y"], n["batch"])


def chain(f: Operators, p: Tensors, i: Tensors, n: Sizes) -> Any:
    """Elementwise operators that one pass over memory can compute."""
    x, a = p["x"], i["a"]
    t = f.tanh(x * a)
    u = t * t + 1
    w = f.exp(-u) * x
    r = 1 / (1 + f.exp(-w)) * t - a
    y = f.sqrt(f.log(r * r / (u + 0.5) + 1) + 1e-3)
    return f.mean(f.tanh(y) * 0.5 + y * x * 0.1)


def normalized(f: Operators, p: Tensors, i: Tensors, n: Sizes) -> Any:
    """Layer norm, GELU and softmax, weighted."""
    made = f.softmax(f.gelu(f.layer_norm(p["x"], p["g"], p["b"])))
    return f.sum(made * i["t"]) / n["rows"]


def lenet(f: Operators, p: Tensors, i: Tensors, n: Sizes) -> Any:
    """LeNet-5 with rectifiers and maxima."""
    x = f.max_pool(f.relu(f.conv(i["x"], p["C0"], p["c0"], padding=2)))
    x = f.max_pool(f.relu(f.conv(x, p["C1"], p["c1"], padding=0)))
    logits = perceptron(f, p, x.reshape((n["batch"], n["features"])), 3, f.relu)
    return f.cross_entropy(logits, i["y"], n["batch"])


def block(f: Operators, p: Tensors, i: Tensors, n: Sizes) -> Any:
    """Two convolutions with batch norm between them."""
    x = f.conv(i["x"], p["C0"], None, padding=1)
    x = f.conv(f.relu(f.batch_norm(x, p["g"], p["b"])), p["C1"], None, padding=1)
    return f.mean(x * x)


def transformer(f: Operators, p: Tensors, i: Tensors, n: Sizes) -> Any:
    """A pre-norm encoder block."""
    batch, length, heads, width = n["batch"], n["length"], n["heads"], n["width"]
    x = i["x"]
    joint = f.affine(f.layer_norm(x, p["g1"], p["h1"]), p["Wqkv"], p["bqkv"])
    joint = joint.reshape((batch, length, 3, heads, width))
    query, key, value = f.components(f.permuted(joint, 2, 0, 3, 1, 4), 3)
    mixed = f.permuted(f.attention(query, key, value, width), 0, 2, 1, 3)
    x = x + f.affine(mixed.reshape((batch, length, heads * width)), p["Wo"], p["bo"])
    hidden = f.gelu(f.affine(f.layer_norm(x, p["g2"], p["h2"]), p["W1"], p["b1"]))
    x = x + f.affine(hidden, p["W2"], p["b2"])
    return f.mean(x * x)


def lstm(f: Operators, p: Tensors, i: Tensors, n: Sizes) -> Any:
    """An LSTM, whose products with the inputs are one."""
    steps, batch, features, hidden = n["steps"], n["batch"], n["features"], n["hidden"]
    flat = f.affine(i["x"].reshape((steps * batch, features)), p["Wx"], p["b"])

    def cell(gates: Any, h: Any, c: Any, weight: Any) -> tuple[Any, Any]:
        entry, forget, fresh, out = f.parts(gates + h @ weight, 4, hidden)
        c = f.sigmoid(forget) * c + f.sigmoid(entry) * f.tanh(fresh)
        return f.sigmoid(out) * f.tanh(c), c

    nothing = f.zeros((batch, hidden))
    gates = flat.reshape((steps, batch, 4 * hidden))
    h, _ = f.folded(cell, gates, (nothing, nothing), p["Wh"], steps)
    return f.mean(h * h)


def pendulum(f: Operators, p: Tensors, i: Tensors, n: Sizes) -> Any:
    """The energy of a pendulum of two links behind an integration."""
    state, constants = f.components(p["s"], 4), f.components(p["m"], 4)

    def step(state: Any, constants: Any) -> Any:
        return runge_kutta(f, state, constants)

    return energy(f, f.repeated(step, state, constants, n["steps"]), constants)


def operators(f: Operators, p: Tensors, i: Tensors, n: Sizes) -> Any:
    """A long chain of small operators."""
    h = p["x"]
    for _ in range(n["rounds"]):
        h = f.tanh(h * 1.001 + 0.01) * p["w"]
    return f.mean(h)


def burgers(f: Operators, p: Tensors, i: Tensors, n: Sizes) -> Any:
    """The residual of Burgers' equation, u_t + u u_x - 0.01 u_xx, of a network u(t, x)."""

    def network(points: Any, parameters: Tensors = p) -> Any:
        return perceptron(f, parameters, points, 3, f.tanh)

    u, u_t, u_x, u_xx = f.derivatives(network, i["x"])
    residual = u_t + u * u_x - 0.01 * u_xx
    return f.mean(residual * residual)
