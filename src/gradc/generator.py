"""Where random numbers come from: one seed governs first values of parameters and all else."""

from __future__ import annotations

import secrets
import threading
from typing import TYPE_CHECKING

from .tracer.recording import THREAD
from .tracer.tensor import Tensor
from .tracer.value import waiting

if TYPE_CHECKING:
    import numpy as np

WORD = 2**64


class Generator:
    """A seed, and a count of the streams that were drawn from it; threads may share one.

    The numbers of a stream depend on nothing but the seed, the stream and their positions. Both are
    read when a program runs, so that the same program gives new numbers at every call.
    """

    def __init__(self, seed: int | None = None) -> None:
        self._lock = threading.Lock()
        self._seed = seed
        self._stream = 0
        self._host: np.random.Generator | None = None

    def seed(self, seed: int) -> None:
        """Begin anew: equal seeds give equal numbers."""
        with self._lock:
            self._seed, self._stream, self._host = int(seed), 0, None

    def draw(self) -> tuple[Tensor, Tensor]:
        """The key and a stream of its own, as numbers of the thread's recording."""
        with self._lock:
            seed, stream = self._settled_seed(), self._stream
            self._stream += 1
        recording = THREAD.recording
        numbers = [recording.own_integer(_signed(each)) for each in (seed, stream)]
        key, turn = (waiting(each, recording) for each in numbers)
        return key, turn

    def host(self) -> np.random.Generator:
        """NumPy's generator under the same seed."""
        import numpy as np

        with self._lock:
            if self._host is None:
                self._host = np.random.default_rng(self._settled_seed() % WORD)
            return self._host

    def _settled_seed(self) -> int:
        if self._seed is None:
            self._seed = secrets.randbits(63)
        return self._seed


def _signed(value: int) -> int:
    """`value` as 64 bits, read as a signed number."""
    bits = value % WORD
    return bits - WORD if bits >= WORD // 2 else bits


GENERATOR = Generator()
"""The generator of this process; without a seed its numbers differ from run to run."""


def manual_seed(seed: int) -> None:
    """Begin all random numbers anew, parameters' first values among them."""
    GENERATOR.seed(seed)


def generator() -> np.random.Generator:
    """What parameters get their first values from."""
    return GENERATOR.host()
