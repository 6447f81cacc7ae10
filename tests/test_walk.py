"""Walks of tables in tests."""

import pytest
from walk import walk

SEEN: list[tuple[int, int]] = []


@walk("x", [1, 2])
@walk("y", [3, 4])
def test_rows_of_stacked_walks_are_multiplied(x: int, y: int) -> None:
    SEEN.append((x, y))


def test_every_row_was_seen_once() -> None:
    rows = SEEN[:]
    SEEN.clear()
    test_rows_of_stacked_walks_are_multiplied()
    assert SEEN == [(1, 3), (1, 4), (2, 3), (2, 4)]
    assert rows in ([], SEEN)


@pytest.fixture
def limit() -> int:
    return 2


def test_all_rows_that_fail_are_named() -> None:
    @walk(("x", "name"), [(1, "one"), (2, "two"), (3, "three"), (4, "four")])
    def small(limit: int, x: int, name: str) -> None:
        if x == 4:
            with pytest.raises(ValueError, match="never"):
                pass
        assert x < limit, name

    with pytest.raises(BaseExceptionGroup, match="3 of 4 rows fail") as caught:
        small(limit=2)
    notes = [each.__notes__ for each in caught.value.exceptions]
    assert notes == [["row: 2, 'two'"], ["row: 3, 'three'"], ["row: 4, 'four'"]]


@walk("x", [0, 1])
def test_fixtures_are_handed_on(x: int, limit: int) -> None:
    assert x < limit
