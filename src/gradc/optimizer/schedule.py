"""Learning rates that change from epoch to epoch."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterable, Mapping
from typing import Any

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
        for number, group in enumerate(optimizer.param_groups):
            if current_epoch == -1:
                group.setdefault("initial_lr", group["lr"])
            elif "initial_lr" not in group:
                raise KeyError(located(f"group {number} has no initial_lr to resume from"))
        self.base_lrs = [group["initial_lr"] for group in optimizer.param_groups]
        self.step()

    def get_lr(self) -> list[float]:
        """The learning rate of each group in the present epoch."""
        raise NotImplementedError

    def step(self, epoch: int | None = None) -> None:
        """Begin the next epoch, or `epoch`."""
        recording = THREAD.recording
        if recording.trace is not None:
            again = EpochAgain(self, epoch)
            recording.action(again.act, again.undo)
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


class MultiStepLR(LRScheduler):
    """Multiplies the learning rate by `gamma` at each of the epochs in `milestones`."""

    def __init__(
        self,
        optimizer: Optimizer,
        milestones: Iterable[int],
        gamma: float = 0.1,
        current_epoch: int = -1,
    ) -> None:
        self.milestones = list(milestones)
        self.gamma = gamma
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
        if T_max < 1:
            raise ValueError(located(f"expected T_max to be at least 1, found {T_max}"))
        self.T_max = T_max
        self.eta_min = eta_min
        super().__init__(optimizer, current_epoch)

    def get_lr(self) -> list[float]:
        """The learning rate of each group in the present epoch."""
        share = (1 + math.cos(math.pi * self.current_epoch / self.T_max)) / 2
        return [self.eta_min + (rate - self.eta_min) * share for rate in self.base_lrs]
