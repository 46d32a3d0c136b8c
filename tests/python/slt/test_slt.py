"""Every `.slt` file under `tests/sql/slt`: as statements, as views on a random road, against the file and against DuckDB.

What does not behave yet stands in `tests/sql/slt/failing`, each record with its reason; a record there that behaves fails the run, so
that it is moved to where it belongs.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest

from .parse import Record, read
from .session import failures

FILES = Path(__file__).parents[2] / "sql" / "slt"


@pytest.mark.parametrize("path", sorted(FILES.glob("*.slt")), ids=lambda path: path.stem)
def test_file(path: Path) -> None:
    found = failures(read(path))
    assert not found, "\n".join(f"{path.name}:{line}: {reason}" for line, reason in found.items())


def failing() -> list[object]:
    """Each marked record, by its file and line."""
    cases: list[object] = []
    for path in sorted((FILES / "failing").glob("*.slt")):
        for record in read(path):
            if record.xfail:
                mark = pytest.mark.xfail(reason=record.xfail, strict=True, raises=AssertionError)
                cases.append(pytest.param(path, record, marks=mark, id=f"{path.stem}-{record.line}"))
    return cases


@cache
def failing_queries(path: Path) -> dict[int, str]:
    """Queries change nothing, so one run after the file's statements does for all of them."""
    return failures([record for record in read(path) if record.is_query or not record.xfail])


def failing_statement(path: Path, record: Record) -> dict[int, str]:
    """A statement alone after those that behave: what it wrongly changes must not be held against another."""
    return failures([*(other for other in read(path) if not other.is_query and not other.xfail), record])


@pytest.mark.parametrize(("path", "record"), failing())
def test_failing(path: Path, record: Record) -> None:
    found = failing_queries(path) if record.is_query else failing_statement(path, record)
    assert record.line not in found, found[record.line]
