"""Polars: recomputes with the lazy engine from Arrow that is already in its memory.

Whole queries are one lazy plan. For changes, the loaded frame takes the new rows by `update`, the aggregate is computed
again, and anti-joins against the last one give the difference.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Final

import polars as pl
import pyarrow as pa

from . import nexmark, workloads
from .contract import QUERIES, Answer, Measurement, Run, Settings, best_of, latencies, timed


def _q4(auction: pl.LazyFrame, bid: pl.LazyFrame) -> pl.LazyFrame:
    best = _bids_in_time(auction.select("id", "category", "date_time", "expires"), bid.select(*_Q4_BID))
    final = best.group_by("id", "category").agg(pl.col("price").max())
    return final.group_by("category").agg(pl.col("price").mean())


def _q9(auction: pl.LazyFrame, bid: pl.LazyFrame) -> pl.LazyFrame:
    """Ranks narrow rows first: only the winners' texts are gathered."""
    keys = auction.select("id", "date_time", "expires")
    winners = (
        _bids_in_time(keys, bid.select("auction", "price", "date_time", pl.col("id").alias("bid_id")))
        .sort("price", "bid_date_time", descending=[True, False])
        .unique("id", keep="first", maintain_order=True)
        .select("id", "bid_id")
    )
    details = bid.select(
        pl.col("id").alias("bid_id"),
        "bidder",
        "price",
        pl.col("date_time").alias("bid_date_time"),
        pl.col("extra").alias("bid_extra"),
    )
    return auction.join(winners, on="id").join(details, on="bid_id").drop("bid_id")


def _q18(auction: pl.LazyFrame, bid: pl.LazyFrame) -> pl.LazyFrame:
    """The last bid's number for each pair first: only those rows are gathered."""
    del auction
    last = bid.group_by("bidder", "auction").agg(pl.col("id").sort_by("date_time").last())
    return bid.join(last, on="id", how="semi")


def _q20(auction: pl.LazyFrame, bid: pl.LazyFrame) -> pl.LazyFrame:
    wanted = auction.filter(pl.col("category") == 10)
    renamed = wanted.rename({"id": "auction", "date_time": "auction_date_time", "extra": "auction_extra"})
    return bid.join(renamed, on="auction")


def _run_query(name: str) -> Run:
    return lambda settings: best_of(settings.repeats, _query(name, settings))


def _answer_query(name: str) -> Answer:
    return lambda settings: _query(name, settings)().to_arrow()


def _run_churn(settings: Settings) -> Measurement:
    work = workloads.churn(settings.events, settings.batches, seed=settings.seed)
    load = timed(lambda: _Churned(work.rows))
    return latencies(_churn_steps(_Churned(work.rows), work.batches), load.seconds)


def _answer_churn(settings: Settings) -> pa.Table:
    work = workloads.churn(settings.events, settings.batches, seed=settings.seed)
    churned = _Churned(work.rows)
    for step in _churn_steps(churned, work.batches):
        step()
    return churned.groups.to_arrow()


def _run_sort(settings: Settings) -> Measurement:
    frame = _frame(workloads.two_columns(settings.events, settings.seed))
    return best_of(max(5, settings.repeats), lambda: frame.sort("key", "value"))


RUNS: Final[dict[str, Run]] = {
    **{name: _run_query(name) for name in QUERIES},
    "churn": _run_churn,
    "sort": _run_sort,
}
ANSWERS: Final[dict[str, Answer]] = {
    **{name: _answer_query(name) for name in QUERIES},
    "churn": _answer_churn,
}

_PLANS: Final = {"q4": _q4, "q9": _q9, "q18": _q18, "q20": _q20}
_Q4_BID: Final = ("auction", "price", "date_time")


class _Churned:
    """The loaded rows and the aggregate of the last step."""

    def __init__(self, rows: pa.Table) -> None:
        self.rows = _frame(rows)
        self.groups = self._aggregate()

    def step(self, batch: pa.Table) -> tuple[pl.DataFrame, pl.DataFrame]:
        """Take in changed rows; gives the groups' rows that went and that came."""
        self.rows = self.rows.update(_frame(batch), on="id")
        before, self.groups = self.groups, self._aggregate()
        columns = self.groups.columns
        gone = before.join(self.groups, on=columns, how="anti")
        return gone, self.groups.join(before, on=columns, how="anti")

    def _aggregate(self) -> pl.DataFrame:
        grouped = self.rows.lazy().group_by("group_key")
        return grouped.agg(pl.len().cast(pl.Int64).alias("n"), pl.col("value").sum().alias("total")).collect()


def _churn_steps(churned: _Churned, batches: list[pa.Table]) -> Iterator[Callable[[], object]]:
    return (partial(churned.step, batch) for batch in batches)


def _query(name: str, settings: Settings) -> Callable[[], pl.DataFrame]:
    events = nexmark.stored(settings.events, settings.data, settings.seed)
    plan = _PLANS[name](_frame(events.auction).lazy(), _frame(events.bid).lazy())
    return plan.collect


def _bids_in_time(auction: pl.LazyFrame, bid: pl.LazyFrame) -> pl.LazyFrame:
    joined = auction.join(bid.rename({"date_time": "bid_date_time"}), left_on="id", right_on="auction")
    return joined.filter(pl.col("bid_date_time").is_between("date_time", "expires"))


def _frame(table: pa.Table) -> pl.DataFrame:
    frame = pl.from_arrow(table)
    if not isinstance(frame, pl.DataFrame):
        raise TypeError(f"a table became {type(frame).__name__}, not a DataFrame")
    return frame
