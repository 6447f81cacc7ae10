"""What every public function says of arguments that it cannot take: where, in plain words."""

import inspect
import re
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from functional.calls import CALLS

import gradc
from gradc import functional as F

pytestmark = pytest.mark.usefixtures("interpreted")

INTERNAL = re.compile(r"checked_index|<lambda>|\b_[a-z]\w+|Node\b|<locals>|gradc\.tracer")
"""What never reaches a user: nodes, private names, operators that only programs have."""

NO_OPERANDS = (None, "text", object(), 1j, {}, np.array(["a", "b"]))
NO_STATIC = ("text", object(), 1j, {}, np.array([0.5]), float("nan"))


def wrong_calls() -> Iterator[tuple[str, str, Any]]:
    """Calls of every function in which one argument is of a kind that it does not take."""
    for name, (args, options) in CALLS.items():
        function = getattr(F, name)
        names = list(inspect.signature(function).parameters)
        for place, arg in enumerate(args):
            optional = place < len(names) and (
                inspect.signature(function).parameters[names[place]].default is None
            )
            operand = isinstance(arg, (np.ndarray, list))
            for wrong in NO_OPERANDS if operand else NO_STATIC:
                if wrong is None and optional:
                    continue
                given = [*args[:place], wrong, *args[place + 1 :]]
                yield name, f"{wrong!r:.20} at {place}", (function, given, options)


def test_arguments_of_a_wrong_kind() -> None:
    wrong = []
    for name, label, (function, given, options) in wrong_calls():
        tensors = [
            gradc.tensor(each)
            if isinstance(each, np.ndarray) and each.dtype.kind in "fib"
            else each
            for each in given
        ]
        try:
            function(*tensors, **options)
        except Exception as error:
            told = str(error)
            if "test_messages.py" not in told or INTERNAL.search(told):
                wrong.append(f"{name}, {label}: {type(error).__name__}: {told:.150}")
    assert not wrong, f"{len(wrong)}\n" + "\n".join(wrong)


def test_arguments_that_are_missing_or_unknown() -> None:
    wrong = []
    for name, (args, _) in CALLS.items():
        function = getattr(F, name)
        for label, call in {
            "unknown": lambda f=function, a=args: f(*a, colour="red"),
            "too many": lambda f=function, a=args: f(*a, *[None] * 20, 1),
        }.items():
            if label == "too many" and "*" in str(inspect.signature(function)):
                continue
            try:
                call()
                wrong.append(f"{name}, {label}: taken")
            except Exception as error:
                if INTERNAL.search(str(error)):
                    wrong.append(f"{name}, {label}: {type(error).__name__}: {error:.150}")
    assert not wrong, "\n".join(wrong)
