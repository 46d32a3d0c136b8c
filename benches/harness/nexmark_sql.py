"""The Nexmark queries as SQL: q0 to q22 over the tables of `tests/sql/nexmark/schema.sql`.

A bid has no id there, and q13 joins a side input that stands beside the stream.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

import pyarrow as pa

from . import nexmark
from .contract import Settings

SQL: Final = Path(__file__).resolve().parents[2] / "tests" / "sql" / "nexmark"
SIDE_ROWS: Final = 10_000
READS: Final = {
    "nexmark_q03": ("person", "auction"),
    "nexmark_q04": ("auction", "bid"),
    "nexmark_q06": ("auction", "bid"),
    "nexmark_q08": ("person", "auction"),
    "nexmark_q09": ("auction", "bid"),
    "nexmark_q13": ("bid", "side_input"),
    "nexmark_q20": ("auction", "bid"),
}
"""The tables of each query; all others read the bids alone."""
DUCKDB_MACROS: Final = """
    CREATE MACRO date_bin(width, moment) AS time_bucket(width, moment, TIMESTAMP '1970-01-01');
    CREATE MACRO to_char(moment, pattern) AS strftime(moment, pattern);
    CREATE MACRO regexp_like(text, pattern) AS regexp_matches(text, pattern);
    CREATE MACRO regexp_match(text, pattern) AS CASE WHEN regexp_matches(text, pattern)
        THEN [regexp_extract(text, pattern, 1), regexp_extract(text, pattern, 2)] END;
"""
"""What DuckDB has under other names."""


def schema() -> str:
    """The statements that make the tables."""
    return (SQL / "schema.sql").read_text()


def query(name: str) -> str:
    """The text of a query by the name of its benchmark."""
    return (SQL / f"{name.removeprefix('nexmark_')}.sql").read_text()


def stored(name: str, settings: Settings) -> dict[str, pa.Table]:
    """The tables that a query reads; no engine is charged for the others."""
    events = nexmark.stored(settings.events, settings.data, settings.seed)
    side = pa.table({"key": range(SIDE_ROWS), "value": [f"v{key}" for key in range(SIDE_ROWS)]})
    tables = {
        "person": events.person,
        "auction": events.auction,
        "bid": events.bid.drop_columns(["id"]),
        "side_input": side,
    }
    return {table: tables[table] for table in READS.get(name, ("bid",))}
