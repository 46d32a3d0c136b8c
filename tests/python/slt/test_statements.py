"""Statements that change tables: after each, our tables, a view over them and the rows that RETURNING shows equal DuckDB's.

A statement that fails changes nothing; what is refused says why.
"""

from __future__ import annotations

import uuid
from decimal import Decimal
from typing import Any

import pytest

import tailrace as tr

from .answers import difference
from .session import peer

TABLES = """
CREATE TABLE t (id BIGINT PRIMARY KEY, n INTEGER, s VARCHAR DEFAULT 'none');
INSERT INTO t VALUES (1, 10, 'a'), (2, 20, 'b'), (3, NULL, 'c');
CREATE TABLE u (k BIGINT, v VARCHAR);
INSERT INTO u VALUES (1, 'x'), (1, 'x'), (3, 'y'), (NULL, 'z');
CREATE TABLE w (a INTEGER, b VARCHAR, c DOUBLE DEFAULT 1.5, PRIMARY KEY (a, b));
INSERT INTO w VALUES (1, 'p', 0.5), (1, 'q', 2.5)
"""

STATEMENTS = [
    "INSERT INTO t VALUES (4, 40, DEFAULT)",
    "INSERT INTO t (id) VALUES (5), (6)",
    "INSERT INTO t (s, id) VALUES ('only', 7)",
    "INSERT INTO t (id, n) SELECT id + 100, n * 2 FROM t",
    "INSERT INTO t VALUES (8, 2.5, 'round'), (9, '12', 'text')",
    "INSERT INTO t VALUES (10, 1, 'r') RETURNING *",
    "INSERT INTO t VALUES (11, 1, 'r'), (12, 2, 'q') RETURNING id, n * 10 AS m, upper(s)",
    "INSERT INTO t VALUES (1, 1, 'x') ON CONFLICT DO NOTHING",
    "INSERT INTO t VALUES (1, 1, 'x'), (20, 2, 'new') ON CONFLICT (id) DO NOTHING RETURNING id",
    "INSERT INTO t VALUES (1, 5, 'y') ON CONFLICT (id) DO UPDATE SET n = 9",
    "INSERT INTO t VALUES (1, 5, 'y'), (21, 7, 'z') ON CONFLICT (id) DO UPDATE SET n = excluded.n, s = excluded.s || t.s",
    "INSERT INTO t VALUES (1, 5, 'y'), (2, 6, 'w') ON CONFLICT (id) DO UPDATE SET n = excluded.n WHERE t.n > 15",
    "INSERT INTO t VALUES (2, 5, 'y') ON CONFLICT (id) DO UPDATE SET n = t.n + excluded.n RETURNING id, n",
    "INSERT OR REPLACE INTO t VALUES (2, 99, 'rep'), (30, 1, 'ins')",
    "INSERT OR IGNORE INTO t VALUES (2, 99, 'ign'), (31, 1, 'ins')",
    "INSERT INTO w VALUES (1, 'p', 9.0), (2, 'p', 3.0) ON CONFLICT (a, b) DO UPDATE SET c = excluded.c",
    "INSERT INTO w (a, b) VALUES (5, 'd') RETURNING c",
    "INSERT INTO u VALUES (7, 'r') RETURNING k",
    "INSERT INTO u SELECT id, s FROM t WHERE n > 5 RETURNING v",
    "UPDATE t SET s = DEFAULT WHERE id = 1",
    "UPDATE t SET n = n + 1",
    "UPDATE t SET n = n + 1, s = upper(s) WHERE n IS NOT NULL RETURNING id, n, s",
    "UPDATE t SET id = id + 1000",
    "UPDATE t SET s = u.v FROM u WHERE u.k = t.id",
    "UPDATE t SET n = q.c FROM (SELECT k, count(*) AS c FROM u GROUP BY k) q WHERE q.k = t.id RETURNING t.id, n",
    "UPDATE t AS x SET n = 7 WHERE x.id IN (SELECT k FROM u)",
    "UPDATE t SET n = (SELECT max(k) FROM u)",
    "UPDATE t SET n = 2.5 WHERE id = 2",
    "UPDATE u SET v = 'all'",
    "UPDATE u SET k = k + 1 WHERE v = 'x' RETURNING k, v",
    "UPDATE t SET (n, s) = (1, 'two') WHERE id = 3",
    "DELETE FROM t WHERE n > 15",
    "DELETE FROM t WHERE id = 1 RETURNING *",
    "DELETE FROM t USING u WHERE u.k = t.id",
    "DELETE FROM u USING t WHERE u.k = t.id AND t.n > 5 RETURNING v",
    "DELETE FROM u",
    "DELETE FROM u WHERE k IS NULL RETURNING k, v",
    "TRUNCATE u",
    "TRUNCATE TABLE t",
    "CREATE TABLE copy AS SELECT id, n FROM t WHERE n > 5",
    "CREATE OR REPLACE TABLE u (sole INTEGER)",
    "CREATE TABLE IF NOT EXISTS t (other VARCHAR)",
    "ALTER TABLE u ADD COLUMN z INTEGER",
    "ALTER TABLE u ADD COLUMN z VARCHAR DEFAULT 'dz'",
    "ALTER TABLE u DROP COLUMN v",
    "ALTER TABLE u RENAME COLUMN v TO vv",
    "ALTER TABLE u RENAME TO uu",
    "ALTER TABLE u DROP COLUMN IF EXISTS nope",
    "DROP TABLE IF EXISTS nope",
    "DROP TABLE u",
    "CREATE VIEW vv AS SELECT k FROM u",
    "CREATE OR REPLACE VIEW vv AS SELECT v FROM u",
    "CREATE INDEX i ON u (k)",
    "CREATE TABLE many (a TINYINT, b UTINYINT, c USMALLINT, d UINTEGER, e UBIGINT, f HUGEINT, g REAL)",
    "CREATE TABLE more (h BLOB, i TIME, j TIMESTAMPTZ, l INTERVAL, m VARCHAR(3), o CHAR(2))",
]


