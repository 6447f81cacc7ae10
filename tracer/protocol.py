"""The slot for whoever answers NumPy when its functions are called on tensors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Answer = Callable[..., Any]


class Answers:
    """What `__array_ufunc__` and `__array_function__` of tensors call; set by the public face."""

    ufunc: Answer
    function: Answer


def set_answers(ufunc: Answer, function: Answer) -> None:
    """Let these answer from now on: they get what NumPy gives, without the tensor asked."""
    Answers.ufunc, Answers.function = staticmethod(ufunc), staticmethod(function)
