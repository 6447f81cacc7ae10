"""Learning rates that change from epoch to epoch."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from ..arguments import number, whole
from ..tracer.errors import located
from ..tracer.recording import THREAD
from .again import EpochAgain
from .optimizer import Optimizer


class LRScheduler:
    """The base of all schedules: sets "lr" of each group from its "initial_lr" and the epoch."""

    def __init__(self, optimizer: Optimizer, current_epoch: int = -1) -> None:
        if not isinstance(optimizer, Optimizer):
            raise TypeError(located(f"expected an Optimizer, found {optimizer!r}"))
        self.optimizer = optimizer
        self.current_epoch = current_epoch
        for place, group in enumerate(optimizer.param_groups):
            if current_epoch == -1:
                group.setdefault("initial_lr", group["lr"])
            elif "initial_lr" not in group:
                raise KeyError(located(f"group {place} has no initial_lr to resume from"))
        self.base_lrs = [group["initial_lr"] for group in optimizer.param_groups]
        self.step()

    def get_lr(self) -> list[float]:
        """The learning rate of each group in the present epoch."""
        raise NotImplementedError

    def step(self, epoch: int | None = None) -> None:
        """Begin the next epoch, or `epoch`."""
        recording = THREAD.recording
        if recording.trace is not None:
            recording.action(EpochAgain(self, epoch))
        self._begin(epoch)

    def _begin(self, epoch: int | None) -> None:
        self.current_epoch = self.current_epoch + 1 if epoch is None else epoch
        for group, rate in zip(
            self.optimizer.param_groups, self.get_lr(), strict=False
        ):  # groups may be added
            group["lr"] = rate

    def state_dict(self) -> dict[str, Any]:
        """All but the optimizer."""
        return {name: value for name, value in vars(self).items() if name != "optimizer"}

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Take over what `state_dict` gave."""
        vars(self).update(state_dict)


def _milestones(name: str, given: Iterable[int]) -> list[int]:
    if not isinstance(given, Iterable):
        raise TypeError(located(f"{name}: expected epochs as milestones, found {given!r}"))
    return [whole(name, "milestones", each) for each in given]


