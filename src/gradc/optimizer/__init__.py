"""Optimizers: each step updates all parameters by one program."""

from .adadelta import Adadelta
from .adagrad import Adagrad
from .adam import Adam, AdamW
from .clip import clip_grad_norm, clip_grad_value
from .optimizer import HyperparameterError, Optimizer
from .schedule import LRScheduler, MultiStepLR
from .sgd import SGD

__all__ = [
    "SGD",
    "Adadelta",
    "Adagrad",
    "Adam",
    "AdamW",
    "HyperparameterError",
    "LRScheduler",
    "MultiStepLR",
    "Optimizer",
    "clip_grad_norm",
    "clip_grad_value",
]
