"""What the smallest gradient costs per iteration."""

from __future__ import annotations

import numpy as np
from figure import Figure, microseconds

import gradc
import gradc.functional as F
from gradc.autodiff import GradManager


def figures() -> list[Figure]:
    """All figures of this file."""
    x = gradc.Parameter(np.arange(10.0))
    gm = GradManager().attach(x)

    def step() -> None:
        x.grad = None
        with gm:
            gm.backward(F.sum(x * x))

    for _ in range(3):
        step()
    return [Figure("gradient of sum(x * x), 10 elements", microseconds(step, 2000), "us", 25)]
