"""The elementwise operators under one name."""

from __future__ import annotations

# Stars, so that a new operator has one place only.
from .arithmetic import *  # noqa: F403
from .kinds import cast as cast
from .kinds import cast_to as cast_to
from .logic import *  # noqa: F403
from .random import *  # noqa: F403
from .transcendental import *  # noqa: F403
