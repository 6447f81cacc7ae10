"""Small graphs that people know: each is compiled well or not, which the tests of the passes show.

They are the graphs of tests/golden, too. Sizes are small enough to be read.
"""

from collections.abc import Callable

from contract.compute import leaf
from gradc.tracer.dtypes import bfloat16, float16, float32, float64, int32
from gradc.tracer.graph import Graph
from gradc.tracer.ir import Node
from gradc.tracer.methods import mean_of
from gradc.tracer.ops import elementwise as e
from gradc.tracer.ops import indexing, movement, reduction
from gradc.tracer.ops.kinds import cast_to
from graphs.build import composed, gradients, graph_of, scalar, tracked, with_gradients

from gradc import functional as F


def mean(x: Node) -> Node:
    """The mean of all elements, as a 0-d value."""
    return mean_of(x, None, keepdims=False)


def chain(x: Node) -> tuple[Node, Node]:
    """An elementwise function, and the mean of its squares."""
    y = e.tanh(e.sin(x) * x + 1.0)
    return mean(y * y), y


def softmax() -> Graph:
    """Softmax along the last axis, and its derivative."""
    return with_gradients(lambda x: composed(F.softmax, x, -1), leaf(0, (6, 40), float32))


def layer_norm() -> Graph:
    """Layer normalization with weight and bias, and its derivatives."""
    leaves = leaf(0, (6, 40), float32), leaf(1, (40,), float32), leaf(2, (40,), float32)
    return with_gradients(lambda x, w, b: composed(F.layer_norm, x, 40, True, w, b), *leaves)


def cross_entropy() -> Graph:
    """The cross entropy of biased logits, and the derivatives by logits and bias."""
    leaves = leaf(0, (6, 10), float32), leaf(1, (10,), float32), leaf(2, (6,), int32)

    def loss(x: Node, bias: Node, label: Node) -> Node:
        return composed(F.cross_entropy, x + bias, label)

    return with_gradients(loss, *leaves)


def perceptron() -> Graph:
    """One step of gradient descent of a perceptron with a hidden layer."""
    shapes = (16, 12), (20, 12), (20,), (5, 20), (5,), (16, 5)
    x, *parameters, wanted = tracked([leaf(k, shape, float32) for k, shape in enumerate(shapes)])
    w1, b1, w2, b2 = parameters
    hidden = composed(F.relu, composed(F.linear, x, w1, b1))
    loss = composed(F.square_loss, composed(F.linear, hidden, w2, b2), wanted)
    rate = scalar(0, x)
    steps = gradients(loss, parameters)
    return graph_of(loss, *(p - rate * g for p, g in zip(parameters, steps, strict=True)))


def sum_of_squares() -> Graph:
    """The sum of squares of a vector, and its derivative."""
    return with_gradients(lambda x: reduction.sum(x * x, (0,)), leaf(0, (1000,)))


def elementwise_chain() -> Graph:
    """A function of each element, the mean of its squares, and the derivative."""
    return with_gradients(chain, leaf(0, (50, 20)))


def transpose_reshape() -> Graph:
    """Heads split and put in front, as attention does it."""
    x = leaf(0, (2, 5, 12), float32)
    heads = movement.transpose(movement.reshape(x, (2, 5, 3, 4)), (0, 2, 1, 3))
    back = movement.reshape(movement.transpose(e.exp(heads), (0, 2, 1, 3)), (2, 5, 12))
    return graph_of(heads * 0.5, back + x)


def concat_pad() -> Graph:
    """Two blocks side by side, a border of zeros, and the derivatives."""
    leaves = leaf(0, (3, 4)), leaf(1, (3, 2))

    def bordered(x: Node, y: Node) -> Node:
        beside = movement.concat((x * x, y), 1)
        return movement.pad(beside, (1, 1), (1, 1))

    return with_gradients(bordered, *leaves)


