"""Trains a small convolutional network with batch normalization on handwritten digits.

python examples/convnet.py [epochs]
"""

import sys
import time
from pathlib import Path

import numpy as np

import gradc
import gradc.functional as F
import gradc.module as M
import gradc.optimizer as optim
from gradc import jit
from gradc.autodiff import GradManager

DATA = Path(__file__).with_name("data") / "digits.csv.gz"
TEST, BATCH, EPOCHS = 360, 32, 15


class Network(M.Module):
    """Two convolutions, each with batch normalization, then the mean over space and one layer."""

    def __init__(self):
        super().__init__()
        self.features = M.Sequential(
            *(M.Conv2d(1, 16, 3, padding=1, bias=False), M.BatchNorm2d(16), M.ReLU()),
            M.MaxPool2d(2),
            *(M.Conv2d(16, 32, 3, padding=1, bias=False), M.BatchNorm2d(32), M.ReLU()),
            M.AvgPool2d(2),
        )
        self.dropout = M.Dropout(0.2)
        self.classes = M.Linear(32 * 2 * 2, 10)

    def forward(self, images):
        """The scores of the ten classes."""
        return self.classes(self.dropout(F.flatten(self.features(images), 1)))


def main(epochs):
    gradc.manual_seed(0)
    random = np.random.default_rng(0)
    rows = random.permutation(np.loadtxt(DATA, delimiter=",", dtype="float32"))
    images, labels = rows[:, :-1].reshape(-1, 1, 8, 8) / 16, rows[:, -1].astype("int32")
    test = gradc.tensor(images[:TEST]), gradc.tensor(labels[:TEST])
    images, labels = images[TEST:], labels[TEST:]

    network = Network()
    gm = GradManager().attach(network.parameters())
    opt = optim.AdamW(network.parameters(), lr=3e-3)
    schedule = optim.CosineAnnealingLR(opt, epochs)

    @jit.trace  # loss, gradients, running statistics and update become one program
    def step(x, y):
        with gm:
            loss = F.cross_entropy(network(x), y)
            gm.backward(loss)
        opt.step().clear_grad()
        return loss

    for epoch in range(1, epochs + 1):
        begin, losses = time.perf_counter(), []
        network.train()
        order = random.permutation(len(images))
        for start in range(0, len(order) - BATCH + 1, BATCH):
            batch = order[start : start + BATCH]
            losses.append(step(gradc.tensor(images[batch]), gradc.tensor(labels[batch])).item())
        schedule.step()
        network.eval()
        print(
            f"epoch {epoch:2}: loss {np.mean(losses):.4f}, "
            f"test accuracy {accuracy(network, *test):.3f}, {time.perf_counter() - begin:.2f} s"
        )
    print(f"test accuracy: {accuracy(network, *test):.3f}")


def accuracy(network, images, labels):
    right = F.argmax(network(images), axis=1) == labels
    return right.astype("float32").mean().item()


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else EPOCHS)
