"""Bytewax: streams of Python objects with state written by hand; one worker.

It has no retractions and its joins keep one row per key and side, so each query is a stateful step of our own, keyed as a
Bytewax user would key it, that takes auctions and bids in any order; results that may still change are given out at the
end of the input. Rows are tuples, times are integers, sources hand out thousands of rows at once: its fastest form.

Churn: one keyed state holds all rows and groups in dictionaries, which beats one state object per group. The source gives
the next batch when the sink has seen the last one's changes.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final, TypeAlias

import bytewax.operators as op
import pyarrow as pa
import pyarrow.compute as pc
from bytewax.dataflow import Dataflow
from bytewax.inputs import DynamicSource, StatelessSourcePartition
from bytewax.operators import KeyedStream, StatefulBatchLogic
from bytewax.outputs import DynamicSink, StatelessSinkPartition
from bytewax.testing import run_main

from . import nexmark, workloads
from .contract import QUERIES, Answer, Measurement, Run, Settings, best_of, spread

Row: TypeAlias = tuple[Any, ...]
Keyed: TypeAlias = "tuple[str, Row]"

_SOURCE_ROWS: Final = 5_000


def _run_query(name: str) -> Run:
    def run(settings: Settings) -> Measurement:
        events = nexmark.stored(settings.events, settings.data, settings.seed)
        return best_of(settings.repeats, lambda: _query(name, events))

    return run


def _answer_query(name: str) -> Answer:
    def answer(settings: Settings) -> pa.Table:
        events = nexmark.stored(settings.events, settings.data, settings.seed)
        return _as_table(_query(name, events), *_OUTPUT[name](events))

    return answer


def _run_churn(settings: Settings) -> Measurement:
    work = workloads.churn(settings.events, settings.batches, seed=settings.seed)
    steps, _ = _churn(work)
    load, *rest = steps.seconds
    return spread(rest, load, steps.cpu_seconds)


def _answer_churn(settings: Settings) -> pa.Table:
    _, logic = _churn(workloads.churn(settings.events, settings.batches, seed=settings.seed))
    rows = [(group, n, total) for group, (n, total) in logic.groups.items() if n]
    return pa.table(dict(zip(("group_key", "n", "total"), map(list, zip(*rows, strict=True)), strict=True)))


RUNS: Final[dict[str, Run]] = {**{name: _run_query(name) for name in QUERIES}, "churn": _run_churn}
ANSWERS: Final[dict[str, Answer]] = {
    **{name: _answer_query(name) for name in QUERIES},
    "churn": _answer_churn,
}


class _Auction(StatefulBatchLogic[Row, Row, None]):
    """One auction: its row, the bids that came before it, and the best bid so far.

    An auction's item is (row,), a bid's is (price, time, row).
    """

    def __init__(self) -> None:
        self.auction: Row | None = None
        self.early: list[Row] = []
        self.best: Row | None = None

    def on_batch(self, values: list[Row]) -> tuple[list[Row], bool]:
        """Keep the best bid within the auction's time; nothing is final yet."""
        bids = [value for value in values if len(value) > 1]
        if len(bids) < len(values):
            self.auction = next(value[0] for value in values if len(value) == 1)
        if self.auction is None:
            self.early += bids
        else:
            self._take(self.auction, self.early + bids if self.early else bids)
            self.early = []
        return [], False

    def on_eof(self) -> tuple[list[Row], bool]:
        """The winner: the auction's row and the bid's row."""
        return ([(self.auction, self.best[2])] if self.best else []), True

    def snapshot(self) -> None:
        """No recovery is set up, so nothing is ever snapshotted."""

    def _take(self, auction: Row, bids: list[Row]) -> None:
        opened, expires = auction[_OPENED], auction[_EXPIRES]
        for bid in bids:
            if opened <= bid[1] <= expires and (
                self.best is None or (-bid[0], bid[1]) < (-self.best[0], self.best[1])
            ):
                self.best = bid


class _Average(StatefulBatchLogic[int, float, None]):
    """The average of what a key saw, at the end."""

    def __init__(self) -> None:
        self.total = 0
        self.count = 0

    def on_batch(self, values: list[int]) -> tuple[list[float], bool]:
        """Add up."""
        self.total += sum(values)
        self.count += len(values)
        return [], False

    def on_eof(self) -> tuple[list[float], bool]:
        """Every value has been seen."""
        return [self.total / self.count], True

    def snapshot(self) -> None:
        """No recovery is set up, so nothing is ever snapshotted."""


class _Last(StatefulBatchLogic[Row, Row, None]):
    """The latest row of a key; an item is (time, row)."""

    def __init__(self) -> None:
        self.last: Row | None = None

    def on_batch(self, values: list[Row]) -> tuple[list[Row], bool]:
        """Later rows replace earlier ones."""
        newest = max(values)
        self.last = newest if self.last is None else max(newest, self.last)
        return [], False

    def on_eof(self) -> tuple[list[Row], bool]:
        """The one that stayed."""
        return ([self.last[1]] if self.last else []), True

    def snapshot(self) -> None:
        """No recovery is set up, so nothing is ever snapshotted."""


