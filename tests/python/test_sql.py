"""SQL through the package, against DuckDB: the same statements, the same rows, live and once."""

from __future__ import annotations

from collections import Counter
from datetime import datetime
from decimal import Decimal
from typing import Any

import duckdb
import polars as pl
import pyarrow as pa
import pytest

import tailrace as tr

TABLES = """
    CREATE TABLE customer (id BIGINT PRIMARY KEY, name VARCHAR NOT NULL, city VARCHAR, born DATE);
    CREATE TABLE sale (id BIGINT PRIMARY KEY, customer BIGINT, amount DOUBLE, units INTEGER, moment TIMESTAMP, tag VARCHAR);
"""

STEPS = [
    "INSERT INTO customer VALUES (1, 'ann', 'Oslo', DATE '1990-05-01'), (2, 'bob', 'Bergen', NULL)",
    (
        "INSERT INTO sale VALUES (1, 1, 10.5, 2, TIMESTAMP '2024-01-01 10:00:00', 'a'), (2, 1, 20.0, "
        "NULL, TIMESTAMP '2024-01-02 11:30:00', 'b')"
    ),
    "INSERT INTO customer VALUES (3, 'cyd', NULL, DATE '1985-12-31'), (4, 'dan', 'Oslo', DATE '2001-02-03')",
    (
        "INSERT INTO sale VALUES (3, 2, 5.25, 0, TIMESTAMP '2024-02-01 00:00:00', NULL), (4, NULL, 7.0, "
        "3, NULL, 'a'), (5, 3, 1.0, 1, TIMESTAMP '2023-12-31 23:59:59', 'c')"
    ),
    "UPDATE sale SET amount = amount * 2, tag = upper(tag) WHERE customer = 1",
    "DELETE FROM sale WHERE id = 3",
    "UPDATE customer SET city = 'Bergen' WHERE id = 4",
    "INSERT INTO sale SELECT id + 100, customer, amount / 2, units, moment, tag FROM sale WHERE amount > 5",
    "DELETE FROM customer WHERE id = 2",
]

