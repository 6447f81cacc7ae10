"""The map of packages in pyproject.toml against the tree."""

import importlib
import tomllib
from collections.abc import Iterator
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[1]


def read_setuptools_table() -> dict[str, Any]:
    with (ROOT / "pyproject.toml").open("rb") as file:
        return tomllib.load(file)["tool"]["setuptools"]


SETUPTOOLS = read_setuptools_table()
# The longest names first: gradc.tracer stands in tracer/, not in src/gradc/tracer.
FOLDERS = {name: ROOT / folder for name, folder in SETUPTOOLS["package-dir"].items()}


def packages_in_tree() -> Iterator[tuple[str, Path]]:
    """Yield the dotted name and the folder of everything that holds files."""
    for name, top in FOLDERS.items():
        for folder in [top, *(path for path in sorted(top.rglob("*")) if path.is_dir())]:
            if "__pycache__" not in folder.parts and any(p.is_file() for p in folder.iterdir()):
                yield ".".join([name, *folder.relative_to(top).parts]), folder


TREE = dict(packages_in_tree())


def test_every_folder_is_listed() -> None:
    missing = sorted(set(TREE) - set(SETUPTOOLS["packages"]))
    assert not missing, f"add to [tool.setuptools] packages in pyproject.toml: {missing}"


def test_every_listed_package_exists() -> None:
    stale = sorted(set(SETUPTOOLS["packages"]) - set(TREE))
    assert not stale, f"remove from [tool.setuptools] packages in pyproject.toml: {stale}"


@pytest.mark.parametrize("name", sorted(TREE))
def test_folder_has_an_init(name: str) -> None:
    assert (TREE[name] / "__init__.py").is_file(), f"{TREE[name].relative_to(ROOT)}/__init__.py"


@pytest.mark.parametrize("name", sorted(TREE))
def test_data_files_are_packaged(name: str) -> None:
    data = SETUPTOOLS["package-data"]
    patterns = [*data.get("*", []), *data.get(name, [])]
    forgotten = [
        str(path.relative_to(ROOT))
        for path in sorted(TREE[name].iterdir())
        if path.is_file()
        and path.suffix != ".py"
        and not any(fnmatch(path.name, pattern) for pattern in patterns)
    ]
    assert not forgotten, f"no pattern in [tool.setuptools.package-data] covers {forgotten}"


@pytest.mark.parametrize("name", sorted(TREE))
def test_package_imports_from_this_tree(name: str) -> None:
    """The tests are about the tree they stand in, not about another installed copy."""
    module = importlib.import_module(name)
    assert module.__file__ is not None
    assert Path(module.__file__).resolve().parent == TREE[name].resolve()
