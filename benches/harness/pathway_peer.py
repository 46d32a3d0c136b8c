"""Pathway: the incremental rival in Python; one worker, as the other engines that keep state.

Whole queries read CSV files, Pathway's fastest way in, which hold just the columns that the query uses, with times as
integers; output goes to its empty sink, so that no Python callback runs per row. Both favour Pathway. Steps go through a
Python connector with upserts and explicit commits; a step ends when Pathway says that its time is complete and every
change of the view has been handed to the subscriber.

A column cannot be called `id` in Pathway, so keys are `auction_id`, `bid_id` and `row_id` here, and are renamed in answers.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from typing import Any, Final, TypeAlias

import pathway as pw
import pyarrow as pa
import pyarrow.compute as pc
from pathway.internals.parse_graph import G
from pyarrow import csv

from . import nexmark, pathway_nexmark, workloads
from .contract import QUERIES, Answer, Measurement, Run, Settings, best_of, spread

Table: TypeAlias = Any
"""Most of what Pathway's tables give is `Any` to a type checker; this says at least what is meant."""

_PATIENCE_SECONDS: Final = 600.0


def _q4(auction: Table, bid: Table) -> Table:
    joined = auction.join(bid, pw.left.auction_id == pw.right.auction).select(
        pw.left.auction_id,
        pw.left.category,
        pw.left.date_time,
        pw.left.expires,
        pw.right.bid_time,
        pw.right.price,
    )
    in_time = joined.filter((pw.this.bid_time >= pw.this.date_time) & (pw.this.bid_time <= pw.this.expires))
    final = in_time.groupby(pw.this.auction_id, pw.this.category).reduce(
        pw.this.category, final=pw.reducers.max(pw.this.price)
    )
    return final.groupby(pw.this.category).reduce(pw.this.category, price=pw.reducers.avg(pw.this.final))


def _q9(auction: Table, bid: Table) -> Table:
    """The winner is the greatest of one integer: price first, then the earlier bid."""
    joined = auction.join(bid, pw.left.auction_id == pw.right.auction).select(
        *_left(auction),
        pw.right.bidder,
        pw.right.price,
        pw.right.bid_time,
        pw.right.bid_extra,
        rank=pw.right.price * 2**32 - pw.right.bid_id,
    )
    in_time = joined.filter((pw.this.bid_time >= pw.this.date_time) & (pw.this.bid_time <= pw.this.expires))
    best = in_time.groupby(pw.this.auction_id).reduce(best=pw.reducers.argmax(pw.this.rank))
    return in_time.ix(best.best, context=best).without(pw.this.rank)


def _q18(auction: Table, bid: Table) -> Table:
    del auction
    last = bid.groupby(pw.this.bidder, pw.this.auction).reduce(last=pw.reducers.argmax(pw.this.bid_time))
    return bid.ix(last.last, context=last)


def _q20(auction: Table, bid: Table) -> Table:
    wanted = auction.filter(pw.this.category == 10)
    return bid.join(wanted, pw.left.auction == pw.right.auction_id).select(
        *_left(bid), *(pw.right[name] for name in wanted.column_names() if name != "auction_id")
    )


def _left(table: Table) -> list[Any]:
    return [pw.left[name] for name in table.column_names()]


def _run_query(name: str) -> Run:
    return lambda settings: best_of(settings.repeats, _query(name, settings))


def _answer_query(name: str) -> Answer:
    def answer(settings: Settings) -> pa.Table:
        G.clear()
        found = pw.debug.table_to_pandas(_plan(name, settings), include_id=False)
        return _with_oracle_names(name, pa.Table.from_pandas(found, preserve_index=False))

    return answer


def _run_churn(settings: Settings) -> Measurement:
    work = workloads.churn(settings.events, settings.batches, seed=settings.seed)
    return _Stepper(_ChurnSchema, _churn, [work.rows, *work.batches], {"id": "row_id"}).measure()


def _answer_churn(settings: Settings) -> pa.Table:
    work = workloads.churn(settings.events, settings.batches, seed=settings.seed)
    stepper = _Stepper(_ChurnSchema, _churn, [work.rows, *work.batches], {"id": "row_id"})
    stepper.measure()
    return stepper.state()


def _run_closure(settings: Settings) -> Measurement:
    return _closure_stepper(settings, min(settings.batches, 10)).measure()


def _answer_closure(settings: Settings) -> pa.Table:
    stepper = _closure_stepper(settings, 1)
    stepper.measure()
    return stepper.state()


