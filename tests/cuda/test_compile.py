"""The compilers of device images. None of them needs a device."""

import subprocess
import sys
from pathlib import Path

import pytest
from cuda_stand_in.targets import KERNELS, PRELUDE, kernel_source
from gradc.runtime import cuda_compile
from gradc.runtime.cache import Cache
from gradc.runtime.cuda_build import build_image
from gradc.runtime.cuda_compile import (
    CudaCompileError,
    CudaCompiler,
    CudaCompilerMissingError,
    Nvcc,
    find_compiler,
)
from gradc.runtime.cuda_nvrtc import Nvrtc, NvrtcError

SOURCES = sorted(path.stem for path in KERNELS.glob("*.cu"))
ELF = b"\x7fELF"


def find_nvrtc() -> Nvrtc:
    return Nvrtc.find() or pytest.skip("no NVRTC: neither its wheel nor the system's library")


def find_nvcc() -> Nvcc:
    return Nvcc.find() or pytest.skip("no nvcc on PATH")


@pytest.fixture(params=[find_nvrtc, find_nvcc], ids=["nvrtc", "nvcc"])
def compiler(request: pytest.FixtureRequest) -> CudaCompiler:
    return request.param()


def write(folder: Path, text: str) -> Path:
    path = folder / "source.cu"
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize("name", SOURCES)
@pytest.mark.parametrize("architecture", ["sm_75", "sm_90"])
def test_kernels_become_cubins(
    compiler: CudaCompiler, tmp_path: Path, name: str, architecture: str
) -> None:
    path = write(tmp_path, kernel_source(name))
    assert compiler.compile(path, architecture).startswith(ELF)


def test_images_are_reproducible(compiler: CudaCompiler, tmp_path: Path) -> None:
    path = write(tmp_path, kernel_source("scatter"))
    assert compiler.compile(path, "sm_80") == compiler.compile(path, "sm_80")


def test_a_rejected_source_is_reported_with_its_log(compiler: CudaCompiler, tmp_path: Path) -> None:
    path = write(tmp_path, "int function() { return unknown_name; }")
    with pytest.raises(CudaCompileError, match="unknown_name") as caught:
        compiler.compile(path, "sm_80")
    assert caught.value.source_path == path
    assert "unknown_name" in caught.value.log


def test_key_parts_name_all_that_an_image_depends_on(compiler: CudaCompiler) -> None:
    parts = compiler.parts("sm_90")
    assert compiler.version == parts["compiler"]
    assert parts["machine"] == "sm_90"
    assert "--fmad=false" in parts["flags"]


def test_an_image_is_compiled_once(compiler: CudaCompiler, tmp_path: Path) -> None:
    cache, source = Cache(tmp_path), kernel_source("scatter")
    image = build_image(source, compiler, "sm_90", cache)
    assert image.startswith(ELF)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(type(compiler), "compile", None)
        assert build_image(source, compiler, "sm_90", cache) == image
    assert len(cache.entries()) == 1
    build_image(source, compiler, "sm_80", cache)
    assert len(cache.entries()) == 2


def test_a_source_that_is_rejected_while_building_is_kept(
    compiler: CudaCompiler, tmp_path: Path
) -> None:
    with pytest.raises(CudaCompileError, match="unknown_name") as caught:
        build_image("int x = unknown_name;", compiler, "sm_90", Cache(tmp_path))
    assert caught.value.source_path.read_text(encoding="utf-8") == "int x = unknown_name;"


@pytest.mark.parametrize("architecture", ["sm_75", "sm_90"])
@pytest.mark.parametrize("name", ["", *SOURCES])
def test_the_prelude_gives_no_warnings_alone_or_used(
    tmp_path: Path, name: str, architecture: str
) -> None:
    source = write(tmp_path, kernel_source(name)) if name else PRELUDE
    command = [
        *(find_nvcc().path, "-x", "cu", "-cubin", "-std=c++17", f"-arch={architecture}"),
        *("-Werror", "all-warnings", str(source), "-o", str(tmp_path / "prelude.cubin")),
    ]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr


def test_a_device_newer_than_nvrtc_gets_ptx(tmp_path: Path) -> None:
    nvrtc = find_nvrtc()
    image = nvrtc.compile(write(tmp_path, kernel_source("arithmetic")), "sm_999")
    assert b".version" in image
    assert image.endswith(b"\0")
    assert nvrtc.parts("sm_999")["machine"].startswith("compute_")


def test_a_device_older_than_nvrtc_is_refused(tmp_path: Path) -> None:
    with pytest.raises(NvrtcError, match=r"and newer, the device is sm_20.*gradc\[cuda12\]"):
        find_nvrtc().compile(write(tmp_path, ""), "sm_20")


def test_without_a_compiler_the_error_says_how_to_get_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Nvrtc, "find", classmethod(lambda cls: None))
    monkeypatch.setattr(cuda_compile.shutil, "which", lambda name: None)
    with pytest.raises(CudaCompilerMissingError, match=r"pip install 'gradc\[cuda13\]'"):
        find_compiler()


def test_nvrtc_is_preferred(monkeypatch: pytest.MonkeyPatch) -> None:
    nvrtc = find_nvrtc()
    monkeypatch.setattr(Nvrtc, "find", classmethod(lambda cls: nvrtc))
    assert find_compiler() is nvrtc


def test_nvcc_is_the_fallback(monkeypatch: pytest.MonkeyPatch) -> None:
    nvcc = find_nvcc()
    monkeypatch.setattr(Nvrtc, "find", classmethod(lambda cls: None))
    found = find_compiler()
    assert isinstance(found, Nvcc)
    assert found.path == nvcc.path


def test_gradc_starts_without_the_cuda_layer() -> None:
    statement = "import gradc, sys; print([m for m in sys.modules if 'cuda' in m])"
    result = subprocess.run(
        [sys.executable, "-c", statement], capture_output=True, text=True, check=True
    )
    assert result.stdout.strip() == "[]"