class _Expand(StatefulBatchLogic[Row, Row, None]):
    """Bids with their auction's columns as soon as both are there; an item is (is_bid, row)."""

    def __init__(self) -> None:
        self.auction: Row | None = None
        self.early: list[Row] = []

    def on_batch(self, values: list[Row]) -> tuple[list[Row], bool]:
        """Give out at once, since nothing is ever taken back."""
        bids = [row for is_bid, row in values if is_bid]
        if len(bids) < len(values):
            self.auction = next(row for is_bid, row in values if not is_bid)
        if self.auction is None:
            self.early += bids
            return [], False
        found = [(bid, self.auction) for bid in (*self.early, *bids)]
        self.early = []
        return found, False

    def snapshot(self) -> None:
        """No recovery is set up, so nothing is ever snapshotted."""


class _Groups(StatefulBatchLogic[Row, Row, None]):
    """All rows by id, all groups with count and sum; an item is (id, group, value), and () ends a batch.

    Bytewax may hand a batch over in pieces, so its end travels with the data, through the state and to the sink.
    """

    def __init__(self) -> None:
        self.rows: dict[int, tuple[int, int]] = {}
        self.groups: dict[int, tuple[int, int]] = {}

    def on_batch(self, values: list[Row]) -> tuple[list[Row], bool]:
        """Replace rows; give out (group, old, new) of each group that is different now."""
        before: dict[int, tuple[int, int] | None] = {}
        ended = values[-1] == ()
        for row_id, group, value in values[:-1] if ended else values:
            old = self.rows.get(row_id)
            if old is not None:
                self._add(before, old[0], -1, -old[1])
            self._add(before, group, 1, value)
            self.rows[row_id] = (group, value)
        changes: list[Row] = [
            (group, old, self.groups[group]) for group, old in before.items() if old != self.groups[group]
        ]
        return [*changes, ()] if ended else changes, False

    def snapshot(self) -> None:
        """No recovery is set up, so nothing is ever snapshotted."""

    def _add(self, before: dict[int, tuple[int, int] | None], group: int, count: int, total: int) -> None:
        old = self.groups.get(group)
        before.setdefault(group, old)
        self.groups[group] = (old[0] + count, old[1] + total) if old else (count, total)


class _Batches(DynamicSource[Any], StatelessSourcePartition[Any]):
    """Hands out what an iterator gives, batch by batch."""

    def __init__(self, batches: Iterator[Sequence[Any]]) -> None:
        self._batches = batches

    def build(self, step_id: str, worker_index: int, worker_count: int) -> StatelessSourcePartition[Any]:
        """There is one worker, so the source is its only partition."""
        return self

    def next_batch(self) -> Sequence[Any]:
        """The iterator's end is the source's end."""
        return next(self._batches)


class _Seen(DynamicSink[Any], StatelessSinkPartition[Any]):
    """Keeps all results."""

    def __init__(self) -> None:
        self.items: list[Any] = []

    def build(self, step_id: str, worker_index: int, worker_count: int) -> StatelessSinkPartition[Any]:
        """There is one worker, so the sink is its only partition."""
        return self

    def write_batch(self, items: list[Any]) -> None:
        """Keep them."""
        self.items += items


class _Steps(_Seen):
    """Source and sink of churn in one: a batch goes out when the changes of the one before have come in."""

    def __init__(self, batches: Sequence[Sequence[Any]]) -> None:
        super().__init__()
        self.seconds: list[float] = []
        self.cpu_seconds = 0.0
        self._batches = batches

    def source(self) -> Iterator[Sequence[Any]]:
        """While a batch is under way, empty ones keep the dataflow turning."""
        for batch in self._batches:
            done, start, cpu = len(self.seconds), time.perf_counter(), time.process_time()
            self._start = start
            yield batch
            while len(self.seconds) == done:
                yield []
            self.cpu_seconds += (time.process_time() - cpu) if done else 0.0

    def write_batch(self, items: list[Any]) -> None:
        """The batch is through when its end is here."""
        if items[-1][1] == ():
            self.seconds.append(time.perf_counter() - self._start)


def _query(name: str, events: nexmark.Nexmark) -> list[Any]:
    flow, seen = Dataflow(name), _Seen()
    op.output("out", _PLANS[name](flow, events), seen)
    run_main(flow)  # type: ignore[no-untyped-call]
    return seen.items


def _q4(flow: Dataflow, events: nexmark.Nexmark) -> KeyedStream[Any]:
    winners = _winners(flow, events, ("id", "date_time", "expires", "category"), ("price",))
    by_category = op.map("category", winners, lambda item: (str(item[1][0][3]), item[1][1][0]))
    return op.stateful_batch("average", by_category, lambda _: _Average())


def _q9(flow: Dataflow, events: nexmark.Nexmark) -> KeyedStream[Any]:
    return _winners(flow, events, _auction_columns(events), _Q9_BID)


