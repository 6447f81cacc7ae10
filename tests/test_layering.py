"""The architecture, as far as the text of the tree shows it: directions, purity, house rules."""

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

# Folder -> the layers it may import, besides itself. src/gradc is the layer "gradc".
MAY_IMPORT = {
    "tracer": set(),
    "templates": set(),
    "codegen": {"tracer", "templates"},
    "runtime": {"tracer", "codegen"},
    "gradc": {"tracer", "codegen", "runtime"},
}
LAYERS = {
    name: ROOT / ("src/gradc" if name == "gradc" else name)
    for name in MAY_IMPORT
    if (ROOT / ("src/gradc" if name == "gradc" else name)).is_dir()
}
ROOTS = ("src", *(set(LAYERS) - {"gradc"}), "tests", "examples", "benchmarks", "docs", "tools")

# Pure layers touch nothing outside the process; render.py alone may read the templates.
PURE = ("tracer", "codegen", "templates")
LOADER = "codegen/render.py"
IMPURE_MODULES = {
    "asyncio",
    "cffi",
    "ctypes",
    "fcntl",
    "fileinput",
    "glob",
    "http",
    "importlib",
    "io",
    "linecache",
    "mmap",
    "multiprocessing",
    "os",
    "pathlib",
    "platform",
    "shutil",
    "signal",
    "socket",
    "sqlite3",
    "subprocess",
    "tempfile",
    "urllib",
}
IMPURE_CALLS = {"open", "input", "breakpoint", "__import__"}

MAX_FUNCTION_LINES = 50
ATTIC_NAMES = {"utils", "util", "common", "base", "misc", "helpers", "helper"}
SKIPPED_FOLDERS = {"__pycache__", "node_modules", ".hypothesis"}
MACHINE_PATH = re.compile(r"(?<![\w.])/(work|root|home)/")


def files_below(folder: Path) -> Iterator[Path]:
    for path in sorted(folder.rglob("*")):
        if path.is_file() and not SKIPPED_FOLDERS.intersection(path.parts):
            yield path


def modules(*layers: str) -> list[Path]:
    return [
        path
        for layer in layers
        if layer in LAYERS
        for path in files_below(LAYERS[layer])
        if path.suffix == ".py"
    ]


def parse(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"), str(path))


def at(path: Path, line: int = 1) -> str:
    return f"{path.relative_to(ROOT)}:{line}"


def layer_of(path: Path) -> str:
    return next(name for name, folder in LAYERS.items() if path.is_relative_to(folder))


def package_of(path: Path) -> list[str]:
    """Return the parts of the package that relative imports in this file start from."""
    layer = layer_of(path)
    inside = path.relative_to(LAYERS[layer]).parts[:-1]
    return ["gradc", *inside] if layer == "gradc" else ["gradc", layer, *inside]


def imports(path: Path) -> Iterator[tuple[int, int, str]]:
    """Yield (line, level, absolute dotted name) of everything that a file imports."""
    package = package_of(path)
    for node in ast.walk(parse(path)):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, 0, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            start = package[: len(package) + 1 - node.level] if node.level else []
            target = [*start, *(node.module.split(".") if node.module else [])]
            yield from (
                (node.lineno, node.level, ".".join([*target, alias.name])) for alias in node.names
            )


def layer_named(name: str) -> str:
    """Return the layer that an absolute name such as gradc.tracer.ir.Node belongs to."""
    second = [*name.split("."), ""][1]
    return second if second in LAYERS else "gradc"


def report(violations: list[str]) -> None:
    assert not violations, "\n" + "\n".join(violations)


def test_nothing_imports_from_a_layer_above() -> None:
    report(
        [
            f"{at(path, line)}: {layer_of(path)} must not import {name}"
            for path in modules(*LAYERS)
            for line, level, name in imports(path)
            if level and layer_named(name) not in MAY_IMPORT[layer_of(path)] | {layer_of(path)}
        ]
    )


def test_siblings_are_imported_relatively() -> None:
    report(
        [
            f"{at(path, line)}: write a relative import instead of {name}"
            for path in modules(*LAYERS)
            for line, level, name in imports(path)
            if level == 0 and name.split(".")[0] in LAYERS
        ]
    )


def test_pure_layers_import_nothing_that_reaches_outside() -> None:
    report(
        [
            f"{at(path, line)}: {layer_of(path)} must not import {name}"
            for path in modules(*PURE)
            for line, level, name in imports(path)
            if level == 0
            and name.split(".")[0] in IMPURE_MODULES
            and not (at(path, line).startswith(f"{LOADER}:") and name.startswith("importlib"))
        ]
    )


def test_pure_layers_open_nothing() -> None:
    report(
        [
            f"{at(path, node.lineno)}: {layer_of(path)} must not call {node.func.id}()"
            for path in modules(*PURE)
            for node in ast.walk(parse(path))
            if isinstance(node, ast.Call)
            and isinstance(node.func, ast.Name)
            and node.func.id in IMPURE_CALLS
        ]
    )


@pytest.mark.parametrize("name", sorted(set(LAYERS) - {"gradc"}))
def test_bare_import_from_the_checkout_fails(name: str) -> None:
    """A second copy of a module would make a second Node class."""
    command = [sys.executable, "-B", "-c", f"import {name}"]
    result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert "ImportError" in result.stderr, f"{name}/__init__.py needs a guard: import {name} works"


@pytest.mark.parametrize("name", ["templates", "tracer"])
def test_lowest_layers_carry_a_guard(name: str) -> None:
    text = (LAYERS[name] / "__init__.py").read_text(encoding="utf-8")
    assert f'if __name__ == "{name}":\n    raise ImportError(' in text


def test_functions_fit_a_screen() -> None:
    report(
        [
            f"{at(path, node.lineno)}: {node.name} has {lines} lines, limit {MAX_FUNCTION_LINES}"
            for path in modules(*LAYERS)
            for node in ast.walk(parse(path))
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
            and node.end_lineno is not None
            and (lines := node.end_lineno - node.lineno + 1) > MAX_FUNCTION_LINES
        ]
    )


def test_files_are_named_by_what_they_hold() -> None:
    report(
        [
            f"{at(path)}: name it by the noun it defines or the verb it performs"
            for root in ROOTS
            for path in files_below(ROOT / root)
            if path.name.split(".")[0].strip("_") in ATTIC_NAMES or path.parent.name in ATTIC_NAMES
        ]
    )


def test_no_text_names_a_path_of_one_machine() -> None:
    top = [path for path in ROOT.iterdir() if path.is_file()]
    found = []
    for path in [*top, *(p for r in (*ROOTS, ".ci", ".github") for p in files_below(ROOT / r))]:
        try:
            text = path.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue  # data, not text
        found += [
            f"{at(path, number)}: {line.strip()[:80]}"
            for number, line in enumerate(text.splitlines(), 1)
            if MACHINE_PATH.search(line)
        ]
    report(found)