RUNS: Final[dict[str, Run]] = {
    **{name: _run_query(name) for name in QUERIES},
    "churn": _run_churn,
    "closure": _run_closure,
    **pathway_nexmark.RUNS,
}
ANSWERS: Final[dict[str, Answer]] = {
    **{name: _answer_query(name) for name in QUERIES},
    "churn": _answer_churn,
    "closure": _answer_closure,
    **pathway_nexmark.ANSWERS,
}


class _ChurnSchema(pw.Schema):
    row_id: int = pw.column_definition(primary_key=True)
    group_key: int
    value: int


class _EdgeSchema(pw.Schema):
    src: int = pw.column_definition(primary_key=True)
    dst: int = pw.column_definition(primary_key=True)
    present: bool


def _churn(rows: Table) -> Table:
    return rows.groupby(pw.this.group_key).reduce(
        pw.this.group_key,
        n=pw.reducers.count(),  # type: ignore[no-untyped-call]
        total=pw.reducers.sum(pw.this.value),
    )


def _closure(edges: Table) -> Table:
    kept = (
        edges.filter(pw.this.present).select(pw.this.src, pw.this.dst).with_id_from(pw.this.src, pw.this.dst)
    )
    return pw.iterate(_reach_further, reach=pw.iterate_universe(kept), edges=kept).reach


def _reach_further(reach: Table, edges: Table) -> dict[str, Table]:
    longer = reach.join(edges, pw.left.dst == pw.right.src).select(pw.left.src, pw.right.dst)
    both = edges.concat_reindex(longer).groupby(pw.this.src, pw.this.dst).reduce(pw.this.src, pw.this.dst)
    return {"reach": both.with_id_from(pw.this.src, pw.this.dst), "edges": edges}


def _closure_stepper(settings: Settings, cuts: int) -> _Stepper:
    """Edges are upserted with a flag: a step turns one off, the next one turns it on again."""
    work = workloads.graph(settings.chains, settings.depth, cuts, settings.seed)
    loaded = work.edges.append_column("present", pa.array([True] * work.edges.num_rows))
    off = [pa.table({"src": [src], "dst": [dst], "present": [False]}) for src, dst in work.cuts]
    on = [pa.table({"src": [src], "dst": [dst], "present": [True]}) for src, dst in work.cuts]
    toggles = [step for pair in zip(off, on, strict=True) for step in pair]
    return _Stepper(_EdgeSchema, _closure, [loaded, *toggles[:cuts]], {})


class _Stepper:
    """Feeds batches one by one, each after the view has taken in the one before, and times them."""

    def __init__(
        self,
        schema: type[pw.Schema],
        program: Callable[[Table], Table],
        batches: Sequence[pa.Table],
        renames: dict[str, str],
    ) -> None:
        G.clear()
        rows = [
            batch.rename_columns([renames.get(c, c) for c in batch.column_names]).to_pylist()
            for batch in batches
        ]
        self._done = threading.Event()
        self._rows: dict[Any, dict[str, Any]] = {}
        self._subject = _Subject(rows, self._done)
        table = pw.io.python.read(self._subject, schema=schema, autocommit_duration_ms=None)
        pw.io.subscribe(program(table), on_change=self._on_change, on_time_end=lambda time: self._done.set())

    def measure(self) -> Measurement:
        """Run to the end of the batches; the first one is the load."""
        _run()
        load, *steps = self._subject.seconds
        return spread(steps, load, self._subject.cpu_seconds)

    def state(self) -> pa.Table:
        """What the subscriber knows of the view."""
        return pa.Table.from_pylist(list(self._rows.values()))

    def _on_change(self, key: Any, row: dict[str, Any], time: int, is_addition: bool) -> None:
        if is_addition:
            self._rows[key] = row
        elif self._rows.get(key) == row:
            del self._rows[key]


class _Subject(pw.io.python.ConnectorSubject):
    """Sends a batch, commits, waits for the view, notes the time."""

    def __init__(self, batches: list[list[dict[str, Any]]], done: threading.Event) -> None:
        super().__init__(session_type="upsert")
        self._batches = batches
        self._view_done = done
        self.seconds: list[float] = []
        self.cpu_seconds = 0.0

    def run(self) -> None:
        """Called by Pathway in a thread of its own."""
        self._send(self._batches[0])
        cpu = time.process_time()
        for batch in self._batches[1:]:
            self._send(batch)
        self.cpu_seconds = time.process_time() - cpu

    def _send(self, batch: list[dict[str, Any]]) -> None:
        self._view_done.clear()
        start = time.perf_counter()
        for row in batch:
            self.next(**row)
        self.commit()
        if not self._view_done.wait(_PATIENCE_SECONDS):
            raise TimeoutError(f"no result within {_PATIENCE_SECONDS:.0f} s of a commit of {len(batch)} rows")
        self.seconds.append(time.perf_counter() - start)


