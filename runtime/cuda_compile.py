"""CUDA source to a device image: by NVRTC where it is installed, else by nvcc.

Neither needs a device. NVRTC comes as a wheel (`pip install gradc[cuda13]`) and compiles in tens of
milliseconds; nvcc belongs to the toolkit and needs a C++ compiler beside it.
"""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Protocol

from ..tracer.cached import cached_property
from ..tracer.errors import GradcError

# As in C: everything follows IEEE 754, and a product and a sum are contracted only where the source
# says fma.
NUMERIC_OPTIONS = ("--fmad=false", "--ftz=false", "--prec-div=true", "--prec-sqrt=true")
NVCC_SECONDS = 600
NVCC_PLACES = ("nvcc", "/usr/local/cuda/bin/nvcc")


class CudaCompileError(GradcError, RuntimeError):
    """A compiler rejected generated CUDA source, kept at `source_path`; `log` is what it said."""

    def __init__(self, compiler: str, source_path: Path, log: str) -> None:
        super().__init__(f"{compiler} does not compile {source_path}:\n{log.strip()}")
        self.compiler = compiler
        self.source_path = source_path
        self.log = log


class CudaCompilerMissingError(GradcError, RuntimeError):
    """Neither NVRTC nor nvcc is installed."""


class CudaCompiler(Protocol):
    """What turns a .cu file into an image for cuModuleLoadData."""

    @property
    def version(self) -> str:
        """The compiler by name and version."""

    def compile(self, source_path: Path, architecture: str) -> bytes:
        """Compile for an architecture such as "sm_90"; raise CudaCompileError if that fails."""

    def parts(self, architecture: str) -> dict[str, str]:
        """The named parts that it adds to the key of an image: all but the source."""


class Nvcc:
    """The compiler of an installed toolkit, run as a process of its own."""

    options = ("-cubin", "-O2", "-std=c++17", *NUMERIC_OPTIONS)

    def __init__(self, path: str) -> None:
        self.path = path

    @classmethod
    def find(cls) -> Nvcc | None:
        """The installed nvcc, or None."""
        path = next(filter(None, map(shutil.which, NVCC_PLACES)), None)
        return cls(path) if path else None

    @cached_property
    def version(self) -> str:
        """The compiler by name and version."""
        command = [self.path, "--version"]
        text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        return f"nvcc, {text.splitlines()[-1]}"  # as in "nvcc, Build cuda_13.0.r13.0/..."

    def compile(self, source_path: Path, architecture: str) -> bytes:
        """Compile to a cubin."""
        with tempfile.TemporaryDirectory(prefix="gradc-nvcc-") as scratch:
            product = Path(scratch, "image.cubin")
            command = [
                *(self.path, *self.options, f"-arch={architecture}"),
                *("-x", "cu", str(source_path), "-o", str(product)),
            ]
            try:
                result = subprocess.run(
                    command, capture_output=True, text=True, check=False, timeout=NVCC_SECONDS
                )
            except subprocess.TimeoutExpired as error:
                log = f"no result after {NVCC_SECONDS} s"
                raise CudaCompileError("nvcc", source_path, log) from error
            if result.returncode:
                raise CudaCompileError("nvcc", source_path, result.stdout + result.stderr)
            return product.read_bytes()

    def parts(self, architecture: str) -> dict[str, str]:
        """The named parts that it adds to the key of an image."""
        return {
            "compiler": self.version,
            "flags": " ".join(self.options),
            "machine": architecture,
        }


def find_compiler() -> CudaCompiler:
    """NVRTC, else nvcc; CudaCompilerMissingError says how to get one."""
    from .cuda_nvrtc import Nvrtc

    compiler = Nvrtc.find() or Nvcc.find()
    if compiler is None:
        raise CudaCompilerMissingError(
            "no CUDA compiler: pip install 'gradc[cuda13]' (or cuda12, as fits the driver) installs"
            " NVRTC; the nvcc of an installed toolkit does too, if it is on PATH"
        )
    return compiler
