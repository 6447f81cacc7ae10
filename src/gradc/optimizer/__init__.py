"""Optimizers: each step updates all parameters by one program."""

from .adadelta import Adadelta
from .adagrad import Adagrad
from .adam import Adam, AdamW
from .clip import clip_grad_norm, clip_grad_value
from .lamb import LAMB
from .optimizer import HyperparameterError, Optimizer
from .rmsprop import RMSprop
from .schedule import CosineAnnealingLR, LRScheduler, MultiStepLR
from .sgd import SGD

__all__ = [
    "LAMB",
    "SGD",
    "Adadelta",
    "Adagrad",
    "Adam",
    "AdamW",
    "CosineAnnealingLR",
    "HyperparameterError",
    "LRScheduler",
    "MultiStepLR",
    "Optimizer",
    "RMSprop",
    "clip_grad_norm",
    "clip_grad_value",
]
