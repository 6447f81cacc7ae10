"""Every operator on every type, rendered to C, compiled without a warning, run: as interpreted."""

import os

import pytest
from gradc.runtime.build import build
from gradc.runtime.cache import open_cache
from gradc.runtime.toolchain import CompilerNotFoundError, Toolchain
from gradc.tracer.interpret import interpret
from gradc.tracer.ops import OPS
from graphs.compiled import Compiled, differences, strict_toolchain, written
from graphs.joined import FLOATS, INTS, joined, of_op
from graphs.named import EVERY
from walk import walk


@walk("name", sorted(OPS))
def test_operator(name: str) -> None:
    listed = of_op(name)
    graph, arrays = joined(listed)
    expected = interpret(graph, arrays, FLOATS, INTS)
    found = Compiled(graph)(arrays, FLOATS, INTS)
    wrong = []
    for case, node, x, y in zip(listed, graph.outputs, found, expected, strict=True):
        wrong += [f"{case}: {each}" for each in differences(x, y, node.type, *case.tolerance)]
    assert not wrong, "\n".join(wrong[:20])


# ---- another compiler


@pytest.fixture(scope="module")
def clang() -> Toolchain:
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(os.environ, "CC", "clang")
        try:
            return strict_toolchain()
        except CompilerNotFoundError as error:
            pytest.skip(str(error))


@walk("name", sorted(OPS))
def test_clang_has_no_warnings_for_an_operator(clang: Toolchain, name: str) -> None:
    graph, _ = joined(case for case in of_op(name) if case.special or "x" in case.label)
    build(written(graph).source.text, clang, open_cache())


@pytest.mark.parametrize("name", EVERY)
def test_clang_has_no_warnings_for_a_program(clang: Toolchain, name: str) -> None:
    build(written(EVERY[name]()).source.text, clang, open_cache())