def rows_of(connection: Any, sql: str) -> list[tuple[Any, ...]]:
    return connection.execute(sql).fetchall()


def tables_of(theirs: Any) -> list[str]:
    return [name for (name,) in rows_of(theirs, "SELECT table_name FROM duckdb_tables() ORDER BY 1")]


@pytest.mark.parametrize("sql", STATEMENTS)
def test_a_statement_changes_what_duckdb_changes(sql: str) -> None:
    theirs, ours = peer(), tr.connect()
    theirs.execute(TABLES)
    ours.execute(TABLES)
    mine, other = ours.execute(sql), theirs.execute(sql)
    if "RETURNING" in sql:
        assert not difference(mine.fetchall(), other.fetchall())
    for name in tables_of(theirs):
        asked = f'SELECT * FROM "{name}"'
        assert not difference(rows_of(ours, asked), rows_of(theirs, asked)), name
    assert set(tables_of(theirs)) == set(ours.tables)


@pytest.mark.parametrize(
    "sql", [sql for sql in STATEMENTS if sql.split()[0] in {"INSERT", "UPDATE", "DELETE", "TRUNCATE"}]
)
def test_a_view_follows_a_statement(sql: str) -> None:
    theirs, ours = peer(), tr.connect()
    theirs.execute(TABLES)
    ours.execute(TABLES)
    query = "SELECT t.s, count(*) AS c, sum(t.n) AS n, count(u.v) AS v FROM t LEFT JOIN u ON u.k = t.id GROUP BY t.s"
    ours.execute(f"CREATE VIEW followed AS {query}")
    ours.execute(sql)
    theirs.execute(sql)
    assert not difference(rows_of(ours, "SELECT * FROM followed"), rows_of(theirs, query))


