"""Recursion that follows its input: which airport can be reached from which.

Run it with `python examples/reachability.py`.
"""

from __future__ import annotations

import tailrace as tr


class Flight(tr.Row, table="flights"):
    origin: str = tr.key()
    destination: str = tr.key()


class Reach(tr.Row):
    origin: str = tr.key()
    destination: str = tr.key()


def reachable(flights: tr.Stream[Flight]) -> tr.Stream[Reach]:
    """All pairs that a sequence of flights connects."""
    direct = flights.map(lambda f: Reach(origin=f.origin, destination=f.destination))
    return direct.recursive(
        lambda reach: reach.join(
            flights,
            lambda r: r.destination,
            lambda f: f.origin,
            lambda r, f: Reach(origin=r.origin, destination=f.destination),
        )
    )


def main() -> None:
    with tr.connect() as db:
        flights = db.table(Flight)
        reach = db.create_view("reach", reachable(flights))

        pairs = [("OSL", "CPH"), ("CPH", "NBO"), ("NBO", "HND"), ("HND", "OSL")]
        db.insert(flights, [Flight(origin=a, destination=b) for a, b in pairs])
        print(f"With a round trip, {len(reach)} pairs are connected.")

        changes = db.delete(flights, [("HND", "OSL")])
        print(f"Without HND-OSL, {len(changes[reach])} of them are gone:")
        for row in sorted(reach.rows(), key=lambda row: (row.origin, row.destination)):
            print(f"  {row.origin} -> {row.destination}")


if __name__ == "__main__":
    main()
