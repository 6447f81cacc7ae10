"""Teaches an LSTM to write as Python's manual does, character by character.

python examples/characters.py [epochs] [file]
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

WIDTH, BATCH, LENGTH, EPOCHS = 96, 16, 16, 4
TEMPERATURE = 0.6  # below 1, what is likely is written still more often


class Network(M.Module):
    """Vectors for characters, a memory of what was read, and scores for what comes next."""

    def __init__(self, characters):
        super().__init__()
        self.vectors = M.Embedding(characters, WIDTH)
        self.memory = M.LSTM(WIDTH, WIDTH, batch_first=True)
        self.scores = M.Linear(WIDTH, characters)

    def forward(self, characters, state):
        """The scores of the character after each of these, and the state after them all."""
        seen, state = self.memory(self.vectors(characters), state)
        return self.scores(seen), state


def main(epochs, text):
    gradc.manual_seed(0)
    alphabet = sorted(set(text))
    codes = np.array([alphabet.index(each) for each in text], dtype="int32")
    cut = len(codes) * 9 // 10
    train, test = streams(codes[:cut]), streams(codes[cut:])

    network = Network(len(alphabet))
    gm = GradManager().attach(network.parameters())
    opt = optim.AdamW(network.parameters(), lr=1e-2)
    schedule = optim.CosineAnnealingLR(opt, epochs * (train.shape[1] // LENGTH))

    @jit.trace
    def evaluate(x, y, state):
        scores, state = network(x, state)
        return F.cross_entropy(scores, y, axis=2), state

    @jit.trace  # the network along a whole window, its gradient and the update: one program
    def step(x, y, state):
        with gm:
            loss, state = evaluate(x, y, state)
            gm.backward(loss)
        optim.clip_grad_norm(network.parameters(), 1.0)
        opt.step().clear_grad()
        schedule.step()
        return loss, state

    for epoch in range(1, epochs + 1):
        begin = time.perf_counter()
        print(
            f"epoch {epoch}: {bits_per_character(step, train):.3f} bits per character, "
            f"held out {bits_per_character(evaluate, test):.3f}, "
            f"{time.perf_counter() - begin:.2f} s"
        )
    print(f"\n{continued(text[cut : cut + LENGTH], 500, network, alphabet)}")


def streams(codes):
    """The text as BATCH streams that are read side by side."""
    length = (len(codes) - 1) // (BATCH * LENGTH) * LENGTH
    if not length:
        sys.exit(f"expected a text of more than {10 * BATCH * LENGTH} characters")
    return codes[np.arange(BATCH)[:, None] * length + np.arange(length + 1)]


def bits_per_character(function, codes):
    """What it costs to tell `codes`; the memory goes from window to window, gradients do not."""
    losses, state = [], beginning(BATCH)
    for start in range(0, codes.shape[1] - 1, LENGTH):
        window = codes[:, start : start + LENGTH + 1]
        loss, state = function(gradc.tensor(window[:, :-1]), gradc.tensor(window[:, 1:]), state)
        losses.append(loss.item())
    return np.mean(losses) / np.log(2)


def beginning(batch):
    """The state of the memory before anything was read."""
    return F.zeros((1, batch, WIDTH)), F.zeros((1, batch, WIDTH))


def continued(text, count, network, alphabet):
    """`text` and `count` characters more, drawn one after the other."""

    @jit.trace
    def following(character, state):
        scores, state = network(character, state)
        noise = -F.log(-F.log(gradc.random.uniform(size=scores.shape)))  # of Gumbel's distribution
        return F.argmax(scores / TEMPERATURE + noise, axis=2), state

    state = beginning(1)
    for each in text:
        character, state = following(gradc.tensor([[alphabet.index(each)]]), state)
    for _ in range(count):
        text += alphabet[character.item()]
        character, state = following(character, state)
    return text


def manual():
    """The paragraphs of the manual that comes with Python, each once."""
    try:
        from pydoc_data.topics import topics
    except ImportError:
        sys.exit("this Python comes without its manual (pydoc_data); name a text file to learn")
    paragraphs = "\n\n".join(topics.values()).split("\n\n")
    return "\n\n".join(dict.fromkeys(paragraphs))


if __name__ == "__main__":
    main(
        int(sys.argv[1]) if len(sys.argv) > 1 else EPOCHS,
        Path(sys.argv[2]).read_text(encoding="utf-8") if len(sys.argv) > 2 else manual(),
    )
