"""What steps do beside recording, done again where a traced function is replayed.

Hyper-parameters and counts of steps are read at every replay, so that they may change between
calls, and move on as the function itself would move them.
"""

from __future__ import annotations

from collections.abc import Iterator
from operator import is_
from typing import TYPE_CHECKING, Any

from ..reads import Elements
from ..tracer.action import Action

if TYPE_CHECKING:
    from ..tracer.straight import Straight
    from ..tracer.tracing import Tracing
    from .optimizer import Optimizer, State
    from .schedule import LRScheduler
    from .update import Rule


class StepAgain(Action):
    """One step of an optimizer inside a traced function.

    It gives the run-time numbers: those of a group once for each type of its parameters, and
    in between those that each parameter has of its own.
    """

    def __init__(self, optimizer: Optimizer, plan: list[tuple[Any, Rule]], trace: Tracing) -> None:
        super().__init__()
        self._optimizer = optimizer
        self._listed = optimizer.param_groups
        self._kept = optimizer._states
        self.items: list[tuple[GroupAgain, State | None]] = []
        self.states: list[State] = []
        self._actions = trace.actions
        self._actions.append(self)
        self._stepped: int | None = None  # so many of the states; None for all of them
        pairs = zip(self._listed, plan, strict=True)
        self.groups = [GroupAgain(self, optimizer, group, rule) for group, (_, rule) in pairs]

    def check(self) -> bool:
        """Whether the same parameters are updated in the same way, by whatever numbers."""
        optimizer, listed = self._optimizer, self._listed
        if optimizer.param_groups is not listed or optimizer._states is not self._kept:
            return False
        return len(listed) == len(self.groups) and all(map(GroupAgain.fits, self.groups, listed))

    def checks(self, code: Straight) -> Iterator[str]:
        """One comparison for each thing that is seldom changed; if one fails, the whole check."""
        optimizer, listed = code.constant(self._optimizer), code.constant(self._listed)
        seen = [
            f"{optimizer}.param_groups is {listed}",
            f"{optimizer}._states is {code.constant(self._kept)}",
            f"len({listed}) == {len(self.groups)}",
        ]
        for number, group in enumerate(self.groups):
            seen += [f"{listed}[{number}] is {code.constant(group.group)}", *group.checks(code)]
        yield f"{' and '.join(seen)} or {code.constant(self.check)}()"

    def difference(self) -> str:
        """In words, what keeps the step from being done again."""
        optimizer, name = self._optimizer, type(self._optimizer).__name__
        listed = optimizer.param_groups
        if listed is not self._listed or len(listed) != len(self.groups):
            return f"{name} has other groups of parameters"
        if optimizer._states is not self._kept:
            return f"the state of {name} is another one"
        for number, (group, mine) in enumerate(zip(listed, self.groups, strict=True)):
            if not mine.fits(group):
                return f"{name}: in group {number}, {mine.difference(optimizer, group)}"
        return f"{name} is not as it was"

    def act(self) -> list[float]:
        """The numbers of the step, which is counted."""
        if len(self._actions) > 1:  # others may have changed what was checked
            for group in self.groups:
                group.refresh()
        if len(self.items) == 1 and self.items[0][1] is None:
            made = self.items[0][0].numbers
        else:
            made = []
            for group, state in self.items:
                made += group.numbers if state is None else group.own_numbers(state.step + 1)
        self._stepped, self.acted = 0, True
        for each in self.states:
            each.step += 1
            self._stepped += 1
        return made

    def take_back(self) -> None:
        """Count the step no more."""
        for each in self.states[: self._stepped]:
            each.step -= 1


class GroupAgain:
    """A group of parameters; what its hyper-parameters give is kept until they change."""

    def __init__(
        self, step: StepAgain, optimizer: Optimizer, group: dict[str, Any], rule: Rule
    ) -> None:
        self._step = step
        self._optimizer = optimizer
        self.source: Action = step
        self.group = group
        self.rule = rule
        self.listed = group["params"]
        self.parameters = list(self.listed)
        self.pattern = _pattern(rule)
        self.values = list(group.values())
        self._traced = {name: value for name, value in group.items() if name != "params"}
        self.fitting = True
        self.numbers = _floats(rule)
        self._own: tuple[int, tuple[float, ...]] = (0, ())

    def shared(self) -> None:
        """Note that the numbers of the group are recorded."""
        self._step.items.append((self, None))

    def own(self, state: State) -> None:
        """Note that a parameter is updated, and its own numbers recorded."""
        self._step.states.append(state)
        if self.rule.own_numbers(1):
            self._step.items.append((self, state))

    def fits(self, group: dict[str, Any]) -> bool:
        """Whether `group` is this one, has the same parameters, and updates them alike."""
        listed, parameters = self.listed, self.parameters
        if group is not self.group or group["params"] is not listed:
            return False
        if len(listed) != len(parameters) or not all(map(is_, listed, parameters)):
            return False
        if [*group.values()] != self.values:
            self.refresh()
        return self.fitting

    def checks(self, code: Straight) -> Iterator[str]:
        """Expressions that are true where it fits as it did last time."""
        group, mine = code.constant(self.group), code.constant(self)
        yield f"{group}['params'] is {code.constant(self.listed)}"
        yield from Elements(self.listed).unchanged(code, self.parameters)
        yield f"[*{group}.values()] == {mine}.values and {mine}.fitting"

    def difference(self, optimizer: Optimizer, group: dict[str, Any]) -> str:
        """In words, what does not fit."""
        for name, old in self._traced.items():
            if group.get(name) != old and _pattern(optimizer.ruled({**group, name: old})) == (
                self.pattern
            ):
                return f"{name} is {group.get(name)!r}, not {old!r}"
        return "the parameters are others" if self.fitting else "the hyper-parameters are others"

    def refresh(self) -> None:
        """Take over hyper-parameters that have changed."""
        values = list(self.group.values())
        if values != self.values:
            self.rule = self._optimizer.ruled(self.group)
            self.values, self.numbers, self._own = values, _floats(self.rule), (0, ())
            self.fitting = _pattern(self.rule) == self.pattern

    def own_numbers(self, step: int) -> tuple[float, ...]:
        """The numbers of a parameter in its step number `step`."""
        if self._own[0] != step:
            self._own = (step, self.rule.own_numbers(step))
        return self._own[1]


def _pattern(rule: Rule) -> list[Any]:
    """What of a rule belongs to the program."""
    shapes = [float if isinstance(each, float) else each for each in rule.numbers]
    return [rule.function, rule.states, *shapes]


def _floats(rule: Rule) -> list[float]:
    return [each for each in rule.numbers if isinstance(each, float)]


class EpochAgain(Action):
    """One step of a schedule inside a traced function."""

    def __init__(self, schedule: LRScheduler, epoch: int | None) -> None:
        super().__init__()
        self._schedule = schedule
        self._epoch = epoch
        self._remember()

    def _remember(self) -> None:
        groups = self._schedule.optimizer.param_groups
        self._before = (self._schedule.current_epoch, [group["lr"] for group in groups])

    def act(self) -> tuple[()]:
        """Begin the epoch."""
        self._remember()
        self.acted = True
        self._schedule._begin(self._epoch)
        return ()

    def take_back(self) -> None:
        """Go back to the epoch before."""
        self._schedule.current_epoch, rates = self._before
        for group, rate in zip(self._schedule.optimizer.param_groups, rates, strict=True):
            group["lr"] = rate
