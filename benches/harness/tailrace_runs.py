"""Tailrace in the same benchmarks as its peers, and those that are about itself: growth, memory, start.

A whole query is timed from an empty database: make the view, hand over the Arrow tables in one step, have the view's
first change as an Arrow table. A step is timed from the Python call to the Arrow delta. One worker.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import pairwise
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

import tailrace as tr
from tailrace import _tailrace

from . import nexmark, tailrace_sql, workloads
from .contract import QUERIES, Answer, Measurement, Run, Settings, best_of, latencies, timed
from .tailrace_programs import PROGRAMS

_IMPORT: Final = (
    "import time; start = time.perf_counter(); import tailrace; print(time.perf_counter() - start)"
)
_STATES: Final = (100_000, 1_000_000, 10_000_000)
_GROWTH_CHANGE: Final = 1_000
_TEXT_BYTES: Final = 20
_REGIONS: Final = 334
"""Regions with three views each: 1,002 views."""


def our_consolidate_seconds(rows: int) -> float:
    """Seconds that the engine takes to consolidate and index unsorted (i64, i64) rows; the clock is in the engine."""
    return _tailrace.bench_consolidate(rows)


def _run_query(name: str) -> Run:
    def run(settings: Settings) -> Measurement:
        events = nexmark.stored(settings.events, settings.data, settings.seed)
        return best_of(settings.repeats, lambda: _loaded(name, _nexmark_batch(events)))

    return run


def _answer_query(name: str) -> Answer:
    def answer(settings: Settings) -> pa.Table:
        events = nexmark.stored(settings.events, settings.data, settings.seed)
        db, _ = _loaded(name, _nexmark_batch(events))
        return _snapshot(db, name)

    return answer


def _run_churn(settings: Settings) -> Measurement:
    work = workloads.churn(settings.events, settings.batches, seed=settings.seed)
    load = timed(lambda: _loaded("churn", tr.Batch().insert("rows", work.rows)))
    db, _ = _loaded("churn", tr.Batch().insert("rows", work.rows))
    return latencies(_upserts(db, "churn", "rows", work.batches), load.seconds)


def _answer_churn(settings: Settings) -> pa.Table:
    work = workloads.churn(settings.events, settings.batches, seed=settings.seed)
    db, _ = _loaded("churn", tr.Batch().insert("rows", work.rows))
    for step in _upserts(db, "churn", "rows", work.batches):
        step()
    return _snapshot(db, "churn")


def _run_join3(settings: Settings) -> Measurement:
    """The changes are dictionaries, as a user has them who changes one row."""
    work = workloads.star(settings.events, settings.batches, settings.seed)
    load = timed(lambda: _loaded("join3", _star_batch(work)))
    db, _ = _loaded("join3", _star_batch(work))
    rows = [change.to_pylist() for change in work.changes]
    return latencies(_upserts(db, "join3", "orders", rows), load.seconds)


def _answer_join3(settings: Settings) -> pa.Table:
    work = workloads.star(settings.events, min(settings.batches, 20), settings.seed)
    db, _ = _loaded("join3", _star_batch(work))
    for step in _upserts(db, "join3", "orders", work.changes):
        step()
    return _snapshot(db, "join3")


def _run_closure(settings: Settings) -> Measurement:
    work = workloads.graph(settings.chains, settings.depth, settings.batches, settings.seed)
    start = time.perf_counter()
    db, _ = _loaded("closure", tr.Batch().insert("edges", work.edges))
    load = time.perf_counter() - start
    return latencies((step for cut in work.cuts for step in _cut_and_mend(db, cut)), load)


def _answer_closure(settings: Settings) -> pa.Table:
    work = workloads.graph(settings.chains, settings.depth, 1, settings.seed)
    db, _ = _loaded("closure", tr.Batch().insert("edges", work.edges))
    db.delete("edges", work.cuts)
    return _snapshot(db, "closure")


def _run_sort(settings: Settings) -> Measurement:
    return Measurement(our_consolidate_seconds(settings.events))


def _run_merge(settings: Settings) -> Measurement:
    """Two indexed batches of that many rows each; the rate counts the rows of both."""
    seconds = _tailrace.bench_merge(settings.events)
    return Measurement(seconds, details={"rows_per_second": 2 * settings.events / seconds})


def _run_growth(settings: Settings) -> Measurement:
    """The same change against ten and a hundred times the state; the headline is the worst tenfold step."""
    found = [_churn_at(rows, settings) for rows in _STATES]
    details = {f"step_at_{rows}_seconds": at.seconds for rows, at in zip(_STATES, found, strict=True)}
    factors = [after.seconds / before.seconds for before, after in pairwise(found)]
    return Measurement(
        found[-1].seconds,
        found[-1].cpu_seconds,
        found[-1].p99_seconds,
        None,
        {
            **details,
            "worst_tenfold_factor": max(factors),
        },
    )


def _run_memory(settings: Settings) -> Measurement:
    """Bytes for each row in the largest trace of a view that keeps all rows; for strings, beyond the string's bytes."""
    pairs = workloads.two_columns(settings.events, settings.seed)
    texts = _with_texts(pairs)
    length = pc.sum(pc.binary_length(texts["value"])).as_py() / texts.num_rows
    start = time.perf_counter()
    pair_db, _ = _loaded("pair_most", tr.Batch().insert("pairs", pairs))
    text_db, _ = _loaded("text_most", tr.Batch().insert("texts", texts))
    return Measurement(
        time.perf_counter() - start,
        details={
            "integer_pair_bytes": _bytes_per_row(pair_db),
            "beyond_string_bytes": _bytes_per_row(text_db) - length,
        },
    )


