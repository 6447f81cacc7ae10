"""Where random numbers come from: one seed governs first values of parameters and all else."""

from __future__ import annotations

import os
import threading
from functools import partial
from typing import TYPE_CHECKING

from .tracer.errors import located
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
        trace = THREAD.recording.trace
        if trace is not None:
            trace.created(self)

    def seed(self, seed: int) -> None:
        """Begin anew: equal seeds give equal numbers."""
        THREAD.recording.action(partial(self._begin, seed))
        self._begin(seed)

    def _begin(self, seed: int) -> tuple[()]:
        with self._lock:
            self._seed, self._stream, self._host = int(seed), 0, None
        return ()

    def draw(self) -> tuple[Tensor, Tensor]:
        """The key and a stream of its own, as numbers of the thread's recording."""
        recording = THREAD.recording
        source = recording.action(self._next)
        numbers = [recording.own_integer(each, source) for each in self._next()]
        key, turn = (waiting(each, recording) for each in numbers)
        return key, turn

    def _next(self) -> tuple[int, int]:
        """The seed and the next stream, as signed numbers of 64 bits."""
        with self._lock:
            stream = self._stream
            self._stream += 1
            return _signed(self._settled_seed()), _signed(stream)

    def host(self) -> np.random.Generator:
        """NumPy's generator under the same seed."""
        import numpy as np

        with self._lock:
            if self._host is None:
                self._host = np.random.default_rng(self._settled_seed() % WORD)
            return self._host

    def _settled_seed(self) -> int:
        if self._seed is None:
            self._seed = int.from_bytes(os.urandom(8), "little") >> 1
        return self._seed


def _signed(value: int) -> int:
    """`value` as 64 bits, read as a signed number."""
    bits = value % WORD
    return bits - WORD if bits >= WORD // 2 else bits


GENERATOR = Generator()
"""The generator of this process; without a seed its numbers differ from run to run."""


def manual_seed(seed: int) -> None:
    """Begin all random numbers anew, parameters' first values among them."""
    if not hasattr(seed, "__index__"):
        raise TypeError(located(f"manual_seed: expected an integer, found {seed!r}"))
    GENERATOR.seed(seed)


def generator() -> np.random.Generator:
    """What parameters get their first values from."""
    return GENERATOR.host()
