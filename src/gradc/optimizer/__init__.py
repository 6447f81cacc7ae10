"""Optimizers: each step updates all parameters by one program."""

from .adadelta import Adadelta
from .adagrad import Adagrad
from .adam import Adam, AdamW
from .clip import clip_grad_norm, clip_grad_value
from .lamb import LAMB
from .optimizer import HyperparameterError, Optimizer
from .rmsprop import RMSprop
from .schedule import (
    CosineAnnealingLR,
    CosineAnnealingWarmRestarts,
    ExponentialLR,
    LambdaLR,
    LinearLR,
    LRScheduler,
    MultiStepLR,
    PolynomialLR,
    SequentialLR,
    StepLR,
)
from .sgd import SGD

__all__ = [
    "LAMB",
    "SGD",
    "Adadelta",
    "Adagrad",
    "Adam",
    "AdamW",
    "CosineAnnealingLR",
    "CosineAnnealingWarmRestarts",
    "ExponentialLR",
    "HyperparameterError",
    "LRScheduler",
    "LambdaLR",
    "LinearLR",
    "MultiStepLR",
    "Optimizer",
    "PolynomialLR",
    "RMSprop",
    "SequentialLR",
    "StepLR",
    "clip_grad_norm",
    "clip_grad_value",
]
