"""What all tests share: an own build cache, device detection, golden files, Hypothesis profiles."""

from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import cffi
import pytest
from gradc.tracer.evaluator import InterpretingEvaluator, current_evaluator, set_evaluator
from hypothesis import settings

GOLDEN = Path(__file__).parent / "golden"

# "quick" is the same on every run, so that a red test is red for everybody; `deep` is for nights:
# pytest --hypothesis-profile=deep
settings.register_profile("quick", max_examples=50, deadline=None, derandomize=True)
settings.register_profile("deep", max_examples=5000, deadline=None, print_blob=True)
settings.load_profile("quick")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--renew-golden",
        action="store_true",
        help="run only the tests that use the golden fixture, and let them write their files",
    )


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.getoption("--renew-golden"):
        others = [item for item in items if "golden" not in getattr(item, "fixturenames", ())]
        config.hook.pytest_deselected(items=others)
        items[:] = [item for item in items if item not in others]
    device_tests = [item for item in items if item.get_closest_marker("cuda")]
    if device_tests and (reason := why_no_device()):
        for item in device_tests:
            item.add_marker(pytest.mark.skip(reason=reason))


@pytest.fixture
def interpreted() -> Iterator[None]:
    """Programs are interpreted with NumPy, where a compiler is not the point."""
    before = current_evaluator()
    set_evaluator(InterpretingEvaluator())
    yield
    set_evaluator(before)


@cache
def why_no_device() -> str:
    """Say why CUDA tests cannot run here; empty where they can."""
    ffi = cffi.FFI()
    ffi.cdef("int cuInit(unsigned flags); int cuDeviceGetCount(int *count);")
    try:
        driver = ffi.dlopen("libcuda.so.1")
    except OSError:
        return "no NVIDIA driver: libcuda.so.1 not found"
    if status := driver.cuInit(0):
        return f"the NVIDIA driver does not start: cuInit returned {status}"
    count = ffi.new("int *")
    driver.cuDeviceGetCount(count)
    return "" if count[0] else "the NVIDIA driver sees no device"


@pytest.fixture(scope="session", autouse=True)
def build_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Keep builds out of the user's cache: one fresh folder per run, shared by its workers."""
    base = tmp_path_factory.getbasetemp()
    if base.name.startswith("popen-"):  # a worker of pytest-xdist: its base is below the run's
        base = base.parent
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GRADC_CACHE_DIR", str(base / "gradc-cache"))
        yield base / "gradc-cache"


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Callable[..., None]:
    """Compare a text with tests/golden/<name>; under `make golden` write the file instead."""

    def compare(name: str, text: str, folder: Path = GOLDEN) -> None:
        path = folder / name
        if request.config.getoption("--renew-golden"):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        assert path.exists(), f"{folder.name}/{name} is missing: make golden"
        assert text == path.read_text(encoding="utf-8"), f"{name} changed: make golden, and read"

    return compare
