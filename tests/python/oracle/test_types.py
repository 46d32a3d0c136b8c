"""The law over all kinds of values: NaN, infinities, decimals, dates, timestamps, bools and lists, beside NULL.

Programs are data here: a name, a typed stream and the SQL that means the same. Each lives through random changes and is compared with
DuckDB after every step. Values come from small sets, so that rows meet, tie and vanish.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from datetime import date, datetime, timedelta
from decimal import Decimal
from functools import cache
from random import Random
from typing import Any

import duckdb
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tailrace as tr

from .effort import count_steps, examples

STEPS = 12


class Typed(tr.Row, table="typed"):
    id: int = tr.key()
    flag: bool | None
    number: float | None
    price: Decimal | None = tr.field(type=tr.decimal(12, 2))
    day: date | None
    moment: datetime | None
    parts: list[int] | None


class Flags(tr.Row):
    flag: bool | None
    n: int
    every: bool | None
    some: bool | None


class Numbers(tr.Row):
    number: float | None
    n: int
    least: float | None
    most: float | None
    kinds: int


class Prices(tr.Row):
    day: date | None
    total: Decimal | None
    least: Decimal | None
    most: Decimal | None


class Days(tr.Row):
    price: Decimal | None = tr.field(type=tr.decimal(12, 2))
    first: date | None
    last: datetime | None


class Plain(tr.Row):
    flag: bool | None
    number: float | None
    price: Decimal | None = tr.field(type=tr.decimal(12, 2))
    day: date | None
    moment: datetime | None
    parts: list[int] | None


class Sum(tr.Row):
    flag: bool | None
    total: float | None


class Pair(tr.Row):
    left: int
    right: int


class Part(tr.Row):
    id: int
    part: int | None


class Ranked(tr.Row):
    id: int
    rank: int
    before: float | None


class Computed(tr.Row):
    id: int
    price: Decimal | None = tr.field(type=tr.decimal(38, 2))
    next: date | None
    hours: datetime | None
    parts: int | None


Stream = tr.Stream[Any]
Program = tuple[Callable[[tr.Table[Typed]], Stream], str]

_ROW = "flag, number, price, day, moment, parts"

PROGRAMS: dict[str, Program] = {
    "all": (lambda t: t, f"SELECT id, {_ROW} FROM typed"),
    "distinct": (lambda t: t.select(Plain).distinct(), f"SELECT DISTINCT {_ROW} FROM typed"),
    "union": (
        lambda t: t.select(Plain) + t.filter(lambda r: tr.some(r.flag)).select(Plain),
        f"SELECT {_ROW} FROM typed UNION ALL SELECT {_ROW} FROM typed WHERE flag",
    ),
    "except": (
        lambda t: (
            t.select(Plain) - t.filter(lambda r: tr.some(r.number) > 1.0).select(Plain).distinct()
        ).positive(),
        f"SELECT {_ROW} FROM typed EXCEPT ALL SELECT DISTINCT {_ROW} FROM typed WHERE number > 1.0",
    ),
    "bools": (
        lambda t: t.group_by(lambda r: r.flag).aggregate(
            lambda flag, g: Flags(
                flag=flag,
                n=g.count(),
                every=g.bool_and(lambda r: tr.some(r.number) > 1.0),
                some=g.bool_or(lambda r: tr.some(r.day) < date(2024, 2, 29)),
            )
        ),
        "SELECT flag, count(*), bool_and(number > 1.0), bool_or(day < DATE '2024-02-29') FROM typed GROUP BY flag",
    ),
    "numbers": (
        lambda t: t.group_by(lambda r: r.number).aggregate(
            lambda number, g: Numbers(
                number=number,
                n=g.count(),
                least=g.min(lambda r: tr.some(r.number)),
                most=g.max(lambda r: tr.some(r.number)),
                kinds=g.count_distinct(lambda r: r.price),
            )
        ),
        "SELECT number, count(*), min(number), max(number), count(DISTINCT price) FROM typed GROUP BY number",
    ),
    "sum_of_numbers": (
        lambda t: t.group_by(lambda r: r.flag).aggregate(
            lambda flag, g: Sum(flag=flag, total=g.sum(lambda r: tr.some(r.number)))
        ),
        "SELECT flag, sum(number) FROM typed GROUP BY flag",
    ),
    "prices": (
        lambda t: t.group_by(lambda r: r.day).aggregate(
            lambda day, g: Prices(
                day=day,
                total=g.sum(lambda r: tr.some(r.price)),
                least=g.min(lambda r: tr.some(r.price)),
                most=g.max(lambda r: tr.some(r.price)),
            )
        ),
        "SELECT day, sum(price), min(price), max(price) FROM typed GROUP BY day",
    ),
    "days": (
        lambda t: t.group_by(lambda r: r.price).aggregate(
            lambda price, g: Days(
                price=price, first=g.min(lambda r: tr.some(r.day)), last=g.max(lambda r: tr.some(r.moment))
            )
        ),
        "SELECT price, min(day), max(moment) FROM typed GROUP BY price",
    ),
    "join_on_numbers": (
        lambda t: _self_join(t, lambda r: r.number),
        "SELECT a.id, b.id FROM typed a JOIN typed b ON a.number = b.number",
    ),
    "join_on_prices_and_days": (
        lambda t: _self_join(t, lambda r: (r.price, r.day)),
        "SELECT a.id, b.id FROM typed a JOIN typed b ON a.price = b.price AND a.day = b.day",
    ),
    "join_on_lists": (
        lambda t: _self_join(t.filter(_whole), lambda r: r.parts),
        "SELECT a.id, b.id FROM typed a JOIN typed b ON a.parts = b.parts AND NOT list_contains(a.parts, 99)",
    ),
    "anti_join_on_times": (
        lambda t: t.anti_join(t.filter(lambda r: tr.some(r.flag)), lambda a: a.moment, lambda b: b.moment),
        f"SELECT id, {_ROW} FROM typed a WHERE NOT EXISTS (SELECT 1 FROM typed b WHERE b.flag AND b.moment = a.moment)",
    ),
    "top_k_of_numbers": (
        lambda t: t.top_k(3, by=lambda r: (tr.desc(r.number, nulls_first=True), tr.asc(r.id))),
        f"SELECT id, {_ROW} FROM typed ORDER BY number DESC NULLS FIRST, id LIMIT 3",
    ),
    "bottom_k_of_each_flag": (
        lambda t: t.group_by(lambda r: r.flag).bottom_k(
            2, by=lambda r: (tr.asc(r.price, nulls_first=False), tr.desc(r.day), r.id)
        ),
        f"SELECT id, {_ROW} FROM typed QUALIFY row_number() OVER "
        "(PARTITION BY flag ORDER BY price ASC NULLS LAST, day DESC NULLS LAST, id) <= 2",
    ),
    "window": (
        lambda t: t.over(
            partition_by=lambda r: r.day,
            order_by=lambda r: (tr.asc(r.moment, nulls_first=True), tr.asc(r.number, nulls_first=True), r.id),
        ).map(lambda r, w: Ranked(id=r.id, rank=w.rank(), before=w.lag(lambda r: tr.some(r.number)))),
        "SELECT id, rank() OVER w, lag(number) OVER w FROM typed "
        "WINDOW w AS (PARTITION BY day ORDER BY moment ASC NULLS FIRST, number ASC NULLS FIRST, id)",
    ),
    "unnest": (
        lambda t: t.flat_map(lambda r: tr.some(r.parts), lambda r, part: Part(id=r.id, part=part)),
        "SELECT id, unnest(parts) FROM typed",
    ),
    "computed": (
        lambda t: t.map(
            lambda r: Computed(
                id=r.id,
                price=tr.some(r.price) + tr.some(r.price),
                next=tr.some(r.day) + timedelta(days=1),
                hours=tr.some(r.moment) - timedelta(hours=25),
                parts=tr.length(tr.some(r.parts)),
            )
        ),
        "SELECT id, price + price, CAST(day + INTERVAL 1 DAY AS DATE), moment - INTERVAL 25 HOUR, len(parts) FROM typed",
    ),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_oracle_values_of_all_types(name: str) -> None:
    stream, sql = PROGRAMS[name]

    @settings(max_examples=examples(6), deadline=None, print_blob=True)
    @given(seed=st.integers(0, 2**32 - 1))
    def law(seed: int) -> None:
        rng, rows = Random(seed), dict[int, dict[str, Any]]()
        with tr.connect() as db:
            table = db.table(Typed)
            view = db.create_view("view", stream(table))
            summed: Counter[tuple[Any, ...]] = Counter()
            for _ in range(STEPS):
                delta = _change(rng, db, rows)[view].delta
                for row in _tuples(delta):
                    summed[row[:-1]] += row[-1]
                expected = _ask(sql, rows)
                assert Counter(_tuples(view.snapshot())) == expected
                assert Counter({row: weight for row, weight in summed.items() if weight}) == expected
        count_steps(STEPS)

    law()


def _self_join(stream: Stream, key: Callable[[Any], Any]) -> Stream:
    return stream.join(stream, key, key, lambda a, b: Pair(left=a.id, right=b.id))


def _whole(row: Typed) -> bool:
    """Without the element that marks lists to be left out."""
    return tr.not_(tr.contains(tr.some(row.parts), 99))


def _change(rng: Random, db: tr.Database, rows: dict[int, dict[str, Any]]) -> tr.Changes:
    """Some rows come, change or go."""
    batch = tr.Batch()
    for _ in range(rng.randint(1, 4)):
        id = rng.randrange(12)
        if id in rows and rng.random() < 0.5:
            del rows[id]
            batch.delete("typed", id)
        else:
            rows[id] = {"id": id, **_values(rng)}
            batch.upsert("typed", rows[id])
    return db.apply(batch)


def _values(rng: Random) -> dict[str, Any]:
    values: dict[str, list[Any]] = {
        "flag": [True, False],
        "number": [math.nan, -math.nan, math.inf, -math.inf, 0.0, -0.0, 1.5, 2.0],
        "price": [Decimal("0.00"), Decimal("-1.25"), Decimal("19.99"), Decimal("9999999999.99")],
        "day": [date(2024, 2, 29), date(1969, 12, 31), date(2024, 3, 1)],
        "moment": [
            datetime(2024, 2, 29, 23, 59, 59, 999_999),
            datetime(1969, 12, 31, 1),
            datetime(2024, 3, 1),
        ],
        "parts": [[], [1], [1, 2], [2, 1], [99]],
    }
    return {name: None if rng.random() < 0.2 else rng.choice(choices) for name, choices in values.items()}


@cache
def _duckdb() -> duckdb.DuckDBPyConnection:
    connection = duckdb.connect()
    connection.execute("SET threads = 1")
    return connection


_SCHEMA = pa.schema(
    [
        ("id", pa.int64()),
        ("flag", pa.bool_()),
        ("number", pa.float64()),
        ("price", pa.decimal128(12, 2)),
        ("day", pa.date32()),
        ("moment", pa.timestamp("us")),
        ("parts", pa.list_(pa.int64())),
    ]
)


def _ask(sql: str, rows: dict[int, dict[str, Any]]) -> Counter[tuple[Any, ...]]:
    _duckdb().register("typed", pa.Table.from_pylist(list(rows.values()), _SCHEMA))
    return Counter(tuple(_plain(value) for value in row) for row in _duckdb().execute(sql).fetchall())


def _tuples(table: pa.Table) -> list[tuple[Any, ...]]:
    return [tuple(_plain(value) for value in row.values()) for row in table.to_pylist()]


def _plain(value: Any) -> Any:
    """A value that equals itself and can be a key: one NaN, one zero, lists as tuples."""
    if isinstance(value, float):
        return "NaN" if math.isnan(value) else value + 0.0
    return tuple(value) if isinstance(value, list) else value
