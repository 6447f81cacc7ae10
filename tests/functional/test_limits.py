"""Values and derivatives at both infinities, where they have limits."""

import math

import numpy as np
import pytest

import gradc
import gradc.functional as F
from gradc.autodiff import GradManager

INF = math.inf
RISES = ((INF, 1, 0), (0, 0, 0))
"""Of what is x far above 0 and nothing far below it."""
STEP = ((1, 0, 0), (0, 0, 0))
SIGN = ((1, 0, 0), (-1, 0, 0))
LINE = ((INF, 1, 0), (-INF, 1, 0))
LENGTH = ((INF, 1, 0), (INF, -1, 0))
RIGHT = math.pi / 2
SELU = 1.0507009873554805

LIMITS = {
    # function: (value, slope, curve) at inf and at -inf
    "relu": (F.relu, RISES),
    "gelu": (F.gelu, RISES),
    "gelu tanh": (lambda x: F.gelu(x, approximate="tanh"), RISES),
    "silu": (F.silu, RISES),
    "mish": (F.mish, RISES),
    "hswish": (F.hswish, RISES),
    "softplus": (F.softplus, RISES),
    "softplus 3": (lambda x: F.softplus(x, 3.0), RISES),
    "logaddexp": (lambda x: F.logaddexp(x, 0.0), RISES),
    "logsigmoid": (F.logsigmoid, ((0, 0, 0), (-INF, 1, 0))),
    "sigmoid": (F.sigmoid, STEP),
    "hsigmoid": (F.hsigmoid, STEP),
    "relu6": (F.relu6, ((6, 0, 0), (0, 0, 0))),
    "tanh": (F.tanh, SIGN),
    "erf": (F.erf, SIGN),
    "softsign": (F.softsign, SIGN),
    "hardtanh": (F.hardtanh, SIGN),
    "tanhshrink": (F.tanhshrink, LINE),
    "softshrink": (F.softshrink, LINE),
    "hardshrink": (F.hardshrink, LINE),
    "leaky_relu": (lambda x: F.leaky_relu(x, 0.25), ((INF, 1, 0), (-INF, 0.25, 0))),
    "elu": (F.elu, ((INF, 1, 0), (-1, 0, 0))),
    "celu": (lambda x: F.celu(x, 2.0), ((INF, 1, 0), (-2, 0, 0))),
    "selu": (F.selu, ((INF, SELU, 0), (-SELU * 1.6732632423543772, 0, 0))),
    "exp": (F.exp, ((INF, INF, INF), (0, 0, 0))),
    "exp2": (F.exp2, ((INF, INF, INF), (0, 0, 0))),
    "expm1": (F.expm1, ((INF, INF, INF), (-1, 0, 0))),
    "atan": (F.atan, ((RIGHT, 0, 0), (-RIGHT, 0, 0))),
    "atan2": (lambda x: F.atan2(x, 1.0), ((RIGHT, 0, 0), (-RIGHT, 0, 0))),
    "asinh": (F.asinh, ((INF, 0, 0), (-INF, 0, 0))),
    "hypot": (lambda x: F.hypot(x, 1.0), LENGTH),
    "hypot of 1": (lambda x: F.hypot(1.0, x), LENGTH),
    "abs": (F.abs, LENGTH),
    "reciprocal": (F.reciprocal, ((0, 0, 0), (0, 0, 0))),
    "soft margin": (
        lambda x: F.soft_margin_loss(x, np.float32(1.0), "none"),
        ((0, 0, 0), (INF, -1, 0)),
    ),
    "smooth l1": (lambda x: F.smooth_l1_loss(x, np.float32(0.0), 1.0, "none"), LENGTH),
    "huber": (lambda x: F.huber_loss(x, np.float32(0.0), 1.0, "none"), LENGTH),
}


@pytest.mark.parametrize("kind", ["float16", "bfloat16", "float32", "float64"])
def test_limits(kind, interpreted):
    wrong = []
    for name, (function, limits) in LIMITS.items():
        x = gradc.tensor([INF, -INF], dtype=kind)
        outer, inner = GradManager().attach(x), GradManager().attach(x)
        with outer:
            with inner:
                y = function(x)
                inner.backward(y.sum())
            slope, x.grad = x.grad, None
            outer.backward(slope.sum())
        curve = gradc.tensor([0.0, 0.0]) if x.grad is None else x.grad
        found = np.array([each.numpy().astype("float64") for each in (y, slope, curve)]).T
        if not np.allclose(found, limits, rtol=1e-2 if kind == "bfloat16" else 1e-3):
            wrong.append(f"{name}: {found.tolist()}")
    assert not wrong, "\n".join(wrong)
