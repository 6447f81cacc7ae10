"""Nodes as formulas: `g * cos(x)` for what a derivative rule made."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import count
from typing import Any

from gradc.tracer.dtypes import DType
from gradc.tracer.ir import Node, topological
from gradc.tracer.ops import sources

INFIX = {
    **{"eq": ("==", 0), "ne": ("!=", 0), "lt": ("<", 0), "le": ("<=", 0)},
    **{"gt": (">", 0), "ge": (">=", 0)},
    **{"bit_or": ("|", 1), "bit_xor": ("^", 2), "bit_and": ("&", 3)},
    **{"add": ("+", 6), "sub": ("-", 6)},
    **{"mul": ("*", 7), "div": ("/", 7), "floordiv": ("//", 7), "mod": ("%", 7)},
}
"""Sign and precedence (as in Python) of operators that stand between their operands."""
PREFIX = {"neg": ("-", 8), "logical_not": ("!", 8)}
LONGEST = 56
ATOM = 9


class Formulas:
    """Spells nodes; those that are used twice, or would be long, get a name and a line."""

    def __init__(self, names: dict[Node, str], outputs: Sequence[Node]) -> None:
        self.lines: list[str] = []
        self._texts = {each: (name, ATOM) for each, name in names.items()}
        self._fresh = _fresh_names(set(names.values()))
        uses = Counter(x for each in topological(outputs) for x in each.inputs)
        uses.update(outputs)
        for each in topological(outputs):
            if each not in self._texts:
                text, rank = self._spelled(each)
                alone = each in outputs and uses[each] == 1
                if rank < ATOM and ((uses[each] > 1 and each.inputs) or _long(text, alone)):
                    name = next(self._fresh)
                    self.lines.append(f"{name} = {text}")
                    text, rank = name, ATOM
                self._texts[each] = text, rank

    def __getitem__(self, node: Node) -> str:
        """The formula of a node that is an output or below one."""
        return self._texts[node][0]

    def _spelled(self, node: Node) -> tuple[str, int]:
        """The formula, and how tightly it holds together."""
        name = node.op.name
        if node.op is sources.constant:
            number = sources.number_of(*node.attrs)
            return f"{number:.4g}", ATOM if number >= 0 else 8
        if name in INFIX:
            sign, rank = INFIX[name]
            left, right = node.inputs
            return f"{self._within(left, rank)} {sign} {self._within(right, rank + 1)}", rank
        if name in PREFIX:
            sign, rank = PREFIX[name]
            return f"{sign}{self._within(node.inputs[0], rank)}", rank
        arguments = [self[each] for each in node.inputs]
        pairs = zip(node.op.attributes, node.attrs, strict=True)
        arguments += [f"{key}={_shown(value)}" for key, value in pairs]
        rank = 8 if len(arguments) > 1 else ATOM  # a call of one argument may well be repeated
        return f"{name}({', '.join(arguments)})", rank

    def _within(self, node: Node, rank: int) -> str:
        text, own = self._texts[node]
        return text if own >= rank else f"({text})"


def _long(text: str, alone: bool) -> bool:
    return len(text) > LONGEST and not alone


def _shown(value: Any) -> str:
    return value.name if isinstance(value, DType) else repr(value)


def _fresh_names(taken: set[str]) -> Iterator[str]:
    free = (name for name in "tuvwpq" if name not in taken)
    yield from free
    yield from (f"t{number}" for number in count(1))
