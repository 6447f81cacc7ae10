"""Batch normalization."""

from __future__ import annotations

from typing import Any

from .. import functional as F
from ..arguments import number, one_of, whole
from ..tracer.errors import ArgumentError, ShapeError, located
from ..tracer.ir import Shape
from ..tracer.tensor import Parameter, Tensor
from . import init
from .module import Module


class _BatchNorm(Module):
    """What the batch norms share; `ranks` are the numbers of axes that inputs may have."""

    ranks: tuple[int, ...]

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float = 0.9,
        affine: bool = True,
        track_running_stats: bool = True,
        freeze: bool = False,
        compute_mode: str = "default",
        param_dim: str = "dim_1c11",
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        if freeze and not track_running_stats:
            expected = "freeze needs running statistics, so track_running_stats"
            raise ArgumentError(located(f"{type(self).__name__}: {expected}"))
        name = type(self).__name__
        self.num_features = whole(name, "num_features", num_features)
        self.eps = number(name, "eps", eps, 0)
        self.momentum = number(name, "momentum", momentum, 0, 1)
        self.affine, self.track_running_stats, self.freeze = affine, track_running_stats, freeze
        self.compute_mode = compute_mode
        self.param_dim = one_of(name, "param_dim", param_dim, ("dim_1c11", "dim_111c"))
        shape = self._shape()
        self.weight = Parameter(init.empty(shape)) if affine else None
        self.bias = Parameter(init.empty(shape)) if affine else None
        self.running_mean = Tensor(init.empty(shape)) if track_running_stats else None
        self.running_var = Tensor(init.empty(shape)) if track_running_stats else None
        self.reset_parameters()

    def _shape(self) -> Shape:
        """The shape of what each channel has one of."""
        ones = (1,) * max(self.ranks[-1] - 2, 2)
        last = self.param_dim == "dim_111c"
        return (1, *ones, self.num_features) if last else (1, self.num_features, *ones)

    def reset_running_stats(self) -> None:
        """Let the running mean be 0 and the running variance 1."""
        if self.running_mean is not None and self.running_var is not None:
            init.zeros_(self.running_mean)
            init.ones_(self.running_var)

    def reset_parameters(self) -> None:
        """Give all tensors their first values anew."""
        self.reset_running_stats()
        if self.weight is not None and self.bias is not None:
            init.ones_(self.weight)
            init.zeros_(self.bias)

    def forward(self, inp: Tensor) -> Tensor:
        """The normalized input; while training the running statistics follow."""
        if inp.ndim not in self.ranks:
            expected = f"expected an input with {' or '.join(map(str, self.ranks))} axes"
            raise ShapeError(located(f"{type(self).__name__}: {expected}, found {inp.ndim}"))
        weight, bias = (
            each.detach() if self.freeze and each is not None else each
            for each in (self.weight, self.bias)
        )
        follows = self.track_running_stats or self.freeze
        if follows and self.running_mean is None:
            expected = "track_running_stats was False at first, so there are none to follow"
            raise ArgumentError(located(f"{type(self).__name__}: {expected}"))
        running = follows and not (self.training and not self.freeze)
        made: Tensor = F.batch_norm(
            inp,
            self.running_mean if follows else None,
            self.running_var if follows else None,
            weight,
            bias,
            training=not running,
            momentum=self.momentum,
            eps=self.eps,
            param_dim=self.param_dim,
        )
        return made

    def _module_info_string(self) -> str:
        kept = f"affine={self.affine}, track_running_stats={self.track_running_stats}"
        return f"{self.num_features}, eps={self.eps}, momentum={self.momentum}, {kept}"


class BatchNorm1d(_BatchNorm):
    """BatchNorm2d for (batch, channels) and (batch, channels, length)."""

    ranks = (2, 3)


class BatchNorm2d(_BatchNorm):
    """Each channel with mean 0 and variance 1 over batch and space; then weight and bias.

    While training the mean and the variance are those of the batch, and the buffers `running_mean`
    and `running_var` become momentum * running + (1 - momentum) * that of the batch. In evaluation
    they are used instead; without `track_running_stats` there are none. Where that is set to False
    later, they stay as they are, and those of the batch are used. With `freeze` the running ones
    are always used, nothing changes, and no gradient reaches weight and bias.
    """

    ranks = (4,)


class BatchNorm3d(_BatchNorm):
    """BatchNorm2d for (batch, channels, *space) in three dimensions."""

    ranks = (5,)