REFUSED = [
    ("INSERT INTO t VALUES (1, 1, 'x')", tr.DuplicateKeyError, "id=1"),
    ("INSERT INTO t VALUES (50, 1, 'x'), (50, 2, 'y')", tr.DuplicateKeyError, "id=50"),
    ("UPDATE t SET id = 2 WHERE id = 1", tr.DuplicateKeyError, r"table 't'.*\(id=2\)"),
    ("UPDATE t SET id = 7", tr.DuplicateKeyError, r"table 't'.*\(id=7\)"),
    (
        "INSERT INTO t VALUES (50, 1, 'x'), (50, 2, 'y') ON CONFLICT (id) DO UPDATE SET n = 1",
        tr.DuplicateKeyError,
        "id=50",
    ),
    (
        "INSERT INTO t VALUES (1, 1, 'x') ON CONFLICT (n) DO NOTHING",
        tr.Error,
        r"not the key of table 't', which is \(id\)",
    ),
    ("INSERT INTO u VALUES (1, 'x') ON CONFLICT DO NOTHING", tr.Error, "no PRIMARY KEY"),
    ("INSERT INTO t VALUES (60, 1, 'x') RETURNING nope", tr.Error, "nope"),
    ("INSERT INTO t VALUES (60, 0, 'x') RETURNING 1 / n", tr.Error, "(?i)zero"),
    ("INSERT INTO t VALUES (NULL, 0, 'x')", tr.Error, "id"),
    ("INSERT INTO t VALUES (60, 'abc', 'x')", tr.Error, "abc"),
    ("INSERT INTO t VALUES (60, 3000000000, 'x')", tr.Error, "3000000000"),
    ("INSERT INTO t VALUES (60)", tr.Error, "expected 3"),
    ("CREATE TABLE bad (x INTEGER) AS SELECT 1", tr.Error, "names and types of its query"),
    ("UPDATE t SET nope = 1", tr.Error, "nope.*Existing columns: id, n, s"),
    ("UPDATE t SET n = 1, n = 2", tr.Error, "set twice"),
    ("UPDATE t SET n = 1 / 0", tr.Error, "(?i)zero"),
    ("DELETE FROM t RETURNING nope", tr.Error, "nope"),
    ("DROP TABLE t, nope", tr.Error, "nope"),
    ("CREATE TABLE bad (x INTEGER, x INTEGER)", tr.Error, "'x'.*defined twice"),
    ("CREATE TABLE bad (x INTEGER PRIMARY KEY, y INTEGER PRIMARY KEY)", tr.Error, r"PRIMARY KEY \(x, y\)"),
    ("CREATE TABLE bad ()", tr.Error, "no columns"),
    ("CREATE TABLE bad (x INTEGER) WITH (fast = true)", tr.Error, "options"),
    ("CREATE TABLE bad (x NOPE)", tr.Error, "(?i)type 'nope' does not exist. Types: BOOLEAN"),
    ("CREATE TABLE bad (x INTEGER UNIQUE)", tr.Error, "not enforced"),
    ("CREATE UNIQUE INDEX i ON t (n)", tr.Error, "not supported"),
    ("CREATE TABLE t (x INTEGER)", tr.Error, "exists already"),
    ("ALTER TABLE t DROP COLUMN id", tr.Error, "key"),
    ("ALTER TABLE t ADD COLUMN n INTEGER", tr.Error, "already"),
    ("ALTER TABLE t ADD COLUMN m INTEGER NOT NULL", tr.Error, "DEFAULT"),
    ("ALTER TABLE t ALTER COLUMN n TYPE VARCHAR", tr.Error, "ALTER TABLE can"),
    ("BEGIN", tr.Error, r"db\.apply\(Batch\)"),
    ("COMMIT", tr.Error, r"db\.apply\(Batch\)"),
    ("ROLLBACK", tr.Error, r"db\.apply\(Batch\)"),
    ("EXPLAIN ANALYZE SELECT 1", tr.Error, "metrics"),
    ("SELECT nope(1)", tr.Error, "nope"),
]


@pytest.mark.parametrize(("sql", "error", "words"), REFUSED)
def test_what_is_refused_says_why_and_changes_nothing(sql: str, error: type[tr.Error], words: str) -> None:
    db = tr.connect()
    db.execute(TABLES)
    names = db.tables
    before = {name: rows_of(db, f"SELECT * FROM {name}") for name in names}
    with pytest.raises(error, match=words):
        db.execute(sql)
    assert db.tables == names
    assert {name: rows_of(db, f"SELECT * FROM {name}") for name in names} == before


