"""Assembly: a cluster's items, written as the stages of one kernel."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from ..tracer.dtypes import DType, bfloat16, float16, float32, float64
from ..tracer.ir import Node
from ..tracer.ops.elementwise import checked_index
from ..tracer.ops.kinds import Elementwise, Reduction
from .cluster import Cluster, Role, position
from .fuse import COST_OF_LOAD
from .index import ZERO, Index, row_major
from .item import Item, values_below
from .kernel import (
    Accumulate,
    Accumulator,
    Argument,
    Combine,
    Kernel,
    Launch,
    Let,
    Memory,
    Put,
    Stage,
    Statement,
)
from .launch import chunk_of
from .layout import Layout, Substitution, layout_of
from .lower import Builder
from .short_axes import without_short_axes
from .target import Target
from .value import Apply, Cached, Held, Load, Number, Slot, Value

CHUNK_WORK = 1 << 16
"""Additions that make up a chunk: enough to be worth handing to another thread."""

COLUMN_ROWS = 64
"""Rows that are summed one after another before their sum is joined with others in float64."""

MOST_KEPT_ROWS = 64
"""Chunks of a kernel that keeps values of a row in the arena."""

INNER_STEP = 1024
ROW_STEP = 8
"""Of what the elements and the rows of a chunk are multiples, if there are as many."""


class Names(NamedTuple):
    """What a program gives out: memories that nodes are written to and read from, check numbers."""

    written: Callable[[Node], Memory]
    read: Callable[[Node], Memory]
    check: Callable[[Node], int]


@dataclass
class Draft:
    """A stage that later stages may still add to."""

    row: list[Statement] = field(default_factory=list)
    body: list[Statement] = field(default_factory=list)
    after: list[Statement] = field(default_factory=list)
    accumulators: list[Accumulator] = field(default_factory=list)
    computed: set[Value] = field(default_factory=set)


class Assembly:
    """One cluster on its way to a kernel and to the Combines that follow it.

    Of the items that are stored, only those in `outside` are needed when the kernel has ended.
    """

    def __init__(self, cluster: Cluster, outside: set[Node], names: Names, target: Target) -> None:
        self.cluster = cluster
        self.target = target
        self.outside = outside
        self.names = names
        self.layout: Layout = layout_of(cluster)
        self.builder = Builder()
        self.variables: dict[Value, str] = {}
        self.reads: dict[Node, str] = {}
        self.checks: dict[Value, int] = {}
        self.arguments: list[Argument] = []
        self.caches: dict[Value, Cached] = {}
        self.reduced: list[tuple[Accumulator, Item]] = []
        self.drafts: list[Draft] = []
        self.row_weight = self.inner_weight = 0
        self.values = self._values()

    def build(self) -> list[Launch]:
        """The kernel, and what joins its chunks."""
        fits = self.cluster.fits
        for level in range(max(fit.level for fit in fits.values()) + 1):
            self._stage([item for item in self.cluster.items if fits[item.node].level == level])
        return self._finished()

    def _values(self) -> dict[Node, Value]:
        """Each item's value over the kernel's axes; what the cluster computes replaces loads."""
        replaced: dict[Node, Value] = {}
        values: dict[Node, Value] = {}
        everywhere = frozenset(self.layout.rows)
        for item in self.cluster.items:
            image = self.layout.images[item.node]
            values[item.node] = Substitution(self.builder, image, replaced)(item.value)
            role = self._role(item)
            if role in (Role.ELEMENT, Role.ROW):
                replaced[item.node] = values[item.node]
            elif role is Role.IN_ROW:
                replaced[item.node] = Held(item.node.dtype, item.node, axes=everywhere)
                self.variables[replaced[item.node]] = f"t{len(self.variables)}"
        self.held = replaced
        return values

    def _role(self, item: Item) -> Role:
        return self.cluster.fits[item.node].role

    def _is_inner(self, value: Value) -> bool:
        return not value.axes.isdisjoint(self.layout.inner)

    # ---- stages

    def _stage(self, items: list[Item]) -> None:
        draft = Draft()
        wanted = [
            item
            for item in items
            if item.node in self.outside or self._role(item) not in (Role.ELEMENT, Role.ROW)
        ]
        for value in self._needed(wanted):
            if self._is_inner(value):
                draft.body.append(self._let(value))
                draft.computed.add(value)
            elif value not in self.variables:
                draft.row.append(self._let(value))
        for item in wanted:
            self._end(item, draft)
        self.drafts.append(draft)

    def _needed(self, items: Iterable[Item]) -> list[Value]:
        """The values to compute for `items`, operands first, down to what is there already."""
        roots = [self.values[item.node] for item in items]
        worth = self._worth_keeping(roots)
        order: list[Value] = []
        done: set[Value] = set()
        stack = roots[::-1]
        while stack:
            top = stack[-1]
            known = top in done or isinstance(top, Number | Slot | Held)
            complete = known or self._is_there(top, worth)
            waiting = [] if complete else [each for each in top.operands if each not in done]
            if waiting:
                stack.extend(reversed(waiting))
                continue
            stack.pop()
            done.add(top)
            if not known:
                order.append(top)
        return order

    def _worth_keeping(self, roots: list[Value]) -> set[Value]:
        """The values of earlier stages that are dearer to redo than to read back.

        What a value costs is counted down to memory and to what is kept itself.
        """
        found: set[Value] = set()
        costs: dict[Value, int] = {}
        for value in values_below(roots):
            if not self._is_inner(value) or isinstance(value, Cached):
                costs[value] = 0
                continue
            costs[value] = weight_of(value) + sum(costs[each] for each in value.operands)
            before = any(value in draft.computed for draft in self.drafts)
            if before and isinstance(value, Apply) and costs[value] > self.target.worth_caching:
                found.add(value)
                costs[value] = COST_OF_LOAD
        return found

    def _is_there(self, value: Value, worth: set[Value]) -> bool:
        """Whether `value` is known in this row; one that is worth it is made to be kept."""
        if not self._is_inner(value):
            return value in self.variables
        if value in worth and value not in self.caches:
            maker = next(draft for draft in self.drafts if value in draft.computed)
            here = position(self.layout.inner)
            kept = Cached(value.dtype, f"kept{len(self.caches)}", here, axes=value.axes)
            self.caches[value] = kept
            maker.body.append(Put(kept.argument, here, value))
        return value in self.caches

    def _let(self, value: Value) -> Let:
        name = self.variables.setdefault(value, f"v{len(self.variables)}")
        if value in self.caches:
            return Let(name, self.caches[value])
        if isinstance(value, Load):
            memory = self.names.read(value.node)
            self.reads[value.node] = self._argument(memory, written=False)
        if isinstance(value, Apply) and value.op is checked_index:
            self.checks[value] = self.names.check(value.made_by)
        weight = weight_of(value)
        if self._is_inner(value):
            self.inner_weight += weight
        else:
            self.row_weight += weight
        return Let(name, value)

    def _argument(self, memory: Memory, written: bool) -> str:
        """The local name of `memory`."""
        for each in self.arguments:
            if each.memory is memory and each.written is written:
                return each.name
        name = f"{'y' if written else 'x'}{sum(each.written is written for each in self.arguments)}"
        self.arguments.append(Argument(name, memory, written))
        return name

    # ---- what is done with an item's value

    def _end(self, item: Item, draft: Draft) -> None:
        role, value = self._role(item), self.values[item.node]
        loop = draft.body if self.layout.inner else draft.row
        if role in (Role.ELEMENT, Role.ROW):
            into = loop if role is Role.ELEMENT else draft.row
            into.append(self._put(item, value))
            return
        accumulator = self._accumulator(item, role)
        draft.accumulators.append(accumulator)
        into = draft.row if role is Role.OVER_ROWS else loop
        place = self._offset(item) if role is Role.COLUMNS else ZERO
        if item.is_positional:
            place = position(self.layout.inner)
        into.append(Accumulate(accumulator, value, place))
        if role is Role.IN_ROW and item.node in self.outside:
            draft.after.append(self._put(item, self.held[item.node]))

    def _put(self, item: Item, value: Value) -> Put:
        name = self._argument(self.names.written(item.node), written=True)
        return Put(name, self._offset(item), value)

    def _offset(self, item: Item) -> Index:
        """The place of the item's result among its elements."""
        image = self.layout.images[item.node]
        kept = [axis for axis in item.axes if axis not in item.reduced]
        return row_major(tuple(image[axis] for axis in kept), tuple(axis.extent for axis in kept))

    def _accumulator(self, item: Item, role: Role) -> Accumulator:
        op, dtype = item.reduction, item.node.inputs[0].dtype
        assert isinstance(op, Reduction)
        if role is Role.IN_ROW:
            name = self.variables[self.held[item.node]]
            return Accumulator(name, op, dtype, "row", dtype)
        scope = "column" if role is Role.COLUMNS else "chunk"
        number = len(self.reduced)
        columns = item.node.type.size if scope == "column" else 1
        kept = kept_dtype(dtype, scope)
        made = Accumulator(f"a{number}", op, dtype, scope, kept, f"part{number}", columns)
        self.reduced.append((made, item))
        return made

    # ---- the kernel

    def _finished(self) -> list[Launch]:
        rows, inner = self.layout.rows, self.layout.inner
        by_inner = self.cluster.rows is None and len(inner) == 1 and not rows
        kernel = Kernel(
            label=label_of([item.node for item in self.cluster.items]),
            rows=rows,
            inner=inner,
            stages=tuple(
                Stage(tuple(d.row), tuple(d.body), tuple(d.after), tuple(d.accumulators))
                for d in self.drafts
            ),
            arguments=(),
            accumulators=tuple(accumulator for accumulator, _ in self.reduced),
            names=self.variables,
            reads=self.reads,
            checks=self.checks,
            split="inner" if by_inner else "rows",
            chunk=1,
            work=0,
        )
        kernel = self._chunked(kernel)
        combines = self._shares(kernel)
        for cached in self.caches.values():
            memory = Memory(cached.dtype, kernel.chunks * kernel.inner_count, "arena")
            argument = Argument(cached.argument, memory, True, kernel.inner_count)
            self.arguments.append(argument)
        kernel = replace(kernel, arguments=tuple(self.arguments))
        in_lanes = self.target.language == "c"
        return [without_short_axes(kernel) if in_lanes else kernel, *combines]

    def _chunked(self, kernel: Kernel) -> Kernel:
        per_row = self.row_weight + kernel.inner_count * self.inner_weight + 1
        work = per_row * kernel.row_count
        if self.target.language == "cuda":
            chunk = chunk_of(kernel, self.row_weight, self.inner_weight)
            return replace(kernel, chunk=chunk, work=work)
        if kernel.split == "inner":
            fair = CHUNK_WORK // max(self.inner_weight, 1)
            chunk = max(fair // INNER_STEP * INNER_STEP, INNER_STEP)
            return replace(kernel, chunk=chunk, work=work)
        chunk = max(CHUNK_WORK // per_row, 1)
        if chunk > ROW_STEP:
            chunk -= chunk % ROW_STEP
        if any(each.scope == "column" for each in kernel.accumulators):
            chunk = min(max(chunk, COLUMN_ROWS // 2), COLUMN_ROWS)
        if self.caches:  # each chunk has rows of its own for what is kept
            chunk = max(chunk, -(-kernel.row_count // MOST_KEPT_ROWS))
        return replace(kernel, chunk=min(chunk, max(kernel.row_count, 1)), work=work)

    def _shares(self, kernel: Kernel) -> list[Launch]:
        """Where chunks keep their shares of reductions over rows, and what joins them."""
        combines: list[Launch] = []
        for accumulator, item in self.reduced:
            result = self.names.written(item.node)
            columns = accumulator.columns
            if kernel.chunks == 1 and accumulator.kept is result.dtype:
                self.arguments.append(Argument(accumulator.partial, result, True))
                continue
            assert item.reduction is not None
            memory = Memory(accumulator.kept, kernel.chunks * columns, "arena")
            self.arguments.append(Argument(accumulator.partial, memory, True, columns))
            combines.append(
                Combine(
                    label=f"{label_of([item.node])}_combine",
                    op=item.reduction,
                    dtype=accumulator.dtype,
                    partial=memory,
                    result=result,
                    chunks=kernel.chunks,
                    columns=columns,
                )
            )
        return combines


def weight_of(value: Value) -> int:
    """The cost of `value` alone, in additions."""
    if isinstance(value, Apply) and isinstance(value.op, Elementwise):
        return value.op.weight
    return COST_OF_LOAD


def kept_dtype(dtype: DType, scope: str) -> DType:
    """The type in which a chunk keeps its share of a reduction of values of `dtype`."""
    if dtype in (float16, bfloat16):
        return float32
    return float64 if dtype is float32 and scope == "chunk" else dtype


def label_of(nodes: Iterable[Node]) -> str:
    """A name for a kernel: the composed functions, or else the operators, that it ends in."""
    labels: dict[str, None] = {}
    for node in nodes:
        label = node.origin.label if node.origin else ""
        labels.setdefault(label or node.op.name)
    return "_".join(list(labels)[:3])