def _q18(flow: Dataflow, events: nexmark.Nexmark) -> KeyedStream[Any]:
    def keyed(rows: list[Row]) -> list[Keyed]:
        return [(f"{row[2]}-{row[1]}", (row[-2], row)) for row in rows]

    bids = op.input("bids", flow, _Batches(map(keyed, _rows(events.bid))))
    return op.stateful_batch("last", bids, lambda _: _Last())


def _q20(flow: Dataflow, events: nexmark.Nexmark) -> KeyedStream[Any]:
    wanted = events.auction.select(_auction_columns(events)).filter(pc.field("category") == 10)
    auctions = op.input("auctions", flow, _Batches(map(_by(0, False), _rows(wanted))))
    bids = op.input("bids", flow, _Batches(map(_by(1, True), _rows(events.bid))))
    return op.stateful_batch("expand", op.merge("both", auctions, bids), lambda _: _Expand())


_PLANS: Final = {"q4": _q4, "q9": _q9, "q18": _q18, "q20": _q20}
_OPENED, _EXPIRES = 1, 2  # places of the times in an auction's row
_Q9_BID: Final = ("bidder", "price", "date_time", "extra")


def _winners(
    flow: Dataflow, events: nexmark.Nexmark, auction: Sequence[str], bid: Sequence[str]
) -> KeyedStream[Any]:
    def keyed_auctions(rows: list[Row]) -> list[Keyed]:
        return [(str(row[0]), (row,)) for row in rows]

    def keyed_bids(rows: list[Row]) -> list[Keyed]:
        return [(str(row[0]), (row[1], row[2], row[3:])) for row in rows]

    auctions = op.input(
        "auctions", flow, _Batches(map(keyed_auctions, _rows(events.auction.select(auction))))
    )
    columns = ["auction", "price", "date_time", *bid]
    bids = op.input("bids", flow, _Batches(map(keyed_bids, _rows(_selected(events.bid, columns)))))
    return op.stateful_batch("winner", op.merge("both", auctions, bids), lambda _: _Auction())


def _by(column: int, is_bid: bool) -> Callable[[list[Row]], list[Keyed]]:
    return lambda rows: [(str(row[column]), (is_bid, row)) for row in rows]


def _churn(work: workloads.Churn) -> tuple[_Steps, _Groups]:
    batches = [[*(("all", row) for row in _tuples(rows)), ("all", ())] for rows in (work.rows, *work.batches)]
    flow, steps, logic = Dataflow("churn"), _Steps(batches), _Groups()
    rows = op.input("rows", flow, _Batches(steps.source()))
    op.output("out", op.stateful_batch("groups", rows, lambda _: logic), steps)
    run_main(flow)  # type: ignore[no-untyped-call]
    return steps, logic


def _auction_columns(events: nexmark.Nexmark) -> list[str]:
    """The times come second and third, where the logic looks for them."""
    first = ["id", "date_time", "expires"]
    return first + [name for name in events.auction.column_names if name not in first]


def _selected(table: pa.Table, columns: Sequence[str]) -> pa.Table:
    """Like `select`, but a column may be asked for twice."""
    return pa.table([table[name] for name in columns], [str(i) for i in range(len(columns))])


def _rows(table: pa.Table) -> Iterator[list[Row]]:
    for batch in table.to_batches(max_chunksize=_SOURCE_ROWS):
        yield _tuples(batch)


def _tuples(table: pa.Table | pa.RecordBatch) -> list[Row]:
    return list(zip(*(_values(column) for column in table.columns), strict=True))


def _values(column: Any) -> list[Any]:
    values: list[Any] = (
        column.cast(pa.int64()) if pa.types.is_timestamp(column.type) else column
    ).to_pylist()
    return values


_Q20_NAMES: Final[dict[str, str]] = {
    "id": "auction_id",
    "date_time": "auction_date_time",
    "extra": "auction_extra",
}
_OUTPUT: Final[dict[str, Callable[[nexmark.Nexmark], tuple[list[str], Callable[[Any], Row]]]]] = {
    "q4": lambda events: (["category", "price"], lambda item: (int(item[0]), item[1])),
    "q9": lambda events: (
        [*_auction_columns(events), "bidder", "price", "bid_date_time", "bid_extra"],
        lambda item: (*item[1][0], *item[1][1]),
    ),
    "q18": lambda events: (events.bid.column_names, lambda item: item[1]),
    "q20": lambda events: (
        [*events.bid.column_names, *(_Q20_NAMES.get(name, name) for name in _auction_columns(events))],
        lambda item: (*item[1][0], *item[1][1]),
    ),
}


def _as_table(items: list[Any], names: list[str], row: Callable[[Any], Row]) -> pa.Table:
    columns = zip(*map(row, items), strict=True)
    return pa.table({name: _column(name, list(values)) for name, values in zip(names, columns, strict=True)})


def _column(name: str, values: list[Any]) -> pa.Array:
    is_time = name.endswith("date_time") or name == "expires"
    return pa.array(values, pa.timestamp("us") if is_time else None)
