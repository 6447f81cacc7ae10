"""Pooling as modules."""

from __future__ import annotations

from typing import Any

from .. import functional as F
from ..tracer.tensor import Tensor
from .module import Module

Sizes = int | tuple[int, ...]


class _Pool(Module):
    def __init__(
        self, kernel_size: Sizes, stride: Sizes | None = None, padding: Sizes = 0, **kwargs: Any
    ) -> None:
        super().__init__(**kwargs)
        self.kernel_size = kernel_size
        self.stride = kernel_size if stride is None else stride
        self.padding = padding

    def _module_info_string(self) -> str:
        sizes = f"kernel_size={self.kernel_size}, stride={self.stride}"
        return f"{sizes}, padding={self.padding}"


class MaxPool2d(_Pool):
    """The largest element of each window; `stride` is the size of the window unless given."""

    def forward(self, inp: Tensor) -> Tensor:
        """The largest elements."""
        made: Tensor = F.max_pool2d(inp, self.kernel_size, self.stride, self.padding)
        return made


class AvgPool2d(_Pool):
    """The mean of each window: of its elements within the input, or of all with mode "average"."""

    def __init__(
        self,
        kernel_size: Sizes,
        stride: Sizes | None = None,
        padding: Sizes = 0,
        mode: str = "average_count_exclude_padding",
        **kwargs: Any,
    ) -> None:
        super().__init__(kernel_size, stride, padding, **kwargs)
        self.mode = mode

    def forward(self, inp: Tensor) -> Tensor:
        """The means."""
        made: Tensor = F.avg_pool2d(inp, self.kernel_size, self.stride, self.padding, self.mode)
        return made


class _AdaptivePool(Module):
    def __init__(self, oshp: Sizes, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.oshp = oshp

    def _module_info_string(self) -> str:
        return f"oshp={self.oshp}"


class AdaptiveMaxPool2d(_AdaptivePool):
    """The largest elements of `oshp` parts, as equal as they can be."""

    def forward(self, inp: Tensor) -> Tensor:
        """The largest elements."""
        made: Tensor = F.adaptive_max_pool2d(inp, self.oshp)
        return made


class AdaptiveAvgPool2d(_AdaptivePool):
    """The means of `oshp` parts, as equal as they can be."""

    def forward(self, inp: Tensor) -> Tensor:
        """The means."""
        made: Tensor = F.adaptive_avg_pool2d(inp, self.oshp)
        return made
