"""The answers of DuckDB, and how two answers are compared.

Rows are compared as a bag. Floats are compared to nine digits: sums are exact on both sides, but DuckDB's variance is
computed in an order of its own.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from functools import cache
from typing import Any

import duckdb

from .changes import Model

Bag = Counter[tuple[Any, ...]]

_TYPES = {
    "keyed": ("BIGINT", "BIGINT", "BIGINT", "DOUBLE", "VARCHAR"),
    "bag": ("BIGINT", "BIGINT", "DOUBLE", "VARCHAR"),
}
_NAMES = {"keyed": "id, a, b, f, s", "bag": "a, b, f, s"}


def ask(sql: str, model: Model) -> Bag:
    """The rows of a query over the model, which travels inside the query: one statement, and nothing to clean up."""
    tables = ", ".join(
        f"{name}({_NAMES[name]}) AS ({_values(name, rows)})" for name, rows in model.rows().items()
    )
    return bag(_duckdb().execute(f"WITH {tables} SELECT * FROM ({sql})").fetchall())


@cache
def _duckdb() -> duckdb.DuckDBPyConnection:
    connection = duckdb.connect()
    connection.execute("SET threads = 1; SET order_by_non_integer_literal = true")
    return connection


def _values(table: str, rows: list[tuple[Any, ...]]) -> str:
    """The rows with their types spelled out once, in a row that is not there."""
    types = ", ".join(f"CAST(NULL AS {name})" for name in _TYPES[table])
    lines = (f"({', '.join(_literal(value) for value in row)})" for row in rows)
    given = f" UNION ALL VALUES {', '.join(lines)}" if rows else ""
    return f"SELECT {types} WHERE false{given}"


def bag(rows: Iterable[tuple[Any, ...]]) -> Bag:
    """Rows with how often each occurs."""
    return Counter(tuple(_rounded(value) for value in row) for row in rows)


def _rounded(value: Any) -> Any:
    if isinstance(value, float):
        # The nudge takes values off the middle between two roundings, where the last bit would decide: those of simple fractions lie there.
        nudged = value * (1 + 3.14159e-11) + 2.71828e-10
        return float(f"{round(nudged, 7):.9g}") + 0.0
    return int(value) if isinstance(value, bool) else value


def _literal(value: Any) -> str:
    if value is None:
        return "NULL"
    return f"'{value}'" if isinstance(value, str) else repr(value)
