"""Learns what handwritten digits look like, and draws new ones: a variational autoencoder.

The encoder says for every image from which codes z it may have come, the decoder gives for every
code the probabilities of the 17 grey levels of each pixel. Learned is the evidence lower bound of
log p(x), E[log p(x | z)] - KL(q(z | x) || N(0, 1)) (Kingma and Welling, 2014).

python examples/vae.py [epochs]
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
TEST, BATCH, EPOCHS = 360, 32, 50
PIXELS, LEVELS, WIDTH, CODE = 64, 17, 64, 8
SHADES = " .:-=+*#%@"


class Autoencoder(M.Module):
    """An encoder to the mean and the log variance of a code, and a decoder to scores of levels."""

    def __init__(self):
        super().__init__()
        self.encoder = M.Sequential(M.Linear(PIXELS, WIDTH), M.ReLU(), M.Linear(WIDTH, 2 * CODE))
        self.decoder = M.Sequential(
            M.Linear(CODE, WIDTH), M.ReLU(), M.Linear(WIDTH, PIXELS * LEVELS)
        )

    def decode(self, code):
        """The scores of the grey levels, (images, pixels, levels)."""
        return self.decoder(code).reshape(-1, PIXELS, LEVELS)

    def forward(self, images):
        """The evidence lower bound of each image in nats, with one code drawn for each."""
        mean, log_variance = F.split(self.encoder(images / (LEVELS - 1)), 2, axis=1)
        code = mean + F.exp(log_variance / 2) * gradc.random.normal(size=mean.shape)
        cost = F.cross_entropy(self.decode(code), images, axis=2, reduction="none")
        divergence = (F.exp(log_variance) + mean**2 - 1 - log_variance) / 2
        return -cost.sum(axis=1) - divergence.sum(axis=1)

    def draw(self, count):
        """New images: the expected grey, from 0 to 1, for codes of the normal distribution."""
        levels = F.softmax(self.decode(gradc.random.normal(size=(count, CODE))), axis=2)
        return (levels * F.linspace(0, 1, LEVELS)).sum(axis=2).reshape(-1, 8, 8)


def main(epochs):
    gradc.manual_seed(0)
    random = np.random.default_rng(0)
    rows = random.permutation(np.loadtxt(DATA, delimiter=",", dtype="int32"))
    test, train = gradc.tensor(rows[:TEST, :-1]), rows[TEST:, :-1]

    network = Autoencoder()
    gm = GradManager().attach(network.parameters())
    opt = optim.AdamW(network.parameters(), lr=2e-3)
    schedule = optim.CosineAnnealingLR(opt, epochs)

    @jit.trace  # one program: the codes are drawn in it, others at every call
    def step(images):
        with gm:
            bound = network(images).mean()
            gm.backward(-bound)
        opt.step().clear_grad()
        return bound

    begin = time.perf_counter()
    for epoch in range(1, epochs + 1):
        bounds = []
        order = random.permutation(len(train))
        for start in range(0, len(order) - BATCH + 1, BATCH):
            bounds.append(step(gradc.tensor(train[order[start : start + BATCH]])).item())
        schedule.step()
        if epoch % max(epochs // 10, 1) == 0:
            print(
                f"epoch {epoch:2}: evidence lower bound {np.mean(bounds):.2f} nats, "
                f"held out {network(test).mean().item():.2f}, {time.perf_counter() - begin:.2f} s"
            )
    print(f"\n{shaded(network.draw(8).numpy())}")


def shaded(images):
    """The images side by side as text, two letters for each pixel."""
    shades = np.array([2 * shade for shade in SHADES])
    marks = shades[np.rint(images * (len(SHADES) - 1)).astype(int)]
    return "\n".join("  ".join(map("".join, row)).rstrip() for row in marks.swapaxes(0, 1))


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else EPOCHS)
