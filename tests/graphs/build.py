"""Graphs from functions of nodes, with the derivatives of what they compute."""

from collections.abc import Callable, Sequence
from typing import Any

from contract.compute import leaf
from gradc.tracer.adjoint import adjoint
from gradc.tracer.graph import Graph, canonical
from gradc.tracer.ir import Node, labelled, node
from gradc.tracer.ops import markers, sources

Function = Callable[..., Node | Sequence[Node]]


def composed(function: Any, *arguments: Any, **static: Any) -> Node:
    """A function of gradc.functional on nodes, labelled as a recording labels it."""
    with labelled(function.__name__):
        made: Node = function.__wrapped__(*arguments, **static)
    return made


def one(like: Node) -> Node:
    """Ones in the shape and type of `like`."""
    return sources.full(1, like.shape, like.dtype)


def scalar(slot: int, like: Node) -> Node:
    """The run-time float number `slot`, in the type of `like`."""
    return node(sources.scalar, (), (slot, "f", like.dtype))


def graph_of(*outputs: Node) -> Graph:
    """The graph of `outputs`, its leaves numbered in order of their first use."""
    return canonical(outputs)[0]


def tracked(leaves: Sequence[Node]) -> list[Node]:
    """`leaves` as a manager sees them that they are attached to."""
    return [node(markers.track, (each,), (number,)) for number, each in enumerate(leaves)]


def gradients(target: Node, wrt: Sequence[Node], seed: Node | None = None) -> list[Node]:
    """The cotangents of those `wrt` that `target` depends on, in the order of `wrt`."""
    found = adjoint([target], [one(target) if seed is None else seed], wrt, manager=0)
    return [found[each] for each in wrt if each in found]


def with_gradients(function: Function, *leaves: Node) -> Graph:
    """What `function` gives for `leaves`, and the derivatives of its first result.

    A result that is no single number gets a cotangent from outside, as one more input.
    """
    inputs = tracked(leaves)
    made = function(*inputs)
    results = [made] if isinstance(made, Node) else list(made)
    target = results[0]
    seed = None if target.type.size == 1 else leaf(len(leaves), target.shape, target.dtype)
    differentiable = [each for each in inputs if each.dtype.is_float]
    return graph_of(*results, *gradients(target, differentiable, seed))
