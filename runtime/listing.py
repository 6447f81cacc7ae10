"""Listings: programs as people read them, with the user's lines beside what they made."""

from __future__ import annotations

from dataclasses import replace

from ..codegen.pipeline import translate
from ..codegen.target import CUDA, C
from ..tracer.graph import Graph


def listing(graph: Graph, language: str = "c") -> str:
    """The source text of `graph` in a language ("c" or "cuda")."""
    if language not in ("c", "cuda"):
        raise ValueError(f"expected the target c or cuda, found {language!r}")
    target = CUDA if language == "cuda" else C
    return translate(graph, replace(target, annotated=True)).source.text
