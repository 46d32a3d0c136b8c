"""A view that stays up to date: the best bid of every auction.

Run it with `python examples/quickstart.py`.
"""

from __future__ import annotations

import tailrace as tr


class Bid(tr.Row):
    id: int = tr.key()
    auction: int
    price: float


class Best(tr.Row):
    auction: int = tr.key()
    price: float
    bids: int


def main() -> None:
    with tr.connect() as db:
        bids = db.table(Bid)
        best = db.create_view(
            "best",
            bids.group_by(lambda b: b.auction).aggregate(
                lambda auction, g: Best(auction=auction, price=g.max(lambda b: b.price), bids=g.count())
            ),
        )

        db.insert(bids, [Bid(id=1, auction=7, price=10.0), Bid(id=2, auction=8, price=5.0)])
        changes = db.insert(bids, [{"id": 3, "auction": 7, "price": 12.0}])
        print("A higher bid came in:", *changes[best].events, sep="\n  ")

        changes = db.delete(bids, [3])
        print("It was withdrawn:", *changes[best].events, sep="\n  ")

        print("The view now:", *sorted(best.rows(), key=lambda row: row.auction), sep="\n  ")


if __name__ == "__main__":
    main()
