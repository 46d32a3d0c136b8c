"""The benchmarks' views as typed programs: what a user of Tailrace would write.

Every function takes a database, declares the tables it needs and returns a stream; nothing is run here. Column names
are those of the generated data and of the oracle's answers.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any, Final

import tailrace as tr


class Auction(tr.Row, table="auction"):
    """Something on offer until it expires."""

    id: int = tr.key()
    item_name: str
    description: str
    initial_bid: int
    reserve: int
    date_time: datetime
    expires: datetime
    seller: int
    category: int
    extra: str


class Bid(tr.Row, table="bid"):
    """An offer for an auction."""

    id: int = tr.key()
    auction: int
    bidder: int
    price: int
    channel: str
    url: str
    date_time: datetime
    extra: str


class Offer(tr.Row):
    """A bid within its auction's time, in the columns that decide who wins."""

    auction: int
    category: int
    bid: int
    price: int
    date_time: datetime


class FinalPrice(tr.Row):
    """An auction's highest price."""

    auction: int = tr.key()
    category: int
    price: int


class Average(tr.Row):
    """A category's average final price."""

    category: int = tr.key()
    price: float


class Winner(tr.Row):
    """An auction with its winning bid."""

    id: int = tr.key()
    item_name: str
    description: str
    initial_bid: int
    reserve: int
    date_time: datetime
    expires: datetime
    seller: int
    category: int
    extra: str
    bidder: int
    price: int
    bid_date_time: datetime
    bid_extra: str


class Won(tr.Row):
    """An auction's winning bid without the auction's columns."""

    auction: int = tr.key()
    bidder: int
    price: int
    date_time: datetime
    extra: str


class Expanded(tr.Row):
    """A bid with its auction's columns."""

    id: int = tr.key()
    auction: int
    bidder: int
    price: int
    channel: str
    url: str
    date_time: datetime
    extra: str
    item_name: str
    description: str
    initial_bid: int
    reserve: int
    auction_date_time: datetime
    expires: datetime
    seller: int
    category: int
    auction_extra: str


class Item(tr.Row, table="rows"):
    """A row of the churned table."""

    id: int = tr.key()
    group_key: int
    value: int


class Totals(tr.Row):
    """Count and sum of a group."""

    group_key: int = tr.key()
    n: int
    total: int


class Greatest(tr.Row):
    """Count, sum and greatest value of a group: the last one needs all values in order."""

    group_key: int = tr.key()
    n: int
    total: int
    greatest: int


class Order(tr.Row, table="orders"):
    """A fact that points to two dimensions."""

    id: int = tr.key()
    customer: int
    product: int
    quantity: int


class Customer(tr.Row, table="customers"):
    """The first dimension."""

    id: int = tr.key()
    region: int


class Product(tr.Row, table="products"):
    """The second dimension."""

    id: int = tr.key()
    price: int


class Regional(tr.Row):
    """An order with its customer's region."""

    id: int = tr.key()
    product: int
    quantity: int
    region: int


class Sale(tr.Row):
    """An order with both dimensions."""

    id: int = tr.key()
    region: int
    price: int
    quantity: int


class Edge(tr.Row, table="edges"):
    """An edge of the graph, or a pair of its closure."""

    src: int = tr.key()
    dst: int = tr.key()


class Pair(tr.Row, table="pairs"):
    """A row of two integers, without key: just what a trace keeps."""

    key: int
    value: int


class Text(tr.Row, table="texts"):
    """A row with a string."""

    key: int
    value: str


class PairMost(tr.Row):
    """The greatest value of a key."""

    key: int = tr.key()
    value: int


class TextMost(tr.Row):
    """The greatest string of a key."""

    key: int = tr.key()
    value: str


def q4(db: tr.Database) -> tr.Stream[Average]:
    """Average over the auctions of a category of their highest price in time."""
    final = (
        _offers(db)
        .group_by(lambda o: (o.auction, o.category))
        .aggregate(lambda key, g: FinalPrice(auction=key[0], category=key[1], price=g.max(lambda o: o.price)))
    )
    return final.group_by(lambda f: f.category).aggregate(
        lambda category, g: Average(category=category, price=g.avg(lambda f: f.price))
    )


def q9(db: tr.Database) -> tr.Stream[Winner]:
    """The winning bid of each auction. The ranking keeps narrow rows; texts are joined to the winners alone."""
    auctions, bids = _events(db)
    best = (
        _offers(db)
        .group_by(lambda o: o.auction)
        .top_k(1, by=lambda o: (tr.desc(o.price), tr.asc(o.date_time), tr.asc(o.bid)))
    )
    won = best.join(
        bids,
        lambda o: o.bid,
        lambda b: b.id,
        lambda o, b: Won(
            auction=o.auction, bidder=b.bidder, price=b.price, date_time=b.date_time, extra=b.extra
        ),
    )
    return auctions.join(won, lambda a: a.id, lambda w: w.auction, _winner)


