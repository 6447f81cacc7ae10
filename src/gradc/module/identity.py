"""The module that does nothing."""

from __future__ import annotations

from typing import Any

from .module import Module


class Identity(Module):
    """Gives its input."""

    def forward(self, x: Any) -> Any:
        """The input itself."""
        return x