def _run_import(settings: Settings) -> Measurement:
    """In fresh processes, with the caches of the file system warm."""
    command = [sys.executable, "-c", _IMPORT]
    return Measurement(min(float(subprocess.check_output(command)) for _ in range(max(5, settings.repeats))))


def _run_create_view(settings: Settings) -> Measurement:
    """The slowest of the Nexmark views over empty tables, tracing of the lambdas included."""
    found = {name: best_of(max(5, settings.repeats), partial(_created, name)).seconds for name in QUERIES}
    return Measurement(
        max(found.values()), details={f"{name}_seconds": seconds for name, seconds in found.items()}
    )


def _run_views(settings: Settings) -> Measurement:
    """One row changes that concerns three views: among a thousand, and with these three alone. The steps take turns."""
    regions = min(_REGIONS, settings.events // 100)
    rows, last = workloads.regions(10_000, regions, settings.seed), regions - 1
    start = time.perf_counter()
    many = _region_views(rows, range(regions))
    load = time.perf_counter() - start
    alone = _region_views(rows, [last])
    changes = workloads.region_changes(rows, last, max(settings.batches, 200), settings.seed)
    pairs = [_timed_pair(alone, many, change.to_pylist()) for change in changes]
    seconds_alone, seconds = (statistics.median(times) for times in zip(*pairs, strict=True))
    details = {"alone_seconds": seconds_alone, "factor_of_three_alone": seconds / seconds_alone}
    return Measurement(seconds, load_seconds=load, details=details)


RUNS: Final[dict[str, Run]] = {
    **{name: _run_query(name) for name in QUERIES},
    "churn": _run_churn,
    "views1000": _run_views,
    "join3": _run_join3,
    "closure": _run_closure,
    "sort": _run_sort,
    "merge": _run_merge,
    "growth": _run_growth,
    "memory": _run_memory,
    "import": _run_import,
    "create_view": _run_create_view,
    **tailrace_sql.RUNS,
}
ANSWERS: Final[dict[str, Answer]] = {
    **{name: _answer_query(name) for name in QUERIES},
    "churn": _answer_churn,
    "join3": _answer_join3,
    "closure": _answer_closure,
    **tailrace_sql.ANSWERS,
}


def _created(name: str) -> tr.Database:
    db = tr.connect()
    db.create_view(name, PROGRAMS[name](db))
    return db


def _loaded(name: str, batch: tr.Batch) -> tuple[tr.Database, pa.Table]:
    """A database with one view after its first step, and the view's first change."""
    db = _created(name)
    return db, _delta(db.apply(batch), name)


def _delta(changes: tr.Changes, view: str) -> pa.Table | None:
    """None where a step left the view as it was."""
    return changes[view].delta if view in changes else None


def _snapshot(db: tr.Database, view: str) -> pa.Table:
    return pa.table(db.view(view).snapshot())


def _upserts(db: tr.Database, view: str, table: str, batches: list[Any]) -> Iterator[Callable[[], object]]:
    return (partial(_upsert, db, view, table, batch) for batch in batches)


def _upsert(db: tr.Database, view: str, table: str, batch: Any) -> pa.Table | None:
    return _delta(db.upsert(table, batch), view)


def _cut_and_mend(db: tr.Database, cut: workloads.Edge) -> Iterator[Callable[[], object]]:
    edge = {"src": cut[0], "dst": cut[1]}
    yield lambda: _delta(db.delete("edges", [cut]), "closure")
    yield lambda: _delta(db.insert("edges", [edge]), "closure")


def _region_views(rows: pa.Table, regions: Iterable[int]) -> tr.Database:
    """Three views for each region: its rows, its sums, its largest value."""
    db = tr.connect()
    db.execute("CREATE TABLE sales (id BIGINT PRIMARY KEY, region BIGINT NOT NULL, amount BIGINT NOT NULL)")
    db.insert("sales", rows)
    for region in regions:
        where = f"FROM sales WHERE region = {region}"
        db.create_view(f"rows_{region}", f"SELECT id, amount {where}")
        db.create_view(f"sums_{region}", f"SELECT count(*) AS n, sum(amount) AS total {where}")
        db.create_view(f"most_{region}", f"SELECT max(amount) AS most {where} AND amount < 2000000")
    return db


def _region_step(db: tr.Database, change: list[dict[str, int]]) -> list[pa.Table | None]:
    changes, region = db.upsert("sales", change), change[0]["region"]
    return [_delta(changes, f"{kind}_{region}") for kind in ("rows", "sums", "most")]


def _timed_pair(alone: tr.Database, many: tr.Database, change: list[dict[str, int]]) -> tuple[float, float]:
    times = [time.perf_counter()]
    for db in (alone, many):
        _region_step(db, change)
        times.append(time.perf_counter())
    return times[1] - times[0], times[2] - times[1]


def _churn_at(rows: int, settings: Settings) -> Measurement:
    work = workloads.churn(rows, settings.batches, _GROWTH_CHANGE, settings.seed)
    db, _ = _loaded("growth", tr.Batch().insert("rows", work.rows))
    return latencies(_upserts(db, "growth", "rows", work.batches))


def _nexmark_batch(events: nexmark.Nexmark) -> tr.Batch:
    """Both tables whatever the query: a view that does not read one must not pay for it."""
    return tr.Batch().insert("auction", events.auction).insert("bid", events.bid)


def _star_batch(work: workloads.Star) -> tr.Batch:
    batch = tr.Batch().insert("orders", work.orders)
    return batch.insert("customers", work.customers).insert("products", work.products)


def _with_texts(pairs: pa.Table) -> pa.Table:
    """Strings that share no prefix worth speaking of, all of about one length."""
    text = pc.utf8_slice_codeunits(
        pc.utf8_lpad(pairs["value"].cast(pa.string()), _TEXT_BYTES, "0"), 0, _TEXT_BYTES
    )
    return pairs.set_column(1, "value", text)


def _bytes_per_row(db: tr.Database) -> float:
    """Of the operator that keeps the most rows: the index over all input rows."""
    operators = pa.table(db.metrics()).to_pylist()
    largest = max(operators, key=lambda operator: operator["state_rows"] or 0)
    return float(largest["state_bytes"]) / float(largest["state_rows"])
