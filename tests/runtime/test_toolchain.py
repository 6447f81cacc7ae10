"""Finding the compiler: by CC and PATH, what is remembered, and what a key depends on."""

import errno
import os
import shutil
import subprocess
from pathlib import Path

import pytest
from gradc.runtime import toolchain as toolchain_module
from gradc.runtime.build import build
from gradc.runtime.cache import Cache
from gradc.runtime.cpu import Processor, parse, processor, usable_cores
from gradc.runtime.toolchain import CompilerNotFoundError, Toolchain, find_command, find_toolchain

COMPILERS = [name for name in ("gcc", "clang") if shutil.which(name)]


@pytest.fixture(params=COMPILERS)
def compiler(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("CC", request.param)
    return str(request.param)


def write_script(path: Path, text: str) -> Path:
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path


def test_facts_of_the_compiler(compiler: str, cache: Cache) -> None:
    found = find_toolchain(cache)
    target = subprocess.run([compiler, "-dumpmachine"], capture_output=True, text=True, check=True)
    assert found.command == (compiler,)
    assert found.target == target.stdout.strip()
    assert compiler in found.version
    assert "version" in found.version


def test_flags_keep_ieee_arithmetic(compiler: str, cache: Cache) -> None:
    flags = find_toolchain(cache).flags
    assert "-ffp-contract=off" in flags
    assert "-fno-math-errno" in flags
    assert not {"-ffast-math", "-Ofast", "-funsafe-math-optimizations"} & set(flags)


def test_accepted_flags_give_no_warning(compiler: str, cache: Cache, tmp_path: Path) -> None:
    (tmp_path / "a.c").write_text("int a(void) { return 0; }\n")
    line = find_toolchain(cache).command_line("a.c", library="a.so")
    result = subprocess.run(line, cwd=tmp_path, capture_output=True, check=True)
    assert result.stderr == b""
    assert (tmp_path / "a.so").exists()


def test_native_flag_goes_with_a_resolved_processor(compiler: str, cache: Cache) -> None:
    found = find_toolchain(cache)
    if any("=native" in flag for flag in found.flags):
        assert found.features
        assert set(found.features) <= set(found.machine.split())
    assert found.parts["machine"] == processor().text


def test_unknown_flags_are_left_out(
    cache: Cache, monkeypatch: pytest.MonkeyPatch, compiler: str
) -> None:
    monkeypatch.setattr(
        toolchain_module, "WANTED", ("-fno-math-errno", "-fno-such-flag-in-any-compiler")
    )
    flags = find_toolchain(cache).flags
    assert "-fno-math-errno" in flags
    assert "-fno-such-flag-in-any-compiler" not in flags


@pytest.mark.parametrize("said", ["a licence, said at every start", "process $$"])
def test_a_wrapper_that_talks_keeps_all_flags(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, cache: Cache, compiler: str, said: str
) -> None:
    plain = find_toolchain(Cache(tmp_path / "other"))
    wrapper = write_script(tmp_path / "wrapper", f'echo "{said}" >&2\nexec {compiler} "$@"')
    monkeypatch.setenv("CC", str(wrapper))
    found = find_toolchain(cache)
    assert (found.flags, found.vector_math) == (plain.flags, plain.vector_math)


def test_warm_start_runs_no_process(
    cache: Cache, monkeypatch: pytest.MonkeyPatch, compiler: str
) -> None:
    def refuse(line: list[str], folder: str) -> None:
        raise AssertionError(f"{line} was run")

    first = find_toolchain(cache)
    monkeypatch.setattr(toolchain_module, "_run", refuse)
    assert find_toolchain(Cache(cache.root)) == first


def test_changed_compiler_is_asked_again(
    cache: Cache, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = write_script(tmp_path / "cc", 'exec gcc "$@"')
    monkeypatch.setenv("CC", str(script))
    first = find_toolchain(cache)
    write_script(script, '[ "$1" = -v ] && echo "version two" || exec gcc "$@"')
    second = find_toolchain(Cache(cache.root))
    assert first.version != second.version == "version two\n"
    assert first.parts != second.parts


def test_document_of_another_format_is_ignored(
    cache: Cache, monkeypatch: pytest.MonkeyPatch, compiler: str
) -> None:
    monkeypatch.setattr(cache, "read_document", lambda kind, name: {"compiler": "old"})
    assert find_toolchain(cache).command == (compiler,)


def test_arguments_in_cc(monkeypatch: pytest.MonkeyPatch, cache: Cache) -> None:
    monkeypatch.setenv("CC", "gcc -fwrapv '-DNAME=a b'")
    found = find_toolchain(cache)
    assert found.command == ("gcc", "-fwrapv", "-DNAME=a b")
    assert found.parts["arguments"] == "-fwrapv -DNAME=a b"


def test_environment_of_the_compiler_is_in_the_key(
    monkeypatch: pytest.MonkeyPatch, cache: Cache
) -> None:
    before = find_toolchain(cache).parts
    monkeypatch.setenv("CPATH", os.devnull)
    after = find_toolchain(cache).parts
    assert after["environment"] == f"CPATH={os.devnull}"
    assert {name for name in before if before[name] != after[name]} == {"environment"}


def test_missing_compiler_named_by_cc() -> None:
    with pytest.raises(CompilerNotFoundError, match="CC names 'no-such-compiler'"):
        find_command("no-such-compiler -O2")


def test_no_compiler_at_all(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, cache: Cache) -> None:
    monkeypatch.delenv("CC", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(CompilerNotFoundError, match="apt install gcc"):
        find_toolchain(cache)


@pytest.mark.parametrize("text", ["exit 3", 'case "$1" in -v) echo 1;; *) exit 3;; esac'])
def test_compiler_that_does_not_work(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, cache: Cache, text: str
) -> None:
    monkeypatch.setenv("CC", str(write_script(tmp_path / "broken", text)))
    with pytest.raises(CompilerNotFoundError, match="broken"):
        find_toolchain(cache)


CPUINFO = """processor\t: 0
vendor_id\t: GenuineIntel
model\t\t: 85
cpu MHz\t\t: {megahertz}
flags\t\t: fpu sse2 avx avx512f

processor\t: 1
vendor_id\t: Other
"""


def test_processor_without_what_varies() -> None:
    fields = parse(CPUINFO.format(megahertz=2100.0))
    assert fields == parse(CPUINFO.format(megahertz=3700.5))
    assert fields == {
        "vendor_id": "GenuineIntel",
        "model": "85",
        "flags": "fpu sse2 avx avx512f",
    }


def test_processor_without_cpuinfo(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("gradc.runtime.cpu.CPUINFO", str(tmp_path / "none"))
    assert not processor.__wrapped__().resolved


@pytest.mark.parametrize(
    ("features", "width"),
    [(("avx512f", "avx", "sse2"), 64), (("avx", "sse2"), 32), (("sse2",), 16), ((), 16)],
)
def test_vector_width(features: tuple[str, ...], width: int) -> None:
    found = Toolchain(("cc",), "", "", (), (), "", features, "", vector_math=False)
    assert found.vector_bytes == width


def test_wide_vectors_only_where_they_are(monkeypatch: pytest.MonkeyPatch, cache: Cache) -> None:
    plain = Processor("x86_64; flags: sse2", ("sse2",), resolved=True)
    monkeypatch.setattr(toolchain_module, "processor", lambda: plain)
    monkeypatch.setenv("CC", COMPILERS[0])
    assert "-mprefer-vector-width=512" not in find_toolchain(cache).flags


# ---- what is wrong with a compiler is said, by its name, and asked once

WRONG = {
    'gcc "': "CC is no command, no closing quotation: gcc",
    "gcc 'a": "CC is no command, no closing quotation: gcc 'a",
    '""': "CC names '', which is no program",
    "/": "CC names '/', which is no program",
    "g++": r"g\+\+ compiles C\+\+, and gradc needs a C compiler",
    "clang++": r"clang\+\+ compiles C\+\+, and gradc needs a C compiler",
    "g++ -O2 -w": r"g\+\+ -O2 -w compiles C\+\+",
    "cat": "cat (does not work|compiles no empty program)",
    "true": "true (does not work|compiles no empty program)",
}


@pytest.mark.parametrize("named", WRONG)
def test_what_is_wrong_with_cc(named: str, monkeypatch: pytest.MonkeyPatch, cache: Cache) -> None:
    if named.endswith("++") and shutil.which(named) is None:
        pytest.skip(f"no {named}")
    monkeypatch.setenv("CC", named)
    with pytest.raises(CompilerNotFoundError, match=WRONG[named]):
        find_toolchain(cache)


def test_a_compiler_that_hangs_is_asked_once(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, cache: Cache
) -> None:
    script = write_script(tmp_path / "hangs", f'echo x >> "{tmp_path}/asked"; sleep 600')
    monkeypatch.setenv("CC", str(script))
    monkeypatch.setattr(toolchain_module, "PROBE_SECONDS", 0.5)
    for _ in range(3):
        with pytest.raises(CompilerNotFoundError, match=r"hangs does not work: .* within 0\.5 s"):
            find_toolchain(cache)
    assert (tmp_path / "asked").read_text() == "x\n"
    write_script(script, 'exec gcc "$@"')
    assert find_toolchain(cache).command == (str(script),)


@pytest.mark.parametrize("fault", ["Cannot allocate memory", "virtual memory exhausted", "EAGAIN"])
def test_a_fault_that_passes_is_none_of_the_compiler(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, cache: Cache, fault: str
) -> None:
    said = os.strerror(errno.EAGAIN) if fault == "EAGAIN" else fault
    script = write_script(
        tmp_path / "poor", f'[ -e "{tmp_path}/rich" ] && exec gcc "$@"; echo "cc1: {said}"; exit 1'
    )
    monkeypatch.setenv("CC", str(script))
    with pytest.raises(OSError, match=os.strerror(errno.EAGAIN) if fault == "EAGAIN" else "memory"):
        find_toolchain(cache)
    (tmp_path / "rich").touch()
    assert find_toolchain(cache).command == (str(script),)


@pytest.mark.parametrize("path", [None, ""])
def test_without_path_the_systems_own_is_used(
    monkeypatch: pytest.MonkeyPatch, cache: Cache, path: str | None
) -> None:
    """By its bare name gcc would not find its parts."""
    monkeypatch.delenv("CC", raising=False)
    monkeypatch.delenv("PATH")
    if path is not None:
        monkeypatch.setenv("PATH", path)
    library = build("int gradc_x = 1;\n", find_toolchain(cache), cache)
    assert library.stat().st_size > 0


def test_a_relative_compiler_is_found_from_any_folder(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, cache: Cache
) -> None:
    write_script(tmp_path / "mycc", 'exec gcc "$@"')
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CC", "./mycc")
    assert build("int gradc_x = 1;\n", find_toolchain(cache), cache).exists()


# ---- how much of the machine may be used

MOUNTS = """\
25 30 0:23 / /sys rw,nosuid - sysfs sysfs rw
31 25 0:27 {root} {point} rw,nosuid shared:9 - {kind} cgroup rw{options}
"""
V2, V1 = ("cgroup2", ",nsdelegate"), ("cgroup", ",cpu,cpuacct")
QUOTAS = {
    "none": (V2, "0::/a/b", "/", {"a/cpu.max": "max 100000"}, None),
    "own": (V2, "0::/a/b", "/", {"a/b/cpu.max": "200000 100000"}, 2),
    "a part counts as one": (V2, "0::/a/b", "/", {"a/b/cpu.max": "250000 100000"}, 3),
    "less than one": (V2, "0::/a", "/", {"a/cpu.max": "10000 100000"}, 1),
    "of a group around": (
        *(V2, "0::/a/b", "/"),
        *({"cpu.max": "500000 100000", "a/cpu.max": "300000 100000", "a/b/cpu.max": "max 1"}, 3),
    ),
    "in a container": (V2, "0::/", "/", {"cpu.max": "400000 100000"}, 4),
    "of what is mounted": (V2, "0::/docker/x/y", "/docker/x", {"y/cpu.max": "40000 20000"}, 2),
    "out of what is mounted": (V2, "0::/../x", "/", {"cpu.max": "400000 100000"}, 4),
    "version 1": (
        *(V1, "4:cpu,cpuacct:/a\n3:memory:/m\n0::/z", "/"),
        *({"a/cpu.cfs_quota_us": "150000", "a/cpu.cfs_period_us": "50000"}, 3),
    ),
    "version 1 without": (
        *(V1, "4:cpu,cpuacct:/a", "/"),
        *({"a/cpu.cfs_quota_us": "-1", "a/cpu.cfs_period_us": "50000"}, None),
    ),
    "nonsense": (V2, "0::/a\nx", "/", {"a/cpu.max": "what is this"}, None),
}


@pytest.mark.parametrize("name", QUOTAS)
def test_a_quota_counts_as_cores(
    name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (kind, options), groups, root, files, expected = QUOTAS[name]
    for file, text in files.items():
        (tmp_path / "mount" / file).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "mount" / file).write_text(f"{text}\n")
    (tmp_path / "cgroup").write_text(f"{groups}\n")
    mounts = MOUNTS.format(root=root, point=tmp_path / "mount", kind=kind, options=options)
    (tmp_path / "mountinfo").write_text(mounts)
    monkeypatch.setattr("gradc.runtime.cpu.PROCESS", str(tmp_path))
    monkeypatch.setattr("os.sched_getaffinity", lambda _: set(range(64)), raising=False)
    assert usable_cores() == (expected or 64)
    monkeypatch.setattr("os.sched_getaffinity", lambda _: {0}, raising=False)
    assert usable_cores() == 1
