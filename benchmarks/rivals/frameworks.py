"""The frameworks that are compared: what each needs, and how it is told threads and a cache."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

OURS = "gradc"

Environment = Callable[[int, Path], dict[str, str]]
"""From threads and a folder for what is compiled: the variables that say so."""


@dataclass(frozen=True)
class Framework:
    """A framework, installed by `requirements`, in which a step is written in several ways.

    `left_out` says which (variant, workload) are not run, and why; an empty `only` is all. The
    newest release that an index has as a `build` of that name is preferred.
    """

    name: str
    variants: tuple[str, ...]
    requirements: tuple[str, ...]
    environment: Environment
    build: str = ""
    only: tuple[str, ...] = ()
    left_out: Mapping[tuple[str, str], str] = field(default_factory=dict)

    def runs(self, variant: str, workload: str) -> bool:
        """Whether the workload is written in this framework and ends within minutes."""
        named = not self.only or workload in self.only
        return named and (variant, workload) not in self.left_out


def _gradc(threads: int, cache: Path) -> dict[str, str]:
    return {"OMP_NUM_THREADS": str(threads), "GRADC_CACHE_DIR": str(cache)}


def _torch(threads: int, cache: Path) -> dict[str, str]:
    return {
        "OMP_NUM_THREADS": str(threads),
        "MKL_NUM_THREADS": str(threads),
        "TORCHINDUCTOR_CACHE_DIR": str(cache),
        "TORCHINDUCTOR_FX_GRAPH_CACHE": "1",
        "TORCHINDUCTOR_AUTOGRAD_CACHE": "1",
        "TORCHINDUCTOR_COMPILE_THREADS": str(threads),
    }


def _jax(threads: int, cache: Path) -> dict[str, str]:
    variables = {
        "JAX_PLATFORMS": "cpu",
        "JAX_COMPILATION_CACHE_DIR": str(cache),
        "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
        "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES": "-1",
    }
    alone = {"XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false"}
    return variables | (alone if threads == 1 else {})


def _pytensor(threads: int, cache: Path) -> dict[str, str]:
    return {
        "OMP_NUM_THREADS": str(threads),
        "OPENBLAS_NUM_THREADS": str(threads),
        "NUMBA_NUM_THREADS": str(threads),
        "NUMBA_CACHE_DIR": str(cache / "numba"),
        "PYTENSOR_FLAGS": f"floatX=float32,openmp=False,base_compiledir={cache}",
    }


def _casadi(threads: int, cache: Path) -> dict[str, str]:
    return {"OMP_NUM_THREADS": str(threads), "RIVALS_FOLDER": str(cache)}


FRAMEWORKS = (
    # Of this tree, in the environment that runs the comparison.
    Framework("gradc", ("loop", "trace"), (), _gradc),
    Framework(
        "torch",
        ("eager", "compile"),
        ("torch", "numpy"),
        _torch,
        build="cpu",
        left_out={("compile", "W9"): "200 steps are unrolled into 30 000 nodes: minutes"},
    ),
    Framework("jax", ("jit",), ("jax[cpu]", "numpy"), _jax),
    Framework(
        "pytensor",
        ("numba", "c"),
        ("pytensor>=3", "numba", "scipy-openblas32"),  # a BLAS that its C can be linked with
        _pytensor,
        left_out={
            (variant, workload): reason
            for variant in ("numba", "c")
            for workload, reason in (
                ("W6", "no convolution over batches of several channels"),
                ("W6b", "no convolution over batches of several channels"),
                ("W10", "compiling takes more than three minutes"),
            )
        },
    ),
    # It knows scalars and matrices.
    Framework("casadi", ("vm", "jit"), ("casadi", "numpy"), _casadi, only=("W1", "W9", "W10")),
)
