"""Training in half types: gradients that are scaled so that they do not vanish."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import reduce
from typing import Any, Self

from . import functional as F
from .arguments import number, whole
from .autodiff import GradManager
from .tracer.errors import located
from .tracer.no_grad import no_grad
from .tracer.tensor import Tensor

__all__ = ["GradScaler"]


class GradScaler:
    """Multiplies what `backward` begins with by a scale, and divides the gradients by it.

    Where a gradient is not finite, `.grad` of all attached tensors becomes None, so that the step
    changes nothing, and the scale shrinks by `backoff_factor`. After `growth_interval` backwards
    without that it grows by `growth_factor`; with an interval of 0 it stays. Whether gradients are
    finite is read at once.
    """

    def __init__(
        self,
        init_scale: float = 2.0**4,
        growth_factor: float = 2.0,
        backoff_factor: float = 0.5,
        growth_interval: int = 2000,
    ) -> None:
        self.scale_factor = _above_zero("init_scale", init_scale)
        self.growth_factor = number("GradScaler", "growth_factor", growth_factor, 1)
        self.backoff_factor = number("GradScaler", "backoff_factor", backoff_factor, 0, 1)
        self.growth_interval = whole("GradScaler", "growth_interval", growth_interval)
        self._quiet_backwards = 0
        self._found_non_finite = False

    def backward(
        self,
        gm: GradManager,
        y: Any = None,
        dy: Any = None,
        *,
        unscale_grad: bool = True,
        update_scale: bool | str | None = None,
    ) -> None:
        """`gm.backward(y, dy)` with the scale; without `unscale_grad` the gradients keep it.

        The scale is updated where gradients are unscaled, unless `update_scale` says otherwise
        ("if_unscale_grad" is the same as None).
        """
        targets = [] if y is None else [y] if isinstance(y, Tensor) else list(y)
        given = [None] * len(targets) if dy is None else [dy] if len(targets) == 1 else list(dy)
        if isinstance(dy, (list, tuple)):
            given = list(dy)
        if len(given) != len(targets):
            found = f"found {len(given)} for {len(targets)}"
            raise ValueError(located(f"GradScaler: expected a dy for each target, {found}"))
        pairs = zip(targets, given, strict=True)
        gm.backward(targets, [self._scaled(target, seed) for target, seed in pairs])
        if unscale_grad:
            self.unscale(gm.attached_tensors())
        if unscale_grad if update_scale in (None, "if_unscale_grad") else update_scale:
            self.update()

    def _scaled(self, target: Tensor, seed: Any) -> Tensor:
        with no_grad():
            start = F.ones_like(target) if seed is None else Tensor(seed)
            scaled: Tensor = start * self.scale_factor
            return scaled

    def unscale(self, grad_tensors: Iterable[Tensor]) -> Self:
        """Divide the gradients of these tensors by the scale; None where any is not finite."""
        reached = [each for each in grad_tensors if each.grad is not None]
        if not reached:
            return self
        with no_grad():
            for each in reached:
                each.grad *= 1 / self.scale_factor
            flags = [F.all(F.isfinite(each.grad)) for each in reached]
            finite = bool(reduce(F.logical_and, flags))
        if not finite:
            self._found_non_finite = True
            for each in reached:
                each.grad = None
        return self

    def update(self, new_scale: float | None = None) -> None:
        """Let the scale shrink, grow or become `new_scale`, by what was found since the last."""
        found, self._found_non_finite = self._found_non_finite, False
        if new_scale is not None:
            self.scale_factor = _above_zero("new_scale", new_scale)
        elif self.growth_interval and found:
            self.scale_factor *= self.backoff_factor
            self._quiet_backwards = 0
        elif self.growth_interval:
            self._quiet_backwards += 1
            if self._quiet_backwards >= self.growth_interval:
                self.scale_factor *= self.growth_factor
                self._quiet_backwards = 0

    def state_dict(self) -> dict[str, Any]:
        """All numbers of the scaler."""
        return {name.lstrip("_"): value for name, value in vars(self).items()}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Take over what `state_dict` gave; all of it or nothing."""
        names = {name.lstrip("_"): name for name in vars(self)}
        if state.keys() != names.keys():
            found = f"expected {sorted(names)}, found {sorted(state)}"
            raise ValueError(located(f"GradScaler: {found}"))
        vars(self).update({names[name]: value for name, value in state.items()})


def _above_zero(parameter: str, value: Any) -> float:
    scale = number("GradScaler", parameter, value, 0)
    if not scale:
        raise ValueError(located(f"GradScaler: expected {parameter} above 0, found {value}"))
    return scale
