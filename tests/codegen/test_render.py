"""Rendering: text that people can read, the same for every process, with each kernel once."""

import os
import re
import subprocess
import sys
from dataclasses import replace
from typing import Any

import pytest
from contract.compute import leaf
from gradc.codegen.pipeline import Translation, translate
from gradc.codegen.render import Source, indented, wrapped
from gradc.codegen.target import CUDA, C, Target
from gradc.tracer.dtypes import float32
from gradc.tracer.graph import Graph
from gradc.tracer.ir import Node
from gradc.tracer.ops import contraction, movement, reduction
from gradc.tracer.ops import elementwise as e
from graphs.arbitrary import graphs
from graphs.build import graph_of
from graphs.compiled import body_of, written
from graphs.named import EVERY, NAMED
from hypothesis import assume, given
from hypothesis import strategies as st
from walk import walk

WIDTH = 100
TARGETS = {"c": C, "cuda": CUDA}


def code_of(line: str) -> str:
    return re.sub(r"/\*.*?\*/", "", line.partition("//")[0])


def assert_readable(source: Source) -> None:
    assert max(map(len, source.text.splitlines())) <= WIDTH
    body = body_of(source)
    assert "\t" not in body
    assert "\n\n\n" not in body
    assert not body or body.endswith("}\n")
    depth = 0
    for line in body.splitlines():
        assert line == line.rstrip()
        code = code_of(line)
        indent = len(line) - len(line.lstrip())
        if line and not line.startswith(("#", "/*")):
            depth_here = depth - (len(code.strip()) - len(code.strip().lstrip("}")))
            assert indent in (4 * depth_here, 4 * depth_here + 4) or indent > 8, line
        depth += code.count("{") - code.count("}")
    assert depth == 0


@walk("target", TARGETS)
@walk("name", EVERY)
def test_known_graphs_are_readable(name: str, target: str) -> None:
    for annotated in (False, True):
        assert_readable(
            written(EVERY[name](), replace(TARGETS[target], annotated=annotated)).source
        )


@given(graphs(), st.sampled_from(sorted(TARGETS)))
def test_random_graphs_are_readable(graph: Graph, target: str) -> None:
    assume(len(graph.nodes()) < 400)
    assert_readable(written(graph, TARGETS[target]).source)


# ---- the same text


@walk("target", TARGETS)
@walk("name", EVERY)
def test_the_same_graph_gives_the_same_text(name: str, target: str) -> None:
    first, second = (written(EVERY[name](), TARGETS[target]) for _ in range(2))
    assert first.source == second.source


SCRIPT = """
import hashlib
from gradc.codegen.target import C, CUDA
from graphs.compiled import written
from graphs.named import EVERY
for name, make in EVERY.items():
    for target in (C, CUDA):
        print(name, hashlib.sha256(written(make(), target).source.text.encode()).hexdigest())
"""


def digests(seed: int) -> str:
    environment = {
        **os.environ,
        "PYTHONHASHSEED": str(seed),
        "PYTHONPATH": os.pathsep.join(each for each in sys.path if each),
    }
    command = [sys.executable, "-W", "error", "-c", SCRIPT]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_other_processes_write_the_same_text() -> None:
    first = digests(1)
    assert first.count("\n") == 2 * len(EVERY)
    assert first == digests(2)


def test_the_order_of_outputs_is_that_of_the_graph() -> None:
    x = leaf(0, (10,))
    graph = graph_of(e.sin(x), e.cos(x))
    turned = Graph(graph.inputs, graph.floats, graph.ints, graph.outputs[::-1])
    assert written(graph).program.results == (("output", 0), ("output", 1))
    assert "sin(" in body_of(written(turned).source)


# ---- each kernel once


def layer(x: Node, slot: int, width: int = 8) -> Node:
    return e.tanh(contraction.matmul(x, leaf(slot, (width, width), float32)))


def test_equal_kernels_are_written_once() -> None:
    """The first layer reads the input, the last writes the output; between them all are alike."""
    texts = []
    for depth in (4, 12):
        x = leaf(0, (5, 8), float32)
        for slot in range(depth):
            x = layer(x, slot + 1)
        texts.append(translate(graph_of(x), C, verify=True))
    few, many = texts
    assert len(set(few.source.kernels)) == len(set(many.source.kernels)) == 2
    assert len(many.source.kernels) == 24
    assert defined(few) == defined(many)


def defined(made: Translation) -> list[str]:
    """The names of the functions, in order."""
    pattern = r"(?m)^(?:static void )?(k\d+_\w+)\((?:void \*context|GRADC_KERNEL_PARAMETERS)"
    return re.findall(pattern, made.source.text)


@walk("target", TARGETS)
@walk("name", EVERY)
def test_kernels_are_those_that_the_text_defines(name: str, target: str) -> None:
    made = translate(EVERY[name](), TARGETS[target], verify=True)
    names = defined(made)
    assert len(names) == len(set(names))
    assert set(names) == set(made.source.kernels)
    assert len(made.source.kernels) == len(made.program.launches)


def test_kernels_that_differ_in_a_number_are_two() -> None:
    x = leaf(0, (64,), float32)
    y = leaf(1, (96,), float32)
    assert len(set(written(graph_of(x * 3.0, y * 3.0)).source.kernels)) == 2


# ---- what is compiled names nobody's files


