"""The Nexmark queries in Pathway: all but q6, whose frame of the last ten rows of a partition it does not have.

CSV files hold just the columns that a query uses, times are integers of microseconds, so that tumbling windows are integer arithmetic:
all in Pathway's favour. `id` is no name for a column in Pathway, so a person's is `person_id` here, and is renamed in answers.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import pathway as pw
import pyarrow as pa
import pyarrow.compute as pc
from pathway.internals.parse_graph import G
from pyarrow import csv

from . import nexmark_sql
from .contract import Answer, Measurement, Run, Settings, best_of

Table: TypeAlias = Any
Plan: TypeAlias = Callable[..., Table]

SECOND: Final = 1_000_000
KEYS: Final = {"person": "person_id", "auction": "auction_id", "bid": "bid_id", "side_input": "key"}
TEXTS: Final = frozenset(
    ("name", "email_address", "credit_card", "city", "state", "item_name", "description", "extra", "channel", "url", "value")
)  # fmt: skip
TIMES: Final = ("date_time", "expires", "starttime", "endtime")


@dataclass(frozen=True)
class Program:
    """A plan and the columns that it reads, by table."""

    plan: Plan
    used: dict[str, tuple[str, ...]]


BID: Final = ("auction", "bidder", "price", "date_time", "extra")
WHOLE_BID: Final = ("auction", "bidder", "price", "channel", "url", "date_time", "extra")
WHOLE_AUCTION: Final = (
    "item_name", "description", "initial_bid", "reserve", "date_time", "expires", "seller", "category", "extra",
)  # fmt: skip


def _q00(bid: Table) -> Table:
    return bid.select(*_columns(BID))


def _q01(bid: Table) -> Table:
    return bid.select(*_columns(("auction", "bidder", "date_time", "extra")), price=pw.this.price * 0.908)


def _q02(bid: Table) -> Table:
    return bid.filter(pw.this.auction % 123 == 0).select(pw.this.auction, pw.this.price)


def _q03(person: Table, auction: Table) -> Table:
    states = (pw.this.state == "OR") | (pw.this.state == "ID") | (pw.this.state == "CA")
    sellers, offers = person.filter(states), auction.filter(pw.this.category == 10)
    return offers.join(sellers, pw.left.seller == pw.right.person_id).select(
        pw.right.name, pw.right.city, pw.right.state, id_=pw.left.auction_id
    )


def _q04(auction: Table, bid: Table) -> Table:
    final = (
        _in_time(auction, bid)
        .groupby(pw.this.auction_id, pw.this.category)
        .reduce(pw.this.category, final=pw.reducers.max(pw.this.price))
    )
    return final.groupby(pw.this.category).reduce(pw.this.category, final=pw.reducers.avg(pw.this.final))


def _q05(bid: Table) -> Table:
    """A bid counts in five windows of ten seconds, one every two seconds."""
    start = pw.this.date_time // (2 * SECOND) * (2 * SECOND)
    starts = pw.make_tuple(*(start - 2 * SECOND * back for back in range(5)))
    slid = bid.select(pw.this.auction, starttime=starts).flatten(pw.this.starttime)
    counted = slid.groupby(pw.this.auction, pw.this.starttime).reduce(
        pw.this.auction, pw.this.starttime, num=pw.reducers.count()
    )
    best = counted.groupby(pw.this.starttime).reduce(pw.this.starttime, most=pw.reducers.max(pw.this.num))
    return counted.join(best, pw.left.starttime == pw.right.starttime, pw.left.num == pw.right.most).select(
        pw.left.auction, pw.left.num, pw.left.starttime
    )


def _q07(bid: Table) -> Table:
    """A time at the border of two windows belongs to both, as in the SQL."""
    windowed = bid.select(pw.this.price, starttime=_tumbled(pw.this.date_time))
    best = windowed.groupby(pw.this.starttime).reduce(pw.this.starttime, most=pw.reducers.max(pw.this.price))
    joined = bid.join(best, pw.left.price == pw.right.most).select(
        *(pw.left[name] for name in BID), pw.right.starttime
    )
    inside = (pw.this.date_time >= pw.this.starttime) & (pw.this.date_time <= pw.this.starttime + 10 * SECOND)
    return joined.filter(inside).without(pw.this.starttime)


def _q08(person: Table, auction: Table) -> Table:
    came = person.select(pw.this.person_id, pw.this.name, starttime=_tumbled(pw.this.date_time))
    sold = auction.select(pw.this.seller, starttime=_tumbled(pw.this.date_time))
    sellers = sold.groupby(pw.this.seller, pw.this.starttime).reduce(pw.this.seller, pw.this.starttime)
    return came.join(
        sellers, pw.left.person_id == pw.right.seller, pw.left.starttime == pw.right.starttime
    ).select(pw.left.name, pw.left.starttime, id_=pw.left.person_id)


def _q09(auction: Table, bid: Table) -> Table:
    """The winner is the greatest of one integer: price first, then the earlier bid."""
    offers = auction.select(pw.this.auction_id, *_columns(WHOLE_AUCTION))
    joined = offers.join(bid, pw.left.auction_id == pw.right.auction).select(
        *(pw.left[name] for name in ("auction_id", *WHOLE_AUCTION)),
        pw.right.auction,
        pw.right.bidder,
        pw.right.price,
        bid_date_time=pw.right.date_time,
        bid_extra=pw.right.extra,
        rank=pw.right.price * 2**32 - pw.right.bid_id,
    )
    inside = (pw.this.bid_date_time >= pw.this.date_time) & (pw.this.bid_date_time <= pw.this.expires)
    in_time = joined.filter(inside)
    best = in_time.groupby(pw.this.auction_id).reduce(best=pw.reducers.argmax(pw.this.rank))
    return in_time.ix(best.best, context=best).without(pw.this.rank).rename({"auction_id": "id_"})


def _q10(bid: Table) -> Table:
    moment = pw.this.date_time.dt.utc_from_timestamp(unit="us")
    return bid.select(*_columns(BID), day=moment.dt.strftime("%Y-%m-%d"), minute=moment.dt.strftime("%H:%M"))


def _q11(bid: Table) -> Table:
    sessions = bid.windowby(
        pw.this.date_time, window=pw.temporal.session(max_gap=10 * SECOND), instance=pw.this.bidder
    )
    return sessions.reduce(
        bidder=pw.this._pw_instance,
        bid_count=pw.reducers.count(),
        starttime=pw.reducers.min(pw.this.date_time),
        endtime=pw.reducers.max(pw.this.date_time),
    )


def _q12(bid: Table) -> Table:
    windowed = bid.select(pw.this.bidder, starttime=_tumbled(pw.this.date_time))
    return windowed.groupby(pw.this.bidder, pw.this.starttime).reduce(
        pw.this.bidder, pw.this.starttime, bid_count=pw.reducers.count()
    )


def _q13(bid: Table, side_input: Table) -> Table:
    keyed = bid.select(*_columns(("auction", "bidder", "price", "date_time")), side=pw.this.auction % 10000)
    return keyed.join(side_input, pw.left.side == pw.right.key).select(
        *(pw.left[name] for name in ("auction", "bidder", "price", "date_time")), pw.right.value
    )


def _q14(bid: Table) -> Table:
    price, hour = pw.this.price * 0.908, pw.this.date_time // (3600 * SECOND) % 24
    kind = pw.if_else(
        (hour >= 8) & (hour <= 18),
        "dayTime",
        pw.if_else((hour <= 6) | (hour >= 20), "nightTime", "otherTime"),
    )
    return bid.filter((price > 1_000_000) & (price < 50_000_000)).select(
        *_columns(("auction", "bidder", "date_time", "extra")),
        price=price,
        bid_time_type=kind,
        c_counts=pw.this.extra.str.count("c"),
    )


def _q15(bid: Table) -> Table:
    dated = bid.select(*_columns(("auction", "bidder", "price")), day=_day(pw.this.date_time))
    return dated.groupby(pw.this.day).reduce(
        pw.this.day, **_ranks(), **_distinct("bidder"), **_distinct("auction")
    )


def _q16(bid: Table) -> Table:
    dated = bid.select(
        *_columns(("auction", "bidder", "price", "channel")),
        day=_day(pw.this.date_time),
        minute=pw.this.date_time.dt.utc_from_timestamp(unit="us").dt.strftime("%H:%M"),
    )
    return dated.groupby(pw.this.channel, pw.this.day).reduce(
        pw.this.channel,
        pw.this.day,
        minute=pw.reducers.max(pw.this.minute),
        **_ranks(),
        **_distinct("bidder"),
        **_distinct("auction"),
    )


def _q17(bid: Table) -> Table:
    dated = bid.select(*_columns(("auction", "price")), day=_day(pw.this.date_time))
    return dated.groupby(pw.this.auction, pw.this.day).reduce(
        pw.this.auction,
        pw.this.day,
        **_ranks(),
        min_price=pw.reducers.min(pw.this.price),
        max_price=pw.reducers.max(pw.this.price),
        avg_price=pw.reducers.avg(pw.this.price),
        sum_price=pw.reducers.sum(pw.this.price),
    )


def _q18(bid: Table) -> Table:
    last = bid.groupby(pw.this.bidder, pw.this.auction).reduce(last=pw.reducers.argmax(pw.this.date_time))
    return bid.ix(last.last, context=last)


def _q20(auction: Table, bid: Table) -> Table:
    wanted = auction.filter(pw.this.category == 10)
    more = ("item_name", "description", "initial_bid", "reserve", "expires", "seller", "category")
    return bid.join(wanted, pw.left.auction == pw.right.auction_id).select(
        *(pw.left[name] for name in ("auction", "bidder", "price", "channel", "url")),
        *(pw.right[name] for name in more),
        bid_date_time=pw.left.date_time,
        bid_extra=pw.left.extra,
        auction_date_time=pw.right.date_time,
        auction_extra=pw.right.extra,
    )


def _q19(bid: Table) -> Table:
    """The ten best of an auction: all of its bids in order, cut off, and fetched."""
    ranked = bid.select(pw.this.auction, rank=pw.make_tuple(-pw.this.price, pw.this.bid_id, pw.this.id))
    best = ranked.groupby(pw.this.auction).reduce(ranks=pw.reducers.sorted_tuple(pw.this.rank))
    cut = best.select(places=pw.apply_with_type(_first_ten, list[tuple[int, pw.Pointer]], pw.this.ranks))
    places = cut.flatten(pw.this.places).select(
        rank_number=pw.this.places.get(0), at=pw.declare_type(pw.Pointer, pw.this.places.get(1))
    )
    return places.select(
        pw.this.rank_number, *(bid.ix(pw.this.at, context=places)[name] for name in WHOLE_BID)
    )


def _q21(bid: Table) -> Table:
    named = bid.select(
        *_columns(("auction", "bidder", "price", "channel")),
        lowered=pw.this.channel.str.lower(),
        found=pw.apply_with_type(_channel_id, str, pw.this.url),
    )
    hot = {"apple": "0", "google": "1", "facebook": "2", "baidu": "3"}
    channel_id: Any = pw.this.found
    for name, number in hot.items():
        channel_id = pw.if_else(pw.this.lowered == name, number, channel_id)
    return named.select(*_columns(("auction", "bidder", "price", "channel")), channel_id=channel_id).filter(
        pw.this.channel_id != ""
    )


def _q22(bid: Table) -> Table:
    return bid.select(
        *_columns(("auction", "bidder", "price", "channel")),
        **{
            f"dir{number}": pw.apply_with_type(_url_part, str, pw.this.url, number + 2)
            for number in (1, 2, 3)
        },
    )


_AUCTION_TIMES: Final = ("date_time", "expires", "category")
PROGRAMS: Final[dict[str, Program]] = {
    "nexmark_q00": Program(_q00, {"bid": BID}),
    "nexmark_q01": Program(_q01, {"bid": BID}),
    "nexmark_q02": Program(_q02, {"bid": ("auction", "price")}),
    "nexmark_q03": Program(_q03, {"person": ("name", "city", "state"), "auction": ("seller", "category")}),
    "nexmark_q04": Program(_q04, {"auction": _AUCTION_TIMES, "bid": ("auction", "price", "date_time")}),
    "nexmark_q05": Program(_q05, {"bid": ("auction", "date_time")}),
    "nexmark_q07": Program(_q07, {"bid": BID}),
    "nexmark_q08": Program(_q08, {"person": ("name", "date_time"), "auction": ("seller", "date_time")}),
    "nexmark_q09": Program(_q09, {"auction": WHOLE_AUCTION, "bid": BID}),
    "nexmark_q10": Program(_q10, {"bid": BID}),
    "nexmark_q11": Program(_q11, {"bid": ("bidder", "date_time")}),
    "nexmark_q12": Program(_q12, {"bid": ("bidder", "date_time")}),
    "nexmark_q13": Program(
        _q13, {"bid": ("auction", "bidder", "price", "date_time"), "side_input": ("value",)}
    ),
    "nexmark_q14": Program(_q14, {"bid": BID}),
    "nexmark_q15": Program(_q15, {"bid": ("auction", "bidder", "price", "date_time")}),
    "nexmark_q16": Program(_q16, {"bid": ("auction", "bidder", "price", "channel", "date_time")}),
    "nexmark_q17": Program(_q17, {"bid": ("auction", "price", "date_time")}),
    "nexmark_q18": Program(_q18, {"bid": WHOLE_BID}),
    "nexmark_q19": Program(_q19, {"bid": WHOLE_BID}),
    "nexmark_q20": Program(_q20, {"auction": WHOLE_AUCTION, "bid": WHOLE_BID}),
    "nexmark_q21": Program(_q21, {"bid": ("auction", "bidder", "price", "channel", "url")}),
    "nexmark_q22": Program(_q22, {"bid": ("auction", "bidder", "price", "channel", "url")}),
}


def _run(name: str) -> Run:
    def run(settings: Settings) -> Measurement:
        _files(name, settings)
        found = best_of(settings.repeats, lambda: _to_nowhere(name, settings))
        return Measurement(
            found.seconds, found.cpu_seconds, details={"events_per_second": settings.events / found.seconds}
        )

    return run


def _answer(name: str) -> Answer:
    def answer(settings: Settings) -> pa.Table:
        G.clear()
        found = pw.debug.table_to_pandas(_table(name, settings), include_id=False)
        return _with_oracle_types(pa.Table.from_pandas(found, preserve_index=False))

    return answer


RUNS: Final[dict[str, Run]] = {name: _run(name) for name in PROGRAMS}
ANSWERS: Final[dict[str, Answer]] = {name: _answer(name) for name in PROGRAMS}


def _to_nowhere(name: str, settings: Settings) -> None:
    G.clear()
    pw.io.null.write(_table(name, settings))
    pw.run(monitoring_level=pw.MonitoringLevel.NONE)


def _table(name: str, settings: Settings) -> Table:
    files = _files(name, settings)
    return PROGRAMS[name].plan(**{table: _read(table, path) for table, path in files.items()})


def _read(table: str, path: str) -> Table:
    with open(path) as source:
        names = source.readline().strip().replace('"', "").split(",")
    columns = {
        name: pw.column_definition(dtype=str if name in TEXTS else int, primary_key=name == KEYS[table])
        for name in names
    }
    return pw.io.csv.read(path, schema=pw.schema_builder(columns), mode="static")


def _files(name: str, settings: Settings) -> dict[str, str]:
    """The CSV files of a query, written if they are not there yet."""
    used = PROGRAMS[name].used
    paths = {t: settings.data / f"{name}-{settings.events}-{settings.seed}-{t}.csv" for t in used}
    if not all(path.exists() for path in paths.values()):
        tables = nexmark_sql.stored(name, settings)
        for table, columns in used.items():
            csv.write_csv(_keyed(table, tables[table]).select([KEYS[table], *columns]), paths[table])
    return {table: str(path) for table, path in paths.items()}


def _keyed(table: str, rows: pa.Table) -> pa.Table:
    """With a key that Pathway takes, and times as integers."""
    if table == "bid":
        rows = rows.append_column("bid_id", pa.array(range(rows.num_rows)))
    rows = rows.rename_columns([KEYS[table] if name == "id" else name for name in rows.column_names])
    for i, field in enumerate(rows.schema):
        if pa.types.is_timestamp(field.type):
            rows = rows.set_column(i, field.name, rows.column(i).cast(pa.int64()))
    return rows


def _with_oracle_types(found: pa.Table) -> pa.Table:
    found = found.rename_columns(["id" if name == "id_" else name for name in found.column_names])
    for i, name in enumerate(found.column_names):
        if name.endswith(TIMES):
            found = found.set_column(i, name, pc.cast(found.column(i), pa.timestamp("us")))
    return found


def _columns(names: tuple[str, ...]) -> list[Any]:
    return [pw.this[name] for name in names]


def _in_time(auction: Table, bid: Table) -> Table:
    """Bids within the time of their auctions."""
    joined = auction.join(bid, pw.left.auction_id == pw.right.auction).select(
        pw.left.auction_id,
        pw.left.category,
        pw.left.date_time,
        pw.left.expires,
        pw.right.price,
        bid_time=pw.right.date_time,
    )
    return joined.filter((pw.this.bid_time >= pw.this.date_time) & (pw.this.bid_time <= pw.this.expires))


def _tumbled(moment: Any) -> Any:
    return moment // (10 * SECOND) * (10 * SECOND)


def _day(moment: Any) -> Any:
    return moment.dt.utc_from_timestamp(unit="us").dt.strftime("%Y-%m-%d")


def _price_ranks() -> dict[str, Any]:
    price = pw.this.price
    return {
        "rank1": price < 10_000,
        "rank2": (price >= 10_000) & (price < 1_000_000),
        "rank3": price >= 1_000_000,
    }


def _ranks() -> dict[str, Any]:
    """How many bids there are, in all and by price."""
    counts = {
        f"{rank}_bids": pw.reducers.sum(pw.if_else(is_it, 1, 0)) for rank, is_it in _price_ranks().items()
    }
    return {"total_bids": pw.reducers.count(), **counts}


def _distinct(column: str) -> dict[str, Any]:
    """How many different values there are, in all and by price: those of other rows are one value more, if there are such rows."""
    value = pw.this[column]
    found = {f"total_{column}s": pw.reducers.count_distinct(value)}
    for rank, is_it in _price_ranks().items():
        others = pw.reducers.max(pw.if_else(is_it, 0, 1))
        found[f"{rank}_{column}s"] = pw.reducers.count_distinct(pw.if_else(is_it, value, -1)) - others
    return found


def _first_ten(ranks: Any) -> list[tuple[int, Any]]:
    return [(place + 1, rank[2]) for place, rank in enumerate(ranks[:10])]


def _channel_id(url: str) -> str:
    return url.partition("&channel_id=")[2].partition("&")[0]


def _url_part(url: str, number: int) -> str:
    return url.split("/")[number]
