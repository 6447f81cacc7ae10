"""The text of small graphs, as files that are read when they change: make golden."""

from collections.abc import Callable, Iterator

import pytest
from gradc.codegen.target import CUDA, C, Target
from gradc.tracer import ir
from gradc.tracer.text import parse, show
from graphs.compiled import body_of, written
from graphs.loops import LOOPS
from graphs.named import NAMED

SUFFIXES: dict[str, Target] = {"c": C, "cu": CUDA}


@pytest.fixture(autouse=True)
def own_nodes(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Nodes that nobody has made before: one that exists keeps the label of who made it first."""
    monkeypatch.setattr(ir, "NODES", ir.InternTable())
    yield


@pytest.mark.parametrize("name", NAMED)
def test_graph(name: str, golden: Callable[[str, str], None]) -> None:
    text = show(NAMED[name]())
    golden(f"{name}.ir", text)
    assert show(parse(text)) == text


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("name", NAMED)
def test_source(name: str, suffix: str, golden: Callable[[str, str], None]) -> None:
    golden(f"{name}.{suffix}", body_of(written(NAMED[name](), SUFFIXES[suffix]).source))


def test_loop(golden: Callable[[str, str], None]) -> None:
    """A recurrent net with its gradients: what was recorded step by step runs in C loops."""
    golden("recurrent.c", body_of(written(LOOPS["recurrent"](), C).source))
