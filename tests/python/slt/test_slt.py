"""Every `.slt` file under `tests/sql/slt`: as statements, as views on a random road, against the file and against DuckDB.

What does not behave yet stands in `tests/sql/slt/failing`, each record with its reason; a record there that behaves fails the run, so
that it is moved to where it belongs.
"""

from __future__ import annotations

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
    """Each marked record with the statements before it."""
    cases: list[object] = []
    for path in sorted((FILES / "failing").glob("*.slt")):
        records = read(path)
        for place, record in enumerate(records):
            if record.xfail:
                before = [other for other in records[:place] if not other.xfail]
                mark = pytest.mark.xfail(reason=record.xfail, strict=True, raises=AssertionError)
                cases.append(pytest.param([*before, record], marks=mark, id=f"{path.stem}-{record.line}"))
    return cases


@pytest.mark.parametrize("records", failing())
def test_failing(records: list[Record]) -> None:
    found = failures(records)
    assert records[-1].line not in found, found[records[-1].line]