QUERIES = [
    (
        "SELECT city, count(*) AS n, sum(amount) AS s FROM customer c JOIN sale s ON c.id = s.customer "
        "GROUP BY city"
    ),
    "SELECT c.name, s.amount FROM customer c LEFT JOIN sale s ON c.id = s.customer AND s.amount > 6",
    "SELECT c.name, s.id FROM customer c FULL JOIN sale s ON c.id = s.customer",
    "SELECT name FROM customer WHERE id IN (SELECT customer FROM sale WHERE amount > 8)",
    "SELECT name FROM customer WHERE id NOT IN (SELECT customer FROM sale)",
    "SELECT name FROM customer WHERE id NOT IN (SELECT customer FROM sale WHERE customer IS NOT NULL)",
    "SELECT name, (SELECT max(amount) FROM sale WHERE customer = c.id) AS best FROM customer c",
    (
        "SELECT name, (SELECT count(*) FROM sale s WHERE s.customer = c.id AND s.amount > "
        "length(c.name)) AS n FROM customer c"
    ),
    (
        "SELECT name FROM customer c WHERE EXISTS (SELECT 1 FROM sale s WHERE s.customer = c.id AND "
        "units > 0) OR city = 'Bergen'"
    ),
    "SELECT name, id IN (SELECT customer FROM sale) AS buys FROM customer",
    "SELECT coalesce(city, '?') AS place, extract(YEAR FROM born) AS y FROM customer",
    "SELECT city, name, count(*) AS n FROM customer GROUP BY ROLLUP (city, name)",
    "SELECT city, name, grouping(city) AS g FROM customer GROUP BY CUBE (city, name)",
    "SELECT DISTINCT city FROM customer",
    "SELECT city FROM customer UNION SELECT tag FROM sale",
    "SELECT city FROM customer EXCEPT ALL SELECT 'Oslo'",
    "SELECT tag FROM sale INTERSECT ALL SELECT tag FROM sale WHERE id > 100",
    (
        "SELECT id, row_number() OVER (PARTITION BY customer ORDER BY id) AS r, lag(amount) OVER "
        "(PARTITION BY customer ORDER BY id) AS l FROM sale"
    ),
    "SELECT id FROM sale QUALIFY row_number() OVER (PARTITION BY customer ORDER BY amount DESC, id) = 1",
    "SELECT id, amount FROM sale ORDER BY amount DESC, id LIMIT 3",
    "SELECT id FROM sale ORDER BY id LIMIT 2 OFFSET 1",
    (
        "SELECT sum(units) AS u, avg(amount) AS a, min(moment) AS first, max(tag) AS t, count(DISTINCT "
        "tag) AS d FROM sale"
    ),
    "SELECT sum(amount) FILTER (WHERE tag = 'a') AS a FROM sale",
    "SELECT string_agg(name, ',' ORDER BY name) AS names FROM customer",
    "SELECT date_trunc('month', moment) AS m, count(*) AS n FROM sale GROUP BY date_trunc('month', moment)",
    (
        "SELECT name || '!' AS x, upper(name) AS u, substr(name, 2, 1) AS s, replace(name, 'a', 'o') AS "
        "r FROM customer WHERE name LIKE '%n'"
    ),
    "SELECT id FROM sale WHERE units <> 0 AND 10.0 / units > 3",
    "SELECT CASE WHEN amount > 10 THEN 'big' ELSE 'small' END AS size, count(*) AS n FROM sale GROUP BY 1",
    (
        "WITH big AS (SELECT * FROM sale WHERE amount > 5) SELECT b.id, c.name FROM big b JOIN customer "
        "c ON c.id = b.customer"
    ),
    (
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 5) SELECT n.i, "
        "count(s.id) AS k FROM n LEFT JOIN sale s ON s.units = n.i GROUP BY n.i"
    ),
    (
        "SELECT c.name, l.amount FROM customer c, LATERAL (SELECT amount FROM sale s WHERE s.customer = "
        "c.id ORDER BY amount DESC LIMIT 1) l"
    ),
    (
        "SELECT name FROM customer WHERE born > DATE '1989-01-01' AND born + INTERVAL '1' YEAR < DATE "
        "'2010-01-01'"
    ),
    (
        "SELECT customer, sum(amount) AS s FROM sale GROUP BY customer HAVING sum(amount) > (SELECT "
        "avg(amount) FROM sale)"
    ),
    (
        "SELECT a.id, b.id AS other FROM sale a JOIN sale b ON a.amount < b.amount AND a.customer IS "
        "NOT DISTINCT FROM b.customer"
    ),
    "SELECT DISTINCT ON (customer) customer, id FROM sale ORDER BY customer, amount DESC, id",
    "SELECT * FROM (VALUES (1, 'x'), (2, 'y')) AS v(n, s)",
    (
        "SELECT abs(-units) AS a, round(amount, 1) AS r, CAST(amount AS INTEGER) AS i FROM sale WHERE "
        "units IS NOT NULL AND amount = round(amount)"
    ),
]


def bag(rows: Any) -> Counter[Any]:
    """Rows in any order, with numbers that print alike made equal."""
    return Counter(tuple(plain(value) for value in row) for row in rows)


def plain(value: Any) -> Any:
    if isinstance(value, (float, Decimal)):
        return round(float(value), 9)
    if isinstance(value, datetime):
        return value.replace(tzinfo=None)
    return value


def tuples(table: pa.Table) -> list[tuple[Any, ...]]:
    return list(zip(*(column.to_pylist() for column in table.columns), strict=True))


@pytest.mark.parametrize("query", QUERIES)
def test_views_follow_duckdb(db: tr.Database, query: str) -> None:
    peer = duckdb.connect()
    db.execute(TABLES)
    peer.execute(TABLES)
    view = db.create_view("checked", query)
    for step in STEPS:
        db.execute(step)
        peer.execute(step)
        wanted = bag(peer.execute(query).fetchall())
        assert bag(tuples(view.snapshot())) == wanted, step
        assert bag(db.execute(query).fetchall()) == wanted, step


