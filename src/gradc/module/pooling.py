"""Pooling as modules."""

from __future__ import annotations

from typing import Any

from .. import functional as F
from ..arguments import one_of
from ..functional.convolution import each_axis
from ..functional.pooling import AVERAGES, settled
from ..tracer.tensor import Tensor
from .module import Module

Sizes = int | tuple[int, ...]
LARGEST = {1: F.max_pool1d, 2: F.max_pool2d, 3: F.max_pool3d}
MEAN = {1: F.avg_pool1d, 2: F.avg_pool2d, 3: F.avg_pool3d}
ADAPTIVE_LARGEST = {1: F.adaptive_max_pool1d, 2: F.adaptive_max_pool2d, 3: F.adaptive_max_pool3d}
ADAPTIVE_MEAN = {1: F.adaptive_avg_pool1d, 2: F.adaptive_avg_pool2d, 3: F.adaptive_avg_pool3d}
"""The functions by the number of axes of space."""


class _Pool(Module):
    """What pools share; `rank` counts the axes of space."""

    rank: int

    def __init__(
        self, kernel_size: Sizes, stride: Sizes | None = None, padding: Sizes = 0, **kwargs: Any
    ) -> None:
        super().__init__(**kwargs)
        settled(type(self).__name__, self.rank, (kernel_size, stride, padding))
        self.kernel_size = kernel_size
        self.stride = kernel_size if stride is None else stride
        self.padding = padding

    def _module_info_string(self) -> str:
        sizes = f"kernel_size={self.kernel_size}, stride={self.stride}"
        return f"{sizes}, padding={self.padding}"


class _MaxPool(_Pool):
    def forward(self, inp: Tensor) -> Tensor:
        """The largest elements."""
        made: Tensor = LARGEST[self.rank](inp, self.kernel_size, self.stride, self.padding)
        return made


class MaxPool1d(_MaxPool):
    """The largest element of each window of (batch, channels, length); see MaxPool2d."""

    rank = 1


class MaxPool2d(_MaxPool):
    """The largest element of each window; `stride` is the size of the window unless given."""

    rank = 2


class MaxPool3d(_MaxPool):
    """The largest element of each window in three dimensions; see MaxPool2d."""

    rank = 3


class _AvgPool(_Pool):
    def __init__(
        self,
        kernel_size: Sizes,
        stride: Sizes | None = None,
        padding: Sizes = 0,
        mode: str = "average_count_exclude_padding",
        **kwargs: Any,
    ) -> None:
        super().__init__(kernel_size, stride, padding, **kwargs)
        self.mode = one_of(type(self).__name__, "mode", mode, AVERAGES)

    def forward(self, inp: Tensor) -> Tensor:
        """The means."""
        windows = (self.kernel_size, self.stride, self.padding)
        made: Tensor = MEAN[self.rank](inp, *windows, self.mode)
        return made


class AvgPool1d(_AvgPool):
    """The mean of each window of (batch, channels, length); see AvgPool2d."""

    rank = 1


class AvgPool2d(_AvgPool):
    """The mean of each window: of its elements within the input, or of all with mode "average"."""

    rank = 2


class AvgPool3d(_AvgPool):
    """The mean of each window in three dimensions; see AvgPool2d."""

    rank = 3


class _AdaptivePool(Module):
    rank: int

    def __init__(self, oshp: Sizes, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        each_axis(type(self).__name__, "oshp", oshp, self.rank, 1)
        self.oshp = oshp

    def _module_info_string(self) -> str:
        return f"oshp={self.oshp}"


class _AdaptiveMaxPool(_AdaptivePool):
    def forward(self, inp: Tensor) -> Tensor:
        """The largest elements."""
        made: Tensor = ADAPTIVE_LARGEST[self.rank](inp, self.oshp)
        return made


class AdaptiveMaxPool1d(_AdaptiveMaxPool):
    """The largest elements of `oshp` parts of the last axis."""

    rank = 1


class AdaptiveMaxPool2d(_AdaptiveMaxPool):
    """The largest elements of `oshp` parts, as equal as they can be."""

    rank = 2


class AdaptiveMaxPool3d(_AdaptiveMaxPool):
    """The largest elements of `oshp` parts of the last three axes."""

    rank = 3


class _AdaptiveAvgPool(_AdaptivePool):
    def forward(self, inp: Tensor) -> Tensor:
        """The means."""
        made: Tensor = ADAPTIVE_MEAN[self.rank](inp, self.oshp)
        return made


class AdaptiveAvgPool1d(_AdaptiveAvgPool):
    """The means of `oshp` parts of the last axis."""

    rank = 1


class AdaptiveAvgPool2d(_AdaptiveAvgPool):
    """The means of `oshp` parts, as equal as they can be."""

    rank = 2


class AdaptiveAvgPool3d(_AdaptiveAvgPool):
    """The means of `oshp` parts of the last three axes."""

    rank = 3
