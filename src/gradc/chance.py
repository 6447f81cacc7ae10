"""Random numbers of the host: who draws them cannot be replayed."""

from __future__ import annotations

import random
import sys
from collections.abc import Iterable
from typing import Any

import numpy as np


def random_states(objects: Iterable[Any]) -> list[Any]:
    """The states of Python's and NumPy's generators, and of those among `objects`."""
    states: list[Any] = [random.getstate()]
    if "numpy.random" in sys.modules:
        drawn: Any = np.random.get_state(legacy=False)
        states.append((drawn["state"]["key"].tobytes(), drawn["state"]["pos"], drawn["gauss"]))
        for each in objects:
            if issubclass(type(each), np.random.Generator):
                states.append(repr(each.bit_generator.state))
    return states + [each.getstate() for each in objects if issubclass(type(each), random.Random)]
