"""The generator from which parameters get their first values."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np


class _State:
    generator: np.random.Generator | None = None


def manual_seed(seed: int) -> None:
    """Begin the random numbers anew: equal seeds give equal numbers."""
    import numpy as np

    _State.generator = np.random.default_rng(seed)


def generator() -> np.random.Generator:
    """The generator of this process; without a seed its numbers differ from run to run."""
    if _State.generator is None:
        import numpy as np

        _State.generator = np.random.default_rng()
    return _State.generator
