"""Cube roots of generated CUDA, against exact fractions."""

import pytest
from cuda_stand_in.programs import HEADERS, rendered, run
from cuda_stand_in.targets import Target
from gradc.runtime.cuda_program import DeviceError
from gradc.tracer.dtypes import DType, float32, float64
from graphs.cube_roots import graph_on, numbers, require_exact


@pytest.mark.parametrize("dtype", [float32, float64], ids=str)
def test_cube_roots_are_exact_to_a_few_units(target: Target, dtype: DType) -> None:
    x = numbers(dtype)
    part = rendered(graph_on(x, dtype))
    found = run(target, target.compile("\n".join([HEADERS, part.text])), part, [x])
    assert not isinstance(found, DeviceError)
    require_exact(x, found[0])
