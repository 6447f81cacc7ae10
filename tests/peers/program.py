"""Programs as text: one line per operator, once in gradc's words and once in PyTorch's."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from peers import derivatives

import gradc
import gradc.functional

NAMES = {
    "np": np,
    "torch": torch,
    "T": torch.nn.functional,
    "gradc": gradc,
    "F": gradc.functional,
}
"""What the text of a program may call."""

HEADER = """\
import numpy as np
import torch
import torch.nn.functional as T

import gradc
import gradc.functional as F
from gradc.autodiff import GradManager, hvp, value_and_grad
"""


@dataclass(frozen=True)
class Step:
    """One operator: the statements of both texts give `name` what they make of `reads`.

    `exact` says that nothing was rounded so far, where numbers have few binary digits.
    """

    row: str
    name: str
    reads: tuple[str, ...]
    ours: str
    theirs: str
    exact: bool = False


@dataclass(frozen=True)
class Program:
    """Inputs, by name and as the text of a NumPy expression, steps, and the names given back.

    `way` is the function of `derivatives` by which gradc differentiates; where `kept`, all values
    are held until the end, so that the programs have to store them.
    """

    inputs: dict[str, str]
    steps: tuple[Step, ...]
    outputs: tuple[str, ...]
    dtype: str
    way: str
    kept: bool

    def arrays(self) -> list[np.ndarray[Any, Any]]:
        """The values of the inputs."""
        return [array(text).astype(self.dtype) for text in self.inputs.values()]

    def ours(self) -> str:
        """The function in gradc's words."""
        return self._function("ours", [each.ours for each in self.steps])

    def theirs(self, then: str = "") -> str:
        """The function in PyTorch's words, with a statement about `{name}` after each value."""
        after = [f"\n{then}".format(**vars(each)) if then else "" for each in self.steps]
        lines = [each.theirs + more for each, more in zip(self.steps, after, strict=True)]
        return self._function("theirs", lines)

    def _function(self, name: str, statements: list[str]) -> str:
        values = "list(locals().values())" if self.kept else f"[{', '.join(self.outputs)}]"
        lines = [line for each in [*statements, f"return {values}"] for line in each.split("\n")]
        return "\n".join([f"def {name}({', '.join(self.inputs)}):", *(f"    {x}" for x in lines)])

    def with_outputs(self, *outputs: str) -> Program:
        """What of the program is needed for `outputs`."""
        needed = set(outputs)
        steps: list[Step] = []
        for each in reversed(self.steps):
            if each.name in needed:
                needed |= {*each.reads}
                steps.insert(0, each)
        inputs = {name: text for name, text in self.inputs.items() if name in needed}
        return replace(self, inputs=inputs, steps=tuple(steps), outputs=outputs, kept=False)

    def snippet(self) -> str:
        """The whole as a script that prints how far apart the two are."""
        ways = (derivatives.weighted, getattr(derivatives, self.way), derivatives.by_torch)
        arrays = ",\n".join(f"    {text}" for text in self.inputs.values())
        return "\n\n".join(
            [
                HEADER,
                *(inspect.getsource(each) for each in (derivatives.weights, *ways)),
                f"{self.ours()}\n\n",
                f"{self.theirs()}\n\n",
                f"arrays = [\n{arrays},\n]",
                f'arrays = [each.astype("{self.dtype}") for each in arrays]',
                f"found = {self.way}(ours, arrays)",
                "expected = by_torch(theirs, arrays)",
                "for x, y in zip(found, expected, strict=True):\n"
                "    print(x.shape, x.dtype, np.abs(x - y).max(initial=0))",
            ]
        )


def array(text: str) -> np.ndarray[Any, Any]:
    """What the text of an input says."""
    made: np.ndarray[Any, Any] = eval(text, dict(NAMES))
    return made


def function(text: str, name: str, **names: Any) -> Callable[..., Any]:
    """The function `name` that the text defines."""
    space: dict[str, Any] = {**NAMES, **names}
    exec(text, space)
    made: Callable[..., Any] = space[name]
    return made