def take_scatter() -> Graph:
    """Rows of a table by index, and the derivative that adds up rows."""
    leaves = leaf(0, (10, 4), float32), leaf(1, (7,), int32)
    return with_gradients(lambda table, rows: indexing.take(table, rows, 0), *leaves)


def argmax() -> Graph:
    """The place of the largest element of each row, and how often it is the label."""
    x, label = leaf(0, (8, 10), float32), leaf(1, (8,), int32)
    found = movement.reshape(reduction.argmax(x, (1,)), (8,))
    return graph_of(found, mean(cast_to(e.eq(found, label), float32)))


def adam() -> Graph:
    """One update of Adam, in place of parameter and moments."""
    p, g, m, v = (leaf(k, (100,), float32) for k in range(4))
    rate, beta1, beta2, debias1, debias2 = (scalar(k, p) for k in range(5))
    m2 = beta1 * m + (1.0 - beta1) * g
    v2 = beta2 * v + (1.0 - beta2) * (g * g)
    step = rate * (m2 / debias1) / (e.sqrt(v2 / debias2) + 1e-8)
    return graph_of(p - step, m2, v2)


def half_types() -> Graph:
    """Sums and products of float16 and bfloat16."""
    x, y = leaf(0, (4, 30), float16), leaf(1, (30,), bfloat16)
    product = x * cast_to(y, float16)
    return graph_of(e.exp(product), reduction.sum(product, (1,)), reduction.sum(y * y, (0,)))


NAMED: dict[str, Callable[[], Graph]] = {
    each.__name__: each
    for each in (
        *(softmax, layer_norm, cross_entropy, perceptron, sum_of_squares, elementwise_chain),
        *(transpose_reshape, concat_pad, take_scatter, argmax, adam, half_types),
    )
}


def attention() -> Graph:
    """Scaled dot product attention with two heads, and its derivatives."""
    leaves = [leaf(k, (2, 9, 8), float64) for k in range(3)]

    def attend(q: Node, k: Node, v: Node) -> Node:
        scores = composed(F.matmul, q, movement.transpose(k, (0, 2, 1))) * 0.25
        return composed(F.matmul, composed(F.softmax, scores, -1), v)

    return with_gradients(attend, *leaves)


def convolutions() -> Graph:
    """Two convolutions, the windows of the second spread, and their adjoints."""

    def two(x: Node, w: Node, v: Node) -> Node:
        wide = composed(F.relu, composed(F.conv2d, x, w, None, 1, 1))
        return composed(F.conv2d, wide, v, None, 1, 0, 2)

    weights = leaf(1, (5, 2, 3, 3), float32), leaf(2, (3, 5, 3, 3), float32)
    return with_gradients(two, leaf(0, (2, 2, 9, 11), float32), *weights)


def short_rows() -> Graph:
    """Rows that go in batches, of which the last is short: a softmax of what was normalized."""
    leaves = leaf(0, (71, 12), float32), leaf(1, (12,), float32), leaf(2, (12,), float32)
    return with_gradients(
        lambda x, w, b: composed(F.softmax, composed(F.layer_norm, x, 12, True, w, b), -1), *leaves
    )


def pairs_in_rows() -> Graph:
    """Rows of pairs, whose axis of two is written out."""

    def shares(a: Node, b: Node) -> Node:
        powers = e.exp(movement.concat((a, b), 2))
        part = powers / movement.broadcast(reduction.sum(powers, (1, 2)), powers.shape)
        most = movement.broadcast(reduction.max(part * part, (1, 2)), powers.shape)
        return part - most

    return with_gradients(shares, leaf(0, (70, 9, 1), float32), leaf(1, (70, 9, 1), float32))


LARGER: dict[str, Callable[[], Graph]] = {
    "attention": attention,
    "convolutions": convolutions,
    "short rows": short_rows,
    "pairs in rows": pairs_in_rows,
}
"""Graphs that are no golden files."""

EVERY = {**NAMED, **LARGER}
