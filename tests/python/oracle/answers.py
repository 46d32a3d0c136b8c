"""The answers of DuckDB, and how two answers are compared.

Rows are compared as a bag. Floats are compared to nine digits: sums are exact on both sides, but DuckDB's variance is
computed in an order of its own.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

import duckdb

from .changes import Model

Bag = Counter[tuple[Any, ...]]

_COLUMNS = "a BIGINT, b BIGINT, f DOUBLE, s VARCHAR"


class DuckDB:
    """A database that holds the model and is asked from scratch."""

    def __init__(self) -> None:
        self._connection = duckdb.connect()
        self._connection.execute("SET threads = 1; SET order_by_non_integer_literal = true")
        self._connection.execute(f"CREATE TABLE keyed (id BIGINT, {_COLUMNS}); CREATE TABLE bag ({_COLUMNS})")

    def load(self, model: Model) -> None:
        """Replace what the tables hold."""
        for table, rows in model.rows().items():
            self._connection.execute(f"DELETE FROM {table}")
            if rows:
                values = ", ".join(f"({', '.join(_literal(value) for value in row)})" for row in rows)
                self._connection.execute(f"INSERT INTO {table} VALUES {values}")

    def ask(self, sql: str) -> Bag:
        """The rows of a query."""
        return bag(self._connection.execute(sql).fetchall())

    def close(self) -> None:
        """Forget it all."""
        self._connection.close()


def bag(rows: Iterable[tuple[Any, ...]]) -> Bag:
    """Rows with how often each occurs."""
    return Counter(tuple(_rounded(value) for value in row) for row in rows)


def _rounded(value: Any) -> Any:
    if isinstance(value, float):
        return float(f"{round(value, 7):.9g}") + 0.0
    return int(value) if isinstance(value, bool) else value


def _literal(value: Any) -> str:
    if value is None:
        return "NULL"
    return f"'{value}'" if isinstance(value, str) else repr(value)
