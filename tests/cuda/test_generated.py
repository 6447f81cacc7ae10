"""Generated kernels: what they give, against the interpreter, and whether the compilers take them.

They run on the stand-in, where the order of threads is chosen, and on a device where there is one.
"""

import subprocess
from collections import defaultdict
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from contract.cases import Case, cases
from contract.compute import Array, leaf
from cuda_stand_in.programs import Rendered, loaded, rendered, rendered_together, run
from cuda_stand_in.targets import Target
from gradc.codegen.kernel import Combine, Kernel, Product
from gradc.codegen.launch import (
    MOST_BLOCKS,
    MOST_PIECES,
    combine_lanes,
    is_columnar,
    product_square,
    spread_of,
)
from gradc.runtime.cuda_compile import Nvcc
from gradc.runtime.cuda_memory import DeviceMemory
from gradc.runtime.cuda_nvrtc import Nvrtc
from gradc.runtime.cuda_program import DeviceError
from gradc.tracer.dtypes import DTYPES, DType, bfloat16, bool_, float16, float32, float64, int32
from gradc.tracer.graph import Graph
from gradc.tracer.interpret import from_storage, interpret, to_storage
from gradc.tracer.ir import TensorType
from gradc.tracer.ops import OPS, indexing
from graphs.build import graph_of
from graphs.named import LARGER, NAMED
from graphs.spreads import INDEX_BOUND, TABLES
from walk import walk

NAMES = {**NAMED, **LARGER}
FLOATS, INTS = (2.5, -1.0, 0.75, 0.9, 0.4), (7, 3)
"""Run-time numbers, as many as any graph asks for."""

# Of the largest element of a result. Sums are taken in another order than NumPy's, and the device
# has mathematical functions of its own.
TOLERANCES = {float64: 1e-13, float32: 1e-5, float16: 4e-3, bfloat16: 3e-2}


def drawn(kind: TensorType, rng: np.random.Generator, bound: int = INDEX_BOUND) -> Array:
    """An array of a type."""
    if kind.dtype is bool_:
        return np.asarray(rng.random(kind.shape) < 0.5)
    if not kind.dtype.is_float:
        return np.asarray(rng.integers(0, bound, kind.shape)).astype(kind.dtype.storage)
    values = np.asarray(rng.normal(size=kind.shape))
    computing = values if kind.dtype is float64 else values.astype(np.float32)
    return to_storage(computing, kind.dtype)


def inputs_of(graph: Graph, bound: int = INDEX_BOUND) -> list[Array]:
    """Arrays for the inputs of a graph, always the same."""
    rng = np.random.default_rng(0)
    return [drawn(each.type, rng, bound) for each in graph.inputs]


def as_numbers(array: Array, dtype: DType) -> Array:
    """Stored elements as numbers that can be compared."""
    return np.asarray(from_storage(array, dtype))


def require_near(found: Array, expected: Array, dtype: DType, name: str) -> None:
    """Fail where a result is further from the interpreter's than its type allows."""
    x, y = as_numbers(found, dtype), as_numbers(expected, dtype)
    if not dtype.is_float:
        np.testing.assert_array_equal(x, y, err_msg=name)
        return
    largest = np.abs(y[np.isfinite(y)]).max(initial=0)
    np.testing.assert_allclose(x, y, rtol=0, atol=TOLERANCES[dtype] * largest, err_msg=name)


def results(target: Target, image: bytes, part: Rendered, arrays: Sequence[Array]) -> list[Array]:
    """The outputs of a graph that reports no error."""
    graph = part.graph
    found = run(target, image, part, arrays, FLOATS[: graph.floats], INTS[: graph.ints])
    assert not isinstance(found, DeviceError), found
    return found


# ---- values


@cache
def table_of(name: str) -> tuple[str, dict[str, Rendered]]:
    """The graphs of a table as one translation unit, and each of them."""
    table = NAMES if name == "named" else TABLES[name]
    text, parts = rendered_together([build() for build in table.values()])
    return text, dict(zip(table, parts, strict=True))


EVERY_TABLE = [*TABLES, "named"]


@pytest.mark.parametrize("table", EVERY_TABLE)
def test_results_are_those_of_the_interpreter(target: Target, table: str) -> None:
    text, parts = table_of(table)
    image = target.compile(text)
    for name, part in parts.items():
        graph, arrays = part.graph, inputs_of(part.graph, 5 if table == "named" else INDEX_BOUND)
        expected = interpret(graph, arrays, FLOATS[: graph.floats], INTS[: graph.ints])
        found = results(target, image, part, arrays)
        for x, y, node in zip(found, expected, graph.outputs, strict=True):
            require_near(x, y, node.dtype, name)


