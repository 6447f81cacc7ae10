"""Where code comes from: of some of it nothing is read, for no user changes it."""

from __future__ import annotations

import sys
from typing import Any

from .tracer.layout import own_attribute

FOREIGN = ("gradc", "numpy")
"""Packages in whose code nothing is read that a user changes."""


def is_foreign(value: Any) -> bool:
    """Whether a function or class is of a package that users do not change."""
    return (value.__module__ or "").split(".")[0] in FOREIGN


def is_library(name: str | None) -> bool:
    """Whether the module `name` holds nothing that a user changes."""
    package = (name or "").split(".")[0]
    return package in FOREIGN or package in sys.stdlib_module_names


def is_installed(name: str) -> bool:
    """Whether users have the module from others: its numbers may be set, its code is not read."""
    file = str(own_attribute(sys.modules.get(name), "__file__"))
    return "site-packages" in file or "dist-packages" in file
