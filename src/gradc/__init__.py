"""A symbolic graph compiler for gradients: record, differentiate, compile to C or CUDA, run."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from . import autodiff, evaluator, forks, functional, numpy_protocol, random
from ._version import __version__
from .generator import manual_seed
from .tracer.dtypes import bfloat16
from .tracer.no_grad import no_grad
from .tracer.recording import set_default_dtype
from .tracer.tensor import Parameter, Tensor, from_numpy, tensor

if TYPE_CHECKING:
    from . import amp, jit, module, optimizer
    from .runtime.program import programs
    from .runtime.support import get_num_threads, set_num_threads

evaluator.install()
forks.install()
numpy_protocol.install()

# What is imported when it is first asked for: the module that it is, or that it stands in.
_LATER = {
    "amp": ".amp",
    "get_num_threads": ".runtime.support",
    "jit": ".jit",
    "module": ".module",
    "optimizer": ".optimizer",
    "programs": ".runtime.program",
    "set_num_threads": ".runtime.support",
}

__all__ = [
    "Parameter",
    "Tensor",
    "__version__",
    "amp",
    "autodiff",
    "bfloat16",
    "from_numpy",
    "functional",
    "get_num_threads",
    "jit",
    "manual_seed",
    "module",
    "no_grad",
    "optimizer",
    "programs",
    "random",
    "set_default_dtype",
    "set_num_threads",
    "tensor",
]


def __getattr__(name: str) -> Any:
    if name not in _LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = import_module(_LATER[name], __name__)
    return found if _LATER[name] == f".{name}" else getattr(found, name)


def __dir__() -> list[str]:
    return sorted({*globals(), *_LATER})
