"""CUDA on the CPU: a stand-in for libcuda.so.1, and g++ in place of nvcc.

    device = Device(Driver(library_path()))
    module = Module(device, compile_module(source))

What the driver and its kernels do is in `libcuda_stand_in.cpp` and `simt.h`. Environment variables
choose how strict it is:

    GRADC_SIMT_ORDER=forward|reverse|random   in which order blocks and threads run
    GRADC_SIMT_ASYNC=1                        work on streams waits until something waits for it
    GRADC_SIMT_PROTECT=1                      the host crashes where it touches device memory
"""

import hashlib
import os
import shutil
import subprocess
import tempfile
from functools import cache
from pathlib import Path

FOLDER = Path(__file__).parent
FLAGS = ("-std=c++17", "-O1", "-g1", "-fPIC", "-shared", "-Wall", "-Wextra", "-Werror")
# Hidden and never unique: two modules that define a name must not share its variable.
MODULE_FLAGS = (
    *("-fvisibility=hidden", "-fno-gnu-unique", "-ffp-contract=off", "-fwrapv"),
    "-Wno-unknown-pragmas",  # such as unroll
    *("-DGRADC_SIMT", "-include", str(FOLDER / "simt.h"), "-x", "c++"),
)
# Shared variables are in a section of their own, which the sanitizer leaves out unless told.
SANITIZER_FLAGS = ("-fsanitize=address", "-fsanitize-sections=gradc_shared")


class StandInCompileError(RuntimeError):
    """g++ rejects a .cu; the message is what it says."""


def why_unavailable() -> str:
    """Say why the stand-in cannot be built here; empty where it can."""
    return "" if shutil.which("g++") else "no g++, which compiles the stand-in for libcuda"


def library_path() -> str:
    """Build the stand-in for libcuda.so.1 unless it is built, and return its path."""
    return str(_built((FOLDER / "libcuda_stand_in.cpp").read_text(encoding="utf-8"), ()))


def compile_module(source: str, *, sanitize: bool = False) -> bytes:
    """Compile CUDA text to an image for the stand-in's cuModuleLoadData.

    With `sanitize` the process that loads it must have libasan preloaded.
    """
    extra = SANITIZER_FLAGS if sanitize else ()
    return _built(source, (*MODULE_FLAGS, *extra)).read_bytes()


@cache
def _identity() -> bytes:
    """What a build depends on besides its source and flags."""
    version = subprocess.run(["g++", "--version"], capture_output=True, check=True).stdout
    headers = [path.read_bytes() for path in sorted(FOLDER.glob("*.h"))]
    return b"\0".join([version, *headers])


@cache
def _store() -> Path:
    folder = Path(tempfile.gettempdir()) / f"gradc-cuda-stand-in-{os.getuid()}"
    folder.mkdir(mode=0o700, exist_ok=True)
    if folder.stat().st_uid != os.getuid():
        raise PermissionError(f"{folder} belongs to another user")
    return folder


def _built(source: str, flags: tuple[str, ...]) -> Path:
    parts = [_identity(), source.encode(), *(flag.encode() for flag in flags)]
    key = hashlib.sha256(b"\0".join(parts)).hexdigest()
    library = _store() / f"{key}.so"
    if library.exists():
        return library
    with tempfile.TemporaryDirectory(dir=_store()) as scratch:
        path = Path(scratch, "source.cu" if flags else "source.cpp")
        path.write_text(source, encoding="utf-8")
        product = Path(scratch, "product.so")
        command = ["g++", *FLAGS, f"-I{FOLDER}", *flags, str(path), "-o", str(product), "-ldl"]
        result = subprocess.run(command, capture_output=True, text=True, check=False)
        if result.returncode:
            raise StandInCompileError(result.stderr)
        product.replace(library)
    return library
