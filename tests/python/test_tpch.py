"""TPC-H with refresh streams: all 22 queries as views, equal to DuckDB after every step.

The views are made on empty tables. The road: the small tables, orders with their lines in parts, then refreshes (orders with their
lines go and come back, rows of every other table are changed and changed back), and at the end every table is emptied of half its rows.

The scale factor is 0.1 (600,000 lines), half a minute of one core with the development build; `TAILRACE_TPCH_SCALE=1` takes another one.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from shutil import which
from sys import executable

import duckdb
import pyarrow as pa
import pytest

import tailrace as tr

from .slt.answers import difference

SQL = Path(__file__).parents[1] / "sql" / "tpch"
QUERIES = sorted(SQL.glob("q*.sql"))
SCALE = os.environ.get("TAILRACE_TPCH_SCALE", "0.1")
GENERATOR = which("tpchgen-cli", path=str(Path(executable).parent)) or which("tpchgen-cli")
KEYS = {
    "region": ["r_regionkey"],
    "nation": ["n_nationkey"],
    "supplier": ["s_suppkey"],
    "part": ["p_partkey"],
    "partsupp": ["ps_partkey", "ps_suppkey"],
    "customer": ["c_custkey"],
    "orders": ["o_orderkey"],
    "lineitem": ["l_orderkey", "l_linenumber"],
}
SMALL = [table for table in KEYS if table not in {"orders", "lineitem"}]


class Twins:
    """The same tables in both engines, changed together."""

    def __init__(self, data: Path) -> None:
        self.ours, self.theirs, self.data = tr.connect(), duckdb.connect(), data
        schema = (SQL / "schema.sql").read_text()
        self.ours.execute(schema)
        self.theirs.execute(schema)

    def rows(self, sql: str) -> pa.Table:
        return self.theirs.sql(sql).to_arrow_table()

    def stored(self, table: str, where: str = "true") -> pa.Table:
        """Rows of the generated data."""
        columns = ", ".join(row[0] for row in self.theirs.execute(f"DESCRIBE {table}").fetchall())
        return self.rows(f"SELECT {columns} FROM '{self.data}/{table}.parquet' WHERE {where}")

    def typed(self, table: str, rows: pa.Table) -> pa.Table:
        """Computed rows in the types of their table."""
        return rows.cast(self.rows(f"SELECT * FROM {table} LIMIT 0").schema)

    def apply(self, upserts: dict[str, pa.Table], deletes: dict[str, str] | None = None) -> None:
        """One step: rows that are put in place of those with the same key, and conditions on rows that go."""
        batch = tr.Batch()
        for table, where in (deletes or {}).items():
            keys = self.rows(f"SELECT {', '.join(KEYS[table])} FROM {table} WHERE {where}").to_pylist()
            batch.delete(
                table, [next(iter(key.values())) if len(key) == 1 else tuple(key.values()) for key in keys]
            )
            self.theirs.execute(f"DELETE FROM {table} WHERE {where}")
        for table, rows in upserts.items():
            batch.upsert(table, rows)
            self.theirs.register("incoming", rows)
            self.theirs.execute(f"INSERT OR REPLACE INTO {table} SELECT * FROM incoming")
            self.theirs.unregister("incoming")
        self.ours.apply(batch)

    def orders(self, where: str) -> dict[str, pa.Table]:
        """Generated orders with their lines."""
        return {
            "orders": self.stored("orders", where.format(key="o_orderkey")),
            "lineitem": self.stored("lineitem", where.format(key="l_orderkey")),
        }


def load(twins: Twins) -> Iterator[str]:
    """From empty tables to the generated data."""
    yield "empty"
    twins.apply(twins.orders("{key} % 10 < 4"))
    yield "orders without anything else"
    twins.apply({table: twins.stored(table) for table in SMALL})
    yield "the small tables"
    twins.apply(twins.orders("{key} % 10 BETWEEN 4 AND 8"))
    yield "more orders"
    twins.apply(twins.orders("{key} % 10 = 9"))
    yield "all orders"


def refresh(twins: Twins) -> Iterator[str]:
    """The refresh streams, there and back."""
    gone = "{key} % 7 = 3"
    keys = {"orders": gone.format(key="o_orderkey"), "lineitem": gone.format(key="l_orderkey")}
    twins.apply({}, keys)
    yield "orders deleted"
    twins.apply(
        twins.orders("{key} % 7 = 3"), {"orders": "o_orderkey % 50 = 1", "lineitem": "l_orderkey % 50 = 1"}
    )
    yield "others deleted, the first ones back"
    twins.apply({table: twins.typed(table, twins.rows(sql)) for table, sql in changed().items()})
    yield "rows of every table changed"
    twins.apply({table: twins.stored(table) for table in SMALL})
    yield "the small tables changed back"
    twins.apply({}, {table: f"{keys[0]} % 2 = 0" for table, keys in KEYS.items()})
    yield "half of everything gone"


def changed() -> dict[str, str]:
    """New versions of some rows of each table; columns that the queries join, filter, group and sum."""
    return {
        "nation": "SELECT * REPLACE ((n_regionkey + 1) % 5 AS n_regionkey) FROM nation WHERE n_nationkey % 6 = 0",
        "region": "SELECT * REPLACE (CASE r_name WHEN 'ASIA' THEN 'EUROPE' ELSE 'ASIA' END AS r_name) FROM region"
        " WHERE r_name IN ('ASIA', 'EUROPE')",
        "supplier": "SELECT * REPLACE ((s_nationkey + 3) % 25 AS s_nationkey, 'Customer Complaints' AS s_comment)"
        " FROM supplier WHERE s_suppkey % 9 = 0",
        "part": "SELECT * REPLACE (15 AS p_size, 'PROMO BRUSHED BRASS' AS p_type, 'forest green' AS p_name)"
        " FROM part WHERE p_partkey % 11 = 0",
        "partsupp": "SELECT * REPLACE (CAST(ps_supplycost * 2 AS DECIMAL(15, 2)) AS ps_supplycost, ps_availqty * 3 AS ps_availqty)"
        " FROM partsupp WHERE ps_partkey % 5 = 0",
        "customer": "SELECT * REPLACE ('BUILDING' AS c_mktsegment, -c_acctbal AS c_acctbal,"
        " (c_nationkey + 1) % 25 AS c_nationkey) FROM customer WHERE c_custkey % 4 = 0",
        "orders": "SELECT * REPLACE (o_orderdate + 40 AS o_orderdate, 'special requests' AS o_comment)"
        " FROM orders WHERE o_orderkey % 13 = 0",
        "lineitem": "SELECT * REPLACE (l_quantity + 60 AS l_quantity, l_receiptdate + 30 AS l_receiptdate,"
        " CAST(0.06 AS DECIMAL(15, 2)) AS l_discount)"
        " FROM lineitem WHERE l_orderkey % 17 = 0",
    }


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The generated tables as Parquet files."""
    directory = tmp_path_factory.mktemp("tpch")
    assert GENERATOR is not None, "tpchgen-cli is missing: requirements/dev.txt names it"
    subprocess.run(
        [GENERATOR, "parquet", "-s", SCALE, "--output-dir", str(directory)], check=True, capture_output=True
    )
    return directory


def compare(twins: Twins, view: str, sql: str, when: str) -> None:
    table = twins.ours.view(view).snapshot()
    got = list(zip(*(column.to_pylist() for column in table.columns), strict=True))
    assert not difference(got, twins.theirs.execute(sql).fetchall()), (view, when)


def test_all_queries_follow_duckdb(data: Path) -> None:
    twins = Twins(data)
    queries = {path.stem: path.read_text() for path in QUERIES}
    assert len(queries) == 22
    for name, sql in queries.items():
        twins.ours.create_view(name, sql)
    for road in (load, refresh):
        for when in road(twins):
            for name, sql in queries.items():
                compare(twins, name, sql, when)
    for name, sql in queries.items():
        asked = twins.ours.execute(sql).fetchall()
        assert not difference(asked, twins.theirs.execute(sql).fetchall()), name
