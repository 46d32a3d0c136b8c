"""`tailrace demo`: a small shop with two live views, loaded once and then changed in small steps.

It shows the whole idea in one screen: the program is written once; each change goes in as rows and comes out as rows, and
costs what it changes and not what is stored. The data are generated and the same in every run.
"""

from __future__ import annotations

import math
import random
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from .batch import Batch
from .changes import Changes, Created, Deleted, Event, Updated
from .database import Database, connect
from .functions import isin
from .row import Row, key
from .stream import Stream
from .table import Table
from .view import View

_COUNTRIES = ("Norway", "Kenya", "Japan", "Brazil", "Canada", "France")
_CUSTOMERS = 2_000


class Customer(Row, table="customers"):
    """Who buys."""

    id: int = key()
    name: str
    country: str


class Order(Row, table="orders"):
    """What was bought."""

    id: int = key()
    customer: int
    amount: float
    status: str


class Sale(Row):
    """An order that counts, with its customer."""

    order: int = key()
    customer: str
    country: str
    amount: float


class Revenue(Row):
    """What a country has brought."""

    country: str = key()
    orders: int
    total: float


class Spender(Row):
    """What a customer has spent."""

    customer: str = key()
    country: str
    spent: float


def run(orders: int = 100_000, write: Callable[[str], object] = print) -> None:
    """Load the shop, make a few changes, and tell what each one cost."""
    with connect() as db:
        shop = _Shop(db, write)
        shop.load(orders)
        shop.show()
        shop.change("Customer 7 places an order of 500,000", Batch().insert("orders", _big_order(orders)))
        shop.change("The order is cancelled", Batch().update("orders", {"id": orders, "status": "cancelled"}))
        shop.change("Customer 7 moves to Japan", Batch().update("customers", {"id": 7, "country": "Japan"}))
        shop.change(
            "An order of 1 that changes nobody's rank", Batch().insert("orders", _small_order(orders + 1))
        )
        shop.summarise(orders)


def program(customers: Stream[Customer], orders: Stream[Order]) -> tuple[Stream[Revenue], Stream[Spender]]:
    """The whole program: two views over two tables."""
    sales = orders.filter(lambda o: isin(o.status, ["paid", "shipped"])).join(
        customers,
        lambda o: o.customer,
        lambda c: c.id,
        lambda o, c: Sale(order=o.id, customer=c.name, country=c.country, amount=o.amount),
    )
    revenue = sales.group_by(lambda s: s.country).aggregate(
        lambda country, g: Revenue(country=country, orders=g.count(), total=g.sum(lambda s: s.amount))
    )
    spenders = sales.group_by(lambda s: (s.customer, s.country)).aggregate(
        lambda who, g: Spender(customer=who[0], country=who[1], spent=g.sum(lambda s: s.amount))
    )
    return revenue, spenders.top_k(3, by=lambda s: s.spent)


