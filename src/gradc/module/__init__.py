"""Modules: parts of networks that hold their parameters."""

from . import init
from .activation import GELU, ReLU, Sigmoid, Softmax, Tanh
from .identity import Identity
from .linear import Linear
from .module import HookHandle, Module
from .sequential import Sequential

__all__ = [
    "GELU",
    "HookHandle",
    "Identity",
    "Linear",
    "Module",
    "ReLU",
    "Sequential",
    "Sigmoid",
    "Softmax",
    "Tanh",
    "init",
]
