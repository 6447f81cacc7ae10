"""Changes of shape as modules."""

from __future__ import annotations

from typing import Any

from .. import functional as F
from ..arguments import whole
from ..tracer.tensor import Tensor
from .activation import AXES
from .module import Module


class Flatten(Module):
    """The axes from `start_axis` to `end_axis` made one; by default all but the first."""

    def __init__(self, start_axis: int = 1, end_axis: int = -1, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.start_axis = whole("Flatten", "start_axis", start_axis, -AXES)
        self.end_axis = whole("Flatten", "end_axis", end_axis, -AXES)

    def forward(self, x: Tensor) -> Tensor:
        """x with fewer axes."""
        made: Tensor = F.flatten(x, self.start_axis, self.end_axis)
        return made

    def _module_info_string(self) -> str:
        return f"start_axis={self.start_axis}, end_axis={self.end_axis}"


class PixelShuffle(Module):
    """(..., c r^2, h, w) as (..., c, h r, w r), where r is `upscale_factor`."""

    def __init__(self, upscale_factor: int, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.upscale_factor = whole("PixelShuffle", "upscale_factor", upscale_factor, 1)

    def forward(self, x: Tensor) -> Tensor:
        """x with channels as finer places."""
        made: Tensor = F.pixel_shuffle(x, self.upscale_factor)
        return made

    def _module_info_string(self) -> str:
        return f"upscale_factor={self.upscale_factor}"