class StepLR(LRScheduler):
    """Multiplies the learning rate by `gamma` every `step_size` epochs."""

    def __init__(
        self, optimizer: Optimizer, step_size: int, gamma: float = 0.1, current_epoch: int = -1
    ) -> None:
        self.step_size = whole("StepLR", "step_size", step_size, 1)
        self.gamma = number("StepLR", "gamma", gamma)
        super().__init__(optimizer, current_epoch)

    def get_lr(self) -> list[float]:
        """The learning rate of each group in the present epoch."""
        factor = self.gamma ** (self.current_epoch // self.step_size)
        return [rate * factor for rate in self.base_lrs]


class MultiStepLR(LRScheduler):
    """Multiplies the learning rate by `gamma` at each of the epochs in `milestones`."""

    def __init__(
        self,
        optimizer: Optimizer,
        milestones: Iterable[int],
        gamma: float = 0.1,
        current_epoch: int = -1,
    ) -> None:
        self.milestones = _milestones("MultiStepLR", milestones)
        self.gamma = number("MultiStepLR", "gamma", gamma)
        if self.milestones != sorted(self.milestones):
            found = f"expected milestones in order, found {self.milestones}"
            raise ValueError(located(found))
        super().__init__(optimizer, current_epoch)

    def get_lr(self) -> list[float]:
        """The learning rate of each group in the present epoch."""
        factor = self.gamma ** bisect_right(self.milestones, self.current_epoch)
        return [rate * factor for rate in self.base_lrs]


class CosineAnnealingLR(LRScheduler):
    """Lets the learning rate fall along half a cosine (Loshchilov and Hutter, 2016).

    In epoch t it is eta_min + (initial_lr - eta_min) (1 + cos(pi t / T_max)) / 2; `T_max` epochs
    later it would have risen again.
    """

    def __init__(
        self,
        optimizer: Optimizer,
        T_max: int,
        eta_min: float = 0.0,
        current_epoch: int = -1,
    ) -> None:
        self.T_max = whole("CosineAnnealingLR", "T_max", T_max, 1)
        self.eta_min = number("CosineAnnealingLR", "eta_min", eta_min)
        super().__init__(optimizer, current_epoch)

    def get_lr(self) -> list[float]:
        """The learning rate of each group in the present epoch."""
        share = (1 + math.cos(math.pi * self.current_epoch / self.T_max)) / 2
        return [self.eta_min + (rate - self.eta_min) * share for rate in self.base_lrs]


class ExponentialLR(LRScheduler):
    """Multiplies the learning rate by `gamma` every epoch."""

    def __init__(self, optimizer: Optimizer, gamma: float, current_epoch: int = -1) -> None:
        self.gamma = number("ExponentialLR", "gamma", gamma)
        super().__init__(optimizer, current_epoch)

    def get_lr(self) -> list[float]:
        """The learning rate of each group in the present epoch."""
        return [rate * self.gamma**self.current_epoch for rate in self.base_lrs]


class LinearLR(LRScheduler):
    """Brings the learning rate from `start_factor` to `end_factor` times the initial one.

    It moves evenly for `total_iters` epochs and stays there: a warm-up.
    """

    def __init__(
        self,
        optimizer: Optimizer,
        start_factor: float = 1 / 3,
        end_factor: float = 1.0,
        total_iters: int = 5,
        current_epoch: int = -1,
    ) -> None:
        self.start_factor = number("LinearLR", "start_factor", start_factor, 0)
        self.end_factor = number("LinearLR", "end_factor", end_factor, 0)
        self.total_iters = whole("LinearLR", "total_iters", total_iters, 1)
        super().__init__(optimizer, current_epoch)

    def get_lr(self) -> list[float]:
        """The learning rate of each group in the present epoch."""
        share = min(self.current_epoch / self.total_iters, 1.0)
        factor = self.start_factor + (self.end_factor - self.start_factor) * share
        return [rate * factor for rate in self.base_lrs]


class PolynomialLR(LRScheduler):
    """Lets the learning rate fall to 0 in `total_iters` epochs: by (1 - t / total_iters)^power."""

    def __init__(
        self,
        optimizer: Optimizer,
        total_iters: int = 5,
        power: float = 1.0,
        current_epoch: int = -1,
    ) -> None:
        self.total_iters = whole("PolynomialLR", "total_iters", total_iters, 1)
        self.power = number("PolynomialLR", "power", power, 0)
        super().__init__(optimizer, current_epoch)

    def get_lr(self) -> list[float]:
        """The learning rate of each group in the present epoch."""
        left = max(1 - self.current_epoch / self.total_iters, 0.0)
        return [rate * left**self.power for rate in self.base_lrs]


class CosineAnnealingWarmRestarts(LRScheduler):
    """CosineAnnealingLR that begins anew (Loshchilov and Hutter, 2016).

    The first period has `T_0` epochs, each later one `T_mult` times as many as the one before.
    """

    def __init__(
        self,
        optimizer: Optimizer,
        T_0: int,
        T_mult: int = 1,
        eta_min: float = 0.0,
        current_epoch: int = -1,
    ) -> None:
        self.T_0 = whole("CosineAnnealingWarmRestarts", "T_0", T_0, 1)
        self.T_mult = whole("CosineAnnealingWarmRestarts", "T_mult", T_mult, 1)
        self.eta_min = number("CosineAnnealingWarmRestarts", "eta_min", eta_min)
        super().__init__(optimizer, current_epoch)

    def get_lr(self) -> list[float]:
        """The learning rate of each group in the present epoch."""
        begun, period = self.current_epoch, self.T_0
        while begun >= period and self.T_mult > 1:
            begun, period = begun - period, period * self.T_mult
        share = (1 + math.cos(math.pi * (begun % period) / period)) / 2
        return [self.eta_min + (rate - self.eta_min) * share for rate in self.base_lrs]


class LambdaLR(LRScheduler):
    """Multiplies the initial learning rate by `lr_lambda(epoch)`: one function, or one per group.

    The functions are no part of the state.
    """

    def __init__(
        self,
        optimizer: Optimizer,
        lr_lambda: Callable[[int], float] | Sequence[Callable[[int], float]],
        current_epoch: int = -1,
    ) -> None:
        groups = len(getattr(optimizer, "param_groups", ()))
        given = [lr_lambda] * groups if callable(lr_lambda) else list(lr_lambda)
        if len(given) != groups or not all(map(callable, given)):
            found = f"expected a function, or one for each of {groups} groups, found {lr_lambda!r}"
            raise TypeError(located(f"LambdaLR: {found}"))
        self.lr_lambdas = given
        super().__init__(optimizer, current_epoch)

    def get_lr(self) -> list[float]:
        """The learning rate of each group in the present epoch."""
        pairs = zip(self.base_lrs, self.lr_lambdas, strict=True)
        return [rate * float(factor(self.current_epoch)) for rate, factor in pairs]

    def state_dict(self) -> dict[str, Any]:
        """All but the optimizer and the functions."""
        state = super().state_dict()
        del state["lr_lambdas"]
        return state


class SequentialLR(LRScheduler):
    """Schedules one after another: each but the first begins in one of the epochs `milestones`.

    `SequentialLR(o, [LinearLR(o), CosineAnnealingLR(o, 95)], [5])` is a warm-up and what follows.
    """

    def __init__(
        self,
        optimizer: Optimizer,
        schedulers: Sequence[LRScheduler],
        milestones: Iterable[int],
        current_epoch: int = -1,
    ) -> None:
        self.schedulers = list(schedulers)
        self.milestones = _milestones("SequentialLR", milestones)
        if self.milestones != sorted(self.milestones):
            found = f"expected milestones in order, found {self.milestones}"
            raise ValueError(located(f"SequentialLR: {found}"))
        if len(self.milestones) + 1 != len(self.schedulers):
            found = f"found {len(self.milestones)} for {len(self.schedulers)} schedules"
            expected = "expected a milestone between each two schedules"
            raise ValueError(located(f"SequentialLR: {expected}, {found}"))
        for each in self.schedulers:
            if not isinstance(each, LRScheduler) or each.optimizer is not optimizer:
                expected = "expected schedules of the same optimizer"
                raise ValueError(located(f"SequentialLR: {expected}, found {each!r}"))
        super().__init__(optimizer, current_epoch)

    def get_lr(self) -> list[float]:
        """The learning rate of each group in the present epoch."""
        which = bisect_right(self.milestones, self.current_epoch)
        now = self.schedulers[which]
        now.current_epoch = self.current_epoch - (self.milestones[which - 1] if which else 0)
        return now.get_lr()

    def state_dict(self) -> dict[str, Any]:
        """All but the optimizer, with the states of the schedules."""
        state = super().state_dict()
        return {**state, "schedulers": [each.state_dict() for each in self.schedulers]}

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Take over what `state_dict` gave."""
        states = state_dict["schedulers"]
        if len(states) != len(self.schedulers):
            found = f"expected {len(self.schedulers)} schedules, found {len(states)}"
            raise ValueError(located(f"SequentialLR: {found}"))
        for each, state in zip(self.schedulers, states, strict=True):
            each.load_state_dict(state)
        super().load_state_dict({k: v for k, v in state_dict.items() if k != "schedulers"})
