"""Plain kernels: one stage that computes given values and ends in given statements."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import prod

from ..tracer.ir import Node
from ..tracer.ops.elementwise import checked_index
from .assemble import Names, label_of, weight_of
from .index import Axis, Index
from .item import values_below
from .kernel import Accumulator, Argument, Kernel, Let, Stage, Statement
from .value import Apply, Held, Load, Number, Slot, Value

RESULT = "y0"
"""The argument through which a plain kernel writes its node."""


def axes_in(coordinates: Sequence[Index]) -> tuple[Axis, ...]:
    """The axes that `coordinates` run along."""
    return tuple(atom for each in coordinates for atom, _ in each.terms if isinstance(atom, Axis))


@dataclass
class PlainKernel:
    """A kernel for `node` over `rows` and `inner` axes, on its way."""

    node: Node
    rows: tuple[Axis, ...]
    inner: tuple[Axis, ...]
    names: Names
    row: list[Statement] = field(default_factory=list)
    body: list[Statement] = field(default_factory=list)
    variables: dict[Value, str] = field(default_factory=dict)
    checks: dict[Value, int] = field(default_factory=dict)
    reads: dict[Node, str] = field(default_factory=dict)

    def compute(self, *values: Value) -> None:
        """Name `values` and all that they are made of."""
        for each in values_below(values):
            if isinstance(each, Number | Slot | Held) or each in self.variables:
                continue
            name = self.variables[each] = f"v{len(self.variables)}"
            (self.row if each.axes.isdisjoint(self.inner) else self.body).append(Let(name, each))
            if isinstance(each, Load):
                self.reads.setdefault(each.node, f"x{len(self.reads)}")
            if isinstance(each, Apply) and each.op is checked_index:
                self.checks[each] = self.names.check(each.made_by)

    @property
    def last(self) -> list[Statement]:
        """Where statements of every element go."""
        return self.body if self.inner else self.row

    def finished(
        self, accumulators: tuple[Accumulator, ...] = (), ordered: bool = False, chunk: int = 1
    ) -> Kernel:
        """The kernel, cut into chunks of `chunk` rows."""
        extents = (axis.extent for axis in (*self.rows, *self.inner))
        read = [Argument(name, self.names.read(node), False) for node, name in self.reads.items()]
        return Kernel(
            label=label_of([self.node]),
            rows=self.rows,
            inner=self.inner,
            stages=(Stage(tuple(self.row), tuple(self.body), (), accumulators),),
            arguments=(Argument(RESULT, self.names.written(self.node), True), *read),
            accumulators=(),
            names=self.variables,
            reads=self.reads,
            checks=self.checks,
            split="rows",
            chunk=chunk,
            work=prod(extents) * self.weight,
            ordered=ordered,
        )

    @property
    def weight(self) -> int:
        """The cost of one element, in additions."""
        return 1 + sum(weight_of(each.value) for each in self.body if isinstance(each, Let))

    @property
    def row_count(self) -> int:
        """The number of rows."""
        return prod(axis.extent for axis in self.rows)
