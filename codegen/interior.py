"""The interior of a loop: where no condition fails that only its first and last steps can fail.

What is padded asks for every element whether it is one of the padding's. Loops that ask nothing are
what compilers make vectors of, so that the part of a loop that lies inside is written on its own.
"""

from __future__ import annotations

from dataclasses import dataclass

from .index import Axis
from .kernel import Let, Stage
from .value import Condition, Load, Number, Select, Stride

MOST_STATEMENTS = 128
LEAST_STEPS = 8
"""The size of what is written twice, and of a middle that is worth it."""


@dataclass(frozen=True)
class Middle:
    """The steps from `begin` to below `end`; those conditions hold if the `outer` ones do."""

    begin: int
    end: int
    outer: tuple[Condition, ...]
    holds: frozenset[Condition]

    @property
    def size(self) -> int:
        """The number of its steps."""
        return self.end - self.begin


def middle_of(stage: Stage, axis: Axis) -> Middle | None:
    """The middle of the loop of `stage` along `axis`, if something is asked for there at all."""
    values = [each.value for each in stage.body if isinstance(each, Let)]
    asking = [each for each in values if isinstance(each, Load | Select) and each.conditions]
    plain = all(isinstance(e.outside, Number) for e in asking if isinstance(e, Select))
    if not asking or not plain or len(stage.body) > MOST_STATEMENTS:
        return None
    asked = dict.fromkeys(condition for each in asking for condition in each.conditions)
    begin, end = 0, axis.extent
    outer: list[Condition] = []
    for each in asked:
        if isinstance(each, Stride) or not each[0].is_affine():
            return None
        index, bound = each
        if axis not in index.axes():
            outer.append(each)
        elif (step := index.coefficient(axis)) > 0:  # whatever the others are
            low, high = index.bounds()
            high -= step * (axis.extent - 1)
            begin, end = max(begin, -(low // step)), min(end, (bound - 1 - high) // step + 1)
        else:
            return None
    if end - begin < LEAST_STEPS:
        return None
    return Middle(begin, end, tuple(outer), frozenset(asked))
