"""A program that both checkers accept: every way to write something that the documents name."""

from __future__ import annotations

import math
from datetime import date, datetime, timedelta
from decimal import Decimal
from uuid import UUID

import tailrace as tr


class Address(tr.Row):
    city: str
    zip: int | None


class Person(tr.Row, table="people"):
    id: int = tr.key()
    name: str
    nickname: str | None
    born: date
    address: Address
    tags: list[str]
    uid: UUID


class Bid(tr.Row):
    id: int = tr.key()
    auction: int
    bidder: int
    price: float
    fee: Decimal = tr.field(type=tr.decimal(12, 2))
    at: datetime
    note: str | None = None


class Best(tr.Row):
    auction: int = tr.key()
    price: float
    n: int


class Named(tr.Row):
    id: int = tr.key()
    name: str | None
    price: float


class Stats(tr.Row):
    auction: int = tr.key()
    total: Decimal
    mean: float
    mean_fee: Decimal
    spread: float | None
    big: int
    top_note: str | None
    last: datetime
    notes: list[str | None]


class Ranked(tr.Row):
    id: int = tr.key()
    place: int
    step: float | None
    before: float


class Word(tr.Row):
    id: int
    word: str


class Edge(tr.Row):
    src: int
    dst: int


class Hour(tr.Row):
    hour: datetime = tr.key()
    day: date
    size: str
    gap: timedelta


@tr.udf
def doubled(price: tr.Array[float]) -> tr.Array[float]:
    return price


@tr.udf(returns=float)
def halved(price: object) -> object:
    return price


def shout(bid: Bid) -> Word:
    return Word(id=bid.id, word=(bid.note or "").upper())


with tr.connect() as db:
    bids = db.table(Bid)
    people = db.table(Person)

    best: tr.Stream[Best] = (
        bids.filter(lambda b: (b.price > 100.0) & tr.not_(b.auction == 7))
        .group_by(lambda b: b.auction)
        .aggregate(lambda k, g: Best(auction=k, price=g.max(lambda b: b.price), n=g.count()))
    )
    view: tr.View[Best] = db.create_view("best", best)

    named: tr.Stream[Named] = bids.left_join(
        people,
        lambda b: b.bidder,
        lambda p: p.id,
        lambda b, p: Named(id=b.id, name=tr.some(p).name.strip().upper(), price=b.price),
        where=lambda b, p: b.at.date() > p.born,
    )
    stats: tr.Stream[Stats] = bids.group_by(lambda b: (b.auction, b.bidder)).aggregate(
        lambda k, g: Stats(
            auction=k[0],
            total=g.sum(lambda b: b.fee),
            mean=g.avg(lambda b: b.price),
            mean_fee=g.avg(lambda b: b.fee),
            spread=g.stddev(lambda b: b.price),
            big=g.count(where=lambda b: b.price > 1000.0),
            top_note=g.arg_max(lambda b: b.note, by=lambda b: b.price),
            last=g.max(lambda b: b.at),
            notes=g.array_agg(lambda b: b.note),
        )
    )
    ranked: tr.Stream[Ranked] = bids.over(
        partition_by=lambda b: b.auction, order_by=lambda b: (tr.desc(b.price), b.id)
    ).map(
        lambda b, w: Ranked(
            id=b.id,
            place=w.rank(),
            step=w.lag(lambda b: b.price),
            before=w.lag(lambda b: b.price, 1, 0.0),
        )
    )
    words: tr.Stream[Word] = people.flat_map(lambda p: p.tags, lambda p, tag: Word(id=p.id, word=tag))
    pieces: tr.Stream[Word] = people.flat_map(
        lambda p: [Word(id=p.id, word=p.name), Word(id=p.id, word=p.address.city)]
    )
    shouted: tr.Stream[Word] = bids.map_rows(shout)
    total: tr.Stream[Best] = bids.aggregate(
        lambda g: Best(auction=0, price=tr.coalesce(g.sum(lambda b: b.price), 0.0), n=g.count())
    )
    hours: tr.Stream[Hour] = bids.map(
        lambda b: Hour(
            hour=tr.date_trunc("hour", b.at),
            day=b.at.date(),
            size=tr.when(b.price > 100.0).then("big").when(b.price > 10.0).then("fair").otherwise("small"),
            gap=b.at - datetime(2026, 1, 1),
        )
    )
    doubles: tr.Stream[Named] = bids.map(
        lambda b: Named(id=math.floor(b.price), name=b.note, price=doubled(b.price) + halved(b.price))
    )
    by_auction = bids.index_by(lambda b: b.auction)
    pairs: tr.Stream[Edge] = by_auction.join(by_auction, lambda k, a, b: Edge(src=a.id, dst=b.id))

    edges = db.table(Edge)
    reach: tr.Stream[Edge] = edges.recursive(
        lambda r: r.join(edges, lambda a: a.dst, lambda b: b.src, lambda a, b: Edge(src=a.src, dst=b.dst))
    )
    odd, even = tr.recursive((Edge, Word), lambda o, e: (edges + o, words - e))
    tops: tr.Stream[Bid] = bids.group_by(lambda b: b.auction).top_k(3, by=lambda b: b.price)
    both: tr.Stream[Edge] = (reach + edges).distinct()

    changes = db.insert(
        bids, [Bid(id=1, auction=2, bidder=3, price=4.0, fee=Decimal(5), at=datetime(2026, 1, 1))]
    )
    db.upsert("bid", {"id": 1, "auction": 7})
    db.delete(bids, 1)
    db.apply(tr.Batch().insert(edges, {"src": [1], "dst": [2]}).delete("bid", [1, 2]))
    for event in changes[view].events:
        match event:
            case tr.Created(row):
                price: float = row.price
            case tr.Updated(old, new):
                price = new.price - old.price
            case tr.Deleted(row):
                price = row.price
    prices: list[float] = [row.price for row in view.rows()]