_PLANS: Final = {"q4": _q4, "q9": _q9, "q18": _q18, "q20": _q20}
_ALL: Final = ("auction_id", "item_name", "description", "initial_bid", "reserve")
_USED: Final[dict[str, tuple[tuple[str, ...], tuple[str, ...]]]] = {
    "q4": (("auction_id", "date_time", "expires", "category"), ("bid_id", "auction", "price", "bid_time")),
    "q9": (
        (*_ALL, "date_time", "expires", "seller", "category", "extra"),
        ("bid_id", "auction", "bidder", "price", "bid_time", "bid_extra"),
    ),
    "q18": (
        ("auction_id",),
        ("bid_id", "auction", "bidder", "price", "channel", "url", "bid_time", "bid_extra"),
    ),
    "q20": (
        (*_ALL, "date_time", "expires", "seller", "category", "extra"),
        ("bid_id", "auction", "bidder", "price", "channel", "url", "bid_time", "bid_extra"),
    ),
}
_ORACLE_NAMES: Final[dict[str, dict[str, str]]] = {
    "q4": {},
    "q9": {"auction_id": "id", "bid_time": "bid_date_time"},
    "q18": {"bid_id": "id", "bid_time": "date_time", "bid_extra": "extra"},
    "q20": {
        "bid_id": "id",
        "bid_time": "date_time",
        "bid_extra": "extra",
        "date_time": "auction_date_time",
        "extra": "auction_extra",
    },
}


def _query(name: str, settings: Settings) -> Callable[[], None]:
    _files(name, settings)

    def query() -> None:
        G.clear()
        pw.io.null.write(_plan(name, settings))
        _run()

    return query


def _run() -> None:
    pw.run(monitoring_level=pw.MonitoringLevel.NONE)


def _plan(name: str, settings: Settings) -> Table:
    return _PLANS[name](*(_read(path, key) for path, key in _files(name, settings)))


def _read(path: str, key: str) -> Table:
    with open(path) as source:
        names = source.readline().strip().replace('"', "").split(",")
    columns = {
        n: pw.column_definition(dtype=str if n in _TEXTS else int, primary_key=n == key) for n in names
    }
    return pw.io.csv.read(path, schema=pw.schema_builder(columns), mode="static")


_TEXTS: Final = frozenset(("item_name", "description", "extra", "bid_extra", "channel", "url"))


def _files(name: str, settings: Settings) -> list[tuple[str, str]]:
    """The CSV files of a query and their keys, written if they are not there yet."""
    paths = [
        (settings.data / f"{name}-{settings.events}-{settings.seed}-{t}.csv", f"{t}_id")
        for t in ("auction", "bid")
    ]
    if not all(path.exists() for path, _ in paths):
        events = nexmark.stored(settings.events, settings.data, settings.seed)
        bid = events.bid.rename_columns(
            ["bid_id", "auction", "bidder", "price", "channel", "url", "bid_time", "bid_extra"]
        )
        auction = events.auction.rename_columns(["auction_id", *events.auction.column_names[1:]])
        for (path, _), table, used in zip(paths, (auction, bid), _USED[name], strict=True):
            csv.write_csv(_times_as_integers(table.select(used)), path)
    return [(str(path), key) for path, key in paths]


def _times_as_integers(table: pa.Table) -> pa.Table:
    times = [i for i, field in enumerate(table.schema) if pa.types.is_timestamp(field.type)]
    for i in times:
        table = table.set_column(i, table.schema.names[i], table.column(i).cast(pa.int64()))
    return table


def _with_oracle_names(name: str, found: pa.Table) -> pa.Table:
    renamed = found.rename_columns([_ORACLE_NAMES[name].get(column, column) for column in found.column_names])
    for i, column in enumerate(renamed.column_names):
        if column.endswith("date_time") or column == "expires":
            renamed = renamed.set_column(i, column, pc.cast(renamed.column(i), pa.timestamp("us")))
    return renamed
