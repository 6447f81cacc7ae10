"""NumPy's protocols for tensors; the tables are imported when NumPy first asks."""

from __future__ import annotations

from typing import Any

from .tracer.protocol import set_answers


def _ufunc(*asked: Any, **options: Any) -> Any:
    from .numpy_ufuncs import answer

    return answer(*asked, **options)


def _function(*asked: Any) -> Any:
    from .numpy_functions import answer

    return answer(*asked)


def install() -> None:
    """Let functions of NumPy give tensors for tensors from now on."""
    set_answers(_ufunc, _function)
