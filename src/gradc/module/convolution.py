"""Convolutions that hold their weights.

Weights begin with a normal distribution of variance 1 / (inputs that an output depends on), biases
with 0.
"""

from __future__ import annotations

import math
from typing import Any

from .. import functional as F
from ..arguments import one_of, whole
from ..functional.convolution import each_axis
from ..tracer.errors import located
from ..tracer.ir import Shape
from ..tracer.tensor import Parameter, Tensor
from . import init
from .module import Module

Sizes = int | tuple[int, ...]
CONVOLUTIONS = {1: F.conv1d, 2: F.conv2d, 3: F.conv3d}
ADJOINTS = {1: F.conv_transpose1d, 2: F.conv_transpose2d, 3: F.conv_transpose3d}
PADDINGS = {"zeros": "constant", "reflect": "reflect", "replicate": "edge", "circular": "wrap"}
"""What `F.pad` calls each padding."""


class _Windows(Module):
    """What convolutions and their adjoints share; `rank` counts the axes of space."""

    rank: int

    def _hold(self, channels: tuple[int, int], kernel_size: Sizes, groups: int, bias: bool) -> None:
        name = type(self).__name__
        self.in_channels = whole(name, "in_channels", channels[0])
        self.out_channels = whole(name, "out_channels", channels[1])
        groups = whole(name, "groups", groups, 1)
        if any(each % groups for each in channels):
            found = f"{list(channels)} channels are no multiples of {groups} groups"
            raise ValueError(located(f"{name}: {found}"))
        self.kernel_size = self._sizes("kernel_size", kernel_size, 1)
        self.groups = groups
        self.weight = Parameter(init.empty(self._weight_shape()))
        self.bias = Parameter(init.empty((1, channels[1], *(1,) * self.rank))) if bias else None
        self.reset_parameters()

    def _sizes(self, what: str, given: Sizes, least: int = 0) -> Shape:
        return each_axis(type(self).__name__, what, given, self.rank, least)

    def _place(self, stride: Sizes, padding: Sizes, dilation: Sizes) -> None:
        self.stride = self._sizes("stride", stride, 1)
        self.padding = self._sizes("padding", padding)
        self.dilation = self._sizes("dilation", dilation, 1)

    def _check_modes(self, conv_mode: str, compute_mode: str) -> None:
        """`compute_mode` changes nothing: sums of half types are always made in float32."""
        if conv_mode.lower() != "cross_correlation":
            found = f"expected the mode cross_correlation, found {conv_mode!r}"
            raise ValueError(located(f"{type(self).__name__}: {found}"))
        if compute_mode.lower() not in ("default", "float32"):
            found = f"expected to compute in default or float32, found {compute_mode!r}"
            raise ValueError(located(f"{type(self).__name__}: {found}"))

    def _weight_shape(self) -> Shape:
        first, second = self._weight_channels()
        if self.groups == 1:
            return first, second, *self.kernel_size
        return self.groups, first // self.groups, second // self.groups, *self.kernel_size

    def _weight_channels(self) -> tuple[int, int]:
        raise NotImplementedError

    def reset_parameters(self) -> None:
        """Give weight and bias their first values anew."""
        inputs = self.in_channels // self.groups * math.prod(self.kernel_size)
        init.normal_(self.weight, 0.0, math.sqrt(1 / max(inputs, 1)))
        if self.bias is not None:
            init.zeros_(self.bias)

    def _module_info_string(self) -> str:
        told = f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}"
        plain = {"stride": 1, "padding": 0, "dilation": 1}
        for name, usual in plain.items():
            sizes = getattr(self, name)
            told += "" if sizes == (usual,) * self.rank else f", {name}={sizes}"
        told += "" if self.groups == 1 else f", groups={self.groups}"
        return told if self.bias is not None else f"{told}, bias=False"


class _Convolution(_Windows):
    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Sizes,
        stride: Sizes = 1,
        padding: Sizes = 0,
        dilation: Sizes = 1,
        groups: int = 1,
        bias: bool = True,
        conv_mode: str = "cross_correlation",
        compute_mode: str = "default",
        padding_mode: str = "zeros",
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self._check_modes(conv_mode, compute_mode)
        name = type(self).__name__
        self.padding_mode = one_of(name, "padding_mode", padding_mode, tuple(PADDINGS))
        self._place(stride, padding, dilation)
        self._hold((in_channels, out_channels), kernel_size, groups, bias)

    def _weight_channels(self) -> tuple[int, int]:
        return self.out_channels, self.in_channels

    def forward(self, inp: Tensor) -> Tensor:
        """The convolved input."""
        padding = self.padding
        if self.padding_mode != "zeros" and any(padding):
            amounts = ((0, 0), (0, 0), *((each, each) for each in padding))
            inp = F.pad(inp, amounts, mode=PADDINGS[self.padding_mode])
            padding = (0,) * self.rank
        sizes = (self.stride, padding, self.dilation)
        function = CONVOLUTIONS[self.rank]
        made: Tensor = function(inp, self.weight, self.bias, *sizes, self.groups)
        return made


class Conv1d(_Convolution):
    """Cross-correlation of (batch, in, length) with `weight`, (out, in, size), plus `bias`.

    With `groups` the weight is (groups, out per group, in per group, size).
    """

    rank = 1


class Conv2d(_Convolution):
    """Cross-correlation of (batch, in, height, width) with `weight`, (out, in, rows, columns).

    `bias`, (1, out, 1, 1), is added. With `groups` the weight is (groups, out per group, in per
    group, rows, columns). `padding_mode` is zeros, reflect, replicate or circular.
    """

    rank = 2


class Conv3d(_Convolution):
    """Cross-correlation of (batch, in, *space) with `weight`, (out, in, *window), plus `bias`."""

    rank = 3


class _Adjoint(_Windows):
    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Sizes,
        stride: Sizes = 1,
        padding: Sizes = 0,
        output_padding: Sizes = 0,
        dilation: Sizes = 1,
        groups: int = 1,
        bias: bool = True,
        conv_mode: str = "cross_correlation",
        compute_mode: str = "default",
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self._check_modes(conv_mode, compute_mode)
        self.output_padding = self._sizes("output_padding", output_padding)
        self._place(stride, padding, dilation)
        self._hold((in_channels, out_channels), kernel_size, groups, bias)

    def _weight_channels(self) -> tuple[int, int]:
        return self.in_channels, self.out_channels

    def forward(self, inp: Tensor) -> Tensor:
        """The input, spread out."""
        sizes = (self.stride, self.padding, self.output_padding, self.dilation)
        function = ADJOINTS[self.rank]
        made: Tensor = function(inp, self.weight, self.bias, *sizes, self.groups)
        return made


class ConvTranspose1d(_Adjoint):
    """The adjoint of a Conv1d from `out_channels` to `in_channels`; see ConvTranspose2d."""

    rank = 1


class ConvTranspose2d(_Adjoint):
    """The adjoint of a Conv2d from `out_channels` to `in_channels`.

    `weight` is (in, out, rows, columns), with `groups` (groups, in per group, out per group, rows,
    columns); `output_padding` adds rows and columns to the end.
    """

    rank = 2


class ConvTranspose3d(_Adjoint):
    """The adjoint of a Conv3d from `out_channels` to `in_channels`; see ConvTranspose2d."""

    rank = 3
