"""Gradients: managers, functions with a derivative of their own, and derivatives of functions."""

from .check import WrongDerivativeError, check_grad
from .derivatives import grad, hessian, hvp, jacobian, jvp, value_and_grad, vjp
from .tracer.function import Function
from .tracer.grad_manager import GradManager
from .tracer.no_grad import no_grad
from .tracer.unreached import TrainingWarning

__all__ = [
    "Function",
    "GradManager",
    "TrainingWarning",
    "WrongDerivativeError",
    "check_grad",
    "grad",
    "hessian",
    "hvp",
    "jacobian",
    "jvp",
    "no_grad",
    "value_and_grad",
    "vjp",
]
