"""A symbolic graph compiler for gradients: record, differentiate, compile to C or CUDA, run."""

from . import autodiff, functional
from ._version import __version__
from .tracer.dtypes import bfloat16
from .tracer.no_grad import no_grad
from .tracer.recording import set_default_dtype
from .tracer.tensor import Parameter, Tensor, from_numpy, tensor

# The runtime takes the evaluator's place here; until it does, NumPy answers.

__all__ = [
    "Parameter",
    "Tensor",
    "__version__",
    "autodiff",
    "bfloat16",
    "from_numpy",
    "functional",
    "no_grad",
    "set_default_dtype",
    "tensor",
]
