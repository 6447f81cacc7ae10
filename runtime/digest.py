"""SHA-256 by Python's built-in module: hashlib loads OpenSSL, which every start would pay for."""

from collections.abc import Mapping
from importlib import import_module
from typing import Any

MODULES = ("_sha2", "_sha256", "hashlib")  # Python >= 3.12, 3.11, and wherever neither exists


def _find_sha256() -> Any:
    for name in MODULES:
        try:
            return import_module(name).sha256
        except ImportError:
            continue
    raise ImportError("this Python has no SHA-256")


_sha256 = _find_sha256()


def digest(content: str | bytes) -> str:
    """The SHA-256 of a text (as UTF-8) or of bytes, in hexadecimal."""
    data = content.encode() if isinstance(content, str) else content
    return str(_sha256(data).hexdigest())


def canonical(parts: Mapping[str, Any]) -> str:
    """JSON whose text depends on the content alone, and that a person can read."""
    import json

    return json.dumps(parts, sort_keys=True, indent=1, ensure_ascii=False) + "\n"


def key_of(parts: Mapping[str, Any]) -> str:
    """The key of an entry: the digest of the named parts that shape it."""
    return digest(canonical(parts))
