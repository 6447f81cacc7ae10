"""How long a fresh process takes to its first gradient, on a warm and on a cold cache."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from figure import Figure

FIRST_GRADIENT = """
import time
begin = time.perf_counter()
import numpy as np
numpy_there = time.perf_counter()
import gradc
gradc_there = time.perf_counter()
import gradc.functional as F
import gradc.module as M
from gradc.autodiff import GradManager
network = M.Sequential(M.Linear(256, 128), M.ReLU(), M.Linear(128, 10))
x, y = gradc.tensor(np.ones((64, 256))), gradc.tensor(np.arange(64) % 10)
with GradManager().attach(network.parameters()) as gm:
    gm.backward(F.cross_entropy(network(x), y))
gradients = [each.grad.numpy() for each in network.parameters()]
end = time.perf_counter()
import json, sys
print(json.dumps({
    "import": gradc_there - numpy_there,
    "all": end - begin,
    "modules": sorted(sys.modules),
}))
"""

WRITES_SOURCE = ("jinja2", "gradc.codegen.pipeline")
"""What is needed only where a program is written."""


def fresh(cache: Path, bytecode: Path) -> dict[str, Any]:
    """Run the script in a process of its own."""
    environment = {
        **os.environ,
        "GRADC_CACHE_DIR": str(cache),
        "PYTHONPYCACHEPREFIX": str(bytecode),  # as for a package that is installed
        "PYTHONDONTWRITEBYTECODE": "",
    }
    command = [sys.executable, "-c", FIRST_GRADIENT]
    result = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    found: dict[str, Any] = json.loads(result.stdout)
    return found


def figures() -> list[Figure]:
    """All figures of this file."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        bytecode = folder / "bytecode"
        fresh(folder / "warm", bytecode)
        cold = [fresh(folder / f"cold{number}", bytecode) for number in range(3)]
        warm = [fresh(folder / "warm", bytecode) for _ in range(9)]
    needless = [each for each in WRITES_SOURCE if each in warm[0]["modules"]]

    def median(runs: list[dict[str, Any]], part: str) -> float:
        return statistics.median(each[part] for each in runs)

    return [
        Figure("warm start: NumPy, gradc and the first gradient", median(warm, "all"), "s", 0.35),
        Figure("import gradc, above NumPy", 1000 * median(warm, "import"), "ms", 60),
        Figure("warm start: modules that only write source", len(needless), "", 0),
        Figure("cold start: the same with building", median(cold, "all"), "s", 2.5),
    ]
