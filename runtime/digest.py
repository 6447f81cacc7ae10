"""Keys of cache entries: digests of named parts."""

from collections.abc import Mapping
from typing import Any

from ..tracer.digest import digest as digest


def canonical(parts: Mapping[str, Any]) -> str:
    """JSON whose text depends on the content alone, and that a person can read."""
    import json

    return json.dumps(parts, sort_keys=True, indent=1, ensure_ascii=False) + "\n"


def key_of(parts: Mapping[str, Any]) -> str:
    """The key of an entry: the digest of the named parts that shape it."""
    return digest(canonical(parts))
