"""Solves a differential equation with a network: u'' = -sin(x), u(0) = 0, u(pi) = 1.

The solution is u = sin(x) + x / pi. The network learns from the equation alone: its second
derivative with respect to x comes from two managers, and the gradient of what is left of the
equation from a third one around them.

python examples/pinn.py [steps]
"""

import sys
import time

import numpy as np

import gradc
import gradc.functional as F
import gradc.module as M
import gradc.optimizer as optim
from gradc import jit
from gradc.autodiff import GradManager

POINTS, STEPS = 64, 3000


def main(steps):
    gradc.manual_seed(0)
    network = M.Sequential(M.Linear(1, 32), M.Tanh(), M.Linear(32, 32), M.Tanh(), M.Linear(32, 1))
    gm = GradManager().attach(network.parameters())
    opt = optim.Adam(network.parameters(), lr=5e-3)
    schedule = optim.CosineAnnealingLR(opt, steps)
    x = gradc.tensor(np.linspace(0, np.pi, POINTS, dtype="float32")[:, None])
    ends = gradc.tensor([[0.0], [np.pi]])
    values = gradc.tensor([[0.0], [1.0]])

    def second_derivative(x):
        with GradManager().attach(x) as outer:
            with GradManager().attach(x) as inner:
                inner.backward(network(x).sum())
            slope, x.grad = x.grad, None
            outer.backward(slope.sum())
        curvature, x.grad = x.grad, None
        return curvature

    @jit.trace  # all three derivatives and the update become one program
    def step():
        with gm:
            left = second_derivative(x) + F.sin(x)
            loss = (left * left).mean() + F.square_loss(network(ends), values)
            gm.backward(loss)
        opt.step().clear_grad()
        return loss

    begin = time.perf_counter()
    for number in range(1, steps + 1):
        loss = step()
        schedule.step()
        if number % max(steps // 10, 1) == 0:
            print(f"step {number:4}: loss {loss.item():.2e}, error {error(network, x):.2e}")
    print(f"{1000 * (time.perf_counter() - begin) / steps:.2f} ms per step, with building")
    print(f"largest error: {error(network, x):.5f}")


def error(network, x):
    """How far the network is from the solution, at most."""
    solution = F.sin(x) + x / np.pi
    return F.abs(network(x) - solution).max().item()


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else STEPS)
