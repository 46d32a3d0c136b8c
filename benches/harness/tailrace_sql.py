"""Tailrace in the benchmarks that are SQL: TPC-H under changes, the Nexmark queries, and the time that planning takes.

TPC-H: the tables are loaded once; each query in turn becomes a view over them, is timed through the changes of the tables that it
reads, and is dropped. A step is timed from the Python call to the view's delta in Arrow. One worker.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Final

import pyarrow as pa

import tailrace as tr

from . import nexmark_sql, tpch
from .contract import NEXMARK, TPCH, Answer, Measurement, Run, Settings, best_of, geometric_mean, latencies


def _run_tpch(settings: Settings) -> Measurement:
    data = tpch.stored(settings.scale, settings.data)
    start = time.perf_counter()
    db = _loaded_tpch(data, settings)
    load = time.perf_counter() - start
    details: dict[str, float] = {}
    changes = data.steps(settings.tpch)
    for name in settings.tpch:
        found = _tpch_query(db, changes, name)
        details[f"{name}_seconds"] = found.seconds
        details[f"{name}_fill_seconds"] = found.load_seconds or 0.0
    steps = [details[f"{name}_seconds"] for name in settings.tpch]
    return Measurement(geometric_mean(steps), load_seconds=load, details=details)


def _run_tpch_plan(settings: Settings) -> Measurement:
    """Every view of TPC-H and Nexmark over empty tables; the headline is the slowest."""
    texts = {f"tpch_{name}": (tpch.schema(), tpch.query(name)) for name in TPCH}
    texts |= {name: (nexmark_sql.schema(), nexmark_sql.query(name)) for name in NEXMARK}
    repeats = max(5, settings.repeats)
    found = {name: best_of(repeats, _planning(*text)).seconds for name, text in texts.items()}
    return Measurement(max(found.values()), details={f"{name}_seconds": s for name, s in found.items()})


def _run_nexmark(name: str) -> Run:
    def run(settings: Settings) -> Measurement:
        tables = nexmark_sql.stored(name, settings)
        found = best_of(settings.repeats, lambda: _first_change(name, tables))
        return Measurement(
            found.seconds, found.cpu_seconds, details={"events_per_second": settings.events / found.seconds}
        )

    return run


def _answer_nexmark(name: str) -> Answer:
    def answer(settings: Settings) -> pa.Table:
        db, _ = _first_change(name, nexmark_sql.stored(name, settings))
        return pa.table(db.view(name).snapshot())

    return answer


RUNS: Final[dict[str, Run]] = {
    "tpch": _run_tpch,
    "plan": _run_tpch_plan,
    **{name: _run_nexmark(name) for name in NEXMARK},
}
ANSWERS: Final[dict[str, Answer]] = {name: _answer_nexmark(name) for name in NEXMARK}


def _loaded_tpch(data: tpch.Tpch, settings: Settings) -> tr.Database:
    """All tables that the wanted queries read; a database without the others is not slower."""
    db = tr.connect()
    db.execute(tpch.schema())
    for table in tpch.KEYS:
        if any(table in tpch.tables_of(name) for name in settings.tpch):
            db.insert(table, data.base(table))
    return db


def _tpch_query(db: tr.Database, changes: list[tpch.Change], name: str) -> Measurement:
    """One query as a view, through all changes there and back."""
    steps = [_batch(tpch.part_of(change, name)) for change in changes]
    start = time.perf_counter()
    db.create_view(name, tpch.query(name))
    fill = time.perf_counter() - start
    found = latencies(_steps(db, name, steps), fill)
    db.drop_view(name)
    return found


def _batch(change: tpch.Change) -> tr.Batch:
    batch = tr.Batch()
    for table, part in change.items():
        if part.gone.num_rows:
            batch.delete(table, part.gone)
        batch.upsert(table, part.rows)
    return batch


def _steps(db: tr.Database, view: str, batches: list[tr.Batch]) -> Iterator[Callable[[], object]]:
    return (partial(_step, db, view, batch) for batch in batches)


def _step(db: tr.Database, view: str, batch: tr.Batch) -> pa.Table | None:
    changes = db.apply(batch)
    return changes[view].delta if view in changes else None


def _planning(schema: str, query: str) -> Callable[[], object]:
    """Make a view over empty tables; the database is made before the clock starts."""
    databases = []

    def plan() -> object:
        return databases.pop().create_view("planned", query)

    for _ in range(8):
        db = tr.connect()
        db.execute(schema)
        databases.append(db)
    return plan


def _first_change(name: str, tables: dict[str, pa.Table]) -> tuple[tr.Database, object]:
    """From an empty database to the view's first change."""
    db = tr.connect()
    db.execute(nexmark_sql.schema())
    db.create_view(name, nexmark_sql.query(name))
    batch = tr.Batch()
    for table, rows in tables.items():
        batch.insert(table, rows)
    changes = db.apply(batch)
    return db, changes[name].delta if name in changes else None
