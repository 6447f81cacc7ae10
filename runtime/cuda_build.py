"""From CUDA text to a device image, through the cache."""

from __future__ import annotations

from pathlib import Path

from .cache import Cache
from .cuda_compile import CudaCompileError, CudaCompiler
from .digest import digest
from .store import keep_failed, sound

SOURCE, IMAGE = "source.cu", "image.cubin"


def build_image(source: str, compiler: CudaCompiler, architecture: str, cache: Cache) -> bytes:
    """The image of a CUDA source: the cached one, or else compiled now."""

    def make(stage: Path) -> Path:
        (stage / SOURCE).write_bytes(source.encode())
        try:
            image = compiler.compile(stage / SOURCE, architecture)
        except CudaCompileError as error:
            kept = keep_failed(stage) / SOURCE
            raise CudaCompileError(error.compiler, kept, error.log) from error
        (stage / IMAGE).write_bytes(image)
        return stage / IMAGE

    parts = {"source": digest(source), **compiler.parts(architecture)}
    with sound(cache.fetch(parts, make)) as (_, image):
        return image
