"""DuckDB: recomputes every query from Arrow or from its own tables. Its answers are the oracle for all others.

Whole queries read the Arrow tables in place and end in an Arrow table, with all cores. For changes, DuckDB does what its
users do without incremental views: update the table, run the query again into a new table, and join old and new to
see what is different.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Final

import duckdb
import pyarrow as pa

from . import duckdb_sql, nexmark, workloads
from .contract import QUERIES, Answer, Measurement, Run, Settings, best_of, latencies, timed

SQL: Final = {
    "q4": """
        SELECT category, avg(final) AS price
        FROM (SELECT a.id, a.category, max(b.price) AS final
              FROM auction a JOIN bid b ON a.id = b.auction
              WHERE b.date_time BETWEEN a.date_time AND a.expires
              GROUP BY a.id, a.category)
        GROUP BY category""",
    "q9": """
        SELECT * EXCLUDE (place)
        FROM (SELECT a.*, b.bidder, b.price, b.date_time AS bid_date_time, b.extra AS bid_extra,
                     row_number() OVER (PARTITION BY a.id ORDER BY b.price DESC, b.date_time, b.id) AS place
              FROM auction a JOIN bid b ON a.id = b.auction
              WHERE b.date_time BETWEEN a.date_time AND a.expires)
        WHERE place = 1""",
    "q18": """
        SELECT * EXCLUDE (place)
        FROM (SELECT *, row_number() OVER (PARTITION BY bidder, auction ORDER BY date_time DESC, id DESC) AS place
              FROM bid)
        WHERE place = 1""",
    "q20": """
        SELECT b.*, a.item_name, a.description, a.initial_bid, a.reserve, a.date_time AS auction_date_time,
               a.expires, a.seller, a.category, a.extra AS auction_extra
        FROM bid b JOIN auction a ON b.auction = a.id
        WHERE a.category = 10""",
    "churn": "SELECT group_key, count(*) AS n, sum(value)::BIGINT AS total FROM rows GROUP BY group_key",
    "join3": """
        SELECT o.id, c.region, p.price, o.quantity
        FROM orders o JOIN customers c ON o.customer = c.id JOIN products p ON o.product = p.id""",
    "closure": """
        WITH RECURSIVE reach AS (
            SELECT src, dst FROM edges
            UNION
            SELECT r.src, e.dst FROM reach r JOIN edges e ON r.dst = e.src)
        SELECT src, dst FROM reach""",
}

_CHURN_DIFF: Final = """
    SELECT coalesce(new.group_key, old.group_key) AS group_key,
           old.n AS old_n, old.total AS old_total, new.n AS new_n, new.total AS new_total
    FROM after_step new FULL JOIN before_step old ON new.group_key = old.group_key
    WHERE new.n IS DISTINCT FROM old.n OR new.total IS DISTINCT FROM old.total"""


def _run_query(name: str) -> Run:
    return lambda settings: best_of(settings.repeats, _query(name, settings))


def _answer_query(name: str) -> Answer:
    return lambda settings: _query(name, settings)()


def _run_churn(settings: Settings) -> Measurement:
    with duckdb.connect() as db:
        work = workloads.churn(settings.events, settings.batches, seed=settings.seed)
        load = timed(lambda: _load_churn(db, work.rows))
        return latencies(_churn_steps(db, work.batches), load.seconds)


def _answer_churn(settings: Settings) -> pa.Table:
    with duckdb.connect() as db:
        work = workloads.churn(settings.events, settings.batches, seed=settings.seed)
        _load_churn(db, work.rows)
        for step in _churn_steps(db, work.batches):
            step()
        return db.sql(SQL["churn"]).to_arrow_table()


def _run_join3(settings: Settings) -> Measurement:
    with duckdb.connect() as db:
        work = _load_star(db, settings)
        load = timed(lambda: db.sql(SQL["join3"]).to_arrow_table())
        steps = (partial(_join3_step, db, change) for change in work.changes)
        return latencies(steps, load.seconds)


def _answer_join3(settings: Settings) -> pa.Table:
    with duckdb.connect() as db:
        for change in _load_star(db, settings).changes:
            _replace(db, "orders", change)
        return db.sql(SQL["join3"]).to_arrow_table()


def _run_closure(settings: Settings) -> Measurement:
    with duckdb.connect() as db:
        # Recomputing costs the same whichever edge is missing, so a few steps tell all.
        work = _load_graph(db, settings, min(settings.batches, 4))
        return latencies(partial(_closure_without, db, cut) for cut in work.cuts)


def _answer_closure(settings: Settings) -> pa.Table:
    with duckdb.connect() as db:
        return _closure_without(db, _load_graph(db, settings, 1).cuts[0])


RUNS: Final[dict[str, Run]] = {
    **{name: _run_query(name) for name in QUERIES},
    "churn": _run_churn,
    "join3": _run_join3,
    "closure": _run_closure,
    **duckdb_sql.RUNS,
}
ANSWERS: Final[dict[str, Answer]] = {
    **{name: _answer_query(name) for name in QUERIES},
    "churn": _answer_churn,
    "join3": _answer_join3,
    "closure": _answer_closure,
    **duckdb_sql.ANSWERS,
}


def _query(name: str, settings: Settings) -> Callable[[], pa.Table]:
    events = nexmark.stored(settings.events, settings.data, settings.seed)
    db = duckdb.connect()
    db.register("auction", events.auction)
    db.register("bid", events.bid)
    return lambda: db.sql(SQL[name]).to_arrow_table()


def _load_churn(db: duckdb.DuckDBPyConnection, rows: pa.Table) -> None:
    _create(db, "rows", rows)
    db.execute(f"CREATE TABLE before_step AS {SQL['churn']}")


def _churn_steps(db: duckdb.DuckDBPyConnection, batches: list[pa.Table]) -> Iterator[Callable[[], pa.Table]]:
    return (partial(_churn_step, db, batch) for batch in batches)


def _churn_step(db: duckdb.DuckDBPyConnection, batch: pa.Table) -> pa.Table:
    _replace(db, "rows", batch)
    db.execute(f"CREATE TABLE after_step AS {SQL['churn']}")
    diff = db.sql(_CHURN_DIFF).to_arrow_table()
    db.execute("DROP TABLE before_step; ALTER TABLE after_step RENAME TO before_step")
    return diff


def _load_star(db: duckdb.DuckDBPyConnection, settings: Settings) -> workloads.Star:
    work = workloads.star(settings.events, min(settings.batches, 20), settings.seed)
    for name in ("orders", "customers", "products"):
        _create(db, name, getattr(work, name))
    return work


def _join3_step(db: duckdb.DuckDBPyConnection, change: pa.Table) -> pa.Table:
    """Generous to DuckDB: the new result is not compared with the old one."""
    _replace(db, "orders", change)
    return db.sql(SQL["join3"]).to_arrow_table()


def _load_graph(db: duckdb.DuckDBPyConnection, settings: Settings, cuts: int) -> workloads.Graph:
    work = workloads.graph(settings.chains, settings.depth, cuts, settings.seed)
    _create(db, "edges", work.edges)
    return work


def _closure_without(db: duckdb.DuckDBPyConnection, cut: workloads.Edge) -> pa.Table:
    db.execute("DELETE FROM edges WHERE src = ? AND dst = ?", cut)
    found = db.sql(SQL["closure"]).to_arrow_table()
    db.execute("INSERT INTO edges VALUES (?, ?)", cut)
    return found


def _create(db: duckdb.DuckDBPyConnection, name: str, data: pa.Table) -> None:
    db.register("loaded", data)
    db.execute(f"CREATE TABLE {name} AS SELECT * FROM loaded")
    db.unregister("loaded")


def _replace(db: duckdb.DuckDBPyConnection, name: str, change: pa.Table) -> None:
    """Faster here than a primary key with INSERT OR REPLACE, whose index doubles the cost of the load."""
    columns = ", ".join(f"{column} = changed.{column}" for column in change.column_names if column != "id")
    db.register("changed", change)
    db.execute(f"UPDATE {name} SET {columns} FROM changed WHERE {name}.id = changed.id")
    db.unregister("changed")
