"""How much memory a long chain of elementwise operators takes, in a process of its own (Linux)."""

from __future__ import annotations

import json
import subprocess
import sys

from figure import Figure

BUFFER = 40_000_000

CHAIN = f"""
import json
from pathlib import Path
import numpy as np
import gradc
import gradc.functional as F
from gradc.autodiff import GradManager

def resident(what):
    lines = Path("/proc/self/status").read_text().splitlines()
    return 1024 * int(next(each for each in lines if each.startswith(what)).split()[1])

def chain(x):
    for _ in range(25):
        x = F.sin(x) * 1.01
    return x

def gradient(x):
    with GradManager().attach(x) as gm:
        gm.backward(chain(x))
    return x.grad

gradient(gradc.Parameter(np.ones({BUFFER // 8}, np.float32)))  # the libraries are loaded
x = gradc.Parameter(np.ones({BUFFER // 4}, np.float32))
found = {{}}
for name, function in [("chain", chain), ("gradient", gradient)]:
    Path("/proc/self/clear_refs").write_text("5")  # the peak is counted from here
    before = resident("VmRSS")
    made = function(x)
    made.numpy()
    program = gradc.programs()[-1]
    grown = resident("VmHWM") - before
    found[name] = [program._manifest.arena, sum(program._manifest.outputs), grown]
    made = x.grad = None
print(json.dumps(found))
"""


def figures() -> list[Figure]:
    """All figures of this file."""
    if sys.platform != "linux":
        return []
    command = [sys.executable, "-c", CHAIN]
    result = subprocess.run(command, capture_output=True, text=True, check=True)
    made = []
    for name, (arena, outputs, grown) in json.loads(result.stdout).items():
        title = "a chain of 50 operators" if name == "chain" else "its gradient"
        made += [
            Figure(f"{title}: arena", arena / BUFFER, "buffers", 3),
            Figure(f"{title}: arena and outputs", (arena + outputs) / BUFFER, "buffers", 3),
            Figure(f"{title}: growth of the process", grown / BUFFER, "buffers", 3),
        ]
    return made
