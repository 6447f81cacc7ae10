"""What the CUDA tests run on."""

import pytest
from cuda_stand_in import why_unavailable
from cuda_stand_in.targets import Target, device_target, stand_in_target


@pytest.fixture(scope="session")
def stand_in() -> Target:
    if reason := why_unavailable():
        pytest.skip(reason)
    return stand_in_target()


@pytest.fixture(
    scope="session", params=["stand_in", pytest.param("device", marks=pytest.mark.cuda)]
)
def target(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Target:
    if request.param == "device":
        return device_target(tmp_path_factory.mktemp("device"))
    return request.getfixturevalue("stand_in")
