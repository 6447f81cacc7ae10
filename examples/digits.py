"""Trains a small network on handwritten digits and shows what gradc made of the loop.

python examples/digits.py [epochs]
"""

import re
import sys
import time
from pathlib import Path

import numpy as np
from gradc.runtime.program import program_counts

import gradc
import gradc.functional as F
import gradc.module as M
import gradc.optimizer as optim
from gradc.autodiff import GradManager

DATA = Path(__file__).with_name("data") / "digits.csv.gz"
TEST, BATCH, EPOCHS = 360, 32, 30


def main(epochs):
    gradc.manual_seed(0)
    random = np.random.default_rng(0)
    rows = random.permutation(np.loadtxt(DATA, delimiter=",", dtype="float32"))
    images, labels = rows[:, :-1] / 16, rows[:, -1].astype("int32")
    test = gradc.tensor(images[:TEST]), gradc.tensor(labels[:TEST])
    images, labels = images[TEST:], labels[TEST:]

    network = M.Sequential(M.Linear(64, 64), M.ReLU(), M.Linear(64, 10))
    gm = GradManager().attach(network.parameters())
    opt = optim.Adam(network.parameters(), lr=3e-3)

    durations = []
    for epoch in range(1, epochs + 1):
        losses = []
        order = random.permutation(len(images))
        for start in range(0, len(order) - BATCH + 1, BATCH):
            begin = time.perf_counter()
            batch = order[start : start + BATCH]
            x, y = gradc.tensor(images[batch]), gradc.tensor(labels[batch])
            with gm:
                loss = F.cross_entropy(network(x), y)
                gm.backward(loss)  # here one program computes the loss and all gradients
            opt.step().clear_grad()  # and here another one updates all parameters
            losses.append(loss.item())
            durations.append(time.perf_counter() - begin)
        milliseconds = 1000 * np.median(durations[-len(losses) :])
        print(
            f"epoch {epoch:2}: loss {np.mean(losses):.4f}, "
            f"test accuracy {accuracy(network, *test):.3f}, {milliseconds:.2f} ms per step"
        )

    report(durations)
    print(f"test accuracy: {accuracy(network, *test):.3f}")
    print("programs: built {built}, cached {cached}".format(**program_counts()))


def accuracy(network, images, labels):
    right = F.argmax(network(images), axis=1) == labels
    return right.astype("float32").mean().item()


def report(durations):
    """Say where the time went, and show one of the kernels that gradc wrote."""
    first, rest = durations[0], durations[1:]
    print(f"\nthe first step, with building: {first:.2f} s; {len(rest)} more: {sum(rest):.2f} s")
    programs = [each for each in gradc.programs() if "cross_entropy" in str(each.kernels)]
    if not programs:
        return  # no C compiler was found: NumPy computed all this
    program = programs[0]
    print(f"the generated C: {program.path.with_name('source.c')}")
    name = next(each for each in program.kernels if "cross_entropy" in each)
    kernel = re.search(rf"/\*[^\n]*\nstatic void {name}\(.*?\n}}\n", program.source, re.DOTALL)
    print(f"the kernel of the loss and its gradient:\n\n{kernel[0]}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else EPOCHS)
