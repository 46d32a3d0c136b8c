"""A view: a query whose result is there at any time.

The handle holds no data. Its snapshot is made of the engine's own buffers when it is asked for.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast

from ._tailrace import Database as NativeDatabase
from ._tailrace import Step
from .arrow import read_table
from .changes import Content, Together, ViewChange
from .feed import Feed
from .row import Row
from .subscription import Slow, Source, Subscription, subscribed

if TYPE_CHECKING:
    import pyarrow as pa

T = TypeVar("T", bound=Row)


class View(Generic[T]):
    """A view of a database; made by `db.create_view` and found again by `db.view`."""

    def __init__(self, database: NativeDatabase, name: str, row: type[T], feed: Feed) -> None:
        self._database = database
        self._feed = feed
        self.name = name
        self.row = row

    def snapshot(self, *, weighted: bool = False) -> pa.Table:
        """The rows of the view now, as an Arrow table; with `weighted` each row once, and how often it is there in `_weight`.

        >>> dear = db.create_view("dear", bids.filter(lambda b: b.price > 100.0))
        >>> dear.snapshot().num_rows
        1
        """
        return read_table(self._database.snapshot(self.name, weighted))

    def rows(self) -> list[T]:
        """The rows of the view now, as objects of its row class.

        >>> cheap = db.create_view("cheap", bids.filter(lambda b: b.price < 100.0))
        >>> [bid.price for bid in cheap.rows()]
        [20.0]
        """
        return cast("list[T]", read_rows(self.snapshot(), self.row))

    def subscribe(
        self,
        callback: Callable[[ViewChange[T]], object],
        initial: bool = True,
        *,
        slow: Slow = "coalesce",
        buffer: int = 1024,
    ) -> Subscription[ViewChange[T]]:
        """Call back with every change, on a thread of its own; first with the content, unless `initial` is false.

        >>> got = []
        >>> dear = db.create_view("dear_too", bids.filter(lambda b: b.price > 100.0))
        >>> with dear.subscribe(lambda change: got.append(len(change))) as subscription:
        ...     changes = db.insert(bids, {"id": 20, "auction": 7, "price": 500.0})
        >>> subscription.join()
        >>> sum(got)
        2
        """
        return subscribed(self._feed, self._source(), callback, initial=initial, slow=slow, buffer=buffer)

    def changes(
        self, since: int | None = None, *, slow: Slow = "coalesce", buffer: int = 1024
    ) -> Subscription[ViewChange[T]]:
        """The changes as an iterator that waits for the next one: from the content on, or from what came after version `since`.

        If `since` is too long ago, the first change is the content (`is_snapshot`).
        """
        return Subscription(self._feed, self._source(), since=since, slow=slow, buffer=buffer)

    def __aiter__(self) -> Subscription[ViewChange[T]]:
        return self.changes()

    @property
    def schema(self) -> pa.Schema:
        """The columns of the view, as an Arrow schema."""
        import pyarrow as pa  # noqa: PLC0415

        fields = self._database.view_schema(self.name)
        return pa.schema(
            [pa.field(name, pa.field(native).type, nullable) for name, native, nullable in fields]
        )

    @property
    def key(self) -> list[str]:
        """The columns that `events` go by."""
        return self._database.view_key(self.name)

    @property
    def version(self) -> int:
        """The version of the database that the snapshot shows."""
        return self._database.version

    def explain(self) -> str:
        """How the view is kept up to date, one operator a line."""
        return self._database.explain(self.name)

    def _source(self) -> Source[ViewChange[T]]:
        name, row, database = self.name, self.row, self._database

        def change(step: Step) -> ViewChange[T] | None:
            return ViewChange(name, step, row) if name in step.views else None

        def snapshot() -> ViewChange[T]:
            return Content(name, database, row)

        return Source(snapshot, change, Together, lambda: database.version)

    def __len__(self) -> int:
        return len(self._database.snapshot(self.name))

    def __repr__(self) -> str:
        return f"View[{self.row.__name__}]({self.name!r})"

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self._database.snapshot(self.name).__arrow_c_stream__(requested_schema)

    def _repr_html_(self) -> str:
        from .notebook import table_html  # noqa: PLC0415 (for notebooks alone)

        return table_html(self.snapshot())


def read_rows(table: Any, row: type[Row]) -> list[Row]:
    """The rows of an Arrow table as objects of a row class."""
    return [row.__tailrace__.read(values) for values in table.to_pylist()]
