"""NVRTC, NVIDIA's compiler as a library, opened by cffi from its wheel or from the system."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Any

from cffi import FFI

from ..tracer.cached import cached_property
from ..tracer.errors import GradcError
from .cuda_compile import NUMERIC_OPTIONS, CudaCompileError

FFI_NVRTC: Any = FFI()  # what it makes has no types
FFI_NVRTC.cdef("""
typedef int nvrtcResult;
typedef struct _nvrtcProgram *nvrtcProgram;

const char *nvrtcGetErrorString(nvrtcResult result);
nvrtcResult nvrtcVersion(int *major, int *minor);
nvrtcResult nvrtcGetNumSupportedArchs(int *count);
nvrtcResult nvrtcGetSupportedArchs(int *architectures);
nvrtcResult nvrtcCreateProgram(nvrtcProgram *program, const char *source, const char *name,
                               int header_count, const char *const *headers,
                               const char *const *header_names);
nvrtcResult nvrtcDestroyProgram(nvrtcProgram *program);
nvrtcResult nvrtcCompileProgram(nvrtcProgram program, int option_count,
                                const char *const *options);
nvrtcResult nvrtcGetProgramLogSize(nvrtcProgram program, size_t *bytes);
nvrtcResult nvrtcGetProgramLog(nvrtcProgram program, char *log);
nvrtcResult nvrtcGetCUBINSize(nvrtcProgram program, size_t *bytes);
nvrtcResult nvrtcGetCUBIN(nvrtcProgram program, char *cubin);
nvrtcResult nvrtcGetPTXSize(nvrtcProgram program, size_t *bytes);
nvrtcResult nvrtcGetPTX(nvrtcProgram program, char *ptx);
""")

# The newest first: (package of the wheel, name of the library).
WHEELS = (("nvidia.cu13", "libnvrtc.so.13*"), ("nvidia.cuda_nvrtc", "libnvrtc.so.1?*"))
SYSTEM_LIBRARIES = ("libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so")
SUCCESS = 0
COMPILATION_FAILED = 6


class NvrtcError(GradcError, RuntimeError):
    """NVRTC failed for another reason than the source."""


class Nvrtc:
    """The compiler library at `path`."""

    options = ("--std=c++17", *NUMERIC_OPTIONS)

    def __init__(self, path: str) -> None:
        self.path = path
        self._library = FFI_NVRTC.dlopen(path)

    @classmethod
    def find(cls) -> Nvrtc | None:
        """NVRTC from a wheel, else from the system, or None."""
        for path in (*_wheel_libraries(), *SYSTEM_LIBRARIES):
            try:
                return cls(path)
            except OSError:
                continue
        return None

    @cached_property
    def version(self) -> str:
        """The compiler by name and version."""
        major, minor = FFI_NVRTC.new("int *"), FFI_NVRTC.new("int *")
        self._call("nvrtcVersion", major, minor)
        return f"NVRTC {major[0]}.{minor[0]}"

    @cached_property
    def architectures(self) -> tuple[int, ...]:
        """The architectures that it compiles for, as in 90."""
        count = FFI_NVRTC.new("int *")
        self._call("nvrtcGetNumSupportedArchs", count)
        numbers = FFI_NVRTC.new("int[]", count[0])
        self._call("nvrtcGetSupportedArchs", numbers)
        return tuple(sorted(numbers))

    def target(self, architecture: str) -> str:
        """What to compile for: the architecture or, where it is too new, PTX for the newest known.

        The driver compiles PTX when it loads it.
        """
        oldest, newest = self.architectures[0], self.architectures[-1]
        number = int(architecture.removeprefix("sm_"))
        if number < oldest:
            raise NvrtcError(
                f"{self.version} compiles for sm_{oldest} and newer, the device is {architecture}:"
                " install an older one, pip install 'gradc[cuda12]'"
            )
        return architecture if number <= newest else f"compute_{newest}"

    def compile(self, source_path: Path, architecture: str) -> bytes:
        """Compile to a cubin, or to PTX where the architecture is newer than the library."""
        target = self.target(architecture)
        program = FFI_NVRTC.new("nvrtcProgram *")
        null = FFI_NVRTC.NULL
        source, name = source_path.read_bytes(), source_path.name.encode()
        self._call("nvrtcCreateProgram", program, source, name, 0, null, null)
        try:
            self._compile(program[0], target, source_path)
            kind = "CUBIN" if target.startswith("sm_") else "PTX"
            return self._bytes(program[0], f"nvrtcGet{kind}Size", f"nvrtcGet{kind}")
        finally:
            self._call("nvrtcDestroyProgram", program)

    def parts(self, architecture: str) -> dict[str, str]:
        """The named parts that it adds to the key of an image."""
        return {
            "compiler": self.version,
            "library": _build_of(self.path),
            "flags": " ".join(self.options),
            "machine": self.target(architecture),
        }

    def _compile(self, program: Any, target: str, source_path: Path) -> None:
        texts = [*self.options, f"--gpu-architecture={target}"]
        options = [FFI_NVRTC.new("char[]", text.encode()) for text in texts]
        result = self._library.nvrtcCompileProgram(program, len(options), options)
        if result == COMPILATION_FAILED:
            log = self._bytes(program, "nvrtcGetProgramLogSize", "nvrtcGetProgramLog")
            raise CudaCompileError(self.version, source_path, log.rstrip(b"\0").decode())
        self._check("nvrtcCompileProgram", result)

    def _bytes(self, program: Any, size_of: str, content_of: str) -> bytes:
        size = FFI_NVRTC.new("size_t *")
        self._call(size_of, program, size)
        content = FFI_NVRTC.new("char[]", size[0])
        self._call(content_of, program, content)
        return bytes(FFI_NVRTC.buffer(content))

    def _call(self, operation: str, *arguments: Any) -> None:
        self._check(operation, getattr(self._library, operation)(*arguments))

    def _check(self, operation: str, result: int) -> None:
        if result != SUCCESS:
            reason = FFI_NVRTC.string(self._library.nvrtcGetErrorString(result)).decode()
            raise NvrtcError(f"{operation}: {reason} ({result})")


def _wheel_libraries() -> list[str]:
    found: list[str] = []
    for package, pattern in WHEELS:
        try:
            specification = find_spec(package)
        except ModuleNotFoundError:  # no package of NVIDIA at all
            continue
        folders = (specification and specification.submodule_search_locations) or ()
        for folder in folders:
            found += map(str, sorted(Path(folder, "lib").glob(pattern), reverse=True))
    return found


def _build_of(path: str) -> str:
    """What tells two builds of one version apart; the system's library is known by name alone."""
    file = Path(path)
    return f"{file.resolve().name} of {file.stat().st_size} bytes" if file.is_file() else path
