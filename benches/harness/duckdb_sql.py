"""DuckDB in the benchmarks that are SQL: it recomputes TPC-H after every change, and Nexmark once.

All cores; tables of its own without keys, which make its loads faster and its queries no slower. Only the query is timed: the time in
which DuckDB takes the change in, and would have to find what is different in the answer, is not counted, in its favour.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Final

import duckdb
import pyarrow as pa

from . import nexmark_sql, tpch
from .contract import NEXMARK, Answer, Measurement, Run, Settings, best_of, geometric_mean, latencies


def _run_tpch(settings: Settings) -> Measurement:
    data = tpch.stored(settings.scale, settings.data)
    with duckdb.connect() as db:
        start = time.perf_counter()
        for table in tpch.KEYS:
            create(db, table, data.base(table))
        load = time.perf_counter() - start
        details = {}
        changes = data.steps(settings.tpch)
        for name in settings.tpch:
            found = latencies(_recomputations(db, name, changes))
            details[f"{name}_seconds"] = found.seconds
    steps = [details[f"{name}_seconds"] for name in settings.tpch]
    return Measurement(geometric_mean(steps), load_seconds=load, details=details)


def _run_nexmark(name: str) -> Run:
    return lambda settings: best_of(settings.repeats, _nexmark(name, settings))


def _answer_nexmark(name: str) -> Answer:
    return lambda settings: _nexmark(name, settings)()


RUNS: Final[dict[str, Run]] = {
    "tpch": _run_tpch,
    **{name: _run_nexmark(name) for name in NEXMARK},
}
ANSWERS: Final[dict[str, Answer]] = {name: _answer_nexmark(name) for name in NEXMARK}


def _recomputations(
    db: duckdb.DuckDBPyConnection, name: str, changes: list[tpch.Change]
) -> Iterator[Callable[[], pa.Table]]:
    """The query after each change; the change itself is made before the clock starts."""
    text = tpch.query(name)
    for change in changes:
        for table, part in tpch.part_of(change, name).items():
            apply(db, table, part)
        yield lambda: db.sql(text).to_arrow_table()


def apply(db: duckdb.DuckDBPyConnection, table: str, change: tpch.TableChange) -> None:
    """Take a change of one table in."""
    keys = tpch.KEYS[table]
    matched = " AND ".join(f"{table}.{key} = leaving.{key}" for key in keys)
    for leaving in (change.gone, change.rows.select(list(keys))):
        db.register("leaving", leaving)
        db.execute(f"DELETE FROM {table} USING leaving WHERE {matched}")
        db.unregister("leaving")
    db.register("incoming", change.rows)
    db.execute(f"INSERT INTO {table} SELECT * FROM incoming")
    db.unregister("incoming")


def _nexmark(name: str, settings: Settings) -> Callable[[], pa.Table]:
    db = duckdb.connect()
    db.execute(nexmark_sql.DUCKDB_MACROS)
    for table, rows in nexmark_sql.stored(name, settings).items():
        db.register(table, rows)
    return lambda: db.sql(nexmark_sql.query(name)).to_arrow_table()


def create(db: duckdb.DuckDBPyConnection, name: str, rows: pa.Table) -> None:
    """Make a table of its own from Arrow."""
    db.register("loaded", rows)
    db.execute(f"CREATE TABLE {name} AS SELECT * FROM loaded")
    db.unregister("loaded")
