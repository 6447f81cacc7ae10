"""The C compiler: which one, what it is exactly, and which flags it takes.

Finding out starts the compiler several times, so the answer is remembered in the cache under what
tells one compiler from another without starting it: path, size, times and environment. A warm start
runs no process.
"""

import os
import platform
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from ..tracer.errors import GradcError
from .cache import Cache, open_cache
from .command import find_program, search_path
from .cpu import Processor, processor
from .digest import key_of
from .faults import passing_fault
from .store import identity_of

CANDIDATES = ("gcc", "clang", "cc")
NATIVE = {"x86_64": "-march=native", "aarch64": "-mcpu=native"}
VECTOR_BYTES = (("avx512f", 64), ("avx", 32), ("sse2", 16), ("asimd", 16))  # the widest first

REQUIRED = ("-std=gnu11", "-O2", "-fwrapv", "-fPIC", "-shared", "-pthread")
# Each is used where the compiler takes it. Floating point follows IEEE 754: nothing is reordered,
# and products and sums are contracted only where the source says fma, so that the lanes of a vector
# loop, its tail and NumPy agree to the bit. Only errno and floating-point traps are given up.
WANTED = (
    "-ftree-vectorize",
    "-fvect-cost-model=dynamic",  # gcc -O2 vectorizes no loop of unknown length otherwise
    "-mprefer-vector-width=512",
    "--param=iv-max-considered-uses=40",  # for addresses; gcc's search explodes
    "-fno-tree-pre",  # gcc makes choices between conditions of it, for which it has no vectors
    "-fopenmp-simd",
    "-ffp-contract=off",
    "-fno-math-errno",
    "-fno-trapping-math",
    "-fvisibility=hidden",
    "-fno-semantic-interposition",
)
LIBRARIES = ("-lm",)  # with glibc this brings libmvec where it is used

# What compilers read besides their command line.
ENVIRONMENT = (
    "CPATH",
    "C_INCLUDE_PATH",
    "LIBRARY_PATH",
    "COMPILER_PATH",
    "GCC_EXEC_PREFIX",
    "SDKROOT",
    "MACOSX_DEPLOYMENT_TARGET",
)

CPLUSPLUS = "gradc needs a C compiler, and this one compiles C++"
LANGUAGE = f"#ifdef __cplusplus\n#error {CPLUSPLUS}\n#endif\n"
NOTHING = f"{LANGUAGE}int gradc_nothing(void) {{ return 0; }}\n"
VECTOR_MATH = (
    f"{LANGUAGE}float _ZGVbN4v_expf(float);\nvoid *gradc_expf(void) {{ return &_ZGVbN4v_expf; }}\n"
)
PROBE_SECONDS = 60.0


class CompilerNotFoundError(GradcError, RuntimeError):
    """No C compiler that works was found."""


class Toolchain(NamedTuple):
    """A compiler with all that shapes what it makes; equal toolchains make equal libraries."""

    command: tuple[str, ...]
    version: str  # the compiler's own text
    target: str
    flags: tuple[str, ...]
    libraries: tuple[str, ...]
    machine: str  # what -march=native stands for
    features: tuple[str, ...]  # of the processor, as the kernel names them
    environment: str
    vector_math: bool  # libmvec is there

    @property
    def parts(self) -> dict[str, str]:
        """The named parts that it adds to the key of a library."""
        return {
            "compiler": self.version,
            "arguments": " ".join(self.command[1:]),
            "flags": " ".join((*self.flags, *self.libraries)),
            "target": self.target,
            "machine": self.machine,
            "environment": self.environment,
        }

    @property
    def vector_bytes(self) -> int:
        """The width of the widest vector registers."""
        return next((width for name, width in VECTOR_BYTES if name in self.features), 16)

    def command_line(self, *sources: str, library: str) -> list[str]:
        """The command that compiles and links files, or links what is compiled."""
        return [*self.command, *self.flags, "-o", library, *sources, *self.libraries]

    def unit_line(self, source: str, unit: int, made: str) -> list[str]:
        """The command that compiles one unit of a file, and does not link it."""
        chosen = f"-DGRADC_UNIT={unit}"
        return [*self.command, *self.flags, chosen, "-c", "-o", made, source]


def find_toolchain(cache: Cache | None = None) -> Toolchain:
    """The C compiler named by CC, else the first of gcc, clang and cc."""
    wanted, path = os.environ.get("CC", ""), search_path()
    return _find(cache or open_cache(), wanted, path, _environment())


@lru_cache(maxsize=8)
def _find(cache: Cache, wanted: str, path: str, environment: str) -> Toolchain:
    command = find_command(wanted)
    identity = _identify(command, environment)
    name = key_of(identity)
    if remembered := _revive(cache.read_document("toolchain", name)):
        return remembered
    if name in _broken:
        raise _broken[name].with_traceback(None)
    try:
        toolchain = _inspect(command, environment)
    except CompilerNotFoundError as error:
        _broken[name] = error
        raise
    cache.write_document("toolchain", name, toolchain._asdict())
    return toolchain


_broken: dict[str, CompilerNotFoundError] = {}
"""Compilers that do not work, or give no answer: asked once, until they change."""