@pytest.mark.parametrize(
    ("sql", "params", "words"),
    [
        ("SELECT ?", [1, 2], "1 parameter, 2 values were given"),
        ("SELECT 1", [1], "0 parameters, 1 value was given"),
        ("SELECT ?, ?", [1], "2 parameters, 1 value was given"),
        ("SELECT ?, $1", [1], "either all"),
        ("SELECT $1, ?", [1], "either all"),
        ("CREATE VIEW v AS SELECT ? AS x", [1], "a view has no parameters"),
    ],
)
def test_parameters_must_fit(sql: str, params: list[object], words: str) -> None:
    with pytest.raises(tr.Error, match=words):
        tr.connect().execute(sql, params)


def test_parameters_are_values_of_all_statements() -> None:
    db = tr.connect()
    db.execute("CREATE TABLE p (a INTEGER, b VARCHAR)")
    db.execute("INSERT INTO p VALUES ($1, $2); INSERT INTO p VALUES ($1 + 1, upper($2))", [1, "x"])
    assert sorted(rows_of(db, "SELECT * FROM p")) == [(1, "x"), (2, "X")]


def test_cascade_drops_the_views_and_a_view_outlives_a_view() -> None:
    db = tr.connect()
    db.execute(TABLES)
    db.execute(
        "CREATE VIEW a AS SELECT id FROM t; CREATE VIEW b AS SELECT id + 1 AS x FROM a; CREATE VIEW c AS SELECT k FROM u"
    )
    with pytest.raises(tr.Error, match="is read by: a, b"):
        db.execute("DROP TABLE t")
    db.execute("DROP VIEW a")
    assert len(rows_of(db, "SELECT * FROM b")) == 3
    db.execute("DROP TABLE t CASCADE")
    assert (db.tables, db.views) == (["u", "w"], ["c"])


def test_python_values_go_in_and_come_out() -> None:
    db = tr.connect()
    db.execute(
        "CREATE TABLE v (id INTEGER PRIMARY KEY, u UUID, b BLOB, d DECIMAL(10, 2), h HUGEINT, l INTEGER[], "
        "s STRUCT(a INTEGER, b VARCHAR))"
    )
    row = (1, uuid.UUID(int=5), b"\x00\xff", Decimal("1.25"), Decimal(10**30), [1, None], {"a": 1, "b": "x"})
    names = ["id", "u", "b", "d", "h", "l", "s"]
    db.insert("v", [dict(zip(names, row, strict=True))])
    assert rows_of(db, "SELECT * FROM v") == [row]
    assert rows_of(db, "SELECT u::VARCHAR FROM v WHERE u = '00000000-0000-0000-0000-000000000005'") == [
        (str(row[1]),)
    ]
    assert db.execute("SELECT id FROM v WHERE u = ? AND b = ?", [row[1], row[2]]).fetchall() == [(1,)]


def test_now_is_a_time_that_python_knows() -> None:
    ((now, today),) = tr.connect().execute("SELECT now(), current_date").fetchall()
    assert now.tzinfo is not None
    assert abs((now.date() - today).days) <= 1


def test_sql_calls_functions_of_python() -> None:
    import pyarrow.compute as pc

    @tr.udf
    def plus_one(x: tr.Array[int]) -> tr.Array[int]:
        return pc.add(x, 1)

    db = tr.connect()
    db.register(plus_one)
    db.register(plus_one, name="Successor")
    db.execute(
        "CREATE TABLE p (a BIGINT); CREATE VIEW q AS SELECT plus_one(a) AS b, count(*) AS n FROM p GROUP BY plus_one(a)"
    )
    db.execute("INSERT INTO p VALUES (1), (1), (2), (NULL); DELETE FROM p WHERE a = 2")
    assert sorted(rows_of(db, "SELECT * FROM q"), key=str) == [(2, 2), (None, 1)]
    assert rows_of(db, "SELECT successor(41)") == [(42,)]
    with pytest.raises(tr.Error, match="decorate it with"):
        db.register(len)
