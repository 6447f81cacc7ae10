"""Einstein's summation."""

from __future__ import annotations

from typing import Any

from ..tracer.composite import Nodes, composite
from ..tracer.errors import ShapeError, located
from ..tracer.ir import Node
from ..tracer.tensor import Tensor
from .contract import contracted
from .contraction_order import Label, Labels

__all__ = ["einsum"]


def einsum(equation: str, *operands: Any) -> Tensor:
    """Sums of products, as "ij,jk->ik" says: each letter names an axis.

    Letters that stand behind "->" stay, in that order; all others are summed. Without "->", those
    that occur once stay, in alphabetical order. A letter twice in one operand means its diagonal;
    "..." means all axes that have no letter, broadcast against each other.
    """
    given = (
        operands[0] if len(operands) == 1 and isinstance(operands[0], (list, tuple)) else operands
    )
    made: Tensor = _einsum(given, equation)
    return made


@composite
def _einsum(operands: Nodes, equation: str) -> Node:
    inputs, arrow, output = equation.replace(" ", "").partition("->")
    texts = inputs.split(",")
    if len(texts) != len(operands):
        found = f"{equation!r} names {len(texts)} operands, found {len(operands)}"
        raise ShapeError(located(f"einsum: {found}"))
    terms = [
        (each, _labels(equation, text, each)) for text, each in zip(texts, operands, strict=True)
    ]
    named = [labels for _, labels in terms]
    spread = _spread(named)
    kept = _output(equation, output, spread) if arrow else [*spread, *_once(named)]
    if missing := [each for each in kept if not any(each in labels for labels in named)]:
        raise ShapeError(located(f"einsum: no operand of {equation!r} has {missing[0]!r}"))
    return contracted(terms, kept)


def _labels(equation: str, text: str, operand: Node) -> list[Label]:
    """The name of each axis of an operand; those of "..." are numbers from the end, from -1 on."""
    before, dots, after = text.partition("...")
    _check_letters(equation, before + after)
    free = operand.ndim - len(before) - len(after)
    if free < 0 or (free and not dots):
        found = f"{text!r} in {equation!r} does not fit an operand of shape {list(operand.shape)}"
        raise ShapeError(located(f"einsum: {found}"))
    return [*before, *range(-free, 0), *after]


def _check_letters(equation: str, letters: str) -> None:
    if not all(each.isascii() and each.isalpha() for each in letters):
        raise ValueError(
            located(f"einsum: expected letters, ',', '...' and '->', found {equation!r}")
        )


def _spread(named: list[list[Label]]) -> list[Label]:
    """The names of the axes of "...", outermost first."""
    free = {label for labels in named for label in labels if isinstance(label, int)}
    return [*sorted(free)]


def _once(named: list[list[Label]]) -> list[str]:
    letters = [label for labels in named for label in labels if isinstance(label, str)]
    return sorted(label for label in set(letters) if letters.count(label) == 1)


def _output(equation: str, text: str, spread: Labels) -> list[Label]:
    before, dots, after = text.partition("...")
    _check_letters(equation, before + after)
    if len(set(before + after)) < len(before + after):
        raise ShapeError(located(f"einsum: {equation!r} names an axis of the output twice"))
    return [*before, *(spread if dots else ()), *after]
