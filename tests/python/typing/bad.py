"""Programs that are wrong: each marked line must be found, by the checkers that the mark names, and no other line.

`# E` marks both checkers, `# E: mypy` and `# E: pyright` one of them.
"""

from __future__ import annotations

from decimal import Decimal

import tailrace as tr


class Bid(tr.Row):
    id: int = tr.key()
    auction: int
    price: float
    fee: Decimal
    note: str | None


class Best(tr.Row):
    auction: int = tr.key()
    price: float
    n: int


db = tr.connect()
bids = db.table(Bid)
best = db.table(Best)

# A misspelt column.
bids.filter(lambda b: b.prise > 1.0)  # E
bids.group_by(lambda b: b.action)  # E
bids.top_k(3, by=lambda b: b.prise)  # E
bids.group_by(lambda b: b.auction).aggregate(
    lambda k, g: Best(
        auction=k,
        price=g.max(lambda b: b.prise),  # E
        n=g.count(),
    )
)
bids.group_by(lambda b: b.auction).aggregate(
    lambda k, g: Best(
        auction=k,
        price=g.avg(lambda b: b.prise),  # E
        n=g.count(where=lambda b: b.prise > 1.0),  # E
    )
)
bids.join(
    best,
    lambda b: b.auktion,  # E
    lambda c: c.auction,
    lambda b, c: Best(
        auction=b.auction,
        price=c.cost,  # E
        n=1,
    ),
)
bids.map(lambda b: Best(auction=1, price=b.price, m=1))  # E
Bid(id=1, auction=2, prize=3.0, fee=Decimal(1), note=None)  # E

# A wrong type in a field.
bids.map(lambda b: Best(auction=b.price, price=1.0, n=1))  # E
bids.map(lambda b: Best(auction=b.id, price=b.fee, n=1))  # E
bids.map(lambda b: Best(auction=b.id, price="dear", n=1))  # E
bids.group_by(lambda b: b.note).aggregate(
    lambda k, g: Best(
        auction=k,  # E
        price=g.max(lambda b: b.price),
        n=g.count(),
    )
)
bids.group_by(lambda b: b.auction).aggregate(
    lambda k, g: Best(
        auction=k,
        price=g.max(lambda b: b.price, where=lambda b: b.id > 1),  # E
        n=g.sum(lambda b: b.price),  # E
    )
)
bids.filter(lambda b: b.price + 1.0)  # E
bids.filter(lambda b: b.price > "1")  # E

# A wrong row class.
bids.union(best)  # E
wrong: tr.Stream[Best] = bids.filter(lambda b: b.price > 1.0)  # E
view: tr.View[Bid] = db.create_view("best", best)  # E
bids.insert([Best(auction=1, price=2.0, n=3)])  # E
bids.map(lambda b: b.price)  # E

# Something done with a value that may be absent.
bids.filter(lambda b: b.note.startswith("x"))  # E
bids.filter(lambda b: b.note > "x")  # E
bids.left_join(
    best,
    lambda b: b.auction,
    lambda c: c.auction,
    lambda b, c: Best(
        auction=b.auction,
        price=c.price,  # E
        n=1,
    ),
)
bids.map(lambda b: Best(auction=b.id, price=tr.try_cast("1", float), n=1))  # E

# Keys of two types, where the key is part of the type.
bids.index_by(lambda b: b.auction).join(
    bids.index_by(lambda b: str(b.note)),  # E
    lambda k, a, b: Best(auction=a.id, price=b.price, n=1),
)

# A row is frozen.
Best(auction=1, price=2.0, n=3).price = 4.0  # E
