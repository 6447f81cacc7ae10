"""Tests that walk a table: one collected item that tries every row, and names all that fail."""

import functools
import inspect
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import pytest

Test = Callable[..., None]
FAILURES = (Exception, pytest.fail.Exception)
"""What a row may fail with; an interrupt and a skip end the whole walk."""


def walk(
    names: str | Sequence[str], rows: Iterable[Any], ids: Callable[[Any], str] = repr
) -> Callable[[Test], Test]:
    """Call the test once for each of `rows`, as `pytest.mark.parametrize` would, in one item.

    The rows share the fixtures of the item, so this is for tests that leave nothing behind. Walks
    can be stacked: they then walk the product of their tables.
    """
    arguments = [each.strip() for each in names.split(",")] if isinstance(names, str) else [*names]
    table = [(row,) if len(arguments) == 1 else tuple(row) for row in rows]
    assert table, f"no rows for {names}"

    def decorate(test: Test) -> Test:
        @functools.wraps(test)
        def walked(*args: Any, **fixtures: Any) -> None:
            failed: list[BaseException] = []
            for row in table:
                try:
                    test(*args, **fixtures, **dict(zip(arguments, row, strict=True)))
                except FAILURES as error:
                    error.add_note("row: " + ", ".join(map(ids, row)))
                    failed.append(error)
            if failed:
                raise BaseExceptionGroup(f"{len(failed)} of {len(table)} rows fail", failed)

        signature = inspect.signature(test)
        kept = [each for name, each in signature.parameters.items() if name not in arguments]
        walked.__signature__ = signature.replace(parameters=kept)  # type: ignore[attr-defined]
        return walked

    return decorate
