"""The program of a graph: its kernels in the order in which they run, and their memories."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import prod

from ..tracer.graph import Graph
from ..tracer.ir import Node
from ..tracer.ops import movement, sources
from .addend import with_addends
from .assemble import Assembly, Names, label_of
from .contract import implicit_launches
from .fuse import Fused, Matrix, Step, fuse, implicit_in, matrix, read_by
from .index import Axis, Index, of_axis, row_major, substituted
from .kernel import Check, Kernel, Launch, Memory, Place, Product, Program, Repeat, memories_of
from .loop import Carried, Feed, Loop
from .lower import Lowering
from .scan import scan_launches
from .scatter import scatter_launches
from .sort import sort_launches
from .target import Target


def program_of(graph: Graph, target: Target) -> Program:
    """Lower `graph` to kernels."""
    results, outputs = _results(graph)
    order = Graph(graph.inputs, graph.floats, graph.ints, tuple(outputs)).nodes()
    fused = with_addends(fuse(outputs, order, target), outputs, target)
    making = _Making(graph, outputs, fused)
    launches = [
        launch
        for step in fused.steps
        for launch in making.launches_of(step, fused.lowering, target)
        if not _is_idle(launch)
    ]
    return Program(
        launches=tuple(launches),
        inputs=tuple(making.inputs),
        outputs=tuple(making.memories[node] for node in outputs),
        results=results,
        checks=tuple(making.checks),
        floats=graph.floats,
        ints=graph.ints,
    )


def _is_idle(launch: Launch) -> bool:
    """Whether there is nothing to write and nothing to check."""
    checks = isinstance(launch, Kernel) and launch.checks
    return not checks and not any(memory.size for memory, writes in memories_of(launch) if writes)


def _results(graph: Graph) -> tuple[tuple[tuple[str, int], ...], list[Node]]:
    """Which memory each output is, and the distinct nodes to compute.

    A reshaped value is the same elements, so it is no output of its own.
    """
    outputs: list[Node] = []
    results: list[tuple[str, int]] = []
    for node in graph.outputs:
        base = node
        while base.op is movement.reshape_op:
            (base,) = base.inputs
        if base.op is sources.input_:
            results.append(("input", base.attrs[0]))
            continue
        if base not in outputs:
            outputs.append(base)
        results.append(("output", outputs.index(base)))
    return tuple(results), outputs


def _needed_outside(fused: Fused, outputs: Iterable[Node]) -> set[Node]:
    """The nodes that are needed when the kernel that computes them has ended."""
    needed = set(outputs)
    for step in fused.steps:
        if step.alone is not None:
            needed |= read_by(step.alone, fused.lowering)
            needed |= {step.addend.node} if step.addend is not None else set()
        elif step.cluster is not None:
            read = {load.node for item in step.cluster.items for load in item.loads}
            needed |= read - step.cluster.fits.keys()
    return needed


ALONE = {"scatter": scatter_launches, "scan": scan_launches, "sort": sort_launches}
"""Who makes the kernels of operators that nothing is fused with, by their kind."""


class _Making:
    """The memories and checks of a program while its kernels are made."""

    def __init__(self, graph: Graph, outputs: Sequence[Node], fused: Fused) -> None:
        self.inputs = [Memory(leaf.dtype, leaf.type.size, "input") for leaf in graph.inputs]
        self.memories = {node: Memory(node.dtype, node.type.size, "output") for node in outputs}
        self.outside = _needed_outside(fused, outputs)
        self.homes = fused.homes
        self.wholes = {whole for whole, _ in fused.homes.values()}
        self.checks: list[Check] = []
        self.packed: set[Node] = set()
        self.names = Names(self.written, self.read, self.check)

    def written(self, node: Node) -> Memory:
        """Where `node` is stored."""
        if node in self.homes and node not in self.memories:
            whole, start = self.homes[node]
            within = self.written(whole), start
            self.memories[node] = Memory(node.dtype, node.type.size, "part", within)
        if node not in self.memories:
            self.memories[node] = Memory(node.dtype, node.type.size, "arena")
        return self.memories[node]

    def read(self, node: Node) -> Memory:
        """Where `node` is read."""
        return self.inputs[node.attrs[0]] if node.op is sources.input_ else self.written(node)

    def check(self, node: Node) -> int:
        """The number of the check that `node` makes."""
        check = Check(node, node.attrs[0])
        if check not in self.checks:
            self.checks.append(check)
        return self.checks.index(check)

    def launches_of(self, step: Step, lowering: Lowering, target: Target) -> list[Launch]:
        """The kernels of one step."""
        if step.cluster is not None:
            return Assembly(step.cluster, self.outside, self.names, target).build()
        assert step.alone is not None
        if step.alone in self.wholes:
            return []
        if step.alone.op.kind == "loop":
            return [self._repeat(step.alone.attrs[0], target)]
        make = ALONE.get(step.alone.op.kind)
        if make is not None:
            return make(step.alone, lowering, self.names, target)
        implicit = implicit_in(step.alone, lowering, target)
        if implicit is not None:
            return implicit_launches(implicit, lowering, self.names, target, self.packed)
        return [self._product(step.alone, step.total or step.alone, step.addend, lowering)]

    def _repeat(self, loop: Loop, target: Target) -> Repeat:
        body = program_of(loop.body, target)
        moving = {
            memory: self._places(feed, loop)
            for memory, feed in zip(body.inputs, loop.feeds, strict=True)
        }
        for (_, output), stack in zip(body.results, loop.stacks, strict=True):
            moving[body.outputs[output]] = self._slots(stack, loop, loop.count)
        names = dict.fromkeys(label_of([each]) for each in loop.body.outputs)
        label = "_".join([*list(names)[:3], "loop"])
        return Repeat(label, loop.count, body.launches, moving)

    def _places(self, feed: Feed, loop: Loop) -> tuple[Place, ...]:
        """Where each step of `loop` reads what `feed` says."""
        given = feed.initial if isinstance(feed, Carried) else feed.pieces
        places = tuple((self.read(loop.inputs[number]), start) for number, start in given)
        if isinstance(feed, Carried):
            places += self._slots(loop.stacks[feed.output], loop, loop.count - feed.lag)
        return places

    def _slots(self, stack: Node, loop: Loop, steps: int) -> tuple[Place, ...]:
        """The slots of a loop's value, in so many steps."""
        slots, *shape = stack.shape
        memory = self.written(stack)
        return tuple((memory, loop.slot(slots, step) * prod(shape)) for step in range(steps))

    def _product(
        self, node: Node, total: Node, addend: Matrix | None, lowering: Lowering
    ) -> Product:
        a, b = (_operand(each, node, lowering) for each in node.inputs)
        rows, columns = node.shape[-2:]
        batch = tuple(Axis(number, extent) for number, extent in enumerate(node.shape[:-2]))
        base = row_major(tuple(of_axis(axis) for axis in batch), node.shape[:-2])
        c = Matrix(total, base * (rows * columns), columns, 1, (rows, columns))
        added = () if addend is None else (self.read(addend.node),)
        return Product(
            label=label_of([node] if total is node else [node, total]),
            dtype=node.dtype,
            batch=batch,
            a=a,
            b=b,
            c=c,
            memories=(self.read(a.node), self.read(b.node), self.written(total), *added),
            d=addend,
        )


def _operand(source: Node, product: Node, lowering: Lowering) -> Matrix:
    """An operand of `product`, its base over the product's batch axes."""
    found = matrix(source, lowering)
    assert found is not None, "operands that can't be read in place are stored before"
    lead = product.ndim - source.ndim
    image: dict[Axis, Index] = {
        axis: of_axis(Axis(axis.number + lead, axis.extent)) for axis in found.base.axes()
    }
    base = substituted(found.base, image, {})
    return Matrix(found.node, base, found.row, found.column, found.shape)
