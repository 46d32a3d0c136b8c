"""Streams: each operator on a few rows whose answer can be seen, and the mistakes that a stream refuses.

The oracle tests the operators in depth; here stands what it cannot say in SQL, and what a reader wants to see once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

import tailrace as tr


class Bid(tr.Row):
    id: int = tr.key()
    auction: int
    price: float
    note: str | None


class Auction(tr.Row):
    id: int = tr.key()
    item: str
    tags: list[str]


class Pair(tr.Row):
    left: int | None
    right: int | None


class Text(tr.Row):
    text: str | None


BIDS = [
    Bid(id=1, auction=7, price=10.0, note="x"),
    Bid(id=2, auction=7, price=12.5, note=None),
    Bid(id=3, auction=8, price=4.0, note="y"),
    Bid(id=4, auction=9, price=4.0, note="z"),
]
AUCTIONS = [
    Auction(id=7, item="lamp", tags=["old", "red"]),
    Auction(id=8, item="chair", tags=[]),
    Auction(id=6, item="rug", tags=["red"]),
]


@pytest.fixture
def bids(db: tr.Database) -> tr.Table[Bid]:
    table = db.table(Bid)
    db.insert(table, BIDS)
    return table


@pytest.fixture
def auctions(db: tr.Database) -> tr.Table[Auction]:
    table = db.table(Auction)
    db.insert(table, AUCTIONS)
    return table


def _view(db: tr.Database, stream: tr.Stream[Any]) -> Counter[tuple[Any, ...]]:
    view = db.create_view(f"view{len(db.views)}", stream)
    return Counter(tuple(row.__dict__.values()) for row in view.rows())


def _pairs(db: tr.Database, stream: tr.Stream[Pair]) -> list[tuple[int | None, int | None]]:
    found = _view(db, stream)
    return sorted(found.elements(), key=lambda pair: tuple(-1 if x is None else x for x in pair))


def test_a_join_pairs_rows_with_equal_keys(
    db: tr.Database, bids: tr.Table[Bid], auctions: tr.Table[Auction]
) -> None:
    stream = bids.join(
        auctions, lambda b: b.auction, lambda a: a.id, lambda b, a: Pair(left=b.id, right=a.id)
    )
    assert _pairs(db, stream) == [(1, 7), (2, 7), (3, 8)]


def test_outer_joins_keep_what_has_no_partner(
    db: tr.Database, bids: tr.Table[Bid], auctions: tr.Table[Auction]
) -> None:
    left = bids.left_join(
        auctions, lambda b: b.auction, lambda a: a.id, lambda b, a: Pair(left=b.id, right=tr.some(a).id)
    )
    right = bids.right_join(
        auctions, lambda b: b.auction, lambda a: a.id, lambda b, a: Pair(left=tr.some(b).id, right=a.id)
    )
    full = bids.full_join(
        auctions,
        lambda b: b.auction,
        lambda a: a.id,
        lambda b, a: Pair(left=tr.some(b).id, right=tr.some(a).id),
    )
    assert _pairs(db, left) == [(1, 7), (2, 7), (3, 8), (4, None)]
    assert _pairs(db, right) == [(None, 6), (1, 7), (2, 7), (3, 8)]
    assert _pairs(db, full) == [(None, 6), (1, 7), (2, 7), (3, 8), (4, None)]


def test_an_absent_row_can_be_asked_for(
    db: tr.Database, bids: tr.Table[Bid], auctions: tr.Table[Auction]
) -> None:
    stream = bids.left_join(
        auctions,
        lambda b: b.auction,
        lambda a: a.id,
        lambda b, a: Pair(left=b.id, right=tr.when(tr.is_null(a)).then(0).otherwise(1)),
    )
    assert _pairs(db, stream) == [(1, 1), (2, 1), (3, 1), (4, 0)]


def test_an_absent_row_must_be_dealt_with(bids: tr.Table[Bid], auctions: tr.Table[Auction]) -> None:
    with pytest.raises(tr.TracingError, match=r"tr.some\(x\).id"):
        bids.left_join(
            auctions, lambda b: b.auction, lambda a: a.id, lambda b, a: Pair(left=b.id, right=a.id)
        )  # type: ignore[union-attr]


def test_a_join_over_several_keys_and_a_condition(db: tr.Database, bids: tr.Table[Bid]) -> None:
    stream = bids.join(
        bids,
        lambda a: (a.auction, 1),
        lambda b: (b.auction, 1),
        lambda a, b: Pair(left=a.id, right=b.id),
        where=lambda a, b: a.price < b.price,
    )
    assert _pairs(db, stream) == [(1, 2)]


def test_indexed_joins_hand_over_the_key(
    db: tr.Database, bids: tr.Table[Bid], auctions: tr.Table[Auction]
) -> None:
    by_auction, by_id = bids.index_by(lambda b: b.auction), auctions.index_by(lambda a: a.id)
    assert _pairs(db, by_auction.join(by_id, lambda k, b, a: Pair(left=k, right=b.id))) == [
        (7, 1),
        (7, 2),
        (8, 3),
    ]
    assert [row[0] for row in sorted(_view(db, by_auction.semi_join(by_id)))] == [1, 2, 3]
    assert [row[0] for row in sorted(_view(db, by_auction.anti_join(by_id)))] == [4]


def test_flat_map_gives_a_row_per_element(db: tr.Database, auctions: tr.Table[Auction]) -> None:
    words = auctions.flat_map(lambda a: a.tags, lambda a, tag: Text(text=a.item + ":" + tag))
    assert _view(db, words) == Counter({("lamp:old",): 1, ("lamp:red",): 1, ("rug:red",): 1})
    sides = auctions.flat_map(lambda a: [Text(text=a.item), Text(text=None)])
    assert _view(db, sides) == Counter({(None,): 3, ("lamp",): 1, ("chair",): 1, ("rug",): 1})


def test_select_takes_columns_of_the_same_name(db: tr.Database, bids: tr.Table[Bid]) -> None:
    class Priced(tr.Row):
        id: int = tr.key()
        cents: int

    assert _view(db, bids.select(Priced, cents=lambda b: round(b.price * 100))) == Counter(
        {(1, 1000): 1, (2, 1250): 1, (3, 400): 1, (4, 400): 1}
    )
    with pytest.raises(tr.ColumnError, match="'cents' is not found in Bid"):
        bids.select(Priced)


def test_aggregates(db: tr.Database, bids: tr.Table[Bid]) -> None:
    class All(tr.Row):
        auction: int = tr.key()
        n: int
        noted: int
        distinct: int
        total: float
        mean: float
        low: float
        high: float
        dearest: str | None
        cheapest: int
        first: int
        last: int
        notes: list[str | None]
        text: str | None
        every: bool
        some: bool
        per_bid: float

    stream = bids.group_by(lambda b: b.auction).aggregate(
        lambda k, g: All(
            auction=k,
            n=g.count(),
            noted=g.count(lambda b: b.note),
            distinct=g.count_distinct(lambda b: b.price),
            total=g.sum(lambda b: b.price),
            mean=g.avg(lambda b: b.price),
            low=g.min(lambda b: b.price),
            high=g.max(lambda b: b.price),
            dearest=g.arg_max(lambda b: b.note, by=lambda b: b.price),
            cheapest=g.arg_min(lambda b: b.id, by=lambda b: b.price),
            first=g.first(lambda b: b.id, order_by=lambda b: tr.desc(b.id)),
            last=g.last(lambda b: b.id, order_by=lambda b: tr.desc(b.id)),
            notes=g.array_agg(lambda b: b.note, order_by=lambda b: b.id),
            text=g.string_agg(lambda b: b.note, "+"),
            every=g.bool_and(lambda b: b.price > 5.0),
            some=g.bool_or(lambda b: b.price > 5.0),
            per_bid=g.sum(lambda b: b.price) / g.count(),
        )
    )
    view = db.create_view("all", stream)
    seven = {row.auction: row for row in view.rows()}[7]
    assert seven == All(
        auction=7,
        n=2,
        noted=1,
        distinct=2,
        total=22.5,
        mean=11.25,
        low=10.0,
        high=12.5,
        dearest="x",
        cheapest=1,
        first=2,
        last=1,
        notes=["x", None],
        text="x",
        every=True,
        some=True,
        per_bid=11.25,
    )


def test_aggregates_of_durations_and_decimals(db: tr.Database) -> None:
    class Run(tr.Row):
        id: int = tr.key()
        took: timedelta
        cost: Decimal = tr.field(type=tr.decimal(10, 2))

    class Summary(tr.Row):
        total: timedelta | None
        mean: timedelta | None
        cost: Decimal | None
        mean_cost: Decimal | None

    runs = db.table(Run)
    view = db.create_view(
        "summary",
        runs.aggregate(
            lambda g: Summary(
                total=g.sum(lambda r: r.took),
                mean=g.avg(lambda r: r.took),
                cost=g.sum(lambda r: r.cost),
                mean_cost=g.avg(lambda r: r.cost),
            )
        ),
    )
    db.insert(runs, [Run(id=i, took=timedelta(seconds=i), cost=Decimal(i)) for i in (1, 2, 3)])
    assert view.rows() == [
        Summary(total=timedelta(seconds=6), mean=timedelta(seconds=2), cost=Decimal(6), mean_cost=Decimal(2))
    ]


def test_a_global_aggregate_is_there_over_no_rows(db: tr.Database) -> None:
    stream = db.table(Bid).aggregate(lambda g: Pair(left=g.count(), right=g.max(lambda b: b.id)))
    assert _pairs(db, stream) == [(0, None)]


@pytest.mark.parametrize(
    "use",
    [
        lambda bids: bids.filter("price > 1"),
        lambda bids: bids.map("price"),
        lambda bids: bids.group_by("auction"),
        lambda bids: bids.top_k(2, by="price"),
        lambda bids: bids.join(bids, "id", "id", lambda a, b: a),
        lambda bids: bids.over(order_by="price"),
        lambda bids: bids.aggregate("count"),
        lambda bids: bids.flat_map("note"),
    ],
)
def test_text_where_a_lambda_is_wanted(db: tr.Database, use: Callable[[tr.Table[Bid]], object]) -> None:
    with pytest.raises(tr.TypeMismatchError, match="takes a lambda, such as"):
        use(db.table(Bid))


def test_a_group_of_rows_as_key_and_value(db: tr.Database, bids: tr.Table[Bid]) -> None:
    class Key(tr.Row):
        auction: int
        dear: bool

    class Best(tr.Row):
        key: Key
        bid: Bid

    stream = bids.group_by(lambda b: Key(auction=b.auction, dear=b.price > 11.0)).aggregate(
        lambda k, g: Best(key=k, bid=g.arg_max(lambda b: b, by=lambda b: b.id))
    )
    view = db.create_view("best", stream)
    assert sorted((row.key.auction, row.key.dear, row.bid.id) for row in view.rows()) == [
        (7, False, 1),
        (7, True, 2),
        (8, False, 3),
        (9, False, 4),
    ]


def test_top_and_bottom_k(db: tr.Database, bids: tr.Table[Bid]) -> None:
    assert [row[0] for row in sorted(_view(db, bids.top_k(2, by=lambda b: b.price)))] == [1, 2]
    assert [
        row[0] for row in sorted(_view(db, bids.bottom_k(2, by=lambda b: (b.price, tr.desc(b.id)), offset=1)))
    ] == [1, 3]
    assert [
        row[0] for row in sorted(_view(db, bids.group_by(lambda b: b.auction).top_k(1, by=lambda b: b.price)))
    ] == [2, 3, 4]
    with pytest.raises(tr.PlanError, match="cannot be negative"):
        bids.top_k(-1, by=lambda b: b.price)


def test_ranks_and_neighbours(db: tr.Database, bids: tr.Table[Bid]) -> None:
    class Ranked(tr.Row):
        id: int = tr.key()
        number: int
        rank: int
        dense: int
        before: float | None
        after: float

    stream = bids.window(order_by=lambda b: b.price).map(
        lambda b, w: Ranked(
            id=b.id,
            number=w.row_number(),
            rank=w.rank(),
            dense=w.dense_rank(),
            before=w.lag(lambda b: b.price),
            after=w.lead(lambda b: b.price, 1, -1.0),
        )
    )
    assert sorted(_view(db, stream)) == [
        (1, 3, 3, 2, 4.0, 12.5),
        (2, 4, 4, 3, 10.0, -1.0),
        (3, 1, 1, 1, None, 4.0),
        (4, 2, 1, 1, 4.0, 10.0),
    ]


def test_recursion_follows_its_input(db: tr.Database) -> None:
    class Edge(tr.Row):
        src: int = tr.key()
        dst: int = tr.key()

    edges = db.table(Edge)
    reach = edges.recursive(
        lambda r: r.join(edges, lambda a: a.dst, lambda b: b.src, lambda a, b: Edge(src=a.src, dst=b.dst))
    )
    view = db.create_view("reach", reach)
    db.insert(edges, [Edge(src=i, dst=i + 1) for i in range(5)])
    assert len(view) == 15
    db.delete(edges, [(2, 3)])
    assert {(row.src, row.dst) for row in view.rows()} == {(0, 1), (0, 2), (1, 2), (3, 4), (3, 5), (4, 5)}


def test_mutual_recursion(db: tr.Database) -> None:
    class Even(tr.Row):
        n: int

    class Odd(tr.Row):
        n: int

    start = db.table(Even)
    even, odd = tr.recursive(
        (Even, Odd),
        lambda e, o: (
            start + o.filter(lambda x: x.n < 9).map(lambda x: Even(n=x.n + 1)),
            e.map(lambda x: Odd(n=x.n + 1)),
        ),
    )
    evens, odds = db.create_view("evens", even), db.create_view("odds", odd)
    db.insert(start, Even(n=0))
    assert sorted(row.n for row in evens.rows()) == [0, 2, 4, 6, 8]
    assert sorted(row.n for row in odds.rows()) == [1, 3, 5, 7, 9]
    db.delete(start, Even(n=0))
    assert evens.rows() == []
    assert odds.rows() == []


def test_endless_recursion_ends_in_an_error(db: tr.Database) -> None:
    class N(tr.Row):
        n: int

    start = db.table(N)
    view = db.create_view("ever", start.recursive(lambda r: r.map(lambda x: N(n=x.n + 1)), limit=50))
    with pytest.raises(tr.IterationLimitError, match=r"the recursion of N .*50"):
        db.insert(start, N(n=0))
    assert start.rows() == []
    assert view.rows() == []


def test_udf_over_arrays(db: tr.Database, bids: tr.Table[Bid]) -> None:
    seen: list[type] = []

    @tr.udf
    def doubled(price: tr.Array[float]) -> tr.Array[float]:
        seen.append(type(price))
        return pc.multiply(price, 2)  # type: ignore[no-any-return]

    @tr.udf(returns=str)
    def joined(left: Any, right: Any) -> Any:
        return pc.binary_join_element_wise(left.cast(pa.string()), right, "-")

    assert sorted(row[0] for row in _view(db, bids.filter(lambda b: doubled(b.price) > 20.0))) == [2]
    assert _view(db, bids.map(lambda b: Text(text=joined(b.id, tr.coalesce(b.note, "?")))))[("2-?",)] == 1
    assert all(issubclass(found, pa.Array) for found in seen)


def test_a_udf_may_give_null_where_it_got_one_or_says_so(db: tr.Database, bids: tr.Table[Bid]) -> None:
    @tr.udf
    def louder(text: tr.Array[str]) -> tr.Array[str]:
        return pc.utf8_upper(text)  # type: ignore[no-any-return]

    @tr.udf
    def dear(price: tr.Array[float]) -> tr.Array[float | None]:
        return pc.if_else(pc.greater(price, 5.0), price, None)  # type: ignore[no-any-return]

    texts = _view(db, bids.map(lambda b: Text(text=louder(tr.some(b.note)))))
    assert texts == Counter({("X",): 1, (None,): 1, ("Y",): 1, ("Z",): 1})
    assert _view(db, bids.filter(lambda b: tr.is_null(dear(b.price)))).keys() == {
        (3, 8, 4.0, "y"),
        (4, 9, 4.0, "z"),
    }


class Sizes(tr.Row):
    id: int = tr.key()
    whole: int
    narrow: int = tr.field(type=tr.sized("int32"))
    unsigned: int = tr.field(type=tr.sized("uint64"))
    real: float
    single: float = tr.field(type=tr.sized("float32"))
    exact: Decimal
    cents: Decimal = tr.field(type=tr.decimal(12, 2))


@pytest.mark.parametrize("left", ["whole", "narrow", "unsigned", "real", "single", "exact", "cents"])
@pytest.mark.parametrize("right", ["whole", "narrow", "unsigned", "real", "single", "exact", "cents"])
def test_numbers_of_all_types_join_as_they_compare(db: tr.Database, left: str, right: str) -> None:
    table = db.table(Sizes)
    one, half = Decimal(1), Decimal("2.5")
    db.insert(
        table,
        [
            Sizes(id=1, whole=1, narrow=1, unsigned=1, real=1.0, single=1.0, exact=one, cents=one),
            Sizes(id=2, whole=-1, narrow=7, unsigned=2**64 - 1, real=2.5, single=2.5, exact=half, cents=half),
        ],
    )
    joined = table.join(
        table,
        lambda a: getattr(a, left),
        lambda b: getattr(b, right),
        lambda a, b: Pair(left=a.id, right=b.id),
        where=lambda a, b: a.id == b.id,
    )
    equal = table.filter(lambda s: getattr(s, left) == getattr(s, right)).map(
        lambda s: Pair(left=s.id, right=s.id)
    )
    assert _pairs(db, joined) == _pairs(db, equal) != []


def test_map_rows_calls_python_with_real_rows(db: tr.Database, bids: tr.Table[Bid]) -> None:
    def told(bid: Bid) -> Text:
        assert type(bid) is Bid
        return Text(text=f"{bid.id}: {bid.note or 'nothing'}")

    stream = bids.map_rows(told)
    assert ("2: nothing",) in _view(db, stream)
    flat = bids.flat_map_rows(lambda b: [Text(text="x")] * (b.id - 1), Text)
    assert _view(db, flat) == Counter({("x",): 6})
    db.delete(bids, [4])
    assert db.view("view1").snapshot().num_rows == 3


def test_map_rows_must_know_its_output(bids: tr.Table[Bid]) -> None:
    with pytest.raises(tr.PlanError, match="output="):
        bids.map_rows(lambda b: Text(text=b.note))


def test_inspect_sees_the_changes_of_each_step(db: tr.Database, bids: tr.Table[Bid]) -> None:
    seen: list[pa.Table] = []
    view = db.create_view("seen", bids.inspect(seen.append))
    seen.clear()
    db.delete(bids, [1])
    assert [table.column("_weight").to_pylist() for table in seen if table.num_rows] == [[-1]]
    assert len(view) == 3


def test_set_operations(db: tr.Database) -> None:
    class Left(tr.Row):
        n: int | None

    one, two = db.table(Left, name="one"), db.table(Left, name="two")
    db.insert(one, [Left(n=1), Left(n=1), Left(n=2), Left(n=None)])
    db.insert(two, [Left(n=1), Left(n=3), Left(n=None)])
    assert _view(db, one + two) == Counter({(1,): 3, (2,): 1, (None,): 2, (3,): 1})
    assert _view(db, (one - two).positive()) == Counter({(1,): 1, (2,): 1})
    assert _view(db, one.distinct()) == Counter({(1,): 1, (2,): 1, (None,): 1})
    assert _view(db, one.intersect(two)) == Counter({(1,): 1, (None,): 1})
    assert _view(db, one.except_(two)) == Counter({(2,): 1})
    assert _view(db, one.union(two, one).distinct()) == Counter({(1,): 1, (2,): 1, (3,): 1, (None,): 1})
    assert _view(db, one.neg().neg()) == _view(db, one)


def test_delay_gives_the_changes_of_the_step_before(db: tr.Database) -> None:
    table = db.table(Text)
    view = db.create_view("late", table.delay())
    assert len(db.insert(table, Text(text="a"))[view]) == 0
    assert db.insert(table, Text(text="b"))[view].delta.column("text").to_pylist() == ["a"]


def test_differentiate_undoes_integrate(db: tr.Database) -> None:
    table = db.table(Text)
    view = db.create_view("same", table.integrate().differentiate())
    for text in "abc":
        assert db.insert(table, Text(text=text))[view].delta.column("text").to_pylist() == [text]


WRONG: list[tuple[Any, type[Exception], str]] = [
    (
        lambda b, a: b.filter(lambda r: r.prise > 1),
        tr.ColumnError,
        r"'prise' is not found in Bid\. Did you mean 'price'\?",
    ),
    (
        lambda b, a: b.map(lambda r: Pair(left=r.price, right=1)),
        tr.TypeMismatchError,
        r"Pair\.left is int \| None and the value is float",
    ),
    (
        lambda b, a: b.map(lambda r: Auction(id=1, item=r.note, tags=[])),
        tr.TypeMismatchError,
        r"Auction\.item is str and the value is str \| None",
    ),
    (
        lambda b, a: b.map(lambda r: Auction(id=None, item="", tags=[])),
        tr.TypeMismatchError,
        r"Auction\.id is int and the value is None",
    ),
    (
        lambda b, a: b.map(lambda r: r.id),
        tr.TypeMismatchError,
        "must build a tr.Row, and gives a symbolic int",
    ),
    (lambda b, a: b.union(a), tr.PlanError, "has Bid and Auction"),
    (
        lambda b, a: b.join(a, lambda r: r.id, lambda r: r.item, lambda x, y: x),
        tr.TypeMismatchError,
        "Key 1 of the inner join is int on the left and str on the right",
    ),
    (
        lambda b, a: b.join(a, lambda r: (r.id, r.id), lambda r: r.id, lambda x, y: x),
        tr.PlanError,
        "2 values, the right one 1",
    ),
    (
        lambda b, a: b.group_by(lambda r: r.id).aggregate(lambda k, g: Text(text=g.sum(lambda r: r.note))),
        tr.TypeMismatchError,
        r"sum\(\) takes",
    ),
    (
        lambda b, a: b.flat_map(lambda r: r.id, lambda r, x: Text(text=None)),
        tr.TypeMismatchError,
        "must give a list",
    ),
    (lambda b, a: b.recursive(lambda r: a), tr.PlanError, "union needs rows of one class"),
]


@pytest.mark.parametrize("case", range(len(WRONG)))
def test_a_mistake_shows_where_it_is_made(
    bids: tr.Table[Bid], auctions: tr.Table[Auction], case: int
) -> None:
    make, error, message = WRONG[case]
    with pytest.raises(error, match=message):
        make(bids, auctions)


def test_a_stream_says_what_it_is(bids: tr.Table[Bid]) -> None:
    assert repr(bids) == "Table[Bid](id: int, auction: int, price: float, note: str | None)"
    assert "filter" in bids.filter(lambda b: b.price > 1.0).explain().lower()
