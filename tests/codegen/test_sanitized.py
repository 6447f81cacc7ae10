"""Generated code under the sanitizers of addresses and of undefined behaviour, in processes of
their own: a library with a sanitizer needs a program that has been started with it."""

import os
import platform
import subprocess
import sys

import pytest
from gradc.runtime.toolchain import CompilerNotFoundError, find_toolchain
from gradc.tracer.dtypes import DTYPES
from hypothesis import settings

FLAGS = (
    *("-O2", "-g1", "-fsanitize=address,undefined,float-cast-overflow"),
    *("-fno-sanitize-recover=all", "-fno-omit-frame-pointer"),
)
DEEP = settings().max_examples > settings.get_profile("quick").max_examples
EXAMPLES = 200 if DEEP else 12

PREPARE = f"""
import numpy as np
from graphs import compiled
from graphs.compiled import Compiled, sample
compiled.WARNINGS = {FLAGS!r}
if "clang" in compiled.find_toolchain().version:
    compiled.WARNINGS += ("-shared-libasan",)  # what a library needs is not in the program
from gradc.runtime import support
support.find_toolchain = compiled.strict_toolchain  # its threads and products as well
"""
RANDOM = f"""
from graphs.arbitrary import graphs
from hypothesis import HealthCheck, assume, given, settings

@settings(max_examples={EXAMPLES}, derandomize=True, deadline=None, database=None,
          suppress_health_check=list(HealthCheck))
@given(graphs())
def run(graph):
    assume(len(graph.nodes()) < 600)
    Compiled(graph)(sample(graph))

run()
"""
KNOWN = """
from graphs.loops import LOOPS
from graphs.named import LARGER, NAMED
for make in (*NAMED.values(), *LARGER.values(), *LOOPS.values()):
    graph = make()
    Compiled(graph)(sample(graph), [0.5] * graph.floats)
"""
OPERATORS = """
from gradc.tracer.ops import OPS
from graphs.joined import FLOATS, INTS, joined, of_op
listed = [case for name in sorted(OPS) for case in of_op(name) if case.dtype.name in {dtypes}]
for start in range(0, len(listed), 60):
    graph, arrays = joined(listed[start : start + 60])
    Compiled(graph)(arrays, FLOATS, INTS)
"""
SCRIPTS = {"random graphs": RANDOM, "known graphs": KNOWN} | {
    f"operators of {name}": OPERATORS.format(dtypes=(name,)) for name in DTYPES
}
QUICK = ("random graphs", "known graphs", "operators of int64", "operators of float64")


@pytest.fixture(scope="module")
def environment() -> dict[str, str]:
    """What a process needs to be able to load a library with sanitizers."""
    try:
        toolchain = find_toolchain()
    except CompilerNotFoundError as error:
        pytest.skip(str(error))
    compiler, machine = toolchain.command[0], platform.machine()
    name = f"libclang_rt.asan-{machine}.so" if "clang" in toolchain.version else "libasan.so"
    command = [compiler, f"-print-file-name={name}"]
    found = subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()
    if not os.path.isabs(found):
        pytest.skip(f"{compiler} has no {name} that could be loaded first")
    return {
        **os.environ,
        "LD_PRELOAD": found,
        "ASAN_OPTIONS": "detect_leaks=0",
        "UBSAN_OPTIONS": "print_stacktrace=1",
        "OMP_NUM_THREADS": "2",
        "PYTHONPATH": os.pathsep.join(each for each in sys.path if each),
    }


def run(script: str, environment: dict[str, str]) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-c", PREPARE + script]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("name", SCRIPTS if DEEP else QUICK)
def test_nothing_is_found(environment: dict[str, str], name: str) -> None:
    done = run(SCRIPTS[name], environment)
    assert done.returncode == 0, done.stderr[-4000:]


FAULTY = """
from dataclasses import replace
from gradc.codegen.pipeline import translate
from graphs.named import NAMED
graph = NAMED["sum_of_squares"]()
compiled_ = Compiled(graph)
program = compiled_.made.program
small = replace(program.outputs[1], size=10)
compiled_.made = replace(
    compiled_.made, program=replace(program, outputs=(program.outputs[0], small))
)
try:
    compiled_(sample(graph))
except Exception as error:
    print(type(error))
"""


def test_a_write_behind_an_output_would_be_found(environment: dict[str, str]) -> None:
    done = run(FAULTY, environment)
    assert done.returncode != 0
    assert "heap-buffer-overflow" in done.stderr
