"""Where random numbers come from: one seed governs first values of parameters and all else."""

from __future__ import annotations

import copy
import os
from typing import TYPE_CHECKING, Any

from .tracer.action import Action
from .tracer.errors import located
from .tracer.locks import adopted, new_lock
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
        self._lock = new_lock()
        self._seed = seed
        self._stream = 0
        self._host: np.random.Generator | None = None
        trace = THREAD.recording.trace
        if trace is not None:
            trace.created(self)

    def __getstate__(self) -> tuple[Any, ...]:
        """Where it stands: a copy gives the numbers that this one will give."""
        trace = THREAD.recording.trace
        if trace is not None:
            trace.abandon("copies a random generator")
        with self._lock:
            return self._settled_seed(), self._stream, copy.deepcopy(self._host)

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        self._lock = new_lock()
        self._seed, self._stream, self._host = state

    def seed(self, seed: int) -> None:
        """Begin anew: equal seeds give equal numbers."""
        again = _SeedAgain(self, int(seed))
        THREAD.recording.action(again)
        again.act()

    def draw(self) -> tuple[Tensor, Tensor]:
        """The key and a stream of its own, as numbers of the thread's recording."""
        recording = THREAD.recording
        again = _DrawAgain(self)
        source = recording.action(again)
        numbers = [recording.own_integer(each, source) for each in again.act()]
        key, turn = (waiting(each, recording) for each in numbers)
        return key, turn

    def host(self) -> np.random.Generator:
        """NumPy's generator under the same seed."""
        import numpy as np

        with self._lock:
            if self._host is None:
                self._host = np.random.default_rng(self._settled_seed() % WORD)
                adopted(self._host.bit_generator.lock)
            return self._host

    def _settled_seed(self) -> int:
        if self._seed is None:
            self._seed = int.from_bytes(os.urandom(8), "little") >> 1
        return self._seed


class _SeedAgain(Action):
    """A generator that is seeded inside a traced function."""

    def __init__(self, generator: Generator, seed: int) -> None:
        super().__init__()
        self._generator = generator
        self._seed = seed
        self._before: tuple[Any, ...] = ()

    def act(self) -> tuple[()]:
        """Begin anew."""
        mine = self._generator
        with mine._lock:
            self._before, self.acted = (mine._seed, mine._stream, mine._host), True
            mine._seed, mine._stream, mine._host = self._seed, 0, None
        return ()

    def take_back(self) -> None:
        """Go on where it stood, unless others have drawn from the new seed."""
        mine = self._generator
        with mine._lock:
            if mine._seed == self._seed and mine._stream == 0:
                mine._seed, mine._stream, mine._host = self._before


class _DrawAgain(Action):
    """A stream that is drawn inside a traced function, another one at each replay."""

    def __init__(self, generator: Generator) -> None:
        super().__init__()
        self._generator = generator
        self._seed = self._stream = 0

    def act(self) -> tuple[int, int]:
        """The seed and the next stream, as signed numbers of 64 bits."""
        mine = self._generator
        with mine._lock:
            self._seed = mine._settled_seed()
            self._stream, self.acted = mine._stream, True
            mine._stream += 1
            return _signed(self._seed), _signed(self._stream)

    def take_back(self) -> None:
        """Give the stream back, unless others have drawn since."""
        mine = self._generator
        with mine._lock:
            if mine._seed == self._seed and mine._stream == self._stream + 1:
                mine._stream = self._stream


def _signed(value: int) -> int:
    """`value` as 64 bits, read as a signed number."""
    bits = value % WORD
    return bits - WORD if bits >= WORD // 2 else bits


GENERATOR = Generator()
"""The generator of this process; without a seed its numbers differ from run to run."""


def manual_seed(seed: int) -> None:
    """Begin all random numbers anew, parameters' first values among them."""
    if not hasattr(type(seed), "__index__"):
        raise TypeError(located(f"manual_seed: expected an integer, found {seed!r}"))
    GENERATOR.seed(seed)


def generator() -> np.random.Generator:
    """What parameters get their first values from."""
    return GENERATOR.host()
