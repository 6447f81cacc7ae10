"""Gradients: managers, functions with a derivative of their own, and blocks without history."""

from .tracer.function import Function
from .tracer.grad_manager import GradManager
from .tracer.no_grad import no_grad

__all__ = ["Function", "GradManager", "no_grad"]