@walk("target", [C, CUDA], ids=["c", "cuda"])
@walk("name", EVERY)
def test_only_the_annotated_text_names_files(name: str, target: Target) -> None:
    bare = body_of(written(EVERY[name](), target).source)
    annotated = body_of(written(EVERY[name](), replace(target, annotated=True)).source)
    assert ".py" not in bare
    file_and_line = r"\((?:\w+\.py):\d+\)"
    assert re.search(file_and_line, annotated)
    assert without_comments(bare) == without_comments(annotated)


@pytest.mark.parametrize("target", [C, CUDA], ids=["c", "cuda"])
def test_files_with_odd_names_add_no_code(target: Target) -> None:
    """Neither lines nor comments end within a name; the compiler sees the same program."""
    odd = [
        "a*/b",
        "end\\",
        "new\nint x;\n",
        "r\rint x;",
        "\u2028int x;",
        "??/",
        "\udcff",
        "/*",
        "//",
    ]
    for name in odd:
        recorded: dict[str, Any] = {"e": e}
        code = "def make(x):\n    return e.exp(x) * 3.0 + e.sin(x)\n"
        exec(compile(code, f"folder/{name}.py", "exec"), recorded)
        x = leaf(0, (1000 + odd.index(name),), float32)  # nodes know the first line that made them
        graph = graph_of(recorded["make"](x))
        bare = body_of(written(graph, target).source)
        annotated = body_of(written(graph, replace(target, annotated=True)).source)
        assert annotated != bare, name
        assert annotated.encode(), name
        assert len(annotated.splitlines()) == len(bare.splitlines()), name
        assert without_comments(annotated) == without_comments(bare), name


def without_comments(text: str) -> str:
    """The code alone; a comment that is too long for its line stands above it."""
    lines = (re.sub(r"\s*//.*", "", line) for line in text.splitlines())
    return re.sub(r"\s+", " ", " ".join(line for line in lines if line.strip()))


def test_comments_name_the_operator_and_the_function_it_belongs_to() -> None:
    text = body_of(written(NAMED["softmax"]()).source)
    assert "// softmax: exp" in text


@pytest.mark.parametrize("size, lanes", [(1, False), (2, True), (1000, True)])
def test_a_sine_and_a_cosine_of_many_numbers_have_lanes(size: int, lanes: bool) -> None:
    """Of a single number gcc makes one call of both."""
    x = leaf(0, (size,), float32)
    text = body_of(translate(graph_of(e.sin(x) * e.cos(x)), C).source)
    assert [name in text for name in ("gradc_lanes_sinf(", "gradc_lanes_cosf(")] == [lanes] * 2
    assert [f" {name}(" in text for name in ("sinf", "cosf")] == [not lanes] * 2


def test_the_banner_counts() -> None:
    source = written(NAMED["perceptron"]()).source
    first = source.text.partition("\n")[0]
    assert first.startswith("/* Generated by gradc: ")
    assert f"{len(source.kernels)} launches of {len(set(source.kernels))} functions" in first
    assert f"arena of {source.arena} bytes" in first


# ---- lines


@given(st.lists(st.text("abcxyz0123456789", min_size=1, max_size=12), min_size=1, max_size=60))
def test_long_lines_are_broken_at_spaces(words: list[str]) -> None:
    line = " ".join(words)
    parts = wrapped(line, 8)
    assert all(len(part) <= WIDTH for part in parts)
    assert " ".join(part.strip() for part in parts) == line
    assert parts[0].startswith(" " * 8)
    assert all(part.startswith(" " * 12) for part in parts[1:])


def test_a_comment_that_does_not_fit_stands_above() -> None:
    code, comment = "const double v1 = " + "v0 + " * 14 + "v0;", "sigmoid: a comment"
    first, *others = wrapped(f"{code}  // {comment}", 4)
    assert first == f"    // {comment}"
    assert others == wrapped(code, 4)


def test_directives_go_on_behind_a_backslash() -> None:
    line = "#pragma omp simd " + "reduction(+ : a) " * 10
    parts = wrapped(line, 8)
    assert len(parts) == 2
    assert max(map(len, parts)) <= WIDTH
    assert parts[0].endswith(" \\")
    assert " ".join(each.removesuffix("\\").strip() for each in parts) == line.strip()
    assert wrapped("#define LONG_NAME" + "_" * WIDTH, 8) == ["#define LONG_NAME" + "_" * WIDTH]


def test_braces_indent_and_headers_stay() -> None:
    text = "void f(void)\n{\nif (x) {\ny();\n}\n}\n/* <<< h */\n   {  odd\n/* >>> h */\nint z;\n"
    expected = (
        "void f(void)\n{\n    if (x) {\n        y();\n    }\n}\n"
        "/* <<< h */\n   {  odd\n/* >>> h */\nint z;\n"
    )
    assert indented(text) == expected


def test_blank_lines_do_not_pile_up() -> None:
    assert indented("int a;\n\n\n\nint b;\n") == "int a;\n\nint b;\n"


# ---- nothing that is not used


def test_a_coordinate_that_no_place_depends_on_is_left_out() -> None:
    """The sum of what is repeated along one of the axes that it is summed over."""
    x = movement.broadcast(movement.reshape(leaf(0, (5, 4)), (5, 1, 4)), (5, 3, 4))
    text = body_of(written(graph_of(reduction.sum(x, (0, 1)))).source)
    assert "const int64_t r0 = row / 3;" in text
    assert "r1" not in text