@pytest.mark.parametrize("table", EVERY_TABLE)
def test_the_order_of_threads_changes_no_bit(
    stand_in: Target, table: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    text, parts = table_of(table)
    image = stand_in.compile(text)
    for name, part in parts.items():
        arrays = inputs_of(part.graph, 5)
        first = results(stand_in, image, part, arrays)
        for order in ("reverse", "random"):
            monkeypatch.setenv("GRADC_SIMT_ORDER", order)
            again = results(stand_in, image, part, arrays)
            monkeypatch.delenv("GRADC_SIMT_ORDER")
            for x, y in zip(first, again, strict=True):
                assert x.tobytes() == y.tobytes(), f"{name}, {order}"


def test_all_graphs_leave_their_inputs_alone_and_can_be_run_again(target: Target) -> None:
    part = rendered(NAMED["layer_norm"]())
    graph, arrays = part.graph, inputs_of(part.graph)
    text, (part,) = rendered_together([graph])
    memories = target.upload(arrays)
    outputs = [DeviceMemory(target.device, each.nbytes) for each in part.program.outputs]
    program = loaded(target.device, target.compile(text), part, len(memories) + len(outputs))
    found: list[list[bytes]] = []
    for _ in range(3):  # launched, captured, replayed
        for each in outputs:
            each.fill(0)
        assert program.run([each.address for each in [*memories, *outputs]]) is None
        read = [np.empty(each.nbytes, np.uint8) for each in outputs]
        for memory, array in zip(outputs, read, strict=True):
            memory.read(array)
        found.append([each.tobytes() for each in read])
    assert found[0] == found[1] == found[2]
    for memory, array in zip(memories, arrays, strict=True):
        copy = np.empty_like(array)
        memory.read(copy)
        np.testing.assert_array_equal(copy, array)


# ---- every operator


@cache
def operators() -> dict[str, list[Case]]:
    """The contract cases by what is compiled together."""
    groups: dict[str, list[Case]] = defaultdict(list)
    for case in cases():
        kind = OPS[case.op].kind
        many = kind in ("elementwise", "reduction")
        groups[f"{kind if many else 'others'} {case.dtype.name}"].append(case)
    return dict(groups)


def differences(target: Target, image: bytes, part: Rendered, case: Case) -> None:
    """Fail where a target's value is not the interpreter's, within the tolerance of the case."""
    arrays = case.sample(np.random.default_rng(1))
    graph = part.graph
    floats, ints = case.floats[: graph.floats], case.ints[: graph.ints]
    expected = interpret(graph, arrays, floats, ints)
    found = run(target, image, part, arrays, floats, ints)
    assert not isinstance(found, DeviceError), f"{case}: {found}"
    for x, y, node in zip(found, expected, graph.outputs, strict=True):
        np.testing.assert_allclose(
            as_numbers(x, node.dtype), as_numbers(y, node.dtype), *case.tolerance, err_msg=str(case)
        )


@walk("group", operators())
def test_operators_agree_with_the_interpreter(target: Target, group: str) -> None:
    listed = operators()[group]
    text, parts = rendered_together([case.graph() for case in listed])
    image = target.compile(text)
    for case, part in zip(listed, parts, strict=True):
        differences(target, image, part, case)


# ---- errors


@pytest.mark.parametrize(("found", "position"), [(50, 3), (-51, 17), (1 << 40, 0)])
def test_a_place_out_of_range_is_reported(target: Target, found: int, position: int) -> None:
    table, places = leaf(0, (50, 40), float32), leaf(1, (90,), DTYPES["int64"])
    text, (part,) = rendered_together([graph_of(indexing.take(table, places, 0))])
    arrays = inputs_of(part.graph)
    arrays[1][position] = found
    error = run(target, target.compile(text), part, arrays)
    assert isinstance(error, DeviceError), "no error was reported"
    assert (error.node, error.position) == (0, position)
    assert (error.found, error.bound) == (found, 50)


def test_places_may_be_counted_from_the_end(target: Target) -> None:
    base, places, lines = leaf(0, (6, 3), float32), leaf(1, (4,), int32), leaf(2, (4, 3), float32)
    graph = graph_of(indexing.scatter_add(base, places, lines, 0))
    text, (part,) = rendered_together([graph])
    arrays = inputs_of(graph)
    arrays[1][:] = [-1, 5, -6, 0]
    (found,) = results(target, target.compile(text), part, arrays)
    np.testing.assert_allclose(found, interpret(graph, arrays, (), ())[0], rtol=1e-6)


# ---- compilers


def nvcc_log(text: str, architecture: str, scratch: Path) -> str:
    """What nvcc says of a text when all warnings are errors."""
    nvcc = Nvcc.find() or pytest.skip("no nvcc on PATH")
    path = scratch / "source.cu"
    path.write_text(text, encoding="utf-8")
    command = [
        *(nvcc.path, *nvcc.options, f"-arch={architecture}", "-Werror", "all-warnings"),
        *(str(path), "-o", str(scratch / "image.cubin")),
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return "" if done.returncode == 0 else done.stdout + done.stderr


@pytest.mark.parametrize("table", EVERY_TABLE)
def test_nvcc_gives_no_warnings(tmp_path: Path, table: str) -> None:
    architecture = "sm_75" if table in ("rows", "products") else "sm_90"
    assert nvcc_log(table_of(table)[0], architecture, tmp_path) == ""


@pytest.mark.parametrize("table", ["rows", "lines", "products"])
def test_nvrtc_compiles(tmp_path: Path, table: str) -> None:
    nvrtc = Nvrtc.find() or pytest.skip("no NVRTC: neither its wheel nor the system's library")
    path = tmp_path / "source.cu"
    path.write_text(table_of(table)[0], encoding="utf-8")
    assert nvrtc.compile(path, "sm_80").startswith(b"\x7fELF")


@pytest.mark.parametrize("dtype", DTYPES)
def test_nvcc_gives_no_warnings_for_any_operator(tmp_path: Path, dtype: str) -> None:
    first: dict[tuple[object, ...], Case] = {}
    for case in cases():
        if case.dtype.name == dtype:
            first.setdefault((case.op, *map(str, case.attrs)), case)
    text, _ = rendered_together([case.graph() for case in first.values()])
    assert nvcc_log(text, "sm_80", tmp_path) == ""


# ---- the text and the launches


@pytest.mark.parametrize("table", EVERY_TABLE)
def test_launches_are_within_the_limits_of_devices(table: str) -> None:
    for name, part in table_of(table)[1].items():
        for launch in part.launches:
            blocks, pieces, layers = launch.grid
            assert 1 <= blocks <= MOST_BLOCKS, name
            assert 1 <= pieces <= MOST_PIECES, name
            threads, *others = launch.block
            assert threads % 32 == 0 and 32 <= threads <= 512, name
            assert layers == 1 and others == [1, 1] and launch.shared_bytes == 0, name


@pytest.mark.parametrize("table", EVERY_TABLE)
def test_no_line_is_too_long(table: str) -> None:
    for name, part in table_of(table)[1].items():
        wide = [line for line in part.text.splitlines() if len(line) > 100]
        assert not wide, f"{name}: {wide[0]}"


def test_a_text_is_always_the_same() -> None:
    first, second = (rendered(NAMED["layer_norm"]()) for _ in range(2))
    assert first.text == second.text
    assert first.launches == second.launches


def kernels() -> Iterator[Kernel]:
    for table in TABLES:
        for part in table_of(table)[1].values():
            yield from (each for each in part.program.launches if isinstance(each, Kernel))


def test_the_graphs_take_every_way_over_the_device() -> None:
    spreads = [(each, spread_of(each)) for each in kernels()]
    assert {spread.group for _, spread in spreads} == {1, 2, 4, 8, 16, 32, 128, 256, 512}
    assert {each.split for each, _ in spreads} == {"rows", "inner"}
    shared = [each for each, spread in spreads if spread.pieces > 1]
    assert any(each.ordered for each in shared), "a scatter of wide lines"
    assert any(is_columnar(each) for each in shared), "wide columns"
    assert any(not each.accumulators and not each.ordered for each in shared), "long rows"
    owned = [spread for _, spread in spreads if spread.owners > 1]
    assert {spread.group == 1 for spread in owned} == {True, False}
    columns = [k for k, _ in spreads if any(each.scope == "column" for each in k.accumulators)]
    assert {is_columnar(each) for each in columns} == {True, False}
    assert any(each.name == "kept0" for kernel, _ in spreads for each in kernel.arguments)


def test_the_graphs_take_every_combine_and_product() -> None:
    launches = [
        each
        for table in TABLES
        for part in table_of(table)[1].values()
        for each in part.program.launches
    ]
    combines = [each for each in launches if isinstance(each, Combine)]
    assert {combine_lanes(each) for each in combines if each.columns > 1} == {1, 8}
    assert {combine_lanes(each) > 32 for each in combines if each.columns == 1} == {True, False}
    products = [each for each in launches if isinstance(each, Product)]
    assert {product_square(each) for each in products if each.c.shape[0]} == {1, 2, 4}
