"""Nexmark: every query as a view on a stream of events that also takes some back, equal to DuckDB after every step.

DuckDB has four of the functions under other names; macros give it ours.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.compute as pc
import pytest

import tailrace as tr
from harness.nexmark import generate

from .slt.answers import difference

SQL = Path(__file__).parents[1] / "sql" / "nexmark"
EVENTS = 3_000
START_US = 1_436_918_400_000_000
SLOWER = 150
TABLES = ("person", "auction", "bid", "side_input")
KEYED = ("person", "auction", "side_input")
MACROS = """
    CREATE MACRO date_bin(width, moment) AS time_bucket(width, moment, TIMESTAMP '1970-01-01');
    CREATE MACRO to_char(moment, pattern) AS strftime(moment, pattern);
    CREATE MACRO regexp_like(text, pattern) AS regexp_matches(text, pattern);
    CREATE MACRO regexp_match(text, pattern) AS CASE WHEN regexp_matches(text, pattern)
        THEN [regexp_extract(text, pattern, 1), regexp_extract(text, pattern, 2)] END;
"""


def events() -> dict[str, pa.Table]:
    """The tables that the schema names, slowed down so that few events fill several windows; side input for some of the bids."""
    made = generate(EVENTS, seed=7)
    side = pa.table({"key": pa.array(range(1000, 1100), pa.int64()), "value": [f"v{i}" for i in range(100)]})
    bid = made.bid.drop_columns(["id"])
    return {
        "person": slowed(made.person),
        "auction": slowed(made.auction),
        "bid": slowed(bid),
        "side_input": side,
    }


def slowed(rows: pa.Table) -> pa.Table:
    """The rows with all their times later by the same factor."""
    for name in ("date_time", "expires"):
        if name in rows.column_names:
            ticks = pc.subtract(rows.column(name).cast(pa.int64()), START_US)
            moments = pc.add(pc.multiply(ticks, SLOWER), START_US).cast(pa.timestamp("us"))
            rows = rows.set_column(rows.column_names.index(name), name, moments)
    return rows


class Stream:
    """Both engines, fed with the same events."""

    def __init__(self, query: str) -> None:
        self.ours, self.theirs, self.query, self.tables = tr.connect(), duckdb.connect(), query, events()
        schema = (SQL / "schema.sql").read_text()
        self.ours.execute(schema)
        self.theirs.execute(schema)
        self.theirs.execute(MACROS)
        self.view = self.ours.create_view("checked", query)

    def steps(self) -> Iterator[str]:
        """Thirds of all tables in turn, then some of the events taken back and sent again."""
        yield self.change(tr.Batch(), "nothing")
        for part in range(3):
            yield self.change(
                self.insert(tr.Batch(), {name: third(rows, part) for name, rows in self.tables.items()}),
                f"{part}",
            )
        taken = {
            name: rows.slice(rows.num_rows // 4, rows.num_rows // 5) for name, rows in self.tables.items()
        }
        yield self.change(self.delete(tr.Batch(), taken), "some taken back")
        some = {name: rows.slice(0, rows.num_rows // 2) for name, rows in taken.items()}
        yield self.change(self.insert(tr.Batch(), some), "some of them sent again")

    def insert(self, batch: tr.Batch, parts: dict[str, pa.Table]) -> tr.Batch:
        for name, rows in parts.items():
            batch.insert(name, rows)
            self.theirs.register("incoming", rows)
            self.theirs.execute(f"INSERT INTO {name} SELECT * FROM incoming")
            self.theirs.unregister("incoming")
        return batch

    def delete(self, batch: tr.Batch, parts: dict[str, pa.Table]) -> tr.Batch:
        """Events have a time of their own or an id, so that DuckDB finds them by it."""
        for name, rows in parts.items():
            key = self.tables[name].column_names[0] if name in KEYED else "date_time"
            batch.delete(name, rows.column(key).to_pylist() if name in KEYED else rows.to_pylist())
            self.theirs.register("leaving", rows)
            self.theirs.execute(f"DELETE FROM {name} WHERE {key} IN (SELECT {key} FROM leaving)")
            self.theirs.unregister("leaving")
        return batch

    def change(self, batch: tr.Batch, when: str) -> str:
        self.ours.apply(batch)
        return when

    def check(self, when: str) -> int:
        """How many rows the view has, if they are DuckDB's."""
        table = self.view.snapshot()
        got = list(zip(*(column.to_pylist() for column in table.columns), strict=True))
        assert not difference(got, self.theirs.execute(self.query).fetchall()), when
        return len(got)


def third(rows: pa.Table, part: int) -> pa.Table:
    size = -(-rows.num_rows // 3)
    return rows.slice(part * size, size)


def cases() -> list[object]:
    found: list[object] = []
    for path in sorted(SQL.glob("q*.sql")):
        found.append(pytest.param(path.read_text(), id=path.stem))
    return found


@pytest.mark.parametrize("query", cases())
def test_query_follows_duckdb(query: str) -> None:
    stream = Stream(query)
    sizes = [stream.check(when) for when in stream.steps()]
    assert max(sizes) > 0, "a query without rows shows nothing"