def q18(db: tr.Database) -> tr.Stream[Bid]:
    """The last bid of each bidder for each auction."""
    _, bids = _events(db)
    return bids.group_by(lambda b: (b.bidder, b.auction)).top_k(1, by=lambda b: (b.date_time, b.id))


def q20(db: tr.Database) -> tr.Stream[Expanded]:
    """Bids with the columns of their auction, for one category."""
    auctions, bids = _events(db)
    return bids.join(
        auctions.filter(lambda a: a.category == 10), lambda b: b.auction, lambda a: a.id, _expanded
    )


def churn(db: tr.Database) -> tr.Stream[Totals]:
    """Count and sum by group."""
    return (
        db.table(Item)
        .group_by(lambda r: r.group_key)
        .aggregate(lambda group, g: Totals(group_key=group, n=g.count(), total=g.sum(lambda r: r.value)))
    )


def growth(db: tr.Database) -> tr.Stream[Greatest]:
    """Count, sum and maximum by group: linear and ordered state in one view."""
    return (
        db.table(Item)
        .group_by(lambda r: r.group_key)
        .aggregate(
            lambda group, g: Greatest(
                group_key=group,
                n=g.count(),
                total=g.sum(lambda r: r.value),
                greatest=g.max(lambda r: r.value),
            )
        )
    )


def join3(db: tr.Database) -> tr.Stream[Sale]:
    """Orders with region and price."""
    regional = db.table(Order).join(
        db.table(Customer),
        lambda o: o.customer,
        lambda c: c.id,
        lambda o, c: Regional(id=o.id, product=o.product, quantity=o.quantity, region=c.region),
    )
    return regional.join(
        db.table(Product),
        lambda r: r.product,
        lambda p: p.id,
        lambda r, p: Sale(id=r.id, region=r.region, price=p.price, quantity=r.quantity),
    )


def closure(db: tr.Database) -> tr.Stream[Edge]:
    """All pairs of nodes with a path between them."""
    edges = db.table(Edge)
    return edges.recursive(
        lambda reach: reach.join(
            edges, lambda r: r.dst, lambda e: e.src, lambda r, e: Edge(src=r.src, dst=e.dst)
        )
    )


def pair_most(db: tr.Database) -> tr.Stream[PairMost]:
    """A view whose one trace holds every (integer, integer) row."""
    return (
        db.table(Pair)
        .group_by(lambda p: p.key)
        .aggregate(lambda key, g: PairMost(key=key, value=g.max(lambda p: p.value)))
    )


def text_most(db: tr.Database) -> tr.Stream[TextMost]:
    """A view whose one trace holds every (integer, string) row."""
    return (
        db.table(Text)
        .group_by(lambda t: t.key)
        .aggregate(lambda key, g: TextMost(key=key, value=g.max(lambda t: t.value)))
    )


PROGRAMS: Final[dict[str, Callable[[tr.Database], tr.Stream[Any]]]] = {
    "q4": q4,
    "q9": q9,
    "q18": q18,
    "q20": q20,
    "churn": churn,
    "growth": growth,
    "join3": join3,
    "closure": closure,
    "pair_most": pair_most,
    "text_most": text_most,
}
"""By the name of the view that the benchmark makes of it."""


def _events(db: tr.Database) -> tuple[tr.Table[Auction], tr.Table[Bid]]:
    """Both tables for every query: the load brings both, whichever of them the view reads."""
    return db.table(Auction), db.table(Bid)


def _offers(db: tr.Database) -> tr.Stream[Offer]:
    auctions, bids = _events(db)
    return auctions.join(
        bids,
        lambda a: a.id,
        lambda b: b.auction,
        lambda a, b: Offer(auction=a.id, category=a.category, bid=b.id, price=b.price, date_time=b.date_time),
        where=lambda a, b: tr.between(b.date_time, a.date_time, a.expires),
    )


def _winner(a: Auction, w: Won) -> Winner:
    return Winner(
        id=a.id,
        item_name=a.item_name,
        description=a.description,
        initial_bid=a.initial_bid,
        reserve=a.reserve,
        date_time=a.date_time,
        expires=a.expires,
        seller=a.seller,
        category=a.category,
        extra=a.extra,
        bidder=w.bidder,
        price=w.price,
        bid_date_time=w.date_time,
        bid_extra=w.extra,
    )


def _expanded(b: Bid, a: Auction) -> Expanded:
    return Expanded(
        id=b.id,
        auction=b.auction,
        bidder=b.bidder,
        price=b.price,
        channel=b.channel,
        url=b.url,
        date_time=b.date_time,
        extra=b.extra,
        item_name=a.item_name,
        description=a.description,
        initial_bid=a.initial_bid,
        reserve=a.reserve,
        auction_date_time=a.date_time,
        expires=a.expires,
        seller=a.seller,
        category=a.category,
        auction_extra=a.extra,
    )
