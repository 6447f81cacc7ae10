"""PyTorch: `eager`, and `compile` with torch.func in one graph (Inductor's C++)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
import torch.nn.functional as F

from rivals.operators import Operators
from rivals.step import Step
from rivals.workloads import Workload


class TorchOperators(Operators):
    """PyTorch's functions."""

    def __init__(self) -> None:
        super().__init__(torch)

    def affine(self, x: Any, weight: Any, bias: Any) -> Any:
        """One call for matrices."""
        return torch.addmm(bias, x, weight) if x.ndim == 2 else x @ weight + bias

    def permuted(self, x: Any, *axes: int) -> Any:
        """As its own name is."""
        return x.permute(axes)

    def parts(self, x: Any, count: int, size: int) -> Sequence[Any]:
        """One operator, with one derivative."""
        parts: Sequence[Any] = x.chunk(count, 1)
        return parts

    def components(self, x: Any, count: int) -> Sequence[Any]:
        """Likewise."""
        components: Sequence[Any] = x.unbind(0)
        return components

    def layer_norm(self, x: Any, scale: Any, shift: Any) -> Any:
        """Its own kernel."""
        return F.layer_norm(x, (x.shape[-1],), scale, shift, 1e-5)

    def batch_norm(self, x: Any, scale: Any, shift: Any) -> Any:
        """Its own kernel."""
        return F.batch_norm(x, None, None, scale, shift, True, 0.1, 1e-5)

    def gelu(self, x: Any) -> Any:
        """Its own kernel."""
        return F.gelu(x, approximate="tanh")

    def softmax(self, x: Any) -> Any:
        """Over the last axis."""
        return F.softmax(x, -1)

    def attention(self, query: Any, key: Any, value: Any, width: int) -> Any:
        """Its own kernel."""
        return F.scaled_dot_product_attention(query, key, value)

    def cross_entropy(self, logits: Any, label: Any, batch: int) -> Any:
        """The mean over rows."""
        return F.cross_entropy(logits, label)

    def conv(self, x: Any, weight: Any, bias: Any, padding: int) -> Any:
        """oneDNN's kernel."""
        return F.conv2d(x, weight, bias, padding=padding)

    def max_pool(self, x: Any) -> Any:
        """Of squares of four."""
        return F.max_pool2d(x, 2)

    def derivatives(self, network: Callable[..., Any], points: Any) -> tuple[Any, ...]:
        """By graphs of gradients."""
        x = points.detach().requires_grad_()
        u = network(x)
        (slope,) = torch.autograd.grad(u.sum(), x, create_graph=True)
        (curvature,) = torch.autograd.grad(slope[:, 1].sum(), x, create_graph=True)
        return u[:, 0], slope[:, 0], slope[:, 1], curvature[:, 1]


class CompiledOperators(TorchOperators):
    """What torch.compile takes: no graphs of gradients, but their functional form."""

    def derivatives(self, network: Callable[..., Any], points: Any) -> tuple[Any, ...]:
        """For one point, mapped over all."""
        grad = torch.func.grad

        def u(t: Any, x: Any) -> Any:
            return network(torch.stack([t, x]).unsqueeze(0))[0, 0]

        def at(t: Any, x: Any) -> tuple[Any, ...]:
            return u(t, x), grad(u, 0)(t, x), grad(u, 1)(t, x), grad(grad(u, 1), 1)(t, x)

        made: tuple[Any, ...] = torch.func.vmap(at)(points[:, 0], points[:, 1])
        return made


def build(workload: Workload, variant: str, threads: int, rate: float, dtype: str) -> Step:
    """A step in one of the variants."""
    torch.set_num_threads(threads)
    parameters, inputs = workload.data(dtype=dtype)
    p = {name: torch.tensor(each) for name, each in parameters.items()}
    i = {
        name: torch.tensor(each, dtype=torch.int64 if each.dtype.kind == "i" else None)
        for name, each in inputs.items()
    }
    made = _compiled(workload, p, i, rate) if variant == "compile" else _eager(workload, p, i, rate)
    return Step(made, lambda: {name: each.detach().numpy().copy() for name, each in p.items()})


def _eager(
    workload: Workload, p: dict[str, Any], i: dict[str, Any], rate: float
) -> Callable[[], Any]:
    leaves = [each.requires_grad_() for each in p.values()]
    operators = TorchOperators()

    def step() -> Any:
        loss = workload.loss(operators, p, i, workload.sizes)
        gradients = torch.autograd.grad(loss, leaves)
        with torch.no_grad():
            torch._foreach_add_(leaves, gradients, alpha=-rate)
        return loss

    return step


def _compiled(
    workload: Workload, p: dict[str, Any], i: dict[str, Any], rate: float
) -> Callable[[], Any]:
    operators = CompiledOperators()

    def loss_of(p: dict[str, Any], i: dict[str, Any]) -> Any:
        return workload.loss(operators, p, i, workload.sizes)

    def whole(p: dict[str, Any], i: dict[str, Any]) -> Any:
        gradients, loss = torch.func.grad_and_value(loss_of)(p, i)
        for name, each in p.items():
            each.sub_(gradients[name], alpha=rate)
        return loss

    compiled = torch.compile(whole, fullgraph=True, dynamic=False)

    def step() -> Any:
        with torch.no_grad():
            return compiled(p, i)

    return step
