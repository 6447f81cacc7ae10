"""Graphs: what is handed to the compiler, numbered by itself and free of its recording."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from .cached import cached_property
from .ir import Node, node, topological, with_inputs
from .ops import sources


@dataclass(frozen=True)
class Graph:
    """A set of output nodes over canonically numbered leaves.

    `inputs` are the tensor leaves, by slot; `floats` and `ints` count the run-time scalars.
    `order` are all nodes, inputs first; `known` is for what others compute of the graph once.
    """

    inputs: tuple[Node, ...]
    floats: int
    ints: int
    outputs: tuple[Node, ...]

    def with_order(self, order: Iterable[Node]) -> Graph:
        """This graph, of which `order` is known to be the order: no edge is followed again."""
        self.__dict__["order"] = tuple(order)
        return self

    @cached_property
    def order(self) -> tuple[Node, ...]:
        """All nodes, inputs first."""
        return tuple(topological(self.outputs))

    @cached_property
    def known(self) -> dict[str, str]:
        """What has been computed of the graph, by name."""
        return {}

    def nodes(self) -> list[Node]:
        """All nodes, inputs first."""
        return list(self.order)


@dataclass(frozen=True, slots=True)
class Binding:
    """Where a canonical graph's leaves come from.

    `inputs` are nodes of the recording (leaves, or values that exist already); `floats` and `ints`
    are slots of its scalars. `image` gives the graph's node for each of the recording.
    """

    inputs: tuple[Node, ...]
    floats: tuple[int, ...]
    ints: tuple[int, ...]
    image: dict[Node, Node]


def canonical(outputs: Sequence[Node], known: Collection[Node] = ()) -> tuple[Graph, Binding]:
    """The graph of `outputs`, leaves numbered in order of first use, markers left out.

    Nodes in `known` exist already and become inputs.
    """
    inputs: list[Node] = []
    scalars: dict[str, dict[int, int]] = {"f": {}, "i": {}}
    image: dict[Node, Node] = {}
    leaves: list[Node] = []
    image_of = image.__getitem__  # mapped, which is quicker than comprehensions
    for each in topological(outputs, known):
        if each.inputs and each.op.kind != "marker" and each not in known:  # most
            made = with_inputs(each, tuple(map(image_of, each.inputs)))
        elif each in known or each.op is sources.input_:
            slot, kind = len(inputs), each.type
            inputs.append(each)
            made = node(sources.input_, (), (slot, kind.dtype, kind.shape, kind.device))
            leaves.append(made)
        elif each.op is sources.scalar:
            made = _numbered_scalar(each, scalars)
        elif each.op.kind == "marker":
            made = image[each.inputs[0]]
        else:
            made = each
        image[each] = made
    floats, ints = tuple(scalars["f"]), tuple(scalars["i"])
    graph = Graph(tuple(leaves), len(floats), len(ints), tuple(image[each] for each in outputs))
    graph.with_order(dict.fromkeys(image.values()))
    return graph, Binding(tuple(inputs), floats, ints, image)


def _numbered_scalar(each: Node, scalars: dict[str, dict[int, int]]) -> Node:
    slot, source, dtype = each.attrs
    seen = scalars[source]
    return node(sources.scalar, (), (seen.setdefault(slot, len(seen)), source, dtype))
