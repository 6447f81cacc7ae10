"""Generated CUDA in tests: graphs rendered, joined in one translation unit, and run."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from contract.compute import Array
from gradc.codegen.kernel import Program
from gradc.codegen.launch import Launched
from gradc.codegen.pipeline import translate
from gradc.codegen.render import read_template
from gradc.codegen.target import CUDA
from gradc.runtime.cuda import Device
from gradc.runtime.cuda_program import CudaProgram, DeviceError, Launch
from gradc.tracer.graph import Graph

from .targets import Target

NAMES = ("gradc.cuh", "elementary.cuh", "matmul.cuh")
HEADERS = "\n".join(read_template(f"cuda/{name}") for name in NAMES)
KERNEL = re.compile(r"\bk\d+_\w+(?=\(GRADC_KERNEL_PARAMETERS\))")
UNWRITTEN = 0x77
"""The byte of outputs before a program runs."""


@dataclass(frozen=True)
class Rendered:
    """A graph as CUDA; `text` is without the headers."""

    graph: Graph
    program: Program
    text: str
    launches: tuple[Launched, ...]
    arena: int


def rendered(graph: Graph, prefix: str = "") -> Rendered:
    """Translate a graph; the names of its kernels get a prefix."""
    made = translate(graph, CUDA, verify=True)
    text = made.source.text
    body = text[text.rindex("/* >>>") :].partition("\n")[2]
    launches = tuple(replace(each, kernel=prefix + each.kernel) for each in made.source.launches)
    named = KERNEL.sub(lambda match: prefix + match[0], body)
    return Rendered(graph, made.program, named, launches, made.source.arena)


def rendered_together(graphs: Sequence[Graph]) -> tuple[str, list[Rendered]]:
    """Several graphs as one translation unit, and each of them."""
    parts = [rendered(graph, f"g{number}_") for number, graph in enumerate(graphs)]
    return "\n".join([HEADERS, *(part.text for part in parts)]), parts


def run(
    target: Target,
    image: bytes,
    part: Rendered,
    arrays: Sequence[Array],
    floats: Sequence[float] = (),
    ints: Sequence[int] = (),
) -> list[Array] | DeviceError:
    """The outputs of a graph whose kernels are in an image, or the error that it reports."""
    inputs = [np.ascontiguousarray(each) for each in arrays]
    outputs = [np.empty(memory.size, memory.dtype.storage) for memory in part.program.outputs]
    for each in outputs:
        each.view(np.uint8).fill(UNWRITTEN)
    memories = target.upload([*inputs, *outputs])
    program = loaded(target.device, image, part, len(memories))
    error = program.run([each.address for each in memories], floats, ints)
    if error is not None:
        return error
    for memory, array in zip(memories[len(inputs) :], outputs, strict=True):
        memory.read(array)
    found = {"input": inputs, "output": outputs}
    wanted = zip(part.program.results, part.graph.outputs, strict=True)
    return [found[kind][number].reshape(node.shape) for (kind, number), node in wanted]


def loaded(device: Device, image: bytes, part: Rendered, buffers: int) -> CudaProgram:
    """The program of a graph, ready to run."""
    launches = [
        Launch(each.kernel, each.grid, each.block, each.shared_bytes) for each in part.launches
    ]
    return CudaProgram(
        device,
        image,
        launches,
        buffer_count=buffers,
        float_count=part.graph.floats,
        int_count=part.graph.ints,
        arena_bytes=part.arena,
    )