def test_the_first_example(db: tr.Database) -> None:
    db.execute("""
        CREATE TABLE bids (id BIGINT PRIMARY KEY, auction BIGINT NOT NULL, price DOUBLE, at TIMESTAMP);
        CREATE VIEW best AS SELECT auction, max(price) AS price, count(*) AS n FROM bids GROUP BY auction;
    """)
    changes = db.insert("bids", [{"id": 1, "auction": 7, "price": 10.0, "at": None}])
    assert changes["best"].delta.to_pylist() == [{"auction": 7, "price": 10.0, "n": 1, "_weight": 1}]
    assert db.view("best").snapshot().to_pylist() == [{"auction": 7, "price": 10.0, "n": 1}]
    assert [(row.auction, row.n) for row in db.view("best").rows()] == [(7, 1)]
    assert "aggregate" in db.explain("SELECT count(*) FROM bids")


def test_results_in_all_forms(db: tr.Database) -> None:
    result = db.execute("SELECT * FROM (VALUES (1, 'a'), (2, NULL)) AS v(n, s) ORDER BY n DESC")
    assert result.fetchall() == [(2, None), (1, "a")]
    assert result.fetchone() == (2, None)
    assert result.to_arrow().column_names == ["n", "s"]
    assert result.to_pandas().shape == (2, 2)
    assert result.to_polars().equals(pl.DataFrame({"n": [2, 1], "s": [None, "a"]}))
    assert pa.table(result).num_rows == len(result) == 2
    assert db.execute("CREATE TABLE t (a INT)").to_arrow().num_rows == 0


def test_changes_of_statements(db: tr.Database) -> None:
    db.execute("CREATE TABLE t (a BIGINT PRIMARY KEY, b VARCHAR DEFAULT 'none')")
    db.execute("CREATE VIEW v AS SELECT b, count(*) AS n FROM t GROUP BY b")
    result = db.execute("INSERT INTO t (a) VALUES (1), (2); UPDATE t SET b = ? WHERE a = ?", ["x", 2])
    assert result.rowcount == 3
    assert [len(change["v"]) for change in result.changes] == [1, 3]
    db.insert("t", {"a": 3})
    assert db.execute("SELECT b FROM t WHERE a = 3").fetchall() == [("none",)]
    assert db.execute("DELETE FROM t").rowcount == 3
    db.execute("DROP VIEW v; DROP TABLE t")
    with pytest.raises(tr.UnknownViewError):
        db.view("v")


def test_parameters_of_all_types(db: tr.Database) -> None:
    values = [True, 7, 2.5, "text", b"raw", datetime(2024, 1, 2, 3, 4, 5), Decimal("1.25"), None]
    rows = db.execute("SELECT " + ", ".join(f"${i} AS p{i}" for i in range(1, 9)), values).fetchall()
    assert rows == [tuple(values)]


def test_errors_show_a_caret(db: tr.Database) -> None:
    db.execute("CREATE TABLE t (price DOUBLE)")
    with pytest.raises(tr.SqlError, match="Did you mean 'price'") as told:
        db.execute("SELECT prise FROM t")
    assert str(told.value).endswith("LINE 1: SELECT prise FROM t\n               ^")
    with pytest.raises(tr.PlanError):
        db.execute("SELECT * FROM nowhere")
    with pytest.raises(tr.Error):
        db.execute("SELECT " + "+".join(["1"] * 200_000))


def test_what_sql_makes_anew_has_its_new_columns() -> None:
    with tr.connect() as db:
        db.execute("CREATE TABLE t (id BIGINT PRIMARY KEY, x BIGINT); CREATE VIEW v AS SELECT x FROM t")
        db.insert("t", {"id": 1, "x": 2})
        assert [row.x for row in db.view("v").rows()] == [2]
        db.execute(
            "DROP VIEW v; DROP TABLE t; CREATE TABLE t (id BIGINT PRIMARY KEY, name VARCHAR);"
            "CREATE VIEW v AS SELECT name, id FROM t"
        )
        db.insert("t", {"id": 1, "name": "a"})
        assert [(row.id, row.name) for row in db.table("t").rows()] == [(1, "a")]
        assert [(row.id, row.name) for row in db.view("v").rows()] == [(1, "a")]


def test_a_failing_text_does_not_hide_what_it_dropped() -> None:
    with tr.connect() as db:
        db.execute("CREATE TABLE t (id BIGINT)")
        db.insert("t", {"id": 1})
        with pytest.raises(tr.Error):
            db.execute("DROP TABLE t; SELECT * FROM nothing")
        with pytest.raises(tr.UnknownTableError):
            db.insert("t", {"id": 1})