class _Shop:
    """The tables and views of the demo, and what it prints about them."""

    def __init__(self, db: Database, write: Callable[[str], object]) -> None:
        self._db = db
        self._write = write
        self._customers: Table[Customer] = db.table(Customer)
        self._orders: Table[Order] = db.table(Order)
        revenue, spenders = program(self._customers, self._orders)
        self._revenue = db.create_view("revenue", revenue)
        self._spenders = db.create_view("top_spenders", spenders)
        self._views: tuple[View[Any], ...] = (self._revenue, self._spenders)
        self._load_seconds = 0.0
        self._step_seconds: list[float] = []

    def load(self, orders: int) -> None:
        """The initial step."""
        import pyarrow as pa  # noqa: PLC0415 (costs more import time than all the rest)

        data = (
            Batch().insert("customers", _customer_rows()).insert("orders", pa.table(_order_columns(orders)))
        )
        with _timed() as seconds:
            self._db.apply(data)
        self._load_seconds = seconds[0]
        self._write(
            f"Loaded {_CUSTOMERS:,} customers and {orders:,} orders in {_milliseconds(seconds[0])}.\n"
        )

    def show(self) -> None:
        """Both views as they are."""
        for view in self._views:
            self._write(_grid(view))

    def change(self, title: str, batch: Batch) -> None:
        """Apply one batch, and print what it changed."""
        with _timed() as seconds:
            changes = self._db.apply(batch)
        self._step_seconds.append(seconds[0])
        self._write(f"{title}  [{_milliseconds(seconds[0])}]")
        self._write("\n".join(self._told(changes)) + "\n")

    def summarise(self, orders: int) -> None:
        """Compare a change with the load, and prove that the views are right."""
        median = sorted(self._step_seconds)[len(self._step_seconds) // 2]
        self._write(
            f"A change took {_milliseconds(median)}, the load of {orders:,} orders {_milliseconds(self._load_seconds)}: "
            "a step costs what it changes, not what is stored."
        )
        right = _recomputed(self._customers, self._orders) == _totals(self._revenue)
        self._write(
            f"Computed from scratch in plain Python, the revenue is {'the same, to the last bit' if right else 'DIFFERENT'}."
        )

    def _told(self, changes: Changes) -> Iterator[str]:
        if not changes:
            yield "  no view changed"
        for view in self._views:
            for event in changes[view].events:
                yield f"  {view.name}: {_sentence(event)}"


@contextmanager
def _timed() -> Iterator[list[float]]:
    seconds = [0.0]
    start = time.perf_counter()
    yield seconds
    seconds[0] = time.perf_counter() - start


def _customer_rows() -> list[Customer]:
    return [
        Customer(id=i, name=f"Customer {i}", country=_COUNTRIES[i % len(_COUNTRIES)])
        for i in range(_CUSTOMERS)
    ]


def _order_columns(count: int) -> dict[str, list[object]]:
    rng = random.Random(1)
    return {
        "id": list(range(count)),
        "customer": [rng.randrange(_CUSTOMERS) for _ in range(count)],
        "amount": [rng.randrange(100, 100_000) / 100 for _ in range(count)],
        "status": [rng.choice(("paid", "shipped", "open")) for _ in range(count)],
    }


def _big_order(number: int) -> Order:
    return Order(id=number, customer=7, amount=500_000.0, status="paid")


def _small_order(number: int) -> Order:
    return Order(id=number, customer=8, amount=1.0, status="paid")


def _sentence(event: Event[Any]) -> str:
    match event:
        case Created(row):
            return f"+ {_told_row(row)}"
        case Deleted(row):
            return f"- {_told_row(row)}"
        case Updated(old, new):
            return f"~ {_told_row(old)}  ->  {_told_row(new)}"


def _told_row(row: Row) -> str:
    return ", ".join(_cell(value) for value in row.__dict__.values())


def _cell(value: object) -> str:
    return (
        f"{value:,.2f}"
        if isinstance(value, float)
        else f"{value:,}"
        if isinstance(value, int)
        else str(value)
    )


def _grid(view: View[Any]) -> str:
    rows = sorted(view.rows(), key=lambda row: list(row.__dict__.values())[-1], reverse=True)
    names = view.row.__tailrace__.names
    cells = [names, *([_cell(value) for value in row.__dict__.values()] for row in rows)]
    widths = [max(len(line[i]) for line in cells) for i in range(len(names))]
    lines = ("  ".join(cell.rjust(width) for cell, width in zip(line, widths, strict=True)) for line in cells)
    return f"View {view.name}:\n" + "\n".join(f"  {line}" for line in lines) + "\n"


def _recomputed(customers: Table[Customer], orders: Table[Order]) -> dict[str, float]:
    country = {customer.id: customer.country for customer in customers.rows()}
    found: dict[str, list[float]] = {}
    for order in orders.rows():
        if order.status in ("paid", "shipped"):
            found.setdefault(country[order.customer], []).append(order.amount)
    return {name: math.fsum(amounts) for name, amounts in found.items()}


def _totals(revenue: View[Revenue]) -> dict[str, float]:
    return {row.country: row.total for row in revenue.rows()}


def _milliseconds(seconds: float) -> str:
    return f"{seconds * 1000:,.1f} ms"
