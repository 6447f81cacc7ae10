"""What a replayed call of a traced function costs above the compiled code that it runs."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from figure import Figure, microseconds
from gradc.runtime.program import Program

import gradc
from gradc import Tensor
from gradc.jit import trace


def total(*tensors: Tensor) -> Tensor:
    """1.5 times the sum: one small kernel, however many arguments there are."""
    made = tensors[0]
    for each in tensors[1:]:
        made = made + each
    return made * 1.5


def compiled(program: Program, tensors: Sequence[Tensor]) -> Callable[[], object]:
    """The entry of `program` with its tables filled beforehand, and nothing around it."""
    frame = program._frame()
    frame.fill([each.buffer() for each in tensors], [], [])
    function, arguments = program._function, frame.arguments

    def call(keep: object = (frame, tensors)) -> object:
        return function(*arguments)

    return call


def figures() -> list[Figure]:
    """All figures of this file."""
    found = []
    for count in (1, 10):
        tensors = [gradc.tensor([float(k), 1.0]) for k in range(count)]
        traced = trace(total)
        for _ in range(3):
            traced(*tensors)
        whole = microseconds(lambda traced=traced, on=tensors: traced(*on), 200, 500)
        alone = microseconds(compiled(gradc.programs()[-1], tensors), 200, 500)
        title = f"traced call with {count} tiny tensors"
        found += [
            Figure(f"{title}: the compiled code", alone, "us"),
            Figure(f"{title}: all else", whole - alone, "us", 6),
        ]
    return found