def find_command(wanted: str) -> tuple[str, ...]:
    """The words of the command that CC names, else the first compiler found."""
    if wanted.strip():
        import shlex

        try:
            words = tuple(shlex.split(wanted))
        except ValueError as error:
            reason = f"CC is no command, {str(error).lower()}: {wanted}"
            raise CompilerNotFoundError(reason) from error
        if find_program(words[0]) is None:
            raise CompilerNotFoundError(f"CC names {words[0]!r}, which is no program on PATH")
        return words
    found = next(filter(find_program, CANDIDATES), None)
    if found is None:
        raise CompilerNotFoundError(
            "no C compiler found (looked for gcc, clang and cc on PATH): install one, for example"
            " by `apt install gcc` or `xcode-select --install`, or name one in CC"
        )
    return (found,)


def _environment() -> str:
    values = ((name, os.environ.get(name)) for name in ENVIRONMENT)
    return " ".join(f"{name}={value}" for name, value in values if value)


def _identify(command: tuple[str, ...], environment: str) -> dict[str, Any]:
    """What tells this compiler from others without starting it; wrappers name it as an argument."""
    programs = [Path(found).resolve() for word in command if (found := find_program(word))]
    status = [(str(program), program.stat()) for program in programs]
    return {
        "command": command,
        "programs": [(name, *identity_of(stat)) for name, stat in status],
        "machine": processor().text,
        "environment": environment,
        "flags": [*REQUIRED, *WANTED, *LIBRARIES],
    }


def _revive(document: Mapping[str, Any] | None) -> Toolchain | None:
    if document is None:
        return None
    values: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value for name, value in document.items()
    }
    try:
        return Toolchain(**values)
    except TypeError:  # written by another version of gradc
        return None


def _inspect(command: tuple[str, ...], environment: str) -> Toolchain:
    version = _ask(command, "-v")
    flags, vector_math = _probed(command, processor())
    return Toolchain(
        command=command,
        version=version,
        target=_ask(command, "-dumpmachine").strip(),
        flags=flags,
        libraries=LIBRARIES,
        machine=processor().text,
        features=processor().features,
        environment=environment,
        vector_math=vector_math,
    )


def _probed(command: tuple[str, ...], cpu: Processor) -> tuple[tuple[str, ...], bool]:
    """The wanted flags that change nothing about what the compiler says to an empty program, and
    whether there is vector math.

    Most compilers take all, in silence, which is seen at once.
    """
    native = NATIVE.get(platform.machine()) if cpu.resolved else None
    wanted = (*([native] if native else []), *WANTED)
    if "avx512f" not in cpu.features:
        wanted = tuple(flag for flag in wanted if not flag.startswith("-mprefer-vector-width"))
    everything = _try(command, (*REQUIRED, *wanted), VECTOR_MATH)
    if everything.returncode == 0 and not everything.stderr:
        return (*REQUIRED, *wanted), True
    flags = _accepted_flags(command, wanted)
    return flags, _try(command, flags, VECTOR_MATH).returncode == 0


def _accepted_flags(command: tuple[str, ...], wanted: tuple[str, ...]) -> tuple[str, ...]:
    plain = _try(command, REQUIRED, NOTHING)
    if plain.returncode:
        named, said = " ".join(command), plain.stderr.strip()
        if CPLUSPLUS in said + _try(command, ("-E",), NOTHING).stderr:  # clang stops at -std
            raise CompilerNotFoundError(
                f"{named} compiles C++, and gradc needs a C compiler: let CC name one, such as gcc"
            )
        raise CompilerNotFoundError(f"{named} compiles no empty program: {said}")

    constant = _try(command, REQUIRED, NOTHING).stderr == plain.stderr

    def takes(*flags: str) -> bool:
        result = _try(command, (*REQUIRED, *flags), NOTHING)
        silent = result.stderr == plain.stderr or not constant  # a wrapper may tell the time
        return bool(result.returncode == 0 and silent)

    taken = wanted if takes(*wanted) else filter(takes, wanted)
    return (*REQUIRED, *taken)


def _try(command: Sequence[str], flags: Sequence[str], source: str) -> Any:
    """The result of compiling and linking a source."""
    from tempfile import TemporaryDirectory

    with TemporaryDirectory(prefix="gradc-") as folder:
        Path(folder, "probe.c").write_text(source, encoding="ascii")
        result = _run([*command, *flags, "-o", "probe.so", "probe.c", *LIBRARIES], folder)
        if result.returncode == 0 and not Path(folder, "probe.so").exists():
            raise CompilerNotFoundError(f"{' '.join(command)} does not work: it makes no library")
        return result


def _ask(command: tuple[str, ...], option: str) -> str:
    result = _run([*command, option], os.curdir)
    if result.returncode:
        text = (result.stdout + result.stderr).strip()
        raise CompilerNotFoundError(f"{' '.join(command)} does not work: {text}")
    return str(result.stdout or result.stderr)


def _run(line: list[str], folder: str) -> Any:
    """The result of a command; raises OSError where it failed for want of memory or the like."""
    import subprocess

    from .command import run_command

    try:
        result = run_command(line, folder, PROBE_SECONDS)
    except subprocess.TimeoutExpired as error:
        reason = f"{line[0]} does not work: it gave no answer within {PROBE_SECONDS:g} s"
        raise CompilerNotFoundError(reason) from error
    except FileNotFoundError as error:
        raise CompilerNotFoundError(f"{line[0]} does not work: {error}") from error
    if result.returncode and (fault := passing_fault(result.stdout + result.stderr)):
        raise fault
    return result
