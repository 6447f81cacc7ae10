"""Normalization of each sample by itself."""

from __future__ import annotations

from typing import Any

from .. import functional as F
from ..arguments import extents, number, whole
from ..tracer.errors import located
from ..tracer.ir import Shape
from ..tracer.tensor import Parameter, Tensor
from . import init
from .module import Module


class _Scaled(Module):
    """A `weight` and a `bias`, which begin as 1 and 0."""

    weight: Parameter | None
    bias: Parameter | None

    def _hold(self, shape: Shape, affine: bool, bias: bool = True) -> None:
        self.affine = affine
        self.weight = Parameter(init.empty(shape)) if affine else None
        self.bias = Parameter(init.empty(shape)) if affine and bias else None
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Give weight and bias their first values anew."""
        if self.weight is not None:
            init.ones_(self.weight)
        if self.bias is not None:
            init.zeros_(self.bias)


class _LastAxes(_Scaled):
    """Normalization over the last axes."""

    normalized_shape: Shape
    eps: float | None

    def _over(self, normalized_shape: int | Shape) -> None:
        self.normalized_shape = extents(type(self).__name__, "normalized_shape", normalized_shape)

    def _module_info_string(self) -> str:
        return f"normalized_shape={self.normalized_shape}, eps={self.eps}, affine={self.affine}"


class LayerNorm(_LastAxes):
    """Mean 0 and variance 1 over the last axes, `normalized_shape`; then weight and bias."""

    def __init__(
        self,
        normalized_shape: int | tuple[int, ...],
        eps: float = 1e-5,
        affine: bool = True,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self._over(normalized_shape)
        self.eps: float = number("LayerNorm", "eps", eps, 0)
        self._hold(self.normalized_shape, affine)

    def forward(self, x: Tensor) -> Tensor:
        """The normalized x."""
        shape, scale = self.normalized_shape, (self.weight, self.bias)
        made: Tensor = F.layer_norm(x, shape, self.affine, *scale, self.eps)
        return made


class RMSNorm(_LastAxes):
    """x / sqrt(mean(x^2) + eps) over the last axes, `normalized_shape`; then times `weight`.

    `eps` is by default the distance from 1 to the next number of the type.
    """

    def __init__(
        self,
        normalized_shape: int | tuple[int, ...],
        eps: float | None = None,
        affine: bool = True,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self._over(normalized_shape)
        self.eps = None if eps is None else number("RMSNorm", "eps", eps, 0)
        self._hold(self.normalized_shape, affine, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        """The normalized x."""
        made: Tensor = F.rms_norm(x, self.normalized_shape, self.weight, self.eps)
        return made


class GroupNorm(_Scaled):
    """Mean 0 and variance 1 over each of `num_groups` groups of channels; then weight and bias."""

    def __init__(
        self,
        num_groups: int,
        num_channels: int,
        eps: float = 1e-5,
        affine: bool = True,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.num_groups = whole("GroupNorm", "num_groups", num_groups, 1)
        self.num_channels = whole("GroupNorm", "num_channels", num_channels)
        self.eps = number("GroupNorm", "eps", eps, 0)
        if self.num_channels % self.num_groups:
            found = f"{num_channels} channels are no multiple of {num_groups} groups"
            raise ValueError(located(f"GroupNorm: {found}"))
        self._hold((self.num_channels,), affine)

    def forward(self, x: Tensor) -> Tensor:
        """The normalized x."""
        scale = (self.weight, self.bias)
        made: Tensor = F.group_norm(x, self.num_groups, self.affine, *scale, self.eps)
        return made

    def _module_info_string(self) -> str:
        sizes = f"num_groups={self.num_groups}, num_channels={self.num_channels}"
        return f"{sizes}, eps={self.eps}, affine={self.affine}"


class InstanceNorm(_Scaled):
    """Mean 0 and variance 1 over each channel of each sample; then weight and bias."""

    def __init__(
        self, num_channels: int, eps: float = 1e-5, affine: bool = True, **kwargs: Any
    ) -> None:
        super().__init__(**kwargs)
        self.num_channels = whole("InstanceNorm", "num_channels", num_channels)
        self.eps = number("InstanceNorm", "eps", eps, 0)
        self._hold((self.num_channels,), affine)

    def forward(self, x: Tensor) -> Tensor:
        """The normalized x."""
        made: Tensor = F.instance_norm(x, self.affine, self.weight, self.bias, self.eps)
        return made

    def _module_info_string(self) -> str:
        return f"num_channels={self.num_channels}, eps={self.eps}, affine={self.affine}"
