"""Writes the expected rows of queries that have none: `python -m slt.complete FILE...` from `tests/python`.

Promises: expectations come from DuckDB alone. A query stands in the file as `query` without types and `----`; it gets both. What
DuckDB refuses is reported and left as it is. Queries with an expectation are not touched.
"""

from __future__ import annotations

import sys
from decimal import Decimal
from pathlib import Path

import duckdb

from .answers import Row, lines, rendered
from .parse import blocks, parse
from .session import attempt, peer


def completed(text: str) -> tuple[str, list[str]]:
    """The text with all expectations, and what DuckDB refused."""
    engine, complaints, out = peer(), [], []
    for line, block in blocks(text):
        bare = block.index("query") if "query" in block and "----" not in block else None
        if bare is None:
            for record in parse("\n".join(block)):
                told = (
                    attempt(lambda record=record: engine.execute(record.sql))
                    if "duckdb" not in record.skips
                    else ""
                )
                if bool(told) != (record.kind == "error"):
                    complaints.append(f"line {line}: {told or 'no error'}")
            out.append("\n".join(block))
            continue
        try:
            out.append("\n".join([*block[:bare], *answered(engine, "\n".join(block[bare + 1 :]))]))
        except duckdb.Error as error:
            complaints.append(f"line {line}: {error}")
            out.append("\n".join(block))
    return "\n\n".join(out) + "\n", complaints


def answered(engine: duckdb.DuckDBPyConnection, sql: str) -> list[str]:
    """The query's record; rows of a query that orders them keep their order."""
    rows = engine.execute(sql).fetchall()
    types = "".join(kind(engine, rows, place) for place in range(len(engine.description or ())))
    ordered = "ORDER BY" in sql.rsplit(")", 1)[-1].upper()
    sort = "nosort" if ordered else "rowsort"
    return [f"query {types} {sort}", *sql.splitlines(), "----", *lines(rendered(rows, types, sort))]


def kind(engine: duckdb.DuckDBPyConnection, rows: list[Row], place: int) -> str:
    """The letter of a column, by its values."""
    values = [row[place] for row in rows if row[place] is not None]
    if values and all(isinstance(value, int) and not isinstance(value, bool) for value in values):
        return "I"
    return "R" if values and all(isinstance(value, (float, Decimal)) for value in values) else "T"


if __name__ == "__main__":
    for argument in sys.argv[1:]:
        path = Path(argument)
        text, complaints = completed(path.read_text())
        path.write_text(text)
        for complaint in complaints:
            sys.stderr.write(f"{path.name}: {complaint}\n")
