"""Manifests: what is remembered of a graph's program, so that a later process need not write it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

FORMAT = 2


class Manifest(NamedTuple):
    """How a program is called, and what it consists of.

    `results` tells for each output of the graph whether it is an input's buffer or an own one, and
    which; `checks` the places, among the graph's nodes, of those that check an index.
    """

    library: str  # the key of the built library
    entry: str
    inputs: int
    outputs: tuple[int, ...]  # bytes of each own output
    arena: int
    floats: int
    ints: int
    results: tuple[tuple[str, int], ...]
    checks: tuple[int, ...]
    kernels: tuple[str, ...]
    gemms: tuple[str, ...]  # functions of the run time that it calls

    def document(self) -> dict[str, Any]:
        """The manifest as JSON."""
        return {"format": FORMAT, **self._asdict()}


def read_manifest(document: Mapping[str, Any] | None) -> Manifest | None:
    """The manifest that a document holds; None where there is none or it is of another kind."""
    if document is None or document.get("format") != FORMAT:
        return None
    try:
        return Manifest(
            library=str(document["library"]),
            entry=str(document["entry"]),
            inputs=int(document["inputs"]),
            outputs=tuple(int(nbytes) for nbytes in document["outputs"]),
            arena=int(document["arena"]),
            floats=int(document["floats"]),
            ints=int(document["ints"]),
            results=tuple((str(kind), int(number)) for kind, number in document["results"]),
            checks=tuple(int(place) for place in document["checks"]),
            kernels=tuple(str(name) for name in document["kernels"]),
            gemms=tuple(str(name) for name in document["gemms"]),
        )
    except (KeyError, TypeError, ValueError):
        return None
